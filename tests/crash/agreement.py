# SPDX-License-Identifier: Apache-2.0
"""Whether receipt, activity, log and outbox row agree, told as a list of what does not."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import msgspec

from actum.bootstrap import Kernel
from actum.evidence.log import Frontier, leaf_hash
from actum.evidence.verdict import Aspect, State
from actum.evidence.verify import verify_bundle
from actum.model.activity import Activity, ActivityFilter, ActivityState
from actum.model.delivery import ExecutionKind, OutboxKind, OutboxState
from actum.model.question import QuestionReason
from actum.model.receipt import Receipt
from actum.model.work import StepState
from actum.ports.store import Tx
from actum.service.rows import TERMINAL
from actum.service.standing import refresh

UNFINISHED = (OutboxState.CLAIMED, OutboxState.DISPATCHED)
WAITING = (OutboxState.CHECK_REQUIRED, OutboxState.DEAD)


class _Recomputed:
    """A transaction that keeps the activity row it is told to write instead of writing it."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self.written: Activity | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    def put_activity(self, activity: Activity) -> None:
        self.written = activity


def disagreements(kernel: Kernel, *, at_rest: bool = True) -> list[str]:
    """Return every disagreement; with ``at_rest`` nothing may be left that a runner or a person has to do."""
    found = kernel.line.store.read(lambda tx: list(_all(tx, at_rest=at_rest)))
    return [*found, *kernel.check_log(), *_bundle(kernel)]


def _all(tx: Tx, *, at_rest: bool) -> Iterator[str]:
    leaves = {leaf.payload_digest for leaf in tx.each_leaf()}
    vouched = {msgspec.json.decode(event.body)["grant"] for event in tx.events(kind="pattern.confirmed")}
    for activity in tx.activities(ActivityFilter.ALL, limit=100_000):
        yield from _turn(tx, activity, leaves, vouched, at_rest=at_rest)
    if leaves != vouched:
        yield f"{len(leaves)} leaves for {len(vouched)} receipts and grants"
    yield from _log(tx)
    if at_rest:
        yield from (f"question {one.question_id} is open" for one in tx.open_questions())


def _turn(tx: Tx, activity: Activity, leaves: set[str], vouched: set[str], *, at_rest: bool) -> Iterator[str]:
    turn_id = activity.turn_id
    view: Any = _Recomputed(tx)
    refresh(view, turn_id, now_ms=activity.updated_at_ms)
    again = view.written
    for name in ("state", "receipt_count", "evidence_digest", "failure_category", "open_questions"):
        if getattr(again, name) != getattr(activity, name):
            yield f"{turn_id}: {name} is {getattr(activity, name)}, its rows say {getattr(again, name)}"
    receipts = tx.receipts(turn_id)
    if activity.state is ActivityState.COMPLETED and activity.receipt_count != len(receipts):
        yield f"{turn_id}: {activity.receipt_count} counted, {len(receipts)} receipts"
    for row in receipts:
        vouched.add(row.payload_digest)
        if row.payload_digest not in leaves:
            yield f"receipt {row.receipt_id} has no leaf"
        body = msgspec.json.decode(row.body, type=Receipt)
        if (body.graded.finality.value, body.graded.confidence.value, body.execution_id) != (
            row.graded_finality, row.graded_confidence, row.execution_id,
        ):  # fmt: skip
            yield f"receipt {row.receipt_id} and its columns disagree"
        if body.finished_at_ms < body.started_at_ms:
            yield f"receipt {row.receipt_id} ends before it begins"
    for visit in tx.visits(turn_id):
        if visit.state is StepState.RUNNING or (
            at_rest and visit.state not in (StepState.DONE, StepState.FAILED)
        ):
            yield f"{turn_id}/{visit.step_id} is {visit.state.value}"
    yield from _rows(tx, turn_id, vouched, at_rest=at_rest)
    if at_rest and activity.state not in (ActivityState.COMPLETED, ActivityState.FAILED):
        yield f"{turn_id} ({activity.title}) is {activity.state.value}"
    if at_rest:
        open_ones = [one.proposed_action_id for one in tx.proposals(turn_id) if one.state not in TERMINAL]
        failed = activity.state is ActivityState.FAILED
        yield from (f"proposal {one} is open" for one in open_ones if not failed)


def _rows(tx: Tx, turn_id: str, vouched: set[str], *, at_rest: bool) -> Iterator[str]:
    for row in tx.outbox_of_turn(turn_id):
        if row.state in UNFINISHED or (at_rest and row.state is not OutboxState.SETTLED):
            yield f"row {row.outbox_id} ({row.capability}) is {row.state.value}"
        if row.grant_id is not None:
            yield from _grant(tx, row.grant_id, row.outbox_id, vouched, used=row.dispatched_at_ms is not None)
        if row.kind is not OutboxKind.EFFECT:
            continue
        executions = tx.executions(row.outbox_id)
        receipts = tx.receipts_of_row(row.outbox_id)
        if sorted(one.execution_id for one in executions) != sorted(one.execution_id for one in receipts):
            yield f"row {row.outbox_id}: {len(executions)} executions, {len(receipts)} receipts"
        if any(one.finished_at_ms is None for one in executions):
            yield f"row {row.outbox_id}: an execution has no end"
        if row.state is OutboxState.SETTLED and not receipts:
            yield f"row {row.outbox_id} is settled without a receipt"
        adopted = executions[0].kind is ExecutionKind.SETTLEMENT if executions else False
        if (
            row.dispatched_at_ms is None
            and not adopted
            and any(one.status != "cancelled" for one in receipts)
        ):
            yield f"row {row.outbox_id} was never dispatched and has a receipt that says more"
        if row.dispatched_at_ms is not None and any(one.status == "cancelled" for one in receipts):
            yield f"row {row.outbox_id} was dispatched and is said not to have been attempted"
        for settlement in receipts:
            if settlement.settles is not None and settlement.settles not in vouched:
                yield f"receipt {settlement.receipt_id} settles a receipt that is not there"
        waits = (
            tx.open_question(reason=QuestionReason.CHECK_REQUIRED, subject_ref=row.outbox_id),
            tx.open_question(reason=QuestionReason.DEAD_LETTER, subject_ref=row.outbox_id),
        )
        if (row.state in WAITING) != any(question is not None for question in waits):
            yield f"row {row.outbox_id} is {row.state.value} and its question says otherwise"
    vouched |= _settlements(tx, turn_id)  # A person's word is a grant of its own.


def _grant(tx: Tx, grant_id: str, outbox_id: str, vouched: set[str], *, used: bool) -> Iterator[str]:
    grant = tx.grant(grant_id)
    if grant is None:
        yield f"row {outbox_id} names a grant that is not there"
        return
    vouched.add(grant.payload_digest)
    if used and grant.used_by != outbox_id:
        yield f"row {outbox_id} was dispatched and its grant is used by {grant.used_by}"


def _settlements(tx: Tx, turn_id: str) -> set[str]:
    bodies = [msgspec.json.decode(row.body, type=Receipt) for row in tx.receipts(turn_id)]
    return {body.grant_digest for body in bodies if body.person_says and body.grant_digest is not None}


def _log(tx: Tx) -> Iterator[str]:
    frontier = Frontier()
    for leaf in tx.each_leaf():
        if leaf.seq != frontier.size or leaf_hash(leaf.entry) != leaf.leaf_hash:
            yield f"leaf {leaf.seq} is not where or what it should be"
        frontier.append(leaf.leaf_hash)
    if (frontier.size, b"".join(frontier.hashes)) != tx.log_state():
        yield "the kept frontier is not the one its leaves give"


def _bundle(kernel: Kernel) -> Iterator[str]:
    stream = io.BytesIO()
    kernel.export(stream)
    stream.seek(0)
    verdict = verify_bundle(stream, trust=kernel.place.trust(), now_ms=kernel.line.now())
    yield from (f"bundle: {problem.code}: {problem.sentence}" for problem in verdict.problems)
    for aspect in (Aspect.INTACT, Aspect.SIGNER):
        if verdict.finding(aspect).state is not State.ESTABLISHED:
            yield f"bundle: {aspect.value} is {verdict.finding(aspect).state.value}"
