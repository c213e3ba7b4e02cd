# SPDX-License-Identifier: Apache-2.0
"""Field declarations say what may be read, and which fields no rule may ever be learned or keyed on.

Rules
1. A field of class identity or money_legal is never learnable.
2. No second name leads to a place that an identity or money_legal field covers, so that a rule cannot reach
   it by another way.
3. A field's name is a dotted CEL identifier; no name is the beginning of another one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from actum.kernel.parsers import pointer_tokens
from actum.model.plan import FieldType
from actum.model.process import FieldClass, FieldDeclaration
from actum.process.problems import Place
from actum.process.reader import Reader
from actum.process.yaml_nodes import ScalarNode, YamlNode

MEMBERS = ("type", "class", "learnable", "path", "values", "ordinal")
_RESERVED = frozenset(
    {
        "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import",
        "in", "let", "loop", "package", "namespace", "null", "return", "true", "var", "void",
        "while", "ctx", "present", "size", "int", "uint", "double", "bool", "string", "bytes",
        "list", "map", "type", "dyn", "has", "all", "exists", "exists_one", "filter", "matches",
        "duration", "timestamp",
    }
)  # fmt: skip
_identifier = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*", re.ASCII)


def read_fields(node: YamlNode | None, *, reader: Reader) -> dict[str, FieldDeclaration]:
    """Return the declared fields by name; every flaw is reported."""
    found: dict[str, FieldDeclaration] = {}
    places: dict[str, Place] = {}
    for name, member in reader.table(node, what="fields").items():
        declared = _read_field(name, member, reader)
        if declared is not None:
            found[name] = declared
            places[name] = member.place
    _check_names(found, places, reader)
    _check_places(found, places, reader)
    return found


def implied_field(name: str) -> FieldDeclaration:
    """Return the declaration of a field that a file without declarations requires at a step."""
    return FieldDeclaration(name=name, type=FieldType.ANY, pointer=default_pointer(name))


def default_pointer(name: str) -> str:
    """Return the JSON Pointer that a dotted name stands for."""
    return "/" + name.replace(".", "/")


def _read_field(name: str, node: YamlNode, reader: Reader) -> FieldDeclaration | None:
    what = f"field {name!r}"
    if isinstance(node, ScalarNode) and isinstance(node.value(), str):
        # The short form `owner: string` says the type and nothing else.
        kind = reader.choice(node, FieldType, what=f"the type of {what}", code="type_unknown")
        return kind and FieldDeclaration(name=name, type=kind, pointer=default_pointer(name))
    members = reader.members(node, what=what, allowed=MEMBERS, required=("type",))
    if members is None:
        return None
    kind = reader.choice(members.get("type"), FieldType, what=f"the type of {what}", code="type_unknown")
    field_class = FieldClass.PLAIN
    if "class" in members:
        known = reader.choice(
            members["class"], FieldClass, what=f"the class of {what}", code="field_class_unknown"
        )
        if known is None:
            return None
        field_class = known
    learnable = reader.flag(members.get("learnable"), what=f"learnable of {what}")
    if learnable and field_class is not FieldClass.PLAIN:  # Rule 1
        reader.report.problem(
            members["learnable"].place,
            "learnable_forbidden",
            f"{what} is of class {field_class.value} and can never be learnable",
            expected="learnable: false",
            got="true",
        )
    pointer = reader.text(members.get("path"), what=f"the path of {what}") or default_pointer(name)
    if "path" in members and not pointer_tokens(pointer):
        reader.wrong(members["path"], f"the path of {what}", "a JSON Pointer such as /vendor/tier")
        return None
    values = tuple(
        text
        for item in reader.items(members.get("values"), what=f"the values of {what}")
        if (text := reader.text(item, what=f"a value of {what}")) is not None
    )
    if values and kind is not None and kind is not FieldType.STRING:
        reader.report.problem(
            members["values"].place, "values_need_string", f"{what} with values is a string"
        )
    ordinal = reader.flag(members.get("ordinal"), what=f"ordinal of {what}")
    if ordinal and not values and kind not in (FieldType.INT, FieldType.TIME, FieldType.DECIMAL, None):
        reader.report.problem(
            members["ordinal"].place,
            "ordinal_forbidden",
            f"{what} has no order: give it values or a number type",
        )
    if kind is None:
        return None
    return FieldDeclaration(
        name=name,
        type=kind,
        pointer=pointer,
        field_class=field_class,
        learnable=learnable,
        ordinal=ordinal,
        values=values,
    )


def _check_names(found: Mapping[str, FieldDeclaration], places: Mapping[str, Place], reader: Reader) -> None:
    for name in found:
        parts = name.split(".")
        if not _identifier.fullmatch(name) or _RESERVED & set(parts):  # Rule 3
            reader.report.problem(
                places[name], "field_name_refused", f"{name!r} cannot be read in a WHEN: choose another name"
            )
        for depth in range(1, len(parts)):
            if ".".join(parts[:depth]) in found:
                reader.report.problem(
                    places[name], "field_name_refused", f"{'.'.join(parts[:depth])!r} is itself a field"
                )


def _check_places(found: Mapping[str, FieldDeclaration], places: Mapping[str, Place], reader: Reader) -> None:
    guarded = [field for field in found.values() if field.field_class is not FieldClass.PLAIN]
    for field in found.values():
        for other in guarded:
            if field is other or field.field_class is other.field_class:
                continue
            if overlaps(field.pointer, other.pointer):  # Rule 2
                reader.report.problem(
                    places[field.name],
                    "field_alias",
                    f"{field.name!r} reads the same place as {other.field_class.value} field {other.name!r}",
                )


def overlaps(one: str, other: str) -> bool:
    """Tell whether two JSON Pointers lead to the same value or one into the other."""
    left, right = pointer_tokens(one) or (), pointer_tokens(other) or ()
    shared = min(len(left), len(right))
    return left[:shared] == right[:shared]
