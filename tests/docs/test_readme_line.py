# SPDX-License-Identifier: Apache-2.0
"""The line in README.md names functions that exist where it says, and leaves out no step of the line."""

from __future__ import annotations

import ast
import re

import pytest

from tests.invariants.tree import ROOT, SRC

README = (ROOT / "README.md").read_text()
ROWS = re.findall(r"^\| (.+?) \| (.+?) \| `([\w.]+):(\w+)` \|$", README, re.MULTILINE)
# What the line is made of; each must stand in a row.
STEPS = (
    "work item", "turn", "ladder", "decision", "proposal", "effect descriptor", "grant", "outbox row", "claim", "lease",
    "epoch", "re-check", "executor", "execution", "look", "grade", "receipt", "activity row", "log leaf", "checkpoint",
    "bundle", "offline",
)  # fmt: skip


@pytest.mark.parametrize("module, function", [row[2:] for row in ROWS])
def test_each_name_of_the_line_is_a_function_defined_there(module: str, function: str) -> None:
    path = SRC / (module.replace(".", "/") + ".py")
    defined = [node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]
    assert function in defined


def test_no_step_of_the_line_is_left_out() -> None:
    told = " ".join(f"{start} {end}" for start, end, _, _ in ROWS)
    assert [step for step in STEPS if step not in told] == []


def test_every_row_is_followed() -> None:
    section = README.split("## The line", 1)[1].split("\n## ", 1)[0]
    assert len([line for line in section.splitlines() if line.startswith("| ")]) == len(ROWS) + 1
