# SPDX-License-Identifier: Apache-2.0
"""A permanent deletion is rehearsed on a copy in the keep, through the same steps; the world stays as it was.

It shows that the steps work on this content here. It does not show that the real folder will let them.

Rules
1. The copy is held and erased by the code that executes.
2. The real file is the same before and after; otherwise the rehearsal failed.
3. What cannot be copied is not rehearsed, and the reason is given.
4. The right to remove a name from the real folder is asked for, without using it.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from actum.capabilities.files import project
from actum.capabilities.files.acts import Rejected, Stranded, erase
from actum.capabilities.files.hold import HeldFile, HeldFiles, hold
from actum.capabilities.files.keep import Keep
from actum.capabilities.files.paths import Folder, Roots, open_folder, refuse_error
from actum.capabilities.files.sight import OpenFile, digest_of, glance, open_file, same_state
from actum.capabilities.files.staging import Staged, chunks_of
from actum.model.effect import Resource
from actum.model.errors import Refused
from actum.model.evidence import QualificationResult
from actum.ports.capability import Rehearsal
from actum.ports.executor import EffectView

METHOD = "copy_in_keep"


def rehearse_delete(effect: EffectView, *, roots: Roots, keep: Keep) -> Rehearsal:
    """Rehearse the deletion of one file on a copy of it."""
    try:
        held = hold(effect, roots=roots, keep=keep)
        if isinstance(held, Refused):
            return _answer(QualificationResult.FAILED, held)
        try:
            return _on_copy(effect, held, keep)
        finally:
            held.close()
    except OSError as error:
        # Rule 3
        return _answer(QualificationResult.NOT_POSSIBLE, refuse_error(error, str(error.filename or "")))


def not_flagged() -> Rehearsal:
    """Answer for an effect that can be taken back: nothing was rehearsed."""
    return _answer(QualificationResult.NOT_POSSIBLE, Refused(reason="not_flagged"), method="none")


def _on_copy(effect: EffectView, held: HeldFiles, keep: Keep) -> Rehearsal:
    file = held.file
    if file is None:
        return _answer(QualificationResult.FAILED, Refused(reason="arguments_not_resolved"))
    # Rule 4
    if not os.access(file.folder.path, os.W_OK | os.X_OK):
        return _answer(QualificationResult.FAILED, Refused(reason="folder_not_writable"))
    name = project.aside_name(effect.effect_digest).removeprefix(".actum-")
    with keep.open("rehearsal") as room:
        os.mkdir(name, 0o700, dir_fd=room.fd)
        try:
            outcome = _erase_copy(file, f"{room.path}/{name}", erase_held=erase)
        finally:
            _clear_room(room, name)
    # Rule 2
    now = glance(file.folder, file.name)
    if now is None or not same_state(now, file.file.facts):
        return _answer(QualificationResult.FAILED, Refused(reason="world_changed"))
    return outcome


def _erase_copy(file: HeldFile, path: str, *, erase_held: Callable[..., None]) -> Rehearsal:
    folder = open_folder(path)
    if isinstance(folder, Refused):
        return _answer(QualificationResult.NOT_POSSIBLE, folder)
    with folder:
        copy = _copy(file, folder)
        if isinstance(copy, Refused):
            return _answer(QualificationResult.NOT_POSSIBLE, copy)
        with copy:
            digest = digest_of(copy)
            if digest != file.resource.digest:
                return _answer(QualificationResult.NOT_POSSIBLE, Refused(reason="copy_differs"))
            twin = HeldFile(folder, file.name, copy, Resource(kind="file", id=path, digest=str(digest)))
            try:
                # Rule 1
                erase_held(twin, aside=f".actum-{'0' * 32}")
            except (Rejected, Stranded) as stopped:
                return _answer(QualificationResult.FAILED, stopped.refused)
            left = os.listdir(folder.fd)
    if left:
        return _answer(QualificationResult.FAILED, Refused(reason="copy_remains"))
    detail: dict[str, object] = {"size": file.file.facts.st_size, "digest": str(digest)}
    return Rehearsal(result=QualificationResult.PASSED, reason="", method=METHOD, detail=detail)


def _copy(file: HeldFile, folder: Folder) -> OpenFile | Refused:
    staged = Staged(folder, ".actum-copy")
    try:
        staged.fill(chunks_of(file.file))
        staged.finish(mode=0o600, like=None)
        staged.give_name(file.name)
    finally:
        staged.discard()
    opened = open_file(folder, file.name)
    return opened if isinstance(opened, (OpenFile, Refused)) else Refused(reason="copy_differs")


def _clear_room(room: Folder, name: str) -> None:
    """Leave nothing of the copy behind, however the rehearsal ended."""
    folder = open_folder(f"{room.path}/{name}")
    if isinstance(folder, Refused):
        return
    with folder:
        for entry in os.listdir(folder.fd):
            os.unlink(entry, dir_fd=folder.fd)
    os.rmdir(name, dir_fd=room.fd)


def _answer(result: QualificationResult, refused: Refused, *, method: str = METHOD) -> Rehearsal:
    return Rehearsal(result=result, reason=refused.reason, method=method, detail=dict(refused.facts))
