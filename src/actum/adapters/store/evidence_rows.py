# SPDX-License-Identifier: Apache-2.0
"""Rows of evidence: executions, receipts, the log, and the runner's lease."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from actum.adapters.store.mapping import Mapping
from actum.adapters.store.rows import Rows
from actum.model.delivery import Execution
from actum.ports.store import LeafRow, ReceiptRow, RunnerRow

_executions = Mapping("execution", Execution)
_receipts = Mapping("receipt", ReceiptRow)
_leaves = Mapping("log_leaf", LeafRow)
_runners = Mapping("runner", RunnerRow)
# Ids follow the clocks of those who gave them out; the log is one order for all, and that is what newest means.
LOGGED = (
    "coalesce((SELECT l.seq FROM log_leaf l WHERE l.tenant = receipt.tenant"
    " AND l.payload_digest = receipt.payload_digest), -1)"
)
_EXECUTION = _executions.select("execution_id = ?")
_EXECUTIONS_OF_ROW = _executions.select("outbox_id = ?", order="execution_id")
_RECEIPT = _receipts.select("receipt_id = ?")
_RECEIPT_OF_PAYLOAD = _receipts.select("payload_digest = ?")
_RECEIPTS_OF_TURN = _receipts.select("turn_id = ?", order=f"{LOGGED}, receipt_id")
_RECEIPTS_OF_ROW = _receipts.select("outbox_id = ?", order=f"{LOGGED}, receipt_id")
_LEAVES = _leaves.select("seq >= ?", order="seq")
_RUNNER = _runners.select()
_HOLDS = (
    "SELECT 1 FROM runner r JOIN meta m ON m.tenant = r.tenant AND m.key = 'incarnation'"
    " WHERE r.tenant = ? AND r.holder = ? AND m.value = ?"
)


class EvidenceRows(Rows):
    """What was attempted, and what is known about it."""

    # -- executions and receipts -----------------------------------------------------------------------------

    def add_execution(self, execution: Execution) -> None:
        """Store an execution; a second effect execution of the same epoch is refused."""
        self.add(_executions, execution, tenant=execution.tenant)

    def finish_execution(
        self, execution_id: str, *, finished_at_ms: int, said: str | None, result_digest: str | None
    ) -> None:
        """Note when an execution ended and what the executor said; a second time is refused."""
        self.run(
            "UPDATE execution SET finished_at_ms = ?, executor_said = ?, result_digest = ?"
            " WHERE tenant = ? AND execution_id = ?",
            finished_at_ms,
            said,
            result_digest,
            self.tenant,
            execution_id,
        )

    def executions(self, outbox_id: str) -> list[Execution]:
        """Return the executions of a row, oldest first."""
        return self.many(_executions, _EXECUTIONS_OF_ROW, outbox_id)

    def execution(self, execution_id: str) -> Execution | None:
        """Return an execution."""
        return self.one(_executions, _EXECUTION, execution_id)

    def add_receipt(self, row: ReceiptRow) -> None:
        """Store a receipt; a second one for an execution is refused."""
        self.add(_receipts, row, tenant=row.tenant)

    def receipts(self, turn_id: str) -> list[ReceiptRow]:
        """Return the receipts of a turn, oldest first by the log."""
        return self.many(_receipts, _RECEIPTS_OF_TURN, turn_id)

    def receipts_of_row(self, outbox_id: str) -> list[ReceiptRow]:
        """Return the receipts of an outbox row, oldest first by the log."""
        return self.many(_receipts, _RECEIPTS_OF_ROW, outbox_id)

    def receipt(self, receipt_id: str) -> ReceiptRow | None:
        """Return a receipt by its id or payload digest."""
        return self.one(_receipts, _RECEIPT, receipt_id) or self.one(
            _receipts, _RECEIPT_OF_PAYLOAD, receipt_id
        )

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
        """Store a log leaf; one that leaves a gap is refused."""
        self.add(_leaves, leaf, tenant=leaf.tenant)

    def each_leaf(self, *, start: int = 0) -> Iterator[LeafRow]:
        """Yield the log leaves in log order."""
        for row in self.each(_LEAVES, self.tenant, start):
            yield _leaves.from_row(row)

    # -- runner ----------------------------------------------------------------------------------------------

    def runner(self) -> RunnerRow | None:
        """Return who holds the runner's lease."""
        return self.one(_runners, _RUNNER)

    def holds_runner(self, holder: str, *, incarnation: str) -> bool:
        """Tell whether this holder has the runner's lease, of a store that still is of this incarnation."""
        return bool(self.rows(_HOLDS, self.tenant, holder, incarnation))

    def take_runner(self, row: RunnerRow, *, over_epoch: int | None) -> bool:
        """Take the runner's lease over an expired or absent one; False where somebody was quicker."""
        self.own(row.tenant, table="runner")
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
