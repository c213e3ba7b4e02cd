# SPDX-License-Identifier: Apache-2.0
"""A process file's problems are told all at once, each with its place in the file and what was expected."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

import msgspec

from actum.model.errors import UsageError

SHOWN_MAX = 60


class Problem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One problem or finding. Line and column count from 1; ``pointer`` is the JSON Pointer in the file."""

    path: str
    line: int
    column: int
    pointer: str
    code: str
    message: str
    expected: str = ""
    got: str = ""

    def __str__(self) -> str:
        tail = f" (expected {self.expected})" if self.expected else ""
        return f"{self.path}:{self.line}:{self.column}: {self.code}: {self.message}{tail}"


class ProcessFileError(UsageError):
    """A process file was refused; ``problems`` holds every reason, in the order of the file."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda one: (one.path, one.line, one.column, one.code)))
        first = self.problems[0]
        more = f" and {len(self.problems) - 1} more" if len(self.problems) > 1 else ""
        super().__init__(
            "process_file_refused",
            failed=f"The process file does not load: {first}{more}",
            state="No process was compiled or activated from it",
            next_step="Correct the file at each place named and load it again",
            path=first.path,
            problems=len(self.problems),
            first_code=first.code,
        )

    def told_as(self, code: str, *, failed: str, state: str, next_step: str) -> ProcessFileError:
        """Return this error as one of a command that it stopped, with all its problems."""
        made = ProcessFileError(self.problems)
        UsageError.__init__(made, code, failed=failed, state=state, next_step=next_step)
        return made

    def to_json(self) -> dict[str, object]:
        """Return the error with all its problems."""
        return {**super().to_json(), "problems": [msgspec.to_builtins(one) for one in self.problems]}


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where something stands in a file: line and column from 1, and the JSON Pointer."""

    line: int
    column: int
    pointer: str


class Report:
    """Collects problems, which refuse the file, and findings, which are only shown."""

    __slots__ = ("findings", "path", "problems")

    def __init__(self, path: str) -> None:
        self.path = path
        self.problems: list[Problem] = []
        self.findings: list[Problem] = []

    def problem(self, place: Place, code: str, message: str, *, expected: str = "", got: str = "") -> None:
        """Add a reason to refuse the file."""
        self.problems.append(self._entry(place, code, message, expected, got))

    def finding(self, place: Place, code: str, message: str, *, expected: str = "", got: str = "") -> None:
        """Add something the author should know."""
        self.findings.append(self._entry(place, code, message, expected, got))

    def _entry(self, place: Place, code: str, message: str, expected: str, got: str) -> Problem:
        return Problem(
            path=self.path,
            line=place.line,
            column=place.column,
            pointer=place.pointer,
            code=code,
            message=message,
            expected=expected,
            got=shorten(got),
        )


def shorten(text: str) -> str:
    """Return at most `SHOWN_MAX` characters of foreign text, printable on one line."""
    shown = text.encode("unicode_escape").decode("ascii") if not text.isprintable() else text
    return shown if len(shown) <= SHOWN_MAX else shown[: SHOWN_MAX - 1] + "…"


def suggest(word: str, known: Iterable[str]) -> str:
    """Return a sentence that names the known word nearest to a misspelt one, or nothing."""
    near = difflib.get_close_matches(word[:100], list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""
