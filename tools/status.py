# SPDX-License-Identifier: Apache-2.0
"""docs/status.md says for each required behaviour which test shows it, which mutant guards it, what is open.

Sources: docs/requirements.toml (ids and wording), the names of the test functions under tests/, and
tests/mutants/*.toml. A test shows an id when its name carries it: `test_o12_...`, `test_t10_t18_...`. That
the test deserves its name is not something a script can tell.

    python tools/status.py             write the page
    python tools/status.py --check     exit 1 where the page is stale
    python tools/status.py --complete  exit 1 where an owned id has no test, or a guard no mutant, and
                                       docs/requirements.toml says nothing about it under `open`
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = "docs/status.md"
SEEDS = {
    "O": "Evidence and receipts",
    "T": "Effect receipts",
    "N": "Evidence and acceptance",
    "R": "The kernel",
}
ID = re.compile(r"[otnr][0-9]{1,3}")


@dataclass(kw_only=True)
class Row:
    """One required behaviour and what was found for it."""

    id: str
    asks: str
    owned: str
    guard: bool
    open: str
    tests: list[str] = field(default_factory=list)
    mutants: list[str] = field(default_factory=list)

    def lacks(self) -> list[str]:
        """What a release that answers for this id still misses."""
        if self.owned == "no":
            return []
        missing = [] if self.tests else ["no test"]
        return missing + (["no mutant"] if self.guard and not self.mutants else [])


def requirements(root: Path) -> dict[str, Row]:
    """Every id of the four seeds, in order."""
    data = tomllib.loads((root / "docs" / "requirements.toml").read_text())
    return {
        f"{seed}-{n}": Row(id=f"{seed}-{n}", **entry) for seed in SEEDS for n, entry in data[seed].items()
    }


def ids_in(name: str) -> list[str]:
    """The ids a test name carries: `test_t10_t18_closed_sets` gives T-10 and T-18."""
    parts = [part for part in name.removeprefix("test_").split("_") if ID.fullmatch(part)]
    return [f"{part[0].upper()}-{int(part[1:])}" for part in parts]


def _functions(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, str]]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            yield f"{prefix}::{node.name}", node.name
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{prefix}::{node.name}")


def test_functions(root: Path) -> Iterator[tuple[str, str]]:
    """(node id, name) of every test function, read from the syntax tree: nothing is imported."""
    for path in sorted((root / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text(), str(path))
        yield from _functions(tree.body, path.relative_to(root).as_posix())


def mutant_entries(root: Path) -> Iterator[tuple[list[str], str, str]]:
    """(ids, mutated file, test) of every mutant."""
    for path in sorted((root / "tests" / "mutants").glob("*.toml")):
        for entry in tomllib.loads(path.read_text()).get("mutant", []):
            yield entry.get("ids") or [entry["id"]], entry["file"], entry["test"]


def collect(root: Path) -> dict[str, Row]:
    """The rows with their tests and mutants; an id that no seed has is an error."""
    rows = requirements(root)
    for node_id, name in test_functions(root):
        for key in ids_in(name):
            if key not in rows:
                raise SystemExit(f"{node_id} names {key}, which is not in docs/requirements.toml")
            rows[key].tests.append(node_id)
    for ids, file, _test in mutant_entries(root):
        for key in ids:
            # A mutant may also be named after an invariant (INV-nn) or a rule of a module.
            if key in rows:
                rows[key].mutants.append(file)
    return rows


def _cell(lines: list[str]) -> str:
    return "<br>".join(f"`{line}`" for line in lines) or "-"


def _mutants_cell(files: list[str]) -> str:
    return "<br>".join(f"{files.count(f)} in `{f}`" for f in dict.fromkeys(files)) or "-"


def _open_cell(row: Row) -> str:
    notes = [row.open] if row.open else []
    if row.owned == "no":
        notes.append("later")
    else:
        notes += row.lacks()
        if row.owned == "part":
            notes.append("owned in part")
    return "; ".join(notes) or "-"


def render(rows: dict[str, Row]) -> str:
    """The page: one table a seed, behind a count that can be recomputed from it."""
    owned = [r for r in rows.values() if r.owned != "no"]
    tested = [r for r in owned if r.tests]
    guards = [r for r in owned if r.guard]
    guarded = [r for r in guards if r.mutants]
    early = [r for r in rows.values() if r.owned == "no" and r.tests]
    out = [
        "# Status",
        "",
        "Made by `make status` from the names of the tests and the list of mutants; do not edit.",
        "A name in this table says which test claims to show a behaviour, and a mutant which guard was",
        "removed to see that test fail. Neither says that nothing else can go wrong.",
        "",
        f"- behaviours the four seed documents ask for: {len(rows)}",
        f"- this release answers for: {len(owned)}, of them with a test: {len(tested)}",
        f"- of them refuse, forbid or lower something: {len(guards)}, of them with a mutant: {len(guarded)}",
        f"- later behaviours that have a test already: {len(early)}",
    ]
    for seed, title in SEEDS.items():
        out += [
            "",
            f"## {seed}: {title}",
            "",
            "| id | asks | tests | mutants | open |",
            "|---|---|---|---|---|",
        ]
        for row in (r for r in rows.values() if r.id.startswith(seed + "-")):
            cells = [row.id, row.asks, _cell(row.tests), _mutants_cell(row.mutants), _open_cell(row)]
            out.append("| " + " | ".join(cells) + " |")
    return "\n".join(out) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where the page is stale")
    parser.add_argument("--complete", action="store_true", help="exit 1 where an owned id misses something")
    options = parser.parse_args()
    rows = collect(ROOT)
    page = ROOT / PAGE
    if options.complete:
        lacking = [row for row in rows.values() if row.lacks() and not row.open]
        for row in lacking:
            print(f"{row.id}: {', '.join(row.lacks())} ({row.asks})")
        return 1 if lacking else 0
    if options.check:
        if page.exists() and page.read_text() == render(rows):
            return 0
        print(
            f"{PAGE} is stale: the tests or mutants changed since it was made. Run: make status",
            file=sys.stderr,
        )
        return 1
    page.write_text(render(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
