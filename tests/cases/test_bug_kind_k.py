# SPDX-License-Identifier: Apache-2.0
"""Reports of kind K, path identity and lost updates: what was checked is what is acted upon, or nothing is.

The ids are those of the public reports listed in the shared `cases/bug_reports.md`. All thirteen rows are here.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from actum.bootstrap import Kernel
from actum.capabilities.files import files_capabilities
from actum.capabilities.files import names as names_module
from actum.capabilities.files.names import refuse_spelling
from actum.capabilities.files.paths import Folder, open_folder
from actum.model.errors import Refused
from actum.ports.capability import DescribeContext
from actum.testing.kernels import PERSON, confirm_all


def _write(kernel: Kernel, path: Path | str, content: str) -> Any:
    return kernel.propose("files.write", {"path": str(path), "content": content})


def _refused(turn: Any) -> str:
    assert turn.state == "failed", turn.activity()
    return str(turn.activity().failure_reason)


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder the assistant may not touch, with a file in it."""
    folder = tmp_path_factory.mktemp("outside")
    (folder / "secret.txt").write_text("theirs")
    return folder


def test_k145_a_link_put_in_the_place_after_the_confirm_is_not_written_through(
    kernel: Kernel, tmp_path: Path, outside: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("mine")
    turn = _write(kernel, path, "new")
    confirm_all(kernel, turn)
    path.unlink()
    path.symlink_to(outside / "secret.txt")
    kernel.run()
    assert (outside / "secret.txt").read_text() == "theirs"
    assert _refused(turn)
    receipt = turn.receipt()
    assert (receipt.graded.finality.value, receipt.refused) == ("not_attempted", True)


def test_k147_a_folder_swapped_for_a_link_after_the_check_is_not_written_into(
    kernel: Kernel, tmp_path: Path, outside: Path
) -> None:
    (tmp_path / "d").mkdir()
    turn = _write(kernel, tmp_path / "d" / "new.txt", "new")
    confirm_all(kernel, turn)
    (tmp_path / "d").rmdir()
    (tmp_path / "d").symlink_to(outside, target_is_directory=True)
    kernel.run()
    assert sorted(os.listdir(outside)) == ["secret.txt"]
    assert _refused(turn)


@pytest.mark.parametrize(
    "way", ["../{outside}/secret.txt", "link/secret.txt", "d/../../{outside}/secret.txt"]
)
def test_k148_a_path_that_only_looks_contained_is_refused(
    kernel: Kernel, tmp_path: Path, outside: Path, way: str
) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "link").symlink_to(outside, target_is_directory=True)
    turn = _write(kernel, tmp_path / way.format(outside=outside.relative_to(tmp_path.parent)), "new")
    assert _refused(turn)
    assert (outside / "secret.txt").read_text() == "theirs"


def test_k150_the_path_that_was_resolved_and_shown_is_the_one_that_is_used(
    kernel: Kernel, tmp_path: Path
) -> None:
    (tmp_path / "d").mkdir()
    assert "path_has_parent_step" in _refused(_write(kernel, f"{tmp_path}/d/../d/a.txt", "new"))
    turn = _write(kernel, f"{tmp_path}//d/./a.txt", "new")
    effect = kernel.line.store.read(lambda tx: tx.effect(turn.questions()[0].subject_ref))
    assert effect is not None
    used = str(tmp_path / "d" / "a.txt")
    assert effect.descriptor.canonical_resources[0].id == used
    assert used in _shown(kernel, turn)
    confirm_all(kernel, turn)
    kernel.run()
    assert (tmp_path / "d" / "a.txt").read_text() == "new"


def test_k151_a_link_that_came_after_the_start_is_found_at_the_use(
    kernel: Kernel, tmp_path: Path, outside: Path
) -> None:
    first = _write(kernel, tmp_path / "a.txt", "one")
    confirm_all(kernel, first)
    kernel.run()
    assert first.state == "completed"
    (tmp_path / "b.txt").symlink_to(outside / "secret.txt")
    assert _refused(_write(kernel, tmp_path / "b.txt", "two"))
    assert (outside / "secret.txt").read_text() == "theirs"


def test_k153_an_allow_list_of_which_nothing_resolves_allows_nothing(tmp_path: Path) -> None:
    gone = [tmp_path / "gone", tmp_path / "also gone"]
    made = {one.info.id: one for one in files_capabilities(roots=gone, keep=tmp_path / "keep")}
    context = DescribeContext(
        tenant="local", turn_id="t", proposed_action_id="p", principal="tester", now_ms=0
    )
    for path in (tmp_path / "a.txt", tmp_path / "gone" / "a.txt", Path("/a.txt")):
        found = made["files.write"].describe({"path": str(path), "content": "x"}, context=context)
        assert isinstance(found, Refused)
    assert set(os.listdir(tmp_path)) <= {"keep"}


def test_k154_k156_case_is_asked_of_each_folder_and_never_of_the_platform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("folds", "tells"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "Notes.txt").write_text("x")
    real = names_module.glance
    folding = os.stat(tmp_path / "folds").st_ino

    def glance(at: Any, name: str) -> Any:
        """Answer in one of the folders as a volume does that ignores case."""
        inside = os.fstat(at.fd).st_ino == folding
        return real(at, "Notes.txt" if inside and name.lower() == "notes.txt" else name)

    monkeypatch.setattr(names_module, "glance", glance)
    found: dict[str, str | None] = {}
    for name in ("folds", "tells"):
        folder = open_folder(str(tmp_path / name))
        assert isinstance(folder, Folder)
        with folder:
            exists = glance(folder, "notes.txt") is not None
            refused = refuse_spelling(folder, "notes.txt", exists=exists)
            found[name] = None if refused is None else refused.reason
    assert found["folds"] == "name_spelled_otherwise"
    assert found["tells"] != "name_spelled_otherwise"


def test_k157_two_normal_forms_are_one_name_and_the_bytes_of_the_first_are_kept(
    kernel: Kernel, tmp_path: Path
) -> None:
    (tmp_path / "caf\u00e9.txt").write_text("x")
    assert "name_has_twin" in _refused(_write(kernel, tmp_path / "cafe\u0301.txt", "y"))
    turn = _write(kernel, tmp_path / "caf\u00e9.txt", "y")
    confirm_all(kernel, turn)
    kernel.run()
    assert sorted(os.listdir(os.fsencode(tmp_path)))[-1] == "caf\u00e9.txt".encode()
    assert (tmp_path / "caf\u00e9.txt").read_text() == "y"


def _shown(kernel: Kernel, turn: Any) -> str:
    question = turn.questions()[0]
    body = kernel.line.store.read(lambda tx: tx.content(question.shown_digest))
    assert body is not None
    return body[0].decode()


@pytest.mark.parametrize("name", ["p\u0430ypal.txt", "\u0455ecret.txt"])
def test_k159_a_name_of_mixed_scripts_is_shown_with_its_code_points(
    kernel: Kernel, tmp_path: Path, name: str
) -> None:
    turn = _write(kernel, tmp_path / name, "x")
    odd = next(character for character in name if ord(character) > 127)
    assert f"{ord(odd):04X}" in _shown(kernel, turn).upper()


@pytest.mark.parametrize("name", ["rea\u200bdme.txt", "a\u2060b.txt", "x\u202etxt.exe"])
def test_k160_invisible_characters_are_shown_and_never_decide(
    kernel: Kernel, tmp_path: Path, name: str
) -> None:
    turn = _write(kernel, tmp_path / name, "x")
    odd = next(character for character in name if ord(character) > 127)
    shown = _shown(kernel, turn)
    assert odd not in shown
    assert f"{ord(odd):04X}" in shown.upper()


def test_k162_a_whole_file_write_is_bound_to_the_content_it_replaces(kernel: Kernel, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("first")
    turn = _write(kernel, path, "mine")
    confirm_all(kernel, turn)
    path.write_text("somebody else's, in between")
    kernel.run()
    assert path.read_text() == "somebody else's, in between"
    assert _refused(turn)


def test_k163_of_two_replacements_of_one_reading_the_second_is_refused(
    kernel: Kernel, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("first")
    one, two = _write(kernel, path, "one"), _write(kernel, path, "two")
    kernel.confirm(one.question_ids(), by=PERSON)
    kernel.run()
    kernel.confirm(two.question_ids(), by=PERSON)
    kernel.run()
    assert path.read_text() == "one"
    assert (one.state, two.state) == ("completed", "failed")
