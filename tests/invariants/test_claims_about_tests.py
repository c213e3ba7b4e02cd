# SPDX-License-Identifier: Apache-2.0
"""What the tests, mutants and generated pages say about themselves holds."""

from __future__ import annotations

import ast
import tomllib

from tests.invariants.tree import ROOT, functions, listing, parsed, python_files, shown
from tools import errors_page, mutants, status

IDS_MAX = 3
CHECKING = ("assert", "check", "expect", "must", "refuses", "run_state_machine")


def test_no_test_claims_more_than_three_ids() -> None:
    names = [node_id for node_id, name in status.test_functions(ROOT) if len(status.ids_in(name)) > IDS_MAX]
    assert names == [], listing(names)


def test_every_id_in_a_test_name_is_one_of_the_seeds() -> None:
    # collect() ends the run with the name of the first one that is not.
    assert len(status.collect(ROOT)) == 99 + 55 + 56 + 149


def test_every_mutant_can_be_applied_and_names_a_test_that_exists() -> None:
    known = {node_id for node_id, _ in status.test_functions(ROOT)}
    wrong = []
    for mutant in mutants.load(ROOT, only=None):
        why = mutants.unusable(ROOT, mutant)
        if why is None and mutant.test.split("[")[0] not in known:
            why = f"there is no test {mutant.test}"
        if why is not None:
            wrong.append(f"{mutant.source} {mutant.ids}: {why}")
    assert wrong == [], listing(wrong)


def _checks_something(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Assert):
            return True
        if isinstance(inner, ast.Call):
            name = ast.unparse(inner.func).rpartition(".")[2].lstrip("_")
            if name in ("raises", "fail", "warns") or name.startswith(CHECKING):
                return True
    return False


def test_every_test_can_fail() -> None:
    empty = [
        f"{shown(path)}::{node.name}"
        for path in python_files("tests")
        if path.name.startswith("test_")
        for node in functions(parsed(path))
        if node.name.startswith("test_") and not _checks_something(node)
    ]
    assert empty == [], listing(empty)


def test_no_unit_or_property_test_sleeps() -> None:
    sleeping = [
        f"{shown(path)}:{node.lineno}"
        for path in python_files("tests/unit", "tests/property")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("time.sleep", "sleep", "asyncio.sleep")
    ]
    assert sleeping == [], listing(sleeping)


def test_every_error_code_of_the_source_is_documented() -> None:
    codes, unread = errors_page.scan(ROOT)
    page = (ROOT / errors_page.PAGE).read_text()
    names = sorted(
        {f"{code.branch} {code.name}" for code in codes.values() if f"### `{code.name}`" not in page}
    )
    assert names == [], listing([*names, "Run: make status"])
    assert unread == [], listing(unread)


def test_the_list_of_required_behaviours_is_whole() -> None:
    data = tomllib.loads((ROOT / "docs" / "requirements.toml").read_text())
    sizes = {"O": 99, "T": 55, "N": 56, "R": 149}
    assert {seed: sorted(map(int, data[seed])) for seed in sizes} == {
        seed: list(range(1, size + 1)) for seed, size in sizes.items()
    }
    words = {
        (e["owned"] in ("yes", "part", "no"), isinstance(e["guard"], bool))
        for s in sizes
        for e in data[s].values()
    }
    assert words == {(True, True)}
