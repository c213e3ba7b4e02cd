# SPDX-License-Identifier: Apache-2.0
"""RFC 3339 is read whole, exactly, and nothing beside it."""

import pytest

from actum.model.rfc3339 import Instant, format_ms, instant_of_ms, parse_instant, whole_seconds_between


def at(text: str) -> Instant:
    instant = parse_instant(text)
    assert instant is not None, text
    return instant


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2026-05-04T12:00:00Z", "2026-05-04t12:00:00z"),
        ("2026-05-04T12:00:00Z", "2026-05-04T14:00:00+02:00"),
        ("2026-05-04T12:00:00Z", "2026-05-03T23:30:00-12:30"),
        ("2026-05-04T12:00:00Z", "2026-05-04T12:00:00-00:00"),
        ("2026-05-04T12:00:00Z", "2026-05-04T12:00:00.000Z"),
        ("2026-05-04T12:00:00.5Z", "2026-05-04T12:00:00.500000000000000000000Z"),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"),
        ("2016-12-31T23:59:60.25Z", "2017-01-01T00:00:00.25Z"),
        ("2026-05-04T12:00:60Z", "2026-05-04T12:01:00Z"),
        ("2024-02-29T23:59:59-23:59", "2024-03-01T23:58:59Z"),
    ],
)
def test_two_writings_of_one_instant_are_equal(one, other) -> None:
    assert at(one) == at(other)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-05-04",
        "2026-05-04T12:00:00",
        "2026-05-04T12:00Z",
        "2026-05-04 12:00:00Z",
        "2026-05-04T12:00:00.Z",
        "2026-05-04T12:00:00,5Z",
        "2026-05-04T12:00:00+0200",
        "2026-05-04T12:00:00+02",
        "2026-05-04T12:00:00+24:00",
        "2026-05-04T12:00:00+02:60",
        "2026-05-04T24:00:00Z",
        "2026-05-04T12:60:00Z",
        "2026-05-04T12:00:61Z",
        "2026-00-04T12:00:00Z",
        "2026-13-04T12:00:00Z",
        "2026-05-00T12:00:00Z",
        "2026-04-31T12:00:00Z",
        "2025-02-29T12:00:00Z",
        "1900-02-29T12:00:00Z",
        "02026-05-04T12:00:00Z",
        " 2026-05-04T12:00:00Z",
        "2026-05-04T12:00:00Z\n",
        "٢٠٢٦-05-04T12:00:00Z",
        "-001-05-04T12:00:00Z",
    ],
)
def test_what_is_no_time_or_no_date_is_none(text) -> None:
    assert parse_instant(text) is None


def test_instants_are_ordered_exactly_to_any_digit() -> None:
    texts = [
        "0000-01-01T00:00:00Z",
        "1969-12-31T23:59:59.999999999Z",
        "1970-01-01T00:00:00Z",
        "1970-01-01T00:00:00.0000000000000000001Z",
        "1970-01-01T00:00:00.09Z",
        "1970-01-01T00:00:00.1Z",
        "1970-01-01T00:00:00.15Z",
        "1970-01-01T00:00:00.2Z",
        "9999-12-31T23:59:60Z",
    ]
    assert sorted(map(at, reversed(texts))) == [at(text) for text in texts]


def test_a_distance_is_rounded_down_and_has_no_direction() -> None:
    for one, other, seconds in (
        ("1970-01-01T00:00:00.9Z", "1970-01-01T00:00:02Z", 1),
        ("1970-01-01T00:00:00.5Z", "1970-01-01T00:00:02.5Z", 2),
        ("1969-12-31T23:59:59.5Z", "1970-01-01T00:00:00.4Z", 0),
    ):
        assert whole_seconds_between(at(one), at(other)) == seconds
        assert whole_seconds_between(at(other), at(one)) == seconds


def test_the_kernels_milliseconds_are_instants_too() -> None:
    assert instant_of_ms(1500) == at("1970-01-01T00:00:01.5Z")
    assert instant_of_ms(-1) == at("1969-12-31T23:59:59.999Z")
    assert format_ms(1777896000007) == "2026-05-04T12:00:00.007Z"
    assert format_ms(951782400000) == "2000-02-29T00:00:00.000Z"
    with pytest.raises(ValueError):
        format_ms(253402300800000)
