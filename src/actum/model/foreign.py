# SPDX-License-Identifier: Apache-2.0
"""Foreign JSON keeps every number's own text, and what two readers could read differently is refused.

In memory a foreign value is None, bool, str, `ForeignNumber`, list or dict. Reading refuses bytes that are
not UTF-8 or not JSON, NaN and the infinities, duplicate keys, lone surrogates, a byte order mark and more
than `MAX_DEPTH` levels; nothing else. In canonical bytes a number is `{"$num": "TEXT"}`, so 1 and 1.0 are
different arguments; a foreign object whose only member is `$num` or `$obj` is wrapped as `{"$obj": {...}}`,
so the writing has an inverse. Keys are ordered by UTF-16 code units, as RFC 8785 says.
"""

from __future__ import annotations

import hashlib
import json
import re
from decimal import Decimal
from typing import Any, Never, cast

import msgspec

from actum.model.errors import UsageError

MAX_DEPTH = 64

# What a foreign value may be; recursive, so written as object in signatures.
Foreign = object

_number_form = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)
_nesting = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
_surrogate_escape = re.compile(r"\\u[dD][89a-fA-F]", re.ASCII)
_keeps_order = msgspec.json.Encoder(order=None)


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
        """Return the exact value; raises decimal.InvalidOperation for an exponent past 10^18."""
        return Decimal(self.text)

    def to_plain(self) -> int | float | Decimal:
        """Return the value as int where it was written so, else float where that loses nothing, else Decimal."""
        if "." not in self.text and "e" not in self.text and "E" not in self.text:
            # Python itself refuses to read integers of more than 4300 digits.
            return int(self.text) if len(self.text) <= 4000 else Decimal(self.text)
        exact, near = Decimal(self.text), float(self.text)
        return near if Decimal(repr(near)) == exact else exact


class _Flaw:
    """A place that parsing could read and must refuse; found again by a walk that knows its path."""

    __slots__ = ("code", "inner", "key")

    def __init__(self, code: str, key: str = "", inner: list[tuple[str, object]] | None = None) -> None:
        self.code, self.key, self.inner = code, key, inner


def parse_foreign(data: bytes) -> Any:
    """Return the foreign value that `data` holds; raise JsonRefused with code and path otherwise."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise JsonRefused("not_utf8", path="", message=f"byte {error.start} is not UTF-8") from error
    if text.startswith("\ufeff"):
        raise JsonRefused("not_json", path="", message="it starts with a byte order mark")
    _check_depth(text)
    flaws: list[_Flaw] = []

    def pairs(members: list[tuple[str, object]]) -> object:
        found = dict(members)
        if len(found) == len(members):
            return found
        flaws.append(_Flaw("duplicate_key", _first_repeated(members), members))
        return flaws[-1]

    def constant(_name: str) -> object:
        flaws.append(_Flaw("bad_number"))
        return flaws[-1]

    try:
        value = json.loads(
            text, object_pairs_hook=pairs, parse_int=_trusted, parse_float=_trusted, parse_constant=constant
        )
    except ValueError as error:
        where = f" (character {error.pos})" if isinstance(error, json.JSONDecodeError) else ""
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "unreadable"
        raise JsonRefused("not_json", path="", message=reason + where) from error
    # Bytes that are UTF-8 can only hold a surrogate behind an escape.
    if flaws or _surrogate_escape.search(text):
        _raise_first_flaw(value, "")
    return value


def from_plain(value: object, *, path: str = "") -> Any:
    """Return the foreign form of a Python JSON value (int, finite float, Decimal, str, bool, None, list, dict).

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


def encode_foreign(value: Foreign) -> bytes:
    """Return the canonical bytes of a foreign value; Python numbers are taken through `from_plain` first.

    Raises JsonRefused as `from_plain` does.
    """
    return _keeps_order.encode(_canonical_form(from_plain(value)))


def digest_foreign(value: Foreign) -> str:
    """Return the digest of the canonical bytes of a foreign value."""
    return "sha256:" + hashlib.sha256(encode_foreign(value)).hexdigest()


def decode_foreign(data: bytes) -> Any:
    """Return the foreign value whose canonical bytes are `data`; the inverse of `encode_foreign`.

    Raises JsonRefused `not_json` where `data` are not the canonical bytes of any foreign value.
    """
    value = _from_canonical_form(parse_foreign(data))
    if encode_foreign(value) != data:
        raise JsonRefused("not_json", path="", message="these are not canonical bytes of foreign JSON")
    return value


def dump_foreign(value: Foreign) -> bytes:
    """Return compact JSON with each number as it was written and members in the order they were read."""
    return _dump(from_plain(value)).encode("utf-8")


def _trusted(text: str) -> ForeignNumber:
    # The JSON scanner has matched the grammar already; matching it again would double the cost.
    number = ForeignNumber.__new__(ForeignNumber)
    object.__setattr__(number, "text", text)
    return number


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for match in _nesting.finditer(text):
        token = match.group()
        if token in ("[", "{"):
            depth += 1
            if depth > MAX_DEPTH:
                raise JsonRefused("too_deep", path="", message=f"it is nested more than {MAX_DEPTH} levels deep")
        elif token in ("]", "}"):
            depth -= 1


def _first_repeated(members: list[tuple[str, object]]) -> str:
    seen: set[str] = set()
    for key, _ in members:
        if key in seen:
            return key
        seen.add(key)
    return ""


def pointer(parent: str, key: str | int) -> str:
    """Return the JSON Pointer (RFC 6901) of a member below `parent`, safe to print."""
    token = str(key).replace("~", "~0").replace("/", "~1")
    return f"{parent}/{token}".encode("utf-8", "backslashreplace").decode("utf-8")


def _raise_first_flaw(value: object, path: str) -> None:
    if isinstance(value, _Flaw):
        if value.code == "bad_number":
            raise JsonRefused("bad_number", path=path, message="NaN and infinities are no JSON numbers")
        raise JsonRefused(
            "duplicate_key", path=pointer(path, value.key), message="the object has this member twice"
        )
    if isinstance(value, str):
        if not _is_text(value):
            raise JsonRefused("lone_surrogate", path=path, message="the text holds half a surrogate pair")
    elif isinstance(value, dict):
        for key, member in cast("dict[str, object]", value).items():
            below = pointer(path, key)
            if not _is_text(key):
                raise JsonRefused("lone_surrogate", path=below, message="the key holds half a surrogate pair")
            _raise_first_flaw(member, below)
    elif isinstance(value, list):
        for index, member in enumerate(cast("list[object]", value)):
            _raise_first_flaw(member, pointer(path, index))


def _is_text(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _from_plain(value: object, path: str, depth: int) -> object:
    if value is None or isinstance(value, bool | ForeignNumber):
        return value
    if isinstance(value, str):
        if not _is_text(value):
            raise JsonRefused("lone_surrogate", path=path, message="the text holds half a surrogate pair")
        return str(value)
    if isinstance(value, int | float | Decimal):
        return _number_from_plain(value, path)
    if depth >= MAX_DEPTH:
        raise JsonRefused("too_deep", path=path, message=f"it is nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, dict):
        out: dict[str, object] = {}
        for key, member in cast("dict[object, object]", value).items():
            if not isinstance(key, str):
                raise JsonRefused("not_json", path=path, message="an object has a key that is not text")
            below = pointer(path, key)
            if not _is_text(key):
                raise JsonRefused("lone_surrogate", path=below, message="the key holds half a surrogate pair")
            out[str(key)] = _from_plain(member, below, depth + 1)
        return out
    if isinstance(value, list | tuple):
        items = cast("list[object]", value)
        return [_from_plain(item, pointer(path, index), depth + 1) for index, item in enumerate(items)]
    raise JsonRefused("not_json", path=path, message=f"a {type(value).__name__} is no JSON value")


def _number_from_plain(value: float | Decimal, path: str) -> ForeignNumber:
    if isinstance(value, int):
        # An integer past Python's own limit of printable digits still has a decimal text.
        return _trusted(str(int(value)) if value.bit_length() < 13_000 else format(Decimal(value), "f"))
    if value != value or value in (float("inf"), float("-inf")):
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
