# SPDX-License-Identifier: Apache-2.0
"""A trashed file has a folder of its own with a note beside it, written before the file moves there."""

from __future__ import annotations

import os

import msgspec

from actum.capabilities.files import project
from actum.capabilities.files.acts import Rejected
from actum.capabilities.files.hold import HeldFile
from actum.capabilities.files.keep import CONTENT, NOTE, Keep, TrashNote
from actum.capabilities.files.paths import Folder, open_folder
from actum.capabilities.files.sight import glance, mode_of
from actum.capabilities.files.staging import Staged, clear_leftover
from actum.model.errors import Refused
from actum.ports.executor import EffectView


def open_entry(keep: Keep, *, effect: EffectView, file: HeldFile) -> Folder:
    """Make the file's folder in the trash with its note, flushed, and return it open.

    Raises Rejected `trash_id_taken` where content lies there already; OSError for the disk.
    """
    trash_id = str(effect.arguments["trash_id"])
    with keep.open("trash") as trash:
        try:
            os.mkdir(trash_id, 0o700, dir_fd=trash.fd)
        except FileExistsError:
            # An earlier attempt may have stopped between the note and the move.
            pass
        entry = open_folder(keep.trash_path(trash_id))
        if isinstance(entry, Refused):
            raise Rejected(entry)
        try:
            if glance(entry, CONTENT) is not None:
                raise Rejected(Refused(reason="trash_id_taken", facts={"trash_id": trash_id}))
            _write_note(entry, _note(effect, file, trash_id), aside=project.aside_name(effect.effect_digest))
            os.fsync(entry.fd)
            os.fsync(trash.fd)
        except BaseException:
            clear_entry(keep, trash_id, entry=entry)
            entry.close()
            raise
    return entry


def clear_entry(keep: Keep, trash_id: str, *, entry: Folder) -> bool:
    """Drop note and folder of an entry without content; False where something was left: harmless."""
    try:
        if glance(entry, CONTENT) is not None:
            return False
        if glance(entry, NOTE) is not None:
            os.unlink(NOTE, dir_fd=entry.fd)
        with keep.open("trash") as trash:
            os.rmdir(trash_id, dir_fd=trash.fd)
            os.fsync(trash.fd)
    except OSError:
        return False
    return True


def _note(effect: EffectView, file: HeldFile, trash_id: str) -> TrashNote:
    facts = file.file.facts
    return TrashNote(
        version=1,
        trash_id=trash_id,
        path=str(effect.arguments["path"]),
        device=str(facts.st_dev),
        inode=str(facts.st_ino),
        size=facts.st_size,
        mtime_ns=str(facts.st_mtime_ns),
        digest=str(file.resource.digest),
        mode=mode_of(facts),
        effect_digest=effect.effect_digest,
    )


def _write_note(entry: Folder, note: TrashNote, *, aside: str) -> None:
    clear_leftover(entry, aside)
    staged = Staged(entry, aside)
    try:
        staged.fill(iter([msgspec.json.encode(note, order="sorted")]))
        staged.finish(mode=0o600, like=None)
        if glance(entry, NOTE) is not None:
            os.unlink(NOTE, dir_fd=entry.fd)
        staged.give_name(NOTE)
    finally:
        staged.discard()
