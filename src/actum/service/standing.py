# SPDX-License-Identifier: Apache-2.0
"""The activity row of a turn is written anew from the turn's rows in the transaction that changed them."""

from __future__ import annotations

import msgspec

from actum.kernel.standing import ChainEnd, Facts, stand
from actum.model.activity import Activity, ActivityState, FailureCategory
from actum.model.delivery import OutboxState
from actum.model.grading import EffectConfidence, EffectFinality, EffectStatus
from actum.model.proposal import ProposalState
from actum.model.question import QuestionReason, QuestionState
from actum.model.work import StepState
from actum.ports.store import ReceiptEnd, ReceiptRow, TurnRows, Tx
from actum.service.line import Line

OPEN = QuestionState.OPEN.value
REPEATS = "duplicate_of:"
SETTLED_VISITS = (StepState.DONE, StepState.FAILED)


WAITS = "row.waits"
"""The event that keeps why a row waits to be tried again."""


ELSEWHERE = "step.elsewhere"
"""The event that keeps which capability, registered by another program only, a step was left for."""


class _ElsewhereBody(msgspec.Struct):
    capability: str


class _WaitsBody(msgspec.Struct):
    why: str


class _FailureBody(msgspec.Struct):
    category: FailureCategory
    reason: str


def refresh(
    tx: Tx, turn_id: str, *, now_ms: int, title: str | None = None, looking: bool = False
) -> Activity:
    """Write and return the turn's activity row. ``looking`` tells that its dispatched row is being looked at."""
    found = None if title is not None else tx.activity(turn_id)
    rows = tx.turn_rows(turn_id)
    standing = stand(facts_of(tx, turn_id, rows, looking=looking))
    activity = Activity(
        turn_id=turn_id,
        tenant=tx.tenant,
        title=title if title is not None else (found.title if found else ""),
        state=standing.state,
        receipt_count=standing.receipt_count,
        evidence_digest=standing.evidence_digest,
        failure_category=standing.failure_category,
        failure_reason=standing.failure_reason,
        label=standing.label,
        open_questions=sum(state == OPEN for _, state in rows.questions),
        acknowledged_by=found.acknowledged_by if found else None,
        acknowledged_at_ms=found.acknowledged_at_ms if found else None,
        updated_at_ms=now_ms,
    )
    tx.put_activity(activity)
    return activity


def in_flight_recovered(tx: Tx, turn_id: str, *, now_ms: int) -> None:
    """Set a turn that was in flight to recovery_required; its rows say the rest."""
    found = tx.activity(turn_id)
    if found is not None:
        tx.put_activity(
            msgspec.structs.replace(
                found, state=ActivityState.RECOVERY_REQUIRED, label="interrupted", updated_at_ms=now_ms
            )
        )


def set_dispatched(tx: Tx, turn_id: str, *, now_ms: int) -> None:
    """Write where a turn stands once a row of it is dispatched.

    A queued turn has nothing that needs checking, so with a dispatched row it runs; any other turn is read whole.
    """
    running = ActivityState.RUNNING.value
    if not tx.nudge_activity(turn_id, state=running, questions=0, now_ms=now_ms):
        refresh(tx, turn_id, now_ms=now_ms)


def set_confirmed(tx: Tx, turn_id: str, *, now_ms: int) -> None:
    """Write where a turn stands once one of its confirms is answered by a row that waits to leave.

    A queued turn stays queued with one question less; any other turn is read whole.
    """
    queued = ActivityState.QUEUED.value
    if not tx.nudge_activity(turn_id, state=queued, questions=-1, now_ms=now_ms):
        refresh(tx, turn_id, now_ms=now_ms)


def facts_of(tx: Tx, turn_id: str, rows: TurnRows, *, looking: bool) -> Facts:
    """Return what the rows of a turn say, for the kernel to judge."""
    visits = tuple(StepState(state) for state in rows.visits)
    undecided = not visits or any(state not in SETTLED_VISITS for state in visits)
    opened = [reason for reason, state in rows.questions if state == OPEN]
    executed = {end.outbox_id for end in rows.receipts if end.kind == "effect"}
    ends: dict[str, ReceiptEnd] = {end.outbox_id: end for end in rows.receipts}
    return Facts(
        visits=visits,
        undecided=undecided,
        failure=_failure(tx, turn_id) if StepState.FAILED in visits else None,
        open_judgments=opened.count(QuestionReason.JUDGMENT.value),
        open_confirms=opened.count(QuestionReason.CONFIRM.value),
        open_checks=opened.count(QuestionReason.CHECK_REQUIRED.value),
        proposals=tuple(ProposalState(state) for state in rows.proposals),
        rows=tuple(OutboxState(state) for state in rows.rows),
        looking=looking,
        chains=tuple(chain_end(tx, end) for end in ends.values()),
        receipts=tuple(end.payload_digest for end in rows.receipts),
        decisions=rows.decisions,
        unbacked_assertions=sum(row is None or row not in executed for row in rows.assertions),
        repeated=_repeated(tx, turn_id) if ProposalState.SUPERSEDED.value in rows.proposals else (),
        waits=_why_it_waits(tx, turn_id) if OutboxState.RETRY_WAIT.value in rows.rows else None,
        elsewhere=left_to(tx, turn_id) if undecided and not opened else None,
    )


def note(line: Line, tx: Tx, kind: str, *, turn_id: str, body: dict[str, object]) -> None:
    """Keep why a turn stands as it does, unless the newest event of the kind says the same."""
    events = tx.events(kind=kind, turn_id=turn_id)
    if not events or msgspec.json.decode(events[-1].body) != body:
        line.event(tx, kind, turn_id=turn_id, body=body)


def left_to(tx: Tx, turn_id: str) -> str | None:
    """Return the capability for whose program a step of the turn was last left, or None."""
    events = tx.events(kind=ELSEWHERE, turn_id=turn_id)
    return msgspec.json.decode(events[-1].body, type=_ElsewhereBody).capability if events else None


def _why_it_waits(tx: Tx, turn_id: str) -> str | None:
    """Return why a row of the turn was last put off, or None where none was."""
    events = tx.events(kind=WAITS, turn_id=turn_id)
    return msgspec.json.decode(events[-1].body, type=_WaitsBody).why if events else None


def _repeated(tx: Tx, turn_id: str) -> tuple[ChainEnd | None, ...]:
    """Return the end of each effect that a turn repeats, None where it is open."""
    refusals = [proposal.refusal or "" for proposal in tx.proposals(turn_id)]
    named = [word.removeprefix(REPEATS) for word in refusals if word.startswith(REPEATS)]
    return tuple(_end_of_row(tx, outbox_id) for outbox_id in dict.fromkeys(named))


def _end_of_row(tx: Tx, outbox_id: str) -> ChainEnd | None:
    row, receipts = tx.outbox(outbox_id), tx.receipts_of_row(outbox_id)
    if row is None or row.state not in (OutboxState.SETTLED, OutboxState.DEAD) or not receipts:
        return None
    last = receipts[-1]
    return chain_end(
        tx,
        ReceiptEnd(
            receipt_id=last.receipt_id,
            payload_digest=last.payload_digest,
            outbox_id=outbox_id,
            kind=last.kind,
            finality=last.graded_finality,
            confidence=last.graded_confidence,
            status=last.status,
        ),
    )


def newest(receipts: list[ReceiptRow]) -> list[ReceiptRow]:
    """Return the newest receipt of each outbox row; receipts are oldest first."""
    ends: dict[str, ReceiptRow] = {}
    for row in receipts:
        ends[row.outbox_id] = row
    return list(ends.values())


def chain_end(tx: Tx, end: ReceiptEnd) -> ChainEnd:
    """Return what the newest receipt of a chain says about its end."""
    # A success says everything in its grade; only the others have words that are worth reading their body for.
    words = None
    if end.status != EffectStatus.SUCCESS.value:
        row = tx.receipt(end.receipt_id)
        words = None if row is None else msgspec.json.decode(row.body, type=_Words)
    refused = words is not None and words.refused and end.finality == EffectFinality.NOT_ATTEMPTED.value
    return ChainEnd(
        kind=end.kind,
        status=None if end.status is None else EffectStatus(end.status),
        finality=EffectFinality(end.finality),
        confidence=EffectConfidence(end.confidence),
        refused=words.failure_code if words is not None and refused else None,
        person_says=None if words is None else words.person_says,
        said_by=None if words is None else words.said_by,
    )


class _Words(msgspec.Struct):
    failure_code: str | None
    person_says: str | None
    said_by: str | None
    refused: bool


def _failure(tx: Tx, turn_id: str) -> tuple[FailureCategory, str]:
    events = tx.events(kind="step.failed", turn_id=turn_id)
    if not events:
        return FailureCategory.UNKNOWN, "no reason was recorded"
    body = msgspec.json.decode(events[-1].body, type=_FailureBody)
    return body.category, body.reason
