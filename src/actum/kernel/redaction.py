# SPDX-License-Identifier: Apache-2.0
"""Secrets are taken out of a value before it is stored, sent or shown to a model.

Rules:

1. A member whose name says secret loses its text or number, whatever it looks like; true, false, null stay.
2. Every other text, member names too, loses what has the shape of a secret (`actum.kernel.secret_shapes`).
3. In a list, the value after a secret flag (`--token`) or after a header name goes; so does `value` beside a
   `name` or `key` that says secret.
4. What is taken out is replaced by `[redacted:KIND]`; the same value gives the same result, and redacting a
   result changes nothing.
5. Whatever lies deeper than `MAX_DEPTH` is taken out unseen.

What is found is named by kind and place, never by its text or digest: the digest of a short secret can be
guessed. A secret that has no shape and no name is not found; nothing here proves that a text holds none.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, TypeVar, cast, overload

import msgspec

from actum.kernel.secret_names import SecretKind, SecretName, secret_name
from actum.kernel.secret_shapes import find_secrets
from actum.kernel.secret_values import PLACEHOLDER
from actum.model.errors import InvariantViolation
from actum.model.foreign import MAX_DEPTH, ForeignNumber, pointer

T = TypeVar("T", str, bytes)


class Finding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something was taken out: its kind, and the JSON Pointer of the text that held it, after redaction."""

    kind: SecretKind
    path: str


@overload
def redact(value: T) -> tuple[T, tuple[Finding, ...]]: ...
@overload
def redact(value: object) -> tuple[Any, tuple[Finding, ...]]: ...
def redact(value: object) -> tuple[Any, tuple[Finding, ...]]:
    """Return the value without its secrets, and what was found.

    `value` is a foreign or plain JSON value, text, or bytes (read as Latin-1, so that every byte survives).
    Raises InvariantViolation for any other type.

    >>> redact({"user": "ann", "password": "hunter2"})[0]
    {'user': 'ann', 'password': '[redacted:password]'}
    """
    walk = _Walk()
    return walk.value(value), tuple(walk.findings)


_HEADER_KINDS = frozenset({SecretKind.AUTHORIZATION, SecretKind.COOKIE, SecretKind.API_KEY})
_ROUNDS = 4
_NUMBERS = (int, float, Decimal, ForeignNumber)


class _Walk:
    """One pass over a value; `meaning` is what the name above it promises, None where that is nothing."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        # The way from the root to the value at hand; written as a pointer only where something is found.
        self._steps: list[str | int] = []

    def value(self, value: object, meaning: SecretName | None = None) -> object:
        if isinstance(value, bytes):
            return self._text(value.decode("latin-1"), meaning).encode("latin-1")
        if isinstance(value, str):
            return self._text(value, meaning)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, _NUMBERS):
            # Rule 1. A number under a plural name (`tokens`) is a count.
            return value if meaning is None or meaning.plural else self._replaced(meaning.kind)
        # Rule 5.
        if len(self._steps) >= MAX_DEPTH:
            return self._replaced(SecretKind.TOO_DEEP)
        # In payments an authorization is a record; only its text form is a header.
        inherited = None if meaning is not None and meaning.kind is SecretKind.AUTHORIZATION else meaning
        if isinstance(value, dict):
            return self._object(cast("dict[object, object]", value), inherited)
        if isinstance(value, list | tuple):
            return self._list(cast("list[object]", value), inherited)
        raise InvariantViolation("redaction_sees_every_type", type=type(value).__name__)

    def _text(self, text: str, meaning: SecretName | None) -> str:
        # Rule 1.
        if meaning is not None:
            known = not text or PLACEHOLDER.fullmatch(text) is not None
            return text if known else self._replaced(meaning.kind)
        # Rules 2 and 4. What was taken out is a boundary that was not there before, and a boundary can show another
        # secret; each round leaves less text, and the number of rounds keeps the time linear.
        for _ in range(_ROUNDS):
            spans = find_secrets(text)
            if not spans:
                break
            pieces: list[str] = []
            position = 0
            for span in spans:
                placeholder = self._replaced(span.kind)
                pieces += (text[position : span.start], span.quote, placeholder, span.quote)
                position = span.end
            text = "".join([*pieces, text[position:]])
        return text

    def _object(self, members: dict[object, object], inherited: SecretName | None) -> dict[str, object]:
        out: dict[str, object] = {}
        beside = _named_beside_value(members)
        for name, member in members.items():
            if not isinstance(name, str):
                raise InvariantViolation("redaction_sees_every_type", type=type(name).__name__)
            shown = self._text(name, None)
            meaning = _meaning_of(shown) or (beside if name == "value" else None) or inherited
            shown = _free_name(shown, out, members)
            self._steps.append(shown)
            out[shown] = self.value(member, meaning)
            self._steps.pop()
        return out

    def _list(self, items: list[object], inherited: SecretName | None) -> list[object]:
        out: list[object] = []
        for item, meaning in zip(items, _meanings_by_place(items), strict=True):
            self._steps.append(len(out))
            out.append(self.value(item, meaning or inherited))
            self._steps.pop()
        return out

    def _replaced(self, kind: SecretKind) -> str:
        # Rule 4.
        path = ""
        for step in self._steps:
            path = pointer(path, step)
        self.findings.append(Finding(kind=kind, path=path))
        return f"[redacted:{kind.value}]"


def _free_name(shown: str, taken: dict[str, object], members: dict[object, object]) -> str:
    # Two names that became one placeholder must not become one member.
    number, free = 1, shown
    while free in taken or (number > 1 and free in members):
        number += 1
        free = f"{shown}#{number}"
    return free


def _meaning_of(shown: str) -> SecretName | None:
    # Rule 4. A name is read as it will stand afterwards, and the kind in a placeholder is no part of it: so
    # that a name means the same before and after.
    return secret_name(PLACEHOLDER.sub("", shown) if "[" in shown else shown)


def _meaning_of_text(text: str) -> SecretName | None:
    return _meaning_of(redact(text)[0])


def _named_beside_value(members: dict[object, object]) -> SecretName | None:
    # Rule 3.
    if "value" not in members:
        return None
    for label in ("name", "key"):
        text = members.get(label)
        if isinstance(text, str) and (meaning := _meaning_of_text(text)) is not None:
            return meaning
    return None


def _meanings_by_place(items: list[object]) -> Iterator[SecretName | None]:
    # Rule 3, on the texts as they will stand afterwards.
    may_tell = len(items) == 2 or any(isinstance(item, str) and item.startswith("-") for item in items)
    before: SecretName | None = None
    for item in items:
        shown: str = redact(item)[0] if may_tell and isinstance(item, str) else ""
        is_flag = shown.startswith("-")
        yield None if is_flag else before
        before = None
        if is_flag and "=" not in shown and " " not in shown:
            before = _meaning_of(shown)
        elif shown and len(items) == 2:
            meaning = _meaning_of(shown)
            before = meaning if meaning is not None and meaning.kind in _HEADER_KINDS else None
