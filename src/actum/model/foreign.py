# SPDX-License-Identifier: Apache-2.0
"""Foreign JSON has canonical bytes of its own, in which every number keeps the text it came with.

In memory a foreign value is None, bool, str, `ForeignNumber`, list or dict. In canonical bytes a number is
`{"$num": "TEXT"}`, so 1 and 1.0 are different arguments; a foreign object whose only member is `$num` or
`$obj` is wrapped as `{"$obj": {...}}`, so the writing has an inverse. Keys are ordered by UTF-16 code units,
as RFC 8785 says. Equality of digests is equality of what was written, not of what it means.
"""

from __future__ import annotations

import hashlib
from decimal import Decimal
from math import isfinite
from typing import Any, cast

import msgspec

from actum.model.errors import a_kind
from actum.model.strict_json import (
    MAX_DEPTH,
    ForeignNumber,
    JsonRefused,
    is_text,
    parse_foreign,
    pointer,
    trusted_number,
)

# What a foreign value may be; recursive, so written as object in signatures.
Foreign = object

_TEXT = {str}
_QUICK_INT = 10**18
# A wrapped object has two levels in canonical bytes, and a number one more than its own.
_WRITTEN_DEPTH = 2 * MAX_DEPTH + 1
_keeps_order = msgspec.json.Encoder(order=None)
_any = msgspec.json.Decoder()


def from_plain(value: object, *, path: str = "") -> Any:
    """Return the foreign form of a Python value (int, finite float, Decimal, str, bool, None, list, dict).

    Raises JsonRefused: bad_number for NaN and infinities, not_json for any other type or key,
    lone_surrogate, too_deep.
    """
    return _from_plain(value, path, 0)


def to_plain(value: Foreign) -> Any:
    """Return a fresh copy whose numbers are int, float or Decimal, never changed in value (for CEL)."""
    if isinstance(value, ForeignNumber):
        return value.to_plain()
    if isinstance(value, dict):
        return {key: to_plain(member) for key, member in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [to_plain(member) for member in cast("list[object]", value)]
    return value


def plain_copy(value: object) -> Any:
    """Return a fresh copy of a Python value in plain types alone, whatever classes of its own it came in.

    Raises JsonRefused as `from_plain` does.
    """
    try:
        return _quick_copy(value, 0)
    except _Unusual:
        return to_plain(from_plain(value))


def encode_foreign(value: Foreign) -> bytes:
    """Return the canonical bytes of a foreign value; Python numbers are taken through `from_plain` first.

    Raises JsonRefused as `from_plain` does.
    """
    try:
        form = _quick_form(value, 0)
    except _Unusual:
        form = _canonical_form(from_plain(value))
    return _keeps_order.encode(form)


def digest_foreign(value: Foreign) -> str:
    """Return the digest of the canonical bytes of a foreign value."""
    return "sha256:" + hashlib.sha256(encode_foreign(value)).hexdigest()


def decode_foreign(data: bytes) -> Any:
    """Return the foreign value whose canonical bytes are `data`; the inverse of `encode_foreign`.

    Raises JsonRefused `not_json` where `data` are not the canonical bytes of any foreign value.
    """
    try:
        return _quick_value(data, plain=False)
    except _Unusual:
        value = _from_canonical_form(parse_foreign(data, levels=_WRITTEN_DEPTH))
    if encode_foreign(value) != data:
        raise JsonRefused("not_json", path="", message="these are not canonical bytes of foreign JSON")
    return value


def decode_plain(data: bytes) -> Any:
    """Return the value whose canonical bytes are `data` in plain types: `to_plain` of `decode_foreign`."""
    try:
        return _quick_value(data, plain=True)
    except _Unusual:
        return to_plain(decode_foreign(data))


def dump_foreign(value: Foreign) -> bytes:
    """Return compact JSON with each number as it was written and members in the order they were read."""
    return _dump(from_plain(value)).encode("utf-8")


def _from_plain(value: object, path: str, depth: int) -> object:
    if value is None or isinstance(value, bool | ForeignNumber):
        return value
    if isinstance(value, str):
        if not is_text(value):
            raise JsonRefused("lone_surrogate", path=path, message="the text holds half a surrogate pair")
        return str(value)
    if isinstance(value, int | float | Decimal):
        return _number_from_plain(value, path)
    if depth >= MAX_DEPTH:
        raise JsonRefused("too_deep", path=path, message=f"it has more than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        out: dict[str, object] = {}
        for key, member in cast("dict[object, object]", value).items():
            if not isinstance(key, str):
                raise JsonRefused("not_json", path=path, message="an object has a key that is not text")
            below = pointer(path, key)
            if not is_text(key):
                raise JsonRefused("lone_surrogate", path=below, message="the key holds half a surrogate pair")
            out[str(key)] = _from_plain(member, below, depth + 1)
        return out
    if isinstance(value, list | tuple):
        items = cast("list[object]", value)
        return [_from_plain(item, pointer(path, index), depth + 1) for index, item in enumerate(items)]
    raise JsonRefused("not_json", path=path, message=f"{a_kind(value)} is no JSON value")


def _number_from_plain(value: float | Decimal, path: str) -> ForeignNumber:
    if isinstance(value, int):
        # An integer past Python's own limit of printable digits still has a decimal text.
        return trusted_number(str(int(value)) if value.bit_length() < 13_000 else format(Decimal(value), "f"))
    if not (value.is_finite() if isinstance(value, Decimal) else isfinite(value)):
        raise JsonRefused("bad_number", path=path, message="NaN and infinities are no JSON numbers")
    return ForeignNumber(repr(float(value)) if isinstance(value, float) else str(value))


def _canonical_form(value: object) -> object:
    if isinstance(value, ForeignNumber):
        return {"$num": value.text}
    if isinstance(value, list):
        return [_canonical_form(member) for member in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    members = cast("dict[str, object]", value)
    # Code point order is UTF-16 order as long as no key leaves the basic plane.
    basic = all(key.isascii() or max(key) <= "\uffff" for key in members)
    order = sorted(members) if basic else sorted(members, key=_utf16)
    out = {key: _canonical_form(members[key]) for key in order}
    return {"$obj": out} if len(out) == 1 and order[0] in ("$num", "$obj") else out


class _Unusual(Exception):
    """A value the quick form does not take; the slow one takes it or says where and why not."""


def _quick_form(value: object, depth: int) -> object:
    # Most foreign values are small objects of text, integers and booleans with ASCII keys. One pass over them
    # does what `from_plain` and `_canonical_form` do in two, and leaves everything else to those.
    kind = type(value)
    if kind is str:
        if not cast(str, value).isascii() and not is_text(cast(str, value)):
            raise _Unusual
        return value
    if value is None or kind is bool:
        return value
    if kind is ForeignNumber:
        return {"$num": cast(ForeignNumber, value).text}
    if kind is int and -_QUICK_INT < cast(int, value) < _QUICK_INT:
        return {"$num": str(value)}
    if depth >= MAX_DEPTH:
        raise _Unusual
    if kind is dict:
        members = cast("dict[str, object]", value)
        if set(map(type, members)) - _TEXT or not "".join(members).isascii():
            raise _Unusual
        if len(members) == 1 and ("$num" in members or "$obj" in members):
            raise _Unusual
        return {key: _quick_form(members[key], depth + 1) for key in sorted(members)}
    if kind is list or kind is tuple:
        return [_quick_form(item, depth + 1) for item in cast("list[object]", value)]
    raise _Unusual


def _quick_copy(value: object, depth: int) -> object:
    # As `_quick_form`: small values of exactly the plain types, which need no second form in between.
    kind = type(value)
    if kind is str:
        if not cast(str, value).isascii():
            raise _Unusual
        return value
    if value is None or kind is bool or (kind is int and -_QUICK_INT < cast(int, value) < _QUICK_INT):
        return value
    if depth >= MAX_DEPTH:
        raise _Unusual
    if kind is dict:
        members = cast("dict[str, object]", value)
        if set(map(type, members)) - _TEXT or not "".join(members).isascii():
            raise _Unusual
        return {key: _quick_copy(member, depth + 1) for key, member in members.items()}
    if kind is list or kind is tuple:
        return [_quick_copy(item, depth + 1) for item in cast("list[object]", value)]
    raise _Unusual


def _quick_value(data: bytes, *, plain: bool) -> Any:
    # Bytes that the encoder gives back are canonical where every key stands in its order and every number is written
    # as one. What is refused, and what is rare, is left to the slow way.
    try:
        form: object = _any.decode(data)
        if _keeps_order.encode(form) != data:
            raise _Unusual
        return _value_of(form, 0, plain=plain)
    except (msgspec.MsgspecError, JsonRefused, RecursionError, UnicodeError) as error:
        raise _Unusual from error


def _value_of(form: object, depth: int, *, plain: bool) -> object:
    kind = type(form)
    if kind is str or form is None or kind is bool:
        return form
    if kind is dict:
        members = cast("dict[str, object]", form)
        if len(members) == 1:
            text = members.get("$num")
            if type(text) is str:
                number = ForeignNumber(text)
                return number.to_plain() if plain else number
            if "$num" in members or "$obj" in members:
                raise _Unusual
        if depth >= MAX_DEPTH:
            raise _Unusual
        keys = list(members)
        if keys != sorted(keys) or not "".join(keys).isascii():
            raise _Unusual
        return {key: _value_of(member, depth + 1, plain=plain) for key, member in members.items()}
    if kind is list and depth < MAX_DEPTH:
        return [_value_of(item, depth + 1, plain=plain) for item in cast("list[object]", form)]
    raise _Unusual


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be")


def _from_canonical_form(value: object) -> object:
    if isinstance(value, list):
        return [_from_canonical_form(member) for member in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    members = cast("dict[str, object]", value)
    if len(members) == 1:
        if isinstance(text := members.get("$num"), str):
            return ForeignNumber(text)
        if isinstance(inner := members.get("$obj"), dict):
            members = cast("dict[str, object]", inner)
    return {key: _from_canonical_form(member) for key, member in members.items()}


def _dump(value: object) -> str:
    if isinstance(value, ForeignNumber):
        return value.text
    if isinstance(value, dict):
        members = cast("dict[str, object]", value).items()
        return "{" + ",".join(f"{_text(key)}:{_dump(member)}" for key, member in members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_dump, cast("list[object]", value))) + "]"
    return _text(value)


def _text(value: object) -> str:
    return _keeps_order.encode(value).decode("utf-8")
