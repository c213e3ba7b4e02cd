# SPDX-License-Identifier: Apache-2.0
"""A checked CEL expression becomes our own plan, or every part outside the replayable profile is named.

Rules
1. Only the overloads listed here are lowered; maps, macros, floats, conversions, clocks and time zones are
   refused, because their answer can depend on more than the subject and the recorded context.
2. Equality compares texts, integers or booleans of one static type.
3. A regular expression is a literal that RE2 accepts.
4. An integer literal fits the canonical form (+/-(2^53-1)); a plan is bounded in size and depth.
5. A comparison that can never hold, because a literal has a form the field never has, is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from actum.kernel.facts import CONTEXT_FIELDS
from actum.kernel.parsers import parse_email
from actum.model.canonical import MAX_SAFE_INTEGER
from actum.model.plan import Call, FieldType, Items, Lit, Node, Op, Present, Ref
from actum.model.process import FieldDeclaration
from actum.process.checked_ast import CheckedAst, Expr
from actum.process.regex import compile_regex

DEPTH_MAX = 20
NODES_MAX = 2000

OVERLOADS: Mapping[str, Op] = {
    "logical_and": Op.AND,
    "logical_or": Op.OR,
    "logical_not": Op.NOT,
    "conditional": Op.IF,
    "equals": Op.EQ,
    "not_equals": Op.NE,
    "less_int64": Op.LT,
    "less_string": Op.LT,
    "less_equals_int64": Op.LE,
    "less_equals_string": Op.LE,
    "greater_int64": Op.GT,
    "greater_string": Op.GT,
    "greater_equals_int64": Op.GE,
    "greater_equals_string": Op.GE,
    "in_list": Op.IN,
    "add_int64": Op.ADD,
    "subtract_int64": Op.SUB,
    "multiply_int64": Op.MUL,
    "divide_int64": Op.DIV,
    "modulo_int64": Op.MOD,
    "negate_int64": Op.NEG,
    "add_string": Op.CONCAT,
    "size_string": Op.SIZE,
    "string_size": Op.SIZE,
    "size_list": Op.SIZE,
    "list_size": Op.SIZE,
    "starts_with_string": Op.STARTS_WITH,
    "ends_with_string": Op.ENDS_WITH,
    "contains_string": Op.CONTAINS,
    "matches": Op.MATCHES,
    "matches_string": Op.MATCHES,
}
_SCALARS = ("string", "int", "bool")
_EQUALITIES = (Op.EQ, Op.NE)


class Flaw(NamedTuple):
    """One reason why an expression is refused; ``offset`` counts code points from the start of its text."""

    offset: int
    code: str
    message: str


class Lowering:
    """Turns one checked expression into a plan and collects what it has to refuse."""

    def __init__(self, ast: CheckedAst, fields: Mapping[str, FieldDeclaration]) -> None:
        self._ast = ast
        self._fields = fields
        self._nodes = 0
        self.flaws: list[Flaw] = []

    def lower(self) -> Node | None:
        """Return the plan, or None with at least one flaw."""
        plan = self._node(self._ast.root, 0)
        return None if self.flaws else plan

    def _refuse(self, at: Expr, code: str, message: str) -> Node:
        self.flaws.append(Flaw(self._ast.offsets.get(at.id, 0), code, message))
        return Lit(type=FieldType.BOOL, text="false")

    def _refuse_deepest(self, at: Expr, operands: tuple[Expr, ...], depth: int, message: str) -> Node:
        # The cause usually stands in an operand; its place helps the author more than the operator's.
        before = len(self.flaws)
        for operand in operands:
            self._node(operand, depth + 1)
        if len(self.flaws) == before:
            return self._refuse(at, "outside_profile", message)
        return Lit(type=FieldType.BOOL, text="false")

    def _node(self, expr: Expr, depth: int) -> Node:
        self._nodes += 1
        if depth > DEPTH_MAX or self._nodes > NODES_MAX:  # Rule 4
            if self.flaws:
                return Lit(type=FieldType.BOOL, text="false")
            return self._refuse(expr, "when_too_large", "the expression is too large or nested too deeply")
        if expr.kind == "const":
            return self._literal(expr)
        if expr.kind in ("ident", "select"):
            return self._reference(expr)
        if expr.kind == "list":
            return self._refuse(expr, "outside_profile", "a written list stands only on the right of `in`")
        if expr.kind == "call":
            return self._call(expr, depth)
        what = {"comprehension": "a macro (all, exists, map, filter)", "struct": "a map or message"}
        return self._refuse(
            expr,
            "outside_profile",
            f"{what.get(expr.kind, 'this expression')} is not in the replayable profile",
        )

    def _literal(self, expr: Expr) -> Node:
        if expr.name == "string":
            return Lit(type=FieldType.STRING, text=str(expr.value))
        if expr.name == "bool":
            return Lit(type=FieldType.BOOL, text="true" if expr.value else "false")
        if expr.name == "int" and isinstance(expr.value, int):
            if abs(expr.value) > MAX_SAFE_INTEGER:
                return self._refuse(expr, "integer_too_large", "an integer lies outside +/-(2^53-1)")
            return Lit(type=FieldType.INT, text=str(expr.value))
        return self._refuse(
            expr,
            "outside_profile",
            f"a {expr.name} literal is not in the replayable profile; money is an integer of minor units",
        )

    def _reference(self, expr: Expr) -> Node:
        name = self._ast.names.get(expr.id, "")
        if name in self._fields or name in CONTEXT_FIELDS:
            return Ref(field=name)
        return self._refuse(expr, "outside_profile", "only declared fields and ctx are read")

    def _call(self, expr: Expr, depth: int) -> Node:
        overloads = self._ast.overloads.get(expr.id, ())
        operands = ((expr.target,) if expr.target is not None else ()) + expr.args
        if overloads == ("present_any",):
            return self._present(expr)
        ops = {OVERLOADS.get(overload) for overload in overloads}
        op = ops.pop() if len(ops) == 1 else None
        if op is None:  # Rule 1
            shown = expr.name.strip("_").replace("_", " ") or expr.name
            return self._refuse_deepest(
                expr, operands, depth, f"`{shown}` on these types is not in the replayable profile"
            )
        if op in _EQUALITIES and any(self._ast.types.get(arg.id) not in _SCALARS for arg in operands):
            return self._refuse_deepest(  # Rule 2
                expr, operands, depth, "equality compares texts, integers or booleans only"
            )
        if op is Op.MATCHES:
            return self._matches(expr, operands, depth)
        if op is Op.IN:
            return self._membership(operands, depth)
        if op in (Op.AND, Op.OR):
            # A chain is one node, so that its length does not count as depth.
            return Call(op=op, args=tuple(self._node(arg, depth + 1) for arg in self._chain(expr, op)))
        args = tuple(self._node(arg, depth + 1) for arg in operands)
        if op in _EQUALITIES:
            self._check_forms(expr, args)
        return Call(op=op, args=args)

    def _chain(self, expr: Expr, op: Op) -> list[Expr]:
        found: list[Expr] = []
        pending = [expr]
        while pending:
            one = pending.pop()
            overloads = self._ast.overloads.get(one.id, ())
            if one.kind == "call" and len(overloads) == 1 and OVERLOADS.get(overloads[0]) is op:
                pending.extend(reversed(one.args))
            else:
                found.append(one)
        return found

    def _present(self, expr: Expr) -> Node:
        asked = self._node(expr.args[0], 0)
        if isinstance(asked, Ref) and asked.field in self._fields:
            return Present(field=asked.field)
        return self._refuse(expr, "outside_profile", "present() takes the name of a declared field")

    def _matches(self, expr: Expr, operands: tuple[Expr, ...], depth: int) -> Node:
        text, pattern = operands
        if pattern.kind != "const":  # Rule 3
            return self._refuse(expr, "regex_not_literal", "a regular expression is a literal text")
        try:
            compile_regex(str(pattern.value))
        except ValueError as error:
            return self._refuse(pattern, "regex_refused", f"RE2 refuses this regular expression: {error}")
        literal = Lit(type=FieldType.STRING, text=str(pattern.value))
        return Call(op=Op.MATCHES, args=(self._node(text, depth + 1), literal))

    def _membership(self, operands: tuple[Expr, ...], depth: int) -> Node:
        item, container = operands
        left = self._node(item, depth + 1)
        if container.kind != "list":
            return Call(op=Op.IN, args=(left, self._node(container, depth + 1)))
        if any(self._ast.types.get(one.id) not in _SCALARS for one in (item, *container.args)):
            return self._refuse(container, "outside_profile", "a list holds texts, integers or booleans only")
        if len({self._ast.types.get(one.id) for one in (item, *container.args)}) > 1:
            return self._refuse(container, "outside_profile", "a list holds values of the type compared with")
        items = tuple(self._node(one, depth + 1) for one in container.args)
        for one, node in zip(container.args, items, strict=True):
            self._check_forms(one, (left, node))
        return Call(op=Op.IN, args=(left, Items(items=items)))

    def _check_forms(self, expr: Expr, args: tuple[Node, ...]) -> None:
        for one, other in (args, args[::-1]):
            if not isinstance(one, Ref) or not isinstance(other, Lit) or one.field not in self._fields:
                continue
            wrong = never_equal(self._fields[one.field], other.text)
            if wrong:
                self._refuse(expr, "never_holds", wrong)


def never_equal(field: FieldDeclaration, text: str) -> str:
    """Return why a field can never equal a literal text, or nothing (rule 5)."""
    if field.values and text not in field.values:
        return f"{field.name} is never {text[:60]!r}: its values are {', '.join(field.values)[:200]}"
    if field.type is FieldType.EMAIL and parse_email(text) != text:
        return f"{field.name} is an address, written local@domain with a lower-case domain"
    return ""
