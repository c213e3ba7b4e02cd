# SPDX-License-Identifier: Apache-2.0
"""A value in a file is a plain scalar, or says in one word where it comes from."""

from __future__ import annotations

from collections.abc import Mapping

from actum.kernel.facts import CONTEXT_FIELDS
from actum.kernel.parsers import pointer_tokens
from actum.model import foreign
from actum.model.plan import Call, Node, Op, fields_read
from actum.model.process import (
    Constant,
    FieldClass,
    FieldDeclaration,
    FromExpression,
    FromField,
    FromPointer,
    Template,
)
from actum.process.cel import Expressions
from actum.process.fields import overlaps
from actum.process.problems import Place
from actum.process.reader import Reader
from actum.process.yaml_nodes import MapNode, ScalarNode, YamlNode, to_foreign

SOURCES = ("field", "pointer", "cel", "value")


class Templates:
    """Reads value templates of one process."""

    def __init__(
        self, reader: Reader, *, fields: Mapping[str, FieldDeclaration], expressions: Expressions
    ) -> None:
        self._reader = reader
        self._fields = fields
        self._expressions = expressions

    def read(self, node: YamlNode, *, what: str) -> Template | None:
        """Return the template of a node, or None with the flaw reported."""
        if isinstance(node, ScalarNode):
            return _constant(node)
        if not isinstance(node, MapNode) or len(node.members) != 1 or next(iter(node.members)) not in SOURCES:
            self._reader.wrong(
                node, what, "a plain value, or one of {field: }, {pointer: }, {cel: }, {value: }"
            )
            return None
        source, value = next(iter(node.members.items()))
        if source == "value":
            return _constant(value)
        if source == "field":
            return self._field(value)
        text = self._reader.text(value, what=f"{source} of {what}")
        if text is None:
            return None
        if source == "pointer":
            if pointer_tokens(text) is None:
                self._reader.wrong(value, what, "a JSON Pointer such as /vendor/tier")
                return None
            return FromPointer(pointer=text)
        return self._expression(value, text)

    def check_copy(self, template: Template, *, into: FieldDeclaration, place: Place) -> None:
        """Report a guarded value that would be written into a field where a rule could reach it."""
        for field in self._fields.values():
            if field.field_class is FieldClass.PLAIN or not _reads(template, field):
                continue
            money = field.field_class is FieldClass.MONEY_LEGAL
            if (money and into.field_class is not FieldClass.MONEY_LEGAL) or into.learnable:
                self._reader.report.problem(
                    place,
                    "guarded_value_copied",
                    f"{field.name!r} is {field.field_class.value} and may not be copied into {into.name!r}",
                )

    def _field(self, node: YamlNode) -> Template | None:
        named = self._reader.name(node, what="field")
        if named is None:
            return None
        if named.name not in self._fields and named.name not in CONTEXT_FIELDS:
            self._reader.unknown(named, what="field", known=self._fields, code="field_undeclared")
            return None
        return FromField(field=named.name)

    def _expression(self, node: YamlNode, text: str) -> Template | None:
        compiled = self._expressions.compile(text, wanted="STRING")
        for flaw in compiled.flaws:
            self._reader.report.problem(
                at_place(node, flaw.line, flaw.column), flaw.code, flaw.message, got=text
            )
        if compiled.plan is None:
            return None
        if _has_regex(compiled.plan):
            self._reader.report.problem(
                node.place, "outside_profile", "a value expression has no regular expression"
            )
            return None
        return FromExpression(plan=compiled.plan)


def at_place(node: YamlNode, line: int, column: int) -> Place:
    """Return the place in the file of a line and column inside a scalar's text.

    Exact for text on one line and for a literal block (``|``); elsewhere it is where the scalar starts. In
    quoted text the column does not count escapes.
    """
    start = node.place
    if not isinstance(node, ScalarNode):
        return start
    if node.style == "|":
        return Place(line=start.line + line, column=column + node.indent, pointer=start.pointer)
    if line != 1 or node.end_line != start.line:
        return start
    return Place(
        line=start.line, column=start.column + column - (0 if node.style else 1), pointer=start.pointer
    )


def _constant(node: YamlNode) -> Constant:
    return Constant(json=foreign.encode_foreign(to_foreign(node)).decode())


def _reads(template: Template, field: FieldDeclaration) -> bool:
    if isinstance(template, FromField):
        return template.field == field.name
    if isinstance(template, FromPointer):
        return overlaps(template.pointer, field.pointer)
    return isinstance(template, FromExpression) and field.name in fields_read(template.plan)


def _has_regex(plan: Node) -> bool:
    return isinstance(plan, Call) and (plan.op is Op.MATCHES or any(map(_has_regex, plan.args)))
