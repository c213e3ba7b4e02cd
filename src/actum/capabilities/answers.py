# SPDX-License-Identifier: Apache-2.0
"""What functions of somebody else's answer is taken only in the shape they declared; all else says nothing.

Rules
1. An action's result that cannot be kept becomes a word that says so: the effect has happened already.
2. A verifier that answers other members than are expected, or one of another kind (a text where a number is expected),
   has not seen the world the expectation speaks of. Null stands for what is not there and is of every kind.
3. A function that would return before it ran (``async def``, a generator) is refused where it is declared.
4. What names things (recipients, destinations, what is touched) is a list of texts, or the proposal is refused: a
   single text would be taken apart into its letters.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, cast

from actum.model import foreign
from actum.model.errors import UsageError, a_kind
from actum.model.strict_json import ForeignNumber, JsonRefused

Expect = Mapping[str, Any] | Callable[..., Any]
NO_JSON = "no_json"
_NAMES = ("__name__", "__qualname__", "__module__")


def kept_result(result: dict[str, object]) -> dict[str, object]:
    """Return a result, or ``{"no_json": why}`` where it cannot be kept or sent to a verifier. Never raises."""
    # Rule 1
    try:
        foreign.encode_foreign(result)
    except JsonRefused as error:
        return {NO_JSON: error.message}
    except Exception as error:  # Whatever a value of somebody else's does, the effect has happened.
        return {NO_JSON: f"it cannot be written: {type(error).__name__}"}
    return result


def expected_of(expect: Expect | None, arguments: Mapping[str, object]) -> object:
    """Return the value that must be seen for these arguments."""
    return expect(**arguments) if callable(expect) else dict(expect or {})


def misfit(value: object, expected: object) -> str | None:
    """Return why an answer cannot be compared with what is expected, or None where the members are the same."""
    # Rule 2
    if not isinstance(expected, dict):
        return "the action expects no object, so nothing could be compared"
    wanted = cast("dict[object, object]", expected)
    if not isinstance(value, dict):
        return f"the verifier answered {a_kind(value)}, not an object with {_names(wanted)}"
    answered = cast("dict[object, object]", value)
    if answered.keys() != wanted.keys():
        return f"the verifier answered {_names(answered)}, not {_names(wanted)}"
    for name, want in wanted.items():
        kinds = _kind(answered[name]), _kind(want)
        if None not in kinds and kinds[0] != kinds[1]:
            return f"the verifier answered {str(name)[:40]} as {kinds[0]}, and {kinds[1]} is expected"
    return None


def _kind(value: object) -> str | None:
    """Return the kind of a JSON value in words, or None for null and for what is no JSON."""
    match value:
        case bool():
            return "true or false"
        case str():
            return "a text"
        case int() | float() | Decimal() | ForeignNumber():
            return "a number"
        case dict():
            return "an object"
        case list() | tuple():
            return "a list"
        case _:
            return None


def no_texts(named: object) -> str | None:
    """Return why this is no list of texts, or None where it is one: a descriptor holds nothing else."""
    # Rule 4
    if not isinstance(named, list | tuple):
        return f"gave {a_kind(named)}, not a list of texts"
    for one in cast("list[object]", named):
        if not isinstance(one, str):
            return f"gave a list with {a_kind(one)} in it, not a list of texts"
    return None


def require_plain(function: object, *, role: str, named: bool = False) -> None:
    """Raise UsageError ``function_unusable`` for what no call can run to its end (rule 3)."""
    why = None
    if not callable(function):
        why = f"{type(function).__name__} cannot be called"
    elif named and not all(isinstance(getattr(function, name, None), str) for name in _NAMES):
        why = "it has no name; it is no function written with def"
    else:
        called = function if inspect.isroutine(function) else type(function).__call__
        for test, kind in (
            (inspect.iscoroutinefunction, "an async function"),
            (inspect.isasyncgenfunction, "an async generator"),
            (inspect.isgeneratorfunction, "a generator"),
        ):
            if test(function) or test(called):
                why = f"it is {kind}, whose call returns before anything ran"
    if why is not None:
        raise UsageError(
            "function_unusable",
            failed=f"{getattr(function, '__name__', 'this')!r} cannot be the {role}: {why}",
            state="Nothing was registered",
            next_step="Write a plain `def` that returns when it has ended; call asyncio.run in it to await something",
        )


def _names(members: Mapping[object, object]) -> str:
    shown = ", ".join(sorted(str(name)[:40] for name in list(members)[:8]))
    return f"the members {shown}" if shown else "no members"
