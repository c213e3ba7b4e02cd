# SPDX-License-Identifier: Apache-2.0
"""Functions of somebody else's may return anything: nothing of it stops the line or is taken for evidence."""

from __future__ import annotations

import datetime
from types import SimpleNamespace
from typing import Any

import pytest

from actum.model.errors import UsageError
from actum.model.grading import ExecutorSaid, LookOutcome
from actum.model.look import Observation
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


@pytest.mark.parametrize(
    "member, value",
    [("control_held", "no"), ("channel", "by mail"), ("outcome", "sure"), ("detail", [1]), ("detail", None)],
)
def test_rule_2_an_observation_with_a_member_of_another_kind_has_seen_nothing(
    desk: Desk, member: str, value: Any
) -> None:
    given: dict[str, Any] = {"value": {"n": 1}, "outcome": LookOutcome.DEFINITE, "detail": {}, member: value}

    @desk.kernel.action("odd.act", reversibility="reversible", externality="local_only")
    def act(entry: str) -> None:
        desk.ledger.append(entry)

    act.verifier(expect={"n": 1})(lambda entry: Observation(**given))
    turn = act("x")
    perform(desk.kernel, turn)
    receipt = turn.receipt()
    assert receipt is not None
    assert {look.outcome for look in receipt.looks} == {LookOutcome.UNCLEAR}
    assert f"an observation whose {member} cannot be read" in str(receipt.looks[0].detail)
    assert desk.kernel.show(turn.turn_id)["receipts"]


@pytest.mark.parametrize(
    "report, said, result",
    [
        ({"said": "rejected", "result": {"why": "closed"}}, ExecutorSaid.REJECTED, {"why": "closed"}),
        ({"said": "sure", "result": {}}, ExecutorSaid.RAISED, {"no_report": "an ExecutorReport"}),
        ({"said": ExecutorSaid.OK, "result": {}, "acknowledged": "no"}, ExecutorSaid.OK, {}),
        (None, ExecutorSaid.RAISED, {"no_report": "None"}),
    ],
)
def test_rule_4_what_an_executor_says_in_another_form_is_its_word_or_none(
    desk: Desk, report: Any, said: ExecutorSaid, result: dict[str, Any]
) -> None:
    class Raw:
        def hold(self, effect: Any) -> Any:
            return SimpleNamespace(close=lambda: None)

        def execute(self, dispatch: Any, held: Any) -> Any:
            desk.ledger.append(dispatch.effect.arguments["entry"])
            return None if report is None else ExecutorReport(**report)

    turn = desk.append("x")
    capability: Any = desk.kernel.line.registry.find("ledger.append")
    capability.executor = Raw()
    perform(desk.kernel, turn)
    receipt = turn.receipt()
    assert receipt is not None
    assert (receipt.executor_said, receipt.native_result) == (said, result)
    assert receipt.output_hash is None
