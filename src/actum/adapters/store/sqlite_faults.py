# SPDX-License-Identifier: Apache-2.0
"""Each error of SQLite becomes one of ours, with what is still true and what to do next."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import apsw

from actum.adapters.store import constraints
from actum.model.errors import ActumError, CorruptRecordError, EnvironmentFault, RefusedError

BUSY_MS = 30_000
"""How long a writer waits for another process; the longest wait measured with eight writers was 40 ms."""

ROOM_NEEDED = 64 << 10
"""Bytes below which a disk has no room for what SQLite needs even to read: the index of its write-ahead log."""
_UNDONE = "This write was rolled back; everything committed before it is kept"


@contextmanager
def opening(path: Path) -> Generator[None]:
    """Translate what goes wrong while a store is opened, the file system's errors included."""
    try:
        yield
    except apsw.Error as error:
        raise translate(error, path, state="Nothing was written") from error
    except OSError as error:
        raise EnvironmentFault(
            "store_unreachable",
            failed=f"the store {path} cannot be opened: {error.strerror or error}",
            state="Nothing was written",
            next_step="Check that the folder exists, is yours and is writable, or give another --store",
        ) from error


def translate(error: Exception, path: Path, *, state: str = _UNDONE) -> ActumError:
    """Return our error for one of SQLite's, or for a value it cannot hold; ``state`` is what is true after it."""
    text = str(error)
    if isinstance(error, apsw.FullError) or (isinstance(error, apsw.IOError) and _is_full(path)):
        return EnvironmentFault(
            "disk_full",
            failed=f"the disk under {path} is full",
            state=state,
            next_step="Free some space, then repeat the command",
        )
    match error:
        case apsw.ConstraintError():
            return constraints.refusal(constraints.name_of(text))
        case UnicodeEncodeError() | OverflowError():
            return unstorable(text)
        case apsw.ReadOnlyError() | apsw.CantOpenError() | apsw.PermissionsError():
            return EnvironmentFault(
                "store_unwritable",
                failed=f"the store {path} cannot be written ({text})",
                state="Nothing was written",
                next_step="Check the owner and mode of the file and its folder, or give another --store",
            )
        case apsw.NotADBError() | apsw.CorruptError():
            return CorruptRecordError(
                "store_malformed",
                failed=f"{path} is not a whole SQLite database ({text})",
                state="It was left as it is; nothing was derived from it",
                next_step="Keep a copy of the file and its -wal, then restore a backup and run `actum adopt`",
            )
        case apsw.BusyError() | apsw.LockedError():
            return EnvironmentFault(
                "store_busy",
                failed=f"another process kept {path} locked for {BUSY_MS // 1000} seconds",
                state="This write was not made",
                next_step="See which process holds it (`actum doctor`), then repeat the command",
            )
        case _:
            return EnvironmentFault(
                "store_fault",
                failed=f"SQLite could not do its part on {path}: {text}",
                state=state,
                next_step="Look at the disk and its mount (the system's log names its faults), then repeat the command",
            )


def _is_full(path: Path) -> bool:
    # SQLite says no more than that a call failed, so the disk is asked.
    try:
        found = os.statvfs(path.parent)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize < ROOM_NEEDED


def unstorable(text: str) -> RefusedError:
    """Return the refusal of a value that no column can hold whole, such as half a character."""
    return RefusedError(
        "store_value",
        failed=f"a value cannot be kept as it is: {text}",
        state="Nothing of this write was kept",
        next_step="Send text that is whole Unicode without a NUL, and integers of at most 64 bits",
    )


def foreign(where: object, *, what: str = "a file that does not exist yet") -> EnvironmentFault:
    """Return the error for a database that holds something else."""
    return EnvironmentFault(
        "store_foreign",
        failed=f"{where} is a database of another program",
        state="It was left as it is",
        next_step=f"Give the address of an Actum store, or of {what}",
    )


def edited(where: object) -> EnvironmentFault:
    """Return the error for a schema that is not what its migrations made."""
    return EnvironmentFault(
        "store_schema_edited",
        failed=f"the schema of {where} is not the one its migrations made",
        state="The store was not opened and nothing in it was changed",
        next_step="Restore it from a backup; a trigger or table was added, altered or dropped by hand",
    )
