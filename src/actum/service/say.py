# SPDX-License-Identifier: Apache-2.0
"""What is said is stored with the evidence behind it, or with none; a model's text is an assertion.

Rules
1. Secrets are taken out before anything is kept.
2. The rules of provenance are asked before the write, and the database asks them again.
3. A model's reply is recorded as a model assertion; what it says was done is named, and proves nothing.
"""

from __future__ import annotations

import msgspec

from actum.kernel.provenance import refuse_message
from actum.model import foreign
from actum.model.errors import RefusedError
from actum.model.message import ExecutionMode, Message, Provenance, Role
from actum.model.receipt import Receipt
from actum.ports.store import AssertionRow, Tx
from actum.service import content
from actum.service.line import Line
from actum.service.points import commit
from actum.service.standing import refresh
from actum.service.view import unknown


def say(
    line: Line,
    turn_id: str,
    text: str,
    *,
    role: Role,
    provenance: Provenance | None,
    receipt: str | None,
    asserts: tuple[str, ...],
    model_id: str | None,
) -> Message:
    """Store one message of a turn; RefusedError where its attribution has no evidence.

    ``asserts`` holds capability ids or outbox ids that the text says were done.
    """
    clean, _ = content.without_secrets(foreign.from_plain(text))  # Rule 1

    def work(tx: Tx) -> Message:
        if tx.turn(turn_id) is None:
            raise unknown("turn", turn_id)
        stored = None if receipt is None else tx.receipt(receipt)
        message = Message(
            message_id=line.new_id(),
            tenant=tx.tenant,
            turn_id=turn_id,
            role=role,
            content_digest=content.keep(line, tx, clean.encode()),
            provenance=provenance,
            receipt_id=None if stored is None else stored.receipt_id,
            said_at_ms=line.now(),
        )
        # Rule 2
        known = None if stored is None else msgspec.json.decode(stored.body, type=Receipt)
        refused = refuse_message(message, receipt=known)
        if refused is not None:
            raise RefusedError.from_refused(
                refused,
                failed=f"the message was not stored with this attribution: {refused.reason}",
                state="Nothing of it was stored",
                next_step="Store it without provenance, or name the receipt of an effect that was observed",
            )
        tx.add_message(message)
        if role is Role.ASSISTANT and not _is_native(provenance):
            _assert(line, tx, message, asserts=asserts, model_id=model_id)
        refresh(tx, turn_id, now_ms=line.now())
        return message

    return commit(line, "say", work)


def _is_native(provenance: Provenance | None) -> bool:
    return provenance is not None and provenance.execution_kind is ExecutionMode.NATIVE


def _assert(line: Line, tx: Tx, message: Message, *, asserts: tuple[str, ...], model_id: str | None) -> None:
    # Rule 3
    rows = {row.outbox_id: row for row in tx.outbox_of_turn(message.turn_id)}
    for named in asserts or (None,):
        matching = [
            row.outbox_id
            for row in rows.values()
            if named is not None and named in (row.outbox_id, row.capability)
        ]
        tx.add_assertion(
            AssertionRow(
                assertion_id=line.new_id(),
                tenant=tx.tenant,
                turn_id=message.turn_id,
                text_digest=message.content_digest,
                model_id=model_id or (message.provenance.model if message.provenance else None),
                asserts=named,
                outbox_id=matching[-1] if matching else None,
                asserted_at_ms=message.said_at_ms,
            )
        )
