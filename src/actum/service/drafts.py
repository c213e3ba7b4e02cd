# SPDX-License-Identifier: Apache-2.0
"""Input is on the disk as a draft before it is stored, and stays there where storing it failed.

A draft is a file of work item lines in the store's ``drafts`` folder, with mode 0600; it holds what was given,
secrets included, and can be submitted again as it is. It does not prove that nothing of it was stored: a stop
between the commit and the removal of the draft leaves both.

Rules
1. The draft is written and flushed, with its folder, before the transaction; it is removed after the commit.
2. One refused item does not refuse the others: they are stored one by one, each with a draft of its own.
3. Whether a draft is still there is looked up when the error is written, and the error says what was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from actum.model import canonical, foreign
from actum.model.errors import ActumError, CorruptRecordError, EnvironmentFault, RefusedError, UsageError
from actum.model.work import Submission
from actum.process.problems import ProcessFileError
from actum.service.line import Line
from actum.service.submit import Accepted, submit_many
from actum.service.whole_file import write_new

NOT_SAVED = "turn_not_saved"


class Draft:
    """A draft on the disk."""

    def __init__(self, path: Path, body: bytes) -> None:
        self.path = path
        self._digest = canonical.digest_bytes(body)

    def remove(self) -> None:
        """Remove the draft: its work is in the store, or was refused and is told so."""
        self.path.unlink(missing_ok=True)

    def is_there(self) -> bool:
        """Tell whether the draft can be read back whole (rule 3)."""
        try:
            return canonical.digest_bytes(self.path.read_bytes()) == self._digest
        except OSError:
            return False


def submit_spooled(
    line: Line, submissions: Sequence[Submission], *, drafts: Path, principal: str | None = None
) -> list[Accepted | ActumError]:
    """Store some submissions in one commit; return for each what came of it, in the order given.

    A refused item is answered with its error. Raises `turn_not_saved` where the store did not do its part.
    """
    draft = write_draft(submissions, folder=drafts, name=line.new_id())
    try:
        return [*_submit(line, submissions, draft=draft, principal=principal)]
    except (RefusedError, UsageError) as error:
        if error.code == NOT_SAVED:
            raise
        if len(submissions) == 1:
            draft.remove()
            return [error]
    # Rule 2
    singles = [write_draft([one], folder=drafts, name=line.new_id()) for one in submissions]
    draft.remove()
    answers: list[Accepted | ActumError] = []
    for one, single in zip(submissions, singles, strict=True):
        try:
            answers += _submit(line, [one], draft=single, principal=principal)
        except (RefusedError, UsageError) as error:
            single.remove()
            answers.append(error)
    return answers


def _submit(
    line: Line, submissions: Sequence[Submission], *, draft: Draft, principal: str | None
) -> list[Accepted]:
    try:
        accepted = submit_many(line, submissions, principal=principal)
    except ProcessFileError as error:
        # The rules cannot be read at all, which says nothing about these items.
        raise not_saved(error, draft) from error
    except (RefusedError, UsageError):
        raise
    except ActumError as error:
        raise not_saved(error, draft) from error
    draft.remove()
    return accepted


def not_saved(error: ActumError, draft: Draft) -> ActumError:
    """Return the error for an unsaved turn; its state is what is found on the disk now (rule 3)."""
    failed = f"the turn was not safely saved: {error.failed}"
    if draft.is_there():
        state = f"The draft is still there, whole: {draft.path}"
        next_step = f"{error.next_step}; then run `actum submit {draft.path}`"
    else:
        state = (
            f"The draft {draft.path} is not there as it was written; only your own copy of the input is left"
        )
        next_step = f"{error.next_step}; then submit your copy again"
    if isinstance(error, ProcessFileError):
        return error.told_as(NOT_SAVED, failed=failed, state=state, next_step=next_step)
    if isinstance(error, CorruptRecordError):
        return CorruptRecordError(NOT_SAVED, failed=failed, state=state, next_step=next_step)
    return EnvironmentFault(NOT_SAVED, failed=failed, state=state, next_step=next_step)


def write_draft(submissions: Sequence[Submission], *, folder: Path, name: str) -> Draft:
    """Write a draft and flush it with its folder (rule 1)."""
    body = b"".join(map(line_of, submissions))
    path = folder / f"{name}.jsonl"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_new(path, body)
    except OSError as error:
        raise EnvironmentFault(
            "draft_unwritable",
            failed=f"no draft could be written in {folder}: {error.strerror}",
            state="Nothing of this input was stored; only your own copy of it is left",
            next_step="Free some space or mend the folder's owner and mode, then submit again",
        ) from error
    return Draft(path, body)


def line_of(submission: Submission) -> bytes:
    """Return the work item line of a submission, numbers as they were written."""
    members = {name: getattr(submission, name) for name in msgspec.structs.asdict(submission)}
    given = {name: value for name, value in members.items() if value is not None}
    return foreign.dump_foreign(given) + b"\n"


def left_behind(folder: Path) -> list[Path]:
    """Return the drafts that are on the disk, oldest first."""
    return sorted(folder.glob("*.jsonl"))
