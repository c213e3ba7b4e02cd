# SPDX-License-Identifier: Apache-2.0
"""What functions of somebody else's answer is taken only in the shape they declared; all else says nothing.

Rules
1. An action's result that cannot be kept becomes a word that says so: the effect has happened already.
2. A verifier that answers other members than are expected, or one of another kind (a text where a number is expected),
   has not seen the world the expectation speaks of. Null is of every kind: it stands for what is not there, and as
   well for what an error page did not say, so an answer that holds one proves no absence.
3. A function that would return before it ran (``async def``, a generator) is refused where it is declared.
4. What names things (recipients, destinations, what is touched) is a list of texts, or the proposal is refused: a
   single text would be taken apart into its letters.
5. Arguments go to functions by name, so an action has named parameters only, and whatever is asked about its arguments
   takes the same ones. A verifier is offered ``before`` and ``result`` too: no parameter of an action is called so.
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
OFFERED = ("before", "result")
"""What a verifier is offered beside the arguments, where it takes a parameter of that name."""
_NAMES = ("__name__", "__qualname__", "__module__")


def kept_result(result: dict[str, object]) -> dict[str, object]:
    """Return a result, or ``{"no_json": why}`` where it cannot be kept or sent to a verifier. Never raises."""
    # Rule 1
    try:
        return foreign.plain_copy(result)
    except JsonRefused as error:
        return {NO_JSON: error.message}
    except Exception as error:  # Whatever a value of somebody else's does, the effect has happened.
        return {NO_JSON: f"it cannot be written: {type(error).__name__}"}


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


def holds_null(value: object, expected: object) -> bool:
    """Tell whether an answer has a null where something else is expected (rule 2)."""
    if isinstance(value, dict):
        wanted = cast("dict[object, object]", expected) if isinstance(expected, dict) else {}
        members = cast("dict[object, object]", value).items()
        return any(holds_null(member, wanted.get(name, "")) for name, member in members)
    if isinstance(value, list | tuple):
        parts = cast("list[object]", expected) if isinstance(expected, list | tuple) else []
        items = cast("list[object]", value)
        return any(
            holds_null(item, parts[index] if index < len(parts) else "") for index, item in enumerate(items)
        )
    return value is None and expected is not None


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
        raise _unusable(
            function,
            role=role,
            why=why,
            next_step="Write a plain `def` that returns when it has ended; call asyncio.run in it to await something",
        )


def require_named(function: Callable[..., Any], *, role: str) -> inspect.Signature:
    """Return an action's parameters; UsageError ``function_unusable`` where one cannot be given by name (rule 5)."""
    signature = inspect.signature(function)
    odd = [
        f"{'*' if one.kind is one.VAR_POSITIONAL else '**' if one.kind is one.VAR_KEYWORD else ''}{one.name}"
        for one in signature.parameters.values()
        if one.kind not in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
    ]
    taken = [name for name in OFFERED if name in signature.parameters]
    why = ""
    if odd:
        why = f"its arguments are stored and given by name, and {', '.join(odd)} has none"
    elif taken:
        why = f"a verifier is offered {' and '.join(OFFERED)} beside the arguments, so {taken[0]} is no name for one"
    if why:
        raise _unusable(
            function,
            role=role,
            why=why,
            next_step="Give each parameter a name of its own that callers can use",
        )
    return signature


def require_takes(
    function: object, taken: inspect.Signature, *, role: str, offered: tuple[str, ...] = ()
) -> None:
    """Raise UsageError ``function_unusable`` where a function cannot be called with an action's arguments (rule 5)."""
    if not callable(function):
        raise _unusable(function, role=role, why=f"{a_kind(function)} cannot be called")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # Something written in C does not say what it takes.
    given = [*taken.parameters, *(name for name in offered if name in signature.parameters)]
    try:
        signature.bind(**dict.fromkeys(given))
    except TypeError as error:
        raise _unusable(
            function,
            role=role,
            why=f"it is called with {', '.join(f'{name}=' for name in given) or 'nothing'}: {error}",
            next_step=f"Write it to take {taken}",
        ) from error


def _unusable(
    function: object, *, role: str, why: str, next_step: str = "Write it as a plain `def`"
) -> UsageError:
    return UsageError(
        "function_unusable",
        failed=f"{getattr(function, '__name__', 'this')!r} cannot be the {role}: {why}",
        state="Nothing was registered",
        next_step=next_step,
    )


def _names(members: Mapping[object, object]) -> str:
    shown = ", ".join(sorted(str(name)[:40] for name in list(members)[:8]))
    return f"the members {shown}" if shown else "no members"
