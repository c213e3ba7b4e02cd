# SPDX-License-Identifier: Apache-2.0
"""One value has one sequence of bytes, and what has no such sequence is refused.

The own profile is RFC 8785 restricted: text, integers within +/-(2^53-1), booleans, null, lists, objects
with ASCII keys, frozen records and closed enums; no floats, at most `MAX_DEPTH` levels. Inside it a sorted
msgspec encoder is byte-identical to RFC 8785 (the oracle test in `tests/property` holds it to that) and far
quicker. Foreign JSON (arguments, results, subjects) has its own module, `actum.model.foreign`, whose
entry points are repeated here.

This module does not say that a value is true or complete, only that it is written one way.
"""

from __future__ import annotations

import enum
import hashlib
import re
from collections.abc import Collection
from typing import Any, TypeVar, cast, overload

import msgspec
from msgspec.structs import astuple

from actum.model.errors import CorruptRecordError, UsageError
from actum.model.foreign import decode_foreign, digest_foreign, encode_foreign
from actum.model.strict_json import MAX_DEPTH, ForeignNumber, JsonRefused, parse_foreign

MAX_SAFE_INTEGER = 2**53 - 1

T = TypeVar("T")

_encoder = msgspec.json.Encoder(order="sorted")
_digest_form = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)

# Exact types whose every value has canonical bytes. Enum classes join once all their members were checked;
# integers are leaves too, their range is checked where they stand.
_leaves: set[type] = {str, bool, type(None), int}
_records: set[type] = set()


def encode(value: object) -> bytes:
    """Return the canonical bytes of a value of the own profile.

    `value` is a Struct, dict, list, tuple, str, int, bool, None or Enum, nested at most `MAX_DEPTH` deep.
    Raises UsageError `not_canonical` for anything else: floats, bytes, sets, times, Decimal, big integers,
    keys that are not ASCII text, lone surrogates.
    """
    kind = type(value)
    if kind not in _leaves or kind is int:
        _check_members((value,), 0)
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError as error:
        raise _refuse("text holds a lone surrogate") from error


def digest(value: object) -> str:
    """Return `sha256:` and the 64 lower hex digits of the SHA-256 of `encode(value)`."""
    return "sha256:" + hashlib.sha256(encode(value)).hexdigest()


def digest_bytes(data: bytes) -> str:
    """Return `sha256:` and the 64 lower hex digits of the SHA-256 of `data` as it stands."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def is_digest(text: object) -> bool:
    """Tell whether `text` has the one written form of a digest; it does not say of what."""
    return type(text) is str and _digest_form.fullmatch(text) is not None


def check_digest(text: object) -> str:
    """Return `text` unchanged if it has the form of a digest; raise UsageError `not_a_digest` otherwise."""
    if not is_digest(text):
        raise UsageError(
            "not_a_digest",
            failed=f"{str(text)[:80]!r} is not a digest",
            state="Nothing was read or changed",
            next_step="Give sha256: followed by 64 lower-case hex digits",
        )
    return cast(str, text)


@overload
def decode_strict(data: bytes) -> Any: ...
@overload
def decode_strict(data: bytes, kind: type[T]) -> T: ...


def decode_strict(data: bytes, kind: Any = Any) -> Any:
    """Return the value whose canonical bytes are exactly `data`.

    With `kind`, the value is decoded as that record. Raises CorruptRecordError `not_canonical_bytes` where
    the bytes are no JSON, are of another shape, or differ in any byte from their own canonical form; that
    one comparison also closes duplicate keys, NaN, big integers, surrogates and a byte order mark.
    """
    try:
        value = msgspec.json.decode(data, type=kind)
        again = encode(value)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, UsageError) as error:
        raise _corrupt(f"it is not a readable own record ({type(error).__name__})") from error
    if again != data:
        raise _corrupt("its bytes are not the canonical ones of the value they hold")
    return value


def _check_members(values: Collection[object], depth: int) -> None:
    # One pass in C over the types settles a flat record; only nested values cost a Python step each.
    kinds = set(map(type, values))
    if int in kinds:
        for value in values:
            if type(value) is int and not -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
                raise _refuse("an integer lies outside +/-(2^53-1); write it as text")
    if kinds <= _leaves:
        return
    for value in values:
        if type(value) not in _leaves:
            _check_nested(value, depth)


def _check_nested(value: object, depth: int) -> None:
    kind = type(value)
    if isinstance(value, enum.Enum):
        _check_enum_class(type(value))
        return
    if depth >= MAX_DEPTH:
        raise _refuse(f"it has more than {MAX_DEPTH} levels")
    if kind is dict:
        members = cast("dict[object, object]", value)
        if members:
            if set(map(type, members)) != {str}:
                raise _refuse("an object has a key that is not text")
            if not "".join(cast("dict[str, object]", members)).isascii():
                raise _refuse("an object has a key that is not ASCII")
        _check_members(members.values(), depth + 1)
    elif kind is list or kind is tuple:
        _check_members(cast("list[object]", value), depth + 1)
    elif isinstance(value, msgspec.Struct):
        if kind not in _records:
            _check_record_class(type(value))
        _check_members(astuple(value), depth + 1)
    else:
        raise _refuse(f"a value of type {kind.__name__} has no canonical bytes")


def _check_record_class(kind: type[msgspec.Struct]) -> None:
    if kind.__struct_config__.array_like:
        raise _refuse(f"the record {kind.__name__} is written as a list")
    names = "".join(kind.__struct_encode_fields__) + str(kind.__struct_config__.tag_field or "")
    if not names.isascii():
        raise _refuse(f"the record {kind.__name__} has a field name that is not ASCII")
    _records.add(kind)


def _check_enum_class(kind: type[enum.Enum]) -> None:
    # A Flag is open: its combinations are values that no list of members shows.
    if issubclass(kind, enum.Flag):
        raise _refuse(f"the enum {kind.__name__} is not closed")
    for member in kind:
        if type(member.value) is not str and type(member.value) is not int:
            raise _refuse(f"the enum {kind.__name__} has a value that is neither text nor an integer")
        _check_members((member.value,), 0)
    _leaves.add(kind)


def _refuse(why: str) -> UsageError:
    return UsageError(
        "not_canonical",
        failed=f"A value cannot be written canonically: {why}",
        state="Nothing was written or digested",
        next_step="Write numbers with fractions as text and keep foreign JSON behind its digest",
    )


def _corrupt(why: str) -> CorruptRecordError:
    return CorruptRecordError(
        "not_canonical_bytes",
        failed=f"A stored record does not hold: {why}",
        state="The record was not used",
        next_step="Compare it with its digest and restore it from a copy that holds",
    )


__all__ = [
    "MAX_DEPTH",
    "MAX_SAFE_INTEGER",
    "ForeignNumber",
    "JsonRefused",
    "check_digest",
    "decode_foreign",
    "decode_strict",
    "digest",
    "digest_bytes",
    "digest_foreign",
    "encode",
    "encode_foreign",
    "is_digest",
    "parse_foreign",
]
