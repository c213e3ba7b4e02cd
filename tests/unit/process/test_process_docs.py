# SPDX-License-Identifier: Apache-2.0
"""The page about process files shows a file that loads, and names every problem code there is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from actum.process.load import read_process

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "reference" / "process-files.md"
SOURCES = ROOT / "src" / "actum" / "process"
REQUIRED = {"process", "work_types", "steps", "id", "kind", "when", "type", "capability"}


def test_the_example_on_the_page_loads_without_findings() -> None:
    example = re.search(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert example is not None
    assert read_process(example[1], path="page").findings == ()


def test_every_problem_code_stands_on_the_page() -> None:
    text = "".join(path.read_text() for path in sorted(SOURCES.glob("*.py")))
    patterns = (
        r'\.(?:problem|finding)\(\s*[a-z_.]+(?:\["[a-z_]+"\]\.place|\[[a-z.]+\])?,\s*"([a-z_]+)",',
        r'_refuse\(\s*[a-z]+,\s*"([a-z_]+)"',
        r'code="([a-z_]+)"',
        r'TextFlaw\([^"]*?"([a-z_]+)"',
        r'_stop\([^"]*?(?:""|at), "([a-z_]+)"',
        r'_clash\(path, "([a-z_]+)"',
    )
    codes = {code for pattern in patterns for code in re.findall(pattern, text)}
    codes |= {f"{name}_missing" for name in REQUIRED}
    assert len(codes) > 50
    shown = set(re.findall(r"`([a-z_]+)`", PAGE.read_text()))
    assert codes - shown == set()


def test_indexing_a_stored_rulebook_loads_neither_yaml_nor_cel() -> None:
    program = (
        "import sys, actum.process.activate, actum.kernel.ladder\n"
        "print([name for name in ('yaml', 'cel_expr_python', 're2') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
