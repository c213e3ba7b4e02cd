# SPDX-License-Identifier: Apache-2.0
"""A row of the outbox is written in the transaction that caused it, and takes its idempotency key there.

Rules
1. A row that will run is bound to its key in the same transaction; one that will not is settled from the start.
2. A row may be claimed for this process's runner as it is written, where that runner still has the lease.
"""

from __future__ import annotations

from actum.model.delivery import OutboxKind, OutboxRow, OutboxState
from actum.model.effect import Effect
from actum.ports.store import Tx
from actum.service.holder import still_ours
from actum.service.keys import Key
from actum.service.line import LEASE_MS, Line


def add_effect_row(
    line: Line,
    tx: Tx,
    effect: Effect,
    *,
    turn_id: str,
    step_id: str,
    intent: str,
    grant_id: str | None,
    bind: Key | None,
    claim: bool = False,
) -> OutboxRow:
    """Write an outbox row of kind effect. With ``bind`` it will run, and takes its key; without, it is settled.

    With ``claim`` the row is claimed for this process's runner in the same commit, which saves the claim's own; if
    the process stops it is recovered like any claimed row.
    """
    row = new_row(
        line,
        tx,
        kind=OutboxKind.EFFECT,
        turn_id=turn_id,
        step_id=step_id,
        capability=effect.descriptor.capability,
        effect_digest=effect.effect_digest,
        grant_id=grant_id,
        intent_digest=intent,
        idempotency_key=effect.descriptor.idempotency_key,
        state=OutboxState.SETTLED if bind is None else OutboxState.READY,
    )
    tx.add_outbox(row)
    if bind is not None:  # Rule 1
        tx.bind_idempotent(row.capability, bind.name, intent_digest=intent, outbox_id=row.outbox_id)
        # Rule 2
        if claim and line.holder and still_ours(line, tx):
            return (
                tx.claim_row(row.outbox_id, holder=line.holder, lease_until_ms=row.created_at_ms + LEASE_MS)
                or row
            )
    return row


def new_row(
    line: Line,
    tx: Tx,
    *,
    kind: OutboxKind,
    turn_id: str,
    step_id: str,
    capability: str,
    effect_digest: str | None = None,
    body_digest: str | None = None,
    grant_id: str | None = None,
    intent_digest: str | None = None,
    idempotency_key: str | None = None,
    state: OutboxState = OutboxState.READY,
) -> OutboxRow:
    """Return a row of now that nobody has claimed."""
    now = line.now()
    return OutboxRow(
        outbox_id=line.ids.ulid(now), tenant=tx.tenant, kind=kind, turn_id=turn_id, step_id=step_id,
        capability=capability, effect_digest=effect_digest, body_digest=body_digest, grant_id=grant_id,
        intent_digest=intent_digest, idempotency_key=idempotency_key, state=state, epoch=0, attempts=0, holder=None,
        lease_until_ms=None, not_before_ms=now, dispatched_at_ms=None, incarnation=line.incarnation, created_at_ms=now,
    )  # fmt: skip
