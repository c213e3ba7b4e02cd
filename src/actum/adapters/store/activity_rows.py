# SPDX-License-Identifier: Apache-2.0
"""Rows people read: activity, its events, messages, assertions, and the store's own facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from actum.adapters.store.mapping import Mapping
from actum.adapters.store.rows import Rows, marks
from actum.model.activity import Activity, ActivityFilter
from actum.model.message import Message, Provenance, Role
from actum.ports.store import AssertionRow, EventRow

_activities = Mapping("activity", Activity)
_events = Mapping("activity_event", EventRow)
_assertions = Mapping("assertion", AssertionRow)
_ACTIVITY = _activities.select("turn_id = ?")
_ASSERTIONS_OF_TURN = _assertions.select("turn_id = ?", order="assertion_id")
_EVERY_ASSERTION = _assertions.select(order="assertion_id")
_PUT_ACTIVITY = f"{_activities.insert} ON CONFLICT (tenant, turn_id) DO UPDATE SET " + ", ".join(
    f"{name} = excluded.{name}" for name in _activities.fields[2:]
)

# Word for word as in the migration, whose partial indexes answer them: a history does not slow a view.
_views = {
    ActivityFilter.ALL: "",
    ActivityFilter.NEEDS_ATTENTION: (
        "(state = 'recovery_required' OR open_questions > 0"
        " OR (state = 'failed' AND acknowledged_by IS NULL))"
    ),
    ActivityFilter.FINISHED: (
        "open_questions = 0 AND (state = 'completed' OR (state = 'failed' AND acknowledged_by IS NOT NULL))"
    ),
    ActivityFilter.IN_PROGRESS: (
        "open_questions = 0"
        " AND (state = 'queued' OR state = 'routing' OR state = 'running' OR state = 'verifying')"
    ),
}


class ActivityRows(Rows):
    """The view of what is being done, what needs a person, and what finished."""

    def put_activity(self, activity: Activity) -> None:
        """Store or replace the activity row of a turn."""
        self.own(activity.tenant, table="activity")
        self.run(_PUT_ACTIVITY, *_activities.to_row(activity))

    def activity(self, turn_id: str) -> Activity | None:
        """Return the activity row of a turn."""
        return self.one(_activities, _ACTIVITY, turn_id)

    def activities(self, view: ActivityFilter, *, before: str = "~", limit: int = 200) -> list[Activity]:
        """Return the rows of one view, newest first, from before an id."""
        where = " AND ".join(part for part in (_views[view], "turn_id < ?") if part)
        return self.many(_activities, _activities.select(where, order="turn_id DESC LIMIT ?"), before, limit)

    def activity_counts(self) -> dict[str, int]:
        """Return how many turns are in each state."""
        found = self.rows("SELECT state, count(*) FROM activity WHERE tenant = ? GROUP BY state", self.tenant)
        return {row[0]: int(row[1]) for row in found}

    def turns_in(self, *states: str) -> list[str]:
        """Return the turns whose activity is in any of some states."""
        if not states:
            return []
        found = self.rows(
            "SELECT turn_id FROM activity WHERE tenant = ?"
            f" AND state IN ({marks(len(states))}) ORDER BY turn_id",
            self.tenant,
            *states,
        )
        return [row[0] for row in found]

    def add_event(self, event: EventRow) -> None:
        """Append an event to the activity log."""
        self.add(_events, event, tenant=event.tenant)

    def events(self, *, kind: str | None = None, turn_id: str | None = None) -> list[EventRow]:
        """Return events, oldest first, of a kind and a turn where given."""
        given = {"kind": kind, "turn_id": turn_id}
        wanted = {name: value for name, value in given.items() if value is not None}
        sql = _events.select(" AND ".join(f"{name} = ?" for name in wanted), order="event_id")
        return self.many(_events, sql, *wanted.values())

    def add_assertion(self, assertion: AssertionRow) -> None:
        """Store what a model said."""
        self.add(_assertions, assertion, tenant=assertion.tenant)

    def assertions(self, turn_id: str) -> list[AssertionRow]:
        """Return what models said in a turn."""
        return self.many(_assertions, _ASSERTIONS_OF_TURN, turn_id)

    def each_assertion(self) -> Iterator[AssertionRow]:
        """Yield every assertion of the tenant."""
        for row in self.each(_EVERY_ASSERTION, self.tenant):
            yield _assertions.from_row(row)

    def add_message(self, message: Message) -> None:
        """Store a message; the database refuses an attribution without evidence."""
        self.own(message.tenant, table="message")
        source = message.provenance
        self.run(
            "INSERT INTO message (message_id, tenant, turn_id, role, content_digest, routing_mode,"
            " execution_kind, provider,"
            " runtime, model, receipt_id, said_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            message.message_id,
            message.tenant,
            message.turn_id,
            message.role.value,
            message.content_digest,
            source and source.routing_mode.value,
            source and source.execution_kind.value,
            source and source.provider,
            source and source.runtime,
            source and source.model,
            message.receipt_id,
            message.said_at_ms,
        )

    def messages(self, turn_id: str) -> list[Message]:
        """Return the messages of a turn, oldest first; a row without evidence has no provenance."""
        found = self.rows(
            "SELECT message_id, role, content_digest, routing_mode, execution_kind, provider, runtime, model,"
            " receipt_id, said_at_ms FROM message WHERE tenant = ? AND turn_id = ? ORDER BY message_id",
            self.tenant,
            turn_id,
        )
        return [_message(row, turn_id=turn_id, tenant=self.tenant) for row in found]

    def meta(self, key: str) -> str | None:
        """Return one of the tenant's own facts."""
        return self.value("SELECT value FROM meta WHERE tenant = ? AND key = ?", self.tenant, key)

    def set_meta(self, key: str, value: str) -> None:
        """Set one of the tenant's own facts."""
        self.run(
            "INSERT INTO meta (tenant, key, value) VALUES (?, ?, ?)"
            " ON CONFLICT (tenant, key) DO UPDATE SET value = excluded.value",
            self.tenant,
            key,
            value,
        )


def _message(values: Sequence[Any], *, turn_id: str, tenant: str) -> Message:
    source: Provenance | None = None
    if values[4] is not None:
        source = msgspec.convert(
            {
                "routing_mode": values[3],
                "execution_kind": values[4],
                "provider": values[5],
                "runtime": values[6],
                "model": values[7],
            },
            Provenance,
        )
    return Message(
        message_id=values[0],
        tenant=tenant,
        turn_id=turn_id,
        role=Role(values[1]),
        content_digest=values[2],
        provenance=source,
        receipt_id=values[8],
        said_at_ms=values[9],
    )
