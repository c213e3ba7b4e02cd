# SPDX-License-Identifier: Apache-2.0
"""The reference page names every reason and every capability, and its example runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from actum.capabilities.files import project

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "reference" / "capabilities-files.md").read_text()
SOURCES = sorted((ROOT / "src" / "actum" / "capabilities" / "files").glob("*.py"))


def reasons() -> set[str]:
    """Every reason that the code can answer with."""
    text = "\n".join(source.read_text() for source in SOURCES)
    literal = re.findall(r'reason="([a-z_0-9]+)"', text)
    refused = re.findall(r'_refuse\(\s*"([a-z_0-9]+)"', text)
    chosen = re.findall(r'reason="([a-z_]+)" if \w+ else "([a-z_]+)"', text)
    mapped = re.findall(r'errno\.\w+: "([a-z_]+)"', text)
    unclear = re.findall(r'return "([a-z]+_[a-z_]+)"', (ROOT / SOURCES[0].parent / "verify.py").read_text())
    return {*literal, *refused, *(word for pair in chosen for word in pair), *mapped, *unclear}


def test_every_reason_stands_on_the_page_and_every_capability_too() -> None:
    assert len(reasons()) > 40
    assert [reason for reason in sorted(reasons()) if f"`{reason}`" not in PAGE] == []
    assert [name for name in project.ALL if f"`{name}`" not in PAGE] == []


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").mkdir()
    example = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]
    names: dict[str, object] = {}
    exec(compile(example, "capabilities-files.md", "exec"), names)
    assert len(names["registry"]) == 5  # type: ignore[arg-type]
