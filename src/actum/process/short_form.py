# SPDX-License-Identifier: Apache-2.0
"""The short form of a WHEN is equalities, coerced by the declared types; it needs no CEL."""

from __future__ import annotations

from collections.abc import Mapping

from actum.kernel.parsers import Unusable, parse_decimal, parse_email, parse_time
from actum.model.foreign import ForeignNumber
from actum.model.plan import Call, FieldType, Lit, Node, Op, Ref
from actum.model.process import FieldDeclaration
from actum.process.plan import never_equal
from actum.process.reader import Named, Reader
from actum.process.yaml_nodes import MapNode, ScalarNode, YamlNode


def short_form(node: MapNode, *, fields: Mapping[str, FieldDeclaration], reader: Reader) -> Node | None:
    """Return the conjunction of the equalities that a mapping of fields to values stands for."""
    terms: list[Node] = []
    for name, value in node.members.items():
        field = fields.get(name)
        if field is None:
            named = Named(name, node.key_places[name])
            reader.unknown(named, what="field", known=fields, code="field_undeclared")
            continue
        literal = _literal(reader, field, value)
        if literal is not None:
            terms.append(Call(op=Op.EQ, args=(Ref(field=name), literal)))
    if len(terms) < len(node.members):
        return None
    if not terms:
        reader.report.problem(node.place, "when_empty", "a WHEN names at least one field")
        return None
    return terms[0] if len(terms) == 1 else Call(op=Op.AND, args=tuple(terms))


def _literal(reader: Reader, field: FieldDeclaration, node: YamlNode) -> Lit | None:
    value = node.value() if isinstance(node, ScalarNode) else None
    literal: Lit | None = None
    if field.type is FieldType.BOOL and isinstance(value, bool):
        literal = Lit(type=FieldType.BOOL, text="true" if value else "false")
    elif field.type is FieldType.INT and isinstance(value, ForeignNumber):
        whole = value.text.lstrip("-").isdigit() and len(value.text) < 17
        literal = Lit(type=FieldType.INT, text=str(int(value.text))) if whole else None
    elif field.type is FieldType.DECIMAL and isinstance(value, ForeignNumber | str):
        exact = parse_decimal(value)
        literal = (
            None if isinstance(exact, Unusable) else Lit(type=FieldType.DECIMAL, text=str(exact.normalize()))
        )
    elif field.type is FieldType.TIME and isinstance(value, str):
        at_ms = parse_time(value)
        literal = None if isinstance(at_ms, Unusable) else Lit(type=FieldType.INT, text=str(at_ms))
    elif field.type is FieldType.EMAIL and isinstance(value, str):
        address = parse_email(value)
        literal = None if isinstance(address, Unusable) else Lit(type=FieldType.STRING, text=address)
    elif field.type in (FieldType.STRING, FieldType.URL, FieldType.JSON_POINTER) and isinstance(value, str):
        literal = Lit(type=FieldType.STRING, text=value)
    if literal is None:
        reader.wrong(node, f"the value of {field.name!r}", f"one {field.type.value} to equal")
    elif wrong := never_equal(field, literal.text):
        reader.report.problem(node.place, "never_holds", wrong, got=literal.text)
    return literal
