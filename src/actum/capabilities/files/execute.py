# SPDX-License-Identifier: Apache-2.0
"""The executors of file effects act through held handles and answer with their word, never evidence.

`rejected` says that nothing was changed, `raised` that something was and did not end as it should.
"""

from __future__ import annotations

from collections.abc import Iterator

from actum.capabilities.files import project
from actum.capabilities.files.acts import (
    OtherDevice,
    Rejected,
    Stranded,
    carry,
    create,
    erase,
    flush,
    relocate,
    replace,
)
from actum.capabilities.files.hold import HeldFile, HeldFiles, HeldPlace, hold
from actum.capabilities.files.keep import CONTENT, Keep
from actum.capabilities.files.paths import Roots, refuse_error
from actum.capabilities.files.prior import keep_prior
from actum.capabilities.files.staging import Staged, clear_leftover
from actum.capabilities.files.trash import clear_entry, open_entry
from actum.model.errors import InvariantViolation, Refused
from actum.model.grading import ExecutorSaid
from actum.ports.executor import Dispatch, EffectView, ExecutorReport, Held


class FileExecutor:
    """What the five executors share: holding, and turning every end into a report."""

    def __init__(self, *, roots: Roots, keep: Keep) -> None:
        self._roots = roots
        self._keep = keep

    def hold(self, effect: EffectView) -> HeldFiles | Refused:
        """Open and check what the effect names, changing nothing."""
        try:
            return hold(effect, roots=self._roots, keep=self._keep)
        except OSError as error:
            return refuse_error(error, effect.descriptor.capability)

    def execute(self, dispatch: Dispatch, held: Held) -> ExecutorReport:
        """Act once; a failure is a report and leaves nothing half-written."""
        if not isinstance(held, HeldFiles):
            raise InvariantViolation("a file executor was given a handle it did not make")
        try:
            result = self.act(dispatch.effect, held)
        except Rejected as rejected:
            return _report(ExecutorSaid.REJECTED, rejected.refused)
        except Stranded as stranded:
            return _report(ExecutorSaid.RAISED, stranded.refused)
        except OtherDevice:
            return _report(ExecutorSaid.REJECTED, Refused(reason="other_device"))
        except OSError as error:
            # The steps turn every error after a change into Stranded, so this one came before any.
            return _report(ExecutorSaid.REJECTED, refuse_error(error, str(error.filename or "")))
        return ExecutorReport(said=ExecutorSaid.OK, result=result, acknowledged=True)

    def act(self, effect: EffectView, held: HeldFiles) -> dict[str, object]:
        """Do it and return what the executor says of it."""
        raise NotImplementedError


class WriteExecutor(FileExecutor):
    """Puts new content at a path; content that was there is kept first."""

    def act(self, effect: EffectView, held: HeldFiles) -> dict[str, object]:
        """Stage beside the place, keep what was there, exchange or take the free name, flush."""
        content = project.content_of(effect.arguments)
        existing = held.file
        if isinstance(content, Refused):
            raise Rejected(content)
        folder = existing.folder if existing is not None else _place(held).folder
        aside = project.aside_name(effect.effect_digest)
        clear_leftover(folder, aside)
        result: dict[str, object] = {"path": effect.arguments["path"]}
        if existing is not None:
            result["prior"] = keep_prior(self._keep, existing, aside=aside)
        staged = Staged(folder, aside)
        try:
            staged.fill(_one(content))
            mode = int(str(effect.arguments["mode"]), 8)
            staged.finish(mode=mode, like=existing.file if existing is not None else None)
            if existing is not None:
                result["guard"] = replace(existing, staged)
            else:
                create(_place(held), staged)
        finally:
            staged.discard()
        flush(folder)
        return {**result, "sha256": staged.digest, "size": staged.size}


class MoveExecutor(FileExecutor):
    """Gives a file another path on the same file system."""

    def act(self, effect: EffectView, held: HeldFiles) -> dict[str, object]:
        """Rename to the free name through both held folders and flush them."""
        file, place = _file(held), _place(held)
        relocate(file, place.folder, place.name)
        flush(file.folder, place.folder)
        return {"source": effect.arguments["source"], "target": effect.arguments["target"]}


class TrashExecutor(FileExecutor):
    """Moves a file into the keep's trash with a note that lets it come back."""

    def act(self, effect: EffectView, held: HeldFiles) -> dict[str, object]:
        """Write the note, move the file beside it, flush both folders."""
        file, trash_id = _file(held), str(effect.arguments["trash_id"])
        entry = open_entry(self._keep, effect=effect, file=file)
        with entry:
            try:
                try:
                    relocate(file, entry, CONTENT)
                    flush(entry, file.folder)
                except OtherDevice:
                    carry(file, entry, CONTENT, aside=project.aside_name(effect.effect_digest))
            except (Rejected, OSError):
                clear_entry(self._keep, trash_id, entry=entry)
                raise
        return {"path": effect.arguments["path"], "trash_id": trash_id}


class RestoreExecutor(FileExecutor):
    """Puts a trashed file back where it came from, if that place is free."""

    def act(self, effect: EffectView, held: HeldFiles) -> dict[str, object]:
        """Move the file out of the trash to its free place, flush, then drop the note."""
        file, place, trash_id = _file(held), _place(held), str(effect.arguments["trash_id"])
        try:
            relocate(file, place.folder, place.name)
            flush(place.folder, file.folder)
        except OtherDevice:
            carry(file, place.folder, place.name, aside=project.aside_name(effect.effect_digest))
        cleared = clear_entry(self._keep, trash_id, entry=file.folder)
        return {"path": effect.arguments["path"], "trash_id": trash_id, "note_cleared": cleared}


class DeleteExecutor(FileExecutor):
    """Removes a file for good; there is no way back."""

    def act(self, effect: EffectView, held: HeldFiles) -> dict[str, object]:
        """Catch the file under the aside name, recognise it, unlink it, flush."""
        erase(_file(held), aside=project.aside_name(effect.effect_digest))
        return {"path": effect.arguments["path"]}


EXECUTORS: dict[str, type[FileExecutor]] = {
    project.WRITE: WriteExecutor,
    project.MOVE: MoveExecutor,
    project.TRASH: TrashExecutor,
    project.RESTORE: RestoreExecutor,
    project.DELETE: DeleteExecutor,
}


def _report(said: ExecutorSaid, refused: Refused) -> ExecutorReport:
    return ExecutorReport(said=said, result={"reason": refused.reason, "facts": dict(refused.facts)})


def _file(held: HeldFiles) -> HeldFile:
    if held.file is None:
        raise Rejected(Refused(reason="arguments_not_resolved"))
    return held.file


def _place(held: HeldFiles) -> HeldPlace:
    if held.place is None:
        raise Rejected(Refused(reason="arguments_not_resolved"))
    return held.place


def _one(content: bytes) -> Iterator[bytes]:
    yield content
