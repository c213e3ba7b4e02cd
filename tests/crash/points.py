# SPDX-License-Identifier: Apache-2.0
"""The crash points are read out of the service's own source, so that none can be forgotten."""

from __future__ import annotations

import ast
from pathlib import Path

from actum.service.points import CALLS

ROOT = Path(__file__).resolve().parents[2]
SERVICE = ROOT / "src" / "actum" / "service"
AROUND = ("before", "within", "after")


def commits() -> dict[str, str]:
    """Return the name of each ``commit(line, "NAME", ...)`` of the service with the module it stands in."""
    found: dict[str, str] = {}
    for path in sorted(SERVICE.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "commit":
                name = node.args[1]
                assert isinstance(name, ast.Constant), f"{path.name}:{node.lineno}: a name that is no text"
                assert name.value not in found, f"two commits are named {name.value}"
                found[name.value] = path.stem
    return found


def writes_without_a_point() -> list[str]:
    """Return where the service writes to the store other than through ``commit``."""
    return [
        f"{path.name}:{node.lineno}"
        for path in sorted(SERVICE.glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith("store.write")
        and path.stem != "points"
    ]


def all_points() -> list[str]:
    """Return every point at which a process may be stopped."""
    return [*CALLS, *(f"{where}_{name}" for name in commits() for where in AROUND)]
