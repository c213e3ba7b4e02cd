# SPDX-License-Identifier: Apache-2.0
"""Each error of PostgreSQL becomes one of ours, by its SQLSTATE and never by its words."""

from __future__ import annotations

import re
from typing import Any

from actum.adapters.store import constraints
from actum.adapters.store.sqlite_faults import unstorable
from actum.model.errors import ActumError, CorruptRecordError, EnvironmentFault

INSTALL = "Install it with `pip install 'actum[postgres]'`, or give the path of a SQLite store"


def missing_driver() -> EnvironmentFault:
    """Return the error for a PostgreSQL address where psycopg is not installed."""
    return EnvironmentFault(
        "postgres_driver_missing",
        failed="psycopg, the library that speaks to PostgreSQL, is not installed",
        state="Nothing was opened",
        next_step=INSTALL,
    )


def shown(url: str) -> str:
    """Return the address as it may be printed: without the password."""
    url = re.sub(r"(?<=://)([^/@:]*):[^/@]*@", r"\1:***@", url)
    return re.sub(r"(password=)[^&\s]*", r"\1***", url)


def translate(error: Any, where: str) -> ActumError:
    """Return our error for one of psycopg's."""
    state = getattr(error, "sqlstate", None) or ""
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if state.startswith("23"):
        return constraints.refusal(_rule(error, state))
    # What the driver itself cannot send, such as text with a NUL, has no SQLSTATE.
    if state.startswith("22") or (not state and _is_data_error(error)):
        return unstorable(text)
    match state:
        case "53100":
            return EnvironmentFault(
                "disk_full",
                failed=f"the disk under {where} is full",
                state="This write was rolled back; everything committed before it is kept",
                next_step="Free some space, then repeat the command",
            )
        case "25006" | "42501":
            return EnvironmentFault(
                "store_unwritable",
                failed=f"the store {where} cannot be written ({text})",
                state="Nothing was written",
                next_step="Check the rights of the database role, or give another --store",
            )
        case "55P03" | "57014" | "40001" | "40P01" | "53300":
            return EnvironmentFault(
                "store_busy",
                failed=f"{where} was kept busy by others ({text})",
                state="This write was not made",
                next_step="See what holds it (`actum doctor`), then repeat the command",
            )
        case "XX001" | "XX002":
            return CorruptRecordError(
                "store_malformed",
                failed=f"PostgreSQL finds {where} damaged ({text})",
                state="It was left as it is; nothing was derived from it",
                next_step="Stop writing, restore a backup and run `actum adopt`",
            )
        case _ if not state or state.startswith(("08", "57P", "28", "3D")):
            return EnvironmentFault(
                "store_unreachable",
                failed=f"{where} cannot be reached: {text}",
                state="Nothing was written",
                next_step="Check that PostgreSQL runs and that the address, role and password are right",
            )
        case _:
            return EnvironmentFault(
                "store_fault",
                failed=f"PostgreSQL could not do its part on {where}: {text} ({state})",
                state="This write was rolled back; everything committed before it is kept",
                next_step="Look at the server's log, then repeat the command",
            )


def _rule(error: Any, state: str) -> str:
    if state == "23503":
        return constraints.REFERENCE
    if state == "23502":
        return f"NOT NULL constraint failed: {error.diag.table_name}.{error.diag.column_name}"
    return error.diag.constraint_name or str(error.diag.message_primary)


def _is_data_error(error: Any) -> bool:
    return any(kind.__name__ in ("DataError", "UnicodeEncodeError") for kind in type(error).__mro__)
