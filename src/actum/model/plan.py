# SPDX-License-Identifier: Apache-2.0
"""A compiled WHEN is a small tree of plain data that the kernel can evaluate without any CEL library.

The tree holds text, field names and a closed set of operations, so it has canonical bytes, a digest and one
meaning in every process. Literals are kept as text beside their type: 1, 1.0 and true are three literals.
"""

from __future__ import annotations

import enum
import json

import msgspec


class FieldType(enum.Enum):
    """What a declared field must hold; the parser of the type decides, nothing is guessed or repaired."""

    STRING = "string"
    INT = "int"
    BOOL = "bool"
    DECIMAL = "decimal"
    TIME = "time"
    EMAIL = "email"
    URL = "url"
    JSON_POINTER = "json_pointer"
    STRINGS = "strings"
    ANY = "any"


class Op(enum.Enum):
    """The operations of the replayable profile; every other CEL function is refused at load."""

    AND = "and"
    OR = "or"
    NOT = "not"
    IF = "if"
    EQ = "eq"
    NE = "ne"
    LT = "lt"
    LE = "le"
    GT = "gt"
    GE = "ge"
    IN = "in"
    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    DIV = "div"
    MOD = "mod"
    NEG = "neg"
    CONCAT = "concat"
    SIZE = "size"
    STARTS_WITH = "starts_with"
    ENDS_WITH = "ends_with"
    CONTAINS = "contains"
    MATCHES = "matches"


class Lit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="node", tag="lit"):
    """One literal: ``type`` is string, int, bool or decimal, ``text`` its one written form."""

    type: FieldType
    text: str


class Ref(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="node", tag="ref"):
    """The value of a declared field, or of ``ctx.now_ms``, ``ctx.work_type``, ``ctx.status``."""

    field: str


class Present(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="node", tag="present"
):
    """Whether the declared field is there and not null; the one question a missing field answers."""

    field: str


class Items(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="node", tag="items"
):
    """A list written out in the expression; it stands only on the right of ``in``."""

    items: tuple[Node, ...]


class Call(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="node", tag="call"
):
    """One operation on its arguments, in the order they are written."""

    op: Op
    args: tuple[Node, ...]


Node = Lit | Ref | Present | Items | Call

_INFIX = {
    Op.AND: "&&", Op.OR: "||", Op.EQ: "==", Op.NE: "!=", Op.LT: "<", Op.LE: "<=", Op.GT: ">", Op.GE: ">=",
    Op.IN: "in", Op.ADD: "+", Op.SUB: "-", Op.MUL: "*", Op.DIV: "/", Op.MOD: "%", Op.CONCAT: "+",
}  # fmt: skip
_METHOD = {
    Op.STARTS_WITH: "startsWith", Op.ENDS_WITH: "endsWith", Op.CONTAINS: "contains", Op.MATCHES: "matches",
}  # fmt: skip


def fields_read(node: Node) -> frozenset[str]:
    """Return the names of all fields the expression reads, ``present`` included."""
    if isinstance(node, Ref | Present):
        return frozenset((node.field,))
    if isinstance(node, Items):
        return frozenset[str]().union(*map(fields_read, node.items))
    if isinstance(node, Call):
        return frozenset[str]().union(*map(fields_read, node.args))
    return frozenset()


def conjuncts(node: Node) -> tuple[Node, ...]:
    """Return the terms of the outermost ``&&`` chain, left to right; a single term is its own chain."""
    if isinstance(node, Call) and node.op is Op.AND:
        return tuple(term for arg in node.args for term in conjuncts(arg))
    return (node,)


def render(node: Node) -> str:
    """Return CEL text that means the tree; fully bracketed, so that it needs no table of precedence."""
    if isinstance(node, Lit):
        return json.dumps(node.text, ensure_ascii=False) if node.type is FieldType.STRING else node.text
    if isinstance(node, Ref):
        return node.field
    if isinstance(node, Present):
        return f"present({node.field})"
    if isinstance(node, Items):
        return "[" + ", ".join(map(render, node.items)) + "]"
    return _render_call(node)


def _render_call(node: Call) -> str:
    args = [render(arg) for arg in node.args]
    if node.op in _INFIX:
        return "(" + f" {_INFIX[node.op]} ".join(args) + ")"
    if node.op in _METHOD:
        return f"{args[0]}.{_METHOD[node.op]}({args[1]})"
    if node.op is Op.IF:
        return f"({args[0]} ? {args[1]} : {args[2]})"
    if node.op is Op.SIZE:
        return f"size({args[0]})"
    return ("!" if node.op is Op.NOT else "-") + "(" + args[0] + ")"
