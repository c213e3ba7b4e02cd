# SPDX-License-Identifier: Apache-2.0
"""A file swapped at any moment between resolving and acting is left as it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from actum.capabilities.files import acts
from actum.capabilities.files.paths import Folder
from actum.model.grading import ExecutorSaid

from .drive import Files, arguments_of, between, execute, write_text


def test_a_file_that_appears_between_hold_and_execute_is_not_overwritten(tmp_path: Path) -> None:
    files = Files(tmp_path)
    path = files.root / "a"
    report = between(files, "write", lambda: write_text(path, "theirs"), path=str(path), content="ours")
    assert (report.said, report.result["reason"]) == (ExecutorSaid.REJECTED, "resource_changed")
    assert path.read_text() == "theirs"
    assert files.entries() == ["a"]


@pytest.mark.parametrize("name", ["write", "move", "trash", "delete_permanently"])
def test_o6_a_file_swapped_between_hold_and_execute_is_left_alone(name: str, tmp_path: Path) -> None:
    files = Files(tmp_path)
    path = files.root / "a"
    path.write_text("held")
    (files.root / "b").write_text("theirs")
    report = between(files, name, lambda: os.replace(files.root / "b", path), **arguments_of(name, files))
    assert (report.said, report.result["reason"]) == (ExecutorSaid.REJECTED, "resource_changed")
    assert path.read_text() == "theirs"
    assert files.entries() == ["a"]
    assert list((files.keep / "trash").iterdir()) == []


@pytest.mark.parametrize("kind", ["file", "link", "edited"])
@pytest.mark.parametrize("name", ["write", "move", "trash", "delete_permanently"])
def test_o6_a_swap_after_the_last_check_is_noticed_and_taken_back(
    name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Files(tmp_path)
    path = files.root / "a"
    path.write_text("held")
    checked = acts.check_name

    def check_then_swap(held: acts.HeldFile) -> None:
        checked(held)
        if kind == "edited":
            write_text(path, "edited meanwhile")
            return
        if kind == "link":
            (files.root / "b").symlink_to("/etc/passwd")
        else:
            (files.root / "b").write_text("theirs")
        os.replace(files.root / "b", path)

    monkeypatch.setattr(acts, "check_name", check_then_swap)
    effect = files.effect(name, **arguments_of(name, files))
    report = execute(files[name], effect)
    assert (report.said, report.result["reason"]) == (ExecutorSaid.REJECTED, "resource_changed")
    assert files.entries() == ["a"]
    if kind == "link":
        assert os.readlink(path) == "/etc/passwd"
    else:
        assert path.read_text() == ("theirs" if kind == "file" else "edited meanwhile")


@pytest.mark.parametrize("name", ["write", "move", "trash", "delete_permanently"])
def test_a_folder_swapped_for_a_link_between_hold_and_execute_is_not_acted_in(
    name: str, tmp_path: Path
) -> None:
    files = Files(tmp_path)
    folder = files.root / "d"
    folder.mkdir()
    (folder / "a").write_text("held")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a").write_text("outside")

    def swap() -> None:
        folder.rename(files.root / "was")
        folder.symlink_to(outside)

    arguments = {
        key: value.replace("allowed/", "allowed/d/") for key, value in arguments_of(name, files).items()
    }
    report = between(files, name, swap, **arguments)
    assert (report.said, report.result["reason"]) == (ExecutorSaid.REJECTED, "resource_changed")
    assert (outside / "a").read_text() == "outside"
    assert (files.root / "was" / "a").read_text() == "held"


def test_the_place_of_a_move_taken_between_hold_and_execute_is_not_overwritten(tmp_path: Path) -> None:
    files = Files(tmp_path)
    (files.root / "a").write_text("held")
    target = files.root / "b"
    report = between(
        files, "move", lambda: write_text(target, "theirs"), source=str(files.root / "a"), target=str(target)
    )
    assert report.said is ExecutorSaid.REJECTED
    assert (target.read_text(), (files.root / "a").read_text()) == ("theirs", "held")


def test_a_move_that_cannot_be_taken_back_says_where_the_file_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Files(tmp_path)
    (files.root / "a").write_text("held")
    real = acts.rename_new

    def once(source: Folder, name: str, target: Folder, new_name: str) -> None:
        (files.root / "c").write_text("theirs")
        os.replace(files.root / "c", files.root / "a")
        real(source, name, target, new_name)
        (files.root / "a").write_text("a third one")
        monkeypatch.setattr(acts, "rename_new", real)

    monkeypatch.setattr(acts, "rename_new", once)
    effect = files.effect("move", source=str(files.root / "a"), target=str(files.root / "b"))
    report = execute(files["move"], effect)
    assert (report.said, report.result["reason"]) == (ExecutorSaid.RAISED, "left_half_done")
    assert (files.root / "b").read_text() == "theirs"
    assert (files.root / "a").read_text() == "a third one"


def test_another_real_folder_put_in_the_place_between_hold_and_execute_is_not_acted_in(
    tmp_path: Path,
) -> None:
    files = Files(tmp_path)
    folder = files.root / "d"
    folder.mkdir()

    def swap() -> None:
        folder.rename(files.root / "was")
        folder.mkdir()

    report = between(files, "write", swap, path="d/a", content="ours")
    assert (report.said, report.result["reason"]) == (ExecutorSaid.REJECTED, "resource_changed")
    assert files.entries() == ["d", "was"]
