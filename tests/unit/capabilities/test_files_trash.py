# SPDX-License-Identifier: Apache-2.0
"""What was trashed can come back; what was deleted for good is not called gone while it lies aside."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from actum.capabilities.files import files_capabilities
from actum.model.errors import Refused
from actum.model.grading import ExecutorSaid
from actum.ports.verifier import Phase

from .drive import CONTEXT, Files, between, execute, is_contrary, look, matches


def test_o52_a_trashed_file_comes_back_to_its_path_with_the_same_digest_mode_and_time(
    tmp_path: Path,
) -> None:
    files = Files(tmp_path)
    (files.root / "d").mkdir()
    path = files.root / "d" / "a"
    path.write_bytes(b"\x00 content")
    path.chmod(0o640)
    before = path.stat()
    report = files.run("trash", path=str(path))
    assert report.said is ExecutorSaid.OK
    assert files.entries() == ["d"]
    effect = files.effect("restore", trash_id=report.result["trash_id"])
    seen = look(files["restore"], effect, phase=Phase.BEFORE)
    assert execute(files["restore"], effect).said is ExecutorSaid.OK
    assert matches(effect, look(files["restore"], effect, phase=Phase.AFTER, before=seen))
    after = path.stat()
    assert path.read_bytes() == b"\x00 content"
    assert (after.st_mode, after.st_mtime_ns, after.st_ino) == (
        before.st_mode,
        before.st_mtime_ns,
        before.st_ino,
    )
    assert list((files.keep / "trash").iterdir()) == []
    # And it can go again.
    assert files.run("trash", path=str(path)).said is ExecutorSaid.OK


def test_o52_a_file_trashed_across_file_systems_comes_back_too(tmp_path: Path, other_device: Path) -> None:
    files = Files(tmp_path, keep=other_device / "keep")
    path = files.root / "a"
    path.write_bytes(os.urandom(3_000_000))
    path.chmod(0o604)
    content, before = path.read_bytes(), path.stat()
    trash = files.effect("trash", path=str(path))
    seen = look(files["trash"], trash, phase=Phase.BEFORE)
    assert execute(files["trash"], trash).said is ExecutorSaid.OK
    assert matches(trash, look(files["trash"], trash, phase=Phase.AFTER, before=seen))
    assert files.entries() == []
    assert files.run("restore", trash_id=trash.arguments["trash_id"]).said is ExecutorSaid.OK
    after = path.stat()
    assert path.read_bytes() == content
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)
    assert list((files.keep / "trash").iterdir()) == []


def test_a_swap_while_a_file_is_carried_to_the_trash_leaves_theirs_and_no_copy(
    tmp_path: Path, other_device: Path
) -> None:
    files = Files(tmp_path, keep=other_device / "keep")
    (files.root / "a").write_text("held")
    (files.root / "b").write_text("theirs")
    report = between(files, "trash", lambda: os.replace(files.root / "b", files.root / "a"), path="a")
    assert report.said is ExecutorSaid.REJECTED
    assert (files.root / "a").read_text() == "theirs"
    assert list((files.keep / "trash").iterdir()) == []


def test_a_move_to_another_file_system_is_refused(tmp_path: Path, other_device: Path) -> None:

    files = Files(tmp_path)
    (files.root / "a").write_text("x")
    made = files_capabilities(roots=[files.root, other_device], keep=files.keep)
    move = next(capability for capability in made if capability.info.id == "files.move")
    arguments: dict[str, object] = {"source": str(files.root / "a"), "target": str(other_device / "a")}
    answer = move.describe(arguments, context=CONTEXT)
    assert isinstance(answer, Refused)
    assert answer.reason == "other_device"


def test_restoring_over_something_is_refused_and_so_is_content_that_changed_in_the_trash(
    tmp_path: Path,
) -> None:
    files = Files(tmp_path)
    path = files.root / "a"
    path.write_text("x")
    trash_id = files.run("trash", path="a").result["trash_id"]
    path.write_text("a new one")
    assert files.refuse("restore", trash_id=trash_id) == "name_taken"
    path.unlink()
    entry = files.keep / "trash" / str(trash_id)
    (entry / "content").write_text("forged")
    assert files.refuse("restore", trash_id=trash_id) == "trash_content_changed"
    (entry / "note.json").write_text("{}")
    assert files.refuse("restore", trash_id=trash_id) == "trash_note_corrupt"
    for bad in ("../../etc", "", 7, "0" * 31, "0" * 32 + "/x"):
        assert files.refuse("restore", trash_id=bad) == "trash_id_unknown"


def test_a_note_that_points_outside_the_allowed_folders_restores_nothing(tmp_path: Path) -> None:
    files = Files(tmp_path)
    (files.root / "a").write_text("x")
    trash_id = files.run("trash", path="a").result["trash_id"]
    note = files.keep / "trash" / str(trash_id) / "note.json"
    note.write_text(note.read_text().replace(str(files.root / "a"), str(tmp_path / "escaped")))
    assert files.refuse("restore", trash_id=trash_id) == "outside_allowed_folders"


def test_a_deletion_stopped_halfway_is_not_seen_as_an_absence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Files(tmp_path)
    (files.root / "a").write_text("x")
    effect = files.effect("delete_permanently", path="a")
    before = look(files["delete_permanently"], effect, phase=Phase.BEFORE)

    class Stop(BaseException): ...

    def stop(*_: object, **__: object) -> None:
        raise Stop

    with monkeypatch.context() as killed:
        killed.setattr(os, "unlink", stop)
        with pytest.raises(Stop):
            execute(files["delete_permanently"], effect)
    assert not (files.root / "a").exists()
    after = look(files["delete_permanently"], effect, phase=Phase.AFTER, before=before)
    assert not matches(effect, after)
    assert not is_contrary(effect, before, after)


def test_an_entry_of_the_trash_that_is_taken_is_not_written_over(tmp_path: Path) -> None:
    files = Files(tmp_path)
    (files.root / "a").write_text("x")
    effect = files.effect("trash", path="a")
    entry = files.keep / "trash" / str(effect.arguments["trash_id"])
    entry.mkdir()
    (entry / "content").write_text("an older one")
    (entry / "note.json").write_text("its note")
    report = execute(files["trash"], effect)
    assert (report.said, report.result["reason"]) == (ExecutorSaid.REJECTED, "trash_id_taken")
    assert (files.root / "a").read_text() == "x"
    assert (entry / "content").read_text() == "an older one"
    assert (entry / "note.json").read_text() == "its note"
