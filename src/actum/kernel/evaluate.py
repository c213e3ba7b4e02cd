# SPDX-License-Identifier: Apache-2.0
"""A plan is evaluated with CEL's own semantics, by closures built once from plain data.

Rules
1. An unusable operand makes the operation unusable; the first one, left to right, is the reason.
2. ``&&`` and ``||`` absorb an unusable side in both directions where the other side settles the answer.
3. A conditional evaluates only the chosen branch.
4. Integers are 64 bits; overflow and division by zero are unusable; division cuts towards zero.
5. A regular expression is an RE2 pattern, compiled when the index is built, found anywhere in the text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from actum.kernel.facts import Facts
from actum.kernel.parsers import INT_MAX, INT_MIN, Unusable
from actum.model.errors import InvariantViolation
from actum.model.plan import Call, FieldType, Items, Lit, Node, Op, Present, Ref

Evaluate = Callable[[Facts], Any]
# From pattern text to a function that says whether a text holds a match.
CompileRegex = Callable[[str], Callable[[str], bool]]

_OVERFLOW = Unusable("overflow", "the result does not fit 64 bits")
_DIVISION = Unusable("division_by_zero", "division by zero")


def literal_value(literal: Lit) -> str | int | bool | Decimal:
    """Return the Python value of a literal."""
    if literal.type is FieldType.STRING:
        return literal.text
    if literal.type is FieldType.INT:
        return int(literal.text)
    if literal.type is FieldType.DECIMAL:
        return Decimal(literal.text)
    if literal.type is FieldType.BOOL:
        return literal.text == "true"
    raise InvariantViolation("a literal is text, integer, decimal or boolean", type=literal.type.value)


def compile_plan(node: Node, *, regex: CompileRegex) -> Evaluate:
    """Return a function from facts to the plan's value or `Unusable`."""
    if isinstance(node, Lit):
        value = literal_value(node)
        return lambda facts: value
    if isinstance(node, Ref):
        name = node.field
        return lambda facts: facts[name]
    if isinstance(node, Present):
        asked = node.field
        return lambda facts: facts.is_present(asked)
    if isinstance(node, Items):
        return _items([compile_plan(item, regex=regex) for item in node.items])
    if node.op is Op.MATCHES:
        return _matches(node, regex)
    args = [compile_plan(arg, regex=regex) for arg in node.args]
    return _call(node, args)


def _call(node: Call, args: list[Evaluate]) -> Evaluate:
    op = node.op
    if op is Op.AND:
        return _logical(args, settles=False)
    if op is Op.OR:
        return _logical(args, settles=True)
    if op is Op.IF:
        return _conditional(*args)
    if op in _UNARY:
        return _unary(_UNARY[op], args[0])
    if op in _BINARY:
        return _binary(_BINARY[op], args[0], args[1])
    raise InvariantViolation("every operation has one evaluation", op=op.value)


def _logical(args: list[Evaluate], *, settles: bool) -> Evaluate:
    def run(facts: Facts) -> object:
        unusable: object = None
        for arg in args:
            value = arg(facts)
            if value is settles:
                return settles
            if unusable is None and isinstance(value, Unusable):  # Rule 2
                unusable = value
        return (not settles) if unusable is None else unusable

    return run


def _conditional(test: Evaluate, then: Evaluate, other: Evaluate) -> Evaluate:
    def run(facts: Facts) -> object:
        value = test(facts)
        if isinstance(value, Unusable):
            return value
        return then(facts) if value else other(facts)  # Rule 3

    return run


def _items(items: list[Evaluate]) -> Evaluate:
    def run(facts: Facts) -> object:
        values: list[object] = []
        for item in items:
            value = item(facts)
            if isinstance(value, Unusable):
                return value
            values.append(value)
        return values

    return run


def _unary(apply: Callable[[Any], object], arg: Evaluate) -> Evaluate:
    def run(facts: Facts) -> object:
        value = arg(facts)
        return value if isinstance(value, Unusable) else apply(value)

    return run


def _binary(apply: Callable[[Any, Any], object], left: Evaluate, right: Evaluate) -> Evaluate:
    def run(facts: Facts) -> object:
        first = left(facts)
        if isinstance(first, Unusable):  # Rule 1
            return first
        second = right(facts)
        return second if isinstance(second, Unusable) else apply(first, second)

    return run


def _matches(node: Call, regex: CompileRegex) -> Evaluate:
    pattern = node.args[1]
    if not isinstance(pattern, Lit):
        raise InvariantViolation("a regular expression is a literal")
    return _unary(regex(pattern.text), compile_plan(node.args[0], regex=regex))  # Rule 5


def _fit(value: int) -> int | Unusable:
    return value if INT_MIN <= value <= INT_MAX else _OVERFLOW  # Rule 4


def _divide(left: int, right: int) -> int | Unusable:
    if right == 0:
        return _DIVISION
    quotient = abs(left) // abs(right)
    return _fit(quotient if (left < 0) == (right < 0) else -quotient)


def _remainder(left: int, right: int) -> int | Unusable:
    if right == 0:
        return _DIVISION
    # CEL refuses this one case although its mathematical answer is 0.
    if left == INT_MIN and right == -1:
        return _OVERFLOW
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


_UNARY: Mapping[Op, Callable[[Any], object]] = {
    Op.NOT: lambda value: not value,
    Op.NEG: lambda value: _fit(-value),
    Op.SIZE: len,
}
_BINARY: Mapping[Op, Callable[[Any, Any], object]] = {
    Op.EQ: lambda left, right: left == right,
    Op.NE: lambda left, right: left != right,
    Op.LT: lambda left, right: left < right,
    Op.LE: lambda left, right: left <= right,
    Op.GT: lambda left, right: left > right,
    Op.GE: lambda left, right: left >= right,
    Op.IN: lambda left, right: left in right,
    Op.ADD: lambda left, right: _fit(left + right),
    Op.SUB: lambda left, right: _fit(left - right),
    Op.MUL: lambda left, right: _fit(left * right),
    Op.DIV: _divide,
    Op.MOD: _remainder,
    Op.CONCAT: lambda left, right: left + right,
    Op.STARTS_WITH: lambda left, right: left.startswith(right),
    Op.ENDS_WITH: lambda left, right: left.endswith(right),
    Op.CONTAINS: lambda left, right: right in left,
}
