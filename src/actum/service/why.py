# SPDX-License-Identifier: Apache-2.0
"""Why a turn went as it did is collected from its records: who decided, who allowed, what was seen.

Nothing is worked out anew: a decision, a grant and a receipt say what they said when they were written.
"""

from __future__ import annotations

from typing import Any

import msgspec

from actum.model.receipt import Receipt
from actum.ports.store import GrantRow, ReceiptRow, Tx
from actum.service.line import Line
from actum.service.view import unknown


def turn_of(tx: Tx, record_id: str) -> str:
    """Return the turn a record belongs to; UsageError ``not_found`` where there is no such record."""
    if tx.turn(record_id) is not None:
        return record_id
    for find in (tx.question, tx.outbox, tx.proposal, tx.receipt, tx.execution, tx.decision):
        found = find(record_id)
        if found is not None:
            return found.turn_id
    effect = tx.effect(record_id)
    if effect is not None:
        return effect.descriptor.origin_turn_id
    return _turn_of_item(tx, record_id)


def _turn_of_item(tx: Tx, record_id: str) -> str:
    grant = tx.grant(record_id)
    turns = tx.turns_of_item(record_id if grant is None else grant.grant.task)
    if not turns:
        raise unknown("record", record_id)
    return turns[-1].turn_id


def why(line: Line, record_id: str) -> dict[str, Any]:
    """Return, for the turn of a record: its standing, each decision, and each effect with grant and receipts."""

    def work(tx: Tx) -> dict[str, Any]:
        turn_id = turn_of(tx, record_id)
        turn = tx.turn(turn_id)
        assert turn is not None
        return {
            "turn_id": turn_id,
            "work_item": msgspec.to_builtins(tx.work_item(turn.work_item_id)),
            "process": turn.process,
            "activity": msgspec.to_builtins(tx.activity(turn_id)),
            "decisions": [
                {"digest": row.digest, **msgspec.json.decode(row.body)} for row in tx.decisions(turn_id)
            ],
            "effects": [_effect(line, tx, one.proposed_action_id, turn_id) for one in tx.proposals(turn_id)],
            "recorded": [_receipt(row) for row in tx.receipts(turn_id) if row.kind == "record"],
            "questions": [msgspec.to_builtins(one) for one in tx.questions(turn_id)],
        }

    return line.store.read(work)


def _effect(line: Line, tx: Tx, proposal_id: str, turn_id: str) -> dict[str, Any]:
    proposal = tx.proposal(proposal_id)
    assert proposal is not None
    effect = None if proposal.effect_digest is None else tx.effect(proposal.effect_digest)
    row = None if effect is None else tx.outbox_of_effect(effect.effect_digest)
    grant = None if row is None or row.grant_id is None else tx.grant(row.grant_id)
    return {
        "proposal": msgspec.to_builtins(proposal),
        "shown": None if effect is None else msgspec.json.decode(effect.shown),
        "outbox_id": None if row is None else row.outbox_id,
        "row_state": None if row is None else row.state.value,
        "grant": None if grant is None else _grant(line, grant),
        "receipts": [] if row is None else [_receipt(one) for one in tx.receipts_of_row(row.outbox_id)],
    }


def _grant(line: Line, row: GrantRow) -> dict[str, Any]:
    return {
        **msgspec.to_builtins(row.grant),
        "payload_digest": row.payload_digest,
        "used_by": row.used_by,
        "voided_at_ms": row.voided_at_ms,
        "signed_by_store": row.grant.authn.value == "session",
    }


def _receipt(row: ReceiptRow) -> dict[str, Any]:
    receipt = msgspec.json.decode(row.body, type=Receipt)
    return {**msgspec.to_builtins(receipt), "payload_digest": row.payload_digest}
