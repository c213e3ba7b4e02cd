# SPDX-License-Identifier: Apache-2.0
"""An executor changes what was asked and nothing else, and leaves nothing half-written."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from actum.capabilities.files import renames
from actum.model.errors import Refused
from actum.model.grading import ExecutorSaid
from actum.ports.executor import ExecutorReport
from actum.ports.verifier import Phase

from .drive import Files, between, execute, look, matches, write_text


def _raiser(code: int) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    return fail


def test_a_new_file_has_content_and_mode_and_nothing_lies_beside_it(tmp_path: Path) -> None:
    files = Files(tmp_path)
    report = files.run("write", path=str(files.root / "a"), content="héllo\n", mode="0600")
    assert report.said is ExecutorSaid.OK
    assert (files.root / "a").read_text() == "héllo\n"
    assert stat.S_IMODE((files.root / "a").stat().st_mode) == 0o600
    assert files.entries() == ["a"]


def test_bytes_come_as_base64(tmp_path: Path) -> None:
    files = Files(tmp_path)
    assert files.run("write", path="a", content_base64="AP/+").said is ExecutorSaid.OK
    assert (files.root / "a").read_bytes() == b"\x00\xff\xfe"
    assert files.run("write", path="empty", content="").said is ExecutorSaid.OK
    assert (files.root / "empty").read_bytes() == b""


def test_replacing_keeps_mode_owner_and_attributes_and_the_prior_content(tmp_path: Path) -> None:
    files = Files(tmp_path)
    path = files.root / "a"
    path.write_text("old")
    path.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(path, 12345, 54321)
    try:
        os.setxattr(path, "user.note", b"kept")
        noted = True
    except (OSError, AttributeError):
        noted = False
    before = path.stat()
    report = files.run("write", path=str(path), content="new")
    after = path.stat()
    assert report.said is ExecutorSaid.OK
    assert path.read_text() == "new"
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert not noted or os.getxattr(path, "user.note") == b"kept"
    prior = str(report.result["prior"]).removeprefix("sha256:")
    assert (files.keep / "prior" / prior).read_text() == "old"
    assert files.entries() == ["a"]
    assert stat.S_IMODE(files.keep.stat().st_mode) == 0o700


def test_a_kept_content_that_rotted_is_kept_anew(tmp_path: Path) -> None:
    files = Files(tmp_path)
    path = files.root / "a"
    path.write_text("old")
    prior = str(files.run("write", path=str(path), content="new").result["prior"]).removeprefix("sha256:")
    (files.keep / "prior" / prior).write_text("rot")
    path.write_text("old")
    assert files.run("write", path=str(path), content="newer").said is ExecutorSaid.OK
    assert (files.keep / "prior" / prior).read_text() == "old"


@pytest.mark.parametrize("nameless", [True, False], ids=["nameless", "named"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EACCES])
@pytest.mark.parametrize("call", ["write", "fsync", "fchmod", "link"])
def test_a_failing_disk_leaves_the_world_as_it_was_and_nothing_half_written(
    call: str, code: int, nameless: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Files(tmp_path)
    path = files.root / "a"
    path.write_text("old")
    if not nameless:
        monkeypatch.setattr(os, "O_TMPFILE", 0, raising=False)
    effect = files.effect("write", path=str(path), content="new" * 1000)
    fresh = files.effect("write", path=str(files.root / "b"), content="new" * 1000)
    with monkeypatch.context() as broken:
        broken.setattr(os, call, _raiser(code))
        reports = [execute(files["write"], wish) for wish in (effect, fresh)]
    for report in reports:
        assert report.said is ExecutorSaid.REJECTED, report
        reasons = {"disk_full", "disk_error", "read_only", "permission_denied"}
        assert report.result["reason"] in reasons
    assert path.read_text() == "old"
    assert files.entries() == ["a"]
    assert not list((files.keep / "prior").glob(".actum-*"))


def test_a_file_larger_than_the_system_allows_is_rejected_midway_without_a_trace(tmp_path: Path) -> None:
    files = Files(tmp_path)
    effect = files.effect("write", path=str(files.root / "a"), content="x" * 300_000)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        report = execute(files["write"], effect)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (report.said, report.result["reason"]) == (ExecutorSaid.REJECTED, "file_too_large")
    assert files.entries() == []


def test_a_folder_that_may_not_be_written_is_a_report_and_one_that_may_not_be_read_a_refusal() -> None:
    # Root may write anywhere, so the effect runs under another uid, in a folder that uid can reach.
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    files = Files(folder)
    (files.root / "a").write_text("old")
    root = os.geteuid() == 0
    for path in (files.root, files.keep, *files.keep.iterdir()):
        path.chmod(0o777)
    files.root.chmod(0o555)
    try:
        if root:
            os.seteuid(65534)
        reports = [
            files.run("write", path=str(files.root / "b"), content="new"),
            files.run("delete_permanently", path=str(files.root / "a")),
            files.run("trash", path=str(files.root / "a")),
        ]
        if root:
            os.seteuid(0)
        files.root.chmod(0o300)
        if root:
            os.seteuid(65534)
        refused = files.refuse("write", path=str(files.root / "b"), content="new")
    finally:
        if root:
            os.seteuid(0)
        files.root.chmod(0o755)
        left = files.entries()
        trash = list((files.keep / "trash").iterdir())
        shutil.rmtree(folder)
    assert {report.said for report in reports} == {ExecutorSaid.REJECTED}
    assert {report.result["reason"] for report in reports} == {"permission_denied"}
    assert refused == "permission_denied"
    assert (left, trash) == (["a"], [])


def test_a_folder_that_is_not_flushed_is_reported_as_changed_and_not_known_to_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Files(tmp_path)
    effect = files.effect("write", path=str(files.root / "a"), content="new")
    real = os.fsync

    def only_files(fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(errno.EIO, "no")
        real(fd)

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", only_files)
        report = execute(files["write"], effect)
    assert (report.said, report.result["reason"]) == (ExecutorSaid.RAISED, "left_half_done")
    assert not report.acknowledged


def test_without_renameat2_the_smaller_promise_is_named_and_nothing_is_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Files(tmp_path)
    monkeypatch.setattr(renames, "_renameat2", None)
    (files.root / "a").write_text("old")
    report = files.run("write", path="a", content="new")
    assert (report.said, report.result["guard"]) == (ExecutorSaid.OK, "check_then_rename")
    assert files.run("move", source="a", target="b").said is ExecutorSaid.OK
    assert files.entries() == ["b"]
    report = between(files, "move", lambda: write_text(files.root / "c", "theirs"), source="b", target="c")
    assert report.said is ExecutorSaid.REJECTED
    assert (files.root / "c").read_text() == "theirs"


def test_what_an_earlier_attempt_staged_is_cleared_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Files(tmp_path)
    monkeypatch.setattr(os, "O_TMPFILE", 0, raising=False)
    effect = files.effect("write", path="a", content="new")
    (files.root / f".actum-{effect.effect_digest[7:39]}").write_text("ne")
    assert execute(files["write"], effect).said is ExecutorSaid.OK
    assert (files.entries(), (files.root / "a").read_text()) == (["a"], "new")


def test_a_file_with_other_names_is_neither_replaced_nor_deleted_for_good(tmp_path: Path) -> None:
    files = Files(tmp_path)
    (files.root / "a").write_text("x")
    os.link(files.root / "a", tmp_path / "elsewhere")
    assert files.refuse("write", path="a", content="y") == "file_has_hard_links"
    assert files.refuse("delete_permanently", path="a") == "file_has_hard_links"
    (tmp_path / "elsewhere").unlink()
    effect = files.effect("delete_permanently", path="a")
    os.link(files.root / "a", tmp_path / "elsewhere")
    held = files["delete_permanently"].executor.hold(effect)
    assert isinstance(held, Refused)
    assert held.reason == "file_has_hard_links"


def test_o54_an_executor_answers_with_its_word_only(tmp_path: Path) -> None:
    files = Files(tmp_path)
    report = files.run("write", path="a", content="x")
    assert isinstance(report, ExecutorReport)
    for made in files.made.values():
        assert not hasattr(made.executor, "observe")
        assert not hasattr(made.verifier, "execute")
        assert not hasattr(made.verifier, "hold")


def test_a_content_that_is_not_readable_makes_the_look_unclear(tmp_path: Path) -> None:
    files = Files(tmp_path)
    effect = files.effect("write", path="a", content="x")
    before = look(files["write"], effect, phase=Phase.BEFORE)
    assert execute(files["write"], effect).said is ExecutorSaid.OK
    (files.root / "a").unlink()
    os.mkfifo(files.root / "a")
    after = look(files["write"], effect, phase=Phase.AFTER, before=before)
    assert after.value == {"target": {"exists": True, "kind": "other"}}
    assert not matches(effect, after)
