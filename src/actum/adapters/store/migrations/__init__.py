# SPDX-License-Identifier: Apache-2.0
"""Migrations go forward only, in file order, and each is checked against the bytes it was applied from."""

from __future__ import annotations

import hashlib
from importlib.resources import files

import msgspec

from actum.model.errors import EnvironmentFault


class Migration(msgspec.Struct, frozen=True, kw_only=True):
    """One migration file of a dialect."""

    version: int
    name: str
    sql: str
    checksum: str


def migrations(dialect: str) -> list[Migration]:
    """Return the migrations of a dialect (``sqlite`` or ``postgres``) in order."""
    found: list[Migration] = []
    for entry in sorted(files(__name__).joinpath(dialect).iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith(".sql"):
            sql = entry.read_text(encoding="utf-8")
            found.append(
                Migration(
                    version=int(entry.name.split("_", 1)[0]),
                    name=entry.name,
                    sql=sql,
                    checksum=hashlib.sha256(sql.encode()).hexdigest(),
                )
            )
    return found


def pending(dialect: str, applied: dict[int, str], *, where: str) -> list[Migration]:
    """Return what must still be applied; refuse a store from a newer version or with other migrations.

    ``applied`` is {version: checksum} as the store says.
    """
    known = migrations(dialect)
    newest = known[-1].version
    if applied and max(applied) > newest:
        raise EnvironmentFault(
            "store_newer",
            failed=f"the store {where} was written by a newer version of Actum (schema {max(applied)})",
            state=f"It was left as it is; this version knows schema {newest}",
            next_step="Use the newer version, or restore a backup made by this one",
        )
    for migration in known:
        if migration.version in applied and applied[migration.version] != migration.checksum:
            raise EnvironmentFault(
                "store_schema_foreign",
                failed=f"the store {where} was made by another {migration.name} than this version has",
                state="It was left as it is",
                next_step="Use the version that made it; do not edit a store's schema by hand",
            )
    return [migration for migration in known if migration.version not in applied]
