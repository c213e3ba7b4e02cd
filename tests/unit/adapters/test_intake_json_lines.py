# SPDX-License-Identifier: Apache-2.0
"""Every line is answered: with an item, or with all its faults and where they are."""

from __future__ import annotations

import io
import tracemalloc

import pytest

from actum.adapters.intake.json_lines import LineFailure, read_lines
from actum.model.canonical import ForeignNumber
from actum.model.work import Submission

GOOD = b'{"work_type": "ea_inbox", "subject": {"n": 1.50}, "key": "k1"}\n'


def read(data: bytes, **bounds: int) -> list[Submission | LineFailure]:
    return list(read_lines(io.BytesIO(data), **bounds))


def faults(data: bytes) -> list[tuple[str, str]]:
    (answer,) = read(data)
    assert isinstance(answer, LineFailure), answer
    return [(fault.code, fault.path) for fault in answer.faults]


def test_a_line_becomes_an_item_and_a_number_keeps_its_text() -> None:
    assert read(GOOD) == [Submission(work_type="ea_inbox", subject={"n": ForeignNumber("1.50")}, key="k1")]
    whole = (
        b'{"work_type":"refund","subject":{},"key":null,"on_behalf_of":"carol",'
        b'"attachments":{"a.txt":"aGk="}}'
    )
    assert read(whole) == [
        Submission(work_type="refund", subject={}, on_behalf_of="carol", attachments={"a.txt": "aGk="})
    ]


def test_every_fault_of_a_line_is_named_with_its_place() -> None:
    line = (
        b'{"work_type": "EA inbox", "subject": [], "key": 7, "on_behalf_of": "", "kez": 1, "a/b~c": 2,'
        b' "attachments": {"../x": "aGk=", "y": "aGk", "z": 3, "w": "aGl="}}'
    )
    assert faults(line) == [
        ("unknown_field", "/kez"),
        ("unknown_field", "/a~1b~0c"),
        ("format", "/work_type"),
        ("type", "/subject"),
        ("type", "/key"),
        ("format", "/on_behalf_of"),
        ("format", "/attachments/..~1x"),
        ("format", "/attachments/y"),
        ("type", "/attachments/z"),
        ("format", "/attachments/w"),
    ]


@pytest.mark.parametrize(
    "line, code, path",
    [
        (b"{}", "missing", "/work_type"),
        (b'{"work_type": "a", "subject": {"x": 1, "x": 2}}', "duplicate_key", "/subject/x"),
        (b'{"work_type": "a", "subject": {"x": NaN}}', "bad_number", "/subject/x"),
        (b'{"work_type": "a", "subject": {"x": "\\ud800"}}', "lone_surrogate", "/subject/x"),
        (b'{"work_type": "a", "subject": {"x": "\xff"}}', "not_utf8", ""),
        (b'{"work_type": "a", "subject": {}} trailing', "not_json", ""),
        (b'{"work_type": "a", "subject": ' + b"[" * 100, "too_deep", ""),
        (b"\xef\xbb\xbf{}", "not_json", ""),
        (b'"text"', "type", ""),
        (b"{}{}", "not_json", ""),
        (b'{"work_type": 7, "subject": {}}', "type", "/work_type"),
        (b'{"work_type": "a", "subject": {}, "key": "a\\u0000b"}', "format", "/key"),
        (b'{"work_type": "a", "subject": {}, "attachments": []}', "type", "/attachments"),
    ],
)
def test_a_line_that_two_readers_could_read_differently_is_no_item(line: bytes, code: str, path: str) -> None:
    assert (code, path) in faults(line)


def test_a_broken_line_does_not_stop_the_lines_behind_it_and_physical_lines_are_counted() -> None:
    answers = read(b"\n  \n" + GOOD + b"{broken\n\r\n" + GOOD + b"[]")
    shown = [answer.line if isinstance(answer, LineFailure) else answer.key for answer in answers]
    assert shown == ["k1", 4, "k1", 7]


def test_a_line_beyond_the_bound_is_skipped_to_its_end() -> None:
    answers = read(GOOD + b'{"work_type": "' + b"x" * 300_000 + b'"}\n' + GOOD, max_line=200)
    assert [type(answer) for answer in answers] == [Submission, LineFailure, Submission]
    assert isinstance(answers[1], LineFailure)
    assert (answers[1].line, answers[1].faults[0].code) == (2, "too_long")


def test_a_line_just_at_the_bound_is_read() -> None:
    assert isinstance(read(GOOD, max_line=len(GOOD) - 1)[0], Submission)
    assert isinstance(read(GOOD, max_line=len(GOOD) - 2)[0], LineFailure)
    assert isinstance(read(GOOD.rstrip(), max_line=len(GOOD) - 1)[0], Submission)


def test_one_document_over_several_lines_is_read_as_one() -> None:
    one = b'{\n "work_type": "a",\n "subject": {}\n}\n'
    assert read(one) == [Submission(work_type="a", subject={})]
    many = b"[\n" + one + b",\n{},\n" + one + b"]"
    answers = read(many)
    assert [type(answer) for answer in answers] == [Submission, LineFailure, Submission]
    assert isinstance(answers[1], LineFailure)
    assert [fault.path for fault in answers[1].faults] == ["/1/work_type", "/1/subject"]
    assert faults(b"{\n broken") == [("not_json", "")]


def test_a_document_beyond_the_bound_is_refused_whole() -> None:
    answers = read(b"[\n" + GOOD * 10 + b"]", max_line=100)
    assert isinstance(answers[0], LineFailure)
    assert [fault.code for fault in answers[0].faults] == ["too_long"]


def test_memory_does_not_grow_with_the_number_of_lines() -> None:
    class Endless(io.RawIOBase):
        """Lines made as they are read, so that the input itself is not in memory."""

        def __init__(self, count: int) -> None:
            self._left = count

        def readline(self, size: int | None = -1) -> bytes:
            self._left -= 1
            return GOOD if self._left >= 0 else b""

    def peak(count: int) -> int:
        tracemalloc.start()
        assert sum(1 for _ in read_lines(Endless(count))) == count  # type: ignore[arg-type]
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(10)
    # Five thousand kept items would be megabytes; the allowance is for the interpreter's own caches.
    assert peak(5_000) <= peak(500) + 16_384
