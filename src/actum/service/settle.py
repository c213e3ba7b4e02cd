# SPDX-License-Identifier: Apache-2.0
"""What nobody knows is settled by another look or by a person's word, and a word is never an observation.

Rules
1. A later look is an execution of kind settlement with its own receipt, which names the receipt it settles.
2. A look that can tell moves the row on; one that cannot leaves it where it is, and writes no receipt. That
   nothing happened cannot be told while whoever dispatched it may still act.
3. A person's answer is a signed settlement grant over the receipt it settles; it stays a person's word.
4. Happened and did-not settle the row; stop ends the wait without repeating anything, also the wait for another
   attempt.
5. An acknowledged failure says who saw it and when.
6. A dead letter that was never dispatched is given up by a person and sealed as not attempted. So is, by a stop, what
   still waits for its first dispatch.
7. A look that matches settles nothing where the executor said rejected: somebody else may have done it.
"""

from __future__ import annotations

import msgspec

from actum.model import foreign
from actum.model.activity import ActivityState
from actum.model.delivery import Execution, ExecutionKind, OutboxKind, OutboxRow, OutboxState
from actum.model.errors import InvariantViolation, Refused, RefusedError, UsageError
from actum.model.grading import EffectFinality, ExecutorSaid, Graded, Situation
from actum.model.grant import Authn, Grant, GrantPurpose
from actum.model.question import QuestionReason
from actum.ports.store import ReceiptRow, Tx
from actum.ports.verifier import LookRequest, Phase
from actum.service import content
from actum.service.answer import CONFIRM_MS, Person, require_role
from actum.service.holder import may_still_act
from actum.service.job import (
    ended_execution,
    last_attempt,
    load_backing,
    load_job,
    look_request,
    sealing_from,
)
from actum.service.line import Line
from actum.service.not_attempted import seal_not_attempted
from actum.service.outcome import dead_letter, no_effect, set_waiting, settle_step, state_after
from actum.service.own_key import require_own_key
from actum.service.points import commit
from actum.service.receipts import Sealing
from actum.service.seal import grade, seal, seal_grant
from actum.service.standing import refresh
from actum.service.view import unknown

WAITING = (OutboxState.READY, OutboxState.RETRY_WAIT)
ANSWERS = ("happened", "did_not", "stop")


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """What a settlement came to: the row's state now, and the grade of its newest receipt."""

    outbox_id: str
    state: OutboxState
    finality: EffectFinality
    confidence: str
    told: bool


def look_again(line: Line, outbox_id: str) -> Settled:
    """Look at the world of an unsettled row once more (rules 1 and 2)."""
    require_own_key(line)
    row, last, sealing = line.store.read(lambda tx: _load(line, tx, outbox_id))
    request = _request(line, row)
    if request is None:
        return _untold(row, last)
    seen = line.looker.look(request)
    acted = line.store.read(lambda tx: _acted(tx, outbox_id))
    # Rule 7
    said = ExecutorSaid.REJECTED if acted.executor_said is ExecutorSaid.REJECTED else None
    sealing = msgspec.structs.replace(sealing, looks=(seen,), said=said, finished_at_ms=line.now())
    _, graded = grade(line, sealing)
    tells = graded.situation in (Situation.MATCH, Situation.CONTRARY)
    tells = tells and graded.pair.finality is not EffectFinality.INDETERMINATE
    if graded.situation is Situation.CONTRARY and line.store.read(lambda tx: may_still_act(line, tx, row)):
        return _untold(row, last)
    if not tells and _same_grade(last, graded):
        return _untold(row, last)
    return commit(line, "settle", lambda tx: _write(line, tx, row, sealing))


def _untold(row: OutboxRow, last: ReceiptRow) -> Settled:
    return Settled(
        outbox_id=row.outbox_id, state=row.state, finality=EffectFinality(last.graded_finality),
        confidence=last.graded_confidence, told=False,
    )  # fmt: skip


def answer(line: Line, outbox_id: str, *, word: str, person: Person) -> Settled:
    """Store a person's word about a row that nobody could see the end of (rules 3 and 4)."""
    if word not in ANSWERS:
        raise UsageError(
            "no_such_answer",
            failed=f"{word!r} is no answer about what happened",
            state="The effect is as it was",
            next_step=f"Answer one of: {', '.join(ANSWERS)}",
        )
    require_own_key(line)
    undone = line.store.read(lambda tx: _never_dispatched(tx, outbox_id, word=word))
    if undone is not None:
        return _give_up(line, undone, word=word, person=person)
    row, last, sealing = line.store.read(lambda tx: _load(line, tx, outbox_id, stops=word == "stop"))
    sealing = msgspec.structs.replace(
        sealing,
        person_says=word,
        said_by=person.name,
        failure_code="person_says_" + word,
    )

    def work(tx: Tx) -> Settled:
        require_role(tx, person.name, role="approver")
        grant = _grant(line, tx, row, last, person=person, word=word)
        stored = seal_grant(line, tx, grant, signer=person.signer, chain=row.turn_id)
        tx.use_grant(grant.grant_id, outbox_id=row.outbox_id)
        # The word is given now: a settlement that began before its grant would be refused by every reader.
        now = grant.issued_at_ms
        given = msgspec.structs.replace(sealing.execution, started_at_ms=now, finished_at_ms=now)
        known = msgspec.structs.replace(
            sealing, execution=given, finished_at_ms=now, grant_digest=stored.payload_digest
        )
        return _write(line, tx, row, known)

    return commit(line, "answer", work)


def _never_dispatched(tx: Tx, outbox_id: str, *, word: str) -> OutboxRow | None:
    row = tx.outbox(outbox_id)
    if row is None or row.kind is not OutboxKind.EFFECT or row.dispatched_at_ms is not None:
        return None
    return row if row.state is OutboxState.DEAD or (word == "stop" and row.state in WAITING) else None


def _give_up(line: Line, row: OutboxRow, *, word: str, person: Person) -> Settled:
    """End a dead letter that was never dispatched (rule 6)."""
    if word == "happened":
        raise RefusedError(
            "never_dispatched",
            failed=f"effect {row.outbox_id} was never dispatched, so it did not happen through this store",
            state="It is still a dead letter",
            next_step="Settle it with --stop, and propose it again once its world can be reached",
        )

    def answered(tx: Tx) -> None:
        require_role(tx, person.name, role="approver")
        question = tx.open_question(reason=QuestionReason.DEAD_LETTER, subject_ref=row.outbox_id)
        if question is not None:
            tx.answer_question(question.question_id, by=person.name, answer=word, now_ms=line.now())

    refused = Refused(reason="given_up", facts={"by": person.name})
    seal_not_attempted(line, [(row, refused)], also=answered)
    current, receipts = line.store.read(
        lambda tx: (tx.outbox(row.outbox_id) or row, tx.receipts_of_row(row.outbox_id))
    )
    if not receipts:
        raise _overtaken(row)
    return Settled(
        outbox_id=row.outbox_id, state=current.state, finality=EffectFinality(receipts[-1].graded_finality),
        confidence=receipts[-1].graded_confidence, told=True,
    )  # fmt: skip


def _never_left(row: OutboxRow) -> RefusedError:
    dead = row.state is OutboxState.DEAD
    if row.state is OutboxState.DISPATCHED:
        return RefusedError(
            "effect_under_way",
            failed=f"effect {row.outbox_id} is under way, and nothing is known of its end yet",
            state="It was dispatched, and whoever runs it has sealed no receipt",
            next_step="Let the run end; if its process stopped, `actum run` puts the effect in order and looks",
        )
    return RefusedError(
        "never_dispatched",
        failed=f"effect {row.outbox_id} was never dispatched, so there is nothing to look at or to say of it",
        state=f"It is {'a dead letter' if dead else row.state.value.replace('_', ' ')}",
        next_step="Settle it with --stop, and propose it again once its world can be reached"
        if dead
        else f"See what it waits for with `actum show {row.turn_id}`, or stop it with "
        f"`actum settle {row.outbox_id} --stop`",
    )


def _overtaken(row: OutboxRow) -> RefusedError:
    return RefusedError(
        "overtaken",
        failed=f"effect {row.outbox_id} was settled by somebody else meanwhile",
        state="That settlement stands; this one wrote nothing",
        next_step=f"See it with `actum show {row.outbox_id}`",
    )


def acknowledge(line: Line, turn_id: str, *, person: Person) -> None:
    """Record who saw a failure and when (rule 5)."""

    def work(tx: Tx) -> None:
        require_role(tx, person.name, role="approver")
        found = tx.activity(turn_id)
        if found is None:
            raise unknown("turn", turn_id)
        if found.state is not ActivityState.FAILED:
            raise RefusedError(
                "not_failed",
                failed=f"turn {turn_id} is {found.state.value}, and only a failure is acknowledged",
                state="It is as it was",
                next_step="See `actum activity`",
            )
        if found.acknowledged_by is None:
            now = line.now()
            tx.put_activity(
                msgspec.structs.replace(
                    found, acknowledged_by=person.name, acknowledged_at_ms=now, updated_at_ms=now
                )
            )
            line.event(tx, "acknowledged", turn_id=turn_id, body={"by": person.name})

    commit(line, "acknowledge", work)


def _load(
    line: Line, tx: Tx, outbox_id: str, *, stops: bool = False
) -> tuple[OutboxRow, ReceiptRow, Sealing]:
    row = tx.outbox(outbox_id)
    receipts = tx.receipts_of_row(outbox_id) if row is not None else []
    if row is None:
        raise unknown("dispatched effect", outbox_id)
    if not receipts:
        raise _never_left(row)
    last = receipts[-1]
    open_ended = last.graded_finality == EffectFinality.INITIATED.value
    waits = stops and row.state is OutboxState.RETRY_WAIT
    if row.state not in (OutboxState.CHECK_REQUIRED, OutboxState.DEAD) and not open_ended and not waits:
        raise RefusedError(
            "already_settled",
            failed=f"effect {outbox_id} is {row.state.value} and graded {last.graded_finality}",
            state="Its receipts are as they were",
            next_step=f"See them with `actum show {outbox_id}`",
        )
    backing = load_backing(tx, row)
    acted = _acted(tx, outbox_id)
    execution = msgspec.structs.replace(
        ended_execution(line, row, kind=ExecutionKind.SETTLEMENT),
        before=acted.before,
        before_digest=acted.before_digest,
    )
    result = None if acted.result_digest is None else content.load_json(line, tx, acted.result_digest)
    # Only looks and people are heard; of the executor's old word only a no counts (rule 7).
    sealing = msgspec.structs.replace(
        sealing_from(backing, execution, finished_at_ms=execution.started_at_ms),
        result=None if result is None else foreign.to_plain(result),
        settles=last.payload_digest,
    )
    return row, last, sealing


def _acted(tx: Tx, outbox_id: str) -> Execution:
    found = last_attempt(tx, outbox_id)
    if found is None:
        raise InvariantViolation("a row with a receipt has an execution", row=outbox_id)
    return found


def _request(line: Line, row: OutboxRow) -> LookRequest | None:
    """Return what the verifier is asked, or None where this process does not know the capability."""
    if isinstance(line.registry.find(row.capability), Refused):
        return None

    def load(tx: Tx) -> LookRequest:
        job = load_job(line, tx, row)
        acted = _acted(tx, row.outbox_id)
        result = None if acted.result_digest is None else content.load_json(line, tx, acted.result_digest)
        over = line.now() - acted.started_at_ms >= job.capability.info.consistency_window_ms
        request = look_request(job, phase=Phase.LATER, window_over=over)
        return msgspec.structs.replace(
            request,
            before=None if acted.before is None else msgspec.json.decode(acted.before),
            before_digest=acted.before_digest,
            result=None if result is None else foreign.to_plain(result),
        )

    return line.store.read(load)


def _same_grade(last: ReceiptRow, graded: Graded) -> bool:
    return (
        last.graded_finality == graded.pair.finality.value
        and last.graded_confidence == graded.pair.confidence.value
    ) or graded.pair.finality is EffectFinality.INDETERMINATE


def _grant(line: Line, tx: Tx, row: OutboxRow, last: ReceiptRow, *, person: Person, word: str) -> Grant:
    now = line.now()
    turn = tx.turn(row.turn_id)
    if turn is None:
        raise InvariantViolation("a row has a turn", row=row.outbox_id)
    return Grant(
        grant_id=line.ids.ulid(now),
        purpose=GrantPurpose.SETTLEMENT,
        incarnation=line.incarnation,
        tenant=tx.tenant,
        principal=person.name,
        authn=Authn.SESSION if person.signer is None else Authn.PASSPHRASE,
        subject_digest=last.payload_digest,
        qualification_digest=None,
        shown_digest=foreign.digest_foreign({"word": word, "receipt": last.payload_digest}),
        task=turn.work_item_id,
        issued_at_ms=now,
        expires_at_ms=now + CONFIRM_MS,
        nonce=line.ids.salt(),
        accepts_unqualified=False,
    )


def _write(line: Line, tx: Tx, row: OutboxRow, sealing: Sealing) -> Settled:
    current = tx.outbox(row.outbox_id)
    newest = tx.receipts_of_row(row.outbox_id)[-1]
    if current is None or current.epoch != row.epoch or newest.payload_digest != sealing.settles:
        raise _overtaken(row)
    tx.add_execution(sealing.execution)
    _, graded = seal(line, tx, sealing)
    state = _state_after(line, tx, row, graded=graded, word=sealing.person_says)
    if state is not row.state:
        tx.move_outbox(row.outbox_id, epoch=row.epoch, state=row.state, to=state, not_before_ms=line.now())
    if state is not row.state or sealing.person_says is not None:
        _close_questions(line, tx, row, sealing)
        set_waiting(tx, row)
    if state is OutboxState.SETTLED:
        settle_step(tx, row, effect=sealing.effect)
    elif state is OutboxState.DEAD and row.state is not OutboxState.DEAD:
        dead_letter(line, tx, row, why=no_effect(tx, row))
    line.event(
        tx, "settled", turn_id=row.turn_id,
        body={"outbox_id": row.outbox_id, "state": state.value, "finality": graded.pair.finality.value},
    )  # fmt: skip
    refresh(tx, row.turn_id, now_ms=line.now())
    return Settled(
        outbox_id=row.outbox_id, state=state, finality=graded.pair.finality,
        confidence=graded.pair.confidence.value, told=True,
    )  # fmt: skip


def _state_after(line: Line, tx: Tx, row: OutboxRow, *, graded: Graded, word: str | None) -> OutboxState:
    if word is not None:
        return OutboxState.SETTLED  # Rule 4
    if row.state is OutboxState.SETTLED:
        return OutboxState.SETTLED
    return state_after(tx, row, graded, info=load_job(line, tx, row).capability.info)


def _close_questions(line: Line, tx: Tx, row: OutboxRow, sealing: Sealing) -> None:
    for reason in (QuestionReason.CHECK_REQUIRED, QuestionReason.DEAD_LETTER):
        question = tx.open_question(reason=reason, subject_ref=row.outbox_id)
        if question is None:
            continue
        if sealing.person_says is not None and sealing.said_by is not None:
            tx.answer_question(
                question.question_id, by=sealing.said_by, answer=sealing.person_says, now_ms=line.now()
            )
        else:
            tx.void_question(question.question_id)
