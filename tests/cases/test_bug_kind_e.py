# SPDX-License-Identifier: Apache-2.0
"""Reports of kind E, crash, resume and re-execution: each row as the right behaviour it asks for.

The ids are those of the public reports listed in the shared `cases/bug_reports.md`. All nine rows are here.
"""

from __future__ import annotations

import pytest

from actum.bootstrap import Kernel
from actum.model.delivery import OutboxState
from actum.model.errors import RefusedError
from actum.testing.kernels import PERSON, open_reasons
from tests.crash.agreement import disagreements
from tests.unit.service.shop import Shop

STEPS = """
process: report
work_types: [report]
fields:
  entry: string
actions:
  one: {capability: ledger.append, arguments: {entry: {cel: 'entry + "-1"'}}}
  two: {capability: ledger.append, arguments: {entry: {cel: 'entry + "-2"'}}}
  three: {capability: ledger.append, arguments: {entry: {cel: 'entry + "-3"'}}}
skills:
  first: {actions: [one, two, three], rules: [{id: all, when: 'entry != ""', then: {stage: [one, two, three]}}]}
  last: {actions: [one], rules: [{id: end, when: 'entry != ""'}]}
steps:
  - {id: first, kind: plumbing, skill: first}
  - {id: last, kind: plumbing, skill: last}
"""


def _staged(shop: Shop) -> None:
    (shop.kernel.place.processes / "report.yaml").write_text(STEPS)
    shop.kernel.line.rules.forget()  # type: ignore[attr-defined]


def test_e058_code_that_runs_again_finds_the_recorded_receipt_by_its_key(shop: Shop) -> None:
    def node(kernel: Kernel) -> list[str]:
        """A step with two waits, run from its beginning at every resume."""
        found: list[str] = []
        for part in ("one", "two"):
            turn = kernel.propose("ledger.append", {"entry": part}, idempotency_key=f"node/{part}")
            if turn.receipt() is None and turn.question_ids():
                return found
            found.append(turn.state)
        return found

    for _ in range(6):
        node(shop.kernel)
        asked = shop.kernel.inbox()
        if asked:
            shop.kernel.confirm(asked[0].question_id, by=PERSON)
        shop.kernel.run()
    assert shop.ledger.entries() == ["one", "two"]


def test_e060_approving_settled_work_runs_nothing_upstream_and_delivers_nothing_again(shop: Shop) -> None:
    turn = shop.done("a")
    decisions = shop.read(lambda tx: len(tx.decisions(turn.turn_id)))
    asked = shop.read(lambda tx: tx.questions(turn.turn_id))[0]
    for _ in range(2):
        with pytest.raises(RefusedError) as caught:
            shop.kernel.confirm(asked.question_id, by=PERSON)
        assert caught.value.code == "question_resolved"
        shop.run_later()
    assert shop.ledger.entries() == ["a"]
    assert shop.read(lambda tx: len(tx.decisions(turn.turn_id))) == decisions


def test_e060_a_delivery_that_is_pending_counts_as_delivered(shop: Shop) -> None:
    first = shop.kernel.propose("ledger.append", {"entry": "a"}, idempotency_key="k")
    shop.kernel.confirm(first.question_ids(), by=PERSON)
    again = shop.kernel.propose("ledger.append", {"entry": "a"}, idempotency_key="k")
    assert again.question_ids() == []
    shop.kernel.run()
    assert shop.ledger.entries() == ["a"]


def test_e061_a_crash_in_the_third_action_does_not_repeat_the_first_two(shop: Shop) -> None:
    _staged(shop)
    turn = shop.kernel.submit("report", {"entry": "r"})
    shop.kernel.confirm(turn.question_ids(), by=PERSON)
    shop.run_until_stopped("after_execute", at=3)
    assert shop.ledger.entries() == ["r-1", "r-2", "r-3"]
    shop.restart()
    _staged(shop)
    shop.kernel.run()
    shop.run_later()
    assert shop.ledger.entries() == ["r-1", "r-2", "r-3"]
    ends = {receipt.outbox_id: receipt for receipt in shop.receipts(shop.turn(turn))}
    assert len(ends) == 3


def test_e063_after_a_crash_only_what_was_not_done_is_done(shop: Shop) -> None:
    names = [f"step-{n:02}" for n in range(12)]
    for name in names[:8]:
        shop.done(name)
    for name in names[8:]:
        shop.confirmed(name)
    shop.run_until_stopped("before_execute", at=2)
    shop.restart()
    shop.kernel.run()
    shop.run_later()
    assert sorted(shop.ledger.entries()) == names
    assert disagreements(shop.kernel) == []


def test_e064_the_start_mark_is_durable_and_recovery_asks_instead_of_repeating(shop: Shop) -> None:
    turn = shop.confirmed("a")
    shop.run_until_stopped("after_execute")
    assert shop.row(turn).state is OutboxState.DISPATCHED
    shop.restart()
    shop.kernel.run(look=False)
    assert shop.row(turn).state is OutboxState.CHECK_REQUIRED
    assert [reason.value for reason in open_reasons(shop.turn(turn))] == ["check_required"]
    assert shop.turn(turn).state == "recovery_required"
    assert shop.ledger.entries() == ["a"]


def test_e066_a_confirmation_resumes_one_action_and_starts_nothing_again(shop: Shop) -> None:
    _staged(shop)
    turn = shop.kernel.submit("report", {"entry": "r"})
    second = turn.questions()[1]
    shop.kernel.confirm(second.question_id, by=PERSON)
    shop.kernel.run()
    assert shop.ledger.entries() == ["r-2"]
    assert len(turn.question_ids()) == 2
    assert shop.read(lambda tx: [row.step_id for row in tx.decisions(turn.turn_id)]) == ["first"]


def test_e067_an_approval_is_looked_up_in_the_store_by_the_action_it_is_for(
    shop: Shop, other: Kernel
) -> None:
    turn = shop.append("a")
    other.confirm(turn.question_ids(), by=PERSON)
    assert turn.question_ids() == []
    shop.kernel.run()
    assert (shop.ledger.entries(), turn.state) == (["a"], "completed")


def test_e069_the_same_key_is_the_same_effect_however_deep_it_is_proposed(shop: Shop) -> None:
    def nested(depth: int) -> None:
        if depth:
            nested(depth - 1)
        shop.kernel.propose("ledger.append", {"entry": "leaf"}, idempotency_key="run-1/leaf")

    nested(3)
    for question in shop.kernel.inbox():
        shop.kernel.confirm(question.question_id, by=PERSON)
    shop.kernel.run()
    nested(3)
    shop.kernel.run()
    assert shop.ledger.entries() == ["leaf"]
    assert shop.kernel.inbox() == []


def test_e070_nothing_waits_without_a_row_that_says_for_what(shop: Shop) -> None:
    _staged(shop)
    turns = [shop.append("a"), shop.kernel.submit("report", {"entry": ""}), shop.confirmed("b")]
    shop.run_until_stopped("after_execute")
    shop.restart()
    shop.kernel.run(look=False)
    for turn in map(shop.turn, turns):
        activity = turn.activity()
        waits = turn.questions() or [
            row
            for row in shop.read(lambda tx, t=turn: tx.outbox_of_turn(t.turn_id))
            if row.state.value == "ready"
        ]
        assert waits or activity.state.value in ("completed", "failed"), activity
