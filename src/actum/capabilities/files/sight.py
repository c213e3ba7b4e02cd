# SPDX-License-Identifier: Apache-2.0
"""What stands at a name in an open folder is told without following a link and without blocking on a pipe."""

from __future__ import annotations

import hashlib
import os
import stat

import msgspec

from actum.capabilities.files.paths import Folder, refuse_error
from actum.model.effect import FileIdentity
from actum.model.errors import Refused
from actum.model.visible import visible

_CHUNK = 1024 * 1024
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class OpenFile:
    """An open regular file with the facts it had when it was opened; closing it twice is harmless."""

    __slots__ = ("fd", "path", "facts")

    def __init__(self, fd: int, path: str, facts: os.stat_result) -> None:
        self.fd = fd
        self.path = path
        self.facts = facts

    def close(self) -> None:
        """Give the descriptor back."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> OpenFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Nothing(msgspec.Struct, frozen=True):
    """There is nothing under the name."""


def kind_of(mode: int) -> str:
    """Return file, folder, symlink or other."""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "symlink" if stat.S_ISLNK(mode) else "other"


def mode_of(facts: os.stat_result) -> str:
    """Return the permission bits as four octal digits."""
    return f"{stat.S_IMODE(facts.st_mode):04o}"


def identity_of(path: str, facts: os.stat_result) -> FileIdentity:
    """Return the identity of a file: path, device, inode, size and time of modification."""
    return FileIdentity(
        path=path,
        device=str(facts.st_dev),
        inode=str(facts.st_ino),
        size=facts.st_size,
        mtime_ns=str(facts.st_mtime_ns),
    )


def glance(folder: Folder, name: str) -> os.stat_result | None:
    """Return the facts of whatever stands at a name, itself and not what it points to; None for nothing."""
    try:
        return os.stat(name, dir_fd=folder.fd, follow_symlinks=False)
    except FileNotFoundError:
        return None


def open_file(folder: Folder, name: str) -> OpenFile | Nothing | Refused:
    """Open the regular file at a name; a link, a folder, a device or a pipe is refused and never opened."""
    path = f"{folder.path.rstrip('/')}/{name}"
    try:
        before = glance(folder, name)
        if before is None:
            return Nothing()
        if not stat.S_ISREG(before.st_mode):
            kind = kind_of(before.st_mode)
            reason = "symlink_in_path" if kind == "symlink" else "not_a_regular_file"
            return Refused(reason=reason, facts={"path": visible(path), "kind": kind})
        fd = os.open(name, _OPEN, dir_fd=folder.fd)
    except FileNotFoundError:
        return Nothing()
    except OSError as error:
        return refuse_error(error, path)
    facts = os.fstat(fd)
    if not stat.S_ISREG(facts.st_mode):
        os.close(fd)
        return Refused(
            reason="not_a_regular_file", facts={"path": visible(path), "kind": kind_of(facts.st_mode)}
        )
    return OpenFile(fd, path, facts)


def digest_of(file: OpenFile) -> str | Refused:
    """Return the digest of a file's content; refuse where the file changed while it was read."""
    hasher = hashlib.sha256()
    offset = 0
    try:
        while chunk := os.pread(file.fd, _CHUNK, offset):
            hasher.update(chunk)
            offset += len(chunk)
        after = os.fstat(file.fd)
    except OSError as error:
        return refuse_error(error, file.path)
    if offset != file.facts.st_size or not same_state(after, file.facts):
        return Refused(reason="changed_while_read", facts={"path": visible(file.path)})
    return "sha256:" + hasher.hexdigest()


def same_state(a: os.stat_result, b: os.stat_result) -> bool:
    """Tell whether two looks at a file show the same device, inode, size and time of modification."""
    return (a.st_dev, a.st_ino, a.st_size, a.st_mtime_ns) == (b.st_dev, b.st_ino, b.st_size, b.st_mtime_ns)
