# SPDX-License-Identifier: Apache-2.0
"""What people were asked, allowed and were told: questions, grants, qualifications, roles, messages."""

from __future__ import annotations

import threading

import msgspec

from actum.model.delivery import ExecutionKind
from actum.model.message import ExecutionMode
from actum.model.question import QuestionReason, QuestionState
from actum.ports.store import ReceiptRow, Tx
from actum.testing.store_exercises.bench import Bench, refused
from actum.testing.store_exercises.raw_rows import RawRows
from actum.testing.store_exercises.samples import CLOUD, NATIVE, NOW, Samples, digest


def questions_are_listed_oldest_first_and_in_pages(bench: Bench) -> None:
    """Open questions come in the order they were asked, from after an id, up to a limit."""
    store, s = bench.store(), Samples()
    turn_id = store.write(lambda tx: s.begun(tx))
    asked = [s.question(turn_id, subject_ref=str(n)) for n in range(5)]
    store.write(lambda tx: [tx.add_question(one) for one in reversed(asked)])
    assert store.read(lambda tx: tx.open_questions()) == asked
    assert store.read(lambda tx: tx.open_questions(after=asked[1].question_id, limit=2)) == asked[2:4]
    assert store.read(lambda tx: tx.questions(turn_id)) == asked
    assert store.read(lambda tx: tx.question(asked[0].question_id)) == asked[0]
    assert store.read(lambda tx: tx.question("none")) is None
    found = store.read(lambda tx: tx.open_question(reason=QuestionReason.CONFIRM, subject_ref="3"))
    assert found == asked[3]
    assert store.read(lambda tx: tx.open_question(reason=QuestionReason.JUDGMENT, subject_ref="3")) is None


def a_question_is_answered_once(bench: Bench) -> None:
    """Of two answers one counts; an answered or void question takes no other, and may be asked again."""
    store, s = bench.store(), Samples()
    turn_id = store.write(lambda tx: s.begun(tx))
    one, two = s.question(turn_id, subject_ref="x"), s.question(turn_id, subject_ref="y")
    store.write(lambda tx: [tx.add_question(one), tx.add_question(two)])
    won: list[bool] = []

    def answer(name: str) -> None:
        won.append(
            store.write(lambda tx: tx.answer_question(one.question_id, by=name, answer=name, now_ms=NOW))
        )

    threads = [threading.Thread(target=answer, args=(name,)) for name in ("bob", "eve")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False, True]
    found = store.read(lambda tx: tx.question(one.question_id))
    assert found is not None
    assert found.state is QuestionState.ANSWERED
    assert found.answered_by == found.answer
    assert store.write(lambda tx: tx.void_question(one.question_id)) is False
    assert store.write(lambda tx: tx.void_question(two.question_id)) is True
    assert store.write(lambda tx: tx.answer_question(two.question_id, by="b", answer="a", now_ms=1)) is False
    assert store.read(lambda tx: tx.open_questions()) == []
    again = s.question(turn_id, subject_ref="x")
    store.write(lambda tx: tx.add_question(again))
    third = s.question(turn_id, subject_ref="x")
    assert refused(lambda: store.write(lambda tx: tx.add_question(third))) == "question_open_once"


def a_grant_is_used_by_one_row(bench: Bench) -> None:
    """The first row takes the grant and may take it again; no other row can."""
    store, s = bench.store(), Samples()
    grant = s.grant(digest("effect"))
    store.write(lambda tx: tx.add_grant(grant))
    name = grant.grant.grant_id
    assert store.read(lambda tx: tx.grant(name)) == grant
    assert store.write(lambda tx: tx.use_grant(name, outbox_id="one")) is True
    assert store.write(lambda tx: tx.use_grant(name, outbox_id="one")) is True
    assert store.write(lambda tx: tx.use_grant(name, outbox_id="two")) is False
    assert store.write(lambda tx: tx.use_grant("none", outbox_id="one")) is False
    found = store.read(lambda tx: tx.grant(name))
    assert found is not None
    assert found.used_by == "one"
    assert store.read(lambda tx: tx.grant("none")) is None


def a_void_grant_is_never_used(bench: Bench) -> None:
    """Voiding hits every unused grant and no used one; what is void stays so."""
    store, s = bench.store(), Samples()
    used, unused = s.grant(digest("one")), s.grant(digest("two"))
    store.write(lambda tx: [tx.add_grant(used), tx.add_grant(unused)])
    store.write(lambda tx: tx.use_grant(used.grant.grant_id, outbox_id="row"))
    assert store.write(lambda tx: tx.void_unused_grants(now_ms=NOW)) == 1
    assert store.write(lambda tx: tx.void_unused_grants(now_ms=NOW)) == 0
    assert store.write(lambda tx: tx.use_grant(unused.grant.grant_id, outbox_id="row")) is False
    assert store.write(lambda tx: tx.use_grant(used.grant.grant_id, outbox_id="row")) is True
    found = store.read(lambda tx: tx.grant(unused.grant.grant_id))
    assert found is not None
    assert (found.used_by, found.voided_at_ms) == (None, NOW)


def the_newest_qualification_counts(bench: Bench) -> None:
    """Of several qualifications of an effect the last recorded one is returned."""
    store, s = bench.store(), Samples()
    turn_id = store.write(lambda tx: s.begun(tx))
    effect = s.effect(turn_id)
    old = s.qualification(effect.effect_digest, result="passed", recorded_at_ms=NOW)
    new = s.qualification(effect.effect_digest, result="failed", recorded_at_ms=NOW + 1)
    store.write(lambda tx: [tx.add_effect(effect), tx.add_qualification(new), tx.add_qualification(old)])
    assert store.read(lambda tx: tx.qualification(effect.effect_digest)) == new
    assert store.read(lambda tx: tx.qualification(digest("none"))) is None


def roles_are_given_once(bench: Bench) -> None:
    """A role given twice is one role, first giver kept; an unknown principal has none."""
    store = bench.store()
    for by in ("root", "eve"):
        store.write(lambda tx, by=by: tx.add_role("bob", "approver", by=by, now_ms=NOW))
    store.write(lambda tx: tx.add_role("bob", "operator", by="root", now_ms=NOW))
    assert store.read(lambda tx: tx.roles("bob")) == {"approver", "operator"}
    assert store.read(lambda tx: tx.roles("nobody")) == set()
    assert bench.raw("SELECT granted_by FROM role WHERE role = ?", "approver")[0][0] == "root"


def messages_come_back_with_what_is_known_of_them(bench: Bench) -> None:
    """A message without evidence has no provenance and stays readable; one with it has all of it."""
    store, s = bench.store(), Samples()
    turn_id = store.write(lambda tx: s.begun(tx))
    receipt = store.write(lambda tx: s.sealed(tx, turn_id))
    said = [
        s.message(turn_id),
        s.message(turn_id, native=True, receipt_id=receipt.receipt_id),
        s.message(turn_id, provenance=CLOUD),
        s.message(turn_id, native=True, provenance=None),
    ]
    store.write(lambda tx: [tx.add_message(one) for one in reversed(said)])
    assert store.read(lambda tx: tx.messages(turn_id)) == said


def a_native_reply_is_no_cloud_s(bench: Bench) -> None:
    """A reply of native code with a cloud provider is refused at the write, through the store and around it."""
    store, s = bench.store(), Samples()
    turn_id = store.write(lambda tx: s.begun(tx))
    receipt = store.write(lambda tx: s.sealed(tx, turn_id))
    lie = msgspec.structs.replace(CLOUD, execution_kind=ExecutionMode.NATIVE)
    message = s.message(turn_id, native=True, provenance=lie, receipt_id=receipt.receipt_id)
    assert refused(lambda: store.write(lambda tx: tx.add_message(message))) == "message_native_not_cloud"
    rows = RawRows(bench, samples=s)
    for way in bench.ways:
        rows.insert("message", rows.native_message(), way=way)
        row = {**rows.native_message(), "provider": "anthropic"}
        told = refused(lambda row=row, way=way: rows.insert("message", row, way=way))
        assert told == "message_native_not_cloud", (way, told)


def a_native_reply_stands_on_a_seen_effect(bench: Bench) -> None:
    """Native provenance needs the receipt of a success of the same turn; a recorded decision is none."""
    store, s = bench.store(), Samples()
    turn_id = store.write(lambda tx: s.begun(tx))
    other = store.write(lambda tx: s.begun(tx))
    good = store.write(lambda tx: s.sealed(tx, other))
    unknown = {
        "status": "unknown_outcome",
        "graded_finality": "indeterminate",
        "graded_confidence": "unknown",
    }
    bad = store.write(lambda tx: s.sealed(tx, turn_id, **unknown))
    recorded = store.write(lambda tx: _recorded(tx, s, turn_id))
    wanted = {
        None: "message_native_has_receipt",
        good.receipt_id: "message_native_receipt_earned",
        bad.receipt_id: "message_native_receipt_earned",
        recorded.receipt_id: "message_native_receipt_earned",
    }
    for receipt_id, rule in wanted.items():
        message = s.message(turn_id, native=True, receipt_id=receipt_id, provenance=NATIVE)
        told = refused(lambda message=message: store.write(lambda tx: tx.add_message(message)))
        assert told in (rule, "message_native_receipt_earned"), (receipt_id, told)
    assert store.read(lambda tx: tx.messages(turn_id)) == []
    rows = RawRows(bench, samples=s)
    for way in bench.ways:
        bare = {**rows.native_message(), "receipt_id": None}
        assert refused(lambda r=bare, w=way: rows.insert("message", r, way=w)) in (
            "message_native_has_receipt",
            "message_native_receipt_earned",
        )
        failed = rows.native_message(status="failed", graded_finality="failed")
        told = refused(lambda r=failed, w=way: rows.insert("message", r, way=w))
        assert told == "message_native_receipt_earned", (way, told)


def _recorded(tx: Tx, s: Samples, turn_id: str) -> ReceiptRow:
    row = s.dispatched(tx, turn_id)
    execution = s.execution(row, kind=ExecutionKind.RECORD)
    tx.add_execution(execution)
    tx.finish_execution(execution.execution_id, finished_at_ms=NOW, said="ok", result_digest=None)
    receipt = s.receipt(execution)
    tx.add_receipt(receipt)
    return receipt


EXERCISES = (
    questions_are_listed_oldest_first_and_in_pages,
    a_question_is_answered_once,
    a_grant_is_used_by_one_row,
    a_void_grant_is_never_used,
    the_newest_qualification_counts,
    roles_are_given_once,
    messages_come_back_with_what_is_known_of_them,
    a_native_reply_is_no_cloud_s,
    a_native_reply_stands_on_a_seen_effect,
)
