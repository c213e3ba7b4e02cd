# SPDX-License-Identifier: Apache-2.0
"""Every invariant has its four anchors: a sentence, a guard, a function, and a test that kills a mutant."""

from __future__ import annotations

import ast
import re
import tomllib

import pytest

from tests.invariants.tree import ROOT, SRC
from tools import mutants, status

PAGE = (ROOT / "docs" / "explanation" / "invariants.md").read_text()
ROW = re.compile(r"^\| (INV-\d\d) \| (.+?) \| (.+?) \| `([\w.]+):(\w+)` \| `(.+?)` \|$", re.MULTILINE)
ROWS = ROW.findall(PAGE)
MIGRATIONS = SRC / "actum" / "adapters" / "store" / "migrations"
ids = pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])


def test_every_row_is_followed_and_numbered_in_order() -> None:
    assert len(re.findall(r"^\| INV-", PAGE, re.MULTILINE)) == len(ROWS)
    assert [row[0] for row in ROWS] == [f"INV-{number:02}" for number in range(1, len(ROWS) + 1)]
    assert all(row[1].endswith(".") for row in ROWS)


@ids
def test_the_guard_stands_in_both_databases_or_in_the_import_rules(row: tuple[str, ...]) -> None:
    guard = row[2]
    if guard.startswith("import rule "):
        rules = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
        assert guard.removeprefix("import rule ").strip("`") in {rule["id"] for rule in rules}
        return
    name = guard.strip("`")
    for engine in ("sqlite", "postgres"):
        text = (MIGRATIONS / engine / "0001_line.sql").read_text()
        assert re.search(rf"\b{name}\b", text), (engine, name)


@ids
def test_the_function_that_asks_is_defined_where_the_page_says(row: tuple[str, ...]) -> None:
    path = SRC / "actum" / (row[3].replace(".", "/") + ".py")
    defined = {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}
    assert row[4] in defined


@ids
def test_the_test_exists_and_a_mutant_is_killed_by_it(row: tuple[str, ...]) -> None:
    test = row[5]
    assert test.split("[")[0] in {node_id for node_id, _ in status.test_functions(ROOT)}
    killed = {mutant.test for mutant in mutants.load(ROOT, only=None)}
    assert test in killed or test in {name.split("[")[0] for name in killed}
