# SPDX-License-Identifier: Apache-2.0
"""One file is a whole store: SQLite in WAL mode, every commit on the disk before anybody is told.

Rules
1. Every write begins IMMEDIATE, so that no read is upgraded and no writer meets another half way.
2. One thread of a process writes at a time; what waits meanwhile shares the next commit.
3. Each write of a shared commit is its own savepoint: one that raises leaves nothing and harms nobody.
4. The schema must have the digest its migrations gave it; an edited schema is not opened.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import apsw

from actum.adapters.store import constraints
from actum.adapters.store.activity_rows import ActivityRows
from actum.adapters.store.delivery_rows import DeliveryRows
from actum.adapters.store.human_rows import HumanRows
from actum.adapters.store.migrations import pending
from actum.adapters.store.work_rows import WorkRows
from actum.model.errors import ActumError, CorruptRecordError, EnvironmentFault
from actum.ports.store import Tx

T = TypeVar("T")
BUSY_MS = 30_000
"""How long a writer waits for another process; the longest wait measured with eight writers was 40 ms."""
GROUP_MAX = 256
_SCHEMA = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type, name"
_MIGRATIONS = (
    "CREATE TABLE IF NOT EXISTS migration (version INTEGER PRIMARY KEY, name TEXT NOT NULL,"
    " checksum TEXT NOT NULL, schema_digest TEXT NOT NULL) STRICT"
)


class SqliteTx(WorkRows, HumanRows, DeliveryRows, ActivityRows):
    """A transaction on one connection."""

    def __init__(self, connection: Any, *, tenant: str) -> None:
        super().__init__(tenant)
        self._connection = connection
        self._execute = connection.execute

    def rows(self, sql: str, *values: object) -> list[Sequence[Any]]:
        return self._execute(sql, values).fetchall()

    def each(self, sql: str, *values: object) -> Iterator[Sequence[Any]]:
        yield from self._connection.cursor().execute(sql, values)

    def run(self, sql: str, *values: object) -> int:
        self._execute(sql, values)
        return self._connection.changes()


class _Waiting:
    """One write that waits for a commit."""

    __slots__ = ("work", "done", "result", "error")

    def __init__(self, work: Callable[[Tx], Any]) -> None:
        self.work = work
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None


class SqliteStore:
    """A store in one file. Safe for threads; several processes may have it open and write."""

    def __init__(self, path: Path, *, tenant: str = "local") -> None:
        self.tenant = tenant
        self.path = path
        self.url = f"sqlite:{path}"
        self._writer: Any = _connect(path, write=True)
        self._writing = threading.Lock()
        self._queue: list[_Waiting] = []
        self._queue_lock = threading.Lock()
        self._commits = 0
        self._readers = threading.local()
        self._open_readers: list[Any] = []
        self._closed = False
        self._tx = SqliteTx(self._writer, tenant=tenant)
        with _faults(path):
            self._migrate()

    def _migrate(self) -> None:
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            self._writer.execute(_MIGRATIONS)
            found = self._writer.execute("SELECT version, checksum, schema_digest FROM migration").fetchall()
            applied = {int(row[0]): str(row[1]) for row in found}
            if not applied and len(self._schema()) > 1:
                raise _foreign(self.path)
            # Rule 4
            if applied and found[-1][2] != self._schema_digest():
                raise EnvironmentFault(
                    "store_schema_edited",
                    failed=f"the schema of {self.path} is not the one its migrations made",
                    state="The store was not opened and nothing in it was changed",
                    next_step="Restore the file from a backup; a trigger or table was added, altered or dropped by hand",
                )
            for migration in pending("sqlite", applied, where=str(self.path)):
                self._writer.execute(migration.sql)
                self._writer.execute(
                    "INSERT INTO migration VALUES (?, ?, ?, ?)",
                    (migration.version, migration.name, migration.checksum, self._schema_digest()),
                )
        except BaseException:
            self._writer.execute("ROLLBACK")
            raise
        self._writer.execute("COMMIT")

    def _schema(self) -> list[str]:
        return [str(row[0]) for row in self._writer.execute(_SCHEMA)]

    def _schema_digest(self) -> str:
        return hashlib.sha256("\n".join(self._schema()).encode()).hexdigest()

    def write(self, work: Callable[[Tx], T]) -> T:
        """Run ``work`` in a transaction; return after the commit is on the disk."""
        mine = _Waiting(work)
        with self._queue_lock:
            self._queue.append(mine)
        # Rule 2: whoever gets the lock commits for all that waited; the others find their work done.
        with self._writing:
            if not mine.done:
                with self._queue_lock:
                    group, self._queue = self._queue[:GROUP_MAX], self._queue[GROUP_MAX:]
                self._commit(group)
        if mine.error is not None:
            raise mine.error
        return mine.result

    def _commit(self, group: list[_Waiting]) -> None:
        try:
            with _faults(self.path):
                self._writer.execute("BEGIN IMMEDIATE")  # Rule 1
                try:
                    if len(group) == 1:
                        group[0].result = group[0].work(self._tx)
                    else:
                        for waiting in group:
                            self._savepoint(waiting)
                    self._writer.execute("COMMIT")
                except BaseException:
                    if self._writer.in_transaction:
                        self._writer.execute("ROLLBACK")
                    raise
            self._commits += 1
        except BaseException as error:
            for waiting in group:
                waiting.error = waiting.error or error
        finally:
            for waiting in group:
                waiting.done = True

    def _savepoint(self, waiting: _Waiting) -> None:
        # Rule 3
        self._writer.execute("SAVEPOINT w")
        try:
            with _faults(self.path):
                waiting.result = waiting.work(self._tx)
        except Exception as error:
            if not self._writer.in_transaction:
                raise
            self._writer.execute("ROLLBACK TO w")
            waiting.error = error
        self._writer.execute("RELEASE w")

    def read(self, work: Callable[[Tx], T]) -> T:
        """Run ``work`` on a snapshot; the connection is read-only."""
        connection = self._reader()
        with _faults(self.path):
            connection.execute("BEGIN")
            try:
                return work(SqliteTx(connection, tenant=self.tenant))
            finally:
                connection.execute("ROLLBACK")

    def _reader(self) -> Any:
        connection: Any = getattr(self._readers, "connection", None)
        if connection is None:
            with _faults(self.path):
                connection = _connect(self.path, write=False)
            self._readers.connection = connection
            with self._queue_lock:
                self._open_readers.append(connection)
        return connection

    def commits(self) -> int:
        """Return how many commits this object made since it was opened."""
        return self._commits

    def check(self) -> list[str]:
        """Return what SQLite's own quick check and the foreign keys say is wrong."""
        with _faults(self.path):
            connection = self._reader()
            found = [str(row[0]) for row in connection.execute("PRAGMA quick_check") if row[0] != "ok"]
            found += [
                f"row {row[1]} of {row[0]} refers to a missing {row[2]}"
                for row in connection.execute("PRAGMA foreign_key_check")
            ]
        return found

    def close(self) -> None:
        """Close all connections. Closing twice is harmless."""
        if not self._closed:
            self._closed = True
            for connection in [*self._open_readers, self._writer]:
                connection.close()


def _connect(path: Path, *, write: bool) -> Any:
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE if write else apsw.SQLITE_OPEN_READONLY
    with _faults(path):
        if write and not path.exists():
            # Created by hand first, because SQLite would make it readable by others.
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        connection: Any = apsw.Connection(str(path), flags=flags, statementcachesize=256)
        connection.set_busy_timeout(BUSY_MS)
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.execute("PRAGMA foreign_keys = ON")
        if write:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA journal_size_limit = 67108864")
        connection.execute("PRAGMA cache_size = -16384")
        return connection


class _faults:
    """Turns the database's errors into ours, each with what is still true."""

    __slots__ = ("path",)

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None or isinstance(error, ActumError):
            return
        if isinstance(error, apsw.Error):
            raise _translate(error, self.path) from error
        if isinstance(error, OSError):
            raise EnvironmentFault(
                "store_unreachable",
                failed=f"the store {self.path} cannot be opened: {error.strerror or error}",
                state="Nothing was written",
                next_step="Check that the folder exists, is yours and is writable, or give another --store",
            ) from error


def _translate(error: apsw.Error, path: Path) -> ActumError:
    text = str(error)
    if isinstance(error, apsw.ConstraintError):
        name = text.removeprefix("CHECK constraint failed: ").strip()
        return constraints.refusal(name)
    if isinstance(error, apsw.FullError):
        return EnvironmentFault(
            "disk_full",
            failed=f"the disk under {path} is full",
            state="This write was rolled back; everything committed before it is kept",
            next_step="Free some space, then repeat the command",
        )
    if isinstance(error, apsw.ReadOnlyError | apsw.CantOpenError | apsw.PermissionsError):
        return EnvironmentFault(
            "store_unwritable",
            failed=f"the store {path} cannot be written ({text})",
            state="Nothing was written",
            next_step="Check the owner and mode of the file and its folder, or give another --store",
        )
    if isinstance(error, apsw.NotADBError | apsw.CorruptError):
        return CorruptRecordError(
            "store_malformed",
            failed=f"{path} is not a whole SQLite database ({text})",
            state="It was left as it is; nothing was read from it or written to it",
            next_step="Keep a copy of the file and its -wal, then restore a backup and run `actum adopt`",
        )
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return EnvironmentFault(
            "store_busy",
            failed=f"another process kept {path} locked for {BUSY_MS // 1000} seconds",
            state="This write was not made",
            next_step="See which process holds it (`actum doctor`), then repeat the command",
        )
    return EnvironmentFault(
        "store_fault",
        failed=f"SQLite could not do its part on {path}: {text}",
        state="This write was rolled back; everything committed before it is kept",
        next_step="Run `actum doctor`, then repeat the command",
    )


def _foreign(path: Path) -> EnvironmentFault:
    return EnvironmentFault(
        "store_foreign",
        failed=f"{path} is a database of another program",
        state="It was left as it is",
        next_step="Give the path of an Actum store, or of a file that does not exist yet",
    )
