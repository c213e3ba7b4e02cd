# SPDX-License-Identifier: Apache-2.0
"""`actum effect verify` and `actum effect resolution` answer effect lines; no store is needed or touched.

Exit codes: 0 every line was read, whatever the grades; 2 usage, an invalid trust file (then nothing is
answered) or at least one malformed line (then every other line is answered); 5 the input cannot be read.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack, contextmanager
from typing import IO, cast

import click

from actum.evidence.effect_line import LineAnswer, LineError, encode_answer, verify_lines
from actum.evidence.trust_file import NO_TRUST, read_trust
from actum.model.errors import EnvironmentFault, UsageError
from actum.model.grading import Resolved
from actum.model.rfc3339 import Instant, parse_instant
from actum.model.wording import LIMITS, explain_deadline, explain_grade, explain_policy, explain_reason

_ROW = "{:<24} {:<26} {:<26} {}"


@click.group("effect")
def effect() -> None:
    """Grade effect records by the evidence they carry, offline."""


@effect.command("verify")
@click.argument("file", default="-")
@click.option("--trust", "trust_path", metavar="FILE", help="Pinned keys; without it no key is trusted.")
@click.option("--at", metavar="TIME", help="RFC 3339 time at which deadlines are judged.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.pass_context
def verify(ctx: click.Context, file: str, trust_path: str | None, at: str | None, as_json: bool) -> None:
    """Answer each action/v2 line of FILE (- is standard input) with its claimed and its graded pair."""
    ctx.exit(_answer(file, trust_path=trust_path, at=at, as_json=as_json))


@effect.command("resolution")
@click.argument("file", default="-")
@click.option("--trust", "trust_path", metavar="FILE", help="Pinned keys; without it no key is trusted.")
@click.option("--at", metavar="TIME", required=True, help="RFC 3339 time at which deadlines are judged.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.pass_context
def resolution(ctx: click.Context, file: str, trust_path: str | None, at: str, as_json: bool) -> None:
    """Answer each action/v2 line of FILE (- is standard input) with how it stands against its deadline."""
    ctx.exit(_answer(file, trust_path=trust_path, at=at, as_json=as_json))


def _answer(file: str, *, trust_path: str | None, at: str | None, as_json: bool) -> int:
    now = None if at is None else _instant(at)
    trust = NO_TRUST if trust_path is None else read_trust(_read(trust_path, what="trust file"))
    malformed = 0
    with _input(file, twice=now is not None) as (lines, again):
        if not as_json:
            click.echo(_ROW.format("EFFECT", "CLAIMED", "GRADED", "STATUS"))
        for answer in verify_lines(lines, trust=trust, at=now, again=again):
            malformed += isinstance(answer, LineError)
            click.echo(encode_answer(answer) if as_json else _shown(answer))
    if not as_json:
        click.echo(LIMITS)
    return 2 if malformed else 0


@contextmanager
def _input(file: str, *, twice: bool) -> Generator[tuple[IO[bytes], Callable[[], Iterable[bytes]]]]:
    """Yield the lines and a way to read them again; what can be read only once is copied to disk for that."""
    with ExitStack() as stack:
        source: IO[bytes]
        if file == "-":
            source = sys.stdin.buffer
        else:
            source = stack.enter_context(_open(file, what="input"))
        path = file
        if twice and (file == "-" or not stat.S_ISREG(os.fstat(source.fileno()).st_mode)):
            copy = stack.enter_context(tempfile.NamedTemporaryFile(prefix="actum-effect-"))
            shutil.copyfileobj(source, copy)
            copy.flush()
            copy.seek(0)
            source, path = cast(IO[bytes], copy), copy.name
        yield source, lambda: stack.enter_context(_open(path, what="input"))


def _read(path: str, *, what: str) -> bytes:
    with _open(path, what=what) as opened:
        return opened.read()


def _open(path: str, *, what: str) -> IO[bytes]:
    try:
        return open(path, "rb")
    except (FileNotFoundError, IsADirectoryError) as error:
        raise UsageError(
            "no_such_file",
            failed=f"The {what} {path!r} is not a file that exists",
            state="Nothing was answered",
            next_step="Give the path of an existing file, or - for standard input",
        ) from error
    except OSError as error:
        raise EnvironmentFault(
            "unreadable_file",
            failed=f"The {what} {path} cannot be read: {error.strerror}",
            state="Nothing was answered",
            next_step="Make the file readable for this user and try again",
        ) from error


def _instant(text: str) -> Instant:
    instant = parse_instant(text)
    if instant is None:
        raise UsageError(
            "bad_time",
            failed=f"--at {text} is not an RFC 3339 time with an offset",
            state="Nothing was answered",
            next_step="Give a time such as 2026-05-04T12:00:00Z",
        )
    return instant


def _shown(answer: LineAnswer | LineError) -> str:
    if isinstance(answer, LineError):
        fault = answer.error
        place = _text(fault.path) or "/"
        return f"line {answer.line} is malformed: {fault.code} at {place}: {_text(fault.message)}"
    claimed, graded = answer.claimed, answer.graded
    confidence = None if claimed.confidence is None else claimed.confidence.value
    rows = [
        _ROW.format(
            _text(answer.id),
            f"{claimed.finality.value}, {confidence or '-'}",
            f"{graded.finality.value}, {graded.confidence.value}",
            "open" if answer.status is None else answer.status.value,
        ),
        f"    {explain_grade(graded)}",
    ]
    rows += [f"    {reason.value}: {explain_reason(reason)}" for reason in answer.reasons]
    if answer.resolution is not None:
        rows.append(f"    {_deadline(answer.resolution)}")
    return "\n".join(rows)


def _deadline(resolved: Resolved) -> str:
    said = f"{resolved.outcome.value}: {explain_deadline(resolved.outcome)}"
    if resolved.seconds is not None:
        said += f" ({resolved.seconds} s)"
    if resolved.on_deadline is not None:
        said += f"; {resolved.on_deadline.value}: {explain_policy(resolved.on_deadline)}"
    return said


def _text(text: str) -> str:
    """Return foreign text as it may reach a terminal: what is not printable is escaped."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
