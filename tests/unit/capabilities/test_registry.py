# SPDX-License-Identifier: Apache-2.0
"""The registry lets in only what has a verifier of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from actum.capabilities.files import files_capabilities
from actum.capabilities.registry import Registry
from actum.model.effect import Claims, EffectClass, Externality, PrivilegeLevel, Reversibility
from actum.model.errors import Refused, RefusedError
from actum.ports.capability import CapabilityInfo

INFO = CapabilityInfo(
    id="demo.act",
    version="1",
    effect_class=EffectClass.ACTION,
    reversibility=Reversibility.REVERSIBLE,
    externality=Externality.LOCAL_ONLY,
    privilege_level=PrivilegeLevel.STANDARD,
    claims=Claims.CHANGE,
    absence_is_proof=True,
    consistency_window_ms=0,
    attempts_max=1,
    verifier_ref=None,
)


class Acts:
    def hold(self, effect: object) -> None: ...

    def execute(self, dispatch: object, held: object) -> None: ...


class Looks:
    id, version, projection = "demo.look", "1", "demo.act@1"

    def observe(self, request: object) -> None: ...


class Both(Looks, Acts):
    pass


class Made:
    def __init__(self, *, info: CapabilityInfo = INFO, executor: object, verifier: object) -> None:
        self.info = info
        self.executor = executor
        self.verifier = verifier


def code_of(made: Any) -> str:
    registry = Registry()
    with pytest.raises(RefusedError) as caught:
        registry.register(made)
    assert len(registry) == 0
    assert caught.value.facts["remedy"] in caught.value.next_step
    return caught.value.code


def test_a_capability_with_an_executor_and_a_verifier_is_registered() -> None:
    registry = Registry()
    made: Any = Made(executor=Acts(), verifier=Looks())
    registry.register(made)
    assert registry.find("demo.act") is made
    assert "demo.act" in registry


def test_o53_a_capability_without_a_verifier_is_refused() -> None:
    assert code_of(Made(executor=Acts(), verifier=None)) == "verifier_missing"
    assert code_of(Made(executor=Acts(), verifier=object())) == "verifier_missing"

    class Unverified:
        info = INFO
        executor = Acts()

    assert code_of(Unverified()) == "verifier_missing"


def test_o53_every_file_capability_has_a_verifier(tmp_path: Path) -> None:
    registry = Registry()
    for made in files_capabilities(roots=[tmp_path], keep=tmp_path / "keep"):
        registry.register(made)
    assert [info.id for info in registry.infos()] == [
        "files.delete_permanently",
        "files.move",
        "files.restore",
        "files.trash",
        "files.write",
    ]


def test_o54_the_executor_cannot_be_its_own_verifier() -> None:
    both = Both()
    assert code_of(Made(executor=both, verifier=both)) == "verifier_is_executor"
    assert code_of(Made(executor=Both(), verifier=Both())) == "verifier_is_executor"


def test_o54_a_verifier_cannot_execute_and_an_executor_cannot_look() -> None:
    assert code_of(Made(executor=Acts(), verifier=Both())) == "verifier_can_execute"
    assert code_of(Made(executor=Both(), verifier=Looks())) == "executor_can_look"


def test_o54_a_verifier_does_not_hold_the_executor() -> None:
    acts, looks = Acts(), Looks()
    looks.source = acts  # type: ignore[attr-defined]
    assert code_of(Made(executor=acts, verifier=looks)) == "verifier_holds_executor"


@pytest.mark.parametrize("member", ["id", "version", "projection"])
def test_o55_a_verifier_without_a_stable_name_is_refused(member: str) -> None:
    looks = Looks()
    setattr(looks, member, "")
    assert code_of(Made(executor=Acts(), verifier=looks)) == "verifier_unnamed"


def test_a_capability_without_an_executor_is_refused() -> None:
    assert code_of(Made(executor=object(), verifier=Looks())) == "executor_missing"


def test_an_id_is_registered_once_and_in_dotted_lower_case() -> None:
    registry = Registry()
    made: Any = Made(executor=Acts(), verifier=Looks())
    registry.register(made)
    refused = registry.refusal_of(made)
    assert refused is not None
    assert refused.reason == "capability_id_taken"
    for bad in ("files", "Files.write", "files..write", "files.write\n", "files.\u0430"):
        info = msgspec.structs.replace(INFO, id=bad)
        assert code_of(Made(info=info, executor=Acts(), verifier=Looks())) == "capability_id_malformed"


@pytest.mark.parametrize(
    "change", [{"attempts_max": 0}, {"timeout_ms": 0}, {"consistency_window_ms": -1}], ids=str
)
def test_limits_that_allow_nothing_are_refused(change: dict[str, int]) -> None:
    info = msgspec.structs.replace(INFO, **change)
    assert code_of(Made(info=info, executor=Acts(), verifier=Looks())) == "limits_malformed"


def test_a_verifier_reference_that_cannot_be_imported_by_form_is_refused() -> None:
    info = msgspec.structs.replace(INFO, verifier_ref="nowhere")
    assert code_of(Made(info=info, executor=Acts(), verifier=Looks())) == "verifier_ref_malformed"


def test_an_unknown_id_is_refused_by_name_with_the_nearest_ids(tmp_path: Path) -> None:
    registry = Registry()
    for made in files_capabilities(roots=[tmp_path], keep=tmp_path / "keep"):
        registry.register(made)
    refused = registry.find("files.writ")
    assert isinstance(refused, Refused)
    assert refused.reason == "capability_unknown"
    assert refused.facts["capability"] == "files.writ"
    assert refused.facts["nearest"].split(", ")[0] == "files.write"
    hidden = registry.find("files.write\u200b")
    assert isinstance(hidden, Refused)
    assert hidden.facts["capability"] == "files.write⟨U+200B⟩"


@pytest.mark.parametrize("name", ["outbox.mark", "model.small", "actum.look"])
def test_rule_5_a_name_that_the_kernel_uses_itself_is_nobody_elses(name: str) -> None:
    made = Made(info=msgspec.structs.replace(INFO, id=name), executor=Acts(), verifier=Looks())
    assert code_of(made) == "capability_id_reserved"
