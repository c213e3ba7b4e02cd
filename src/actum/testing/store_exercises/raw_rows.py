# SPDX-License-Identifier: Apache-2.0
"""Valid rows of every table as columns, for exercises that write around the store by raw SQL."""

from __future__ import annotations

from typing import Any

import msgspec

from actum.adapters.store.mapping import Mapping
from actum.model.delivery import Execution, ExecutionKind
from actum.model.grading import ExecutorSaid
from actum.ports.store import Tx
from actum.testing.store_exercises.bench import Bench
from actum.testing.store_exercises.samples import CAPABILITY, NOW, Samples, digest

Row = dict[str, Any]
KEYS = {
    "meta": ("tenant", "key"),
    "role": ("tenant", "principal", "role"),
    "content": ("tenant", "digest"),
    "rulebook": ("tenant", "seq"),
    "work_item": ("tenant", "work_item_id"),
    "turn": ("tenant", "turn_id"),
    "step_visit": ("tenant", "turn_id", "step_id"),
    "decision": ("tenant", "turn_id", "step_id"),
    "proposal": ("tenant", "proposed_action_id"),
    "effect": ("tenant", "effect_digest"),
    "qualification": ("tenant", "digest"),
    "question": ("tenant", "question_id"),
    "grant": ("tenant", "grant_id"),
    "outbox": ("tenant", "outbox_id"),
    "idempotency": ("tenant", "capability", "key"),
    "execution": ("tenant", "execution_id"),
    "receipt": ("tenant", "receipt_id"),
    "log_leaf": ("tenant", "seq"),
    "log_state": ("tenant",),
    "chain": ("tenant", "chain"),
    "activity": ("tenant", "turn_id"),
    "activity_event": ("tenant", "event_id"),
    "assertion": ("tenant", "assertion_id"),
    "message": ("tenant", "message_id"),
    "runner": ("tenant",),
}
"""The key of each table."""
APPEND_ONLY = (
    "work_item", "turn", "decision", "effect", "qualification", "idempotency", "receipt", "log_leaf",
    "activity_event", "assertion", "message",
)  # fmt: skip
KEPT = (
    *APPEND_ONLY,
    "content",
    "rulebook",
    "step_visit",
    "proposal",
    "question",
    "grant",
    "outbox",
    "execution",
)
"""Tables whose rows are neither deleted nor replaced."""
FIXED_WORDS = {
    "content": "size", "rulebook": "body", "step_visit": "position", "proposal": "arguments_digest",
    "question": "shown_digest", "grant": "subject_digest", "outbox": "grant_id", "execution": "before",
}  # fmt: skip
"""Tables whose rows move, each with a column that may not."""


def quoted(table: str) -> str:
    """Return the table's name as SQL wants it."""
    return '"grant"' if table == "grant" else table


class RawRows:
    """Makes rows that a fresh store takes, with whatever they refer to."""

    def __init__(self, bench: Bench, *, samples: Samples | None = None) -> None:
        self.bench = bench
        self.samples = samples or Samples(mark="R")
        store = bench.store()
        self.turn_id = store.write(self.samples.begun)

    def insert(self, table: str, row: Row, *, way: str = "plain") -> None:
        """Write a row around the store."""
        marks = ", ".join("?" for _ in row)
        sql = f"INSERT INTO {quoted(table)} ({', '.join(row)}) VALUES ({marks})"
        self.bench.raw(sql, *row.values(), way=way)

    def update(self, table: str, row: Row, changes: Row, *, way: str = "plain") -> None:
        """Change one row around the store."""
        sets = ", ".join(f"{name} = ?" for name in changes)
        where, values = self._key(table, row)
        self.bench.raw(
            f"UPDATE {quoted(table)} SET {sets} WHERE {where}", *changes.values(), *values, way=way
        )

    def delete(self, table: str, row: Row) -> None:
        """Delete one row around the store."""
        where, values = self._key(table, row)
        self.bench.raw(f"DELETE FROM {quoted(table)} WHERE {where}", *values)

    def stored(self, table: str, row: Row) -> Row | None:
        """Return what is stored under the row's key, or None."""
        where, values = self._key(table, row)
        found = self.bench.raw(f"SELECT {', '.join(row)} FROM {quoted(table)} WHERE {where}", *values)
        return dict(zip(row, found[0], strict=True)) if found else None

    def _key(self, table: str, row: Row) -> tuple[str, list[object]]:
        keys = KEYS[table]
        return " AND ".join(f"{key} = ?" for key in keys), [row[key] for key in keys]

    def finished(self, *, kind: ExecutionKind = ExecutionKind.EFFECT) -> Execution:
        """Store a dispatched row with a finished execution of its own turn."""
        s = self.samples

        def work(tx: Any) -> Execution:
            row = s.dispatched(tx, s.begun(tx))
            execution = s.execution(row, kind=kind)
            tx.add_execution(execution)
            tx.finish_execution(
                execution.execution_id, finished_at_ms=NOW, said=ExecutorSaid.OK.value, result_digest=None
            )
            return execution

        return self.bench.store().write(work)

    def fresh(self, table: str) -> Row:
        """Return a valid row of a table that is not stored yet."""
        return getattr(self, f"_{table}")()

    def _meta(self) -> Row:
        return {"tenant": "local", "key": self.samples.id(), "value": "v"}

    def _role(self) -> Row:
        return {
            "tenant": "local", "principal": self.samples.id(), "role": "approver", "granted_by": "root",
            "granted_at_ms": NOW,
        }  # fmt: skip

    def _content(self) -> Row:
        return {
            "tenant": "local", "digest": digest(self.samples.id()), "body": b"b", "file": None, "size": 1,
            "created_at_ms": NOW, "erased_at_ms": None,
        }  # fmt: skip

    def _rulebook(self) -> Row:
        new = self.samples.id()
        return {
            "tenant": "local", "digest": digest(new), "body": b"b", "active_from_ms": NOW,
            "active_until_ms": NOW, "activated_by": "root", "seq": int(new[1:]),
        }  # fmt: skip

    def _work_item(self) -> Row:
        return _row("work_item", self.samples.item(key=self.samples.id()))

    def _turn(self) -> Row:
        (found,) = self.bench.raw("SELECT work_item_id FROM turn WHERE turn_id = ?", self.turn_id)
        return _row("turn", self.samples.turn(str(found[0])))

    def _step_visit(self) -> Row:
        return {**_row("step_visit", self.samples.visit(self.turn_id, self.samples.id())), "tenant": "local"}

    def _decision(self) -> Row:
        visit = self._step_visit()
        self.insert("step_visit", visit)
        return _row("decision", self.samples.decision(self.turn_id, step_id=visit["step_id"]))

    def _proposal(self) -> Row:
        return _row("proposal", self.samples.proposal(self.turn_id))

    def _effect(self) -> Row:
        return _row("effect", self.samples.effect(self.turn_id))

    def _qualification(self) -> Row:
        return _row("qualification", self.samples.qualification(self.stored_effect()))

    def stored_effect(self, *, inform: bool = False) -> str:
        """Store an effect and return its digest."""
        effect = self.samples.effect(self.turn_id, inform=inform)
        self.bench.store().write(lambda tx: tx.add_effect(effect))
        return effect.effect_digest

    def _question(self) -> Row:
        return _row("question", self.samples.question(self.turn_id))

    def _grant(self) -> Row:
        made = self.samples.grant(digest("subject"))
        grant = made.grant
        return {
            "grant_id": grant.grant_id, "tenant": "local", "purpose": "confirm", "principal": grant.principal,
            "subject_digest": grant.subject_digest, "incarnation": "one", "issued_at_ms": NOW,
            "expires_at_ms": grant.expires_at_ms, "body": msgspec.json.encode(grant).decode(),
            "payload_digest": made.payload_digest, "envelope": b"{}", "used_by": None, "voided_at_ms": None,
        }  # fmt: skip

    def _outbox(self) -> Row:
        """An effect row with a grant of its own."""
        effect = self.stored_effect()
        grant = self.samples.grant(effect)
        self.bench.store().write(lambda tx: tx.add_grant(grant))
        return _row("outbox", self.samples.outbox(self.turn_id, effect, grant_id=grant.grant.grant_id))

    def _idempotency(self) -> Row:
        row = self._outbox()
        self.insert("outbox", row)
        return {
            "tenant": "local", "capability": CAPABILITY, "key": self.samples.id(),
            "intent_digest": digest("intent"), "outbox_id": row["outbox_id"],
        }  # fmt: skip

    def _execution(self) -> Row:
        row = self.samples.outbox(self.turn_id)
        self.bench.store().write(lambda tx: tx.add_outbox(row))
        return _row("execution", self.samples.execution(row))

    def _receipt(self) -> Row:
        return _row("receipt", self.samples.receipt(self.finished()))

    def _log_leaf(self) -> Row:
        (found,) = self.bench.raw("SELECT count(*) FROM log_leaf WHERE tenant = ?", "local")
        return _row("log_leaf", self.samples.leaf(int(found[0])))

    def _log_state(self) -> Row:
        return {"tenant": self.samples.id(), "size": 3, "frontier": b"f"}

    def _chain(self) -> Row:
        return {"tenant": "local", "chain": self.samples.id(), "next_seq": 3}

    def _activity(self) -> Row:
        """A running turn that has a receipt already, so that only what a rule says can be missing."""
        return self.activity_of(self.bench.store().write(self._turn_with_receipt))

    def _turn_with_receipt(self, tx: Tx) -> str:
        turn_id = self.samples.begun(tx)
        self.samples.sealed(tx, turn_id)
        return turn_id

    def activity_of(self, turn_id: str) -> Row:
        """The activity row of a running turn."""
        return _row("activity", self.samples.activity(turn_id))

    def _activity_event(self) -> Row:
        return _row("activity_event", self.samples.event())

    def _assertion(self) -> Row:
        return _row("assertion", self.samples.assertion(self.turn_id))

    def _message(self) -> Row:
        return {
            "message_id": self.samples.id(), "tenant": "local", "turn_id": self.turn_id, "role": "assistant",
            "content_digest": digest("text"), "routing_mode": "direct", "execution_kind": "cloud_model",
            "provider": "anthropic", "runtime": "https", "model": "m-1", "receipt_id": None, "said_at_ms": NOW,
        }  # fmt: skip

    def native_message(self, **receipt: Any) -> Row:
        """A native reply on a receipt of its own turn, which is a success unless ``receipt`` says otherwise."""
        stored = self.samples.receipt(self.finished(), **receipt)
        self.bench.store().write(lambda tx: tx.add_receipt(stored))
        return {
            **self._message(), "turn_id": stored.turn_id, "execution_kind": "native", "provider": "actum",
            "runtime": "actum", "model": None, "receipt_id": stored.receipt_id,
        }  # fmt: skip

    def _runner(self) -> Row:
        return {**_row("runner", self.samples.runner(epoch=3)), "tenant": self.samples.id()}


def _row(table: str, record: Any) -> Row:
    mapping: Mapping[Any] = Mapping(table, record.__class__)
    return dict(zip(mapping.fields, mapping.to_row(record), strict=True))
