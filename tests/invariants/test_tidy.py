# SPDX-License-Identifier: Apache-2.0
"""The house style is a test: sizes, names, headers, pages, and what no committed file may say."""

from __future__ import annotations

import ast
import re
import tomllib

import pytest

from tests.invariants.tree import (
    ROOT,
    SRC,
    committed_files,
    functions,
    listing,
    module_name,
    parsed,
    python_files,
    shown,
)

LINES_MAX = 400
FUNCTION_LINES_MAX = 70
BANNED_MODULES = {"utils", "util", "helpers", "helper", "common", "types", "manager", "managers", "base"}
OURS = ("src", "tools", "bench", "examples", "tests")

# Modules that nothing imports because a person, a script or another process starts them.
ENTRY_POINTS = {"actum.__main__", "actum", "actum.cli.main"}

# Spelled in two halves, so that this file may be committed.
FORBIDDEN_TEXT = tuple(
    a + b
    for a, b in (
        ("/wo", "rk/"),
        ("/tmp/ac", "tum"),
        ("/ro", "ot/"),
        (".lib", "rary"),
        ("pypi.", "org"),
        ("pythonho", "sted"),
        ("npm", "js."),
        ("deb.deb", "ian"),
        ("proxy.gol", "ang"),
    )
)


def test_no_module_has_a_name_that_says_nothing() -> None:
    named = [shown(p) for p in python_files("src") if p.stem in BANNED_MODULES]
    assert named == [], listing(named)


def test_no_module_is_longer_than_400_lines() -> None:
    counts = {shown(p): len(p.read_text().splitlines()) for p in python_files("src", "tools")}
    long = [f"{name}: {n}" for name, n in counts.items() if n > LINES_MAX]
    assert long == [], listing(long)


def test_no_function_is_longer_than_70_lines() -> None:
    long = [
        f"{shown(path)}:{node.lineno} {node.name}"
        for path in python_files("src", "tools")
        for node in functions(parsed(path))
        if (node.end_lineno or node.lineno) - node.lineno + 1 > FUNCTION_LINES_MAX
    ]
    assert long == [], listing(long)


def test_every_module_opens_with_its_licence_and_a_claim() -> None:
    lacking = []
    for path in python_files(*OURS):
        # An empty __init__.py in tests only says that the folder is a package.
        if path.stat().st_size == 0 and path.name == "__init__.py" and path.is_relative_to(ROOT / "tests"):
            continue
        first = path.read_text().split("\n", 2)
        # A script may need its interpreter on the first line.
        line = first[1] if first[0].startswith("#!") else first[0]
        if line != "# SPDX-License-Identifier: Apache-2.0" or not ast.get_docstring(parsed(path)):
            lacking.append(shown(path))
    assert lacking == [], listing(lacking)


def _headings(text: str) -> list[str]:
    outside = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"^# .+$", outside, flags=re.MULTILINE)


def test_every_page_has_exactly_one_title() -> None:
    pages = [p for p in committed_files() if p.suffix == ".md"]
    titles = {shown(p): len(_headings(p.read_text())) for p in pages if p.parent.name != "changelog.d"}
    wrong = [f"{name}: {n}" for name, n in titles.items() if n != 1]
    assert wrong == [], listing(wrong)


def test_every_link_between_pages_leads_somewhere() -> None:
    broken = []
    for path in (p for p in committed_files() if p.suffix == ".md"):
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text()):
            if "://" not in target and not (path.parent / target).exists():
                broken.append(f"{shown(path)} -> {target}")
    assert broken == [], listing(broken)


def _imports(path_name: str, tree: ast.Module) -> set[str]:
    """The modules a module names in imports or as text (`module:attribute`, `-m module`)."""
    named: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            named |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            named |= set(re.findall(r"^actum(?:\.\w+)+", node.value))
    named.discard(path_name)
    return named


def test_no_module_is_dead() -> None:
    named: set[str] = set(ENTRY_POINTS)
    for path in python_files("src"):
        named |= _imports(module_name(path), parsed(path))
    # What ships for the users' tests is used by tests.
    for path in python_files("tests", "bench", "examples"):
        named |= {n for n in _imports("", parsed(path)) if n.startswith("actum.testing")}
    packages = {module_name(p) for p in python_files("src") if p.name == "__init__.py"}
    modules = {module_name(p) for p in python_files("src")} - packages
    dead = sorted(modules - named)
    assert dead == [], listing(dead)


def test_no_committed_file_names_this_machine_or_a_registry() -> None:
    found = []
    for path in committed_files():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        found += [f"{shown(path)}: {bad}" for bad in FORBIDDEN_TEXT if bad in text]
    assert found == [], listing(found)


def test_no_note_to_oneself_is_left_in_the_source() -> None:
    words = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")
    notes = [shown(p) for p in python_files("src", "tools", "bench") if words.search(p.read_text())]
    assert notes == [], listing(notes)


def test_every_ignored_diagnostic_is_named() -> None:
    bare = re.compile(r"#\s*(?:type:\s*ignore|pyright:\s*ignore|noqa)(?!\[|:)")
    unnamed = [shown(p) for p in python_files("src") if bare.search(p.read_text())]
    assert unnamed == [], listing(unnamed)


def test_every_changelog_fragment_has_a_known_kind() -> None:
    fragments = [p for p in (ROOT / "changelog.d").iterdir() if p.name != "README.md"]
    kinds = {p.name: p.name.split(".")[-2:] for p in fragments}
    wrong = [
        name
        for name, (kind, suffix) in kinds.items()
        if suffix != "md" or kind not in ("breaking", "security", "added", "fixed")
    ]
    assert wrong == [], listing(wrong)


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = (SRC / "actum" / "__init__.py").read_text()
    assert re.findall(r'^__version__ = "(.+)"$', text, flags=re.MULTILINE) == [project["version"]]


LOCKS = ("build.txt", "dev.txt", "runtime.txt", "weights.txt")


@pytest.mark.parametrize("name", LOCKS)
def test_every_locked_package_has_a_version_and_a_hash_and_no_address(name: str) -> None:
    text = (ROOT / "requirements" / name).read_text()
    entries = re.split(r"\n(?=[a-z0-9])", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).strip())
    assert entries
    unpinned = [
        e.split("\n")[0] for e in entries if "==" not in e.split("\n")[0] or "--hash=sha256:" not in e
    ]
    assert unpinned == [], listing(unpinned)
    assert "://" not in text
    assert "--index" not in text
    assert "--find-links" not in text
