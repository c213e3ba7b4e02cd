# SPDX-License-Identifier: Apache-2.0
"""The value after a secret name is read to its closing quote or delimiter, each character once.

A quoted value ends with its line; an unquoted one at white space, a quote or one of ``& ; < >``. What is no
value (`true`, `null`, a placeholder) is not read as one.
"""

from __future__ import annotations

import re

import msgspec

from actum.kernel.secret_names import SecretKind, SecretName

_unquoted = re.compile(r"[^\s\"'`&;<>]+", re.ASCII)
_unquoted_start = re.compile(r"[^\s\"'`&;<>]{1,256}", re.ASCII)
_number = re.compile(r"-?[0-9.]{1,40}(?:[eE][+-]?[0-9]{1,9})?", re.ASCII)
_NO_VALUES = frozenset({"true", "false", "null", "none", "undefined", "nil"})


class Span(msgspec.Struct, frozen=True):
    """A secret stands at text[start:end]; `quote` goes around its placeholder where JSON would break without."""

    start: int
    end: int
    kind: SecretKind
    quote: str = ""


PLACEHOLDER = re.compile(r"\[redacted:[a-z_]{1,32}\]", re.ASCII)


class ValueReader:
    """Reads the value at a position: quoted to its closing quote on the line, else to a delimiter."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._line_end = -1
        # For each quote, up to where it is known not to occur: a failed search is not repeated.
        self._absent_until: dict[str, int] = {}

    def read(self, position: int, kind: SecretKind) -> Span | None:
        quoted = self._quoted(position)
        if quoted is not None:
            return Span(*quoted, kind) if quoted[1] > quoted[0] else None
        # A quote that its line does not close is no part of the value.
        match = _unquoted.match(self._text, position + len(self._quote_at(position)))
        if match is None:
            return None
        value = match[0]
        kept = value.rstrip(",)}" if "[" in value else ",)}]").rstrip("\\")
        taken = PLACEHOLDER.match(kept)
        if not kept or kept.lower() in _NO_VALUES or (taken and not kept[taken.end() :].strip(",)}]")):
            return None
        return Span(match.start(), match.start() + len(kept), kind)

    def read_json(self, position: int, kind: SecretKind, quote: str) -> Span | None:
        """Read the value after a quoted name: an object or list is left to who parses it, a number gets quotes."""
        if self._text[position : position + 1] in ("{", "["):
            return None
        span = self.read(position, kind)
        if span is None or not _number.fullmatch(self._text, span.start, span.end):
            return span
        opened = self._text[max(0, span.start - len(quote)) : span.start] == quote
        return span if opened else Span(span.start, span.end, kind, quote)

    def read_if_random(self, position: int, meaning: SecretName) -> Span | None:
        if self._text[position : position + 1] in ('"', "'"):
            return self.read(position, meaning.kind)
        start = _unquoted_start.match(self._text, position)
        if start is None or not looks_random(start[0].rstrip(".,)}]")):
            return None
        return self.read(position, meaning.kind)

    def _quote_at(self, position: int) -> str:
        two = self._text[position : position + 2]
        if two[:1] == "\\" and two[1:] in ("'", '"'):
            return two
        return two[:1] if two[:1] in ("'", '"', "`") else ""

    def _quoted(self, position: int) -> tuple[int, int] | None:
        text, quote = self._text, self._quote_at(position)
        if not quote:
            return None
        if self._line_end < position:
            feed = text.find("\n", position)
            self._line_end = feed if feed >= 0 else len(text)
            back = text.find("\r", position, self._line_end)
            self._line_end = back if back >= 0 else self._line_end
        start = position + len(quote)
        if self._absent_until.get(quote, -1) >= start:
            return None
        end = text.find(quote, start, self._line_end)
        while end > 0 and len(quote) == 1 and text[end - 1] == "\\":
            end = text.find(quote, end + 1, self._line_end)
        if end < 0:
            self._absent_until[quote] = self._line_end
            return None
        return start, end


def looks_random(value: str) -> bool:
    """Eight characters or more with letters and digits, or long with mixed case, or six digits or more."""
    digits = sum(map(str.isdigit, value))
    if digits == len(value):
        return digits >= 6
    upper, lower = sum(map(str.isupper, value)), sum(map(str.islower, value))
    if len(value) >= 8 and digits and upper + lower:
        return True
    return len(value) >= 24 and upper >= 3 and lower >= 3 and " " not in value
