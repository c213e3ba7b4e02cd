# SPDX-License-Identifier: Apache-2.0
"""The single steps that change a folder: each acts through what is held and takes back what hit another file.

Execution and rehearsal go through the same steps.

Rules
1. The folder stands where it was resolved and the name leads to the held file, or nothing is done.
2. A step never overwrites: it exchanges two names or takes a free one.
3. What came out of a step is the held file in its held state; otherwise the step is taken back.
4. A name is gone only after the file was caught under the effect's aside name and recognised.
"""

from __future__ import annotations

import errno
import os

from actum.capabilities.files.hold import HeldFile, HeldPlace, changed
from actum.capabilities.files.paths import Folder, open_folder, refuse_error
from actum.capabilities.files.renames import exchange, rename_new
from actum.capabilities.files.sight import glance, same_state
from actum.capabilities.files.staging import Staged, chunks_of
from actum.model.errors import Refused
from actum.model.visible import visible


class Rejected(Exception):
    """Nothing was changed; `refused` says why."""

    def __init__(self, refused: Refused) -> None:
        self.refused = refused
        super().__init__(refused.reason, refused.facts)


class Stranded(Exception):
    """Something was changed and the step did not end as it should; `refused` says what stands where."""

    def __init__(self, refused: Refused) -> None:
        self.refused = refused
        super().__init__(refused.reason, refused.facts)


class OtherDevice(Exception):
    """The two places lie on different file systems; nothing was changed."""


def create(place: HeldPlace, staged: Staged) -> None:
    """Give new content its free name."""
    check_folder(place.folder)
    try:
        # Rule 2
        staged.give_name(place.name)
    except FileExistsError as error:
        raise Rejected(changed(_path(place.folder, place.name), now="something is there")) from error


def replace(held: HeldFile, staged: Staged) -> str:
    """Put staged content in the held file's place; return the guard: exchange or check_then_rename."""
    folder, aside = held.folder, staged.aside
    staged.give_aside_name()
    check_name(held)
    if not exchange(folder, aside, held.name):
        os.rename(aside, held.name, src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
        staged.named = False
        return "check_then_rename"
    # Rule 3
    came = glance(folder, aside)
    if came is None or not same_state(came, held.file.facts):
        _exchange_back(held, staged)
        raise Rejected(changed(_path(folder, held.name), why="replaced while acting; taken back"))
    staged.named = False
    try:
        os.unlink(aside, dir_fd=folder.fd)
    except OSError as error:
        raise Stranded(_left(folder, aside, "replaced content was not cleared", error)) from error
    return "exchange"


def relocate(held: HeldFile, target: Folder, new_name: str) -> None:
    """Move the held file to a free name. Raises OtherDevice where the two folders are on different ones."""
    check_name(held)
    try:
        # Rule 2
        rename_new(held.folder, held.name, target, new_name)
    except FileExistsError as error:
        raise Rejected(changed(_path(target, new_name), now="something is there")) from error
    except OSError as error:
        if error.errno == errno.EXDEV:
            raise OtherDevice from error
        raise
    # Rule 3
    moved = glance(target, new_name)
    if moved is None or not same_state(moved, held.file.facts):
        try:
            rename_new(target, new_name, held.folder, held.name)
        except OSError as error:
            raise Stranded(_left(target, new_name, "another file was moved, not put back", error)) from error
        raise Rejected(changed(_path(held.folder, held.name), why="replaced while acting; taken back"))


def erase(held: HeldFile, *, aside: str) -> None:
    """Remove the held file for good."""
    # Rule 4
    relocate(held, held.folder, aside)
    try:
        os.unlink(aside, dir_fd=held.folder.fd)
    except OSError as error:
        try:
            rename_new(held.folder, aside, held.folder, held.name)
        except OSError as second:
            raise Stranded(_left(held.folder, aside, "neither removed nor put back", second)) from error
        raise Rejected(refuse_error(error, _path(held.folder, held.name))) from error
    flush(held.folder)


def carry(held: HeldFile, target: Folder, new_name: str, *, aside: str) -> None:
    """Move the held file to another file system: copy, compare, name the copy, remove the original."""
    staged = Staged(target, aside)
    try:
        staged.fill(chunks_of(held.file))
        if staged.digest != held.resource.digest:
            raise Rejected(changed(_path(held.folder, held.name), differs="content", now=staged.digest))
        staged.finish(mode=held.file.facts.st_mode & 0o7777, like=held.file)
        os.utime(staged.fd, ns=(held.file.facts.st_atime_ns, held.file.facts.st_mtime_ns))
        try:
            staged.give_name(new_name)
        except FileExistsError as error:
            raise Rejected(changed(_path(target, new_name), now="something is there")) from error
    finally:
        staged.discard()
    try:
        os.fsync(target.fd)
        erase(held, aside=aside)
    except (Rejected, OSError):
        os.unlink(new_name, dir_fd=target.fd)
        raise


def check_folder(folder: Folder) -> None:
    """Raise Rejected unless the folder still stands at the path it was opened under."""
    # Rule 1
    again = open_folder(folder.path)
    if isinstance(again, Refused):
        raise Rejected(changed(folder.path, why=again.reason))
    with again:
        if (again.device, again.inode) != (folder.device, folder.inode):
            raise Rejected(changed(folder.path, differs="folder", resolved=folder.inode, now=again.inode))


def check_name(held: HeldFile) -> None:
    """Raise Rejected unless the name in the folder still leads to the held file in its held state."""
    # Rule 1
    check_folder(held.folder)
    now = glance(held.folder, held.name)
    if now is None or not same_state(now, held.file.facts):
        raise Rejected(changed(_path(held.folder, held.name), why="no longer the file that was held"))


def flush(*folders: Folder) -> None:
    """Flush folders to disk after a change; a failure leaves the change made and not known to be durable."""
    for folder in folders:
        try:
            os.fsync(folder.fd)
        except OSError as error:
            raise Stranded(_left(folder, "", "the folder was not flushed to disk", error)) from error


def _exchange_back(held: HeldFile, staged: Staged) -> None:
    folder = held.folder
    try:
        exchange(folder, staged.aside, held.name)
    except OSError as error:
        staged.named = False
        raise Stranded(_left(folder, staged.aside, "exchanged and not put back", error)) from error
    back, ours = glance(folder, staged.aside), os.fstat(staged.fd)
    if back is None or (back.st_dev, back.st_ino) != (ours.st_dev, ours.st_ino):
        raise Stranded(_left(folder, staged.aside, "the place changed again while it was put back", None))


def _path(folder: Folder, name: str) -> str:
    return f"{folder.path.rstrip('/')}/{name}"


def _left(folder: Folder, name: str, why: str, error: OSError | None) -> Refused:
    facts = {"path": visible(_path(folder, name)), "why": why}
    if error is not None:
        facts["errno"] = errno.errorcode.get(error.errno or 0, str(error.errno))
    return Refused(reason="left_half_done", facts=facts)
