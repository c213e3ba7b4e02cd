# SPDX-License-Identifier: Apache-2.0
"""The build refuses clocks, randomness and I/O below the shell, and executors outside the delivery service.

Each test shows both sides: the offence is refused with the project's own configuration, and the same text is
let through once the rule is taken out, so that it is the rule that refuses it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.invariants.tree import ROOT, SRC

BIN = Path(sys.executable).parent
PURE = ("model", "kernel")
DECISION_PATH = (*PURE, "process", "service", "evidence", "ports")

READS = {
    "time": "import time\n\n\ndef read() -> float:\n    return time.time()\n",
    "monotonic": "from time import monotonic\n\n\ndef read() -> float:\n    return monotonic()\n",
    "now": "import datetime\n\n\ndef read() -> object:\n    return datetime.datetime.now(datetime.UTC)\n",
    "utcnow": "from datetime import datetime as d\n\n\ndef read() -> object:\n    return d.utcnow()\n",
    "today": "import datetime\n\n\ndef read() -> object:\n    return datetime.date.today()\n",
    "uuid": "import uuid\n\n\ndef read() -> object:\n    return uuid.uuid4()\n",
    "random": "import random\n\n\ndef read() -> float:\n    return random.random()\n",
    "secrets": "from secrets import token_hex\n\n\ndef read() -> str:\n    return token_hex(8)\n",
    "urandom": "import os\n\n\ndef read() -> bytes:\n    return os.urandom(8)\n",
}


def lint(text: str, *, at: str, config: Path) -> tuple[int, str]:
    """ruff's answer to a file that is only said to stand at `at`."""
    result = subprocess.run(
        [BIN / "ruff", "check", "--no-cache", "--config", config, "--stdin-filename", ROOT / at, "-"],
        input=text,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    return result.returncode, result.stdout + result.stderr


@pytest.mark.parametrize("layer", DECISION_PATH)
@pytest.mark.parametrize("kind", READS)
def test_r133_the_lint_refuses_a_clock_or_random_source(kind: str, layer: str) -> None:
    code, output = lint(READS[kind], at=f"src/actum/{layer}/probe.py", config=ROOT / "pyproject.toml")
    assert code == 1, output
    assert "TID251" in output
    assert "pass now_ms" in output or "pass the" in output


def test_r133_without_the_ban_the_same_text_passes(tmp_path: Path) -> None:
    # The adapter that supplies the clock is outside the ban, and nothing else about the text is refused.
    assert lint(READS["time"], at="src/actum/adapters/probe.py", config=ROOT / "pyproject.toml")[0] == 0
    config = tmp_path / "pyproject.toml"
    text = (ROOT / "pyproject.toml").read_text()
    table = r"\[tool\.ruff\.lint\.flake8-tidy-imports\.banned-api\]\n(?:\".*\n)+"
    assert len(re.findall(table, text)) == 1
    config.write_text(re.sub(table, "", text))
    assert lint(READS["time"], at="src/actum/kernel/probe.py", config=config) == (0, "All checks passed!\n")


def broken_contracts(tree: Path, *, contract: str) -> str:
    """import-linter's report on one contract for the package in `tree`, or "" where it is kept."""
    result = subprocess.run(
        [BIN / "lint-imports", "--no-cache", "--contract", contract, "--config", tree / "pyproject.toml"],
        capture_output=True,
        text=True,
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree / "src")},
    )
    assert "Contracts: " in result.stdout, result.stdout + result.stderr
    return "" if result.returncode == 0 else result.stdout.partition("Broken contracts")[2]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the package and its configuration that a test may break."""
    shutil.copytree(SRC, tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def add_module(tree: Path, name: str, text: str) -> None:
    (tree / "src" / "actum" / f"{name}.py").write_text(text)


FORBIDDEN_TO_PURE = ("time", "random", "secrets", "uuid", "os", "socket", "asyncio", "sqlite3", "logging")


@pytest.mark.parametrize("layer", PURE)
def test_r133_an_import_of_a_clock_or_of_io_breaks_the_build(layer: str, tree: Path) -> None:
    # Inside a function, where a reader would overlook it and a test might never come.
    imports = "\n".join(f"    import {name}" for name in (*FORBIDDEN_TO_PURE, "subprocess", "threading"))
    add_module(tree, f"{layer}/probe", f"def read() -> None:\n{imports}\n")
    report = broken_contracts(tree, contract="pure")
    for name in (*FORBIDDEN_TO_PURE, "subprocess", "threading"):
        assert f"actum.{layer}.probe -> {name} " in report, name


@pytest.mark.parametrize("layer", ["service", "cli", "kernel", "evidence", "process"])
def test_r144_an_import_of_the_executor_port_elsewhere_breaks_the_build(layer: str, tree: Path) -> None:
    assert broken_contracts(tree, contract="executors") == ""
    add_module(tree, f"{layer}/probe", "from actum.ports.executor import Executor\n\nseen = Executor\n")
    assert f"actum.{layer}.probe -> actum.ports.executor" in broken_contracts(tree, contract="executors")


@pytest.mark.parametrize(
    "module, text, contract",
    [
        ("kernel/probe", "import actum.service\n", "layers"),
        ("service/probe", "import actum.adapters.store\n", "layers"),
        ("process/probe", "import actum.evidence\n", "layers"),
        ("capabilities/probe", "import actum.adapters\n", "layers"),
        ("probe", "import actum.model\n", "layers"),
        ("testing/probe", "import actum.cli\n", "testing"),
        ("service/probe", "import actum.testing\n", "no-testing"),
        ("service/probe", "def f():\n    import cryptography\n", "signing"),
        ("service/probe", "def f():\n    import apsw\n", "databases"),
        ("cli/probe", "def f():\n    import psycopg\n", "databases"),
        ("adapters/models/probe", "import actum.adapters.store\n", "adapters"),
    ],
)
def test_an_arrow_that_points_up_or_aside_breaks_the_build(
    module: str, text: str, contract: str, tree: Path
) -> None:
    report = broken_contracts(tree, contract=contract)
    assert report == "", report
    add_module(tree, module, text)
    assert "probe" in broken_contracts(tree, contract=contract)


@pytest.mark.parametrize("contract, exempt", [("signing", "signing"), ("databases", "store")])
def test_no_adapter_is_left_out_of_a_contract(contract: str, exempt: str) -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    sources = next(c["source_modules"] for c in config["contracts"] if c["id"] == contract)
    adapters = {p.parent.name for p in (SRC / "actum" / "adapters").glob("*/__init__.py")}
    assert {f"actum.adapters.{name}" for name in adapters - {exempt}} <= set(sources)
