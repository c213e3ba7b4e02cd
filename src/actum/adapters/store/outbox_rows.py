# SPDX-License-Identifier: Apache-2.0
"""Rows of the outbox: what waits, who holds it, and the keys that keep an effect from happening twice.

Rules
1. A claim gives lease, epoch and attempt in one statement; a row whose capability this process does not
   know is left alone, never failed.
2. A claimed row whose lease ran out is taken over by the next claim; a dispatched one never is.
3. Every move names the epoch it was made under, and the mark needs a live lease: who lost the row
   writes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from actum.adapters.store.mapping import Mapping
from actum.adapters.store.rows import Rows, marks
from actum.model.delivery import OutboxRow, OutboxState

_outbox = Mapping("outbox", OutboxRow)
_ROW = _outbox.select("outbox_id = ?")
_ROW_OF_EFFECT = _outbox.select("effect_digest = ?")
_ROWS_OF_TURN = _outbox.select("turn_id = ?", order="outbox_id")
# The words `state <> 'settled'` let the index of unsettled rows answer: almost all are settled.
_UNSETTLED = "state <> 'settled'"
_UNSEALED = _outbox.select(
    "state = 'settled' AND epoch = 0 AND kind = 'effect' AND NOT EXISTS"
    " (SELECT 1 FROM receipt r WHERE r.tenant = outbox.tenant AND r.outbox_id = outbox.outbox_id)",
    order="outbox_id",
)
_CLAIM = (
    "UPDATE outbox SET state = 'claimed', epoch = epoch + 1, attempts = attempts + 1, holder = ?,"
    " lease_until_ms = ? WHERE tenant = ? AND {due} RETURNING " + _outbox.columns
)


class OutboxRows(Rows):
    """What leaves, and who may make it leave."""

    def add_outbox(self, row: OutboxRow) -> None:
        """Store an outbox row."""
        self.add(_outbox, row, tenant=row.tenant)

    def outbox(self, outbox_id: str) -> OutboxRow | None:
        """Return an outbox row."""
        return self.one(_outbox, _ROW, outbox_id)

    def outbox_of_effect(self, effect_digest: str) -> OutboxRow | None:
        """Return the one outbox row of an effect."""
        return self.one(_outbox, _ROW_OF_EFFECT, effect_digest)

    def outbox_of_turn(self, turn_id: str) -> list[OutboxRow]:
        """Return the outbox rows of a turn, oldest first."""
        return self.many(_outbox, _ROWS_OF_TURN, turn_id)

    def outbox_in(self, *states: OutboxState) -> list[OutboxRow]:
        """Return the outbox rows in any of some states, oldest first."""
        found: list[OutboxRow] = []
        for state in dict.fromkeys(states):
            # One state at a time, so that the index of unsettled rows answers in order; a list of them would be sorted
            # out of the tenant's whole history.
            where = "state = ?" if state is OutboxState.SETTLED else f"state = ? AND {_UNSETTLED}"
            found += self.many(_outbox, _outbox.select(where, order="outbox_id"), state.value)
        return found if len(states) < 2 else sorted(found, key=lambda row: row.outbox_id)

    def outbox_unsealed(self) -> list[OutboxRow]:
        """Return the rows that were settled without any attempt and have no receipt yet."""
        return self.many(_outbox, _UNSEALED)

    def close_unattempted(self, outbox_id: str) -> bool:
        """Give a row that was settled without any attempt its one epoch, with its receipt.

        It leaves the index of those that wait for one, which would otherwise grow with every refusal there ever was.
        """
        return (
            self.run(
                "UPDATE outbox SET epoch = 1 WHERE tenant = ? AND outbox_id = ? AND state = 'settled' AND epoch = 0",
                self.tenant,
                outbox_id,
            )
            == 1
        )

    def outbox_counts(self) -> dict[str, int]:
        """Return how many rows are in each state."""
        found = self.rows("SELECT state, count(*) FROM outbox WHERE tenant = ? GROUP BY state", self.tenant)
        return {row[0]: int(row[1]) for row in found}

    def next_due_ms(self) -> int | None:
        """Return when the next row may be claimed: a waiting one, or one whose claim runs out; or None."""
        return self.value(
            "SELECT min(due_ms) FROM (SELECT min(not_before_ms) AS due_ms FROM outbox"
            " WHERE tenant = ? AND state IN ('ready', 'retry_wait')"
            " UNION ALL SELECT min(lease_until_ms) FROM outbox"
            f" WHERE tenant = ? AND state = 'claimed' AND {_UNSETTLED}) AS due",
            self.tenant,
            self.tenant,
        )

    def claim(
        self, *, holder: str, now_ms: int, lease_until_ms: int, limit: int, capabilities: Sequence[str]
    ) -> list[OutboxRow]:
        """Claim due rows of known capabilities, oldest first; the same row never goes to two holders."""
        if not capabilities or limit < 1:
            return []
        known = f"capability IN ({marks(len(capabilities))})"
        # Rule 2
        lapsed = f"state = 'claimed' AND {_UNSETTLED} AND lease_until_ms <= ? AND {known}"
        waiting = f"state IN ('ready', 'retry_wait') AND not_before_ms <= ? AND {known}"
        found: list[OutboxRow] = []
        for where, order in ((lapsed, "outbox_id"), (waiting, "not_before_ms, outbox_id")):
            if len(found) < limit:
                # Rule 1
                sql = _CLAIM.format(due=self.claim_due(where, order=order))
                values = (holder, lease_until_ms, self.tenant, self.tenant, now_ms, *capabilities)
                found += _outbox.from_rows(self.rows(sql, *values, limit - len(found)))
        return sorted(found, key=lambda row: row.outbox_id)

    def claim_row(self, outbox_id: str, *, holder: str, lease_until_ms: int) -> OutboxRow | None:
        """Claim one row that this transaction has just written; None where it does not wait."""
        sql = _CLAIM.format(due="outbox_id = ? AND state = 'ready'")
        found = _outbox.from_rows(self.rows(sql, holder, lease_until_ms, self.tenant, outbox_id))
        return found[0] if found else None

    def claim_due(self, where: str, *, order: str) -> str:
        """Return the condition that picks the ids of due rows; one that must lock them says so here."""
        due = f"SELECT outbox_id FROM outbox WHERE tenant = ? AND {where} ORDER BY {order} LIMIT ?"
        return f"outbox_id IN ({due})"

    def mark_dispatched(self, outbox_id: str, *, epoch: int, now_ms: int) -> bool:
        """Set the dispatched mark; False where the claim is no longer ours or its lease ran out."""
        # Rule 3
        return (
            self.run(
                "UPDATE outbox SET state = 'dispatched', dispatched_at_ms = ?"
                " WHERE tenant = ? AND outbox_id = ? AND epoch = ?"
                " AND state = 'claimed' AND lease_until_ms > ?",
                now_ms,
                self.tenant,
                outbox_id,
                epoch,
                now_ms,
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
        # Rule 3
        return (
            self.run(
                "UPDATE outbox SET state = ?, not_before_ms = coalesce(?, not_before_ms),"
                " holder = NULL, lease_until_ms = NULL"
                " WHERE tenant = ? AND outbox_id = ? AND epoch = ? AND state = ?",
                to.value,
                not_before_ms,
                self.tenant,
                outbox_id,
                epoch,
                state.value,
            )
            == 1
        )

    def renew_leases(self, *, holder: str, now_ms: int, lease_until_ms: int) -> int:
        """Lengthen the leases a holder still has; one that ran out is not renewed, and the count says so."""
        return self.run(
            "UPDATE outbox SET lease_until_ms = ? WHERE tenant = ? AND holder = ? AND lease_until_ms > ?"
            f" AND state IN ('claimed', 'dispatched') AND {_UNSETTLED}",
            lease_until_ms,
            self.tenant,
            holder,
            now_ms,
        )

    def find_idempotent(self, capability: str, key: str) -> tuple[str, str] | None:
        """Return (intent digest, outbox id) bound to a key of a capability."""
        found = self.row(
            "SELECT intent_digest, outbox_id FROM idempotency"
            " WHERE tenant = ? AND capability = ? AND key = ?",
            self.tenant,
            capability,
            key,
        )
        return None if found is None else (found[0], found[1])

    def bind_idempotent(self, capability: str, key: str, *, intent_digest: str, outbox_id: str) -> None:
        """Bind a key to an intent and its row, for ever; a key that is bound is refused."""
        self.run(
            "INSERT INTO idempotency (tenant, capability, key, intent_digest, outbox_id)"
            " VALUES (?, ?, ?, ?, ?)",
            self.tenant,
            capability,
            key,
            intent_digest,
            outbox_id,
        )
