# SPDX-License-Identifier: Apache-2.0
"""The reference pages of canonical bytes, grading and effect lines say what the code does."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from actum.evidence.effect_line import encode_answer, verify_lines
from actum.evidence.trust_file import read_trust
from actum.model.grading import ReasonCode
from actum.model.rfc3339 import parse_instant

ROOT = Path(__file__).parents[3]
REFERENCE = ROOT / "docs/reference"


def page(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def blocks(name: str, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", page(name), flags=re.MULTILINE | re.DOTALL)


def test_the_grading_table_is_fresh() -> None:
    spec = importlib.util.spec_from_file_location("grading_table", ROOT / "tools/grading_table.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert page("grading-table.md") == tool.render()


def test_o99_the_page_names_each_vector_section_and_each_refusal_code() -> None:
    text = page("canonical-bytes.md")
    vectors = json.loads((REFERENCE / "vectors/canonical.json").read_text(encoding="utf-8"))
    for section in set(vectors) - {"profile"}:
        assert f"`{section}`" in text
    for code in {vector["code"] for vector in vectors["refused_foreign"]}:
        assert f"`{code}`" in text


def test_the_effect_line_page_names_every_reason_and_error_code() -> None:
    text = page("effect-line.md")
    parse = ("not_utf8", "not_json", "duplicate_key", "bad_number", "lone_surrogate", "too_deep")
    for code in (
        *(reason.value for reason in ReasonCode),
        *parse,
        "type",
        "missing",
        "unknown_field",
        "enum",
        "format",
    ):
        assert f"`{code}`" in text, code


@pytest.mark.parametrize("number", range(2))
def test_the_example_of_the_effect_line_page_is_answered_as_the_page_says(number) -> None:
    (lines, answers), (trust,) = blocks("effect-line.md", "jsonl"), blocks("effect-line.md", "json")
    found = list(
        verify_lines(
            lines.encode().splitlines(),
            trust=read_trust(trust.encode()),
            at=parse_instant("2026-05-05T00:00:00Z"),
        )
    )
    assert encode_answer(found[number]).decode() == answers.splitlines()[number]
