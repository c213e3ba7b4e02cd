# SPDX-License-Identifier: Apache-2.0
"""An idempotency key leads to the row that has it, and is free again once that row ended without an attempt.

Rules
1. A key is bound for ever in the store; what a repetition looks up is the newest row under it.
2. A row that was sealed as not attempted (refused at its dispatch, expired, given up) did nothing under its key, so
   the next proposal may have it. Every other row keeps it, whatever its end.
3. The next row is bound, in the transaction that writes it, under a name derived from the key and its place in line.
"""

from __future__ import annotations

import msgspec

from actum.model import canonical
from actum.model.delivery import OutboxState
from actum.model.grading import EffectFinality
from actum.ports.store import Tx


class Key(msgspec.Struct, frozen=True):
    """Where a key leads now: (intent digest, outbox id) of the row that has it, or None where it is free.

    ``name`` is what the next row is bound under; the store refuses one that is not free.
    """

    name: str
    bound: tuple[str, str] | None


def find_key(tx: Tx, capability: str, key: str) -> Key:
    """Return where a key of a capability leads now."""
    name, place = key, 1
    while (found := tx.find_idempotent(capability, name)) is not None:
        if not _free_again(tx, found[1]):
            return Key(name, found)
        place += 1
        name = canonical.digest(["key", key, place])  # Rule 3
    return Key(name, None)


def _free_again(tx: Tx, outbox_id: str) -> bool:
    # Rule 2
    row = tx.outbox(outbox_id)
    if row is None or row.state is not OutboxState.SETTLED:
        return False
    receipts = tx.receipts_of_row(outbox_id)
    return bool(receipts) and receipts[-1].graded_finality == EffectFinality.NOT_ATTEMPTED.value
