# SPDX-License-Identifier: Apache-2.0
"""Only text that is one JSON value of the schema's shape is admitted as an answer.

Rules:

1. The text is one JSON value as `parse_foreign` reads it: no duplicate key, no NaN, nothing before or after.
2. The value satisfies every keyword of the schema; members nobody declared are refused where
   `additionalProperties` is false.
3. A keyword outside the list below refuses every answer that reaches it: what cannot be checked was not.
4. Numbers compare by value, and an integer is written without fraction or exponent.

Keywords: type, enum, const, properties, required, additionalProperties, items, minItems, maxItems,
minLength, maxLength, minimum, maximum, anyOf; and, as notes that bind nothing, title, description,
default, examples, $schema. The schema is our own, so its size is trusted and the walk is bounded by it.
An admitted answer is well formed; whether it may be acted on is for the rung that reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, cast

import msgspec

from actum.model.canonical import ForeignNumber, JsonRefused, parse_foreign
from actum.model.errors import Refused
from actum.model.foreign import pointer

Schema = Mapping[str, Any]


class AdmittedAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The foreign value (see `actum.model.foreign`) that the text held; it has the schema's shape."""

    value: Any


def admit_answer(text: str, *, schema: Schema) -> AdmittedAnswer | Refused:
    """Return the value of `text`, or why it is no answer.

    Reasons: `answer_not_json` (facts code, path) and `answer_not_of_schema` (facts keyword, path).
    """
    # Rule 1.
    try:
        value = parse_foreign(text.encode("utf-8", "surrogatepass"))
    except JsonRefused as refused:
        return Refused(reason="answer_not_json", facts={"code": refused.code, "path": refused.path[:200]})
    # Rules 2 to 4.
    broken = _first_broken(value, schema, "")
    if broken is not None:
        keyword, path = broken
        return Refused(reason="answer_not_of_schema", facts={"keyword": keyword, "path": path[:200]})
    return AdmittedAnswer(value=value)


def _first_broken(value: object, schema: object, path: str) -> tuple[str, str] | None:
    if isinstance(schema, bool):
        return None if schema else ("false", path)
    if not isinstance(schema, Mapping):
        return ("schema", path)
    keywords = cast("Schema", schema)
    for keyword, wanted in keywords.items():
        if keyword in _NOTES:
            continue
        check = _CHECKS.get(keyword)
        # Rule 3.
        if check is None:
            return (f"unsupported:{keyword}", path)
        if not check(value, wanted):
            return (keyword, path)
    return _first_broken_below(value, keywords, path)


def _first_broken_below(value: object, schema: Schema, path: str) -> tuple[str, str] | None:
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(cast("list[object]", value)):
            broken = _first_broken(item, schema["items"], pointer(path, index))
            if broken is not None:
                return broken
    if isinstance(value, dict):
        declared = cast("Schema", schema.get("properties", {}))
        others = schema.get("additionalProperties", True)
        for name, member in cast("dict[str, object]", value).items():
            below = pointer(path, name)
            if name not in declared and others is False:
                return ("additionalProperties", below)
            broken = _first_broken(member, declared.get(name, others), below)
            if broken is not None:
                return broken
    return None


def _is_of_type(value: object, wanted: object) -> bool:
    if isinstance(wanted, list):
        return any(_is_of_type(value, name) for name in cast("list[object]", wanted))
    match wanted:
        case "object":
            return isinstance(value, dict)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
        case "number":
            return isinstance(value, ForeignNumber)
        # Rule 4.
        case "integer":
            return isinstance(value, ForeignNumber) and value.text.lstrip("-").isdigit()
        case _:
            return False


def _is_same(value: object, wanted: object) -> bool:
    if isinstance(value, ForeignNumber):
        if isinstance(wanted, bool) or not isinstance(wanted, int | Decimal):
            return False
        number = _decimal(value)
        return number is not None and number == wanted
    # True == 1 in Python and not in JSON, so the types must agree before the values may.
    return type(value) is type(wanted) and isinstance(value, str | bool | None) and value == wanted


def _decimal(number: ForeignNumber) -> Decimal | None:
    try:
        return Decimal(number.text)
    except InvalidOperation:
        return None


def _has_required(value: object, wanted: object) -> bool:
    if not isinstance(value, dict):
        return True
    return set(cast("list[str]", wanted)) <= cast("dict[str, object]", value).keys()


def _holds(kind: type, test: Callable[[Any, Any], bool]) -> Callable[[object, Any], bool]:
    # JSON Schema lets a keyword bind only the type it is about; `type` itself is what fixes the type.
    return lambda value, wanted: not isinstance(value, kind) or test(value, wanted)


def _compares(test: Callable[[Decimal, Any], bool]) -> Callable[[ForeignNumber, Any], bool]:
    def compare(number: ForeignNumber, bound: Any) -> bool:
        exact = _decimal(number)
        return exact is not None and test(exact, bound)

    return compare


_NOTES = frozenset({"title", "description", "default", "examples", "$schema"})
_CHECKS: dict[str, Callable[[object, Any], bool]] = {
    "type": _is_of_type,
    "enum": lambda value, wanted: any(_is_same(value, one) for one in wanted),
    "const": _is_same,
    "required": _has_required,
    "minItems": _holds(list, lambda value, bound: len(value) >= bound),
    "maxItems": _holds(list, lambda value, bound: len(value) <= bound),
    "minLength": _holds(str, lambda value, bound: len(value) >= bound),
    "maxLength": _holds(str, lambda value, bound: len(value) <= bound),
    "minimum": _holds(ForeignNumber, _compares(lambda number, bound: number >= bound)),
    "maximum": _holds(ForeignNumber, _compares(lambda number, bound: number <= bound)),
    "anyOf": lambda value, wanted: any(_first_broken(value, one, "") is None for one in wanted),
    # These bind the members and items, which `_first_broken_below` walks.
    "properties": lambda _value, wanted: isinstance(wanted, Mapping),
    "additionalProperties": lambda _value, wanted: isinstance(wanted, bool | Mapping),
    "items": lambda _value, wanted: isinstance(wanted, bool | Mapping),
}
