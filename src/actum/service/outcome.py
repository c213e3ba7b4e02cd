# SPDX-License-Identifier: Apache-2.0
"""What a sealed or postponed attempt means for row, proposal, visit and activity.

Nothing that was dispatched is called again but by the rules of `actum.kernel.delivery`.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actum.kernel.delivery import backoff_ms, row_after_look, row_after_lost_claim
from actum.model.activity import FailureCategory
from actum.model.delivery import OutboxKind, OutboxRow, OutboxState
from actum.model.effect import Effect
from actum.model.errors import InvariantViolation
from actum.model.grading import EffectFinality, Graded
from actum.model.message import ExecutionMode
from actum.model.proposal import ProposalState
from actum.model.question import QuestionReason
from actum.model.work import StepState
from actum.ports.capability import CapabilityInfo
from actum.ports.store import Tx
from actum.service import content
from actum.service.job import Job, attempts_made
from actum.service.line import Line
from actum.service.receipts import Sealing
from actum.service.rows import ask, failed, step_settled
from actum.service.standing import WAITS, note, refresh

RUNNING_VISITS = (StepState.RUNNING, StepState.CHECK_REQUIRED)


def postpone(line: Line, tx: Tx, job: Job) -> None:
    """Let a row wait whose world could not be reached, or leave it as a dead letter after too many times.

    Where nobody could look, the row waits longer each time and is never a dead letter for it: that a verifier is gone
    says nothing about the effect.
    """
    row = job.row
    _note_wait(line, tx, row, why=job.why_waits)
    if job.unseen:
        wait = backoff_ms(row.outbox_id, attempts=row.epoch)
        tx.move_outbox(
            row.outbox_id, epoch=row.epoch, state=OutboxState.CLAIMED, to=OutboxState.RETRY_WAIT,
            not_before_ms=line.now() + wait,
        )  # fmt: skip
        refresh(tx, row.turn_id, now_ms=line.now())
        return
    to = row_after_lost_claim(attempts=row.attempts, attempts_max=job.capability.info.attempts_max)
    if to is OutboxState.READY:
        wait = backoff_ms(row.outbox_id, attempts=row.attempts)
        tx.move_outbox(
            row.outbox_id, epoch=row.epoch, state=OutboxState.CLAIMED, to=OutboxState.RETRY_WAIT,
            not_before_ms=line.now() + wait,
        )  # fmt: skip
    elif tx.move_outbox(row.outbox_id, epoch=row.epoch, state=OutboxState.CLAIMED, to=OutboxState.DEAD):
        dead_letter(line, tx, row, why=str(job.postponed))
    refresh(tx, row.turn_id, now_ms=line.now())


def _note_wait(line: Line, tx: Tx, row: OutboxRow, *, why: str) -> None:
    note(line, tx, WAITS, turn_id=row.turn_id, body={"outbox_id": row.outbox_id, "why": why})


def leave_to_look(line: Line, tx: Tx, job: Job, *, why: str) -> None:
    """Leave a row to a settlement's look or a person: it may not be tried again as the world is."""
    row = job.row
    if not tx.move_outbox(
        row.outbox_id, epoch=row.epoch, state=OutboxState.CLAIMED, to=OutboxState.CHECK_REQUIRED,
        not_before_ms=line.now(),
    ):  # fmt: skip
        return
    shown = {"capability": row.capability, "outbox_id": row.outbox_id, "why": why}
    _ask_check(line, tx, row, shown=shown)
    refresh(tx, row.turn_id, now_ms=line.now())


def dead_letter(line: Line, tx: Tx, row: OutboxRow, *, why: str) -> None:
    """Fail the step of a row that kept failing, and ask a person; the caller moves the row."""
    tx.set_visit(row.turn_id, row.step_id, state=StepState.FAILED)
    failed(line, tx, row.turn_id, category=_layer_of(line, row), reason=f"dead letter: {why}")
    if row.kind is not OutboxKind.EFFECT:
        return  # Nobody can say what became of a model call: the failed turn shows it, and can be acknowledged.
    shown = msgspec.json.encode(
        {
            "capability": row.capability,
            "outbox_id": row.outbox_id,
            "why": why,
            "attempts": attempts_made(tx, row.outbox_id),
            "dispatched": row.dispatched_at_ms is not None,
        }
    )
    ask(
        line, tx, turn_id=row.turn_id, step_id=row.step_id, reason=QuestionReason.DEAD_LETTER,
        subject_ref=row.outbox_id, shown=shown,
    )  # fmt: skip


def _layer_of(line: Line, row: OutboxRow) -> FailureCategory:
    """Return the layer a row's work runs in; a model that is no longer configured ran nobody knows where."""
    if row.kind is OutboxKind.EFFECT:
        return FailureCategory.NATIVE_EXECUTION
    match line.model_kinds.get(row.capability.removeprefix("model.")):
        case ExecutionMode.LOCAL_MODEL:
            return FailureCategory.LOCAL_MODEL
        case ExecutionMode.CLOUD_MODEL:
            return FailureCategory.CLOUD_SERVICE
        case _:
            return FailureCategory.UNKNOWN


def set_running(tx: Tx, row: OutboxRow) -> None:
    """Mark the step of a dispatched row running; what another action of the step left there stays to be seen."""
    tx.move_visit(row.turn_id, row.step_id, state=StepState.PENDING, to=StepState.RUNNING)


def set_waiting(tx: Tx, row: OutboxRow) -> None:
    """Mark the step of a row that may be tried again as not started, where no other row of it is running."""
    open_states = (OutboxState.DISPATCHED, OutboxState.CHECK_REQUIRED)
    others = [
        found
        for found in tx.outbox_of_turn(row.turn_id)
        if found.outbox_id != row.outbox_id and found.step_id == row.step_id and found.state in open_states
    ]
    for visit in tx.visits(row.turn_id):
        if visit.step_id == row.step_id and visit.state in RUNNING_VISITS and not others:
            tx.set_visit(row.turn_id, row.step_id, state=StepState.PENDING)


def finish_execution(line: Line, tx: Tx, sealing: Sealing) -> None:
    """Note the executor's word on the execution and keep its result."""
    digest = None if sealing.result is None else content.keep_json(line, tx, sealing.result)
    tx.finish_execution(
        sealing.execution.execution_id,
        finished_at_ms=sealing.finished_at_ms,
        said=None if sealing.said is None else sealing.said.value,
        result_digest=digest,
    )


def state_after(tx: Tx, row: OutboxRow, graded: Graded, *, info: CapabilityInfo) -> OutboxState:
    """Return the state of a dispatched row once its look is graded; only what was attempted counts against it."""
    failed_once = graded.pair.finality is EffectFinality.FAILED and info.attempts_max > 1
    return row_after_look(
        graded,
        absence_is_proof=info.absence_is_proof,
        attempts=attempts_made(tx, row.outbox_id) if failed_once else row.attempts,
        attempts_max=info.attempts_max,
    )


def no_effect(tx: Tx, row: OutboxRow) -> str:
    """Say why a row that was seen to have no effect is a dead letter."""
    made = attempts_made(tx, row.outbox_id)
    return f"no effect after {made} attempt{'' if made == 1 else 's'}"


def move_after_seal(
    line: Line, tx: Tx, row: OutboxRow, *, effect: Effect, state: OutboxState, graded: Graded
) -> None:
    """Move row, proposal, visit and activity to what a sealed attempt means (rule 7)."""
    wait = backoff_ms(row.outbox_id, attempts=row.attempts) if state is OutboxState.RETRY_WAIT else 0
    moved = tx.move_outbox(
        row.outbox_id,
        epoch=row.epoch,
        state=OutboxState.DISPATCHED,
        to=state,
        not_before_ms=line.now() + wait,
    )
    if not moved:
        raise InvariantViolation("a sealed row is still ours in its transaction", row=row.outbox_id)
    if state is OutboxState.SETTLED:
        settle_step(tx, row, effect=effect)
        if graded.pair.finality is EffectFinality.INITIATED and effect.descriptor.expected is None:
            # No look will ever tell how it went on from there, so nobody would hear of it again.
            _ask(line, tx, row, shown=_shown(row, graded))
    elif state is OutboxState.RETRY_WAIT:
        set_waiting(tx, row)
        _note_wait(line, tx, row, why="the last attempt was seen to have no effect")
    elif state is OutboxState.DEAD:
        dead_letter(line, tx, row, why=no_effect(tx, row))
    elif state is OutboxState.CHECK_REQUIRED:
        _ask_check(line, tx, row, shown=_shown(row, graded))
    refresh(tx, row.turn_id, now_ms=line.now())


def _shown(row: OutboxRow, graded: Graded) -> dict[str, object]:
    return {
        "capability": row.capability,
        "outbox_id": row.outbox_id,
        "finality": graded.pair.finality.value,
        "confidence": graded.pair.confidence.value,
        "reasons": [reason.value for reason in graded.reasons],
    }


def _ask_check(line: Line, tx: Tx, row: OutboxRow, *, shown: Mapping[str, object]) -> None:
    tx.set_visit(row.turn_id, row.step_id, state=StepState.CHECK_REQUIRED)
    _ask(line, tx, row, shown=shown)


def _ask(line: Line, tx: Tx, row: OutboxRow, *, shown: Mapping[str, object]) -> None:
    ask(
        line, tx, turn_id=row.turn_id, step_id=row.step_id, reason=QuestionReason.CHECK_REQUIRED,
        subject_ref=row.outbox_id, shown=msgspec.json.encode(shown),
    )  # fmt: skip


def settle_step(tx: Tx, row: OutboxRow, *, effect: Effect) -> None:
    """Mark the proposal of a settled row settled, and its step done if it was the last one."""
    tx.set_proposal(effect.descriptor.proposed_action_id, state=ProposalState.SETTLED)
    if row.capability == "subject.record":
        tx.set_visit(row.turn_id, row.step_id, state=StepState.DONE)
    elif not step_settled(tx, row.turn_id, row.step_id):
        # Another proposal of the step still waits for its person: a stop now must not find the step running.
        set_waiting(tx, row)
