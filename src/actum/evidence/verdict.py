# SPDX-License-Identifier: Apache-2.0
"""A verdict is six separate answers, and each may be that the thing is not established.

No answer is derived from another one: an intact file may have an unknown signer, and a trusted signer may
have written down an effect that nobody saw. `contradicted` means that the evidence says otherwise, which is
worse than its absence.
"""

from __future__ import annotations

import enum

import msgspec

MAX_PROBLEMS = 50
MAX_NAMES = 20


class Aspect(enum.Enum):
    """What is asked of a bundle, one question each."""

    INTACT = "intact"
    SIGNER = "signer"
    ALLOWED = "allowed"
    OBSERVED = "observed"
    COMPLETE = "complete"
    ANCHORED = "anchored"


class State(enum.Enum):
    """How one question was answered."""

    ESTABLISHED = "established"
    NOT_ESTABLISHED = "not_established"
    CONTRADICTED = "contradicted"


DEFAULT_REQUIRE = frozenset({Aspect.INTACT, Aspect.SIGNER, Aspect.COMPLETE})


class Finding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One answer: a sentence for a person, and by whom, where that is the point."""

    aspect: Aspect
    state: State
    sentence: str
    by: tuple[str, ...] = ()


class Problem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that contradicts the record: a stable code, the line from 1, and a sentence."""

    aspect: Aspect
    code: str
    line: int
    sentence: str


class Verdict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole answer, computed over exactly `tree_size` leaves under `root`.

    `statuses` counts the newest receipt of each effect by the status its own looks leave it; `problems` are
    the first `MAX_PROBLEMS`. `could_hide` says what a rollback could still hide.
    """

    findings: tuple[Finding, ...]
    require: tuple[Aspect, ...]
    exit_code: int
    origin: str | None
    tree_size: int
    root: str | None
    receipts: int
    withheld: int
    statuses: dict[str, int]
    problems: tuple[Problem, ...]
    problem_count: int
    could_hide: str

    def finding(self, aspect: Aspect) -> Finding:
        """Return the answer to one question."""
        return next(finding for finding in self.findings if finding.aspect is aspect)


class Problems:
    """Collects what contradicts a bundle, and remembers only the first ones in full."""

    def __init__(self) -> None:
        self.first: list[Problem] = []
        self.count = 0
        self._aspects: dict[Aspect, Problem] = {}

    def add(self, aspect: Aspect, *, code: str, line: int, sentence: str) -> None:
        """Record one contradiction."""
        problem = Problem(aspect=aspect, code=code, line=line, sentence=sentence)
        self.count += 1
        self._aspects.setdefault(aspect, problem)
        if len(self.first) < MAX_PROBLEMS:
            self.first.append(problem)

    def finding(self, aspect: Aspect) -> Finding | None:
        """Return the contradicted answer to a question, or None where nothing spoke against it."""
        problem = self._aspects.get(aspect)
        if problem is None:
            return None
        where = f"line {problem.line}: " if problem.line else ""
        return Finding(aspect=aspect, state=State.CONTRADICTED, sentence=where + problem.sentence)


def exit_code(findings: tuple[Finding, ...], *, require: frozenset[Aspect]) -> int:
    """Return 4 where anything is contradicted, 0 where all that is required is established, else 3."""
    if any(finding.state is State.CONTRADICTED for finding in findings):
        return 4
    reached = {finding.aspect for finding in findings if finding.state is State.ESTABLISHED}
    return 0 if require <= reached else 3


def few(names: set[str]) -> tuple[str, ...]:
    """Return at most `MAX_NAMES` names, sorted, and how many more there are."""
    listed = sorted(names)
    more = len(listed) - MAX_NAMES
    return (*listed[:MAX_NAMES], f"and {more} more") if more > 0 else tuple(listed)


def count_of(number: int, thing: str) -> str:
    """Return `1 receipt` or `2 receipts`."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
