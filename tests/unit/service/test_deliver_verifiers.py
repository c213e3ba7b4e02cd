# SPDX-License-Identifier: Apache-2.0
"""Every verifier there is, through the whole line: against an executor that does nothing, and a world it cannot tell.

Parametrised over the registry: a capability without a case here fails the first test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from actum.bootstrap import Kernel
from actum.bootstrap.turn import Turn
from actum.capabilities.mail import mail_capabilities, read_mail_config
from actum.capabilities.subject import EVENT, RECORD
from actum.model.grading import ExecutorSaid
from actum.ports.effect_view import EffectView
from actum.ports.execution import ExecutorReport
from actum.ports.store import EventRow
from actum.testing.capability_cases import CapabilityCase, World, capability_cases
from actum.testing.clock import SimulatedClock
from actum.testing.kernels import PERSON, open_kernel
from actum.testing.mail_cases import mail_cases, section_of, stop_servers

CASES: tuple[CapabilityCase, ...] = (*capability_cases(), *mail_cases())
NAMES = [case.name for case in CASES]
each_case = pytest.mark.parametrize("case", CASES, ids=NAMES)
OK = ExecutorReport(said=ExecutorSaid.OK, result={"all": "well"}, acknowledged=True)
VERIFIED = ("finalized", "verified")


class _Held:
    def close(self) -> None:
        return None


class Acting:
    """An executor that stands in for another: ``holding`` and ``acting`` are what it does instead."""

    def __init__(
        self, inner: Any, *, acting: Callable[[Any, Any], ExecutorReport], hold: bool = True
    ) -> None:
        self._inner = inner
        self._acting = acting
        self._hold = hold

    def hold(self, effect: EffectView) -> Any:
        return self._inner.hold(effect) if self._hold else _Held()

    def execute(self, dispatch: Any, held: Any) -> ExecutorReport:
        return self._acting(dispatch, held)


class Place:
    """A kernel over one case's world, with one effect of it proposed."""

    def __init__(self, case: CapabilityCase, folder: Path) -> None:
        self.case = case
        (folder / "world").mkdir()
        self.world: World = case.set_up(folder / "world")
        self.clock = SimulatedClock()
        self.kernel: Kernel = open_kernel(folder / "place", clock=self.clock)
        made: Any = case.capability(self.world)
        found: Any = self.kernel.line.registry.find(case.capability_id)
        if hasattr(found, "executor"):
            found.executor, found.verifier = made.executor, made.verifier
            found.describe, found.rehearse = made.describe, made.rehearse
        else:
            self.kernel.register(made)
        self.capability: Any = self.kernel.line.registry.find(case.capability_id)
        self.real = self.capability.executor
        self.turn: Turn = self.kernel.propose(case.capability_id, case.arguments(self.world))
        assert self.turn.question_ids(), self.turn.activity()
        self.kernel.confirm(self.turn.question_ids(), by=PERSON, accept_unqualified=True)

    def effect(self) -> EffectView:
        from actum.service.job import load_job

        line = self.kernel.line
        row = line.store.read(lambda tx: tx.outbox_of_turn(self.turn.turn_id))[-1]
        return line.store.read(lambda tx: load_job(line, tx, row)).view()

    def grade(self) -> tuple[str, str]:
        self.kernel.run()
        receipt = self.turn.receipts()[-1]
        return receipt.graded.finality.value, receipt.graded.confidence.value


@pytest.fixture
def place(case: CapabilityCase, tmp_path: Path) -> Iterator[Place]:
    made = Place(case, tmp_path)
    yield made
    made.kernel.close()


@pytest.fixture(scope="module", autouse=True)
def servers() -> Iterator[None]:
    yield
    stop_servers()


def test_every_registered_capability_has_a_case(tmp_path: Path) -> None:
    kernel = open_kernel(tmp_path / "place")
    ids = {info.id for info in kernel.line.registry.infos()}
    for case in mail_cases():
        (tmp_path / case.name).mkdir()
        section = section_of(case.set_up(tmp_path / case.name))
        ids |= {made.info.id for made in mail_capabilities(read_mail_config(section))}
    assert ids == {case.capability_id for case in CASES} | {RECORD}
    kernel.close()


@each_case
def test_an_executor_that_acted_is_seen_to_have_acted(case: CapabilityCase, place: Place) -> None:
    assert place.grade() == VERIFIED


@each_case
def test_o56_an_executor_that_only_says_ok_is_never_a_match(case: CapabilityCase, place: Place) -> None:
    place.capability.executor = Acting(place.real, acting=lambda dispatch, held: OK)
    for _ in range(6):
        assert place.grade() != VERIFIED
        place.clock.step(600_000)
    assert place.turn.state in ("failed", "recovery_required")


@each_case
def test_a_world_that_was_as_claimed_before_is_not_the_executors_doing(
    case: CapabilityCase, place: Place
) -> None:
    case.satisfy(place.world, place.effect())
    place.capability.executor = Acting(place.real, acting=lambda dispatch, held: OK, hold=False)
    assert place.grade() == ("indeterminate", "ambiguous")


@each_case
def test_o57_a_world_changed_between_acting_and_looking_is_never_called_verified(
    case: CapabilityCase, place: Place
) -> None:
    def acting(dispatch: Any, held: Any) -> ExecutorReport:
        report = place.real.execute(dispatch, held)
        case.alter(place.world, dispatch.effect)
        return report

    place.capability.executor = Acting(place.real, acting=acting)
    assert place.grade() != VERIFIED


def record(kernel: Kernel) -> Any:
    (kernel.place.processes / "notes.yaml").write_text(
        "process: notes\nwork_types: [note]\nfields: {owner: string}\n"
        "steps: [{id: keep, kind: plumbing, fields: [owner]}]\n"
    )
    return kernel.line.registry.find(RECORD)


def test_o56_a_record_that_nobody_wrote_completes_no_turn(tmp_path: Path) -> None:
    clock = SimulatedClock()
    kernel = open_kernel(tmp_path, clock=clock)
    found = record(kernel)
    found.executor = Acting(found.executor, acting=lambda dispatch, held: OK)
    turn = kernel.submit("note", {"owner": "ann"})
    for _ in range(8):
        kernel.run()
        clock.step(600_000)
    assert turn.state == "failed"
    assert {receipt.graded.finality.value for receipt in turn.receipts()} == {"failed"}
    kernel.close()


def test_a_record_that_stood_there_before_is_not_this_ones_doing(tmp_path: Path) -> None:
    kernel = open_kernel(tmp_path, clock=SimulatedClock())
    found = record(kernel)
    found.executor = Acting(found.executor, acting=lambda dispatch, held: OK)
    turn = kernel.submit("note", {"owner": "ann"})
    line = kernel.line
    row = line.store.read(lambda tx: tx.outbox_of_turn(turn.turn_id))[0]
    effect = line.store.read(lambda tx: tx.effect(row.effect_digest or ""))
    assert effect is not None
    body = effect.arguments.decode()  # It names the outcome, as the executor's own row would.
    event = EventRow(
        event_id=line.new_id(), tenant="local", at_ms=line.now(), kind=EVENT, turn_id=turn.turn_id, body=body
    )
    line.store.write(lambda tx: tx.add_event(event))
    kernel.run()
    (receipt,) = turn.receipts()
    assert (receipt.graded.finality.value, receipt.graded.confidence.value) == ("indeterminate", "ambiguous")
    kernel.close()
