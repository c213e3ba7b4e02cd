# SPDX-License-Identifier: Apache-2.0
"""What a caller gives is of the kind it must be, or refused in three sentences before anything is done.

Rules
1. A value outside a closed set is refused with the set.
2. A number is a whole number and not below zero; true and false are none.
3. A flag is True or False: a text such as "no" would count as true.
4. Questions are named by their ids, each once: one text, or a list of them.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import TypeVar, cast

from actum.capabilities.answers import no_texts
from actum.model.errors import UsageError, a_kind
from actum.model.visible import visible
from actum.model.work import Submission

E = TypeVar("E", bound=enum.Enum)


def one_of(kind: type[E], value: object) -> E:
    """Return the member of a closed set; UsageError ``argument_malformed`` for anything else."""
    # Rule 1
    try:
        return kind(value)
    except ValueError:
        allowed = ", ".join(str(member.value) for member in kind)
        raise _malformed(f"{value!r} is no {kind.__name__}", f"Give one of {allowed}") from None


def number(value: object, *, name: str) -> int:
    """Return a whole number from zero on."""
    # Rule 2
    if type(value) is not int or value < 0:
        raise _malformed(f"{name} is {value!r}", f"Give {name} as a whole number, not below zero")
    return value


def flag(value: object, *, name: str) -> bool:
    """Return true or false; what only counts as one of them is none."""
    # Rule 3
    if type(value) is not bool:
        raise _malformed(f"{name} is {value!r}", f"Give {name} as True or False")
    return value


def text(value: object, *, name: str) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise _malformed(f"{name} is {a_kind(value)}", f"Give {name} as text")
    return value


def texts(value: object, *, name: str) -> tuple[str, ...]:
    """Return a list of texts; one text alone is none, because it would be taken for its letters."""
    why = no_texts(value)
    if why is not None:
        raise _malformed(f"{name} {why}", f"Give {name} as a list of texts")
    return tuple(cast("list[str]", value))


def ids(value: object) -> list[str]:
    """Return the ids of questions."""
    # Rule 4
    if isinstance(value, str):
        return [value]
    why = _malformed(f"the questions are {a_kind(value)}", "Give the id of a question, or a list of ids")
    if not isinstance(value, Iterable) or isinstance(value, Mapping | bytes):
        raise why
    found = list(cast("Iterable[object]", value))
    for one in found:
        if not isinstance(one, str):
            raise _malformed(
                f"an id is {a_kind(one)}", "Give ids as text, such as turn.question_ids() returns"
            )
        if found.count(one) > 1:
            raise _malformed(f"the id {visible(one)} is given twice", "Name each question once")
    return cast("list[str]", found)


def path(value: object, *, name: str) -> Path:
    """Return a path."""
    if not isinstance(value, str | PathLike):
        raise _malformed(f"{name} is {a_kind(value)}", f"Give {name} as a path or a text")
    return Path(cast("str | PathLike[str]", value))


def members(value: object, *, name: str) -> dict[str, object]:
    """Return a fresh dict of a mapping."""
    if not isinstance(value, Mapping):
        raise _malformed(f"{name} is {a_kind(value)}", f"Give {name} as a mapping of names to values")
    return dict(cast("Mapping[str, object]", value))


def named_texts(value: object, *, name: str) -> dict[str, str]:
    """Return a fresh dict of a mapping of texts to texts."""
    found = members(value, name=name)
    for member, one in found.items():
        text(member, name=f"a name in {name}")
        text(one, name=f"{name}[{member!r}]")
    return cast("dict[str, str]", found)


def submission(value: object) -> Submission:
    """Return a submission."""
    if not isinstance(value, Submission):
        raise _malformed(f"a submission is {a_kind(value)}", "Give actum.model.work.Submission objects")
    return value


def _malformed(failed: str, next_step: str) -> UsageError:
    return UsageError(
        "argument_malformed", failed=failed, state="Nothing was stored or changed", next_step=next_step
    )
