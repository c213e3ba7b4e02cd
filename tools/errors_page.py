# SPDX-License-Identifier: Apache-2.0
"""docs/reference/errors.md lists every error code the source can produce, read from the syntax trees.

A code is the first argument (or `code=`, `reason=`) of a call that makes an error or a refusal: a class of
`actum.model.errors`, a class derived from one, or a function that hands its own parameter `code` or
`reason` on to one. Constants, enum members, either-or expressions, tables, variables of the same function
and texts with a fixed beginning (`proposal_*`) are followed, and so is the code of a refusal that is handed
on. Anything else is reported, because a code that cannot be read here cannot be documented.

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
    "UsageError": ("Usage", "The caller asked for something malformed. Exit code 2; of `not_found` 1."),
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
        self.constants: dict[tuple[str, str], list[str]] = {}
        self.members: dict[str, str] = {}
        self.fixed: dict[str, str] = {}
        self.branch_of = {name: name for name in BRANCHES}
        for module, tree in self.trees.items():
            self._read_names(module, tree)

    def _read_names(self, module: str, tree: ast.Module) -> None:
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                for base in (_name(base) for base in node.bases):
                    if base in self.branch_of:
                        self.branch_of[node.name] = self.branch_of[base]
                        self.fixed |= _fixed_code(node)
            for owner, target, values in _assignments(node):
                if owner:
                    self.members[f"{owner}.{target}"] = values[0]
                else:
                    self.constants[(module, target)] = values

    def values(self, module: str, node: ast.expr, *, local: dict[str, list[ast.expr]]) -> list[str] | None:
        """The strings an expression can be, or None where that cannot be read.

        `local` holds what the enclosing function assigns to its variables.
        """
        if isinstance(node, ast.Constant):
            return [node.value] if isinstance(node.value, str) else None
        if isinstance(node, ast.IfExp):
            return self._all(module, [node.body, node.orelse], local=local)
        if isinstance(node, ast.Name):
            known = self.constants.get((module, node.id))
            inner = {name: found for name, found in local.items() if name != node.id}
            return known or self._all(module, local.get(node.id, []), local=inner)
        if isinstance(node, ast.BinOp) or (isinstance(node, ast.JoinedStr) and node.values):
            start = node.left if isinstance(node, ast.BinOp) else node.values[0]
            known = self.values(module, start, local=local)
            return known and [f"{text}*" for text in known]
        if isinstance(node, ast.Call | ast.Subscript):
            return self._looked_up(module, node, local=local)
        return self._attribute(node) if isinstance(node, ast.Attribute) else None

    def _all(
        self, module: str, nodes: list[ast.expr], *, local: dict[str, list[ast.expr]]
    ) -> list[str] | None:
        found = [self.values(module, node, local=local) for node in nodes]
        return None if None in found or not found else [v for vs in found if vs is not None for v in vs]

    def _looked_up(
        self, module: str, node: ast.Call | ast.Subscript, *, local: dict[str, list[ast.expr]]
    ) -> list[str] | None:
        """Everything in a table of the module, and the default where one is given."""
        if isinstance(node, ast.Subscript):
            return self.values(module, node.value, local=local)
        if not isinstance(node.func, ast.Attribute) or node.func.attr != "get":
            return None
        table = self.values(module, node.func.value, local=local)
        default = self._all(module, node.args[1:2], local=local) if node.args[1:2] else []
        return None if table is None or default is None else table + default

    def _attribute(self, node: ast.Attribute) -> list[str] | None:
        # The code of an error or refusal that exists already was read where it was made.
        if node.attr in ("reason", "code"):
            return []
        member = ".".join(ast.unparse(node).removesuffix(".value").split(".")[-2:])
        return [self.members[member]] if member in self.members else None


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _strings(node: ast.expr | None) -> list[str]:
    """The string a constant is, or the strings a table leads to."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.Dict):
        return [text for value in node.values for text in _strings(value)]
    return []


def _assignments(node: ast.stmt) -> Iterator[tuple[str, str, list[str]]]:
    """(class or "", name, strings) of each assignment of a constant or a table of constants."""
    body = node.body if isinstance(node, ast.ClassDef) else [node]
    owner = node.name if isinstance(node, ast.ClassDef) else ""
    for item in body:
        if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name):
            target = item.targets[0].id
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            target = item.target.id
        else:
            continue
        if _strings(item.value):
            yield owner, target, _strings(item.value)


def _fixed_code(node: ast.ClassDef) -> dict[str, str]:
    """{class: code} where the class hands one constant code to its base, whatever it is made from."""
    for call in (inner for inner in ast.walk(node) if isinstance(inner, ast.Call)):
        if ast.unparse(call.func) == "super().__init__" and call.args and _strings(call.args[0]):
            return {node.name: _strings(call.args[0])[0]}
    return {}


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


Function = ast.FunctionDef | ast.AsyncFunctionDef


def _locals(functions: list[Function]) -> dict[str, list[ast.expr]]:
    """What the innermost function assigns to each of its variables."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(functions[-1]) if functions else ():
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, []).append(node.value)
    return found


def _calls(tree: ast.Module) -> Iterator[tuple[ast.Call, list[Function]]]:
    """Each call with the functions it stands in, the outermost first."""

    def walk(node: ast.AST, functions: list[Function]) -> Iterator[tuple[ast.Call, list[Function]]]:
        for child in ast.iter_child_nodes(node):
            inner = [*functions, child] if isinstance(child, Function) else functions
            if isinstance(child, ast.Call):
                yield child, functions
            yield from walk(child, inner)

    yield from walk(tree, [])


def _handed_on(argument: ast.expr | None, functions: list[Function]) -> bool:
    """The code is a parameter of a function around the call: it is read where that function is called."""
    return isinstance(argument, ast.Name) and any(argument.id in _parameters(f) for f in functions)


def helpers(sources: Sources) -> dict[tuple[str, str], str]:
    """(module, function) that hands a parameter on as the code, with the branch it makes."""
    found: dict[tuple[str, str], str] = {}
    for module, tree in sources.trees.items():
        for call, functions in _calls(tree):
            branch = sources.branch_of.get(_name(call.func))
            code = _code_argument(call) if branch else None
            if branch and _handed_on(code, functions) and functions[-1].name != "__init__":
                found[(module, functions[-1].name)] = branch
    return found


def scan(root: Path) -> tuple[dict[tuple[str, str], Code], list[str]]:
    """Every (branch, code), and the places whose code could not be read."""
    sources = Sources(root)
    handing_on = helpers(sources)
    imported = {name: branch for (_, name), branch in handing_on.items() if not name.startswith("_")}
    codes: dict[tuple[str, str], Code] = {}
    unread: list[str] = []
    for module, tree in sources.trees.items():
        for call, functions in _calls(tree):
            name = _name(call.func)
            branch = sources.branch_of.get(name) or handing_on.get((module, name)) or imported.get(name)
            argument = _code_argument(call) if branch else None
            if branch is None or argument is None or name == "from_refused":
                continue
            if name not in sources.fixed and _handed_on(argument, functions):
                continue
            fixed = sources.fixed.get(name)
            values = [fixed] if fixed else sources.values(module, argument, local=_locals(functions))
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
