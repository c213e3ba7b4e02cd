# SPDX-License-Identifier: Apache-2.0
"""What holds for every file capability, over all cases."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from actum.capabilities.files import verifiers
from actum.capabilities.files.hold import HeldFiles
from actum.model.effect import needs_qualification
from actum.model.errors import Refused
from actum.model.grading import ExecutorSaid, LookOutcome
from actum.ports.capability import Capability
from actum.ports.executor import EffectView
from actum.ports.verifier import Phase
from actum.testing.capability_cases import (
    CapabilityCase,
    World,
    capability_cases,
    describe_case,
    look_request,
)

from .drive import execute, is_contrary, look, matches, seen_digest

CASES = capability_cases()
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
CHANGES = [(case, name) for case in CASES for name in case.behind]


def start(case: CapabilityCase, folder: Path) -> tuple[World, Capability, EffectView]:
    world = case.set_up(folder)
    capability = case.capability(world)
    return world, capability, describe_case(capability, case.arguments(world))[1]


def tree(folder: Path) -> dict[str, tuple[int, int, bytes | None]]:
    return {
        str(path): (
            path.lstat().st_ino,
            path.lstat().st_mtime_ns,
            path.read_bytes() if path.is_file() else None,
        )
        for path in sorted(folder.rglob("*"))
    }


@every_case
def test_describing_and_holding_change_nothing(case: CapabilityCase, tmp_path: Path) -> None:
    world = case.set_up(tmp_path)
    capability = case.capability(world)
    before = tree(tmp_path)
    _, effect = describe_case(capability, case.arguments(world))
    held = capability.executor.hold(effect)
    assert isinstance(held, HeldFiles)
    held.close()
    held.close()
    assert tree(tmp_path) == before


@every_case
def test_o8_the_world_is_looked_at_after_the_execution_and_holds_path_and_digest(
    case: CapabilityCase, tmp_path: Path
) -> None:
    _, capability, effect = start(case, tmp_path)
    before = look(capability, effect, phase=Phase.BEFORE)
    report = execute(capability, effect)
    assert report.said is ExecutorSaid.OK, report
    after = look(capability, effect, phase=Phase.AFTER, before=before)
    assert matches(effect, after)
    assert not matches(effect, before)
    digests = [resource.digest for resource in effect.descriptor.canonical_resources if resource.digest]
    seen = msgspec.json.encode(after.value).decode()
    assert case.name in ("write_new", "write_replace", "delete_permanently") or digests[0] in seen


@every_case
def test_o55_a_verifier_has_the_same_identifier_in_another_process(
    case: CapabilityCase, tmp_path: Path
) -> None:
    world, capability, effect = start(case, tmp_path)
    config = case.verifier_config(world)
    code = (
        "import json, sys; from actum.capabilities.files import verifiers\n"
        "made = verifiers(json.loads(sys.argv[1]))[sys.argv[2]]\n"
        "print(json.dumps([made.id, made.version, made.projection]))"
    )
    line = msgspec.json.encode(config).decode()
    answer = subprocess.run(
        [sys.executable, "-c", code, line, case.capability_id], capture_output=True, text=True, check=True
    )
    there = msgspec.json.decode(answer.stdout)
    here = capability.verifier
    assert there == [here.id, here.version, here.projection]
    assert here.id == f"actum.{case.capability_id}"
    # The one made from plain data sees what this one sees.
    other = verifiers(config)[case.capability_id]
    request = look_request(effect, phase=Phase.BEFORE)
    assert other.observe(request) == here.observe(request)


@every_case
def test_o56_an_executor_that_does_nothing_is_never_a_match(case: CapabilityCase, tmp_path: Path) -> None:
    _, capability, effect = start(case, tmp_path)
    before = look(capability, effect, phase=Phase.BEFORE)
    after = look(capability, effect, phase=Phase.AFTER, before=before)
    assert not matches(effect, after)
    assert is_contrary(effect, before, after)


@every_case
def test_o58_a_look_that_does_not_hold_still_says_what_was_seen(case: CapabilityCase, tmp_path: Path) -> None:
    _, capability, effect = start(case, tmp_path)
    before = look(capability, effect, phase=Phase.BEFORE)
    after = look(capability, effect, phase=Phase.LATER, before=before)
    assert not matches(effect, after)
    assert after.value is not None
    assert after.detail["value"] == after.value
    assert after.detail["places"]


@every_case
def test_o57_altering_the_world_between_execute_and_verify_changes_what_is_observed(
    case: CapabilityCase, tmp_path: Path
) -> None:
    world, capability, effect = start(case, tmp_path)
    before = look(capability, effect, phase=Phase.BEFORE)
    assert execute(capability, effect).said is ExecutorSaid.OK
    honest = look(capability, effect, phase=Phase.AFTER, before=before)
    case.alter(world, effect)
    altered = look(capability, effect, phase=Phase.AFTER, before=before)
    assert seen_digest(effect, honest) != seen_digest(effect, altered)
    assert not matches(effect, altered)


@every_case
def test_a_world_that_already_was_as_claimed_is_unclear(case: CapabilityCase, tmp_path: Path) -> None:
    world, capability, effect = start(case, tmp_path)
    case.satisfy(world, effect)
    before = look(capability, effect, phase=Phase.BEFORE)
    after = look(capability, effect, phase=Phase.AFTER, before=before)
    expected = effect.descriptor.expected
    assert expected is not None
    # The case itself is real: the world is exactly as the effect claims.
    assert seen_digest(effect, before) == expected.digest == seen_digest(effect, after)
    assert (before.outcome, after.outcome) == (LookOutcome.UNCLEAR, LookOutcome.UNCLEAR)
    assert after.detail["reason"] == "already_so_before"


@every_case
def test_a_change_that_nobody_saw_from_before_is_unclear(case: CapabilityCase, tmp_path: Path) -> None:
    _, capability, effect = start(case, tmp_path)
    assert execute(capability, effect).said is ExecutorSaid.OK
    after = look(capability, effect, phase=Phase.LATER)
    assert after.outcome is LookOutcome.UNCLEAR
    assert after.detail["reason"] == "not_seen_before"


@pytest.mark.parametrize("case, change", CHANGES, ids=[f"{case.name}-{name}" for case, name in CHANGES])
def test_o6_a_resource_that_changed_since_it_was_resolved_is_refused_before_anything_runs(
    case: CapabilityCase, change: str, tmp_path: Path
) -> None:
    world, capability, effect = start(case, tmp_path)
    case.behind[change](world, effect)
    state = tree(tmp_path)
    held = capability.executor.hold(effect)
    assert isinstance(held, Refused)
    assert held.reason in ("resource_changed", "symlink_in_path")
    assert tree(tmp_path) == state


@every_case
def test_a_held_handle_is_given_back_whatever_happens(case: CapabilityCase, tmp_path: Path) -> None:
    _, capability, effect = start(case, tmp_path)
    count = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    execute(capability, effect)
    capability.executor.hold(effect)
    look(capability, effect, phase=Phase.AFTER)
    after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert after == count


@every_case
def test_arguments_that_are_not_the_resolved_ones_are_not_acted_upon(
    case: CapabilityCase, tmp_path: Path
) -> None:
    world, capability, effect = start(case, tmp_path)
    victim = world["root"] / "victim"
    victim.write_text("mine")
    member = "source" if "source" in effect.arguments else "path"
    forged = msgspec.structs.replace(effect, arguments={**effect.arguments, member: str(victim)})
    held = capability.executor.hold(forged)
    assert isinstance(held, Refused)
    assert held.reason == "arguments_not_resolved"


def test_o50_trash_and_permanent_deletion_are_two_capabilities(tmp_path: Path) -> None:
    ids = {case.capability_id for case in CASES}
    assert {"files.trash", "files.delete_permanently"} <= ids
    made = {case.name: case.capability(case.set_up(tmp_path / case.name)) for case in CASES}
    assert made["trash"].info.id == "files.trash"
    assert made["delete_permanently"].info.id == "files.delete_permanently"
    assert type(made["trash"].executor) is not type(made["delete_permanently"].executor)


def test_o51_trash_is_reversible_and_unflagged_and_permanent_deletion_irreversible_and_flagged(
    tmp_path: Path,
) -> None:
    flagged = {}
    for case in CASES:
        _, capability, effect = start(case, tmp_path / case.name)
        flagged[case.name] = needs_qualification(effect.descriptor)
        assert capability.info.reversibility is effect.descriptor.reversibility
    assert flagged.pop("delete_permanently") is True
    assert set(flagged.values()) == {False}


def test_the_verifier_process_never_loads_the_code_that_acts() -> None:
    code = (
        "import sys; from actum.capabilities.files import verifiers\n"
        "verifiers({'roots': ['/'], 'keep': '/nowhere'})\n"
        "loaded = sorted(m.rpartition('.')[2] for m in sys.modules if 'capabilities.files.' in m)\n"
        "print(' '.join(loaded))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(answer.stdout.split()) == {"keep", "paths", "project", "sight", "verify"}
