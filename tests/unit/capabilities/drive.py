# SPDX-License-Identifier: Apache-2.0
"""Drives one file effect in a test: describe, hold, execute, look; and grades it as the kernel would."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from actum.capabilities.files import files_capabilities
from actum.model.errors import Refused
from actum.model.grading import LookOutcome
from actum.model.look import Observation, projection_digest
from actum.ports.capability import Capability, DescribeContext, Described
from actum.ports.executor import EffectView, ExecutorReport
from actum.ports.verifier import Phase
from actum.testing.capability_cases import describe_case, forge_dispatch, look_request

CONTEXT = DescribeContext(
    tenant="local", turn_id="turn", proposed_action_id="proposal", principal="tester", now_ms=0
)


class Files:
    """The five capabilities over a fresh folder."""

    def __init__(self, folder: Path, *, keep: Path | None = None) -> None:
        self.root = folder / "allowed"
        self.root.mkdir(parents=True, exist_ok=True)
        self.keep = keep or folder / "keep"
        self.made = {made.info.id: made for made in files_capabilities(roots=[self.root], keep=self.keep)}

    def __getitem__(self, name: str) -> Capability:
        return self.made[f"files.{name}"]

    def describe(self, name: str, **arguments: object) -> Described | Refused:
        return self[name].describe(dict(arguments), context=CONTEXT)

    def refuse(self, name: str, **arguments: object) -> str:
        answer = self.describe(name, **arguments)
        assert isinstance(answer, Refused), answer
        return answer.reason

    def effect(self, name: str, **arguments: object) -> EffectView:
        return describe_case(self[name], dict(arguments))[1]

    def run(self, name: str, **arguments: object) -> ExecutorReport:
        effect = self.effect(name, **arguments)
        return execute(self[name], effect)

    def entries(self) -> list[str]:
        """Every path below the allowed folder: what is left there is shown by name."""
        return sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*"))


def execute(capability: Capability, effect: EffectView) -> ExecutorReport:
    held = capability.executor.hold(effect)
    assert not isinstance(held, Refused), held
    try:
        return capability.executor.execute(forge_dispatch(effect), held)
    finally:
        held.close()


def look(
    capability: Capability, effect: EffectView, *, phase: Phase, before: Observation | None = None
) -> Observation:
    return capability.verifier.observe(look_request(effect, phase=phase, before=before))


def seen_digest(effect: EffectView, observation: Observation) -> str | None:
    """The digest the looker would record."""
    expected = effect.descriptor.expected
    if observation.value is None or expected is None:
        return None
    return projection_digest(observation.value, projection=expected.projection, salt=effect.salt)


def matches(effect: EffectView, observation: Observation) -> bool:
    """An accepted look would be a match."""
    expected = effect.descriptor.expected
    assert expected is not None
    definite = observation.outcome is LookOutcome.DEFINITE
    return definite and seen_digest(effect, observation) == expected.digest


def is_contrary(effect: EffectView, before: Observation, after: Observation) -> bool:
    """An accepted look would be a definite contrary: the world as before, and not as expected."""
    unchanged = seen_digest(effect, before) == seen_digest(effect, after)
    definite = after.outcome is LookOutcome.DEFINITE and after.control_held
    return definite and unchanged and not matches(effect, after)


def between(files: Files, name: str, change: Callable[[], None], **arguments: object) -> ExecutorReport:
    """Hold, let `change` happen, then execute."""
    effect = files.effect(name, **arguments)
    held = files[name].executor.hold(effect)
    assert not isinstance(held, Refused)
    change()
    try:
        return files[name].executor.execute(forge_dispatch(effect), held)
    finally:
        held.close()


def write_text(path: Path, text: str) -> None:
    path.write_text(text)


def arguments_of(name: str, files: Files) -> dict[str, str]:
    path = str(files.root / "a")
    if name == "move":
        return {"source": path, "target": str(files.root / "moved")}
    return {"path": path, "content": "ours"} if name == "write" else {"path": path}
