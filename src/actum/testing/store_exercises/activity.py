# SPDX-License-Identifier: Apache-2.0
"""The state of a turn and its evidence cannot disagree, whoever writes, and each turn has its one view."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

from actum.model.activity import Activity, ActivityFilter, ActivityState, FailureCategory, view_of
from actum.ports.store import Tx
from actum.testing.store_exercises.bench import Bench, refused
from actum.testing.store_exercises.raw_rows import RawRows
from actum.testing.store_exercises.samples import NOW, Samples, digest

_ONE_VIEW = (ActivityFilter.IN_PROGRESS, ActivityFilter.NEEDS_ATTENTION, ActivityFilter.FINISHED)
_COLUMNS = ("receipt_count", "evidence_digest", "failure_category")


def activity_is_stored_replaced_and_counted(bench: Bench) -> None:
    """A turn has one row, which is replaced; it comes back whole, by state and in counts."""
    store, s = bench.store(), Samples()
    turns = [store.write(lambda tx: s.begun(tx)) for _ in range(3)]
    for turn_id in turns:
        store.write(lambda tx, turn_id=turn_id: tx.put_activity(s.activity(turn_id)))
    failed = s.activity(
        turns[1], state=ActivityState.FAILED, failure_category=FailureCategory.SETUP, failure_reason="why",
        label="late", title="t", updated_at_ms=NOW + 1,
    )  # fmt: skip
    store.write(lambda tx: tx.put_activity(failed))
    assert store.read(lambda tx: tx.activity(turns[1])) == failed
    assert store.read(lambda tx: tx.activity("none")) is None
    assert store.read(lambda tx: tx.activity_counts()) == {"running": 2, "failed": 1}
    assert store.read(lambda tx: tx.turns_in("running", "failed")) == turns
    assert store.read(lambda tx: tx.turns_in("failed")) == [turns[1]]
    assert store.read(lambda tx: tx.turns_in()) == []


def what_a_turn_stands_on_is_read_at_once(bench: Bench) -> None:
    """The one query behind an activity row says what the separate ones say."""
    store, s = bench.store(), Samples()
    turn_id = store.write(lambda tx: s.begun(tx))
    one, two = s.question(turn_id), s.question(turn_id)
    effect = s.effect(turn_id)
    store.write(lambda tx: [tx.add_question(one), tx.add_question(two), tx.add_effect(effect)])
    store.write(lambda tx: tx.answer_question(two.question_id, by="bob", answer="yes", now_ms=NOW))
    store.write(lambda tx: tx.add_proposal(s.proposal(turn_id, effect_digest=effect.effect_digest)))
    store.write(lambda tx: tx.add_decision(s.decision(turn_id)))
    store.write(lambda tx: [s.sealed(tx, turn_id), s.sealed(tx, turn_id, settles="x"), s.ready(tx, turn_id)])
    store.write(lambda tx: tx.add_assertion(s.assertion(turn_id, outbox_id="row")))
    store.write(lambda tx: tx.add_assertion(s.assertion(turn_id, asserts=None)))

    def look(tx: Tx) -> None:
        found = tx.turn_rows(turn_id)
        assert found.visits == [row.state.value for row in tx.visits(turn_id)]
        wanted = [(row.reason.value, row.state.value) for row in tx.questions(turn_id)]
        assert sorted(found.questions) == sorted(wanted)
        assert found.proposals == [row.state.value for row in tx.proposals(turn_id)]
        assert sorted(found.rows) == sorted(row.state.value for row in tx.outbox_of_turn(turn_id))
        said = [row.outbox_id for row in tx.assertions(turn_id) if row.asserts is not None]
        assert found.assertions == said
        assert found.decisions == len(tx.decisions(turn_id))
        ends = [(row.receipt_id, row.payload_digest, row.outbox_id, row.kind) for row in tx.receipts(turn_id)]
        assert [
            (row.receipt_id, row.payload_digest, row.outbox_id, row.kind) for row in found.receipts
        ] == ends
        grades = [(row.graded_finality, row.graded_confidence, row.status) for row in tx.receipts(turn_id)]
        assert [(row.finality, row.confidence, row.status) for row in found.receipts] == grades

    store.read(look)


def a_queued_turn_is_nudged_and_no_other(bench: Bench) -> None:
    """A queued turn moves to a state without evidence and counts its questions; any other is left as it is."""
    store, s = bench.store(), Samples()
    queued, running = (store.write(lambda tx: s.begun(tx)) for _ in range(2))
    rows = [s.activity(queued, state=ActivityState.QUEUED), s.activity(running)]
    store.write(lambda tx: [tx.put_activity(row) for row in rows])

    def nudge(turn_id: str, state: str, questions: int) -> bool:
        return store.write(
            lambda tx: tx.nudge_activity(turn_id, state=state, questions=questions, now_ms=NOW + 9)
        )

    # A bare row breaks three rules at once; which one answers is the database's choice.
    told = refused(lambda: nudge(queued, "completed", 0))
    assert told.startswith(("activity_completed_", "activity_counts_")), told
    assert refused(lambda: nudge(queued, "queued", -1)) == "activity_questions_counted"
    assert nudge(running, "queued", 1) is False
    assert nudge("none", "queued", 1) is False
    assert nudge(queued, "queued", 2) is True
    assert nudge(queued, "running", -1) is True
    found = store.read(lambda tx: tx.activity(queued))
    wanted = s.activity(queued, open_questions=1, updated_at_ms=NOW + 9)
    assert found == wanted
    assert store.read(lambda tx: tx.activity(running)) == rows[1]


def each_turn_is_listed_under_all_and_one_other_view(bench: Bench) -> None:
    """The four views are answered as the model says, newest first and in pages; no turn is in two or in none."""
    store, s = bench.store(), Samples()
    wanted: dict[str, Activity] = {}
    for made in _every_activity(bench, s):
        store.write(lambda tx, made=made: tx.put_activity(made))
        wanted[made.turn_id] = made
    everything = sorted(wanted.values(), key=lambda row: row.turn_id, reverse=True)
    listed = {view: store.read(lambda tx, view=view: tx.activities(view)) for view in ActivityFilter}
    assert listed[ActivityFilter.ALL] == everything
    for view in _ONE_VIEW:
        assert listed[view] == [row for row in everything if view_of(row) is view], view
        assert listed[view], view
    assert sum(len(listed[view]) for view in _ONE_VIEW) == len(everything)
    page = store.read(lambda tx: tx.activities(ActivityFilter.ALL, before=everything[2].turn_id, limit=2))
    assert page == everything[3:5]


def _every_activity(bench: Bench, s: Samples) -> Iterator[Activity]:
    store = bench.store()
    for state, questions, person in itertools.product(ActivityState, (0, 2), (None, "bob")):
        turn_id = store.write(lambda tx: s.begun(tx))
        fields: dict[str, Any] = {"open_questions": questions, "acknowledged_by": person}
        if state is ActivityState.COMPLETED:
            store.write(lambda tx, turn_id=turn_id: s.sealed(tx, turn_id))
            fields |= {"receipt_count": 1, "evidence_digest": digest("evidence")}
        if state is ActivityState.FAILED:
            fields["failure_category"] = FailureCategory.UNKNOWN
        yield s.activity(turn_id, state=state, **fields)


def _turn(tx: Tx, s: Samples, *, receipt: bool) -> str:
    turn_id = s.begun(tx)
    if receipt:
        s.sealed(tx, turn_id)
    return turn_id


def _fits(state: str, count: int, evidence: str | None, category: str | None) -> bool:
    """The three rules in words of their own: completed, failed, and every other state."""
    if state == "completed":
        return count == 1 and evidence is not None and category is None
    if state == "failed":
        return count == 0 and evidence is None and category is not None
    return count == 0 and evidence is None and category is None


def _try_all(bench: Bench, states: tuple[str, ...]) -> None:
    """Write every combination of the evidence columns by raw SQL; only the fitting ones are taken."""
    rows = RawRows(bench)
    s, store = rows.samples, bench.store()
    columns = list(itertools.product((0, 1), (None, digest("evidence")), (None, "setup")))
    for state, values in itertools.product(states, columns):
        changes: dict[str, Any] = {"state": state, **dict(zip(_COLUMNS, values, strict=True))}
        for way, verb in itertools.product(bench.ways, ("INSERT", "UPDATE")):
            turn_id = store.write(lambda tx, state=state: _turn(tx, s, receipt=state == "completed"))
            row = rows.activity_of(turn_id)
            if verb == "INSERT":
                call = partial(rows.insert, "activity", {**row, **changes}, way=way)
            else:
                rows.insert("activity", row)
                call = partial(rows.update, "activity", row, changes, way=way)
            if _fits(state, *values):
                call()
            else:
                told = refused(call)
                assert told.startswith("activity_"), (state, values, way, verb, told)
                stored = rows.stored("activity", row)
                assert stored == (None if verb == "INSERT" else row), (state, values, way, verb)


def completed_needs_receipt_digest_and_no_category(bench: Bench) -> None:
    """No `completed` row without a receipt and an evidence digest, and none with a failure category."""
    _try_all(bench, ("completed",))


def failed_has_a_category_and_nothing_else(bench: Bench) -> None:
    """No `failed` row without a category, and none with a receipt count or an evidence digest."""
    _try_all(bench, ("failed",))


def every_other_state_has_none_of_the_three(bench: Bench) -> None:
    """A turn that is neither completed nor failed has no count, no digest and no category."""
    _try_all(bench, ("queued", "routing", "running", "verifying", "recovery_required"))


def no_state_disagrees_with_its_evidence(bench: Bench) -> None:
    """The three rules together, for one state of each kind."""
    _try_all(bench, ("completed", "failed", "running"))


def a_completed_turn_counts_exactly_its_receipts(bench: Bench) -> None:
    """The count is the database's: another number is refused, and a later receipt is counted by itself."""
    store, s = bench.store(), Samples()
    turn_id = store.write(lambda tx: s.begun(tx))
    store.write(lambda tx: s.sealed(tx, turn_id))
    for count in (2, 3):
        row = s.completed(turn_id, receipts=count)
        told = refused(lambda row=row: store.write(lambda tx: tx.put_activity(row)))
        assert told == "activity_counts_receipts"
    store.write(lambda tx: tx.put_activity(s.completed(turn_id)))
    store.write(lambda tx: s.sealed(tx, turn_id, settles="earlier"))
    found = store.read(lambda tx: tx.activity(turn_id))
    assert found is not None
    assert found.receipt_count == 2
    rows = RawRows(bench, samples=s)
    change = {"receipt_count": 5}
    where = {"tenant": "local", "turn_id": turn_id}
    for way in bench.ways:
        told = refused(lambda way=way: rows.update("activity", where, change, way=way))
        assert told == "activity_counts_receipts", (way, told)


def a_turn_is_not_completed_on_failures_alone(bench: Bench) -> None:
    """A failed or unknown receipt completes nothing; a success, a cancellation or a settlement beside it does."""
    store, s = bench.store(), Samples()
    bad: list[dict[str, Any]] = [
        {"status": "failed", "graded_finality": "failed"},
        {"status": "unknown_outcome", "graded_finality": "indeterminate", "graded_confidence": "unknown"},
        {"status": None, "graded_finality": "initiated", "claimed_finality": "initiated"},
    ]
    rows = RawRows(bench, samples=s)
    for fields in bad:
        turn_id = store.write(lambda tx: s.begun(tx))
        store.write(lambda tx, t=turn_id, f=fields: s.sealed(tx, t, **f))
        row = s.completed(turn_id)
        told = refused(lambda row=row: store.write(lambda tx: tx.put_activity(row)))
        assert told == "activity_completed_is_earned", fields
        raw = rows.activity_of(turn_id)
        rows.insert("activity", raw)
        change = {"state": "completed", "receipt_count": 1, "evidence_digest": digest("evidence")}
        for way in bench.ways:
            told = refused(
                lambda raw=raw, change=change, way=way: rows.update("activity", raw, change, way=way)
            )
            assert told == "activity_completed_is_earned", (way, told)
        store.write(lambda tx, t=turn_id: s.sealed(tx, t))
        store.write(lambda tx, t=turn_id: tx.put_activity(s.completed(t, receipts=2)))


EXERCISES = (
    activity_is_stored_replaced_and_counted,
    what_a_turn_stands_on_is_read_at_once,
    a_queued_turn_is_nudged_and_no_other,
    each_turn_is_listed_under_all_and_one_other_view,
    completed_needs_receipt_digest_and_no_category,
    failed_has_a_category_and_nothing_else,
    every_other_state_has_none_of_the_three,
    a_completed_turn_counts_exactly_its_receipts,
    a_turn_is_not_completed_on_failures_alone,
)
