# SPDX-License-Identifier: Apache-2.0
"""The activity row of a turn is written anew from the turn's rows in the transaction that changed them."""

from __future__ import annotations

import msgspec

from actum.kernel.standing import ChainEnd, Facts, stand
from actum.model.activity import Activity, ActivityState, FailureCategory
from actum.model.grading import EffectConfidence, EffectFinality, EffectStatus
from actum.model.question import Question, QuestionReason, QuestionState
from actum.model.work import StepState
from actum.ports.store import ReceiptRow, Tx

SETTLED_VISITS = (StepState.DONE, StepState.FAILED)


class _FailureBody(msgspec.Struct):
    category: FailureCategory
    reason: str


def refresh(
    tx: Tx, turn_id: str, *, now_ms: int, title: str | None = None, looking: bool = False
) -> Activity:
    """Write and return the turn's activity row. ``looking`` tells that its dispatched row is being looked at."""
    found = tx.activity(turn_id)
    questions = tx.questions(turn_id)
    standing = stand(_facts(tx, turn_id, questions, looking=looking))
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
        open_questions=sum(question.state is QuestionState.OPEN for question in questions),
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


def _facts(tx: Tx, turn_id: str, questions: list[Question], *, looking: bool) -> Facts:
    visits = tx.visits(turn_id)
    receipts = tx.receipts(turn_id)
    opened = [question.reason for question in questions if question.state is QuestionState.OPEN]
    assertions = [found for found in tx.assertions(turn_id) if found.asserts is not None]
    executed = {row.outbox_id for row in receipts if row.kind == "effect"}
    return Facts(
        visits=tuple(visit.state for visit in visits),
        undecided=not visits or any(visit.state not in SETTLED_VISITS for visit in visits),
        failure=_failure(tx, turn_id) if any(visit.state is StepState.FAILED for visit in visits) else None,
        open_judgments=opened.count(QuestionReason.JUDGMENT),
        open_confirms=opened.count(QuestionReason.CONFIRM),
        open_checks=opened.count(QuestionReason.CHECK_REQUIRED),
        proposals=tuple(proposal.state for proposal in tx.proposals(turn_id)),
        rows=tuple(row.state for row in tx.outbox_of_turn(turn_id)),
        looking=looking,
        chains=tuple(chain_end(row) for row in newest(receipts)),
        receipts=tuple(row.payload_digest for row in receipts),
        decisions=len(tx.decisions(turn_id)),
        unbacked_assertions=sum(
            found.outbox_id is None or found.outbox_id not in executed for found in assertions
        ),
    )


def newest(receipts: list[ReceiptRow]) -> list[ReceiptRow]:
    """Return the newest receipt of each outbox row; receipts are oldest first."""
    ends: dict[str, ReceiptRow] = {}
    for row in receipts:
        ends[row.outbox_id] = row
    return list(ends.values())


def chain_end(row: ReceiptRow) -> ChainEnd:
    """Return what the newest receipt of a chain says about its end."""
    words = msgspec.json.decode(row.body, type=_Words)
    return ChainEnd(
        kind=row.kind,
        status=None if row.status is None else EffectStatus(row.status),
        finality=EffectFinality(row.graded_finality),
        confidence=EffectConfidence(row.graded_confidence),
        refused=words.failure_code if row.graded_finality == "not_attempted" and words.refused else None,
        person_says=words.person_says,
        said_by=words.said_by,
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


__all__ = ["chain_end", "in_flight_recovered", "newest", "refresh"]
