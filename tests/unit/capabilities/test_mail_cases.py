# SPDX-License-Identifier: Apache-2.0
"""What holds for both mail capabilities, over the cases that the registry-wide test also runs."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from actum.capabilities.mail import verifiers
from actum.capabilities.registry import Registry
from actum.model.errors import Refused
from actum.model.grading import LookOutcome
from actum.ports.verifier import Phase
from actum.testing.capability_cases import describe_case, look_request
from actum.testing.mail_cases import MailCase, mail_cases

from .drive import execute, look, matches, seen_digest

CASES = mail_cases()
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
CHANGES = [(case, name) for case in CASES for name in case.behind]


@every_case
def test_a_mail_capability_can_be_registered(case: MailCase, tmp_path: Path) -> None:
    registry = Registry()
    registry.register(case.capability(case.set_up(tmp_path)))
    assert case.capability_id in registry


@every_case
def test_an_execution_that_took_place_is_a_match_until_the_world_is_altered(
    case: MailCase, tmp_path: Path
) -> None:
    world = case.set_up(tmp_path)
    capability = case.capability(world)
    effect = describe_case(capability, case.arguments(world))[1]
    before = look(capability, effect, phase=Phase.BEFORE)
    execute(capability, effect)
    assert matches(effect, look(capability, effect, phase=Phase.AFTER, before=before))
    case.alter(world, effect)
    assert not matches(effect, look(capability, effect, phase=Phase.LATER, before=before))


@every_case
def test_an_executor_that_did_nothing_is_no_match(case: MailCase, tmp_path: Path) -> None:
    world = case.set_up(tmp_path)
    capability = case.capability(world)
    effect = describe_case(capability, case.arguments(world))[1]
    before = look(capability, effect, phase=Phase.BEFORE)
    after = look(capability, effect, phase=Phase.AFTER, before=before)
    assert not matches(effect, after)
    assert after.control_held


@every_case
def test_a_message_that_was_there_before_is_unclear(case: MailCase, tmp_path: Path) -> None:
    world = case.set_up(tmp_path)
    capability = case.capability(world)
    effect = describe_case(capability, case.arguments(world))[1]
    case.satisfy(world, effect)
    before = look(capability, effect, phase=Phase.BEFORE)
    after = look(capability, effect, phase=Phase.AFTER, before=before)
    assert effect.descriptor.expected is not None
    assert seen_digest(effect, after) == effect.descriptor.expected.digest
    assert after.outcome is LookOutcome.UNCLEAR
    assert after.detail["reason"] == "already_so_before"


@every_case
def test_a_message_that_nobody_looked_for_before_is_unclear(case: MailCase, tmp_path: Path) -> None:
    world = case.set_up(tmp_path)
    capability = case.capability(world)
    effect = describe_case(capability, case.arguments(world))[1]
    execute(capability, effect)
    after = look(capability, effect, phase=Phase.LATER)
    assert after.outcome is LookOutcome.UNCLEAR
    assert after.detail["reason"] == "not_seen_before"


@pytest.mark.parametrize("case, change", CHANGES, ids=[name for _, name in CHANGES])
def test_a_place_that_changed_since_it_was_described_is_not_held(
    case: MailCase, change: str, tmp_path: Path
) -> None:
    world = case.set_up(tmp_path)
    capability = case.capability(world)
    effect = describe_case(capability, case.arguments(world))[1]
    case.behind[change](world, effect)
    held = capability.executor.hold(effect)
    assert isinstance(held, Refused)
    wanted = {
        "name_taken": "draft_name_taken",
        "folder_swapped": "drafts_folder_changed",
        "folder_linked": "drafts_unreachable",
        "folder_removed": "drafts_unreachable",
    }
    assert held.reason == wanted[change]


@every_case
def test_the_verifier_of_another_process_sees_the_same(case: MailCase, tmp_path: Path) -> None:
    world = case.set_up(tmp_path)
    capability = case.capability(world)
    effect = describe_case(capability, case.arguments(world))[1]
    plain = msgspec.json.decode(msgspec.json.encode(case.verifier_config(world)))
    other = verifiers(plain)[case.capability_id]
    assert (other.id, other.version) == (f"actum.{case.capability_id}", "1")
    request = look_request(effect, phase=Phase.BEFORE)
    assert other.observe(request) == capability.verifier.observe(request)
