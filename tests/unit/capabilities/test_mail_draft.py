# SPDX-License-Identifier: Apache-2.0
"""A draft is one whole file in the drafts maildir, or none, and is found again by its exact Message-ID."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from actum.capabilities.mail.maildir import DraftHeld, draft_name
from actum.model.effect import Externality, Reversibility, needs_qualification
from actum.model.errors import InvariantViolation, Refused
from actum.model.evidence import QualificationResult
from actum.model.grading import ExecutorSaid, LookOutcome
from actum.ports.verifier import Phase
from actum.testing.capability_cases import forge_dispatch
from actum.testing.mail_servers import make_maildir

from .drive import execute, is_contrary, look, matches
from .mail_drive import capability, effect_of, section


@pytest.fixture
def drafts(tmp_path: Path) -> Path:
    make_maildir(str(tmp_path / "Drafts"))
    return tmp_path / "Drafts"


def drafting(drafts: Path):
    return capability(section(drafts=str(drafts)), "mail.draft")


def names(drafts: Path) -> list[str]:
    return sorted(str(path.relative_to(drafts)) for path in drafts.rglob("*") if path.is_file())


def test_a_draft_can_be_taken_back_and_stays_on_this_machine(drafts: Path) -> None:
    made = drafting(drafts)
    assert made.info.reversibility is Reversibility.REVERSIBLE
    assert made.info.externality is Externality.LOCAL_ONLY
    assert made.info.absence_is_proof
    descriptor = effect_of(made).descriptor
    assert not needs_qualification(descriptor)
    assert descriptor.recipients == ()


def test_a_written_draft_is_seen_and_its_absence_is_a_definite_contrary(drafts: Path) -> None:
    made = drafting(drafts)
    effect = effect_of(made)
    before = look(made, effect, phase=Phase.BEFORE)
    assert is_contrary(effect, before, look(made, effect, phase=Phase.AFTER, before=before))
    report = execute(made, effect)
    assert report.said is ExecutorSaid.OK
    assert matches(effect, look(made, effect, phase=Phase.AFTER, before=before))
    name = draft_name(str(effect.arguments["message_id"]))
    assert name.startswith("proposal.")
    assert names(drafts) == [f"new/{name}"]
    assert os.stat(drafts / "new" / name).st_mode & 0o777 == 0o600


def test_a_draft_that_a_mail_program_moved_and_marked_is_still_seen(drafts: Path) -> None:
    made = drafting(drafts)
    effect = effect_of(made)
    before = look(made, effect, phase=Phase.BEFORE)
    name = str(execute(made, effect).result["name"])
    os.rename(drafts / "new" / name, drafts / "cur" / f"{name}:2,DS")
    assert matches(effect, look(made, effect, phase=Phase.AFTER, before=before))
    # And it is not written a second time.
    held = made.executor.hold(effect)
    assert isinstance(held, Refused)
    assert held.reason == "draft_name_taken"


def test_a_draft_that_takes_the_name_between_hold_and_write_is_not_replaced(drafts: Path) -> None:
    made = drafting(drafts)
    effect = effect_of(made)
    held = made.executor.hold(effect)
    assert isinstance(held, DraftHeld)
    (drafts / "new" / held.name).write_text("somebody else's")
    with pytest.raises(FileExistsError):
        made.executor.execute(forge_dispatch(effect), held)
    held.close()
    assert (drafts / "new" / held.name).read_text() == "somebody else's"


def test_what_an_interrupted_attempt_left_aside_does_not_stop_the_next(drafts: Path) -> None:
    made = drafting(drafts)
    effect = effect_of(made)
    name = draft_name(str(effect.arguments["message_id"]))
    (drafts / "tmp" / name).write_text("half a mess")
    assert execute(made, effect).said is ExecutorSaid.OK
    assert names(drafts) == [f"new/{name}"]
    assert b"half a mess" not in (drafts / "new" / name).read_bytes()


def test_arguments_other_than_those_confirmed_write_nothing(drafts: Path) -> None:
    made = drafting(drafts)
    effect = effect_of(made)
    effect.arguments["text"] = "Something else"
    held = made.executor.hold(effect)
    assert isinstance(held, Refused)
    assert held.reason == "message_differs"
    assert names(drafts) == []


def test_a_folder_held_for_one_draft_does_not_write_another(drafts: Path) -> None:
    made = drafting(drafts)
    effect = effect_of(made)
    other = DraftHeld({}, name="other", raw=b"")
    with pytest.raises(InvariantViolation):
        made.executor.execute(forge_dispatch(effect), other)


def test_without_a_maildir_nothing_is_described(tmp_path: Path) -> None:
    made = capability(section(drafts=str(tmp_path / "absent")), "mail.draft")
    from .mail_drive import CONTEXT, WISH

    answer = made.describe(dict(WISH), context=CONTEXT)
    assert isinstance(answer, Refused)
    assert answer.reason == "drafts_unreachable"


def test_a_drafts_folder_that_cannot_be_listed_gives_no_definite_look(drafts: Path) -> None:
    made = drafting(drafts)
    effect = effect_of(made)
    os.rename(drafts / "cur", drafts / "was")
    seen = look(made, effect, phase=Phase.AFTER, before=None)
    assert seen.value is None
    assert seen.outcome is LookOutcome.UNCLEAR
    assert not seen.control_held
    assert seen.detail["reason"] == "mailbox_unreadable"


def test_links_pipes_and_folders_in_the_maildir_are_no_messages(drafts: Path, tmp_path: Path) -> None:
    made = drafting(drafts)
    effect = effect_of(made)
    before = look(made, effect, phase=Phase.BEFORE)
    name = str(execute(made, effect).result["name"])
    aside = tmp_path / "aside"
    os.rename(drafts / "new" / name, aside)
    os.symlink(aside, drafts / "new" / name)
    os.mkfifo(drafts / "new" / "pipe")
    os.mkdir(drafts / "new" / "folder")
    seen = look(made, effect, phase=Phase.AFTER, before=before)
    assert seen.detail["places"] == {"drafts": {"messages": 0}}
    assert not matches(effect, seen)


def test_a_draft_is_rehearsed_on_a_copy(drafts: Path) -> None:
    made = drafting(drafts)
    effect = effect_of(made)
    rehearsal = made.rehearse(effect)
    assert rehearsal.result is QualificationResult.PASSED
    assert rehearsal.method == "copy"
    assert names(drafts) == []
    effect.arguments["text"] = "Something else"
    assert made.rehearse(effect).result is QualificationResult.FAILED
