# SPDX-License-Identifier: Apache-2.0
"""A fault in a layer is reported under that layer's name, and under no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from actum.model.activity import FailureCategory
from actum.model.errors import CorruptRecordError
from actum.model.message import ExecutionMode
from actum.model.model_call import ModelTier
from actum.service import deliver
from actum.service.recover import reconcile
from actum.testing.kernels import PERSON, confirm_all, open_kernel, perform
from actum.testing.models import ScriptedModel
from tests.unit.service.desk import Desk

READS = """
process: reads
work_types: [letter]
fields:
  topic: {type: string, values: [yes, no]}
steps:
  - {id: read, kind: reasoning, fields: [topic], contract: {tier: fast, max_tokens: 9, output: [topic]}}
"""


class Stopped(BaseException):
    """The process ended here."""


def _cut_off_calls(desk: Desk, *, kind: ExecutionMode | None) -> Any:
    """Let every call of a turn's model end the process, until nobody tries any more."""

    def stopping(_: Any) -> Any:
        raise Stopped

    desk.kernel.line.models = ScriptedModel([stopping] * 20)
    desk.kernel.line.model_kinds = {} if kind is None else {ModelTier.FAST.value: kind}
    (desk.kernel.place.processes / "reads.yaml").write_text(READS)
    turn = desk.kernel.submit("letter", {"text": "hello"})
    calls = 0
    while turn.state != "failed":
        calls += 1
        assert calls < 20
        with pytest.raises(Stopped):
            desk.kernel.run()
        reconcile(desk.kernel.line)
    assert calls == desk.kernel.line.models.calls
    return turn


def _routing(desk: Desk, _: pytest.MonkeyPatch) -> Any:
    return desk.kernel.submit("ticket", {"kind": "model"})


def _local_model(desk: Desk, _: pytest.MonkeyPatch) -> Any:
    return _cut_off_calls(desk, kind=ExecutionMode.LOCAL_MODEL)


def _cloud_service(desk: Desk, _: pytest.MonkeyPatch) -> Any:
    return _cut_off_calls(desk, kind=ExecutionMode.CLOUD_MODEL)


def _native_execution(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Any:
    turn = desk.append("a")
    monkeypatch.setattr(desk.ledger, "append", lambda _: None)
    confirm_all(desk.kernel, turn)
    for _ in range(3):
        desk.kernel.run()
        desk.clock.step(600_000)
    return turn


def _persistence(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Any:
    def unreadable(*_: Any) -> Any:
        raise CorruptRecordError("row_unreadable", failed="a", state="b", next_step="c")

    turn = desk.append("a")
    confirm_all(desk.kernel, turn)
    monkeypatch.setattr(deliver, "load_job", unreadable)
    desk.kernel.run()
    return turn


def _setup(desk: Desk, _: pytest.MonkeyPatch) -> Any:
    """Let a process stage a capability of which neither it nor the store knows anything."""
    turn = desk.kernel.submit("ticket", {"kind": "odd", "entry": "a"})
    desk.kernel.line.store.write(lambda tx: tx.set_meta("capabilities", "{}"))
    with open_kernel(desk.folder) as elsewhere:
        elsewhere.judge(turn.questions()[0].question_id, "order", by=PERSON)
    return turn


def _unknown(desk: Desk, _: pytest.MonkeyPatch) -> Any:
    return _cut_off_calls(desk, kind=None)


INJECTED: dict[str, Callable[[Desk, pytest.MonkeyPatch], Any]] = {
    "routing": _routing,
    "local_model": _local_model,
    "cloud_service": _cloud_service,
    "native_execution": _native_execution,
    "persistence": _persistence,
    "setup": _setup,
    "unknown": _unknown,
}


@pytest.mark.parametrize("layer", INJECTED)
def test_o72_a_fault_in_a_layer_is_reported_under_its_name(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, layer: str
) -> None:
    turn = INJECTED[layer](desk, monkeypatch)
    activity = turn.activity()
    assert (activity.state.value, activity.failure_category.value) == ("failed", layer)
    assert activity.failure_reason
    assert [row.turn_id for row in desk.kernel.activity("needs_attention")] == [turn.turn_id]


def test_o71_o72_there_is_a_fault_for_every_category() -> None:
    assert set(INJECTED) == {category.value for category in FailureCategory}


def test_an_adapter_that_raises_has_given_no_answer_and_stops_no_other_work(desk: Desk) -> None:
    desk.kernel.line.models = ScriptedModel([ZeroDivisionError()])
    (desk.kernel.place.processes / "reads.yaml").write_text(READS)
    reading = desk.kernel.submit("letter", {"text": "hello"})
    writing = desk.append("a")
    perform(desk.kernel, writing)
    assert writing.state == "completed"
    assert [question.reason.value for question in reading.questions()] == ["judgment"]
