# SPDX-License-Identifier: Apache-2.0
"""The benches of our two databases; `raw` goes around the store through the bare driver."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import apsw

from actum.adapters.store.opening import open_store
from actum.adapters.store.sqlite_faults import translate as translate_sqlite
from actum.ports.store import Store
from actum.testing.postgres_cluster import PostgresCluster

OPENER = "actum.adapters.store.opening:open_store"


class _Bench:
    opener = OPENER
    ways: tuple[str, ...] = ("plain",)
    address: str

    def __init__(self) -> None:
        self._stores: dict[str, Store] = {}
        self._more: list[Store] = []

    def store(self, tenant: str = "local") -> Store:
        if tenant not in self._stores:
            self._stores[tenant] = open_store(self.address, tenant=tenant)
        return self._stores[tenant]

    def open(self, tenant: str = "local") -> Store:
        opened = open_store(self.address, tenant=tenant)
        self._more.append(opened)
        return opened

    def close(self) -> None:
        for store in [*self._stores.values(), *self._more]:
            store.close()


class SqliteBench(_Bench):
    """A store in a new file."""

    ways = ("plain", "checks_ignored", "or_ignore", "or_replace")

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.path = folder / "store.db"
        self.address = str(self.path)
        self._raw: dict[bool, Any] = {}

    def raw(self, sql: str, *values: object, way: str = "plain") -> list[Sequence[Any]]:
        if way in ("or_ignore", "or_replace"):
            verb, rest = sql.split(" ", 1)
            sql = f"{verb} {way.upper().replace('_', ' ')} {rest}"
        connection = self._connection(ignore=way != "plain")
        try:
            return connection.execute(sql, values).fetchall()
        except (apsw.Error, UnicodeEncodeError) as error:
            raise translate_sqlite(error, self.path) from error

    def _connection(self, *, ignore: bool) -> Any:
        if ignore not in self._raw:
            self.store()
            connection: Any = apsw.Connection(str(self.path))
            connection.set_busy_timeout(30_000)
            if ignore:
                connection.execute("PRAGMA ignore_check_constraints = 1")
            connection.execute("PRAGMA synchronous = OFF")
            self._raw[ignore] = connection
        return self._raw[ignore]

    def close(self) -> None:
        for connection in self._raw.values():
            connection.close()
        super().close()


class PostgresBench(_Bench):
    """A store in a new database of a private cluster."""

    _numbers = itertools.count()

    def __init__(self, cluster: PostgresCluster) -> None:
        super().__init__()
        self.address = cluster.url(f"store{next(self._numbers)}")
        self._raw: Any = None

    def raw(self, sql: str, *values: object, way: str = "plain") -> list[Sequence[Any]]:
        import psycopg

        from actum.adapters.store.postgres import translated
        from actum.adapters.store.postgres_faults import translate

        assert way == "plain"
        if self._raw is None:
            self.store()
            self._raw = psycopg.connect(self.address, autocommit=True)
        try:
            cursor = self._raw.execute(translated(sql), values)
            return cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            raise translate(error, self.address) from error

    def close(self) -> None:
        if self._raw is not None:
            self._raw.close()
        super().close()


def named(exercise: Callable[..., None]) -> str:
    """Return the exercise's name for a test id."""
    return exercise.__name__


def must_hold(exercise: Callable[[Any], None], bench: _Bench) -> None:
    """Run an exercise, which asserts what a store must do."""
    exercise(bench)
