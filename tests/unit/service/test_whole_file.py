# SPDX-License-Identifier: Apache-2.0
"""A small file is there whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from actum.service.whole_file import replace, write_new

WRITERS = pytest.mark.parametrize("write", [write_new, replace])


def _full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    "write, failing", [(write_new, "fsync"), (write_new, "link"), (replace, "fsync"), (replace, "replace")]
)
def test_rule_1_what_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path, bytes], None], failing: str
) -> None:
    monkeypatch.setattr(os, failing, _full)
    with pytest.raises(OSError, match="No space left"):
        write(tmp_path / "a", b"whole")
    assert list(tmp_path.iterdir()) == []


def test_rule_1_a_file_that_cannot_be_replaced_is_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", _full)
    with pytest.raises(OSError, match="No space left"):
        replace(tmp_path / "a", b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"old")]


def test_rule_2_a_file_that_is_there_is_not_replaced_by_a_new_one(tmp_path: Path) -> None:
    write_new(tmp_path / "a", b"first")
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "a", b"second")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"first")]
    replace(tmp_path / "a", b"second")
    assert (tmp_path / "a").read_bytes() == b"second"


def test_rule_2_a_file_system_without_links_keeps_the_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    write_new(tmp_path / "a", b"first")
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "a", b"second")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"first")]


@WRITERS
def test_rule_3_the_file_is_its_owner_s_alone(tmp_path: Path, write: Callable[[Path, bytes], None]) -> None:
    before = os.umask(0)
    try:
        write(tmp_path / "a", b"secret")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600
