# SPDX-License-Identifier: Apache-2.0
"""One runner dispatches: it takes the lease, reconciles, and works until nothing is due.

Rules
1. Only the holder of the runner's lease dispatches; a lease is taken over only when it is over.
2. Whoever is known to have ended holds nothing, whatever its lease says.
3. A runner that lost its lease stops before it touches the world.
4. Every start reconciles before it claims anything.
5. A turn that waits for no person and no row is walked on, whatever stopped its walk: a stop, a duplicate.
6. What nobody knows is looked at when it is due, later each time, and a verifier that is gone stops no other work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from actum.kernel.delivery import look_wait_ms
from actum.kernel.recovery import Reconciliation
from actum.model.activity import Activity, ActivityFilter, ActivityState
from actum.model.delivery import OutboxKind, OutboxRow, OutboxState
from actum.model.errors import EnvironmentFault, RefusedError
from actum.model.grading import EffectFinality
from actum.ports.store import RunnerRow, Tx
from actum.service.deliver import claim_due, deliver
from actum.service.holder import RunnerName, require_incarnation
from actum.service.line import LEASE_MS, Line
from actum.service.model_calls import call
from actum.service.not_attempted import seal_unsealed
from actum.service.points import commit
from actum.service.rows import TERMINAL
from actum.service.settle import look_again
from actum.service.walk import walk

RUNNER_LEASE_MS = 30_000
WALKABLE = (ActivityState.QUEUED, ActivityState.ROUTING)


class Ran(msgspec.Struct, kw_only=True):
    """What a run did. ``reconciled`` is what this run had to put in order first.

    ``effects`` counts the rows taken up, those that wait to be tried again included.
    """

    reconciled: Reconciliation
    effects: int = 0
    model_calls: int = 0
    walked: int = 0
    looked: int = 0


def take_lease(line: Line, name: RunnerName) -> int:
    """Take the runner's lease and return its epoch; EnvironmentFault where another runner has it (rule 1)."""

    def work(tx: Tx) -> tuple[int, RunnerRow | None]:
        require_incarnation(line, tx)
        found = tx.runner()
        now = line.now()
        if found is not None and _is_held(line, found, name=name, now_ms=now):
            return 0, found
        epoch = 1 if found is None else found.epoch + 1
        row = RunnerRow(
            tenant=tx.tenant,
            holder=name.holder(),
            epoch=epoch,
            lease_until_ms=now + RUNNER_LEASE_MS,
            boot_id=name.boot_id,
            host=name.host,
            pid=name.pid,
        )
        taken = tx.take_runner(row, over_epoch=None if found is None else found.epoch)
        return (epoch, None) if taken else (0, tx.runner())

    epoch, other = commit(line, "take_lease", work)
    if other is not None:
        raise EnvironmentFault(
            "runner_elsewhere",
            failed=f"another runner (pid {other.pid} on {other.host}) dispatches from this store",
            state="Nothing was dispatched by this process; work submitted here is stored and will be run there",
            next_step="Let it run, or stop it and try again once its lease is over",
            pid=other.pid,
            host=other.host,
        )
    line.holder = name.holder()
    return epoch


def _is_held(line: Line, found: RunnerRow, *, name: RunnerName, now_ms: int) -> bool:
    return found.holder != name.holder() and found.lease_until_ms > now_ms and not line.is_gone(found)


def renew(line: Line, *, epoch: int) -> bool:
    """Lengthen the runner's lease and those of its rows; False where the lease was lost (rule 3)."""
    now = line.now()

    def work(tx: Tx) -> bool:
        held = tx.renew_runner(holder=line.holder, epoch=epoch, lease_until_ms=now + RUNNER_LEASE_MS)
        if held:
            tx.renew_leases(holder=line.holder, now_ms=now, lease_until_ms=now + LEASE_MS)
        return held

    return commit(line, "renew", work)


def release(line: Line, *, epoch: int) -> None:
    """Give the lease back, so that the next runner need not wait for it to end."""
    line.claimed.clear()
    commit(line, "release", lambda tx: tx.renew_runner(holder=line.holder, epoch=epoch, lease_until_ms=0))


def look_at_unknown(line: Line) -> int:
    """Look once more at what needs checking and is due for it; return how many looks could tell (rule 6)."""
    now = line.now()
    rows = line.store.read(lambda tx: [*tx.outbox_in(OutboxState.CHECK_REQUIRED), *_pending(tx)])
    told = 0
    untold: list[OutboxRow] = []
    for row in rows:
        if row.not_before_ms > now:
            continue
        try:
            found = look_again(line, row.outbox_id).told
        except EnvironmentFault:
            untold.append(
                row
            )  # Its turn to be looked at comes again; the verifier may be gone for all of them.
            break
        except RefusedError:
            continue  # Somebody settled it meanwhile.
        told += found
        if not found:
            untold.append(row)
    if untold:
        commit(line, "look_later", lambda tx: [_look_later(line, tx, row) for row in untold])
    return told


def _look_later(line: Line, tx: Tx, row: OutboxRow) -> None:
    now = line.now()
    wait = look_wait_ms(unknown_for_ms=now - (row.dispatched_at_ms or row.created_at_ms))
    tx.move_outbox(row.outbox_id, epoch=row.epoch, state=row.state, to=row.state, not_before_ms=now + wait)


def _pending(tx: Tx) -> list[OutboxRow]:
    """Return the rows whose sink took the effect in and has not shown it yet."""
    found: list[OutboxRow] = []
    for turn_id in tx.turns_in(ActivityState.VERIFYING.value, ActivityState.RECOVERY_REQUIRED.value):
        for row in tx.outbox_of_turn(turn_id):
            receipts = tx.receipts_of_row(row.outbox_id) if row.state is OutboxState.SETTLED else []
            if receipts and receipts[-1].graded_finality == EffectFinality.INITIATED.value:
                found.append(row)
    return found


def walk_waiting(line: Line) -> int:
    """Walk on every turn that waits for nobody: a stop came between its rows and its next walk."""
    turns: list[str] = []
    before = "~"
    while page := line.store.glance(_page_before(before)):
        before = page[-1].turn_id
        turns += [found.turn_id for found in page if found.state in WALKABLE]
    return walk_turns(line, turns)


def _page_before(before: str) -> Callable[[Tx], list[Activity]]:
    return lambda tx: tx.activities(ActivityFilter.IN_PROGRESS, before=before)


def walk_turns(line: Line, turn_ids: Iterable[str]) -> int:
    """Walk on those of some turns that wait neither for a person nor for a row; return how many moved by it."""
    free = [turn_id for turn_id in turn_ids if line.store.glance(_free(turn_id))]
    return sum([walk(line, turn_id) for turn_id in free])


def _free(turn_id: str) -> Callable[[Tx], bool]:
    return lambda tx: _can_walk(tx, turn_id)


def _can_walk(tx: Tx, turn_id: str) -> bool:
    found = tx.activity(turn_id)
    if found is None or found.open_questions or found.state not in WALKABLE:
        return False
    busy = (OutboxState.READY, OutboxState.CLAIMED, OutboxState.DISPATCHED, OutboxState.RETRY_WAIT)
    if any(row.state in busy for row in tx.outbox_of_turn(turn_id)):
        return False
    return all(proposal.state in TERMINAL for proposal in tx.proposals(turn_id))


def run_until_idle(line: Line, *, reconciled: Reconciliation, look: bool = True) -> Ran:
    """Work until nothing is due, and walk on whatever waits for nobody (rule 5)."""
    ran = Ran(reconciled=reconciled)
    if look:
        ran.looked = look_at_unknown(line)
    while True:
        _drain(line, ran)
        if line.store.glance(_at_rest):
            return ran
        seal_unsealed(line)  # Somebody may refuse at any time: a turn is not over before that is sealed.
        walked = walk_waiting(line)
        ran.walked += walked
        if not walked:
            return ran


def _at_rest(tx: Tx) -> bool:
    """Tell whether nothing waits to be sealed and no turn is on its way, which is how a run ends most often."""
    return not tx.outbox_unsealed() and not tx.activities(ActivityFilter.IN_PROGRESS, limit=1)


def _drain(line: Line, ran: Ran) -> None:
    while rows := claim_due(line):
        effects = [row for row in rows if row.kind is OutboxKind.EFFECT]
        calls = [row for row in rows if row.kind is OutboxKind.MODEL_CALL]
        if effects:
            deliver(line, effects)
        for row in calls:
            call(line, row)
        ran.effects += len(effects)
        ran.model_calls += len(calls)
