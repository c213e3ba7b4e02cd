# SPDX-License-Identifier: Apache-2.0
"""Facts are the declared fields of one subject, read once each, by their declared type.

Rules
1. A field is absent where its pointer leads nowhere or to null; an absent field is unusable, never a default.
2. A field of another type, or outside its closed set of values, is unusable with a reason.
3. The context is read as the fields ctx.now_ms, ctx.work_type and ctx.status; there is no other clock.
4. A field is filled where it is present, usable, and not an empty text or list.
5. A written value stands at its field's pointer, so a field and a pointer to it never read two values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, cast

from actum.kernel.parsers import ABSENT, PARSERS, Unusable, pointer_tokens, resolve_pointer
from actum.model.errors import InvariantViolation
from actum.model.process import FieldDeclaration
from actum.model.walk import LadderContext

CONTEXT_FIELDS = ("ctx.now_ms", "ctx.work_type", "ctx.status")


class FieldReader(NamedTuple):
    """How one declared field is read from a subject."""

    tokens: tuple[str, ...]
    parse: Callable[[object], object]
    values: frozenset[str]


def reader_for(declaration: FieldDeclaration) -> FieldReader:
    """Return the reader of a declaration."""
    tokens = pointer_tokens(declaration.pointer)
    if tokens is None:
        raise InvariantViolation("a field has a JSON Pointer", field=declaration.name)
    return FieldReader(tokens, PARSERS[declaration.type], frozenset(declaration.values))


class Facts(dict[str, object]):
    """Field name to value; a miss reads the subject, so each field is parsed at most once per decision."""

    __slots__ = ("context", "readers", "subject")

    def __init__(
        self, subject: Mapping[str, object], *, readers: Mapping[str, FieldReader], context: LadderContext
    ) -> None:
        super().__init__()
        self.subject = subject
        self.readers = readers
        self.context = context

    def __missing__(self, name: str) -> object:
        reader = self.readers.get(name)
        if reader is None:
            return self._from_context(name)
        value = self.raw(name)
        if value is ABSENT or value is None:  # Rule 1
            value = Unusable("field_missing", name)
        else:
            value = reader.parse(value)
            if isinstance(value, Unusable):
                value = Unusable(value.reason, f"{name}: {value.detail}")
            elif reader.values and value not in reader.values:  # Rule 2
                value = Unusable("field_not_among_values", name)
        self[name] = value
        return value

    def _from_context(self, name: str) -> object:
        # Rule 3
        if name == "ctx.now_ms":
            return self.context.now_ms
        if name == "ctx.work_type":
            return self.context.work_type
        if name == "ctx.status":
            return self.context.status
        raise InvariantViolation("a plan reads declared fields only", field=name)

    def raw(self, name: str) -> object:
        """Return the foreign value of a declared field as it stands in the subject, or `ABSENT`."""
        if name in CONTEXT_FIELDS:
            return self[name]
        tokens = self.readers[name].tokens
        if len(tokens) == 1:
            return self.subject.get(tokens[0], ABSENT)
        return resolve_pointer(self.subject, tokens)

    def with_writes(self, written: Mapping[str, object]) -> Facts:
        """Return the facts of the subject as it reads after these foreign values are written (rule 5)."""
        subject: object = self.subject
        for name, value in written.items():
            subject = _put(subject, self.readers[name].tokens, value)
        after = cast("Mapping[str, object]", subject)
        return Facts(after, readers=self.readers, context=self.context)

    def is_present(self, name: str) -> bool:
        """Tell whether the field is there and not null, whatever its type."""
        value = self.raw(name)
        return value is not ABSENT and value is not None

    def missing_from(self, names: tuple[str, ...]) -> tuple[Unusable, ...]:
        """Return why each of the names is not filled; empty where all are (rule 4)."""
        found: list[Unusable] = []
        for name in names:
            value = self[name]
            if isinstance(value, Unusable):
                found.append(value)
            elif value == "" or value == []:
                found.append(Unusable("field_empty", name))
        return tuple(found)


def _put(value: object, tokens: tuple[str, ...], leaf: object) -> object:
    if not tokens:
        return leaf
    first, rest = tokens[0], tokens[1:]
    if isinstance(value, list):
        items = list(cast("list[object]", value))
        at = int(first) if first.isdecimal() and len(first) < 10 else len(items)
        if at < len(items):
            items[at] = _put(items[at], rest, leaf)
            return items
    members = dict(cast("Mapping[str, object]", value)) if isinstance(value, Mapping) else {}
    members[first] = _put(members.get(first), rest, leaf)
    return members
