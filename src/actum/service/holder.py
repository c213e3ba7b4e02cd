# SPDX-License-Identifier: Apache-2.0
"""Who holds a row is one name for one life of one process, and whether that life has ended can be asked.

Rules
1. The name is host, boot (with pid namespace and start), pid and chance, so that no two processes and no two
   lives of one share a name.
2. Whoever is not known to have ended may still act, however old the lease is.
3. Who holds the lease, and of which incarnation the store is, is asked in the transaction that relies on it: a process
   that was replaced, or whose store another one adopted, claims, marks and allows nothing.
"""

from __future__ import annotations

import msgspec

from actum.model.delivery import OutboxRow
from actum.model.errors import EnvironmentFault
from actum.ports.store import RunnerRow, Tx
from actum.service.line import Line

INTERRUPTED = "interrupted"
"""The event that keeps who held a dispatched row when it was found without its holder."""


class RunnerName(msgspec.Struct, frozen=True, kw_only=True):
    """Who a runner is (rule 1)."""

    host: str
    boot_id: str
    pid: int
    chance: str

    def holder(self) -> str:
        """Return the one name of this life of this process."""
        return f"{self.host}:{self.boot_id}:{self.pid}:{self.chance}"


def still_ours(line: Line, tx: Tx) -> bool:
    """Tell whether this process's runner has the lease, of the incarnation it opened (rule 3)."""
    return tx.holds_runner(line.holder, incarnation=line.incarnation)


def require_incarnation(line: Line, tx: Tx) -> None:
    """Raise EnvironmentFault where another process adopted the store since this one opened it (rule 3)."""
    if tx.meta("incarnation") != line.incarnation:
        raise EnvironmentFault(
            "store_adopted",
            failed="another process adopted this store since this one opened it",
            state="Nothing was allowed or dispatched by this process",
            next_step="Open the store again, in a new process or with a new Kernel, and repeat",
        )


def _named(holder: str) -> RunnerRow | None:
    parts = holder.rsplit(":", 3)
    if len(parts) != 4 or not parts[2].isdigit():
        return None
    return RunnerRow(
        tenant="",
        holder=holder,
        epoch=0,
        lease_until_ms=0,
        boot_id=parts[1],
        host=parts[0],
        pid=int(parts[2]),
    )


class _Interrupted(msgspec.Struct):
    outbox_id: str
    holder: str


def note_holder(line: Line, tx: Tx, row: OutboxRow) -> None:
    """Keep who held a dispatched row, where it was not this process."""
    if row.holder is not None and row.holder != line.holder:
        body: dict[str, object] = {"outbox_id": row.outbox_id, "holder": row.holder, "epoch": row.epoch}
        line.event(tx, INTERRUPTED, turn_id=row.turn_id, body=body)


def may_still_act(line: Line, tx: Tx, row: OutboxRow) -> bool:
    """Tell whether a process that once dispatched this row may still be about to act (rule 2)."""
    for event in tx.events(kind=INTERRUPTED, turn_id=row.turn_id):
        noted = msgspec.json.decode(event.body, type=_Interrupted)
        if noted.outbox_id != row.outbox_id or noted.holder == line.holder:
            continue
        runner = _named(noted.holder)
        if runner is None or not line.is_gone(runner):
            return True
    return False
