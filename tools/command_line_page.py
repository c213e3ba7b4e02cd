# SPDX-License-Identifier: Apache-2.0
"""docs/reference/command-line.md shows the help of every command, written by the commands themselves.

python tools/command_line_page.py          write the page
python tools/command_line_page.py --check  exit 1 where the page is stale
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent
PAGE = "docs/reference/command-line.md"
HEAD = """\
# Command line

Every command with what it takes, as `--help` prints it; made by `tools/command_line_page.py` and kept equal by a test.
What the exit codes mean: [exit codes](exit-codes.md). Every error says what failed, what state you are in now and what
to do next, on standard error; with `--json` it is one object on standard output:
`{"error": {"code", "branch", "failed", "state", "next_step", "facts"}}`. Codes: [errors](errors.md).

- `--store PATH` names the store's folder; else `$ACTUM_STORE` does, else the nearest `.actum` upwards.
- `--as NAME` says who you are. Another name than your user's needs that person's key and passphrase for every answer.
- `--json` prints one JSON object a line. Without it, tables are drawn on a terminal and are plain columns in a pipe.
- Text from elsewhere is shown with everything spelled out that could hide or move other text: `⟨U+202E⟩`.
"""


def page() -> str:
    """Return the page as it must be."""
    from actum.cli.main import actum

    parts = [HEAD]
    for context in _contexts(actum, "actum", None):
        level = "##" if context.parent is None or context.parent.parent is None else "###"
        parts.append(f"{level} {context.command_path}\n\n```text\n{context.get_help().rstrip()}\n```\n")
    return "\n".join(parts)


def _contexts(command: click.Command, name: str, parent: click.Context | None) -> Iterator[click.Context]:
    context = click.Context(
        command, info_name=name, parent=parent, terminal_width=100, max_content_width=100,
        help_option_names=["-h", "--help"],
    )  # fmt: skip
    yield context
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            assert found is not None
            yield from _contexts(found, below, context)


def main() -> int:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description="Write docs/reference/command-line.md from the commands.")
    parser.add_argument("--check", action="store_true")
    target = ROOT / PAGE
    if not parser.parse_args().check:
        target.write_text(page())
        return 0
    return 0 if target.exists() and target.read_text() == page() else 1


if __name__ == "__main__":
    sys.exit(main())
