# SPDX-License-Identifier: Apache-2.0
"""The tree under test, read once: its modules, pages and tests, as text and as syntax."""

from __future__ import annotations

import ast
import functools
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
NOT_OURS = {".venv", ".venv-bench", ".git", "__pycache__", "build", "dist", ".hypothesis", ".pytest_cache"}


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


def python_files(*folders: str) -> list[Path]:
    """Every Python file below the folders, in a fixed order."""
    found = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    return sorted(path for path in found if not NOT_OURS & set(path.parts))


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def module_name(path: Path) -> str:
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def committed_files() -> tuple[Path, ...]:
    """The files git knows; where there is no repository (a copy, an archive), every file that is ours."""
    if (ROOT / ".git").exists():
        listed = subprocess.run(
            ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z"],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        )
        paths = [ROOT / name for name in listed.stdout.split("\0") if name]
        return tuple(path for path in paths if path.is_file())
    return tuple(
        path for path in sorted(ROOT.rglob("*")) if path.is_file() and not NOT_OURS & set(path.parts)
    )


def listing(found: list[str]) -> str:
    """Every finding on a line of its own: the report of an unequal list shows the first one only."""
    return "\n" + "\n".join(found)


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def docstrings(tree: ast.Module) -> set[int]:
    """The identities of the nodes that are docstrings (also those under an attribute of a record)."""
    found: set[int] = set()
    for node in ast.walk(tree):
        for statement in getattr(node, "body", []) if not isinstance(node, ast.Lambda | ast.IfExp) else []:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                found.add(id(statement.value))
    return found
