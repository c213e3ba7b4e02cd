# SPDX-License-Identifier: Apache-2.0
"""A small file is there whole or not at all: written under another name, on the disk, and only then named.

Rules
1. What fails, or is cut off at any moment, leaves nothing half under the name; a failure leaves nothing beside it.
2. `write_new` never takes the place of a file that is there; `replace` takes it in one step.
3. Nobody but the owner can read it at any moment.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

_OWNER_ONLY = 0o600
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS)


def write_new(path: Path, data: bytes) -> None:
    """Write a file that is not there yet; FileExistsError where it is, OSError where it cannot be written."""
    _write(path, data, name=_link)


def replace(path: Path, data: bytes) -> None:
    """Write a file in place of the one that may be there; OSError where it cannot be written."""
    _write(path, data, name=os.replace)


def _write(path: Path, data: bytes, *, name: Callable[[Path, Path], None]) -> None:
    waiting = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.new")
    try:
        # Rule 3
        fd = os.open(waiting, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, _OWNER_ONLY)
        with open(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        name(waiting, path)
    finally:
        # Rule 1
        waiting.unlink(missing_ok=True)
    sync_folder(path.parent)


def _link(waiting: Path, path: Path) -> None:
    # Rule 2
    try:
        os.link(waiting, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # A file system without links: the name is taken first, and then given to what was written.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, _OWNER_ONLY))
        os.replace(waiting, path)


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on the disk."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
