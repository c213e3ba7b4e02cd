# SPDX-License-Identifier: Apache-2.0
"""The pages about the command line are run: each command in them is typed, each answer is compared.

In a ```console block a line that begins with `$ ` is typed into one shell that lives for the page; the lines behind
it are what it must print, where `…` stands for any text. A ```python block is run as it stands.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.invariants.tree import ROOT

PAGES = (
    "README.md",
    "docs/tutorial/first-ten-minutes.md",
    "docs/how-to/answer-the-inbox.md",
    "docs/how-to/settle-what-nobody-knows.md",
    "docs/how-to/move-or-restore-a-store.md",
)
_block = re.compile(r"^```(console|python|bash)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
END = "@@end-of-command@@"


def blocks(text: str) -> list[tuple[str, str]]:
    """Return the blocks of a page that are run, in order."""
    return [(found[1], found[2]) for found in _block.finditer(text)]


def typed(block: str) -> list[tuple[str, str]]:
    """Return each command of a console block with what it must print."""
    commands: list[tuple[str, str]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            commands.append((line[2:], ""))
        elif line.startswith("> "):
            commands[-1] = (commands[-1][0] + "\n" + line[2:], "")
        else:
            commands[-1] = (commands[-1][0], commands[-1][1] + line + "\n")
    return commands


def agrees(expected: str, printed: str) -> bool:
    """Tell whether a command printed what the page says, where `…` stands for any text."""
    pattern = "".join(
        ".*?" if part == "…" else re.escape(part) for part in re.split("(…)", expected.rstrip())
    )
    return re.fullmatch(pattern, printed.rstrip(), re.DOTALL) is not None


class Shell:
    """One shell in an empty folder, with `actum` on its path."""

    def __init__(self, folder: Path) -> None:
        tools = folder / "bin"
        tools.mkdir()
        for name, rest in {"actum": "-m actum.cli.main", "python": ""}.items():
            script = tools / name
            script.write_text(f'#!/bin/sh\nexec {sys.executable} {rest} "$@"\n')
            script.chmod(0o755)
        work = folder / "work"
        work.mkdir()
        self.folder = work
        environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
        environment.pop("ACTUM_STORE", None)
        self._shell = subprocess.Popen(
            ["bash", "-u"], cwd=work, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def type(self, command: str) -> str:
        """Type a command and return what it printed, errors included."""
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._shell.stdin.write(f"{{\n{command}\n}} </dev/null\necho {END}\n")
        self._shell.stdin.flush()
        printed: list[str] = []
        for line in self._shell.stdout:
            if line.rstrip("\n").endswith(END):
                printed.append(line.rstrip("\n").removesuffix(END))
                return "".join(printed)
            printed.append(line)
        raise AssertionError("the shell ended")

    def close(self) -> None:
        self._shell.communicate()


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_prints_what_the_page_says(page: str, tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    ran = 0
    try:
        for kind, block in blocks((ROOT / page).read_text()):
            if kind == "python":
                (shell.folder / "example.py").write_text(block)
                printed = shell.type("python example.py")
                assert "Traceback" not in printed, printed
                ran += 1
            for command, expected in typed(block) if kind == "console" else ():
                printed = shell.type(command)
                assert agrees(expected, printed), (
                    f"{page}: $ {command}\n--- expected\n{expected}--- printed\n{printed}"
                )
                ran += 1
    finally:
        shell.close()
    assert ran >= 3


def test_what_a_page_expects_is_really_compared() -> None:
    assert agrees("a … c\n", "a b c\n")
    assert not agrees("a … c\n", "a b d\n")
    assert not agrees("", "something\n")
    assert typed("$ one\ntwo\n$ three <<'E'\n> four\n") == [("one", "two\n"), ("three <<'E'\nfour", "")]


def test_the_reference_page_is_what_the_commands_say() -> None:
    # In a process of its own: a command keeps the help option of the first context it was asked in.
    checked = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "command_line_page.py"), "--check"], check=False
    )
    assert checked.returncode == 0, "run: python tools/command_line_page.py"


def test_the_example_that_init_writes_is_the_example_of_the_repository() -> None:
    import yaml

    from actum.cli.first_files import EXAMPLE, EXAMPLE_NAME

    stored = (ROOT / "examples" / "executive_assistant" / EXAMPLE_NAME).read_text()
    assert yaml.safe_load(EXAMPLE) == yaml.safe_load(stored)


def test_every_member_of_the_commented_configuration_is_one_that_exists(tmp_path: Path) -> None:
    from actum.bootstrap import Kernel
    from actum.cli.first_files import CONFIG

    lines = CONFIG.splitlines()
    opened = [re.sub(r"^# (?=[\[a-z_])", "", line) for line in lines[3:]]
    # The database of the example is not here; everything else is read as it stands.
    text = "\n".join(line for line in opened if "postgresql" not in line)
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "actum.toml").write_text(text)
    with Kernel.open(tmp_path / "s") as kernel:
        assert {"files.write", "mail.draft"} <= {info.id for info in kernel.line.registry.infos()}
        assert kernel.line.models is not None
    assert text.count("[") >= 5
