# SPDX-License-Identifier: Apache-2.0
"""What a command prints: errors in three sentences, tables on a terminal, plain columns in a pipe.

Rules
1. Every error says what failed, what state one is in now, and what to do next; none is a traceback.
2. With --json an error is `{"error": {...}}` on standard output; without it, text on standard error.
3. Text from elsewhere has everything spelled out that could hide or move other text.
"""

from __future__ import annotations

import json
import os
import re
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, cast

import click

from actum.model.errors import ActumError, InvariantViolation
from actum.model.strict_json import ForeignNumber
from actum.model.visible import visible

_MARKS = ("\u27e8", "\u27e9")
_escape_marks = re.compile("([\u27e8\u27e9])")
WORST_FIRST = (4, 70, 5, 2, 1, 3, 0)
"""Of several exit codes at once the first of these counts."""


def worst(codes: Iterable[int]) -> int:
    """Return the exit code that counts of several; 0 for none."""
    return min(codes, key=WORST_FIRST.index, default=0)


# -- errors ----------------------------------------------------------------------------------------------------


def tell(error: Exception, *, as_json: bool) -> int:
    """Print an error (rules 1 and 2) and return its exit code."""
    told, code = error_of(error)
    if as_json:
        click.echo(json.dumps({"error": told}, ensure_ascii=False))
    else:
        click.echo(error_text(told), err=True)
    return code


def error_of(error: Exception) -> tuple[dict[str, Any], int]:
    """Return the JSON form of any exception, and the exit code that belongs to it."""
    if isinstance(error, ActumError):
        return error.to_json(), 1 if error.code == "not_found" else error.exit_code
    if isinstance(error, click.ClickException):
        return _usage(error), 2
    if isinstance(error, OSError) and not isinstance(error, ConnectionError):
        where = f" at {error.filename}" if error.filename else ""
        return _told(
            "system_refused",
            "environment",
            f"The system refused{where}: {error.strerror or type(error).__name__}",
            "What was committed before this is kept; nothing after it was begun",
            "Look at the space, owner and mode of what it names, then repeat the command",
        ), 5
    if isinstance(error, MemoryError):
        return _told(
            "out_of_memory", "environment", "This machine has no memory left for this command",
            "What was committed before this is kept", "Free some memory, then repeat the command",
        ), 5  # fmt: skip
    return _defect(error), 70


def _told(code: str, branch: str, failed: str, state: str, next_step: str, **facts: str) -> dict[str, Any]:
    # What no ActumError stands for: an interpreter's or the system's own exception, in the same shape.
    sentences = {"failed": failed, "state": state, "next_step": next_step}
    closed = {
        name: text if text.endswith((".", "?", "!")) else f"{text}." for name, text in sentences.items()
    }
    return {"code": code, "branch": branch, **closed, "facts": facts}


def _usage(error: click.ClickException) -> dict[str, Any]:
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = "actum" if context is None else context.command_path
    return _told(
        "bad_usage",
        "usage",
        error.format_message(),
        "Nothing was read or changed",
        f"See `{path} --help`",
    )


def _defect(error: Exception) -> dict[str, Any]:
    frames = traceback.extract_tb(error.__traceback__)[-4:]
    way = " > ".join(f"{os.path.basename(frame.filename)}:{frame.lineno}" for frame in frames)
    if isinstance(error, InvariantViolation):
        what, facts = f"a rule that Actum itself must keep does not hold: {error.invariant}", error.facts
    else:
        what, facts = f"{type(error).__name__}: {str(error)[:300]}", {}
    from actum import __version__

    told = _told(
        "defect",
        "defect",
        f"Actum met a defect of its own: {what}",
        "What was committed before this is kept, and nothing was written after it",
        "Run `actum doctor`, and report the lines below to the authors of Actum; they hold no content of yours "
        "but what the first sentence says",
        version=__version__,
        python=sys.version.split()[0],
        at=way,
    )
    told["facts"].update(facts)
    return told


def error_text(told: Mapping[str, Any]) -> str:
    """Return an error for reading: what failed, the state now, what to do next, and what else is known."""
    lines = [
        f"What failed:  {visible(told['failed'])}",
        f"State now:    {visible(told['state'])}",
        f"What to do:   {visible(told['next_step'])}",
    ]
    for problem in told.get("problems", ()):
        at = f"{problem['path']}:{problem['line']}:{problem['column']}"
        lines.append(f"  {visible(at)}: {problem['code']}: {visible(problem['message'])}")
    if told["branch"] == "defect":
        lines += [f"  {name}: {visible(value)}" for name, value in told["facts"].items()]
    return "\n".join(lines)


def interrupted() -> int:
    """Say what an interrupt leaves behind, and return its exit code."""
    click.echo("", err=True)
    click.echo(
        "What failed:  The command was interrupted.\n"
        "State now:    What was committed is kept; an effect that was under way is looked at by the next run.\n"
        "What to do:   Run `actum activity` to see where things stand.",
        err=True,
    )
    return 130


# -- output ----------------------------------------------------------------------------------------------------


def emit(value: object) -> None:
    """Print one JSON value on one line."""
    click.echo(json.dumps(value, ensure_ascii=False, default=_json_of))


def _json_of(value: object) -> object:
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(type(value).__name__)


def when(at_ms: int | None) -> str:
    """Return a time for reading, in UTC."""
    if at_ms is None:
        return "-"
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S") + "Z"


def in_words(reason: str) -> str:
    """Return a reason as words: a code by itself loses its underscores, a name within a sentence keeps them."""
    return reason if " " in reason else reason.replace("_", " ")


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> count_of(1, "effect"), count_of(1200, "effect")
    ('1 effect', '1,200 effects')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows: drawn on a terminal, plain aligned columns elsewhere."""
    shown = [[spelled_out(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _draw(headers, shown)
        return
    widths = [max(len(row[at]) for row in [list(headers), *shown]) for at in range(len(headers))]
    for row in [list(headers), *shown]:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _draw(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False, header_style="bold")
    for header in headers:
        # An id must stay whole, because people copy it.
        drawn.add_column(header, no_wrap=header == "ID", overflow="fold")
    for row in rows:
        drawn.add_row(*[Text(cell) for cell in row])
    Console().print(drawn)


class Described(str):
    """Text that was made for reading before it was stored; what it hides is spelled out in it already."""

    __slots__ = ()


def spelled_out(text: str) -> str:
    """Return text with everything hidden spelled out, and the escapes of a described text left as they are."""
    if not isinstance(text, Described):
        return visible(text)
    return "".join(one if one in _MARKS else visible(one) for one in _escape_marks.split(text))


def plain_lines(value: object, *, indent: str = "") -> Iterator[str]:
    """Yield a JSON value as indented lines in which nothing is shortened and nothing hides (rule 3)."""
    if isinstance(value, Mapping):
        for name, member in cast("Mapping[str, object]", value).items():
            yield from _named(visible(str(name)), member, indent=indent)
    elif isinstance(value, list | tuple):
        for member in cast("Sequence[object]", value):
            yield from _named("-", member, indent=indent)
    else:
        yield f"{indent}{_scalar(value)}"


def _named(name: str, member: object, *, indent: str) -> Iterator[str]:
    label = name if name == "-" else f"{name}:"
    if member and isinstance(member, (Mapping, list, tuple)):
        yield f"{indent}{label}"
        yield from plain_lines(cast("object", member), indent=indent + "  ")
    elif isinstance(member, str) and "\n" in member:
        yield f"{indent}{label}"
        yield from text_block(member, indent=indent + "  ")
    elif name.endswith("_at_ms") and isinstance(member, int):
        yield f"{indent}{name.removesuffix('_ms')}: {when(member)}"
    else:
        yield f"{indent}{label} {_scalar(cast('object', member))}"


def text_block(text: str, *, indent: str) -> Iterator[str]:
    """Yield text of several lines behind a bar, so that none of its lines can pass for one of ours."""
    for line in text.split("\n"):
        yield f"{indent}| {visible(line)}"


def _scalar(value: object) -> str:
    match value:
        case None:
            return "-"
        case True:
            return "yes"
        case False:
            return "no"
        case ForeignNumber():
            return value.text
        case str():
            return visible(value) if value else '""'
        case dict() | list():
            return "none"
        case _:
            return visible(str(value))
