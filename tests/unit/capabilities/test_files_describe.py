# SPDX-License-Identifier: Apache-2.0
"""What a person is shown is all of it, and what a caller did not mean is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from actum.capabilities.files import lines, project
from actum.capabilities.files.sight import OpenFile
from actum.model.errors import Refused
from actum.ports.capability import Described

from .drive import Files


def shown(files: Files, name: str, **arguments: object) -> str:
    answer = files.describe(name, **arguments)
    assert isinstance(answer, Described), answer
    return "\n".join(answer.lines)


def test_a_caller_who_read_other_content_than_is_there_is_refused(tmp_path: Path) -> None:
    files = Files(tmp_path)
    (files.root / "a").write_text("one")
    read = "sha256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
    assert "did not say" not in shown(files, "write", path="a", content="mine", expect_digest=read)
    (files.root / "a").write_text("theirs")
    reason = "content_changed_since_read"
    assert files.refuse("write", path="a", content="mine", expect_digest=read) == reason
    (files.root / "a").unlink()
    assert files.refuse("write", path="a", content="mine", expect_digest=read) == reason
    assert isinstance(files.describe("write", path="a", content="mine", expect_digest="absent"), Described)
    (files.root / "a").write_text("theirs")
    assert files.refuse("write", path="a", content="mine", expect_digest="absent") == reason
    assert "did not say which content" in shown(files, "write", path="a", content="mine")


@pytest.mark.parametrize(
    "arguments, reason",
    [
        ({}, "content_not_one"),
        ({"content": "x", "content_base64": "eA=="}, "content_not_one"),
        ({"content": 7}, "content_malformed"),
        ({"content_base64": 7}, "content_malformed"),
        ({"content_base64": "not base64!"}, "content_malformed"),
        ({"content_base64": "eA"}, "content_malformed"),
        ({"content": "\ud800"}, "content_not_utf8"),
        ({"content": "x", "mode": 420}, "mode_not_allowed"),
        ({"content": "x", "mode": "0755"}, "mode_not_allowed"),
        ({"content": "x", "mode": "4644"}, "mode_not_allowed"),
        ({"content": "x", "mode": "644"}, "mode_not_allowed"),
        ({"content": "x", "append": True}, "arguments_malformed"),
    ],
)
def test_arguments_that_mean_nothing_are_refused(
    arguments: dict[str, object], reason: str, tmp_path: Path
) -> None:
    assert Files(tmp_path).refuse("write", path="a", **arguments) == reason


def test_missing_and_unknown_arguments_are_named(tmp_path: Path) -> None:
    answer = Files(tmp_path).describe("move", source="a", overwrite=True)
    assert isinstance(answer, Refused)
    assert (answer.facts["missing"], answer.facts["unknown"]) == ("target", "overwrite")


def test_content_above_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project, "CONTENT_BYTES_MAX", 3)
    files = Files(tmp_path)
    assert files.refuse("write", path="a", content="four") == "content_too_large"
    assert isinstance(files.describe("write", path="a", content="abc"), Described)


def test_what_is_already_so_is_refused_because_nothing_would_change(tmp_path: Path) -> None:
    files = Files(tmp_path)
    (files.root / "a").write_text("one")
    (files.root / "a").chmod(0o640)
    assert files.refuse("write", path="a", content="one") == "already_so"
    assert "from 0640 to 0600" in shown(files, "write", path="a", content="one", mode="0600")


def test_an_executable_file_is_not_changed_by_a_capability_that_declares_no_code(tmp_path: Path) -> None:
    files = Files(tmp_path)
    (files.root / "run").write_text("#!/bin/sh\n")
    for mode in (0o755, 0o4644):
        (files.root / "run").chmod(mode)
        assert files.refuse("write", path="run", content="#!/bin/sh\nrm\n") == "file_is_executable"


def test_a_name_hides_nothing_from_the_person_who_confirms(tmp_path: Path) -> None:
    files = Files(tmp_path)
    text = shown(files, "write", path="invoice\u202efdp.txt", content="pay\u200bpal\r\x1b[2J")
    assert "invoice⟨U+202E⟩fdp.txt" in text
    assert "pay⟨U+200B⟩pal⟨U+000D⟩⟨U+001B⟩" in text
    assert not set(text) & set("\u202e\u200b\r\x1b")
    mixed = shown(files, "write", path="p\u0430ypal.txt", content="x")
    assert "а U+0430 CYRILLIC" in mixed


def test_what_is_replaced_is_shown_as_a_difference(tmp_path: Path) -> None:
    files = Files(tmp_path)
    (files.root / "a").write_text("keep\nold\n")
    text = shown(files, "write", path="a", content="keep\nnew\n")
    assert "  -old" in text
    assert "  +new" in text
    assert "Replaces a file of 9 bytes, sha256:" in text
    (files.root / "a").write_bytes(b"\xff\x00")
    assert "The difference is not shown" in shown(files, "write", path="a", content="x")


def test_what_is_cut_from_a_preview_is_said_to_be_cut(tmp_path: Path) -> None:
    files = Files(tmp_path)
    text = shown(files, "write", path="a", content="x" * (lines.PREVIEW_CHARACTERS_MAX + 7))
    assert "... 7 more characters are not shown" in text
    assert "not text" in shown(files, "write", path="b", content_base64="AAE=")
    (files.root / "long").write_text("")
    many = "\n".join(str(number) for number in range(400))
    assert "more lines of difference are not shown" in shown(files, "write", path="long", content=many)


def test_the_lines_say_size_digest_names_and_whether_it_can_be_taken_back(tmp_path: Path) -> None:
    files = Files(tmp_path)
    (files.root / "a").write_text("x")
    assert "1 byte, sha256:" in shown(files, "delete_permanently", path="a")
    assert "cannot be taken back" in shown(files, "delete_permanently", path="a")
    os.link(files.root / "a", files.root / "b")
    assert "2 names (hard links)" in shown(files, "move", source="a", target="c")
    assert "put back with files.restore" in shown(files, "trash", path="a")


def test_a_file_that_changes_while_it_is_described_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Files(tmp_path)
    (files.root / "a").write_text("x")
    real = os.pread

    def change_then_read(fd: int, size: int, offset: int) -> bytes:
        (files.root / "a").write_text("longer than before")
        return real(fd, size, offset)

    monkeypatch.setattr(os, "pread", change_then_read)
    assert files.refuse("trash", path="a") == "changed_while_read"
    assert OpenFile.__slots__


def test_the_same_wish_in_the_same_world_has_the_same_resolved_arguments(tmp_path: Path) -> None:
    files = Files(tmp_path)
    (files.root / "a").write_text("x")
    one, other = files.effect("trash", path="a"), files.effect("trash", path=str(files.root / "a"))
    assert one.arguments == other.arguments
    assert one.descriptor.resolved_argument_digest == other.descriptor.resolved_argument_digest
