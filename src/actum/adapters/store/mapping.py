# SPDX-License-Identifier: Apache-2.0
"""A record maps to a table row field by field; nothing of a record is lost or renamed on the way.

Enums are stored as their text, booleans as 0 or 1, nested values as JSON text. Reading goes through the
record's own types, so a row that does not fit them is a corrupt record and never a half-read one.

What can be known from the type is worked out once, because six commits an effect pass here: a row is one
`attrgetter` call, then only the fields that need more are touched.
"""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, Generic, TypeVar

import msgspec

from actum.model.errors import CorruptRecordError

R = TypeVar("R", bound=msgspec.Struct)
_plain: tuple[object, ...] = (str, int, bytes)


class Mapping(Generic[R]):
    """How one record type stands in one table. ``extra`` columns are given beside the record."""

    def __init__(self, table: str, record: type[R], *, extra: tuple[str, ...] = ()) -> None:
        self.table = table
        self.record = record
        self.fields = record.__struct_fields__
        hints = typing.get_type_hints(record)
        paths = [f"{name}._value_" if _always_enum(hints[name]) else name for name in self.fields]
        self._get: Callable[[R], tuple[object, ...]] = attrgetter(*paths)
        self._encode = _conversions([_encoder(hints[name]) for name in self.fields])
        self._decode = _conversions([_decoder(hints[name]) for name in self.fields])
        columns = (*self.fields, *extra)
        self.columns = ", ".join(self.fields)
        marks = ", ".join("?" for _ in columns)
        self.insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"

    def select(self, where: str = "", *, order: str = "") -> str:
        """Return a query for whole records of one tenant, whose mark always comes first."""
        more = f" AND {where}" if where else ""
        last = f" ORDER BY {order}" if order else ""
        return f"SELECT {self.columns} FROM {self.table} WHERE tenant = ?{more}{last}"

    def columns_of(self, alias: str) -> str:
        """Return the columns of a record in a query that reads several, each under the table's alias."""
        return ", ".join(f"{alias}.{name}" for name in self.fields)

    def to_row(self, record: R, *extra: object) -> tuple[object, ...]:
        """Return the column values of a record, in the order of ``insert``."""
        values = self._get(record)
        if not self._encode:
            return (*values, *extra) if extra else values
        row = [*values, *extra]
        for at, encode in self._encode:
            row[at] = encode(row[at])
        return tuple(row)

    def from_row(self, row: Sequence[Any]) -> R:
        """Return the record of a row selected as ``columns``; it fits, or CorruptRecordError is raised."""
        try:
            values = dict(zip(self.fields, row, strict=True))
            for at, decode in self._decode:
                values[self.fields[at]] = decode(row[at])
            return self.record(**values)
        except (ValueError, TypeError, msgspec.MsgspecError) as error:
            raise CorruptRecordError(
                "row_unreadable",
                failed=f"a row of table {self.table} does not fit its record: {error}",
                state="The row was left as it is and nothing was derived from it",
                next_step="Run `actum doctor`; restore the store from a backup if it was edited by hand",
                table=self.table,
            ) from error

    def from_rows(self, rows: Iterable[Sequence[Any]]) -> list[R]:
        """Return the records of rows selected as ``columns``."""
        return [self.from_row(row) for row in rows]


_Convert = Callable[[Any], Any]


def _conversions(found: list[_Convert | None]) -> list[tuple[int, _Convert]]:
    return [(at, convert) for at, convert in enumerate(found) if convert is not None]


def _parts(hint: Any) -> tuple[Any, bool]:
    """Split an optional type into the type and whether null is allowed."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        inner = [part for part in typing.get_args(hint) if part is not type(None)]
        if len(inner) == 1:
            return inner[0], True
    return hint, False


def _is_enum(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, enum.Enum)


def _always_enum(hint: Any) -> bool:
    kind, optional = _parts(hint)
    return _is_enum(kind) and not optional


def _encoder(hint: Any) -> _Convert | None:
    kind, optional = _parts(hint)
    if kind in _plain or (_is_enum(kind) and not optional):
        return None
    if kind is bool:
        return lambda value: None if value is None else int(value)
    if _is_enum(kind):
        return lambda value: None if value is None else value.value
    return lambda value: None if value is None else msgspec.json.encode(value).decode()


def _decoder(hint: Any) -> _Convert | None:
    kind, _ = _parts(hint)
    if kind in _plain:
        return None
    if kind is bool:
        return lambda value: None if value is None else bool(value)
    if _is_enum(kind):
        return lambda value: None if value is None else kind(value)
    decoder: Any = msgspec.json.Decoder(kind)
    return lambda value: None if value is None else decoder.decode(value)
