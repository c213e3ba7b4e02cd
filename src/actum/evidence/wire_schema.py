# SPDX-License-Identifier: Apache-2.0
"""A malformed member has one first fault, with a code and the JSON Pointer of its place.

A quick typed decoder says that something is wrong; these checks say what. They walk a value member by member
in the order it was written, unknown members where they stand, missing ones last. Codes: type, missing,
unknown_field, enum, format.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterator, Mapping
from typing import cast

import msgspec

from actum.model.rfc3339 import parse_instant
from actum.model.strict_json import pointer


class Fault(msgspec.Struct, frozen=True):
    """Why a value was not read: a stable code, the JSON Pointer of the place, and a sentence."""

    code: str
    path: str
    message: str


Check = Callable[[object, str], Iterator[Fault]]


def text(value: object, path: str) -> Iterator[Fault]:
    """Any text."""
    if not isinstance(value, str):
        yield Fault("type", path, f"this must be text, not {kind_of(value)}")


def formed(pattern: str, what: str) -> Check:
    """Return the check for text of one form; `what` names the form."""
    form = re.compile(pattern, re.ASCII | re.DOTALL)

    def check(value: object, path: str) -> Iterator[Fault]:
        if not isinstance(value, str):
            yield Fault("type", path, f"this must be text, not {kind_of(value)}")
        elif form.fullmatch(value) is None:
            yield Fault("format", path, f"this must be {what}")

    return check


def instant(value: object, path: str) -> Iterator[Fault]:
    """A time of RFC 3339 with an offset."""
    if not isinstance(value, str):
        yield Fault("type", path, f"this must be text, not {kind_of(value)}")
    elif parse_instant(value) is None:
        yield Fault("format", path, "this must be an RFC 3339 time with an offset")


def one_of(closed: type[enum.Enum]) -> Check:
    """Return the check for a value of a closed enum."""
    values = [str(member.value) for member in closed]

    def check(value: object, path: str) -> Iterator[Fault]:
        if not isinstance(value, str):
            yield Fault("type", path, f"this must be text, not {kind_of(value)}")
        elif value not in values:
            yield Fault("enum", path, f"this must be one of {', '.join(values)}")

    return check


def record(members: Mapping[str, Check], *, required: tuple[str, ...] = ()) -> Check:
    """Return the check for an object with these members; a null member counts as absent."""

    def check(value: object, path: str) -> Iterator[Fault]:
        if not isinstance(value, dict):
            yield Fault("type", path, f"this must be an object, not {kind_of(value)}")
            return
        found = cast("dict[str, object]", value)
        for name, member in found.items():
            below = pointer(path, name)
            if name not in members:
                yield Fault("unknown_field", below, "no such member exists")
            elif member is not None:
                yield from members[name](member, below)
        for name in required:
            if found.get(name) is None:
                yield Fault("missing", pointer(path, name), "this member is required")

    return check


def each(item: Check) -> Check:
    """Return the check for a list whose every element passes `item`."""

    def check(value: object, path: str) -> Iterator[Fault]:
        if not isinstance(value, list):
            yield Fault("type", path, f"this must be a list, not {kind_of(value)}")
            return
        for index, member in enumerate(cast("list[object]", value)):
            yield from item(member, pointer(path, index))

    return check


def kind_of(value: object) -> str:
    """Return the JSON name of a value's kind."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "text"
        case dict():
            return "an object"
        case list():
            return "a list"
        case _:
            return "a number"
