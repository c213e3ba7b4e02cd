# SPDX-License-Identifier: Apache-2.0
"""Functions of somebody else's may return anything: nothing of it stops the line or is taken for evidence."""

from __future__ import annotations

import datetime
from types import SimpleNamespace
from typing import Any

import pytest

from actum.model.errors import UsageError
from actum.model.grading import ExecutorSaid
from actum.ports.executor import ExecutorReport
from actum.testing.kernels import confirm_all, perform
from tests.unit.service.desk import Desk

NO_JSON = {
    "date": datetime.datetime(2026, 1, 1),
    "set": {1, 2},
    "bytes": b"x",
    "nan": float("nan"),
    "surrogate": {"a": "\ud800"},
    "number as a key": {1: 2},
    "object": object(),
}


@pytest.mark.parametrize("value", NO_JSON.values(), ids=NO_JSON)
def test_a_result_that_is_no_json_is_kept_as_a_word_and_the_world_decides(desk: Desk, value: Any) -> None:
    @desk.kernel.action(
        "odd.act", reversibility="reversible", externality="local_only", absence_is_proof=True
    )
    def act(entry: str) -> Any:
        desk.ledger.append(entry)
        return value

    act.verifier(expect={"n": 1})(lambda entry: {"n": desk.ledger.count(entry)})
    turn, beside = act("x"), desk.append("beside")
    confirm_all(desk.kernel, turn)
    perform(desk.kernel, beside)
    receipt = turn.receipt()
    assert receipt is not None
    assert (turn.state, beside.state, receipt.status.value) == ("completed", "completed", "success")
    assert list(receipt.native_result) == ["no_json"]
    assert receipt.output_hash is None


def test_a_report_of_an_executor_that_is_no_json_is_kept_as_a_word(desk: Desk) -> None:
    class Raw:
        def hold(self, effect: Any) -> Any:
            return SimpleNamespace(close=lambda: None)

        def execute(self, dispatch: Any, held: Any) -> ExecutorReport:
            desk.ledger.append(dispatch.effect.arguments["entry"])
            return ExecutorReport(said=ExecutorSaid.OK, result={"a": float("nan")}, acknowledged=True)

    turn = desk.append("x")
    capability: Any = desk.kernel.line.registry.find("ledger.append")
    capability.executor = Raw()
    perform(desk.kernel, turn)
    receipt = turn.receipt()
    assert receipt is not None
    assert (turn.state, list(receipt.native_result), receipt.output_hash) == ("completed", ["no_json"], None)


@pytest.mark.parametrize("value", NO_JSON.values(), ids=NO_JSON)
def test_a_look_that_is_no_json_has_seen_nothing(desk: Desk, value: Any) -> None:
    @desk.kernel.action("odd.act", reversibility="reversible", externality="local_only")
    def act(entry: str) -> None:
        desk.ledger.append(entry)

    act.verifier(expect={"n": None})(lambda entry: {"n": value})
    turn, beside = act("x"), desk.append("beside")
    confirm_all(desk.kernel, turn)
    perform(desk.kernel, beside)
    receipt = turn.receipt()
    assert receipt is not None
    assert (receipt.graded.finality.value, receipt.looks[0].outcome.value) == ("indeterminate", "unclear")
    assert "no JSON" in str(receipt.looks[0].detail["why"])
    assert (turn.state, beside.state) == ("recovery_required", "completed")


@pytest.mark.parametrize(
    "expect", [lambda entry: {"n": {1, 2}}, lambda entry: {"n": datetime.date(2026, 1, 1)}]
)
def test_an_expectation_that_is_no_json_refuses_the_proposal_and_stores_it(desk: Desk, expect: Any) -> None:
    @desk.kernel.action("odd.act", reversibility="reversible", externality="local_only")
    def act(entry: str) -> None:
        desk.ledger.append(entry)

    act.verifier(expect=expect)(lambda entry: {"n": 1})
    turn = act("x")
    assert (turn.state, turn.activity().failure_reason) == ("failed", "odd.act: described_no_json")
    assert turn.question_ids() == []


def test_a_settlement_with_a_word_nobody_knows_is_a_usage_error(desk: Desk) -> None:
    with pytest.raises(UsageError) as caught:
        desk.kernel.settle("01NOSUCHROW", "nonsense", by="ann")
    assert caught.value.code == "no_such_answer"
