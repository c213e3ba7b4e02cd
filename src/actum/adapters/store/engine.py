# SPDX-License-Identifier: Apache-2.0
"""Which SQLite is used, and whether it is past the fault that could corrupt a file in WAL mode."""

from __future__ import annotations

import apsw

from actum.adapters.store.sqlite import OLDEST_SQLITE


def sqlite_in_use() -> tuple[str, bool]:
    """Return the version of SQLite, and whether it is new enough to be used by several processes."""
    return apsw.sqlite_lib_version(), OLDEST_SQLITE <= apsw.SQLITE_VERSION_NUMBER
