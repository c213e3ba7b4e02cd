# SPDX-License-Identifier: Apache-2.0
"""A walk decides by the ladder alone and is written whole or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from actum.model.activity import ActivityState
from actum.model.delivery import OutboxKind
from actum.model.errors import InvariantViolation
from actum.model.work import StepState
from actum.service import walk as module
from actum.service.points import commit
from actum.service.recover import reconcile
from actum.testing.kernels import PERSON, confirm_all, perform
from tests.unit.service.desk import Desk


def _visits(desk: Desk, turn_id: str) -> dict[str, StepState]:
    return {visit.step_id: visit.state for visit in desk.read(lambda tx: tx.visits(turn_id))}


def test_rule_1_nothing_is_decided_but_by_the_ladder(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    ladder = module.decide

    def counted(step: Any, **facts: Any) -> Any:
        asked.append(step.id)
        return ladder(step, **facts)

    monkeypatch.setattr(module, "decide", counted)
    turn = desk.kernel.submit("ticket", {"kind": "letter"})
    stored = [row.step_id for row in desk.read(lambda tx: tx.decisions(turn.turn_id))]
    assert asked == stored == ["sort", "file"]


def test_rule_2_the_next_step_waits_until_the_staged_proposals_are_settled(desk: Desk) -> None:
    turn = desk.kernel.submit("ticket", {"kind": "both", "entry": "a"})
    assert _visits(desk, turn.turn_id) == {"sort": StepState.PENDING, "file": StepState.PENDING}
    first, second = turn.question_ids()
    desk.kernel.confirm(first, by=PERSON)
    desk.kernel.run()
    assert _visits(desk, turn.turn_id) == {"sort": StepState.PENDING, "file": StepState.PENDING}
    assert turn.state == "queued"
    desk.kernel.confirm(second, by=PERSON)
    desk.kernel.run()
    assert _visits(desk, turn.turn_id) == {"sort": StepState.DONE, "file": StepState.DONE}
    assert turn.activity().state is ActivityState.COMPLETED
    assert desk.ledger.entries() == ["a", "a-2"]


@pytest.mark.parametrize("point", ["before_accept", "within_accept"])
def test_rule_3_a_walk_that_is_cut_off_leaves_nothing_of_itself(desk: Desk, point: str) -> None:
    def stop(reached: str) -> None:
        if reached == point:
            raise KeyboardInterrupt

    desk.kernel.line.at_point = stop
    with pytest.raises(KeyboardInterrupt):
        desk.kernel.submit("ticket", {"kind": "order", "entry": "a"})
    tables = ("work_item", "turn", "step_visit", "decision", "proposal", "effect", "question", "activity")
    assert {table: desk.count(table) for table in tables} == dict.fromkeys(tables, 0)


def test_rule_4_a_walk_that_was_overtaken_writes_nothing_and_is_made_again(desk: Desk) -> None:
    turn = desk.kernel.submit("ticket", {"kind": "order", "entry": "a"})
    perform_without_walk(desk, turn)
    overtaking = iter([True, False, False])

    def overtake(point: str) -> None:
        if point == "before_walk" and next(overtaking):
            module.walk(desk.kernel.line, turn.turn_id)

    desk.kernel.line.at_point = overtake
    module.walk(desk.kernel.line, turn.turn_id)
    decisions = [row.step_id for row in desk.read(lambda tx: tx.decisions(turn.turn_id))]
    assert decisions == ["sort", "file"]
    assert turn.activity().state is ActivityState.COMPLETED


def test_rule_2_a_turn_whose_effect_was_seen_is_not_over_before_its_last_step(desk: Desk) -> None:
    turn = desk.kernel.submit("ticket", {"kind": "order", "entry": "a"})
    perform_without_walk(desk, turn)
    assert [receipt.status.value for receipt in turn.receipts()] == ["success"]
    assert turn.activity().state is ActivityState.ROUTING
    desk.kernel.run()
    assert _visits(desk, turn.turn_id) == {"sort": StepState.DONE, "file": StepState.DONE}
    assert turn.activity().state is ActivityState.COMPLETED


def test_rule_2_a_declined_proposal_lets_the_turn_go_on_to_its_next_step(desk: Desk) -> None:
    turn = desk.kernel.submit("ticket", {"kind": "order", "entry": "a"})
    desk.kernel.refuse(turn.question_ids(), by=PERSON)
    desk.kernel.run()
    assert _visits(desk, turn.turn_id) == {"sort": StepState.DONE, "file": StepState.DONE}
    assert (turn.activity().state.value, turn.activity().label) == ("completed", "cancelled")


def test_rule_2_a_stop_between_two_confirms_of_a_step_leaves_nothing_to_check(desk: Desk) -> None:
    turn = desk.kernel.submit("ticket", {"kind": "both", "entry": "a"})
    desk.kernel.confirm(turn.question_ids()[0], by=PERSON)
    desk.kernel.run()
    found = reconcile(desk.kernel.line)
    assert found.steps_check_required == ()
    assert turn.state == "queued"


def perform_without_walk(desk: Desk, turn: Any) -> None:
    """Carry the turn's effect out and leave the walk that follows to the test."""
    from actum.service.deliver import claim_due, deliver

    desk.kernel.run()  # Takes the lease; nothing is due yet.
    confirm_all(desk.kernel, turn)
    deliver(desk.kernel.line, claim_due(desk.kernel.line))


def test_rule_4_a_walk_that_is_always_overtaken_ends_with_an_error(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = desk.kernel.submit("ticket", {"kind": "odd"})
    monkeypatch.setattr(module, "write_walk", lambda *_, **__: False)
    with pytest.raises(InvariantViolation):
        module.walk(desk.kernel.line, turn.turn_id)


def test_rule_5_a_residual_is_a_question_and_without_one_a_visible_failure(desk: Desk) -> None:
    odd = desk.kernel.submit("ticket", {"kind": "odd"})
    assert [question.reason.value for question in odd.questions()] == ["judgment"]
    assert odd.activity().state is ActivityState.ROUTING
    failing = desk.kernel.submit("ticket", {"kind": "model"})
    activity = failing.activity()
    assert (activity.state.value, activity.failure_category.value) == ("failed", "routing")
    assert _visits(desk, failing.turn_id) == {"sort": StepState.DONE, "file": StepState.FAILED}
    assert desk.count("outbox") == 0


def test_rule_5_a_refused_proposal_is_a_visible_failure(desk: Desk) -> None:
    turn = desk.kernel.propose("ledger.append", {"no such argument": 1})
    activity = turn.activity()
    assert (activity.state.value, activity.failure_category.value) == ("failed", "native_execution")
    assert activity.failure_reason == "ledger.append: arguments_do_not_fit"
    assert turn.questions() == []


def test_rule_6_a_turn_that_only_decided_ends_on_the_receipt_of_its_record(desk: Desk) -> None:
    turn = desk.kernel.submit("ticket", {"kind": "letter"})
    rows = desk.read(lambda tx: tx.outbox_of_turn(turn.turn_id))
    assert [(row.kind, row.capability) for row in rows] == [(OutboxKind.EFFECT, "subject.record")]
    desk.kernel.run()
    receipt = turn.receipt()
    assert receipt is not None
    assert (receipt.kind.value, receipt.status.value) == ("record", "success")
    assert (turn.activity().state.value, turn.activity().label) == ("completed", "decision recorded")


def test_rule_6_a_turn_with_another_receipt_gets_no_record(desk: Desk) -> None:
    turn = desk.kernel.submit("ticket", {"kind": "order", "entry": "a"})
    perform(desk.kernel, turn)
    assert [receipt.kind.value for receipt in turn.receipts()] == ["effect"]
    assert turn.activity().label == "observed"


def test_every_commit_of_a_walk_has_a_name(desk: Desk) -> None:
    names: list[str] = []
    desk.kernel.line.at_point = names.append
    desk.kernel.submit("ticket", {"kind": "letter"})
    commit(desk.kernel.line, "mine", lambda tx: None)
    assert names[:3] == ["before_accept", "within_accept", "after_accept"]
    assert names[-3:] == ["before_mine", "within_mine", "after_mine"]
