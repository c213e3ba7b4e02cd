# SPDX-License-Identifier: Apache-2.0
"""A later look is a settlement with a receipt of its own; a person's word is kept as a word."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from actum.adapters.looking.in_process import InProcessLooker
from actum.bootstrap.place import VERIFIER
from actum.model.delivery import OutboxState
from actum.model.errors import EnvironmentFault, RefusedError
from actum.model.grading import ExecutorSaid
from actum.model.question import QuestionReason
from actum.ports.execution import ExecutorReport
from actum.testing.kernels import OTHER_PERSON, PERSON, open_reasons
from tests.crash.agreement import disagreements
from tests.unit.service.shop import Shop


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path / "here")
    yield made
    made.kernel.close()


@pytest.fixture
def doubtful(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path / "here", absence_is_proof=False, attempts_max=1)
    yield made
    made.kernel.close()


@pytest.fixture
def blind(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path / "here", observable=False, absence_is_proof=False)
    yield made
    made.kernel.close()


def test_what_was_only_taken_in_and_can_never_be_looked_at_is_asked_about(tmp_path: Path) -> None:
    accepted = ExecutorReport(said=ExecutorSaid.ACCEPTED, result={"id": "7"}, acknowledged=True)
    shop = Shop(tmp_path / "here", observable=False, absence_is_proof=False, acting=lambda _: accepted)
    turn = shop.done("a")
    assert shop.grade(turn)[0] == "initiated"
    assert (turn.state, turn.activity().label) == ("verifying", "pending at the sink")
    assert [question.reason for question in turn.questions()] == [QuestionReason.CHECK_REQUIRED]
    shop.kernel.settle(shop.row(turn).outbox_id, "happened", by=PERSON)
    assert turn.state == "completed"
    assert turn.question_ids() == []
    assert disagreements(shop.kernel) == []
    shop.kernel.close()


@pytest.mark.parametrize(
    ("word", "state"), [("happened", "completed"), ("did_not", "failed"), ("stop", "failed")]
)
def test_o82_a_persons_word_ends_the_wait_and_is_never_called_verified(
    word: str, state: str, doubtful: Shop
) -> None:
    turn = doubtful.confirmed("a")
    doubtful.run_until_stopped("before_execute")
    doubtful.restart()
    doubtful.kernel.run()
    settled = doubtful.kernel.settle(doubtful.row(turn).outbox_id, word, by=PERSON)
    newest = doubtful.receipts(turn)[-1]
    assert settled.state is OutboxState.SETTLED
    assert (newest.person_says, newest.said_by) == (word, PERSON)
    assert newest.graded.confidence.value in ("not_verified", "unknown")
    assert newest.status is None or newest.status.value != "success"
    assert doubtful.turn(turn).state == state
    assert doubtful.ledger.entries() == []
    assert disagreements(doubtful.kernel) == []


def test_what_nobody_can_look_at_waits_for_a_person_and_says_whose_word_it_is(blind: Shop) -> None:
    turn = blind.done("a")
    assert blind.turn(turn).state == "recovery_required"
    assert [reason.value for reason in open_reasons(turn)] == ["check_required"]
    blind.kernel.settle(blind.row(turn).outbox_id, "happened", by=PERSON)
    activity = turn.activity()
    assert (activity.state.value, activity.label) == ("completed", "not verified, ann says it happened")
    assert disagreements(blind.kernel) == []


def test_o82_only_somebody_with_the_role_may_say_what_happened(doubtful: Shop) -> None:
    turn = doubtful.confirmed("a")
    doubtful.run_until_stopped("after_execute")
    doubtful.restart()
    doubtful.kernel.run(look=False)
    for nobody in ("agent:tester", "carl"):
        with pytest.raises(RefusedError):
            doubtful.kernel.settle(doubtful.row(turn).outbox_id, "happened", by=nobody)
    assert doubtful.row(turn).state is OutboxState.CHECK_REQUIRED


def test_a_second_answer_is_told_that_the_first_one_stands(doubtful: Shop) -> None:
    turn = doubtful.confirmed("a")
    doubtful.run_until_stopped("before_execute")
    doubtful.restart()
    doubtful.kernel.run()
    row = doubtful.row(turn).outbox_id
    doubtful.kernel.settle(row, "did_not", by=PERSON)
    with pytest.raises(RefusedError) as caught:
        doubtful.kernel.settle(row, "happened", by=OTHER_PERSON)
    assert caught.value.code == "already_settled"
    assert len(doubtful.receipts(turn)) == 2


def down(shop: Shop) -> None:
    """Make the ledger's world unreachable before anything is dispatched."""
    found = shop.kernel.line.registry.find("ledger.append")

    def hold(effect: object) -> object:
        raise EnvironmentFault("down", failed="it is down", state="nothing was done", next_step="wait")

    found.executor.hold = hold  # type: ignore[union-attr]


def test_r127_a_row_that_keeps_failing_is_a_dead_letter_that_stays_to_be_seen(shop: Shop) -> None:
    down(shop)
    turn = shop.done("a")
    for _ in range(20):
        shop.run_later()
    assert shop.row(turn).state is OutboxState.DEAD
    assert [reason.value for reason in open_reasons(turn)] == ["dead_letter"]
    assert shop.turn(turn).state == "failed"
    assert "dead letter: down" in str(turn.activity().failure_reason)
    assert [found.turn_id for found in shop.kernel.activity("needs_attention")] == [turn.turn_id]
    assert shop.row(turn).attempts == 8
    assert shop.ledger.entries() == []


def test_a_dead_letter_that_was_never_dispatched_is_given_up_as_not_attempted(shop: Shop) -> None:
    down(shop)
    turn = shop.done("a")
    for _ in range(20):
        shop.run_later()
    row = shop.row(turn).outbox_id
    with pytest.raises(RefusedError) as caught:
        shop.kernel.settle(row, "happened", by=PERSON)
    assert caught.value.code == "never_dispatched"
    shop.kernel.settle(row, "stop", by=PERSON)
    assert shop.row(turn).state is OutboxState.SETTLED
    assert shop.grade(turn) == ("not_attempted", "verified")
    assert open_reasons(turn) == []
    assert disagreements(shop.kernel) == []


def test_a_dead_letter_whose_mark_nobody_saw_is_given_up_with_the_grade_of_its_receipt(shop: Shop) -> None:
    down(shop)
    turn = shop.done("a")
    for _ in range(20):
        shop.run_later()
    line = shop.kernel.line
    line.looker = InProcessLooker({}, signer=shop.kernel.place.keys.load(VERIFIER), clock=shop.clock)
    settled = shop.kernel.settle(shop.row(turn).outbox_id, "stop", by=PERSON)
    assert (settled.finality.value, settled.confidence) == shop.grade(turn)
    assert settled.confidence != "verified"
    assert settled.state is shop.row(turn).state


def test_r127_a_retried_effect_that_never_shows_is_a_dead_letter(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "here", acting=lambda entry: {"done": entry})
    turn = shop.done("a")
    for _ in range(10):
        shop.run_later()
    assert shop.row(turn).state is OutboxState.DEAD
    assert len(shop.receipts(turn)) == 3
    assert {receipt.graded.finality.value for receipt in shop.receipts(turn)} == {"failed"}
    shop.kernel.settle(shop.row(turn).outbox_id, "stop", by=PERSON)
    assert shop.turn(turn).state == "failed"
    assert disagreements(shop.kernel) == []
    shop.kernel.close()


def copied(shop: Shop, folder: Path) -> Shop:
    """Copy a place as a backup does, and open the copy."""
    shop.abandon()
    shutil.copytree(shop.folder, folder)
    return Shop(folder)


def test_a_copied_store_dispatches_nothing_until_it_is_adopted(shop: Shop, tmp_path: Path) -> None:
    shop.confirmed("a")
    copy = copied(shop, tmp_path / "there")
    with pytest.raises(EnvironmentFault) as caught:
        copy.kernel.run()
    assert caught.value.code == "store_moved"
    assert copy.ledger.entries() == []
    copy.kernel.close()


def test_after_adopting_what_was_open_needs_checking_and_unused_grants_are_void(
    shop: Shop, tmp_path: Path
) -> None:
    turn = shop.confirmed("a")
    copy = copied(shop, tmp_path / "there")
    counts = copy.kernel.adopt(by=PERSON)
    assert counts == {"rows_check_required": 1, "grants_void": 1}
    for _ in range(3):
        copy.run_later()
    assert copy.row(turn).state is OutboxState.CHECK_REQUIRED
    assert copy.ledger.entries() == []
    copy.kernel.settle(copy.row(turn).outbox_id, "did_not", by=PERSON)
    assert disagreements(copy.kernel) == []
    copy.kernel.close()


def test_an_effect_that_is_under_way_is_not_said_never_to_have_left(shop: Shop) -> None:
    turn = shop.confirmed("a")
    shop.run_until_stopped("before_execute")
    with pytest.raises(RefusedError) as caught:
        shop.kernel.settle(shop.row(turn).outbox_id, by=PERSON)
    assert caught.value.code == "effect_under_way"
    assert "dispatched" in caught.value.sentences()[1]


def test_rule_4_a_stop_ends_the_wait_for_another_attempt(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "here", acting=lambda _: None)
    turn = shop.done("a")
    row = shop.row(turn)
    assert row.state is OutboxState.RETRY_WAIT
    for word in ("happened", "did_not"):
        with pytest.raises(RefusedError, match="retry_wait"):
            shop.kernel.settle(row.outbox_id, word, by=PERSON)
    shop.kernel.settle(row.outbox_id, "stop", by=PERSON)
    shop.run_later()
    executions = shop.read(lambda tx: tx.executions(row.outbox_id))
    assert shop.row(turn).state is OutboxState.SETTLED
    assert [one.kind.value for one in executions] == ["effect", "settlement"]
    assert shop.receipts(turn)[-1].person_says == "stop"
    assert disagreements(shop.kernel) == []
    shop.kernel.close()


def test_rule_6_a_stop_ends_what_waits_for_its_first_dispatch(shop: Shop) -> None:
    turn = shop.append("a")
    [row] = shop.kernel.confirm(turn.question_ids(), by=PERSON)
    shop.restart()  # What this process had claimed for itself waits again.
    shop.kernel.line.looker, looker = Gone(), shop.kernel.line.looker
    shop.kernel.run()
    shop.kernel.line.looker = looker
    settled = shop.kernel.settle(row, "stop", by=PERSON)
    assert (settled.state, settled.finality.value) == (OutboxState.SETTLED, "not_attempted")
    shop.run_later()
    assert shop.ledger.entries() == []
    assert disagreements(shop.kernel) == []


class Gone:
    """A looker that is out of reach."""

    def look_many(self, requests: object) -> object:
        raise EnvironmentFault("verifier_gone", failed="gone", state="unseen", next_step="again")

    look = look_many


def test_rule_2_a_claim_that_only_waited_for_a_look_takes_no_attempt_away(tmp_path: Path) -> None:
    done = []
    shop = Shop(
        tmp_path / "here",
        acting=lambda entry: done.append(entry),
        seeing=lambda entry: {"lines": len(done) // 3},
        attempts_max=3,
    )
    turn = shop.confirmed("a")
    shop.kernel.line.looker, looker = Gone(), shop.kernel.line.looker
    for _ in range(4):
        shop.run_later()
    assert shop.row(turn).attempts >= 4
    shop.kernel.line.looker = looker
    for _ in range(3):
        shop.run_later()
    assert (done, shop.grade(turn)) == (["a", "a", "a"], ("finalized", "verified"))
    shop.kernel.close()


def test_rule_2_a_dead_letter_counts_the_attempts_that_were_made(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "here", acting=lambda _: None, attempts_max=2)
    turn = shop.confirmed("a")
    shop.kernel.line.looker, looker = Gone(), shop.kernel.line.looker
    shop.run_later()
    shop.kernel.line.looker = looker
    for _ in range(3):
        shop.run_later()
    assert shop.row(turn).state is OutboxState.DEAD
    assert turn.activity().failure_reason == "dead letter: no effect after 2 attempts"
    shop.kernel.close()
