# SPDX-License-Identifier: Apache-2.0
"""A permanent deletion is rehearsed on a copy, and the world is as it was afterwards."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from actum.capabilities.files import rehearse
from actum.capabilities.files.acts import Rejected
from actum.model.errors import Refused
from actum.model.evidence import QualificationResult

from .drive import Files


def world(files: Files) -> list[tuple[str, int, int]]:
    return [(str(p), p.stat().st_ino, p.stat().st_mtime_ns) for p in sorted(files.root.rglob("*"))]


def files_with_one(folder: Path) -> Files:
    files = Files(folder)
    (files.root / "a").write_text("x" * 5000)
    return files


def test_a_rehearsal_passes_on_a_copy_and_leaves_file_and_keep_as_they_were(tmp_path: Path) -> None:
    files = files_with_one(tmp_path)
    effect = files.effect("delete_permanently", path="a")
    before = world(files)
    answer = files["delete_permanently"].rehearse(effect)
    assert (answer.result, answer.method) == (QualificationResult.PASSED, "copy_in_keep")
    assert answer.detail["digest"] == effect.descriptor.canonical_resources[0].digest
    assert world(files) == before
    assert list((files.keep / "rehearsal").iterdir()) == []
    # It can be rehearsed again.
    assert files["delete_permanently"].rehearse(effect).result is QualificationResult.PASSED


def test_a_rehearsal_on_a_changed_file_fails(tmp_path: Path) -> None:
    files = files_with_one(tmp_path)
    effect = files.effect("delete_permanently", path="a")
    (files.root / "a").write_text("another")
    answer = files["delete_permanently"].rehearse(effect)
    assert (answer.result, answer.reason) == (QualificationResult.FAILED, "resource_changed")
    assert (files.root / "a").read_text() == "another"


def test_steps_that_fail_on_the_copy_fail_the_rehearsal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = files_with_one(tmp_path)
    effect = files.effect("delete_permanently", path="a")

    def refuse(*_: object, **__: object) -> None:
        raise Rejected(Refused(reason="permission_denied"))

    monkeypatch.setattr(rehearse, "erase", refuse)
    answer = files["delete_permanently"].rehearse(effect)
    assert (answer.result, answer.reason) == (QualificationResult.FAILED, "permission_denied")
    monkeypatch.setattr(rehearse, "erase", lambda *_, **__: None)
    answer = files["delete_permanently"].rehearse(effect)
    assert (answer.result, answer.reason) == (QualificationResult.FAILED, "copy_remains")
    assert list((files.keep / "rehearsal").iterdir()) == []


def test_a_rehearsal_that_touches_the_world_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = files_with_one(tmp_path)
    effect = files.effect("delete_permanently", path="a")
    real = rehearse.erase

    def touch(*held: object, **aside: object) -> None:
        os.utime(files.root / "a", ns=(0, 0))
        real(*held, **aside)  # type: ignore[arg-type]

    monkeypatch.setattr(rehearse, "erase", touch)
    answer = files["delete_permanently"].rehearse(effect)
    assert (answer.result, answer.reason) == (QualificationResult.FAILED, "world_changed")


def test_without_room_for_a_copy_a_rehearsal_is_not_possible_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = files_with_one(tmp_path)
    effect = files.effect("delete_permanently", path="a")

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as broken:
        broken.setattr(os, "write", full)
        answer = files["delete_permanently"].rehearse(effect)
    assert (answer.result, answer.reason) == (QualificationResult.NOT_POSSIBLE, "disk_full")
    assert list((files.keep / "rehearsal").iterdir()) == []


def test_an_effect_that_can_be_taken_back_is_not_rehearsed(tmp_path: Path) -> None:
    files = files_with_one(tmp_path)
    answer = files["trash"].rehearse(files.effect("trash", path="a"))
    assert (answer.result, answer.reason) == (QualificationResult.NOT_POSSIBLE, "not_flagged")
