# SPDX-License-Identifier: Apache-2.0
"""An idempotency key leads to the row that has it, and is free again once that row ended without an attempt.

Rules
1. A key is bound for ever in the store; what a repetition looks up is the newest row under it.
2. A row that was sealed as not attempted (refused at its dispatch, expired, given up) did nothing under its key, so
   the next proposal may have it. Every other row keeps it, whatever its end.
3. The next row is bound, in the transaction that writes it, under a name derived from the key and its place in line.
"""

from __future__ import annotations

from actum.model import canonical
from actum.model.delivery import OutboxState
from actum.model.grading import EffectFinality
from actum.ports.store import Tx


def find_key(tx: Tx, capability: str, key: str) -> tuple[str, str] | None:
    """Return (intent digest, outbox id) of the row that has a key now, or None where the key is free."""
    return _newest(tx, capability, key)[1]


def bind_key(tx: Tx, capability: str, key: str, *, intent_digest: str, outbox_id: str) -> None:
    """Bind a key that is free to a row; the store refuses one that is not."""
    tx.bind_idempotent(
        capability, _newest(tx, capability, key)[0], intent_digest=intent_digest, outbox_id=outbox_id
    )


def _newest(tx: Tx, capability: str, key: str) -> tuple[str, tuple[str, str] | None]:
    name, place = key, 1
    while (found := tx.find_idempotent(capability, name)) is not None:
        if not _free_again(tx, found[1]):
            return name, found
        place += 1
        name = canonical.digest(["key", key, place])  # Rule 3
    return name, None


def _free_again(tx: Tx, outbox_id: str) -> bool:
    # Rule 2
    row = tx.outbox(outbox_id)
    if row is None or row.state is not OutboxState.SETTLED:
        return False
    receipts = tx.receipts_of_row(outbox_id)
    return bool(receipts) and receipts[-1].graded_finality == EffectFinality.NOT_ATTEMPTED.value
