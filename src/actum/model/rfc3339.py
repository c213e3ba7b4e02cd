# SPDX-License-Identifier: Apache-2.0
"""A written time is one exact instant or no time at all.

The whole of RFC 3339 is read: an offset is required, T and Z in either case, any number of fraction digits,
second 60 as the following instant, -00:00 as UTC. Nothing is rounded, so two instants compare as written.
"""

from __future__ import annotations

import re

import msgspec

_form = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?"
    r"(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))",
    re.ASCII,
)
_DAYS_IN_MONTH = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
# Days from 0000-03-01 to 1970-01-01 in the proleptic Gregorian calendar.
_EPOCH_DAYS = 719_468


class Instant(msgspec.Struct, frozen=True, order=True):
    """An exact point in time: whole seconds since 1970-01-01T00:00:00Z, and the fraction's digits.

    `fraction` has no trailing zeros, so comparing it as text compares it as a number.
    """

    seconds: int
    fraction: str = ""


def parse_instant(text: str) -> Instant | None:
    """Return the instant that `text` names, or None where it is no RFC 3339 time with an offset.

    >>> parse_instant("1970-01-01T01:00:00.50+01:00")
    Instant(seconds=0, fraction='5')
    >>> parse_instant("2025-02-29T00:00:00Z") is None
    True
    """
    match = _form.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in match.group(1, 2, 3, 4, 5, 6))
    if not 1 <= month <= 12 or not 1 <= day <= _days_in_month(year, month):
        return None
    if hour > 23 or minute > 59 or second > 60:
        return None
    offset = 0
    if match[8]:
        if int(match[9]) > 23 or int(match[10]) > 59:
            return None
        offset = (int(match[9]) * 60 + int(match[10])) * (-60 if match[8] == "-" else 60)
    seconds = _days_since_epoch(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset
    return Instant(seconds, (match[7] or "").rstrip("0"))


def instant_of_ms(at_ms: int) -> Instant:
    """Return the instant of unix milliseconds UTC, the form the kernel's own clock has."""
    seconds, ms = divmod(at_ms, 1000)
    return Instant(seconds, f"{ms:03d}".rstrip("0"))


def format_ms(at_ms: int) -> str:
    """Return unix milliseconds UTC as RFC 3339 with three fraction digits and Z; years 0000 to 9999 only.

    >>> format_ms(0)
    '1970-01-01T00:00:00.000Z'
    """
    seconds, ms = divmod(at_ms, 1000)
    days, rest = divmod(seconds, 86_400)
    year, month, day = _civil(days)
    if not 0 <= year <= 9999:
        raise ValueError(f"year {year} has no RFC 3339 form")
    hour, minute, second = rest // 3600, rest // 60 % 60, rest % 60
    return f"{year:04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}.{ms:03d}Z"


def whole_seconds_between(one: Instant, other: Instant) -> int:
    """Return the distance of two instants in seconds, rounded down."""
    early, late = sorted((one, other))
    return late.seconds - early.seconds - (late.fraction < early.fraction)


def _days_in_month(year: int, month: int) -> int:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if month == 2 and leap else _DAYS_IN_MONTH[month - 1]


def _days_since_epoch(year: int, month: int, day: int) -> int:
    # Counting years from March puts the leap day at the end, where it shifts nothing.
    years = year - (month <= 2)
    day_of_year = (153 * ((month - 3) % 12) + 2) // 5 + day - 1
    return years * 365 + years // 4 - years // 100 + years // 400 + day_of_year - _EPOCH_DAYS


def _civil(days: int) -> tuple[int, int, int]:
    era, day_of_era = divmod(days + _EPOCH_DAYS, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year_of_era + era * 400 + (month <= 2), month, day_of_year - (153 * shifted + 2) // 5 + 1
