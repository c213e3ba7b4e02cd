# SPDX-License-Identifier: Apache-2.0
"""Rows of delivery: the outbox, executions, receipts, the log and the runner's lease."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from actum.adapters.store.mapping import Mapping
from actum.adapters.store.rows import Rows
from actum.model.delivery import Execution, OutboxRow, OutboxState
from actum.ports.store import LeafRow, ReceiptRow, RunnerRow

_outbox = Mapping("outbox", OutboxRow)
_executions = Mapping("execution", Execution)
_receipts = Mapping("receipt", ReceiptRow)
_leaves = Mapping("log_leaf", LeafRow)
_runners = Mapping("runner", RunnerRow)


class DeliveryRows(Rows):
    """What leaves, what was attempted, and what is known about it."""

    # -- outbox ----------------------------------------------------------------------------------------------

    def add_outbox(self, row: OutboxRow) -> None:
        """Store an outbox row."""
        self.run(_outbox.insert, *_outbox.to_row(row))

    def outbox(self, outbox_id: str) -> OutboxRow | None:
        """Return an outbox row."""
        return self._one_outbox("outbox_id = ?", outbox_id)

    def outbox_of_effect(self, effect_digest: str) -> OutboxRow | None:
        """Return the one outbox row of an effect."""
        return self._one_outbox("effect_digest = ?", effect_digest)

    def _one_outbox(self, where: str, value: str) -> OutboxRow | None:
        found = self.row(
            f"SELECT {_outbox.columns} FROM outbox WHERE tenant = ? AND {where}", self.tenant, value
        )
        return None if found is None else _outbox.from_row(found)

    def outbox_of_turn(self, turn_id: str) -> list[OutboxRow]:
        """Return the outbox rows of a turn, oldest first."""
        found = self.rows(
            f"SELECT {_outbox.columns} FROM outbox WHERE turn_id = ? ORDER BY outbox_id", turn_id
        )
        return [_outbox.from_row(row) for row in found]

    def outbox_in(self, *states: OutboxState) -> list[OutboxRow]:
        """Return the outbox rows in any of some states, oldest first."""
        marks = ", ".join("?" for _ in states)
        found = self.rows(
            f"SELECT {_outbox.columns} FROM outbox WHERE tenant = ? AND state IN ({marks}) ORDER BY outbox_id",
            self.tenant,
            *(state.value for state in states),
        )
        return [_outbox.from_row(row) for row in found]

    def outbox_counts(self) -> dict[str, int]:
        """Return how many rows are in each state."""
        found = self.rows("SELECT state, count(*) FROM outbox WHERE tenant = ? GROUP BY state", self.tenant)
        return {row[0]: int(row[1]) for row in found}

    def next_due_ms(self) -> int | None:
        """Return when the next waiting row may be claimed, or None."""
        return self.value(
            "SELECT min(not_before_ms) FROM outbox WHERE tenant = ? AND state IN ('ready', 'retry_wait')",
            self.tenant,
        )

    def claim(
        self, *, holder: str, now_ms: int, lease_until_ms: int, limit: int, capabilities: Sequence[str]
    ) -> list[OutboxRow]:
        """Claim due rows of known capabilities: lease, epoch and attempt in one statement.

        A row whose capability this process does not know is left alone, never failed.
        """
        marks = ", ".join("?" for _ in capabilities)
        due = self.claim_due(marks)
        found = self.rows(
            "UPDATE outbox SET state = 'claimed', epoch = epoch + 1, attempts = attempts + 1, holder = ?,"
            f" lease_until_ms = ? WHERE outbox_id IN ({due}) RETURNING {_outbox.columns}",
            holder,
            lease_until_ms,
            self.tenant,
            now_ms,
            *capabilities,
            limit,
        )
        return sorted((_outbox.from_row(row) for row in found), key=lambda row: row.outbox_id)

    def claim_due(self, marks: str) -> str:
        """Return the query for the ids of due rows; a database that must lock them says so here."""
        return (
            "SELECT outbox_id FROM outbox WHERE tenant = ? AND state IN ('ready', 'retry_wait')"
            f" AND not_before_ms <= ? AND capability IN ({marks}) ORDER BY not_before_ms, outbox_id LIMIT ?"
        )

    def mark_dispatched(self, outbox_id: str, *, epoch: int, now_ms: int) -> bool:
        """Set the dispatched mark; False where the claim is no longer ours."""
        return (
            self.run(
                "UPDATE outbox SET state = 'dispatched', dispatched_at_ms = ?"
                " WHERE outbox_id = ? AND epoch = ? AND state = 'claimed'",
                now_ms,
                outbox_id,
                epoch,
            )
            == 1
        )

    def move_outbox(
        self,
        outbox_id: str,
        *,
        epoch: int,
        state: OutboxState,
        to: OutboxState,
        not_before_ms: int | None = None,
    ) -> bool:
        """Move a row if it still is in this state at this epoch; a stale epoch moves nothing."""
        return (
            self.run(
                "UPDATE outbox SET state = ?, not_before_ms = coalesce(?, not_before_ms),"
                " holder = NULL, lease_until_ms = NULL WHERE outbox_id = ? AND epoch = ? AND state = ?",
                to.value,
                not_before_ms,
                outbox_id,
                epoch,
                state.value,
            )
            == 1
        )

    def renew_leases(self, *, holder: str, now_ms: int, lease_until_ms: int) -> int:
        """Lengthen the leases a holder still has; an expired one is not renewed."""
        return self.run(
            "UPDATE outbox SET lease_until_ms = ? WHERE tenant = ? AND holder = ? AND lease_until_ms > ?"
            " AND state IN ('claimed', 'dispatched')",
            lease_until_ms,
            self.tenant,
            holder,
            now_ms,
        )

    def find_idempotent(self, capability: str, key: str) -> tuple[str, str] | None:
        """Return (intent digest, outbox id) bound to a key of a capability."""
        found = self.row(
            "SELECT intent_digest, outbox_id FROM idempotency WHERE tenant = ? AND capability = ? AND key = ?",
            self.tenant,
            capability,
            key,
        )
        return None if found is None else (found[0], found[1])

    def bind_idempotent(self, capability: str, key: str, *, intent_digest: str, outbox_id: str) -> None:
        """Bind a key to an intent and its row, for ever."""
        self.run(
            "INSERT INTO idempotency (tenant, capability, key, intent_digest, outbox_id) VALUES (?, ?, ?, ?, ?)",
            self.tenant,
            capability,
            key,
            intent_digest,
            outbox_id,
        )

    # -- executions and receipts -----------------------------------------------------------------------------

    def add_execution(self, execution: Execution) -> None:
        """Store an execution; a second effect execution of the same epoch is refused."""
        self.run(_executions.insert, *_executions.to_row(execution))

    def finish_execution(
        self, execution_id: str, *, finished_at_ms: int, said: str | None, result_digest: str | None
    ) -> None:
        """Note when an execution ended and what the executor said."""
        self.run(
            "UPDATE execution SET finished_at_ms = ?, executor_said = ?, result_digest = ? WHERE execution_id = ?",
            finished_at_ms,
            said,
            result_digest,
            execution_id,
        )

    def executions(self, outbox_id: str) -> list[Execution]:
        """Return the executions of a row, oldest first."""
        found = self.rows(
            f"SELECT {_executions.columns} FROM execution WHERE outbox_id = ? ORDER BY execution_id", outbox_id
        )
        return [_executions.from_row(row) for row in found]

    def execution(self, execution_id: str) -> Execution | None:
        """Return an execution."""
        found = self.row(
            f"SELECT {_executions.columns} FROM execution WHERE tenant = ? AND execution_id = ?",
            self.tenant,
            execution_id,
        )
        return None if found is None else _executions.from_row(found)

    def add_receipt(self, row: ReceiptRow) -> None:
        """Store a receipt; a second one for an execution is refused."""
        self.run(_receipts.insert, *_receipts.to_row(row))

    def receipts(self, turn_id: str) -> list[ReceiptRow]:
        """Return the receipts of a turn, oldest first."""
        return self._receipts("turn_id = ?", turn_id)

    def receipts_of_row(self, outbox_id: str) -> list[ReceiptRow]:
        """Return the receipts of an outbox row, oldest first."""
        return self._receipts("outbox_id = ?", outbox_id)

    def receipt(self, receipt_id: str) -> ReceiptRow | None:
        """Return a receipt by its id or payload digest."""
        found = self._receipts("receipt_id = ?", receipt_id) or self._receipts("payload_digest = ?", receipt_id)
        return found[0] if found else None

    def _receipts(self, where: str, value: str) -> list[ReceiptRow]:
        found = self.rows(
            f"SELECT {_receipts.columns} FROM receipt WHERE {where} AND tenant = ? ORDER BY receipt_id",
            value,
            self.tenant,
        )
        return [_receipts.from_row(row) for row in found]

    # -- log -------------------------------------------------------------------------------------------------

    def log_state(self) -> tuple[int, bytes]:
        """Return (size, frontier) of the log."""
        found = self.row("SELECT size, frontier FROM log_state WHERE tenant = ?", self.tenant)
        return (0, b"") if found is None else (found[0], found[1])

    def set_log_state(self, size: int, frontier: bytes) -> None:
        """Keep the size and frontier of the log."""
        self.run(
            "INSERT INTO log_state (tenant, size, frontier) VALUES (?, ?, ?)"
            " ON CONFLICT (tenant) DO UPDATE SET size = excluded.size, frontier = excluded.frontier",
            self.tenant,
            size,
            frontier,
        )

    def next_in_chain(self, chain: str) -> int:
        """Return the next sequence number of a chain and count it up."""
        return self.value(
            "INSERT INTO chain (tenant, chain, next_seq) VALUES (?, ?, 1)"
            " ON CONFLICT (tenant, chain) DO UPDATE SET next_seq = chain.next_seq + 1 RETURNING next_seq - 1",
            self.tenant,
            chain,
        )

    def add_leaf(self, leaf: LeafRow) -> None:
        """Store a log leaf."""
        self.run(_leaves.insert, *_leaves.to_row(leaf))

    def each_leaf(self, *, start: int = 0) -> Iterator[LeafRow]:
        """Yield the log leaves in log order."""
        sql = f"SELECT {_leaves.columns} FROM log_leaf WHERE tenant = ? AND seq >= ? ORDER BY seq"
        for row in self.each(sql, self.tenant, start):
            yield _leaves.from_row(row)

    # -- runner ----------------------------------------------------------------------------------------------

    def runner(self) -> RunnerRow | None:
        """Return who holds the runner's lease."""
        found = self.row(f"SELECT {_runners.columns} FROM runner WHERE tenant = ?", self.tenant)
        return None if found is None else _runners.from_row(found)

    def take_runner(self, row: RunnerRow, *, over_epoch: int | None) -> bool:
        """Take the runner's lease over an expired or absent one; False where somebody was quicker."""
        values: tuple[Any, ...] = _runners.to_row(row)
        if over_epoch is None:
            return self.run(f"{_runners.insert} ON CONFLICT (tenant) DO NOTHING", *values) == 1
        return (
            self.run(
                "UPDATE runner SET holder = ?, epoch = ?, lease_until_ms = ?, boot_id = ?, host = ?, pid = ?"
                " WHERE tenant = ? AND epoch = ?",
                *values[1:],
                self.tenant,
                over_epoch,
            )
            == 1
        )

    def renew_runner(self, *, holder: str, epoch: int, lease_until_ms: int) -> bool:
        """Lengthen the runner's lease; False where it is no longer ours."""
        return (
            self.run(
                "UPDATE runner SET lease_until_ms = ? WHERE tenant = ? AND holder = ? AND epoch = ?",
                lease_until_ms,
                self.tenant,
                holder,
                epoch,
            )
            == 1
        )
