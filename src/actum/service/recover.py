# SPDX-License-Identifier: Apache-2.0
"""At start everything a stop left unfinished is decided once, counted, and written to the activity log.

Rules
1. Recovery executes nothing. It moves rows by their epoch and looks at the world.
2. It runs under the runner's lease and before anything is claimed, so every claimed or dispatched row is a lost
   one, also one that this process itself left behind when a run broke off.
3. A dispatched row without a receipt is sealed indeterminate and unknown first, so that its record is whole.
4. Who held a dispatched row is kept: while that process is not known to have ended it may yet act, so no machine
   takes the row for undone.
5. The four counts are written even where they are zero; a second reconciliation changes nothing.
"""

from __future__ import annotations

import msgspec

from actum.kernel.delivery import row_after_lost_claim
from actum.kernel.recovery import BECOMES, IN_FLIGHT, Reconciliation
from actum.model.delivery import ExecutionKind, OutboxKind, OutboxRow, OutboxState
from actum.model.errors import InvariantViolation, Refused
from actum.model.question import QuestionReason
from actum.model.work import StepState
from actum.ports.store import Tx
from actum.service.holder import note_holder, require_incarnation
from actum.service.job import load_backing, sealing_from
from actum.service.line import Line
from actum.service.outcome import dead_letter
from actum.service.points import commit
from actum.service.rows import ask
from actum.service.seal import seal
from actum.service.standing import in_flight_recovered, refresh

CHECK = "what was interrupted: look with `actum settle`, or say what happened"


def reconcile(line: Line) -> Reconciliation:
    """Decide what every unfinished thing becomes, in one commit; return what was changed."""
    line.claimed.clear()  # What was claimed for this runner before becomes ready like any other.
    return commit(line, "reconcile", lambda tx: _reconcile(line, tx))


def left_behind(line: Line) -> bool:
    """Tell whether a run of this process broke off and left rows that nobody works on.

    EnvironmentFault ``store_adopted`` where the store is of another incarnation by now.
    """

    def held(tx: Tx) -> list[OutboxRow]:
        require_incarnation(line, tx)
        return tx.outbox_in(OutboxState.CLAIMED, OutboxState.DISPATCHED)

    found = line.store.glance(held)
    # In this order, and after the rows: a confirm of another thread hands its rows on from the one to the other.
    ours = set(line.handed)
    ours |= {row.outbox_id for row in list(line.claimed)}
    return any(row.outbox_id not in ours for row in found)


def _reconcile(line: Line, tx: Tx) -> Reconciliation:
    in_flight = tuple(tx.turns_in(*(state.value for state in IN_FLIGHT)))
    # Rule 2
    rows = tx.outbox_in(OutboxState.CLAIMED, OutboxState.DISPATCHED)
    ready = [row for row in rows if row.state is OutboxState.CLAIMED]
    unknown = [row for row in rows if row.state is OutboxState.DISPATCHED]
    for row in ready:
        _release(line, tx, row)
    for row in unknown:
        _seal_unknown(line, tx, row)
    running = tx.move_visits(state=StepState.RUNNING, to=BECOMES[StepState.RUNNING])
    reserved = tx.move_visits(state=StepState.RESERVED, to=BECOMES[StepState.RESERVED])
    for turn_id in sorted({row.turn_id for row in rows} | {turn for turn, _ in [*running, *reserved]}):
        refresh(tx, turn_id, now_ms=line.now())
    for turn_id in in_flight:
        in_flight_recovered(tx, turn_id, now_ms=line.now())
    found = Reconciliation(
        steps_reset=tuple("/".join(visit) for visit in reserved),
        steps_check_required=tuple("/".join(visit) for visit in running),
        routine_leases_released=(),
        activities_recovery_required=in_flight,
        rows_ready=tuple(row.outbox_id for row in ready),
        rows_check_required=tuple(row.outbox_id for row in unknown),
    )
    # Rule 5
    body: dict[str, object] = {"counts": found.counts(), "changed": msgspec.to_builtins(found)}
    line.event(tx, "reconciled", body=body)
    return found


def _release(line: Line, tx: Tx, row: OutboxRow) -> None:
    attempts_max = 1
    if row.kind is OutboxKind.EFFECT:
        found = line.registry.find(row.capability)
        attempts_max = 1 if isinstance(found, Refused) else found.info.attempts_max
    to = row_after_lost_claim(attempts=row.attempts, attempts_max=attempts_max)
    tx.move_outbox(row.outbox_id, epoch=row.epoch, state=OutboxState.CLAIMED, to=to, not_before_ms=line.now())
    if to is OutboxState.DEAD:
        dead_letter(
            line, tx, row, why=f"claimed {row.attempts} times, and the last claim ended in a stopped process"
        )


def _seal_unknown(line: Line, tx: Tx, row: OutboxRow) -> None:
    # Rule 3
    executions = [found for found in tx.executions(row.outbox_id) if found.epoch == row.epoch]
    if not executions or executions[0].kind is ExecutionKind.SETTLEMENT:
        raise InvariantViolation("a dispatched row has its execution", row=row.outbox_id)
    execution = executions[0]
    job = load_backing(tx, row)
    now = max(line.now(), execution.started_at_ms)
    tx.finish_execution(execution.execution_id, finished_at_ms=now, said=None, result_digest=None)
    ended = msgspec.structs.replace(execution, finished_at_ms=now)
    sealing = msgspec.structs.replace(
        sealing_from(job, ended, finished_at_ms=now),
        grant_digest=None if job.grant is None else job.grant.payload_digest,
        failure_code="interrupted",
    )
    seal(line, tx, sealing)
    note_holder(line, tx, row)  # Rule 4
    tx.move_outbox(
        row.outbox_id, epoch=row.epoch, state=OutboxState.DISPATCHED, to=OutboxState.CHECK_REQUIRED
    )
    shown = msgspec.json.encode({"outbox_id": row.outbox_id, "capability": row.capability, "why": CHECK})
    ask(
        line, tx, turn_id=row.turn_id, step_id=row.step_id, reason=QuestionReason.CHECK_REQUIRED,
        subject_ref=row.outbox_id, shown=shown,
    )  # fmt: skip
