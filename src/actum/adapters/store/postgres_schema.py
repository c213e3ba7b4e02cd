# SPDX-License-Identifier: Apache-2.0
"""A digest over the schema as the server tells it, so that a dropped or altered rule is seen.

The server words definitions in its own way, and another major version may word them otherwise: after an
upgrade by dump and restore the digest can differ although nothing was edited.
"""

from __future__ import annotations

import hashlib
from typing import Any

_HERE = "current_schema()::regnamespace"
_COLUMNS = (
    "SELECT 'column', c.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod),"
    " a.attnotnull::text FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid"
    f" WHERE c.relnamespace = {_HERE} AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped"
)
_CONSTRAINTS = (
    "SELECT 'constraint', c.conrelid::regclass::text, c.conname::text, pg_get_constraintdef(c.oid),"
    f" c.convalidated::text FROM pg_constraint c WHERE c.connamespace = {_HERE} AND c.contype <> 't'"
)
_TRIGGERS = (
    "SELECT 'trigger', t.tgrelid::regclass::text, t.tgname::text, pg_get_triggerdef(t.oid), t.tgenabled::text"
    " FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
    f" WHERE c.relnamespace = {_HERE} AND NOT t.tgisinternal"
)
_FUNCTIONS = (
    f"SELECT 'function', p.proname::text, p.prosrc, '', '' FROM pg_proc p WHERE p.pronamespace = {_HERE}"
)
_INDEXES = (
    "SELECT 'index', i.tablename::text, i.indexname::text, i.indexdef, ''"
    " FROM pg_indexes i WHERE i.schemaname = current_schema()"
)


def schema_digest(connection: Any) -> str:
    """Return the digest of tables, constraints, triggers, functions and indexes of the current schema."""
    lines: list[str] = []
    for part in (_COLUMNS, _CONSTRAINTS, _TRIGGERS, _FUNCTIONS, _INDEXES):
        lines += ["\x1f".join(row) for row in connection.execute(part).fetchall()]
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def tables_of_others(connection: Any) -> list[str]:
    """Return the tables of the current schema, except the one that lists migrations."""
    found = connection.execute(
        f"SELECT relname FROM pg_class WHERE relnamespace = {_HERE} AND relkind IN ('r', 'p', 'v')"
        " AND relname <> 'migration'"
    )
    return [str(row[0]) for row in found.fetchall()]
