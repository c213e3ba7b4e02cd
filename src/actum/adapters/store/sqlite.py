# SPDX-License-Identifier: Apache-2.0
"""One file is a whole store: SQLite in WAL mode, every commit on the disk before anybody is told.

Rules
1. Every write begins IMMEDIATE, so that no read is upgraded and no writer meets another half way.
2. A read has a connection that cannot write and a snapshot of its own; it never waits for a writer.
3. The schema must have the digest its migrations gave it; an edited schema is not opened.
4. No SQLite older than 3.51.3 is used: before it, two processes could corrupt a WAL file.

How writes share commits is in `actum.adapters.store.group`.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import apsw

from actum.adapters.store.activity_rows import ActivityRows
from actum.adapters.store.evidence_rows import EvidenceRows
from actum.adapters.store.group import GroupCommit
from actum.adapters.store.human_rows import HumanRows
from actum.adapters.store.migrations import migrations, pending
from actum.adapters.store.outbox_rows import OutboxRows
from actum.adapters.store.sqlite_faults import BUSY_MS, edited, foreign, opening, translate
from actum.adapters.store.standing_rows import StandingRows
from actum.adapters.store.work_rows import WorkRows
from actum.model.errors import EnvironmentFault, InvariantViolation

T = TypeVar("T")
OLDEST_SQLITE = 3_051_003
CHECKPOINT_PAGES = 8_000
"""How many pages the log holds before it is carried over: the pages of one effect are written many times in it."""
WAL_LIMIT = 48 * 1024 * 1024
"""Bytes the WAL file is cut back to when it starts again; `check` reports four times that."""
_SCHEMA = (
    "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type, name"
)
_MIGRATIONS = (
    "CREATE TABLE IF NOT EXISTS migration (version INTEGER PRIMARY KEY, name TEXT NOT NULL,"
    " checksum TEXT NOT NULL, schema_digest TEXT NOT NULL) STRICT"
)


class SqliteTx(WorkRows, HumanRows, OutboxRows, EvidenceRows, ActivityRows, StandingRows):
    """A transaction on one connection."""

    def __init__(self, connection: Any, *, tenant: str, path: Path) -> None:
        super().__init__(tenant)
        self._connection = connection
        self._execute = connection.execute
        self._path = path

    def rows(self, sql: str, *values: object) -> list[Sequence[Any]]:
        if not self.live:
            raise InvariantViolation("transaction_used_after_its_end")
        try:
            return self._execute(sql, values).fetchall()
        except (apsw.Error, UnicodeEncodeError, OverflowError) as error:
            raise self._break(error) from error

    def each(self, sql: str, *values: object) -> Iterator[Sequence[Any]]:
        try:
            for row in self._connection.cursor().execute(sql, values):
                yield row
                if not self.live:
                    raise InvariantViolation("transaction_used_after_its_end")
        except (apsw.Error, UnicodeEncodeError, OverflowError) as error:
            raise self._break(error) from error

    def run(self, sql: str, *values: object) -> int:
        if not self.live:
            raise InvariantViolation("transaction_used_after_its_end")
        try:
            self._execute(sql, values)
        except (apsw.Error, UnicodeEncodeError, OverflowError) as error:
            raise self._break(error) from error
        return self._connection.changes()

    def _break(self, error: Exception) -> Exception:
        ours = translate(error, self._path)
        self.broken = self.broken or ours
        return ours


class SqliteStore(GroupCommit[SqliteTx]):
    """A store in one file. Safe for threads; several processes may have it open and write."""

    def __init__(self, path: Path, *, tenant: str = "local") -> None:
        # Rule 4
        if apsw.SQLITE_VERSION_NUMBER < OLDEST_SQLITE:
            raise _too_old()
        super().__init__(str(path))
        self.tenant = tenant
        self.path = path
        self.url = self.address = f"sqlite:{path}"
        self._writer: Any = _connect(path, write=True)
        self._tx = SqliteTx(self._writer, tenant=tenant, path=path)
        try:
            with opening(path):
                self._migrate()
        except BaseException:
            self._writer.close()
            raise

    def _migrate(self) -> None:
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            found: list[Any] = []
            if self._writer.execute("SELECT 1 FROM sqlite_schema WHERE name = 'migration'").fetchall():
                found = self._writer.execute(
                    "SELECT version, checksum, schema_digest FROM migration ORDER BY version"
                ).fetchall()
            applied = {int(row[0]): str(row[1]) for row in found}
            if not applied and _schema(self._writer):
                raise foreign(self.path)
            waiting = pending("sqlite", applied, where=str(self.path))
            # Rule 3
            if applied and found[-1][2] != _digest(self._writer):
                raise edited(self.path)
            self._writer.execute(_MIGRATIONS)
            for migration in waiting:
                self._writer.execute(migration.sql)
                self._writer.execute(
                    "INSERT INTO migration VALUES (?, ?, ?, ?)",
                    (migration.version, migration.name, migration.checksum, _digest(self._writer)),
                )
        except BaseException:
            self._undo()
            raise
        self._writer.execute("COMMIT")

    # -- group commit ----------------------------------------------------------------------------------------

    def _begin(self) -> SqliteTx:
        self._take_back()
        self._control("BEGIN IMMEDIATE")  # Rule 1
        return self._tx

    def _end(self) -> None:
        self._control("COMMIT")

    def _undo(self) -> None:
        self._tx_over()
        if self._writer.in_transaction:
            self._writer.execute("ROLLBACK")

    def _take_back(self) -> None:
        # An interrupt that met a rollback left its transaction open.
        if self._writer.in_transaction:
            self._control("ROLLBACK")

    def _mark(self) -> None:
        self._control("SAVEPOINT w")

    def _back(self) -> bool:
        # A full disk or a failed read makes SQLite roll everything back by itself.
        if not self._writer.in_transaction:
            return False
        self._control("ROLLBACK TO w")
        return True

    def _keep(self) -> None:
        self._control("RELEASE w")

    def _tx_over(self) -> None:
        tx = getattr(self, "_tx", None)
        if tx is not None:
            tx.live = False

    def _control(self, sql: str) -> None:
        try:
            self._writer.execute(sql)
        except apsw.Error as error:
            raise translate(error, self.path) from error

    # -- reads -----------------------------------------------------------------------------------------------

    def read(self, work: Callable[[SqliteTx], T]) -> T:
        """Run ``work`` on a snapshot; the connection is read-only."""
        self._stop_after_end()
        connection = self._readers.pop() if self._readers else _connect(self.path, write=False)
        tx = SqliteTx(connection, tenant=self.tenant, path=self.path)
        whole = False
        try:
            connection.execute("BEGIN")  # Rule 2
            tx.live = True
            result = work(tx)
            whole = True
            return result
        except apsw.Error as error:
            raise translate(error, self.path) from error
        finally:
            tx.live = False
            if whole and not self._closed:
                connection.execute("ROLLBACK")
                self._readers.append(connection)
            else:
                # After an error nobody knows what is still open on it, and a new one costs little.
                connection.close()

    def glance(self, work: Callable[[SqliteTx], T]) -> T:
        """Run ``work``, which reads a few rows, on the writer's connection where that is free.

        Every commit empties the page cache of all other connections, so a short read right after a write is several
        times cheaper where the write was made. What ``work`` writes all the same is rolled back and stops.
        """
        self._stop_after_end()
        taken: list[bool] = []
        if self._writer_thread != threading.get_ident():
            try:
                # No interrupt comes between taking the lock and noting it: both are one call that runs no Python.
                taken.extend(map(self._writing.acquire, (False,)))
                if taken == [True]:
                    return self._glance(work)
            finally:
                if taken == [True]:
                    self._writer_thread = 0
                    self._writing.release()
        return self.read(work)

    def _glance(self, work: Callable[[SqliteTx], T]) -> T:
        tx = SqliteTx(self._writer, tenant=self.tenant, path=self.path)
        # A write inside a glance would wait for itself; now it is told so.
        self._writer_thread = threading.get_ident()
        try:
            self._stop_after_end()
            self._take_back()
            before = self._writer.total_changes()
            self._control("BEGIN")
            tx.live = True
            result = work(tx)
            # A pragma that forbids writing would have every statement prepared anew.
            if self._writer.total_changes() != before:
                raise InvariantViolation("write_in_a_read", store=self._where)
            return result
        except apsw.Error as error:
            raise translate(error, self.path) from error
        finally:
            tx.live = False
            if not self._closed:
                self._take_back()

    def check(self) -> list[str]:
        """Return what SQLite's own check, the foreign keys, the schema and the WAL's size say is wrong."""
        found: list[str] = []
        connection = _connect(self.path, write=False)
        try:
            with opening(self.path):
                found += [
                    str(row[0]) for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"
                ]
                found += [
                    f"a row of {row[0]} refers to a missing {row[2]}"
                    for row in connection.execute("PRAGMA foreign_key_check")
                ]
                if _schema(connection) != _schema_of_this_version():
                    found.append("the schema is not the one this version makes; a rule may be missing")
        finally:
            connection.close()
        wal = Path(f"{self.path}-wal")
        size = wal.stat().st_size if wal.exists() else 0
        if size > 4 * WAL_LIMIT:
            found.append(f"{wal.name} has {size >> 20} MiB: a reader keeps it from starting again")
        return found


def _schema(connection: Any) -> list[str]:
    return [str(row[0]) for row in connection.execute(_SCHEMA)]


def _digest(connection: Any) -> str:
    return hashlib.sha256("\n".join(_schema(connection)).encode()).hexdigest()


def _schema_of_this_version() -> list[str]:
    fresh: Any = apsw.Connection(":memory:")
    fresh.execute(_MIGRATIONS)
    for migration in migrations("sqlite"):
        fresh.execute(migration.sql)
    return _schema(fresh)


def _connect(path: Path, *, write: bool) -> Any:
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE if write else apsw.SQLITE_OPEN_READONLY
    with opening(path):
        if write and not path.exists():
            # Created by hand first, because SQLite would make it readable by others.
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        connection: Any = apsw.Connection(str(path), flags=flags, statementcachesize=256)
        try:
            connection.set_busy_timeout(BUSY_MS)
            connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
            # Without this a statement is prepared anew whenever a bound value might have changed its plan.
            connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
            connection.execute("PRAGMA foreign_keys = ON")
            # What a process holds must not grow with its store: 10,000 items in one run fill every byte of this.
            connection.execute("PRAGMA cache_size = -10240")
            if write:
                if connection.execute("PRAGMA journal_mode").fetchall()[0][0] != "wal":
                    _refuse_foreign(connection, path)
                    connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute(f"PRAGMA journal_size_limit = {WAL_LIMIT}")
                connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        except BaseException:
            connection.close()
            raise
        return connection


def _refuse_foreign(connection: Any, path: Path) -> None:
    """Stop before the journal mode of somebody else's database is changed."""
    if (
        _schema(connection)
        and not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'migration'").fetchall()
    ):
        raise foreign(path)


def _too_old() -> EnvironmentFault:
    return EnvironmentFault(
        "sqlite_too_old",
        failed=f"SQLite {apsw.sqlite_lib_version()} can corrupt a file that two processes write",
        state="Nothing was opened",
        next_step="Install a newer apsw (pip install -U apsw): it brings its own SQLite",
    )
