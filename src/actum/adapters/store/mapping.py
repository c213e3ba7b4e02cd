# SPDX-License-Identifier: Apache-2.0
"""A record maps to a table row field by field; nothing of a record is lost or renamed on the way.

Enums are stored as their text, booleans as 0 or 1, nested values as JSON text. Reading goes through the
record's own types, so a row that does not fit them is a corrupt record and never a half-read one.
"""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Callable, Sequence
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
        self._encoders = [_encoder(hints[name]) for name in self.fields]
        self._decoders = [_decoder(hints[name]) for name in self.fields]
        columns = (*self.fields, *extra)
        marks = ", ".join("?" for _ in columns)
        self.columns = ", ".join(f'"{name}"' if name == "before" else name for name in self.fields)
        names = ", ".join(columns)
        self.insert = f"INSERT INTO {table} ({names}) VALUES ({marks})"

    def to_row(self, record: R, *extra: object) -> tuple[object, ...]:
        """Return the column values of a record, in the order of ``insert``."""
        values = [
            encode(getattr(record, name)) for name, encode in zip(self.fields, self._encoders, strict=True)
        ]
        return (*values, *extra)

    def from_row(self, row: Sequence[Any]) -> R:
        """Return the record of a row selected as ``columns``; raise CorruptRecordError where it does not fit."""
        try:
            values = {
                name: decode(value)
                for name, decode, value in zip(self.fields, self._decoders, row, strict=True)
            }
            return self.record(**values)
        except (ValueError, TypeError, msgspec.MsgspecError) as error:
            raise CorruptRecordError(
                "row_unreadable",
                failed=f"a row of table {self.table} does not fit its record: {error}",
                state="The row was left as it is and nothing was derived from it",
                next_step="Run `actum doctor`; restore the store from a backup if it was edited by hand",
                table=self.table,
            ) from error


def _parts(hint: Any) -> tuple[Any, bool]:
    """Split an optional type into the type and whether null is allowed."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        inner = [part for part in typing.get_args(hint) if part is not type(None)]
        if len(inner) == 1:
            return inner[0], True
    return hint, False


def _encoder(hint: Any) -> Callable[[Any], object]:
    kind, _ = _parts(hint)
    if kind in _plain:
        return _same
    if kind is bool:
        return lambda value: None if value is None else int(value)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return lambda value: None if value is None else value.value
    return lambda value: None if value is None else msgspec.json.encode(value).decode()


def _decoder(hint: Any) -> Callable[[Any], Any]:
    kind, _ = _parts(hint)
    if kind in _plain:
        return _same
    if kind is bool:
        return lambda value: None if value is None else bool(value)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return lambda value: None if value is None else kind(value)
    decoder: Any = msgspec.json.Decoder(kind)
    return lambda value: None if value is None else decoder.decode(value)


def _same(value: Any) -> object:
    return value
