# SPDX-License-Identifier: Apache-2.0
"""A path reaches what it names below the allowed folders, or is refused with the reason."""

from __future__ import annotations

import hashlib
import os
import socket
from pathlib import Path

import pytest

from actum.capabilities.files import files_capabilities
from actum.capabilities.files import names as names_module
from actum.capabilities.files.names import refuse_spelling
from actum.capabilities.files.paths import Folder, locate, open_folder, resolve_roots
from actum.model.errors import Refused
from actum.ports.verifier import Phase

from .drive import CONTEXT, Files, execute, look


def test_no_allowed_folder_that_resolves_means_nothing_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    gone = [tmp_path / "absent", tmp_path / "file", tmp_path / "circle", Path("/tmp/\0")]
    for roots in ([], gone):
        write = files_capabilities(roots=roots, keep=tmp_path / "keep")[0]
        answer = write.describe({"path": str(tmp_path / "file"), "content": "y"}, context=CONTEXT)
        assert isinstance(answer, Refused)
        assert answer.reason == "no_allowed_folder"


@pytest.mark.parametrize(
    "path, reason",
    [
        ("", "path_malformed"),
        (7, "path_malformed"),
        (None, "path_malformed"),
        ("{root}/a\0b", "path_has_nul"),
        ("{root}/a\udcff", "path_not_utf8"),
        ("{root}/../outside", "path_has_parent_step"),
        ("{root}/x/../y", "path_has_parent_step"),
        ("{root}/folder/", "path_names_a_folder"),
        ("{root}/.", "path_names_a_folder"),
        ("{root}", "outside_allowed_folders"),
        ("{root}-beside/x", "outside_allowed_folders"),
        ("/etc/passwd", "outside_allowed_folders"),
        ("{root}/" + "n" * 256, "name_too_long"),
        ("{root}/" + "n" * 254 + "é", "name_too_long"),
        ("{root}/" + "n/" * 2100 + "x", "path_too_long"),
        ("{root}/.actum-0", "name_reserved"),
        ("{root}/.actum-0/x", "name_reserved"),
        ("{root}/absent/x", "folder_absent"),
        ("{root}/plain/x", "not_a_folder"),
        ("{root}/folder", "not_a_regular_file"),
        ("{root}/pipe", "not_a_regular_file"),
        ("{root}/socket", "not_a_regular_file"),
        ("{root}/link", "symlink_in_path"),
        ("{root}/dangling", "symlink_in_path"),
        ("{root}/out/x", "symlink_in_path"),
        ("{root}/in/x", "symlink_in_path"),
    ],
)
def test_a_path_that_may_not_be_written_is_refused_with_its_reason(
    path: object, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Files(tmp_path)
    root = files.root
    (root / "folder").mkdir()
    (root / "plain").write_text("x")
    os.mkfifo(root / "pipe")
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
    (root / "link").symlink_to(root / "plain")
    (root / "dangling").symlink_to(root / "nothing")
    (root / "out").symlink_to("/etc")
    (root / "in").symlink_to(root / "folder")
    given = path.replace("{root}", str(root)) if isinstance(path, str) else path
    assert files.refuse("write", path=given, content="y") == reason


def test_a_relative_path_is_below_the_one_allowed_folder_and_refused_below_two(tmp_path: Path) -> None:
    files = Files(tmp_path)
    (files.root / "a").mkdir()
    effect = files.effect("write", path="./a//b", content="x")
    assert effect.arguments["path"] == str(files.root / "a" / "b")
    two = resolve_roots([files.root, tmp_path])
    answer = locate("a/b", roots=two)
    assert isinstance(answer, Refused)
    assert answer.reason == "path_not_absolute"


def test_a_path_given_through_a_linked_root_resolves_to_the_real_one(tmp_path: Path) -> None:
    files = Files(tmp_path)
    (tmp_path / "alias").symlink_to(files.root)
    write = files_capabilities(roots=[tmp_path / "alias"], keep=files.keep)[0]
    answer = write.describe({"path": str(tmp_path / "alias" / "x"), "content": "y"}, context=CONTEXT)
    assert not isinstance(answer, Refused)
    assert answer.arguments["path"] == str(files.root / "x")


def test_the_keep_and_protected_folders_are_refused_whatever_name_leads_there(tmp_path: Path) -> None:
    root = tmp_path / "allowed"
    (root / "store").mkdir(parents=True)
    files = Files(tmp_path, keep=root / "keep")
    assert files.refuse("write", path=str(root / "keep" / "trash" / "x"), content="y") == "folder_protected"
    made = files_capabilities(roots=[root], keep=root / "keep", protected=[root / "store"])
    answer = made[0].describe({"path": str(root / "store" / "db"), "content": "y"}, context=CONTEXT)
    assert isinstance(answer, Refused)
    assert answer.reason == "folder_protected"
    (root / "store").rename(root / "renamed")
    (tmp_path / "later").symlink_to(root / "renamed")
    made = files_capabilities(roots=[root], keep=root / "keep", protected=[tmp_path / "later"])
    answer = made[0].describe({"path": str(root / "renamed" / "db"), "content": "y"}, context=CONTEXT)
    assert isinstance(answer, Refused)
    assert answer.reason == "folder_protected"


def test_o4_o5_a_resolved_file_has_its_exact_identity_and_an_absent_one_that_of_its_folder(
    tmp_path: Path,
) -> None:
    files = Files(tmp_path)
    path = files.root / "a.txt"
    path.write_text("old")
    facts = path.stat()
    resource = files.effect("write", path=str(path), content="new").descriptor.canonical_resources[0]
    file = resource.file
    assert file is not None
    assert (file.path, file.device, file.inode) == (str(path), str(facts.st_dev), str(facts.st_ino))
    assert (file.size, file.mtime_ns) == (3, str(facts.st_mtime_ns))
    assert resource.digest == "sha256:" + hashlib.sha256(b"old").hexdigest()
    absent = files.effect("write", path=str(files.root / "b.txt"), content="new").descriptor
    absence = absent.canonical_resources[0].absence
    assert absence is not None
    assert (absence.name, absence.parent_inode) == ("b.txt", str(files.root.stat().st_ino))
    assert absent.canonical_resources[0].file is None


def test_o4_nothing_is_resolved_where_no_resource_was_identified(tmp_path: Path) -> None:
    files = Files(tmp_path)
    for name in ("trash", "delete_permanently"):
        assert files.refuse(name, path=str(files.root / "absent")) == "file_absent"
    assert (
        files.refuse("move", source=str(files.root / "absent"), target=str(files.root / "x")) == "file_absent"
    )
    assert files.refuse("restore", trash_id="0" * 32) == "trash_id_unknown"


def test_a_normal_form_twin_of_an_existing_name_is_not_created(tmp_path: Path) -> None:
    files = Files(tmp_path)
    (files.root / "caf\u00e9").write_text("x")
    twin = str(files.root / "cafe\u0301")
    assert files.refuse("write", path=twin, content="y") == "name_has_twin"
    # The name itself keeps its bytes and is served.
    effect = files.effect("write", path=str(files.root / "caf\u00e9"), content="y")
    assert effect.arguments["path"] == str(files.root / "caf\u00e9")
    answer = files.describe("write", path=twin, content="y")
    assert isinstance(answer, Refused)
    assert "U+0301" in answer.facts["code_points"]


def test_a_volume_that_ignores_case_is_found_by_probing_and_the_real_spelling_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Notes.txt").write_text("x")
    folder = open_folder(str(tmp_path))
    assert isinstance(folder, Folder)
    real = names_module.glance
    # Answers as a folder of such a volume does: any case of the name leads to the file.
    monkeypatch.setattr(
        names_module,
        "glance",
        lambda at, name: real(at, "Notes.txt" if name.lower() == "notes.txt" else name),
    )
    with folder:
        refused = refuse_spelling(folder, "notes.txt", exists=True)
        assert refused is not None
        assert (refused.reason, refused.facts["spelled"]) == ("name_spelled_otherwise", "Notes.txt")
        assert refuse_spelling(folder, "Notes.txt", exists=True) is None


def test_two_names_that_differ_in_case_are_two_files_where_the_folder_says_so(tmp_path: Path) -> None:
    files = Files(tmp_path)
    (files.root / "a").write_text("one")
    if (files.root / "A").exists():
        pytest.skip("interpreter lacks a folder that tells cases apart")
    (files.root / "A").write_text("two")
    effect = files.effect("trash", path=str(files.root / "a"))
    assert effect.arguments["path"] == str(files.root / "a")
    assert execute(files["trash"], effect).said.value == "ok"
    assert files.entries() == ["A"]


def test_a_look_through_a_link_that_appeared_in_the_path_is_unclear(tmp_path: Path) -> None:
    files = Files(tmp_path)
    (files.root / "d").mkdir()
    effect = files.effect("write", path=str(files.root / "d" / "x"), content="y")
    before = look(files["write"], effect, phase=Phase.BEFORE)
    assert execute(files["write"], effect).said.value == "ok"
    (files.root / "d").rename(files.root / "e")
    (files.root / "d").symlink_to(files.root / "e")
    after = look(files["write"], effect, phase=Phase.AFTER, before=before)
    assert (after.outcome.value, after.value) == ("unclear", None)
    assert after.detail["reason"] == "symlink_in_path"
    # A real folder with the right file in it is still another folder.
    (files.root / "d").unlink()
    (files.root / "d").mkdir()
    (files.root / "d" / "x").write_text("y")
    (files.root / "d" / "x").chmod(0o644)
    after = look(files["write"], effect, phase=Phase.AFTER, before=before)
    assert after.outcome.value == "unclear"
    assert after.detail["reason"] == "folder_swapped"
