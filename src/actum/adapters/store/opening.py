# SPDX-License-Identifier: Apache-2.0
"""A store is opened by its address: a path is a SQLite file, ``postgresql://`` a PostgreSQL database."""

from __future__ import annotations

from pathlib import Path

from actum.model.errors import UsageError
from actum.ports.store import Store

_SQLITE = "sqlite:"
_POSTGRES = ("postgresql://", "postgres://")


def open_store(address: str | Path, *, tenant: str = "local") -> Store:
    """Open a store, making it where it is new; `Store.address` of one opens it again.

    Raises `store_unreachable`, `store_unwritable`, `store_foreign`, `store_newer`, `store_schema_edited`,
    `store_schema_foreign`, `store_malformed`, `postgres_driver_missing`, `store_address`.
    """
    if isinstance(address, str):
        if address.startswith(_POSTGRES):
            # Imported here because its driver is an optional part.
            from actum.adapters.store.postgres import PostgresStore

            return PostgresStore(address, tenant=tenant)
        if "://" in address or not address:
            raise UsageError(
                "store_address",
                failed=f"{address.split('://')[0] or 'nothing'} is no kind of store",
                state="Nothing was opened",
                next_step="Give the path of a file, or an address that begins with postgresql://",
            )
        address = Path(address.removeprefix(_SQLITE))
    # Imported here so that a command that opens no store does not load SQLite.
    from actum.adapters.store.sqlite import SqliteStore

    return SqliteStore(address, tenant=tenant)
