# SPDX-License-Identifier: Apache-2.0
"""The tools that judge the product are judged too: the mutant runner, the skip rule, the lazy package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.invariants.tree import ROOT

PRODUCT = """
def guard(x):
    if x > 3:
        raise ValueError
    return x
"""
TESTS = """
import subprocess, sys
import pytest
import actum

def test_guard():
    with pytest.raises(ValueError):
        actum.guard(4)

def test_guard_in_a_subprocess():
    code = "import actum; actum.guard(4)"
    assert subprocess.run([sys.executable, "-c", code], stderr=subprocess.DEVNULL).returncode == 1

def test_of_something_else():
    assert actum.guard(1) == 1

def test_that_is_skipped():
    pytest.skip("a part is absent")

def test_that_hangs():
    while actum.guard(0) != 0:
        pass

def test_that_is_red_already():
    assert actum.guard(1) == 2
"""


def entry(test: str, *, find: str = "x > 3", replace: str = "x > 4") -> str:
    lines = ("[[mutant]]", 'id = "X-1"', 'file = "src/actum/__init__.py"')
    return "\n".join(
        [*lines, f'find = "{find}"', f'replace = "{replace}"', f'test = "tests/test_it.py::{test}"', ""]
    )


def run_mutants(tree: Path, *entries: str) -> tuple[int, dict[str, int], str]:
    """Write a tree with the entries, run the runner on it, and return exit code, counts and output."""
    (tree / "src" / "actum").mkdir(parents=True)
    (tree / "src" / "actum" / "__init__.py").write_text(PRODUCT)
    (tree / "tests" / "mutants").mkdir(parents=True)
    (tree / "tests" / "test_it.py").write_text(TESTS)
    (tree / "tests" / "mutants" / "area.toml").write_text("\n".join(entries))
    shutil.copy(ROOT / "pyproject.toml", tree)
    result = subprocess.run(
        [sys.executable, ROOT / "tools" / "mutants.py", "--root", tree, "--timeout", "3"],
        capture_output=True,
        text=True,
    )
    lines = result.stdout.splitlines() or ["{}"]
    return result.returncode, json.loads(lines[-1]), result.stdout + result.stderr


def test_a_mutant_whose_test_fails_is_killed_and_the_tree_is_left_alone(tmp_path: Path) -> None:
    code, counts, output = run_mutants(tmp_path, entry("test_guard"), entry("test_guard_in_a_subprocess"))
    assert code == 0, output
    assert (counts["mutants"], counts["killed"], counts["problems"]) == (2, 2, 0)
    assert (tmp_path / "src" / "actum" / "__init__.py").read_text() == PRODUCT


def test_a_mutant_whose_test_passes_survives(tmp_path: Path) -> None:
    code, counts, output = run_mutants(tmp_path, entry("test_of_something_else"))
    assert (code, counts["survived"], counts["killed"]) == (1, 1, 0), output


@pytest.mark.parametrize(
    "text",
    [
        entry("test_that_is_skipped"),
        entry("test_that_is_red_already"),
        entry("test_that_does_not_exist"),
        entry("test_that_hangs", find="return x", replace="return 7"),
        entry("test_guard", find="no such text"),
        entry("test_guard", find="x > 3", replace="(x > 3"),
        entry("test_guard", find="def guard", replace="import absent_module\\ndef guard"),
    ],
    ids=["skipped", "red", "unknown", "hanging", "unfound", "unparsable", "unimportable"],
)
def test_a_mutant_that_shows_nothing_is_no_kill(text: str, tmp_path: Path) -> None:
    code, counts, output = run_mutants(tmp_path, text)
    assert code == 1, output
    assert counts["problems"] >= 1, output


def test_no_mutants_at_all_is_no_pass(tmp_path: Path) -> None:
    assert run_mutants(tmp_path, "")[0] == 2


SKIPS = """
import pytest
from actum.testing.require import require_part

def test_that_runs():
    assert callable(require_part)

def test_with_a_part():
    require_part(PART, "no such server here")

def test_with_vectors():
    require_part(False, "shared vectors absent: all of them")

def test_that_skips_by_itself():
    if SKIP:
        pytest.skip("not today")
"""


def run_skips(tree: Path, *, part: bool, skip: bool, require_all: bool, workers: int) -> int:
    (tree / "tests").mkdir()
    shutil.copy(ROOT / "tests" / "conftest.py", tree / "tests")
    shutil.copy(ROOT / "pyproject.toml", tree)
    (tree / "tests" / "test_it.py").write_text(f"PART = {part}\nSKIP = {skip}\n{SKIPS}")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-n", str(workers), "-p", "no:cacheprovider"],
        cwd=tree,
        env={**os.environ, "ACTUM_REQUIRE_ALL": "1" if require_all else "0"},
        capture_output=True,
    ).returncode


@pytest.mark.parametrize(
    "part, skip, require_all, workers, expected",
    [
        (False, True, False, 0, 0),
        (True, False, True, 0, 0),
        (False, False, True, 0, 1),
        (True, True, True, 0, 1),
        (True, True, True, 2, 1),
    ],
)
def test_where_everything_is_required_a_skip_fails_the_run(
    part: bool, skip: bool, require_all: bool, workers: int, expected: int, tmp_path: Path
) -> None:
    assert run_skips(tmp_path, part=part, skip=skip, require_all=require_all, workers=workers) == expected


def test_importing_the_package_imports_nothing_else_of_it() -> None:
    code = "import sys, actum; print(sorted(m for m in sys.modules if m.startswith('actum.')))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    import actum

    with pytest.raises(AttributeError, match="no attribute 'Karnel'"):
        _ = actum.Karnel
