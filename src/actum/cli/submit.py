# SPDX-License-Identifier: Apache-2.0
"""`actum submit` stores work from a line, a file, standard input or a maildir; each item is accepted or reported.

Exit codes: 0 everything was accepted and stored; 1 something was refused; 2 something could not be read;
5 the environment; with --wait also 1 where a turn failed and 3 where one waits or its outcome is unknown.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

import click

from actum.adapters.intake.json_lines import LineFailure, read_lines
from actum.adapters.intake.maildir import IntakeFailure, is_maildir, read_maildir
from actum.cli import waiting
from actum.cli.opened import opened, store_options
from actum.cli.render import count_of, emit, worst
from actum.model.errors import ActumError, EnvironmentFault, Refused, UsageError
from actum.model.visible import visible
from actum.model.work import Submission
from actum.service.drafts import line_of, submit_spooled
from actum.service.submit import AGENT_WORK, Accepted

if TYPE_CHECKING:
    from actum.bootstrap import Kernel

CHUNK_ITEMS = 200
CHUNK_BYTES = 8 << 20
"""One commit takes this many items or bytes, whichever is reached first; memory holds one commit's worth."""
SHOWN_TURNS = 5
SHOWN_FAULTS = 20
"""Errors printed one by one; what is behind them is counted, so that a binary file does not flood a terminal."""


class Item(NamedTuple):
    """One thing that came in: where it stood, and the work in it or what is wrong with it."""

    place: str
    found: Submission | LineFailure | IntakeFailure


@click.command("submit")
@click.argument("source", default="-", metavar="[FILE|-|MAILDIR|'{...}']")
@click.option("--wait", is_flag=True, help="Then run what is due here, and tell how each turn stands.")
@store_options
def submit(source: str, *, wait: bool, store: str | None, who: str | None, as_json: bool) -> int:
    """Store work and decide it as far as the rules can.

    The source is a file of JSON Lines, one JSON object or a list of them, - for standard input, a maildir, or
    the object itself. A line is {"work_type": ..., "subject": {...}} with the optional members key, on_behalf_of
    and attachments. The same key again is the same work, and is not stored twice.
    """
    with opened(store, who) as kernel, ExitStack() as stack:
        tally = Tally(kernel, as_json=as_json, keep_turns=wait)
        for item in _items(source, stack):
            tally.add(item)
        tally.flush()
        tally.tell_untold()
        codes = [tally.code()]
        if tally.code() == 0:
            _remove_draft(source, kernel.place.drafts)
        if wait:
            codes.append(waiting.tell(kernel, waiting.wait_for(kernel, tally.turns), as_json=as_json))
        elif not as_json:
            tally.tell()
        return worst(codes)


class Tally:
    """Takes items in, stores them chunk by chunk, and counts; it keeps nothing of what it stored."""

    def __init__(self, kernel: Kernel, *, as_json: bool, keep_turns: bool) -> None:
        self._kernel = kernel
        self._as_json = as_json
        self._keep_turns = keep_turns
        self._waiting: list[tuple[str, Submission]] = []
        self._bytes = 0
        self._shows_progress = sys.stderr.isatty()
        self.stored = self.known = self.refused = self.unread = 0
        self._told = 0
        self._unknown: dict[str, str] = {}
        self.turns: list[str] = []
        self._codes: set[int] = set()

    def add(self, item: Item) -> None:
        """Take one item in; a full chunk is stored at once."""
        found = item.found
        if not isinstance(found, Submission):
            self._report(item.place, found)
            return
        self._waiting.append((item.place, found))
        self._bytes += len(line_of(found))
        if len(self._waiting) >= CHUNK_ITEMS or self._bytes >= CHUNK_BYTES:
            self.flush()

    def flush(self) -> None:
        """Store what was taken in."""
        chunk, self._waiting, self._bytes = self._waiting, [], 0
        if not chunk:
            return
        answers = submit_spooled(
            self._kernel.line, [found for _, found in chunk], drafts=self._kernel.place.drafts
        )
        for (place, found), answer in zip(chunk, answers, strict=True):
            if isinstance(answer, Accepted):
                self._accept(place, answer)
                self._note_unknown(found)
            else:
                self._refuse(place, answer)
        if self._shows_progress:
            click.echo(f"\r{count_of(self.stored + self.known, 'item')} stored", err=True, nl=False)

    def _accept(self, place: str, answer: Accepted) -> None:
        self.known += answer.known
        self.stored += not answer.known
        if self._keep_turns or len(self.turns) < SHOWN_TURNS:
            self.turns.append(answer.turn_id)
        if self._as_json:
            emit({"at": place, "work_item_id": answer.work_item_id, "turn_id": answer.turn_id,
                  "known": answer.known})  # fmt: skip

    def _note_unknown(self, found: Submission) -> None:
        named = found.subject.get("capability") if found.work_type == AGENT_WORK else None
        if isinstance(named, str) and len(self._unknown) < SHOWN_TURNS:
            capability = self._kernel.line.registry.find(named)
            if isinstance(capability, Refused):
                self._unknown[visible(named)] = str(capability.facts["nearest"])

    def _refuse(self, place: str, error: ActumError) -> None:
        self.refused += 1
        self._codes.add(error.exit_code)
        if self._as_json:
            emit({"at": place, "error": error.to_json()})
        else:
            click.echo(f"{place}: {error.code}: {visible(' '.join(error.sentences()))}", err=True)

    def _report(self, place: str, found: LineFailure | IntakeFailure) -> None:
        self.unread += 1
        self._codes.add(2)
        faults = (
            [{"code": one.code, "path": one.path, "message": one.message} for one in found.faults]
            if isinstance(found, LineFailure)
            else [{"code": found.code, "path": "", "message": found.message}]
        )
        if self._as_json:
            emit({"at": place, "error": {"code": "unreadable_item", "branch": "usage", "faults": faults}})
            return
        for fault in faults:
            self._told += 1
            if self._told > SHOWN_FAULTS:
                return
            at = f" at {fault['path']}" if fault["path"] else ""
            click.echo(f"{place}: {fault['code']}{visible(at)}: {visible(fault['message'])}", err=True)

    def code(self) -> int:
        """Return the exit code of what came in."""
        return worst(self._codes)

    def tell_untold(self) -> None:
        """Say what of this agent's actions does not exist here, and how many errors were not printed."""
        if self._told > SHOWN_FAULTS and not self._as_json:
            click.echo(f"and more errors: {count_of(self.unread, 'item')} could not be read", err=True)
        for capability, nearest in self._unknown.items():
            near = f"; the nearest: {nearest}" if nearest else ""
            click.echo(f"There is no capability {capability} here{near}.", err=True)

    def tell(self) -> None:
        """Say how much was stored, how the first turns stand, and what to do next."""
        if self._shows_progress:
            click.echo("", err=True)
        parts = [f"{count_of(self.stored, 'item')} stored"]
        parts += [f"{self.known:,} known already"] if self.known else []
        parts += [f"{self.refused:,} refused"] if self.refused else []
        parts += [f"{self.unread:,} not readable"] if self.unread else []
        click.echo(", ".join(parts) + ".")
        if not self.turns:
            return
        waiting.show_turns(self._kernel, self.turns)
        more = self.stored + self.known - len(self.turns)
        if more > 0:
            click.echo(f"and {more:,} more: actum activity")


def _items(source: str, stack: ExitStack) -> Iterator[Item]:
    if source.lstrip().startswith(("{", "[")) and not os.path.exists(source[:4096]):
        return _lines(io.BytesIO(_document(source)), name="argument")
    if source == "-":
        if sys.stdin.isatty():
            click.echo("Reading work item lines from the terminal; end with Ctrl-D.", err=True)
        return _lines(sys.stdin.buffer, name="line")
    if os.path.isdir(source):
        return _messages(source)
    return _lines(stack.enter_context(_open(source)), name="line")


def _document(source: str) -> bytes:
    """Return the work given as an argument in the form of a file: a list has its bracket on a line of its own."""
    text = source.strip()
    if not text.startswith("["):
        return source.encode()
    if not text[1:].rstrip("]").strip():
        raise UsageError(
            "nothing_to_submit",
            failed="the list is empty",
            state="Nothing was read or stored",
            next_step="Put at least one work item into it",
        )
    return b"[\n" + text[1:].encode()


def _lines(stream: BinaryIO, *, name: str) -> Iterator[Item]:
    counted = _Counted(stream)
    for found in read_lines(cast(BinaryIO, counted)):
        number = found.line if isinstance(found, LineFailure) else counted.lines
        yield Item(name if name == "argument" else f"{name} {number}", found)


def _messages(folder: str) -> Iterator[Item]:
    if not is_maildir(folder):
        raise UsageError(
            "no_maildir",
            failed=f"{folder} is a folder without new/ and cur/, so it is no maildir",
            state="Nothing was read or stored",
            next_step="Give a maildir, a file of work item lines, or - for standard input",
        )
    for number, found in enumerate(read_maildir(folder), start=1):
        yield Item(found.path if isinstance(found, IntakeFailure) else f"message {number}", found)


class _Counted:
    """A stream that counts the lines that were read from it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.lines = 0

    def readline(self, size: int = -1) -> bytes:
        line = self._stream.readline(size)
        # A line that fills the bound is read in pieces; only its end is a line.
        self.lines += bool(line) and (line.endswith(b"\n") or len(line) < size)
        return line

    def read(self, size: int = -1) -> bytes:
        return self._stream.read(size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _open(path: str) -> BinaryIO:
    try:
        return open(path, "rb")
    except FileNotFoundError as error:
        raise UsageError(
            "no_such_file",
            failed=f"there is no file {path!r}",
            state="Nothing was read or stored",
            next_step="Give the path of a file, - for standard input, a maildir, or the object itself",
        ) from error
    except OSError as error:
        raise EnvironmentFault(
            "unreadable_file",
            failed=f"{path} cannot be read: {error.strerror}",
            state="Nothing was read or stored",
            next_step="Make the file readable for this user and try again",
        ) from error


def _remove_draft(source: str, drafts: Path) -> None:
    """Remove a draft that was submitted again and accepted whole."""
    if source != "-" and Path(source[:4096]).parent.resolve() == drafts.resolve():
        Path(source).unlink(missing_ok=True)
