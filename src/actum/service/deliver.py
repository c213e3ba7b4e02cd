# SPDX-License-Identifier: Apache-2.0
"""The delivery service is the only thing that calls an executor, and only between two commits.

Rules
1. Claim: lease, epoch and attempt in one commit.
2. In the handler everything is checked again, and the resource is opened and held.
3. The dispatched mark and the use of the grant commit before the executor is called.
4. The executor acts once, through the held handle. Whatever it raises is recorded as its word.
5. The verifier looks; within the consistency window it looks again until it can tell. A verifier that is gone has
   seen nothing: before the dispatch the row waits, after it the row is sealed without a look.
6. Look, receipt, leaf, activity and row commit together; a stale epoch writes nothing.
7. Nothing that was dispatched is called again but by the rules of `actum.kernel.delivery`.
8. A process that was held up and has lost its row does not call the executor any more.
9. One row whose record cannot be read is refused by itself and stops no other.
10. Between the two looks of an effect nothing else acts on what it touches: a batch leaves in waves.
11. Another attempt is made only where its look before sees the world as the attempt before it found it
   (`actum.kernel.delivery` 8); any other row is left to a settlement's look or a person.
12. A grant is in force at the mark and still when the executor is called.

Every commit here stands behind a named crash point; a commit without one fails a test.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from actum.kernel.delivery import why_not_again
from actum.kernel.dispatch import DispatchFacts, refuse_dispatch
from actum.model import foreign
from actum.model.delivery import Execution, ExecutionKind, OutboxRow, OutboxState
from actum.model.errors import ActumError, EnvironmentFault, InvariantViolation, Refused, a_kind
from actum.model.grading import ExecutorSaid, LookOutcome
from actum.model.model_call import ModelTier
from actum.model.strict_json import JsonRefused
from actum.ports.executor import Dispatch, ExecutorReport, take_seal
from actum.ports.store import Tx
from actum.ports.verifier import Phase
from actum.service import content
from actum.service.grants import grant_holds
from actum.service.holder import still_ours
from actum.service.job import (
    Job,
    changed_since,
    expected_of,
    load_job,
    look_request,
    new_execution,
    sealing_of,
)
from actum.service.line import LEASE_MS, Line
from actum.service.not_attempted import seal_not_attempted
from actum.service.outcome import (
    finish_execution,
    leave_to_look,
    move_after_seal,
    postpone,
    set_running,
    state_after,
)
from actum.service.points import AFTER_EXECUTE, BEFORE_EXECUTE, BEFORE_LOOK, commit, reach
from actum.service.seal import seal
from actum.service.standing import set_dispatched
from actum.service.waves import waves_of

_SEAL = take_seal()
BATCH_MAX = 64
MODEL_CALLS = [f"model.{tier.value}" for tier in ModelTier]


def claim_due(line: Line, *, limit: int = BATCH_MAX, lease_ms: int = LEASE_MS) -> list[OutboxRow]:
    """Return due rows under a claim of ours (rule 1): those written as claimed for us first, then newly claimed."""
    if line.claimed:
        rows = line.claimed[:limit]
        del line.claimed[: len(rows)]  # In place: a confirm of another thread appends meanwhile.
        return rows
    now = line.now()
    due = line.store.glance(lambda tx: tx.next_due_ms())
    if due is None or due > now:
        return []
    known = [info.id for info in line.registry.infos()] + MODEL_CALLS

    def work(tx: Tx) -> list[OutboxRow]:
        if not still_ours(line, tx):
            return []
        return tx.claim(
            holder=line.holder, now_ms=now, lease_until_ms=now + lease_ms, limit=limit, capabilities=known
        )

    return commit(line, "claim", work)


def deliver(line: Line, rows: Sequence[OutboxRow]) -> None:
    """Take claimed rows through check, mark, act, look and seal, a commit for each stage of all of them."""
    jobs, unreadable = _load(line, rows)
    if unreadable:
        seal_not_attempted(line, unreadable)
    # Rule 10
    for at, wave in enumerate(waves_of(jobs)):
        # What an earlier wave did is not yet in what was loaded before it.
        _deliver_wave(line, wave if at == 0 else _load(line, [job.row for job in wave])[0])


def _deliver_wave(line: Line, jobs: Sequence[Job]) -> None:
    try:
        for job in jobs:
            check(line, job)
        _look_before(line, [job for job in jobs if job.refused is None and job.postponed is None])
        waiting = [job for job in jobs if job.postponed is not None or job.not_again is not None]
        if waiting:
            commit(line, "postpone", lambda tx: [_let_wait(line, tx, job) for job in waiting])
        due = [job for job in jobs if job.postponed is None and job.not_again is None]
        _mark(line, due)
        going = [job for job in due if job.refused is None and job.execution is not None]
        for job in going:
            _execute(line, job)
        _look_after(line, going)
        if going:
            commit(line, "seal", lambda tx: [_settle(line, tx, job) for job in going])
        stopped = [(job.row, job.refused) for job in due if job.refused is not None]
        if stopped:
            seal_not_attempted(line, stopped)
    finally:
        for job in jobs:
            if job.held is not None:
                job.held.close()


def _let_wait(line: Line, tx: Tx, job: Job) -> None:
    if job.not_again is not None:
        leave_to_look(line, tx, job, why=job.not_again)
    else:
        postpone(line, tx, job)


def _load(line: Line, rows: Sequence[OutboxRow]) -> tuple[list[Job], list[tuple[OutboxRow, Refused]]]:
    jobs: list[Job] = []
    unreadable: list[tuple[OutboxRow, Refused]] = []

    def work(tx: Tx) -> None:
        for claimed in rows:
            row = tx.outbox(claimed.outbox_id)
            if row is None or row.epoch != claimed.epoch or row.state is not OutboxState.CLAIMED:
                continue  # Somebody else has it by now.
            try:
                jobs.append(load_job(line, tx, row))
            except (ActumError, msgspec.MsgspecError) as error:
                # Rule 9
                refused = Refused(reason="record_unreadable", facts={"error": type(error).__name__})
                unreadable.append((row, refused))

    line.store.glance(work)
    return jobs, unreadable


def check(line: Line, job: Job) -> None:
    """Check everything again and hold the resource; a refusal is left on the job (rule 2)."""
    facts = DispatchFacts(
        row=job.row,
        effect=job.effect,
        arguments_digest=foreign.digest_foreign(job.arguments),
        proposal_state=job.proposal_state,
        grant=job.grant,
        grant_signed=job.grant is not None and grant_holds(line, job.grant),
        qualification=job.qualification,
        submitter=job.submitter,
        on_behalf_of=job.on_behalf_of,
        incarnation=line.incarnation,
    )
    job.refused = refuse_dispatch(facts, now_ms=line.now())
    changed = changed_since(job.capability.info, job.effect.descriptor)
    if job.refused is None and changed:
        job.refused = Refused(reason="capability_changed", facts={"changed": ", ".join(changed)})
    if job.refused is not None:
        return
    try:
        held = job.capability.executor.hold(job.view())
    except EnvironmentFault as error:
        # The world is out of reach and nothing was dispatched: it may be later.
        job.postponed, job.why_waits = error.code, error.failed
        return
    except KeyboardInterrupt:
        raise
    except (
        BaseException
    ) as error:  # Nothing was dispatched, so whatever a capability raises here is a refusal.
        job.refused = Refused(reason="hold_raised", facts={"error": type(error).__name__})
        return
    if isinstance(held, Refused):
        job.refused = held
    else:
        job.held = held


def _look_before(line: Line, jobs: Sequence[Job]) -> None:
    asked = [look_request(job, phase=Phase.BEFORE, window_over=False) for job in jobs]
    try:
        seen = line.looker.look_many(asked)
    except EnvironmentFault as error:  # Rule 5
        for job in jobs:
            job.postponed, job.why_waits, job.unseen = error.code, error.failed, True
        return
    for job, look in zip(jobs, seen, strict=True):
        job.before = look
        # Rule 11
        if job.row.dispatched_at_ms is not None:
            job.not_again = why_not_again(
                found=job.found_before, observed=look.observed, expected=expected_of(job),
                control_held=look.control_held,
            )  # fmt: skip


def _mark(line: Line, jobs: Sequence[Job]) -> None:
    """Commit the dispatched mark, the use of the grant and the execution, before anything acts (rule 3)."""
    ready = [job for job in jobs if job.refused is None]
    if not ready:
        return
    for job in ready:
        job.execution = _execution(line, job)

    def work(tx: Tx) -> list[bool]:
        ours = still_ours(line, tx)
        return [ours and _mark_one(line, tx, job) for job in ready]

    marked = commit(line, "dispatch", work)
    for job, was_marked in zip(ready, marked, strict=True):
        if not was_marked:
            job.execution = None  # The claim is no longer ours: somebody else has the row.


def _execution(line: Line, job: Job) -> Execution:
    record = job.effect.descriptor.capability == "subject.record"
    begun = new_execution(line, job.row, kind=ExecutionKind.RECORD if record else ExecutionKind.EFFECT)
    before = job.before
    if before is None:
        return begun
    seen = msgspec.json.encode(before.detail).decode()
    return msgspec.structs.replace(begun, before=seen, before_digest=before.observed)


def _mark_one(line: Line, tx: Tx, job: Job) -> bool:
    row = job.row
    if job.execution is None:
        raise InvariantViolation("a marked row has an execution", row=row.outbox_id)
    # Rule 12
    if job.grant is not None and line.now() >= job.grant.grant.expires_at_ms:
        job.refused = Refused(reason="grant_expired")
        return False
    if row.grant_id is not None and not tx.use_grant(row.grant_id, outbox_id=row.outbox_id):
        job.refused = Refused(reason="grant_used")
        return False
    # The clock is read here, in the transaction: whoever was held up before it finds the lease over.
    if not tx.mark_dispatched(row.outbox_id, epoch=row.epoch, now_ms=line.now()):
        return False
    tx.add_execution(job.execution)
    set_running(tx, row)
    set_dispatched(tx, row.turn_id, now_ms=line.now())
    return True


def _execute(line: Line, job: Job) -> None:
    """Act once; whatever happens becomes the executor's word (rule 4)."""
    if job.execution is None or job.held is None:
        raise InvariantViolation("only a marked, held row is executed", row=job.row.outbox_id)
    dispatch = Dispatch(
        seal=_SEAL,
        effect=job.view(),
        outbox_id=job.row.outbox_id,
        epoch=job.row.epoch,
        execution_id=job.execution.execution_id,
        deadline_ms=line.now() + job.capability.info.timeout_ms,
    )
    reach(line, BEFORE_EXECUTE)
    # Rule 8
    if not line.store.glance(lambda tx: _is_ours(tx, job.row, now_ms=line.now())):
        job.execution = None
        return
    # Rule 12: it is marked, so its look says how it ends; nobody else was asked.
    if job.grant is not None and line.now() >= job.grant.grant.expires_at_ms:
        job.not_called = "grant_expired"
        return
    try:
        report = job.capability.executor.execute(dispatch, job.held)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # After dispatch whatever is raised is the executor's word, not an end of the run.
        raised = {
            "raised": type(error).__name__,
            **({"code": error.code} if isinstance(error, ActumError) else {}),
        }
        report = ExecutorReport(said=ExecutorSaid.RAISED, result=dict(raised))
    reach(line, AFTER_EXECUTE)
    job.report = _kept(report)


def _kept(report: ExecutorReport) -> ExecutorReport:
    """Return a report without secrets and in plain types; what is no report or no JSON becomes a word that says so."""
    try:
        said = ExecutorSaid(report.said)
    except (AttributeError, ValueError):
        return ExecutorReport(said=ExecutorSaid.RAISED, result={"no_report": a_kind(report)})
    try:
        result, _ = content.without_secrets(foreign.plain_copy(report.result))
    except JsonRefused as error:
        # The effect has happened, so nothing may break off here; an output that is not kept acknowledges nothing.
        return ExecutorReport(said=said, result={"no_json": error.message})
    return ExecutorReport(said=said, result=result, acknowledged=report.acknowledged is True)


def _is_ours(tx: Tx, row: OutboxRow, *, now_ms: int) -> bool:
    found = tx.outbox(row.outbox_id)
    return (
        found is not None
        and found.epoch == row.epoch
        and found.state is OutboxState.DISPATCHED
        and (found.lease_until_ms or 0) > now_ms
    )


def _look_after(line: Line, jobs: Sequence[Job]) -> None:
    """Look until each look can tell or its window is over (rule 5)."""
    open_jobs = [job for job in jobs if job.execution is not None]
    started = line.clock.monotonic_ms()
    wait = 20
    while open_jobs:
        reach(line, BEFORE_LOOK)
        passed = line.clock.monotonic_ms() - started
        over = [passed >= job.capability.info.consistency_window_ms for job in open_jobs]
        asked = [
            look_request(job, phase=Phase.AFTER, window_over=end)
            for job, end in zip(open_jobs, over, strict=True)
        ]
        try:
            seen = line.looker.look_many(asked)
        except EnvironmentFault:  # Rule 5: the row is dispatched, so it is sealed as what nobody saw.
            return
        again: list[Job] = []
        for job, look, end in zip(open_jobs, seen, over, strict=True):
            job.look = look
            matched = look.outcome is LookOutcome.DEFINITE and look.observed == expected_of(job)
            if not matched and not end:
                again.append(job)
        open_jobs = again
        if open_jobs:
            line.clock.sleep_ms(wait)
            wait = min(wait * 2, 500)


def _settle(line: Line, tx: Tx, job: Job) -> None:
    """Write everything that is known of an attempt (rule 6)."""
    if job.execution is None:
        return  # Rule 8: what was not called is left to reconciliation, which knows it only as dispatched.
    sealing = sealing_of(job, finished_at_ms=line.now())
    row = job.row
    found = tx.outbox(row.outbox_id)
    if found is None or found.epoch != row.epoch or found.state is not OutboxState.DISPATCHED:
        return  # A stale epoch writes nothing: whoever took the row over has sealed it.
    finish_execution(line, tx, sealing)
    _, graded = seal(line, tx, sealing)
    state = state_after(tx, row, graded, info=job.capability.info)
    move_after_seal(line, tx, row, effect=job.effect, state=state, graded=graded)
