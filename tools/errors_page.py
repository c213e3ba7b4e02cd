# SPDX-License-Identifier: Apache-2.0
"""docs/reference/errors.md lists every error code the source can produce, read from the syntax trees.

A code is the first argument (or `code=`, `reason=`) of a call that makes an error or a refusal: a class of
`actum.model.errors`, a class derived from one, or a function that hands its own parameter `code` or
`reason` on to one. Constants, enum members and either-or expressions are followed; anything else is
reported, because a code that cannot be read here cannot be documented.

    python tools/errors_page.py          write the page
    python tools/errors_page.py --check  exit 1 where the page is stale
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = "docs/reference/errors.md"
BRANCHES = {
    "UsageError": ("Usage", "The caller asked for something malformed. Exit code 2."),
    "RefusedError": (
        "Refused",
        "A policy or a person said no; repeating the call does not help. Exit code 1.",
    ),
    "EnvironmentFault": (
        "Environment",
        "Database, disk, network or runtime did not do its part. Exit code 5.",
    ),
    "CorruptRecordError": ("Corrupt record", "Bytes, digest or signature disagree. Exit code 4."),
    "Refused": ("Reasons of a refusal", "Values the kernel returns; a door shows them as a refusal."),
}


@dataclass(kw_only=True)
class Code:
    """One code in one branch: where it is made and the sentences that stand beside it in the source."""

    name: str
    branch: str
    modules: set[str] = field(default_factory=set)
    texts: dict[str, str] = field(default_factory=dict)


class Sources:
    """All syntax trees of the package, with what is needed to follow a code to its constant."""

    def __init__(self, root: Path) -> None:
        self.trees = {
            ".".join(path.relative_to(root / "src").with_suffix("").parts): ast.parse(
                path.read_text(), str(path)
            )
            for path in sorted((root / "src" / "actum").rglob("*.py"))
        }
        # Kept apart by module: two modules may both have a constant or a helper of the same name.
        self.constants: dict[tuple[str, str], str] = {}
        self.members: dict[str, str] = {}
        self.branch_of = {name: name for name in BRANCHES}
        for module, tree in self.trees.items():
            self._read_names(module, tree)

    def _read_names(self, module: str, tree: ast.Module) -> None:
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                for base in (_name(base) for base in node.bases):
                    if base in self.branch_of:
                        self.branch_of[node.name] = self.branch_of[base]
            for owner, target, value in _assignments(node):
                if owner:
                    self.members[f"{owner}.{target}"] = value
                else:
                    self.constants[(module, target)] = value

    def values(self, module: str, node: ast.expr) -> list[str] | None:
        """The strings an expression can be, or None where that cannot be read."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return [node.value]
        if isinstance(node, ast.IfExp):
            both = [self.values(module, node.body), self.values(module, node.orelse)]
            return None if None in both else [v for vs in both if vs is not None for v in vs]
        if isinstance(node, ast.Name) and (module, node.id) in self.constants:
            return [self.constants[(module, node.id)]]
        if isinstance(node, ast.Attribute):
            text = ast.unparse(node).removesuffix(".value")
            member = ".".join(text.split(".")[-2:])
            return [self.members[member]] if member in self.members else None
        return None


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _assignments(node: ast.stmt) -> Iterator[tuple[str, str, str]]:
    """(class or "", name, string) of each assignment of a string constant in the statement."""
    body = node.body if isinstance(node, ast.ClassDef) else [node]
    owner = node.name if isinstance(node, ast.ClassDef) else ""
    for item in body:
        if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name):
            target = item.targets[0].id
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            target = item.target.id
        else:
            continue
        if isinstance(item.value, ast.Constant) and isinstance(item.value.value, str):
            yield owner, target, item.value.value


def _code_argument(call: ast.Call) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg in ("code", "reason"):
            return keyword.value
    return call.args[0] if call.args else None


def _shown(node: ast.expr) -> str | None:
    """A sentence of the source as a reader may see it, with {names} where values go."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = [
            v.value if isinstance(v, ast.Constant) else "{" + ast.unparse(v.value) + "}"  # type: ignore[attr-defined]
            for v in node.values
        ]
        return "".join(str(part) for part in parts)
    return None


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    return {a.arg for a in [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]}


def _calls(tree: ast.Module) -> Iterator[tuple[ast.Call, set[str], str]]:
    """Each call with the parameters and the name of the function it stands in."""

    def walk(node: ast.AST, parameters: set[str], function: str) -> Iterator[tuple[ast.Call, set[str], str]]:
        for child in ast.iter_child_nodes(node):
            inner, name = parameters, function
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                inner, name = parameters | _parameters(child), child.name
            if isinstance(child, ast.Call):
                yield child, parameters, function
            yield from walk(child, inner, name)

    yield from walk(tree, set(), "")


def helpers(sources: Sources) -> dict[tuple[str, str], str]:
    """(module, function) that hands a parameter on as the code, with the branch it makes."""
    found: dict[tuple[str, str], str] = {}
    for module, tree in sources.trees.items():
        for call, parameters, function in _calls(tree):
            branch = sources.branch_of.get(_name(call.func))
            code = _code_argument(call) if branch else None
            if branch and isinstance(code, ast.Name) and code.id in parameters and function != "__init__":
                found[(module, function)] = branch
    return found


def scan(root: Path) -> tuple[dict[tuple[str, str], Code], list[str]]:
    """Every (branch, code), and the places whose code could not be read."""
    sources = Sources(root)
    handing_on = helpers(sources)
    imported = {name: branch for (_, name), branch in handing_on.items() if not name.startswith("_")}
    codes: dict[tuple[str, str], Code] = {}
    unread: list[str] = []
    for module, tree in sources.trees.items():
        for call, parameters, _function in _calls(tree):
            name = _name(call.func)
            branch = sources.branch_of.get(name) or handing_on.get((module, name)) or imported.get(name)
            argument = _code_argument(call) if branch else None
            if branch is None or argument is None or name == "from_refused":
                continue
            if isinstance(argument, ast.Name) and argument.id in parameters:
                continue
            values = sources.values(module, argument)
            if values is None:
                unread.append(f"{module}:{call.lineno}: {ast.unparse(argument)}")
                continue
            for value in values:
                code = codes.setdefault((branch, value), Code(name=value, branch=branch))
                code.modules.add(module)
                for keyword in call.keywords:
                    text = _shown(keyword.value)
                    if keyword.arg in ("failed", "state", "next_step") and text:
                        code.texts.setdefault(keyword.arg, text)
    return codes, unread


def render(codes: dict[tuple[str, str], Code]) -> str:
    """The page: a section a branch, a heading a code, so that each code has an address of its own."""
    out = [
        "# Error codes",
        "",
        "Made by `make status` from the source; do not edit. Each error has a stable code and three",
        "sentences: what failed, what state you are in now, what to do next. Words in braces are filled in",
        "when it happens. What has no sentence here gets it from the place that shows it.",
    ]
    for branch, (title, meaning) in BRANCHES.items():
        out += ["", f"## {title}", "", meaning]
        for (_, name), code in sorted(item for item in codes.items() if item[0][0] == branch):
            out += ["", f"### `{name}`", ""]
            labels = {"failed": "failed", "state": "now", "next_step": "next"}
            out += [f"- {labels[key]}: {code.texts[key]}" for key in labels if key in code.texts]
            out.append("- from: " + ", ".join(f"`{module}`" for module in sorted(code.modules)))
    return "\n".join(out) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where the page is stale")
    options = parser.parse_args()
    codes, unread = scan(ROOT)
    for place in unread:
        print(f"this code cannot be read from the source: {place}", file=sys.stderr)
    page = ROOT / PAGE
    if options.check:
        if page.exists() and page.read_text() == render(codes):
            return 0
        print(f"{PAGE} is stale. Run: make status", file=sys.stderr)
        return 1
    page.write_text(render(codes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
