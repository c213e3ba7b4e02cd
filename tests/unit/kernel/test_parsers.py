# SPDX-License-Identifier: Apache-2.0
"""The parsers of the structured rung say what a text is, or why it is unusable."""

from __future__ import annotations

from decimal import Decimal

import pytest

from actum.kernel import parsers
from actum.kernel.parsers import ABSENT, Unusable, pointer_tokens, resolve_pointer
from actum.model.foreign import from_plain
from actum.model.plan import FieldType


@pytest.mark.parametrize(
    "text, value",
    [
        ("ann@x.example", "ann@x.example"),
        ("Ann@X.Example", "Ann@x.example"),
        ('"Ann B." <ann@x.example>', "ann@x.example"),
        ('"odd local"@x.example', '"odd local"@x.example'),
        ("a@[192.0.2.1]", "a@[192.0.2.1]"),
    ],
)
def test_rule_1_an_address_is_one_mailbox(text: str, value: str) -> None:
    assert parsers.parse_email(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ann",
        "ann@",
        "@x",
        "a@b, c@d",
        "a..b@x",
        ".a@x",
        "a b@x",
        "<a@b",
        "a@b>",
        "a@x\n",
        "(c) a@b",
        "ä@x",
        "a@b\x00",
    ],
)
def test_rule_1_anything_else_is_no_address(text: str) -> None:
    assert isinstance(parsers.parse_email(text), Unusable)


def test_rule_1_a_long_hostile_address_is_refused_at_once() -> None:
    assert isinstance(parsers.parse_email('"' + "\\a" * 50_000), Unusable)
    assert isinstance(parsers.parse_email("a." * 50_000 + "@x"), Unusable)


@pytest.mark.parametrize(
    "text, value",
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T00:00:00.0019z", 1),
        ("1969-12-31T23:59:59.999Z", -1),
    ],
)
def test_rule_2_a_time_is_whole_milliseconds_cut_and_not_rounded(text: str, value: int) -> None:
    assert parsers.parse_time(text) == value


@pytest.mark.parametrize(
    "text", ["", "now", "1970-01-01", "1970-01-01T00:00:00", "1970-02-30T00:00:00Z", "0"]
)
def test_rule_2_a_time_without_an_offset_or_a_day_is_unusable(text: str) -> None:
    assert isinstance(parsers.parse_time(text), Unusable)


@pytest.mark.parametrize("value", [1.0, 1e3, 2**63, -(2**63) - 1, "1", True, None, [], 10**400])
def test_rule_3_an_integer_is_written_as_one_and_fits_64_bits(value: object) -> None:
    assert isinstance(parsers.parse_int(from_plain(value)), Unusable)


def test_rule_3_integers_and_decimals_are_exact() -> None:
    assert parsers.parse_int(from_plain(2**63 - 1)) == 2**63 - 1
    assert parsers.parse_decimal("0.1") == Decimal("0.1")
    assert parsers.parse_decimal(from_plain(12)) == Decimal(12)
    for bad in ("1e999999", "1" * 65, "1,5", "NaN", "Infinity", " 1", True, None):
        assert isinstance(parsers.parse_decimal(bad), Unusable), bad


@pytest.mark.parametrize(
    "text", ["https://x.example/a?b=c#d", "mailto:ann@x.example", "urn:a:b", "http://[::1]:80/"]
)
def test_rule_4_an_absolute_url_is_kept_as_it_stands(text: str) -> None:
    assert parsers.parse_url(text) == text


@pytest.mark.parametrize(
    "text", ["", "/a", "x.example", "http://a b", "http://a\n", "http://é.example", "http://a/%zz"]
)
def test_rule_4_anything_else_is_no_absolute_url(text: str) -> None:
    assert isinstance(parsers.parse_url(text), Unusable)


def test_rule_5_pointers_lead_through_objects_and_lists() -> None:
    value = from_plain({"a/b": [{"~": "x"}], "": {"": "y"}})
    for text, found in (
        ("/a~1b/0/~0", "x"),
        ("//", "y"),
        ("/a~1b/1", ABSENT),
        ("/a~1b/00", ABSENT),
        ("/q/r", ABSENT),
    ):
        tokens = pointer_tokens(text)
        assert tokens is not None
        assert resolve_pointer(value, tokens) == found
    assert pointer_tokens("a") is None
    assert pointer_tokens("/~2") is None


def test_every_field_type_has_a_parser() -> None:
    assert set(parsers.PARSERS) == set(FieldType)


def test_a_list_of_texts_holds_texts_only() -> None:
    assert parsers.PARSERS[FieldType.STRINGS](["a"]) == ["a"]
    assert isinstance(parsers.PARSERS[FieldType.STRINGS](from_plain(["a", 1])), Unusable)
    assert isinstance(parsers.PARSERS[FieldType.STRINGS]("a"), Unusable)
