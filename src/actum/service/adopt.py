# SPDX-License-Identifier: Apache-2.0
"""A copied or restored store starts a new incarnation: nothing that was open in it may run by itself.

Rules
1. Every open row becomes check_required: it may have happened in the store this one was copied from.
2. Every unused grant is void: what was allowed there was not allowed here.
3. The runner's lease gets a new epoch: no living process of the old incarnation renews it.
4. Open confirms stay open; they lead to new grants of the new incarnation.
5. Who held a dispatched row is kept, as at every recovery: that process may yet act, so no machine takes it for undone.
6. A key that is not in force seals none of it (`actum.service.own_key`).
"""

from __future__ import annotations

import msgspec

from actum.model.delivery import ExecutionKind, OutboxKind, OutboxRow, OutboxState
from actum.model.errors import InvariantViolation
from actum.model.question import QuestionReason
from actum.model.work import StepState
from actum.ports.store import Tx
from actum.service.answer import Person, require_role
from actum.service.holder import note_holder
from actum.service.job import ended_execution, load_backing, sealing_from
from actum.service.line import Line
from actum.service.own_key import require_own_key
from actum.service.points import commit
from actum.service.rows import ask
from actum.service.seal import seal
from actum.service.standing import refresh

OPEN = (OutboxState.READY, OutboxState.CLAIMED, OutboxState.DISPATCHED, OutboxState.RETRY_WAIT)


def adopt(line: Line, *, person: Person, place: str) -> tuple[dict[str, int], str]:
    """Start a new incarnation here; return what was changed, and the incarnation's id."""

    def work(tx: Tx) -> tuple[dict[str, int], str]:
        require_role(tx, person.name, role="operator")
        require_own_key(line)  # Rule 6
        now = line.now()
        rows = tx.outbox_in(*OPEN)
        effects = [row for row in rows if row.kind is OutboxKind.EFFECT]
        for row in effects:
            _check(line, tx, row)
        for row in rows:
            if row.kind is not OutboxKind.EFFECT and row.state is OutboxState.CLAIMED:
                tx.move_outbox(row.outbox_id, epoch=row.epoch, state=row.state, to=OutboxState.READY)
        void = tx.void_unused_grants(now_ms=now)
        incarnation = line.ids.ulid(now)
        tx.set_meta("incarnation", incarnation)
        tx.set_meta("place", place)
        runner = tx.runner()
        if runner is not None:
            # Rule 3
            tx.take_runner(msgspec.structs.replace(runner, epoch=runner.epoch + 1), over_epoch=runner.epoch)
        counts = {"rows_check_required": len(effects), "grants_void": void}
        line.event(tx, "adopted", body={"by": person.name, "incarnation": incarnation, **counts})
        for turn_id in sorted({row.turn_id for row in rows}):
            refresh(tx, turn_id, now_ms=now)
        return counts, incarnation

    return commit(line, "adopt", work)


def _check(line: Line, tx: Tx, row: OutboxRow) -> None:
    """Seal a row as unknown and leave it for a look or a person (rule 1)."""
    now = line.now()
    job = load_backing(tx, row)
    marked = row.dispatched_at_ms is not None and row.state is OutboxState.DISPATCHED
    found = [one for one in tx.executions(row.outbox_id) if one.epoch == row.epoch]
    if marked and found:
        execution = msgspec.structs.replace(found[0], finished_at_ms=max(now, found[0].started_at_ms))
        tx.finish_execution(
            execution.execution_id,
            finished_at_ms=execution.finished_at_ms or now,
            said=None,
            result_digest=None,
        )
    else:
        execution = ended_execution(line, row, kind=ExecutionKind.SETTLEMENT)
        tx.add_execution(execution)
    sealing = sealing_from(job, execution, finished_at_ms=execution.finished_at_ms or now)
    used = job.grant.payload_digest if marked and job.grant is not None else None
    seal(line, tx, msgspec.structs.replace(sealing, failure_code="adopted", grant_digest=used))
    if marked:
        note_holder(line, tx, row)  # Rule 5
    if not tx.move_outbox(row.outbox_id, epoch=row.epoch, state=row.state, to=OutboxState.CHECK_REQUIRED):
        raise InvariantViolation("an open row can be moved in its own transaction", row=row.outbox_id)
    tx.set_visit(row.turn_id, row.step_id, state=StepState.CHECK_REQUIRED)
    shown = msgspec.json.encode(
        {"outbox_id": row.outbox_id, "capability": row.capability, "why": "this store was copied or restored"}
    )
    ask(
        line, tx, turn_id=row.turn_id, step_id=row.step_id, reason=QuestionReason.CHECK_REQUIRED,
        subject_ref=row.outbox_id, shown=shown,
    )  # fmt: skip
