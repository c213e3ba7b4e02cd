# SPDX-License-Identifier: Apache-2.0
"""The quick reader and the explaining one agree about every line, and no mutation of a signed line passes."""

import json
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from actum.evidence import effect_line
from actum.evidence.effect_line import LineAnswer, LineError, encode_answer, read_line, verify_lines
from actum.evidence.wire_schema import Fault
from actum.model.action_v2 import Effect
from actum.model.rfc3339 import Instant, format_ms, instant_of_ms, parse_instant
from actum.model.strict_json import parse_foreign
from actum.testing.effect_lines import BEFORE, EFFECT, OTHER, effect, line, look, trusting

ODD: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, 1.5, "", "x", [], {}, [None], BEFORE, "0" * 16, "2026-05-04T12:00:00Z", "definite",
     "timeout", "verified", "failed", {"id": "a"}, {"at": "never"}, {"deadline": "x"}, [{"keyid": "zz"}]]
)  # fmt: skip
MEMBERS = [*Effect.__struct_fields__, "unknown"]


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    record = {"id": "e", "version": "action/v2", "effect_digest": EFFECT, "finality": "finalized"}
    changed: dict[str, Any] = record | draw(st.dictionaries(st.sampled_from(MEMBERS), ODD, max_size=3))
    for member in ("readback", "actor", "resolution"):
        if draw(st.booleans()) and not isinstance(changed.get(member), dict):
            names = ["before", "observed", "outcome", "verifier", "at", "keyid", "sig", "id", "deadline"]
            changed[member] = draw(st.dictionaries(st.sampled_from([*names, "on_deadline"]), ODD, max_size=2))
    return json.dumps(changed).encode()


@settings(max_examples=500)
@given(lines())
def test_the_quick_and_the_explaining_reader_agree_on_every_line(data) -> None:
    # read_line itself raises InvariantViolation where the quick reader refuses and the other finds no fault.
    explained = list(effect_line._EFFECT(parse_foreign(data), ""))
    found = read_line(data)
    assert isinstance(found, Fault) is bool(explained)
    if explained:
        assert found == explained[0]
    else:
        assert isinstance(found, Effect)
        assert read_line(line(found)) == found


@settings(max_examples=300)
@given(st.lists(lines() | st.binary(max_size=12).filter(lambda data: b"\n" not in data), max_size=5))
def test_every_line_that_is_not_blank_gets_exactly_one_answer(data) -> None:
    answers = list(verify_lines(data, trust=trusting(), at=Instant(0)))
    assert len(answers) == sum(bool(each.strip(b" \t\r\n")) for each in data)
    for each in answers:
        shown = json.loads(encode_answer(each))
        assert ("error" in shown) is isinstance(each, LineError)


SIGNED = json.loads(msgspec.json.encode(look()))


@given(st.sampled_from(sorted(SIGNED)), ODD)
def test_t12_no_change_of_a_signed_member_keeps_the_grade(member, odd) -> None:
    record = json.loads(line(effect(readback=look())))
    if record["readback"][member] == odd:
        return
    record["readback"][member] = odd
    (found,) = verify_lines([json.dumps(record).encode()], trust=trusting())
    if isinstance(found, LineAnswer):
        assert found.graded.finality.value == "indeterminate"


@given(st.sampled_from(["effect_digest", "expected"]))
def test_t12_a_signed_look_cannot_be_moved_to_another_effect(member) -> None:
    record = json.loads(line(effect(readback=look()))) | {member: OTHER}
    (found,) = verify_lines([json.dumps(record).encode()], trust=trusting())
    assert isinstance(found, LineAnswer)
    assert found.graded.finality.value == "indeterminate"


@given(st.integers(-62_167_219_200_000, 253_402_300_799_999))
def test_a_written_time_is_read_back_as_the_same_instant(at_ms) -> None:
    assert parse_instant(format_ms(at_ms)) == instant_of_ms(at_ms)


@given(st.datetimes(), st.integers(-1439, 1439))
def test_times_are_read_as_the_standard_library_reads_them(moment, offset) -> None:
    import datetime

    zone = datetime.timezone(datetime.timedelta(minutes=offset))
    text = moment.replace(tzinfo=zone).isoformat()
    read = parse_instant(text)
    assert read is not None
    since = moment.replace(tzinfo=zone) - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    micros = since // datetime.timedelta(microseconds=1)
    assert (read.seconds, read.fraction.ljust(6, "0")) == (micros // 10**6, f"{micros % 10**6:06d}")
