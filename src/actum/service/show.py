# SPDX-License-Identifier: Apache-2.0
"""Any record can be shown by its id or digest, with what belongs to it, as plain data.

Private content is shown to whoever can read the store; nothing here leaves the machine.
"""

from __future__ import annotations

from typing import Any

import msgspec

from actum.kernel.provenance import attribution
from actum.model import foreign
from actum.model.question import QuestionState
from actum.model.receipt import Receipt
from actum.ports.store import Tx
from actum.service import content
from actum.service.line import Line
from actum.service.view import unknown

RUNGS = ("structured", "pattern", "learned", "reasoning", "judgment")


def rungs(line: Line) -> dict[str, dict[str, int]]:
    """Return decisions, tokens and the share in per mille for each rung, counted from the rows."""
    rows = {row[0]: row[1:] for row in line.store.read(lambda tx: tx.decisions_per_rung())}
    total = sum(row[0] for row in rows.values())
    found: dict[str, dict[str, int]] = {}
    for rung in RUNGS:
        count, given, made = rows.get(rung, (0, 0, 0))
        share = 0 if total == 0 else count * 1000 // total
        found[rung] = {"decisions": count, "tokens": given + made, "share_per_mille": share}
    return found


def show(line: Line, record_id: str) -> dict[str, Any]:
    """Return a record as plain data with its ``kind``; UsageError ``not_found`` where there is none."""

    def work(tx: Tx) -> dict[str, Any]:
        for find in (
            _turn,
            _item,
            _question,
            _proposal,
            _row,
            _receipt,
            _execution,
            _grant,
            _decision,
            _effect,
        ):
            found = find(line, tx, record_id)
            if found is not None:
                return found
        raise unknown("record", record_id)

    return line.store.read(work)


def _plain(value: object) -> Any:
    return msgspec.to_builtins(value)


def _named(kind: str, plain: dict[str, Any], *, own: str) -> dict[str, Any]:
    """Return a record under the name of what it is; a kind of its own, such as settlement, stands under ``own``."""
    return {**plain, own: plain["kind"], "kind": kind}


def _turn(line: Line, tx: Tx, record_id: str) -> dict[str, Any] | None:
    turn = tx.turn(record_id)
    if turn is None:
        return None
    item = tx.work_item(turn.work_item_id)
    subject = None if item is None else content.load_json(line, tx, item.subject_digest)
    return {
        "kind": "turn",
        **_plain(turn),
        "work_item": _plain(item),
        "subject": foreign.to_plain(subject),
        "activity": _plain(tx.activity(record_id)),
        "steps": [{"step_id": visit.step_id, "state": visit.state.value} for visit in tx.visits(record_id)],
        "decisions": [_decision_row(row.digest, row.body) for row in tx.decisions(record_id)],
        "proposals": [_plain(proposal) for proposal in tx.proposals(record_id)],
        "questions": [
            _question_plain(line, tx, question.question_id) for question in tx.questions(record_id)
        ],
        "rows": [_plain(row) for row in tx.outbox_of_turn(record_id)],
        "receipts": [_receipt_plain(row.body, row.payload_digest) for row in tx.receipts(record_id)],
        "messages": [_message_plain(line, tx, message) for message in tx.messages(record_id)],
        "assertions": [
            {**_plain(row), "text": content.load(line, tx, row.text_digest).decode(errors="replace")}
            for row in tx.assertions(record_id)
        ],
        "events": [
            {"kind": event.kind, "at_ms": event.at_ms, **msgspec.json.decode(event.body)}
            for event in tx.events(turn_id=record_id)
        ],
    }


def _message_plain(line: Line, tx: Tx, message: Any) -> dict[str, Any]:
    text = content.load(line, tx, message.content_digest).decode(errors="replace")
    return {**_plain(message), "text": text, "attribution": attribution(message.provenance)}


def _item(line: Line, tx: Tx, record_id: str) -> dict[str, Any] | None:
    item = tx.work_item(record_id)
    if item is None:
        return None
    return {
        "kind": "work_item",
        **_plain(item),
        "subject": foreign.to_plain(content.load_json(line, tx, item.subject_digest)),
        "turns": [turn.turn_id for turn in tx.turns_of_item(record_id)],
    }


def _question(line: Line, tx: Tx, record_id: str) -> dict[str, Any] | None:
    return (
        None
        if tx.question(record_id) is None
        else {"kind": "question", **_question_plain(line, tx, record_id)}
    )


def _question_plain(line: Line, tx: Tx, question_id: str) -> dict[str, Any]:
    question = tx.question(question_id)
    assert question is not None
    shown = msgspec.json.decode(content.load(line, tx, question.shown_digest))
    return {**_plain(question), "open": question.state is QuestionState.OPEN, "shown": shown}


def _proposal(line: Line, tx: Tx, record_id: str) -> dict[str, Any] | None:
    proposal = tx.proposal(record_id)
    if proposal is None:
        return None
    arguments = foreign.to_plain(content.load_json(line, tx, proposal.arguments_digest))
    return {"kind": "proposal", **_plain(proposal), "arguments": arguments}


def _row(line: Line, tx: Tx, record_id: str) -> dict[str, Any] | None:
    row = tx.outbox(record_id)
    if row is None:
        return None
    return {
        **_named("outbox_row", _plain(row), own="row_kind"),
        "executions": [_plain(execution) for execution in tx.executions(record_id)],
        "receipts": [
            _receipt_plain(found.body, found.payload_digest) for found in tx.receipts_of_row(record_id)
        ],
    }


def _receipt(line: Line, tx: Tx, record_id: str) -> dict[str, Any] | None:
    row = tx.receipt(record_id)
    if row is None:
        return None
    return _named("receipt", _receipt_plain(row.body, row.payload_digest), own="receipt_kind")


def _receipt_plain(body: bytes, payload_digest: str) -> dict[str, Any]:
    receipt = msgspec.json.decode(body, type=Receipt)
    return {**_plain(receipt), "payload_digest": payload_digest}


def _execution(line: Line, tx: Tx, record_id: str) -> dict[str, Any] | None:
    execution = tx.execution(record_id)
    return None if execution is None else _named("execution", _plain(execution), own="execution_kind")


def _grant(line: Line, tx: Tx, record_id: str) -> dict[str, Any] | None:
    row = tx.grant(record_id)
    if row is None:
        return None
    return {
        "kind": "grant",
        **_plain(row.grant),
        "payload_digest": row.payload_digest,
        "used_by": row.used_by,
        "voided_at_ms": row.voided_at_ms,
    }


def _decision(line: Line, tx: Tx, record_id: str) -> dict[str, Any] | None:
    row = tx.decision(record_id)
    return None if row is None else _named("decision", _decision_row(row.digest, row.body), own="step_kind")


def _decision_row(digest: str, body: bytes) -> dict[str, Any]:
    return {"digest": digest, **msgspec.json.decode(body)}


def _effect(line: Line, tx: Tx, record_id: str) -> dict[str, Any] | None:
    row = tx.effect(record_id)
    if row is None:
        return None
    return {
        "kind": "effect",
        "effect_digest": row.effect_digest,
        "descriptor": _plain(row.descriptor),
        "arguments": foreign.decode_plain(row.arguments),
        "shown": msgspec.json.decode(row.shown),
    }
