# SPDX-License-Identifier: Apache-2.0
"""Only text that is one JSON value of the schema's shape is admitted as an answer."""

from __future__ import annotations

from typing import Any

import pytest

from actum.kernel.answer import AdmittedAnswer, admit_answer
from actum.model.canonical import ForeignNumber
from actum.model.errors import Refused

OBJECT: dict[str, Any] = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 0, "maximum": 3}, "tags": {"type": "array"}},
    "required": ["n"],
    "additionalProperties": False,
}


def _refusal(text: str, schema: dict[str, Any]) -> tuple[str, dict[str, str]]:
    found = admit_answer(text, schema=schema)
    assert isinstance(found, Refused), found
    return found.reason, found.facts


def test_r34_an_answer_of_the_schema_is_admitted_with_its_numbers_as_written() -> None:
    admitted = admit_answer('{"n": 2, "tags": ["a", 1.50]}', schema=OBJECT)
    assert admitted == AdmittedAnswer(value={"n": ForeignNumber("2"), "tags": ["a", ForeignNumber("1.50")]})


@pytest.mark.parametrize(
    "text, code",
    [
        ("", "not_json"),
        ("{}{}", "not_json"),
        ("```json\n{}\n```", "not_json"),
        ('{"n": 1', "not_json"),
        ('{"n": 1, "n": 2}', "duplicate_key"),
        ('{"n": NaN}', "bad_number"),
        ('{"n": "\\ud800"}', "lone_surrogate"),
        ('"\ud800"', "not_utf8"),
        ("[" * 100 + "]" * 100, "too_deep"),
    ],
)
def test_rule_1_text_that_is_not_one_json_value_is_no_answer(text: str, code: str) -> None:
    reason, facts = _refusal(text, {})
    assert (reason, facts["code"]) == ("answer_not_json", code)


@pytest.mark.parametrize(
    "text, schema, keyword, path",
    [
        ("[]", {"type": "object"}, "type", ""),
        ('{"n": 4}', OBJECT, "maximum", "/n"),
        ('{"n": -1}', OBJECT, "minimum", "/n"),
        ("{}", OBJECT, "required", ""),
        ('{"n": 1, "execute": true}', OBJECT, "additionalProperties", "/execute"),
        ('["a", 1]', {"items": {"type": "string"}}, "type", "/1"),
        ("[1]", {"minItems": 2}, "minItems", ""),
        ("[1, 2, 3]", {"maxItems": 2}, "maxItems", ""),
        ('""', {"minLength": 1}, "minLength", ""),
        ('"abcd"', {"maxLength": 3}, "maxLength", ""),
        ('"c"', {"enum": ["a", "b"]}, "enum", ""),
        ("true", {"enum": [1]}, "enum", ""),
        ("1", {"const": True}, "const", ""),
        ("1", {"const": "1"}, "const", ""),
        ("null", {"type": ["string", "number"]}, "type", ""),
        ("3", {"anyOf": [{"type": "string"}, {"maximum": 2}]}, "anyOf", ""),
        ('{"x": 1}', {"additionalProperties": {"type": "string"}}, "type", "/x"),
        ("1", {"items": "string"}, "items", ""),
        ("1e9999999999999999999", {"minimum": 0}, "minimum", ""),
    ],
)
def test_rule_2_a_value_outside_the_schema_is_no_answer(
    text: str, schema: dict[str, Any], keyword: str, path: str
) -> None:
    assert _refusal(text, schema) == ("answer_not_of_schema", {"keyword": keyword, "path": path})


@pytest.mark.parametrize("keyword", ["pattern", "$ref", "not", "oneOf", "format", "typo"])
def test_rule_3_a_keyword_nobody_checks_refuses(keyword: str) -> None:
    _, facts = _refusal('"a"', {keyword: "x"})
    assert facts["keyword"] == f"unsupported:{keyword}"


def test_rule_3_notes_bind_nothing() -> None:
    schema = {
        "title": "t",
        "description": "d",
        "default": 1,
        "examples": [2],
        "$schema": "s",
        "type": "string",
    }
    assert admit_answer('"a"', schema=schema) == AdmittedAnswer(value="a")


@pytest.mark.parametrize(
    "text, schema, admitted",
    [
        ("1.0", {"const": 1}, True),
        ("10e-1", {"enum": [1, 2]}, True),
        ("1.0", {"type": "integer"}, False),
        ("1e2", {"type": "integer"}, False),
        ("-7", {"type": "integer"}, True),
        ("0.1", {"type": "number", "maximum": 1}, True),
    ],
)
def test_rule_4_numbers_compare_by_value_and_integers_by_their_writing(
    text: str, schema: dict[str, Any], admitted: bool
) -> None:
    assert isinstance(admit_answer(text, schema=schema), AdmittedAnswer) is admitted
