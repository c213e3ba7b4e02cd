# SPDX-License-Identifier: Apache-2.0
"""New content is complete and on disk before it has a name that anybody looks for.

Where the system can, the staged file has no name at all (O_TMPFILE), so a stop leaves nothing behind;
elsewhere it has the effect's one aside name, which the next attempt of the same effect clears.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator

from actum.capabilities.files.paths import Folder
from actum.capabilities.files.sight import OpenFile, glance

_CHUNK = 1024 * 1024
_NAMELESS_UNSUPPORTED = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL})
_NAMED = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Staged:
    """A file with its final content and mode, flushed to disk, not yet at its place."""

    __slots__ = ("fd", "folder", "aside", "named", "digest", "size")

    def __init__(self, folder: Folder, aside: str) -> None:
        self.folder = folder
        self.aside = aside
        self.named = False
        self.digest = ""
        self.size = 0
        self.fd = self._open()

    def _open(self) -> int:
        tmpfile = getattr(os, "O_TMPFILE", 0)
        # A nameless file gets its name by way of /proc, which a container may lack.
        if tmpfile and os.path.isdir("/proc/self/fd"):
            try:
                return os.open(".", os.O_WRONLY | tmpfile | os.O_CLOEXEC, 0o600, dir_fd=self.folder.fd)
            except OSError as error:
                if error.errno not in _NAMELESS_UNSUPPORTED:
                    raise
        fd = os.open(self.aside, _NAMED, 0o600, dir_fd=self.folder.fd)
        self.named = True
        return fd

    def fill(self, chunks: Iterator[bytes]) -> None:
        """Write all of the content."""
        hasher = hashlib.sha256()
        for chunk in chunks:
            hasher.update(chunk)
            view = memoryview(chunk)
            while view:
                view = view[os.write(self.fd, view) :]
            self.size += len(chunk)
        self.digest = "sha256:" + hasher.hexdigest()

    def finish(self, *, mode: int, like: OpenFile | None) -> None:
        """Give it the mode and, with `like`, that file's owner and extended attributes; flush it to disk."""
        if like is not None:
            _copy_ownership(like.fd, self.fd)
        os.fchmod(self.fd, mode)
        os.fsync(self.fd)

    def give_name(self, name: str) -> None:
        """Take a free name in the folder. Raises FileExistsError where it is not free."""
        if self.named:
            os.link(
                self.aside,
                name,
                src_dir_fd=self.folder.fd,
                dst_dir_fd=self.folder.fd,
                follow_symlinks=False,
            )
            if name != self.aside:
                os.unlink(self.aside, dir_fd=self.folder.fd)
        else:
            os.link(f"/proc/self/fd/{self.fd}", name, dst_dir_fd=self.folder.fd, follow_symlinks=True)
        self.named = False

    def give_aside_name(self) -> None:
        """Take the aside name, so that it can be exchanged with another."""
        if not self.named:
            self.give_name(self.aside)
            self.named = True

    def discard(self) -> None:
        """Leave nothing: drop the aside name if it is this file's, and give the descriptor back."""
        fd, self.fd = self.fd, -1
        if fd < 0:
            return
        try:
            if self.named:
                unlink_if(self.folder, self.aside, lambda facts: _same_inode(facts, os.fstat(fd)))
        finally:
            os.close(fd)


def unlink_if(folder: Folder, name: str, agrees: Callable[[os.stat_result], bool]) -> bool:
    """Unlink a name of this effect's own if what stands there agrees; nobody else uses such a name."""
    facts = glance(folder, name)
    if facts is None or not agrees(facts):
        return False
    os.unlink(name, dir_fd=folder.fd)
    return True


def clear_leftover(folder: Folder, aside: str) -> bool:
    """Clear what an earlier attempt of the same effect staged and did not place."""
    return unlink_if(folder, aside, lambda facts: stat.S_ISREG(facts.st_mode))


def chunks_of(file: OpenFile) -> Iterator[bytes]:
    """Yield a file's content from its start."""
    offset = 0
    while chunk := os.pread(file.fd, _CHUNK, offset):
        offset += len(chunk)
        yield chunk


def _same_inode(a: os.stat_result, b: os.stat_result) -> bool:
    return (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)


def _copy_ownership(source: int, target: int) -> None:
    """Carry owner and extended attributes over: only what was asked changes."""
    wanted, have = os.fstat(source), os.fstat(target)
    if (wanted.st_uid, wanted.st_gid) != (have.st_uid, have.st_gid):
        os.fchown(target, wanted.st_uid, wanted.st_gid)
    if not hasattr(os, "listxattr"):
        return
    try:
        names = os.listxattr(source)
    except OSError as error:
        if error.errno in (errno.ENOTSUP, errno.EOPNOTSUPP):
            return
        raise
    present = set(os.listxattr(target))
    for name in names:
        value = os.getxattr(source, name)
        if name not in present or os.getxattr(target, name) != value:
            os.setxattr(target, name, value)
