# SPDX-License-Identifier: Apache-2.0
"""The keep is the store's private folder for what a file effect replaced, trashed or rehearses with.

Layout below the keep, every folder 0700 and every file 0600 unless it was moved there::

    prior/<sha256 hex>          content that a write replaced, by its digest
    trash/<trash id>/content    a trashed file, as it was
    trash/<trash id>/note.json  where it came from
    rehearsal/                  copies that a rehearsal acts upon; empty between rehearsals
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

import msgspec

from actum.capabilities.files.paths import Folder, open_folder, refuse_error
from actum.capabilities.files.sight import Nothing, OpenFile, open_file
from actum.model.errors import Refused
from actum.model.visible import visible

CONTENT = "content"
NOTE = "note.json"
_PARTS = ("prior", "trash", "rehearsal")
_NOTE_BYTES_MAX = 64 * 1024


class TrashNote(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a trashed file came from and what it was; `mode` is four octal digits."""

    version: int
    trash_id: str
    path: str
    device: str
    inode: str
    size: int
    mtime_ns: str
    digest: str
    mode: str
    effect_digest: str


class Keep(msgspec.Struct, frozen=True, kw_only=True):
    """The keep's canonical path; making the record touches nothing."""

    path: str

    def prior_path(self, digest: str) -> str:
        """Return where replaced content with this digest is kept."""
        return f"{self.path}/prior/{digest.removeprefix('sha256:')}"

    def trash_path(self, trash_id: str) -> str:
        """Return the folder of one trashed file."""
        return f"{self.path}/trash/{trash_id}"

    def content_path(self, trash_id: str) -> str:
        """Return where the trashed file itself lies."""
        return f"{self.trash_path(trash_id)}/{CONTENT}"

    def open(self, part: str) -> Folder:
        """Open a folder of the keep. Raises OSError where it cannot be reached without following a link."""
        folder = open_folder(f"{self.path}/{part}")
        if isinstance(folder, Refused):
            raise OSError(errno.ENOENT, f"the keep's folder {part} cannot be opened: {folder.reason}")
        return folder

    def read_note(self, trash_id: str) -> TrashNote | Refused:
        """Return what is known of a trashed file; refuse an id that is not in the trash."""
        folder = open_folder(self.trash_path(trash_id))
        if isinstance(folder, Refused):
            if folder.reason == "folder_absent":
                return Refused(reason="trash_id_unknown", facts={"trash_id": trash_id})
            return folder
        with folder:
            file = open_file(folder, NOTE)
            if isinstance(file, Nothing):
                return Refused(reason="trash_id_unknown", facts={"trash_id": trash_id})
            if isinstance(file, Refused):
                return file
            with file:
                return _parse_note(file, trash_id)


def keep_at(path: Path) -> Keep:
    """Return the keep at a folder that may not exist yet."""
    return Keep(path=os.path.realpath(path))


def prepare(keep: Keep) -> None:
    """Make the keep's folders, private to this user. Raises OSError where that is not possible."""
    for path in (keep.path, *(f"{keep.path}/{part}" for part in _PARTS)):
        os.makedirs(path, mode=0o700, exist_ok=True)
        os.chmod(path, 0o700, follow_symlinks=os.chmod not in os.supports_follow_symlinks)


def _parse_note(file: OpenFile, trash_id: str) -> TrashNote | Refused:
    corrupt = Refused(reason="trash_note_corrupt", facts={"trash_id": trash_id, "path": visible(file.path)})
    try:
        note = msgspec.json.decode(os.pread(file.fd, _NOTE_BYTES_MAX, 0), type=TrashNote)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return corrupt
    except OSError as error:
        return refuse_error(error, file.path)
    return note if note.trash_id == trash_id and note.version == 1 else corrupt
