# SPDX-License-Identifier: Apache-2.0
"""A foreign value keeps its numbers' text through reading, canonical bytes and printing."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.model import canonical
from actum.model.foreign import (
    decode_foreign,
    decode_plain,
    digest_foreign,
    dump_foreign,
    encode_foreign,
    from_plain,
    plain_copy,
    to_plain,
)
from actum.model.strict_json import ForeignNumber, JsonRefused, parse_foreign


def form(text: str) -> str:
    return encode_foreign(parse_foreign(text.encode("utf-8"))).decode("utf-8")


def test_numbers_keep_their_text() -> None:
    assert form("[1, 1.0, -0, 1E5, 1e05]") == (
        '[{"$num":"1"},{"$num":"1.0"},{"$num":"-0"},{"$num":"1E5"},{"$num":"1e05"}]'
    )
    assert digest_foreign(parse_foreign(b"1")) != digest_foreign(parse_foreign(b"1.0"))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('{"$num":"1"}', '{"$obj":{"$num":"1"}}'),
        ('{"$obj":{}}', '{"$obj":{"$obj":{}}}'),
        ('{"$obj":{"$num":"1"}}', '{"$obj":{"$obj":{"$obj":{"$num":"1"}}}}'),
        ('{"$num":1}', '{"$obj":{"$num":{"$num":"1"}}}'),
        ('{"$num":"1","a":"2"}', '{"$num":"1","a":"2"}'),
        ('{"a":{"$num":"1"}}', '{"a":{"$obj":{"$num":"1"}}}'),
    ],
)
def test_an_object_that_looks_like_a_number_is_wrapped(text, written) -> None:
    assert form(text) == written
    assert decode_foreign(written.encode()) == parse_foreign(text.encode())


def test_keys_are_ordered_by_utf16_code_units() -> None:
    assert form('{"\ue000":"b","\U0001f389":"a","z":"0"}') == '{"z":"0","\U0001f389":"a","\ue000":"b"}'


def test_python_numbers_are_taken_by_their_shortest_text() -> None:
    assert encode_foreign([12, 0.1, Decimal("1.50"), True]) == (
        b'[{"$num":"12"},{"$num":"0.1"},{"$num":"1.50"},true]'
    )
    assert encode_foreign(10**5000) == b'{"$num":"1' + b"0" * 5000 + b'"}'


@pytest.mark.parametrize(
    ("value", "code", "path"),
    [
        ({"a": [float("nan")]}, "bad_number", "/a/0"),
        (float("inf"), "bad_number", ""),
        (Decimal("sNaN"), "bad_number", ""),
        (Decimal("-Infinity"), "bad_number", ""),
        ({"a": b"x"}, "not_json", "/a"),
        ({1: "x"}, "not_json", ""),
        (["\ud800"], "lone_surrogate", "/0"),
        ({"\ud800": 1}, "lone_surrogate", "/\\ud800"),
    ],
)
def test_a_python_value_that_json_cannot_hold_is_refused(value, code, path) -> None:
    with pytest.raises(JsonRefused) as caught:
        from_plain(value)
    assert (caught.value.code, caught.value.path) == (code, path)


def test_the_depth_of_a_foreign_value_is_bounded() -> None:
    value: Any = []
    for _ in range(63):
        value = [value]
    assert decode_foreign(encode_foreign(value)) == value
    with pytest.raises(JsonRefused) as caught:
        encode_foreign([value])
    assert caught.value.code == "too_deep"


def test_plain_numbers_are_never_changed_in_value() -> None:
    given = parse_foreign(
        b'[7, 0.5, 0.1, 1e400, 0.1000000000000000000001, 12345678901234567890, -0.0, {"a":1}]'
    )
    plain = to_plain(given)
    assert plain[:3] == [7, 0.5, 0.1]
    assert [type(each) for each in plain[:7]] == [int, float, float, Decimal, Decimal, int, float]
    assert plain[3:7] == [Decimal("1e400"), Decimal("0.1000000000000000000001"), 12345678901234567890, 0.0]
    assert plain[7] == {"a": 1}
    assert to_plain(parse_foreign(b"1" * 5000)) == Decimal("1" * 5000)
    assert ForeignNumber("1.50").to_decimal() == Decimal("1.5")


@pytest.mark.parametrize("text", ["1e99999999999999999999", "1.5e-99999999999999999999"])
def test_a_number_too_large_to_compute_with_is_kept_and_not_computed(text) -> None:
    number = parse_foreign(text.encode())
    assert dump_foreign(number) == text.encode()
    with pytest.raises(canonical.UsageError) as caught:
        to_plain(number)
    assert caught.value.code == "bad_number"


def test_printing_keeps_number_text_and_member_order() -> None:
    text = b'{"z":1.0,"a":[1e2,"\xc3\xa9",null,{}]}'
    assert dump_foreign(parse_foreign(text)) == text


@pytest.mark.parametrize(
    "data",
    [
        b"1",
        b"[1]",
        b'{"a":1}',
        b'{"a":"1","a":"1"}',
        b'["\\u0041"]',
        b'{"b":"1","a":"1"}',
        b'{"$obj":{"a":"1"}}',
        b'["a" ]',
        b'{"$num":"01"}',
    ],
)
def test_bytes_that_no_foreign_value_has_are_not_taken_back(data) -> None:
    for decode in (decode_foreign, decode_plain):
        with pytest.raises(canonical.UsageError):
            decode(data)


def test_a_number_is_frozen_and_equal_only_to_its_own_text() -> None:
    number = ForeignNumber("1")
    assert number == ForeignNumber("1")
    assert number != ForeignNumber("1.0")
    assert number != 1
    assert len({number, ForeignNumber("1"), ForeignNumber("1e0")}) == 2
    with pytest.raises(AttributeError):
        number.text = "2"
    for text in ("", "01", "+1", ".5", "1.", "NaN", "1\n", "١", "0x1"):
        with pytest.raises(canonical.UsageError):
            ForeignNumber(text)


_KEYS = st.text(max_size=3) | st.sampled_from(["$num", "$obj", "a", "\u00e9", "\U0001f600", "\uffff"])
_NUMBERS = (
    st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.decimals(allow_nan=False, places=2)
)
_PLAIN = st.recursive(
    st.none() | st.booleans() | st.text(max_size=5) | _NUMBERS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=8,
)


@given(_PLAIN)
def test_the_quick_ways_give_what_the_slow_ways_give(value: Any) -> None:
    try:
        slow = from_plain(value)
    except JsonRefused:
        for quick in (plain_copy, encode_foreign):
            with pytest.raises(JsonRefused):
                quick(value)
        return
    data = encode_foreign(value)
    assert decode_foreign(data) == slow
    assert _told(plain_copy(value)) == _told(decode_plain(data)) == _told(to_plain(slow))


def _told(value: Any) -> str:
    """A value with its types and without an order of members: 1, 1.0 and True are equal and not the same."""
    if isinstance(value, dict):
        return repr(sorted((key, _told(member)) for key, member in value.items()))
    return repr([_told(item) for item in value]) if isinstance(value, list) else repr(value)


@pytest.mark.parametrize("bottom", [1, {"$num": "1"}, {"$obj": {}}, "x"])
def test_the_deepest_value_that_is_written_is_read_again(bottom: Any) -> None:
    value: Any = bottom
    for _ in range(63 if isinstance(bottom, dict) else 64):
        value = {"$obj": value}
    if isinstance(bottom, dict) and "$obj" in bottom:
        value = value["$obj"]
    data = encode_foreign(value)
    assert to_plain(decode_foreign(data)) == decode_plain(data) == value
    with pytest.raises(JsonRefused):
        encode_foreign([value, [value]])
