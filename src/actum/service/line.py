# SPDX-License-Identifier: Apache-2.0
"""The line is what every use case is given: the store, the ports, the keys and the rules in force.

It decides nothing. Bootstrap fills it, once for each open store.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from actum.evidence.keys import Signer
from actum.evidence.trust_file import Trust
from actum.kernel.index import RulebookIndex
from actum.model.delivery import OutboxRow
from actum.model.grant import Grant
from actum.model.message import ExecutionMode
from actum.model.process import Rulebook
from actum.ports.clock import Clock, Ids
from actum.ports.model import ModelPort
from actum.ports.registry import CapabilityRegistry
from actum.ports.store import EventRow, RunnerRow, Store, Tx
from actum.ports.verifier import Looker

LEASE_MS = 30_000
"""How long a claim holds without a beat of its holder."""
INLINE_MAX = 1 << 20
"""Content up to this many bytes lives in the database, larger in a file beside it."""


class ContentFiles(Protocol):
    """Where content too large for the database is kept, under its digest, fsynced before the commit."""

    def put(self, digest: str, body: bytes) -> str:
        """Keep bytes and return the file's name."""
        ...

    def get(self, name: str) -> bytes:
        """Return the bytes of a file."""
        ...


class Rules(Protocol):
    """The rulebook in force, and any that was."""

    def active(self) -> tuple[Rulebook, RulebookIndex]:
        """Return the active rulebook with its index."""
        ...

    def by_digest(self, digest: str) -> tuple[Rulebook, RulebookIndex]:
        """Return a rulebook that was active once."""
        ...

    def is_elsewhere(self, capability: str) -> bool:
        """Tell whether only another program registers a capability."""
        ...


def _never_gone(_runner: RunnerRow) -> bool:
    return False


class Line(msgspec.Struct, kw_only=True):
    """Everything a use case may reach. ``principal`` is who this process acts for.

    ``model_kinds`` says of each tier where its model runs.
    ``is_gone`` tells whether another runner's process is known to have ended (same host, same boot and pid namespace,
    no such pid or another process with it).
    ``holder`` is this process's runner while it has the lease, ``claimed`` the rows it was given at their writing,
    ``handed`` the ids of those whose commit is under way.
    ``pinned`` returns the keys that are trusted now; a file that changed is read again.
    ``at_point`` is told each crash point that is reached; it is None outside tests.
    """

    store: Store
    clock: Clock
    ids: Ids
    registry: CapabilityRegistry
    rules: Rules
    looker: Looker
    kernel_key: Signer
    pinned: Callable[[], Trust]
    incarnation: str
    principal: str
    content_files: ContentFiles
    models: ModelPort | None = None
    model_kinds: dict[str, ExecutionMode] = {}
    holder: str = ""
    claimed: list[OutboxRow] = []
    handed: set[str] = set()
    known_grants: dict[str, tuple[str, Grant]] = {}
    at_point: Callable[[str], None] | None = None
    is_gone: Callable[[RunnerRow], bool] = _never_gone

    @property
    def trust(self) -> Trust:
        """Return the keys that are trusted now."""
        return self.pinned()

    def now(self) -> int:
        """Return unix milliseconds."""
        return self.clock.now_ms()

    def new_id(self) -> str:
        """Return a fresh id."""
        return self.ids.ulid(self.clock.now_ms())

    def event(
        self, tx: Tx, kind: str, *, turn_id: str | None = None, body: dict[str, object] | None = None
    ) -> None:
        """Append a line to the activity log in a transaction."""
        now = self.now()
        tx.add_event(
            EventRow(
                event_id=self.ids.ulid(now),
                tenant=tx.tenant,
                at_ms=now,
                kind=kind,
                turn_id=turn_id,
                body=msgspec.json.encode(body or {}).decode(),
            )
        )
