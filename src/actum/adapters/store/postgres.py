# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL schema is a store with the tables, rules and statements of the SQLite one.

Rules
1. A write takes the tenant's lock first, so that writers of a tenant follow one another as they do in a
   SQLite file: what a write reads stays true until it commits, and the log has one order.
2. A commit is answered only after the server has it on its disk (`synchronous_commit` on).
3. A read is a REPEATABLE READ, READ ONLY transaction on a connection of its own.
4. The schema must have the digest its migrations gave it; an edited schema is not opened.
5. A lost connection is opened again for the next write. One lost while a commit was under way leaves its
   outcome unknown, and that is what the caller is told.

Time is the caller's ``now_ms`` here as it is in SQLite; with workers on several hosts their clocks must
agree better than a lease is long. The database's own clock is not used yet.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from actum.adapters.store.activity_rows import ActivityRows
from actum.adapters.store.evidence_rows import EvidenceRows
from actum.adapters.store.group import GroupCommit, commit_unknown
from actum.adapters.store.human_rows import HumanRows
from actum.adapters.store.migrations import pending
from actum.adapters.store.outbox_rows import OutboxRows
from actum.adapters.store.postgres_faults import missing_driver, shown, translate
from actum.adapters.store.postgres_schema import schema_digest, tables_of_others
from actum.adapters.store.sqlite_faults import edited, foreign
from actum.adapters.store.standing_rows import StandingRows
from actum.adapters.store.work_rows import WorkRows
from actum.model.errors import ActumError, InvariantViolation

T = TypeVar("T")
BUSY_MS = 30_000
_SETTINGS = {
    "application_name": "actum",
    "client_encoding": "UTF8",
    "synchronous_commit": "on",
    "lock_timeout": str(BUSY_MS),
    # A process that was stopped inside a write must not hold the tenant's lock for ever.
    "idle_in_transaction_session_timeout": str(2 * BUSY_MS),
}
_MIGRATIONS = (
    "CREATE TABLE IF NOT EXISTS migration (version BIGINT PRIMARY KEY, name TEXT NOT NULL,"
    " checksum TEXT NOT NULL, schema_digest TEXT NOT NULL)"
)


@functools.cache
def translated(sql: str) -> str:
    """Return a statement with this driver's parameter marks."""
    return sql.replace("%", "%%").replace("?", "%s")


class PostgresTx(WorkRows, HumanRows, OutboxRows, EvidenceRows, ActivityRows, StandingRows):
    """A transaction on one connection."""

    _names = itertools.count()

    def __init__(self, connection: Any, *, tenant: str, where: str) -> None:
        super().__init__(tenant)
        self._connection = connection
        self._cursor = connection.cursor(binary=True)
        self._where = where
        self._errors: Any = _psycopg().Error

    def rows(self, sql: str, *values: object) -> list[Sequence[Any]]:
        return self._run(sql, values).fetchall()

    def each(self, sql: str, *values: object) -> Iterator[Sequence[Any]]:
        try:
            with self._connection.cursor(name=f"actum_{next(self._names)}", binary=True) as cursor:
                cursor.itersize = 1000
                for row in cursor.execute(translated(sql), values):
                    yield row
                    if not self.live:
                        raise InvariantViolation("transaction_used_after_its_end")
        except self._errors as error:
            raise self._break(error) from error

    def run(self, sql: str, *values: object) -> int:
        return self._run(sql, values).rowcount

    def claim_due(self, where: str, *, order: str) -> str:
        """Pick due rows and lock them, passing over what another transaction has locked."""
        due = f"SELECT outbox_id FROM outbox WHERE tenant = ? AND {where} ORDER BY {order} LIMIT ?"
        # ARRAY runs the query once; an IN could run it again and lock more than the limit.
        return f"outbox_id = ANY (ARRAY({due} FOR UPDATE SKIP LOCKED))"

    def _run(self, sql: str, values: tuple[object, ...]) -> Any:
        if not self.live:
            raise InvariantViolation("transaction_used_after_its_end")
        try:
            return self._cursor.execute(translated(sql), values)
        except (self._errors, UnicodeEncodeError) as error:
            raise self._break(error) from error

    def _break(self, error: Any) -> ActumError:
        ours = translate(error, self._where)
        self.broken = self.broken or ours
        return ours


class PostgresStore(GroupCommit[PostgresTx]):
    """A store in one PostgreSQL schema. Safe for threads; any number of processes may write."""

    def __init__(self, url: str, *, tenant: str = "local") -> None:
        super().__init__(shown(url))
        self._errors: Any = _psycopg().Error
        self.tenant = tenant
        self.url = shown(url)
        self.address = url
        self._lock_key = int.from_bytes(
            hashlib.sha256(f"actum store\0{tenant}".encode()).digest()[:8], "big", signed=True
        )
        self._writer: Any = self._connect()
        self._tx = PostgresTx(self._writer, tenant=tenant, where=self.url)
        try:
            self._migrate()
        except self._errors as error:
            self._writer.close()
            raise translate(error, self.url) from error
        except BaseException:
            self._writer.close()
            raise

    def _connect(self) -> Any:
        psycopg = _psycopg()
        try:
            connection: Any = psycopg.connect(self.address, autocommit=True)
            for name, value in _SETTINGS.items():
                connection.execute("SELECT set_config(%s, %s, false)", (name, value))
        except psycopg.Error as error:
            raise translate(error, self.url) from error
        return connection

    def _migrate(self) -> None:
        with self._writer.transaction():
            # Two processes that open a new store at once must not both make it.
            self._writer.execute("SELECT pg_advisory_xact_lock(hashtext('actum migrate'))")
            found: list[Any] = []
            if self._writer.execute("SELECT to_regclass('migration')").fetchone()[0] is not None:
                found = self._writer.execute(
                    "SELECT version, checksum, schema_digest FROM migration ORDER BY version"
                ).fetchall()
            applied = {int(row[0]): str(row[1]) for row in found}
            if not applied and tables_of_others(self._writer):
                raise foreign(self.url, what="an empty database or schema")
            waiting = pending("postgres", applied, where=self.url)
            # Rule 4
            if applied and found[-1][2] != schema_digest(self._writer):
                raise edited(self.url)
            if not applied:
                self._writer.execute(_MIGRATIONS)
            for migration in waiting:
                self._writer.execute(migration.sql)
                self._writer.execute(
                    "INSERT INTO migration VALUES (%s, %s, %s, %s)",
                    (migration.version, migration.name, migration.checksum, schema_digest(self._writer)),
                )

    # -- group commit ----------------------------------------------------------------------------------------

    def _begin(self) -> PostgresTx:
        if not self._writer.closed and self._writer.info.transaction_status.name != "IDLE":
            self._writer.close()  # an interrupt met the rollback, and the server would go on where it was left
        if self._writer.closed:
            # Rule 5
            self._writer = self._connect()
            self._tx = PostgresTx(self._writer, tenant=self.tenant, where=self.url)
        try:
            # One message for both, because each costs a way to the server and back. Rule 1
            self._writer.execute(f"BEGIN; SELECT pg_advisory_xact_lock({self._lock_key})")
        except self._errors as error:
            raise translate(error, self.url) from error
        return self._tx

    def _end(self) -> None:
        try:
            ended = self._writer.execute("COMMIT")
        except self._errors as error:
            if self._writer.closed or self._writer.broken:
                raise commit_unknown(self.url) from error  # Rule 5
            raise translate(error, self.url) from error
        # The server answers the commit of a failed transaction with ROLLBACK and no error.
        if ended.statusmessage != "COMMIT":
            raise InvariantViolation("committed_a_failed_transaction", store=self.url)

    def _undo(self) -> None:
        self._tx.live = False
        if self._writer.closed:
            return
        try:
            if self._writer.info.transaction_status.name != "IDLE":
                self._writer.execute("ROLLBACK")
        except self._errors:
            self._writer.close()  # the server rolls back what it does not hear of again

    def _mark(self) -> None:
        self._control("SAVEPOINT w")

    def _back(self) -> bool:
        if self._writer.closed:
            return False
        self._control("ROLLBACK TO SAVEPOINT w")
        return True

    def _keep(self) -> None:
        self._control("RELEASE SAVEPOINT w")

    def _control(self, sql: str) -> None:
        try:
            self._writer.execute(sql)
        except self._errors as error:
            raise translate(error, self.url) from error

    # -- reads -----------------------------------------------------------------------------------------------

    def read(self, work: Callable[[PostgresTx], T]) -> T:
        """Run ``work`` on a snapshot that cannot be written to."""
        self._stop_after_end()
        connection = self._reader()
        tx = PostgresTx(connection, tenant=self.tenant, where=self.url)
        whole = False
        try:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")  # Rule 3
            tx.live = True
            result = work(tx)
            tx.live = False
            connection.execute("ROLLBACK")
            whole = True
            return result
        except self._errors as error:
            raise translate(error, self.url) from error
        finally:
            tx.live = False
            if whole and not self._closed:
                self._readers.append(connection)
            else:
                connection.close()

    def glance(self, work: Callable[[PostgresTx], T]) -> T:
        """Run ``work``, which reads a few rows; a read like any other here."""
        return self.read(work)

    def _reader(self) -> Any:
        while self._readers:
            connection = self._readers.pop()
            if not connection.closed:
                return connection
        return self._connect()

    def check(self) -> list[str]:
        """Return what the schema, the indexes and the durability settings say is wrong."""
        found: list[str] = []
        connection = self._reader()
        try:
            with connection.transaction():
                stored = connection.execute(
                    "SELECT schema_digest FROM migration ORDER BY version DESC LIMIT 1"
                ).fetchone()
                if stored is None or stored[0] != schema_digest(connection):
                    found.append("the schema is not the one its migrations made; a rule may be missing")
                invalid = connection.execute(
                    "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
                    " WHERE NOT i.indisvalid AND c.relnamespace = current_schema()::regnamespace"
                ).fetchall()
                found += [f"index {row[0]} is not valid; it must be built again" for row in invalid]
                for name, value in (("fsync", "off"), ("full_page_writes", "off")):
                    if connection.execute(f"SHOW {name}").fetchone()[0] == value:
                        found.append(
                            f"the server runs with {name} {value}: a power loss can lose or tear rows"
                        )
        except self._errors as error:
            raise translate(error, self.url) from error
        finally:
            self._readers.append(connection)
        return found


def _psycopg() -> Any:
    """Return the driver, which only a PostgreSQL store needs."""
    try:
        import psycopg
    except ImportError as error:
        raise missing_driver() from error
    return psycopg
