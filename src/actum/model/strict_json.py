# SPDX-License-Identifier: Apache-2.0
"""Bytes of JSON are read one way or refused: what two readers could take differently is no input.

Refused are bytes that are not UTF-8 or not JSON, a byte order mark, NaN and the infinities, duplicate keys,
lone surrogates and more than `MAX_DEPTH` levels, each with a code and the JSON Pointer of the place. A number
keeps the text it was written with. Nothing is said about the shape of the value; that is the reader's schema.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal, InvalidOperation
from typing import Any, Never, cast

from actum.model.errors import UsageError

MAX_DEPTH = 64

_number_form = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)
_nesting = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
_surrogate_escape = re.compile(r"\\u[dD][89a-fA-F]", re.ASCII)


class JsonRefused(UsageError):
    """Foreign bytes were refused; `code` says why, `path` is the JSON Pointer of the place.

    Codes: not_utf8, not_json, duplicate_key, bad_number, lone_surrogate, too_deep.
    """

    def __init__(self, code: str, *, path: str, message: str) -> None:
        super().__init__(
            code,
            failed=f"The JSON was refused at {path or 'its root'}: {message}",
            state="Nothing was read from it",
            next_step="Correct the JSON at that place and give it again",
            path=path,
        )
        self.path = path
        self.message = message


class ForeignNumber:
    """A JSON number as it was written; equal only to a number written with the same text."""

    __slots__ = ("text",)

    text: str

    def __init__(self, text: str) -> None:
        if _number_form.fullmatch(text) is None:
            raise UsageError(
                "bad_number",
                failed=f"{text[:80]!r} is not a JSON number",
                state="Nothing was read from it",
                next_step="Write it as JSON does: digits, and a fraction or exponent if needed",
            )
        object.__setattr__(self, "text", text)

    def __setattr__(self, name: str, value: object) -> Never:
        raise AttributeError(f"a foreign number is frozen: {name}")

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, ForeignNumber) else NotImplemented

    def __hash__(self) -> int:
        return hash(("ForeignNumber", self.text))

    def __repr__(self) -> str:
        return f"ForeignNumber({self.text!r})"

    def to_decimal(self) -> Decimal:
        """Return the exact value; raise UsageError `bad_number` where its exponent is past 10^18."""
        try:
            return Decimal(self.text)
        except InvalidOperation as error:
            raise UsageError(
                "bad_number",
                failed=f"The number {self.text[:80]} is too large or too small to be computed with",
                state="Its text is kept and nothing was computed",
                next_step="Compare its text, or send a number with a smaller exponent",
            ) from error

    def to_plain(self) -> int | float | Decimal:
        """Return int where it was written as one, else float where that loses nothing, else Decimal."""
        if "." not in self.text and "e" not in self.text and "E" not in self.text:
            # Python itself refuses to read integers of more than 4300 digits.
            return int(self.text) if len(self.text) <= 4000 else self.to_decimal()
        exact, near = self.to_decimal(), float(self.text)
        return near if Decimal(repr(near)) == exact else exact


class _Flaw(ValueError):
    """What must be refused: raised on the quick pass, left in place on the second to be located."""

    def __init__(self, code: str, key: str = "") -> None:
        super().__init__(code)
        self.code, self.key = code, key


def parse_foreign(data: bytes, *, levels: int = MAX_DEPTH) -> Any:
    """Return the foreign value that `data` holds; raise JsonRefused with code and path otherwise."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise JsonRefused("not_utf8", path="", message=f"byte {error.start} is not UTF-8") from error
    if text.startswith("\ufeff"):
        raise JsonRefused("not_json", path="", message="it starts with a byte order mark")
    _check_depth(text, levels)
    try:
        value = _quick.decode(text)
    except _Flaw:
        # The second pass lets the flaws stand as members, so that a walk can tell where they are. It may
        # also find that the text ends badly after the flaw; then it is not JSON at all.
        value = _decode(_locating, text)
        _raise_first_flaw(value, "")
    except json.JSONDecodeError as error:
        raise _not_json(error) from error
    # Bytes that are UTF-8 can only hold a surrogate behind an escape.
    if _surrogate_escape.search(text):
        _raise_first_flaw(value, "")
    return value


def is_text(text: str) -> bool:
    """Tell whether a Python string is Unicode text, that is without half a surrogate pair."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def trusted_number(text: str) -> ForeignNumber:
    """Return the number of a text whose grammar a JSON scanner has matched already."""
    number = ForeignNumber.__new__(ForeignNumber)
    object.__setattr__(number, "text", text)
    return number


def pointer(parent: str, key: str | int) -> str:
    """Return the JSON Pointer (RFC 6901) of a member below `parent`, safe to print."""
    token = str(key).replace("~", "~0").replace("/", "~1")
    return f"{parent}/{token}".encode("utf-8", "backslashreplace").decode("utf-8")


def _pairs_or_raise(members: list[tuple[str, object]]) -> object:
    found = dict(members)
    if len(found) != len(members):
        raise _Flaw("duplicate_key")
    return found


def _pairs_or_mark(members: list[tuple[str, object]]) -> object:
    found = dict(members)
    return found if len(found) == len(members) else _Flaw("duplicate_key", _first_repeated(members))


def _raise_constant(_name: str) -> object:
    raise _Flaw("bad_number")


def _mark_constant(_name: str) -> object:
    return _Flaw("bad_number")


_quick = json.JSONDecoder(
    object_pairs_hook=_pairs_or_raise,
    parse_int=cast(Any, trusted_number),
    parse_float=cast(Any, trusted_number),
    parse_constant=_raise_constant,
)
_locating = json.JSONDecoder(
    object_pairs_hook=_pairs_or_mark,
    parse_int=cast(Any, trusted_number),
    parse_float=cast(Any, trusted_number),
    parse_constant=_mark_constant,
)


def _decode(decoder: json.JSONDecoder, text: str) -> object:
    try:
        return decoder.decode(text)
    except json.JSONDecodeError as error:
        raise _not_json(error) from error


def _not_json(error: json.JSONDecodeError) -> JsonRefused:
    return JsonRefused("not_json", path="", message=f"{error.msg} (character {error.pos})")


def _check_depth(text: str, levels: int) -> None:
    if text.count("[") + text.count("{") <= levels:
        return
    depth = 0
    for match in _nesting.finditer(text):
        token = match.group()
        if token in ("[", "{"):
            depth += 1
            if depth > levels:
                raise JsonRefused("too_deep", path="", message=f"it has more than {levels} levels")
        elif token in ("]", "}"):
            depth -= 1


def _first_repeated(members: list[tuple[str, object]]) -> str:
    seen: set[str] = set()
    for key, _ in members:
        if key in seen:
            return key
        seen.add(key)
    return ""


def _raise_first_flaw(value: object, path: str) -> None:
    if isinstance(value, _Flaw):
        if value.code == "bad_number":
            raise JsonRefused("bad_number", path=path, message="NaN and infinities are no JSON numbers")
        raise JsonRefused(
            "duplicate_key", path=pointer(path, value.key), message="the object has this member twice"
        )
    if isinstance(value, str):
        if not is_text(value):
            raise JsonRefused("lone_surrogate", path=path, message="the text holds half a surrogate pair")
    elif isinstance(value, dict):
        for key, member in cast("dict[str, object]", value).items():
            below = pointer(path, key)
            if not is_text(key):
                raise JsonRefused("lone_surrogate", path=below, message="the key holds half a surrogate pair")
            _raise_first_flaw(member, below)
    elif isinstance(value, list):
        for index, member in enumerate(cast("list[object]", value)):
            _raise_first_flaw(member, pointer(path, index))
