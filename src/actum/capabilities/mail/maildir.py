# SPDX-License-Identifier: Apache-2.0
"""A draft is one new file in a maildir: written aside, flushed, and given its name in one step.

Rules
1. The folder held open is the folder that was resolved: same device, same inode.
2. The name is made from the proposal's id; where it is taken, nothing is written.
3. The file gets its name only after its bytes are on the disk, and never replaces another.
"""

from __future__ import annotations

import os
import stat

from actum.capabilities.mail.config import MailConfig
from actum.capabilities.mail.describe import rebuild_message
from actum.model import canonical
from actum.model.effect import AbsenceIdentity, Resource
from actum.model.errors import InvariantViolation, Refused
from actum.model.grading import ExecutorSaid
from actum.model.visible import visible
from actum.ports.executor import Dispatch, EffectView, ExecutorReport, Held

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class DraftHeld:
    """The folders of the drafts maildir, open, with the message that will be written."""

    def __init__(self, folders: dict[str, int], *, name: str, raw: bytes) -> None:
        self.folders = folders
        self.name = name
        self.raw = raw

    def close(self) -> None:
        """Close the folders once."""
        while self.folders:
            os.close(self.folders.popitem()[1])


class DraftExecutor:
    """Writes one draft into the configured maildir."""

    def __init__(self, config: MailConfig) -> None:
        self._folder = config.drafts or ""

    def hold(self, effect: EffectView) -> Held | Refused:
        """Open the maildir's folders; refuse where they are not the ones resolved or the name is taken."""
        rebuilt = rebuild_message(effect.arguments)
        if isinstance(rebuilt, Refused):
            return rebuilt
        resolved = effect.descriptor.canonical_resources[0].absence
        name = draft_name(rebuilt[0].message_id)
        if resolved is None or resolved.name != name:
            return Refused(reason="message_differs", facts={"why": "the draft has another name"})
        try:
            folders = _open_folders(self._folder)
        except OSError as error:
            return _unreachable(self._folder, error)
        held = DraftHeld(folders, name=name, raw=rebuilt[1])
        facts = os.fstat(folders["new"])
        # Rule 1
        if (str(facts.st_dev), str(facts.st_ino)) != (resolved.parent_device, resolved.parent_inode):
            held.close()
            return Refused(reason="drafts_folder_changed", facts={"path": self._folder})
        # Rule 2
        if _taken(folders, name):
            held.close()
            return Refused(reason="draft_name_taken", facts={"path": resolved.path})
        return held

    def execute(self, dispatch: Dispatch, held: Held) -> ExecutorReport:
        """Write the held draft once."""
        if not isinstance(held, DraftHeld) or held.name != draft_name(
            str(dispatch.effect.arguments.get("message_id"))
        ):
            raise InvariantViolation("the held folder belongs to another draft")
        write_draft(held.folders, name=held.name, raw=held.raw)
        return ExecutorReport(
            said=ExecutorSaid.OK, result={"name": held.name, "bytes": len(held.raw)}, acknowledged=True
        )


def draft_name(message_id: str) -> str:
    """Return the file name of the draft with this Message-ID; it starts with the proposal's id."""
    proposal = message_id.strip("<>").partition("@")[0]
    return f"{proposal}.{canonical.digest(message_id)[7:19]}.actum"


def draft_resource(folder: str, *, message_id: str) -> Resource | Refused:
    """Return the identity of the place where the draft will be; refuse where there is no maildir."""
    place = os.path.join(os.path.realpath(folder), "new")
    name = draft_name(message_id)
    try:
        folders = _open_folders(folder)
    except OSError as error:
        return _unreachable(folder, error)
    held = DraftHeld(folders, name=name, raw=b"")
    try:
        facts = os.fstat(folders["new"])
        if _taken(folders, name):
            return Refused(reason="draft_name_taken", facts={"path": os.path.join(place, name)})
    finally:
        held.close()
    path = os.path.join(place, name)
    return Resource(
        kind="file",
        id=path,
        absence=AbsenceIdentity(
            path=path, parent_device=str(facts.st_dev), parent_inode=str(facts.st_ino), name=name
        ),
    )


def write_draft(folders: dict[str, int], *, name: str, raw: bytes) -> None:
    """Write ``raw`` as ``name`` into new/ of the maildir whose folders are open; raises OSError."""
    try:
        # A file of this name in tmp/ can only be what an earlier, interrupted attempt left behind.
        os.unlink(name, dir_fd=folders["tmp"])
    except FileNotFoundError:
        pass
    descriptor = os.open(name, _NEW_FILE, 0o600, dir_fd=folders["tmp"])
    with os.fdopen(descriptor, "wb") as handle:
        handle.write(raw)
        handle.flush()
        # Rule 3
        os.fsync(descriptor)
    os.link(name, name, src_dir_fd=folders["tmp"], dst_dir_fd=folders["new"], follow_symlinks=False)
    os.unlink(name, dir_fd=folders["tmp"])
    os.fsync(folders["new"])
    os.fsync(folders["tmp"])


def _open_folders(folder: str) -> dict[str, int]:
    opened: dict[str, int] = {}
    try:
        root = os.open(os.path.realpath(folder), _FOLDER)
        opened["root"] = root
        for name in ("tmp", "new", "cur"):
            opened[name] = os.open(name, _FOLDER, dir_fd=root)
    except OSError:
        for descriptor in opened.values():
            os.close(descriptor)
        raise
    return opened


def _taken(folders: dict[str, int], name: str) -> bool:
    try:
        found = os.stat(name, dir_fd=folders["new"], follow_symlinks=False)
    except FileNotFoundError:
        # A mail program that saw the draft has moved it to cur/ and hung its flags on the name.
        return any(entry.partition(":")[0] == name for entry in os.listdir(folders["cur"]))
    return stat.S_IFMT(found.st_mode) != 0


def _unreachable(folder: str, error: OSError) -> Refused:
    return Refused(
        reason="drafts_unreachable",
        facts={"path": visible(folder), "why": error.strerror or "it cannot be opened"},
    )
