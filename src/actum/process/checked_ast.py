# SPDX-License-Identifier: Apache-2.0
"""CEL's checked expression is read from its wire form with the few members the replayable profile needs.

Only the protobuf wire format is interpreted here (varints and length-delimited members of
cel.expr.CheckedExpr); an unknown member is passed over, an unknown kind of
expression is kept as its kind's name and refused later.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

_KINDS = {3: "const", 4: "ident", 5: "select", 6: "call", 7: "list", 8: "struct", 9: "comprehension"}
_CONSTANTS = {1: "null", 2: "bool", 3: "int", 4: "uint", 5: "double", 6: "string", 7: "bytes"}
_PRIMITIVES = {1: "bool", 2: "int", 3: "uint", 4: "double", 5: "string", 6: "bytes"}

Wire = list[tuple[int, int | bytes]]


class Expr(msgspec.Struct, frozen=True, kw_only=True):
    """One expression: its kind, the constant's type and value or the name called, and what stands below."""

    id: int
    kind: str
    name: str = ""
    value: str | int | bool | None = None
    target: Expr | None = None
    args: tuple[Expr, ...] = ()


class CheckedAst(msgspec.Struct, frozen=True, kw_only=True):
    """A checked expression with what the checker found: references, overloads, types and positions."""

    root: Expr
    names: dict[int, str]
    overloads: dict[int, tuple[str, ...]]
    types: dict[int, str]
    offsets: dict[int, int]


def read_checked(serialized: bytes) -> CheckedAst:
    """Return the checked AST behind `Expression.serialize()` (an Any that wraps a CheckedExpr)."""
    checked = _members(_bytes(dict(_members(serialized))[2]))
    names: dict[int, str] = {}
    overloads: dict[int, tuple[str, ...]] = {}
    types: dict[int, str] = {}
    offsets: dict[int, int] = {}
    root = Expr(id=0, kind="absent")
    for number, value in checked:
        if number == 2:
            expr_id, reference = _entry(value)
            members = _members(_bytes(reference))
            names[expr_id] = next((_text(one) for field, one in members if field == 1), "")
            overloads[expr_id] = tuple(_text(one) for field, one in members if field == 3)
        elif number == 3:
            expr_id, typed = _entry(value)
            types[expr_id] = _type_name(_bytes(typed))
        elif number == 4:
            root = _expr(_bytes(value))
        elif number == 5:
            for field, one in _members(_bytes(value)):
                if field == 4:
                    expr_id, offset = _entry(one)
                    offsets[expr_id] = offset if isinstance(offset, int) else 0
    return CheckedAst(root=root, names=names, overloads=overloads, types=types, offsets=offsets)


def _expr(data: bytes) -> Expr:
    expr_id, kind, body = 0, "absent", b""
    for number, value in _members(data):
        if number == 2 and isinstance(value, int):
            expr_id = value
        elif number in _KINDS:
            kind, body = _KINDS[number], _bytes(value)
    if kind == "const":
        return _constant(expr_id, body)
    members = _members(body)
    if kind == "ident":
        return Expr(id=expr_id, kind=kind, name=_text(dict(members).get(1, b"")))
    if kind == "select":
        found = dict(members)
        return Expr(id=expr_id, kind=kind, name=_text(found.get(2, b"")), target=_expr(_bytes(found[1])))
    if kind == "call":
        target = next((_expr(_bytes(one)) for field, one in members if field == 1), None)
        name = next((_text(one) for field, one in members if field == 2), "")
        args = tuple(_expr(_bytes(one)) for field, one in members if field == 3)
        return Expr(id=expr_id, kind=kind, name=name, target=target, args=args)
    if kind == "list":
        return Expr(
            id=expr_id, kind=kind, args=tuple(_expr(_bytes(one)) for field, one in members if field == 1)
        )
    return Expr(id=expr_id, kind=kind)


def _constant(expr_id: int, body: bytes) -> Expr:
    for number, value in _members(body):
        name = _CONSTANTS.get(number, "other")
        if name == "bool":
            return Expr(id=expr_id, kind="const", name=name, value=bool(value))
        if name == "int" and isinstance(value, int):
            return Expr(
                id=expr_id, kind="const", name=name, value=value - (1 << 64) if value >> 63 else value
            )
        if name == "string":
            return Expr(id=expr_id, kind="const", name=name, value=_text(value))
        return Expr(id=expr_id, kind="const", name=name)
    return Expr(id=expr_id, kind="const", name="other")


def _type_name(data: bytes) -> str:
    for number, value in _members(data):
        if number == 3 and isinstance(value, int):
            return _PRIMITIVES.get(value, "other")
        if number == 6:
            element = dict(_members(_bytes(value))).get(1)
            return f"list({_type_name(_bytes(element)) if element is not None else 'other'})"
    return "other"


def _entry(value: int | bytes) -> tuple[int, int | bytes]:
    found = dict(_members(_bytes(value)))
    key = found.get(1, 0)
    return key if isinstance(key, int) else 0, found.get(2, 0)


def _text(value: int | bytes) -> str:
    return _bytes(value).decode("utf-8")


def _bytes(value: int | bytes) -> bytes:
    # An empty message has no members and may be written as an absent, hence zero, value.
    return value if isinstance(value, bytes) else b""


def _members(data: bytes) -> Wire:
    return list(_walk(data))


def _walk(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        wire = tag & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield tag >> 3, value
            continue
        length = {1: 8, 5: 4}.get(wire)
        if length is None:
            if wire != 2:
                raise ValueError(f"wire type {wire} is not read")
            length, at = _varint(data, at)
        if at + length > len(data):
            raise ValueError("a member is cut off")
        yield tag >> 3, data[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("a number is cut off")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return value, at
