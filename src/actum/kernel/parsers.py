# SPDX-License-Identifier: Apache-2.0
"""A text either is what its type says or is unusable with a reason; nothing is repaired and nothing guessed.

These parsers are part of the deterministic walk of the structured rung. They prove form only: that an
address is well formed says nothing about a mailbox behind it.

Rules
1. An address is one RFC 5322 mailbox without comments; its value is the addr-spec with a lower-case domain.
2. A time is RFC 3339; its value is whole unix milliseconds, cut and not rounded.
3. A decimal is exact; an integer is written without fraction or exponent and fits 64 bits.
4. A URL is absolute by RFC 3986; its value is the text as it stands.
5. A JSON Pointer is RFC 6901.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import cast

from actum.model.foreign import ForeignNumber
from actum.model.plan import FieldType
from actum.model.rfc3339 import parse_instant

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
# Decimal arithmetic on a huge exponent costs memory in proportion to it, so the written form is bounded.
DECIMAL_TEXT_MAX = 64
EXPONENT_MAX = 400

_atext = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_local = rf'(?:{_atext}(?:\.{_atext})*|"(?:[^"\\\x00-\x1f\x7f-\U0010ffff]|\\[\x20-\x7e])*")'
_domain = rf"(?:{_atext}(?:\.{_atext})*|\[[\x21-\x5a\x5e-\x7e]*\])"
_mailbox = re.compile(
    rf"(?:[^<>()\x00-\x1f\x7f]*<(?P<l1>{_local})@(?P<d1>{_domain})>|(?P<l2>{_local})@(?P<d2>{_domain}))"
)
_integer = re.compile(r"-?(?:0|[1-9][0-9]{0,18})", re.ASCII)
_decimal = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE]([+-]?[0-9]{1,6}))?", re.ASCII)
_url = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*:(?://[A-Za-z0-9._~!$&'()*+,;=:@%\[\]-]*)?[A-Za-z0-9._~!$&'()*+,;=:@%/-]*"
    r"(?:\?[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?(?:#[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?"
)
_bad_escape = re.compile(r"%(?![0-9A-Fa-f]{2})")
_pointer = re.compile(r"(?:/(?:[^~/]|~[01])*)*", re.DOTALL)
_index = re.compile(r"0|[1-9][0-9]*", re.ASCII)


class Unusable:
    """Why a value cannot be used. It is CEL's error value: it makes a rule not applicable, never False."""

    __slots__ = ("detail", "reason")

    def __init__(self, reason: str, detail: str) -> None:
        self.reason = reason
        self.detail = detail

    def __repr__(self) -> str:
        return f"Unusable({self.reason}, {self.detail})"


class Absent:
    """The type of `ABSENT`: there is no such member in the subject."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = Absent()


def pointer_tokens(text: str) -> tuple[str, ...] | None:
    """Return the unescaped reference tokens of a JSON Pointer, or None where it is none."""
    if _pointer.fullmatch(text) is None:  # Rule 5
        return None
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in text.split("/")[1:])


def resolve_pointer(value: object, tokens: tuple[str, ...]) -> object:
    """Return the foreign value behind the tokens, or `ABSENT`."""
    for token in tokens:
        if isinstance(value, dict):
            value = cast("dict[str, object]", value).get(token, ABSENT)
        elif isinstance(value, list):
            items = cast("list[object]", value)
            at = int(token) if _index.fullmatch(token) and len(token) < 10 else len(items)
            value = items[at] if at < len(items) else ABSENT
        else:
            return ABSENT
    return value


def parse_email(text: str) -> str | Unusable:
    """Return the addr-spec of one mailbox (rule 1)."""
    match = _mailbox.fullmatch(text.strip(" \t"))
    if match is None or len(text) > 1000:
        return Unusable("not_an_address", "no RFC 5322 mailbox")
    local, domain = match["l1"] or match["l2"], match["d1"] or match["d2"]
    return f"{local}@{domain.lower()}"


def parse_time(text: str) -> int | Unusable:
    """Return unix milliseconds of an RFC 3339 time (rule 2)."""
    instant = parse_instant(text) if len(text) <= 64 else None
    if instant is None:
        return Unusable("not_a_time", "no RFC 3339 time with an offset")
    return instant.seconds * 1000 + int(instant.fraction.ljust(3, "0")[:3])


def parse_int(value: object) -> int | Unusable:
    """Return a 64-bit integer written without fraction or exponent (rule 3)."""
    if isinstance(value, ForeignNumber):
        if _integer.fullmatch(value.text) is None:
            return Unusable("not_an_integer", "a number with fraction or exponent, or too long")
        value = int(value.text)
    if type(value) is not int:
        return _wrong("an integer", value)
    return value if INT_MIN <= value <= INT_MAX else Unusable("not_an_integer", "outside 64 bits")


def parse_decimal(value: object) -> Decimal | Unusable:
    """Return an exact decimal from a JSON number or a text that is written like one (rule 3)."""
    text = value.text if isinstance(value, ForeignNumber) else value
    if type(text) is int:
        text = str(text) if INT_MIN <= text <= INT_MAX else "over"
    if type(text) is not str:
        return _wrong("a decimal", value)
    match = _decimal.fullmatch(text) if len(text) <= DECIMAL_TEXT_MAX else None
    if match is None or abs(int(match[1] or "0")) > EXPONENT_MAX:
        return Unusable("not_a_decimal", "no JSON number of ordinary length")
    return Decimal(text)


def parse_url(text: str) -> str | Unusable:
    """Return the text of an absolute URL unchanged (rule 4)."""
    if _url.fullmatch(text) is None or _bad_escape.search(text):
        return Unusable("not_a_url", "no absolute RFC 3986 URL")
    return text


def parse_json_pointer(text: str) -> str | Unusable:
    """Return the text of a JSON Pointer unchanged (rule 5)."""
    return text if pointer_tokens(text) is not None else Unusable("not_a_pointer", "no RFC 6901 pointer")


def _wrong(expected: str, value: object) -> Unusable:
    return Unusable("field_wrong_type", f"expected {expected}, got {json_type(value)}")


def json_type(value: object) -> str:
    """Return the JSON name of a foreign value's type."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "text"
    if isinstance(value, ForeignNumber | int):
        return "number"
    return "list" if isinstance(value, list) else "object"


def _text(parse: Callable[[str], object]) -> Callable[[object], object]:
    return lambda value: parse(value) if type(value) is str else _wrong("text", value)


def _string(value: object) -> object:
    return value if type(value) is str else _wrong("text", value)


def _bool(value: object) -> object:
    return value if type(value) is bool else _wrong("a boolean", value)


def _strings(value: object) -> object:
    if isinstance(value, list):
        items = cast("list[object]", value)
        if all(type(item) is str for item in items):
            return items
    return Unusable("field_wrong_type", f"expected a list of texts, got {json_type(cast('object', value))}")


PARSERS: dict[FieldType, Callable[[object], object]] = {
    FieldType.STRING: _string,
    FieldType.INT: parse_int,
    FieldType.BOOL: _bool,
    FieldType.DECIMAL: parse_decimal,
    FieldType.TIME: _text(parse_time),
    FieldType.EMAIL: _text(parse_email),
    FieldType.URL: _text(parse_url),
    FieldType.JSON_POINTER: _text(parse_json_pointer),
    FieldType.STRINGS: _strings,
    FieldType.ANY: lambda value: value,
}
