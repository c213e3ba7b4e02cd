# SPDX-License-Identifier: Apache-2.0
"""Every error says what failed, what state you are in now, and what to do next.

The hierarchy has one branch for each party that must act::

    ActumError
    ├── UsageError            the caller asked for something malformed          exit 2
    ├── RefusedError          a policy or a person said no                      exit 1
    ├── EnvironmentFault      database, disk, network, runtime                  exit 5
    └── CorruptRecordError    evidence does not hold, a record was altered      exit 4
    InvariantViolation        a defect of Actum itself: stop                    exit 70

The kernel never raises one of the four branches: it returns `Refused`, and a shell turns that into a
`RefusedError`. An outcome that nobody knows is a value (`indeterminate`), never an exception.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec


class Refused(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A refusal is a value: a stable reason code and the facts a person needs to act on it."""

    reason: str
    facts: dict[str, str] = {}


class InvariantViolation(Exception):
    """A rule that Actum itself must keep does not hold; nobody but its authors can act on this.

    It is deliberately no `ActumError`: code that handles refusals must not swallow it.
    """

    exit_code: ClassVar[int] = 70

    def __init__(self, invariant: str, **facts: object) -> None:
        self.invariant = invariant
        self.facts: dict[str, str] = {name: str(value) for name, value in facts.items()}
        super().__init__(invariant, self.facts)

    def __str__(self) -> str:
        shown = ", ".join(f"{name}={value}" for name, value in self.facts.items())
        return f"invariant broken: {self.invariant}" + (f" ({shown})" if shown else "")


class ActumError(Exception):
    """Something a person can act on; `code` is stable, the three sentences are for reading.

    `failed`, `state` and `next_step` are one sentence each, without a final full stop being required.
    `facts` are the fields behind the sentences, all text, for `--json` and for tests.
    """

    exit_code: ClassVar[int] = 70
    branch: ClassVar[str] = "error"

    def __init__(self, code: str, *, failed: str, state: str, next_step: str, **facts: object) -> None:
        self.code = code
        self.failed = failed
        self.state = state
        self.next_step = next_step
        self.facts: dict[str, str] = {name: str(value) for name, value in facts.items()}
        super().__init__(code, failed)

    def sentences(self) -> tuple[str, str, str]:
        """Return what failed, the state now, and the next step, each as a closed sentence."""
        return (_sentence(self.failed), _sentence(self.state), _sentence(self.next_step))

    def __str__(self) -> str:
        return " ".join(self.sentences())

    def to_json(self) -> dict[str, object]:
        """Return the shape every surface prints under `error`: code, branch, sentences and facts."""
        failed, state, next_step = self.sentences()
        return {
            "code": self.code,
            "branch": self.branch,
            "failed": failed,
            "state": state,
            "next_step": next_step,
            "facts": dict(self.facts),
        }


class UsageError(ActumError):
    """The caller asked for something that cannot be read or does not exist as an option."""

    exit_code = 2
    branch = "usage"


class RefusedError(ActumError):
    """A policy or a person said no; repeating the same call does not help."""

    exit_code = 1
    branch = "refused"

    @classmethod
    def from_refused(cls, refused: Refused, *, failed: str, state: str, next_step: str) -> RefusedError:
        """Return the error a shell raises for a refusal that the kernel returned."""
        error = cls(refused.reason, failed=failed, state=state, next_step=next_step)
        error.facts = dict(refused.facts)
        return error


class EnvironmentFault(ActumError):
    """The database, the disk, the network or a runtime did not do its part."""

    exit_code = 5
    branch = "environment"


class CorruptRecordError(ActumError):
    """A stored or received record does not hold: its bytes, digest or signature disagree."""

    exit_code = 4
    branch = "corrupt_record"


def _sentence(text: str) -> str:
    stripped = text.strip()
    return stripped if stripped.endswith((".", "?", "!")) else stripped + "."


def a_kind(value: object) -> str:
    """Return what kind of Python value this is, with its article: `an int`, `a list`, `None`."""
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"
