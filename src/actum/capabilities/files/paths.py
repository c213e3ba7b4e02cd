# SPDX-License-Identifier: Apache-2.0
"""A path is walked folder by folder, no link is followed, and nothing outside the allowed folders is reached.

Shared by who describes, who acts and who looks; each of them walks for itself.

Rules
1. No allowed folder resolves: nothing is allowed.
2. A path is absolute text of UTF-8 without NUL and without ``..``, and lies below an allowed folder.
3. Each folder is opened from the one above with O_NOFOLLOW, so a link anywhere in the path is refused.
4. A protected folder (the store's own) is recognised by device and inode, whatever name leads to it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path

import msgspec

from actum.model.errors import Refused
from actum.model.visible import visible

NAME_BYTES_MAX = 255
PATH_BYTES_MAX = 4095
RESERVED_PREFIX = ".actum-"

# O_PATH needs only the right to pass through a folder; elsewhere the right to read it is needed too.
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_REASONS = {
    errno.ENOENT: "folder_absent",
    errno.EACCES: "permission_denied",
    errno.EPERM: "permission_denied",
    errno.ENAMETOOLONG: "name_too_long",
    errno.ENOSPC: "disk_full",
    errno.EDQUOT: "disk_full",
    errno.EROFS: "read_only",
    errno.EFBIG: "file_too_large",
    errno.ELOOP: "symlink_in_path",
    errno.EXDEV: "other_device",
    errno.EEXIST: "name_taken",
    errno.EIO: "disk_error",
}


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A canonical path below an allowed folder, split into its folder and its name."""

    path: str
    parent: str
    name: str


class Roots(msgspec.Struct, frozen=True, kw_only=True):
    """The allowed folders as (given, resolved) pairs, longest first, and the folders nobody may act in."""

    allowed: tuple[tuple[str, str], ...]
    protected: tuple[str, ...]


class Folder:
    """An open folder with its identity; closing it twice is harmless."""

    __slots__ = ("fd", "path", "device", "inode")

    def __init__(self, fd: int, path: str) -> None:
        facts = os.fstat(fd)
        self.fd = fd
        self.path = path
        self.device = str(facts.st_dev)
        self.inode = str(facts.st_ino)

    def close(self) -> None:
        """Give the descriptor back."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def resolve_roots(roots: Iterable[Path], *, protected: Iterable[Path] = ()) -> Roots:
    """Resolve the allowed folders once; one that does not resolve to a folder allows nothing."""
    pairs: list[tuple[str, str]] = []
    for root in roots:
        try:
            resolved = os.path.realpath(root, strict=True)
            if not os.path.isdir(resolved):
                continue
        except (OSError, ValueError):
            continue
        pairs.append((os.path.abspath(root), resolved))
    pairs.sort(key=lambda pair: len(pair[1]), reverse=True)
    return Roots(allowed=tuple(pairs), protected=tuple(os.path.realpath(path) for path in protected))


def locate(text: object, *, roots: Roots) -> Place | Refused:
    """Return the canonical place of a path as it was given, without touching what it names."""
    # Rule 1
    if not roots.allowed:
        return Refused(reason="no_allowed_folder", facts={"path": visible(str(text))})
    # Rule 2
    refused = _refuse_text(text)
    if refused is not None:
        return refused
    path = str(text)
    if not path.startswith("/") and len(roots.allowed) == 1:
        path = f"{roots.allowed[0][1]}/{path}"
    if not path.startswith("/"):
        return _refuse("path_not_absolute", path)
    parts = [part for part in path.split("/") if part not in ("", ".")]
    whole = "/" + "/".join(parts)
    for given, resolved in roots.allowed:
        for start in (given, resolved):
            prefix = start.rstrip("/") + "/"
            if whole.startswith(prefix):
                return _place(resolved, whole[len(prefix) :])
    return _refuse("outside_allowed_folders", whole)


def split(path: str) -> Place:
    """Return the place of a path that is canonical already."""
    parent, _, name = path.rpartition("/")
    return Place(path=path, parent=parent or "/", name=name)


def open_folder(path: str, *, roots: Roots | None = None) -> Folder | Refused:
    """Walk to a folder from the top and open it for reading; protected folders of `roots` are refused."""
    forbidden = _identities(roots.protected) if roots is not None else frozenset[tuple[int, int]]()
    parts = [part for part in path.split("/") if part]
    fd = os.open("/", _PASS if parts else _READ)
    walked = ""
    try:
        for index, part in enumerate(parts):
            # Rule 3
            flags = _READ if index == len(parts) - 1 else _PASS
            try:
                below = os.open(part, flags, dir_fd=fd)
            except OSError as error:
                return _refuse_step(error, fd, part, f"{walked}/{part}")
            os.close(fd)
            fd, walked = below, f"{walked}/{part}"
            # Rule 4
            facts = os.fstat(fd)
            if (facts.st_dev, facts.st_ino) in forbidden:
                return _refuse("folder_protected", walked)
        folder = Folder(fd, "/" + "/".join(parts))
        fd = -1
        return folder
    finally:
        if fd >= 0:
            os.close(fd)


def refuse_error(error: OSError, path: str) -> Refused:
    """Return the refusal that stands for an operating system's error."""
    code = error.errno or 0
    return Refused(
        reason=_REASONS.get(code, "os_error"),
        facts={"path": visible(path), "errno": errno.errorcode.get(code, str(code))},
    )


def _identities(paths: tuple[str, ...]) -> frozenset[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    for path in paths:
        try:
            facts = os.stat(path)
        except OSError:
            continue
        found.add((facts.st_dev, facts.st_ino))
    return frozenset(found)


def _refuse_text(text: object) -> Refused | None:
    if not isinstance(text, str) or not text:
        return Refused(reason="path_malformed", facts={"path": visible(str(text))})
    if "\0" in text:
        return _refuse("path_has_nul", text)
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return _refuse("path_not_utf8", text)
    if size > PATH_BYTES_MAX:
        return _refuse("path_too_long", text[:80])
    parts = text.split("/")
    if ".." in parts:
        return _refuse("path_has_parent_step", text)
    if parts[-1] in ("", "."):
        return _refuse("path_names_a_folder", text)
    return None


def _place(root: str, rest: str) -> Place | Refused:
    path = f"{root.rstrip('/')}/{rest}"
    for part in rest.split("/"):
        if len(part.encode()) > NAME_BYTES_MAX:
            return _refuse("name_too_long", path[:80])
        if part.startswith(RESERVED_PREFIX):
            return _refuse("name_reserved", path)
    return split(path)


def _refuse_step(error: OSError, fd: int, part: str, path: str) -> Refused:
    """Tell a link from a file where a folder was expected: both answer ENOTDIR."""
    if error.errno in (errno.ENOTDIR, errno.ELOOP):
        try:
            mode = os.stat(part, dir_fd=fd, follow_symlinks=False).st_mode
        except OSError as second:
            return refuse_error(second, path)
        return _refuse("symlink_in_path" if stat.S_ISLNK(mode) else "not_a_folder", path)
    return refuse_error(error, path)


def _refuse(reason: str, path: str) -> Refused:
    return Refused(reason=reason, facts={"path": visible(path)})
