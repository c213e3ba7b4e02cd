# SPDX-License-Identifier: Apache-2.0
"""The pages about Python run as they stand, and name every public call with its parameters."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from actum import AsyncKernel, Kernel
from actum.bootstrap.turn import Turn

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference" / "python.md"
GUIDE = ROOT / "docs" / "how-to" / "write-an-action.md"
# `line` and `place` are no stable interface; `close` and `open` are told in words.
UNTOLD = {"line", "place"}


def _public(kind: type) -> dict[str, object]:
    return {
        name: member
        for name, member in vars(kind).items()
        if not name.startswith("_") and (callable(member) or isinstance(member, classmethod | property))
    }


@pytest.mark.parametrize("page", [REFERENCE, GUIDE], ids=lambda page: page.stem)
def test_every_block_of_the_page_runs_in_order(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    assert len(blocks) >= 4
    names: dict[str, object] = {"__name__": "page"}
    try:
        for number, block in enumerate(blocks, start=1):
            exec(compile(block, f"{page.name} block {number}", "exec"), names)
    finally:
        kernel = names.get("kernel")
        if isinstance(kernel, Kernel):
            kernel.close()


def test_the_readme_s_example_runs_as_a_script_and_runs_again(tmp_path: Path) -> None:
    [example] = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (tmp_path / "refunds.py").write_text(example)
    for _ in range(2):
        done = subprocess.run([sys.executable, "refunds.py"], cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
    with Kernel.open(tmp_path / ".actum") as kernel:
        assert kernel.inbox() == []


def test_every_public_call_stands_on_the_page() -> None:
    text = REFERENCE.read_text()
    named = set(re.findall(r"`(?:kernel\.|Kernel\.)?([a-z_]+)(?:\(|`)", text))
    for kind in (Kernel, AsyncKernel, Turn):
        missing = {name for name in _public(kind) if name not in named and f"`{name}" not in text}
        assert missing - UNTOLD == set(), kind


def test_every_parameter_of_a_call_stands_beside_it() -> None:
    text = REFERENCE.read_text().replace("\n", " ")
    for name in _public(Kernel):
        found = re.search(rf"`(?:kernel\.|Kernel\.)?{name}\(([^`]*)\)`", text)
        if found is None or name == "action":
            continue
        told = set(re.findall(r"[a-z_]+(?==|,|$|\))", found.group(1).replace(" ", "")))
        real = set(inspect.signature(getattr(Kernel, name)).parameters) - {"self"}
        assert real <= told | set(re.findall(r"[a-z_]+", found.group(1))), name
    for parameter in set(inspect.signature(Kernel.action).parameters) - {"self", "capability"}:
        assert f"`{parameter}`" in text, parameter
