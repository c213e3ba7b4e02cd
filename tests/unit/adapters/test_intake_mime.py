# SPDX-License-Identifier: Apache-2.0
"""A broken message is still an item, kept whole; what cannot be read at all is a failure with a code."""

from __future__ import annotations

import base64

import pytest

from actum.adapters.intake import mime
from actum.adapters.intake.mime import Unreadable, read_message
from actum.model import canonical
from actum.model.work import Submission

HEAD = b"From: Alice <alice@example.test>\r\nTo: bob@example.test\r\nSubject: Hello\r\n"


def item(raw: bytes) -> Submission:
    answer = read_message(raw, key="k")
    assert isinstance(answer, Submission), answer
    return answer


def subject(raw: bytes) -> dict[str, object]:
    return item(raw).subject


def failure(raw: bytes) -> str:
    answer = read_message(raw, key=None)
    assert isinstance(answer, Unreadable), answer
    return answer.code


def test_a_message_becomes_an_item_with_its_raw_bytes_attached() -> None:
    raw = (
        HEAD
        + b"Cc: Carol <carol@example.test>, dave@example.test\r\n"
        + b"Date: Mon, 1 Dec 2025 05:33:20 +0200\r\nMessage-ID: <m1@example.test>\r\n"
        + b"In-Reply-To: <m0@example.test>\r\n\r\nFirst line\r\nSecond line\r\n"
    )
    answer = item(raw)
    assert answer.work_type == "ea_inbox"
    assert answer.key == "k"
    assert answer.attachments == {"message.eml": base64.b64encode(raw).decode()}
    assert answer.subject == {
        "from": {"name": "Alice", "address": "alice@example.test"},
        "to": [{"name": "", "address": "bob@example.test"}],
        "cc": [
            {"name": "Carol", "address": "carol@example.test"},
            {"name": "", "address": "dave@example.test"},
        ],
        "reply_to": [],
        "subject": "Hello",
        "date": "2025-12-01T03:33:20Z",
        "date_text": "Mon, 1 Dec 2025 05:33:20 +0200",
        "message_id": "<m1@example.test>",
        "in_reply_to": "<m0@example.test>",
        "text": "First line\nSecond line\n",
        "attachments": [],
        "defects": [],
    }


@pytest.mark.parametrize(
    "written, read",
    [
        (b"=?utf-8?B?R3LDvMOfZQ==?=", "Grüße"),
        (b"=?iso-8859-1?Q?Gr=FC=DFe?= and more", "Grüße and more"),
        (b"Gr\xc3\xbc\xc3\x9fe", "Grüße"),
        (b"=?x-nowhere?Q?Gr=C3=BCsse?=", "Grüsse"),
        (b"=?utf-8?B?a?=", "=?utf-8?B?a?="),
        (b"folded\r\n over two lines", "folded  over two lines"),
        (b"a\x00b", "a\ufffdb"),
    ],
)
def test_a_subject_is_decoded_as_far_as_it_can_be(written: bytes, read: str) -> None:
    assert subject(b"Subject: " + written + b"\r\n\r\nx")["subject"] == read


@pytest.mark.parametrize(
    "kind, body, text",
    [
        (b"text/plain; charset=x-nowhere", b"Gr\xc3\xbc\xc3\x9fe", "Grüße"),
        (b"text/plain; charset=us-ascii", b"Gr\xfc\xdfe", "Grüße"),
        (b"text/plain; charset=utf-8", b"half \xed\xa0\x80 pair", "half í\xa0\x80 pair"),
        (b"text/plain; charset=punycode", b"abc", "abc"),
        (b'text/plain; charset="a\x00b"', b"abc", "abc"),
        (b"text/plain; charset*=\xff''%ff", b"abc", "abc"),
        (b"text/html", b"<p>Hi<script>x()</script><br>there &amp; then<!-- no --></p>", "Hi\nthere & then"),
        (b"text/html", b"<style>no", ""),
        (b"text/plain", b"nul\x00l", "nul\ufffdl"),
    ],
)
def test_a_text_is_read_whatever_its_charset_says(kind: bytes, body: bytes, text: str) -> None:
    assert subject(HEAD + b"Content-Type: " + kind + b"\r\n\r\n" + body)["text"] == text


def test_the_plain_text_is_preferred_and_attached_files_are_named() -> None:
    raw = HEAD + (
        b"Content-Type: multipart/mixed; boundary=b\r\n\r\n"
        b"--b\r\nContent-Type: text/html\r\n\r\n<b>shown</b>\r\n"
        b"--b\r\nContent-Type: text/plain\r\n\r\nplain\r\n"
        b'--b\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename="a.txt"\r\n\r\nno\r\n'
        b"--b\r\nContent-Type: message/rfc822\r\n\r\nSubject: inner\r\n\r\ninner text\r\n--b--\r\n"
    )
    found = subject(raw)
    assert found["text"] == "plain"
    assert found["attachments"] == ["a.txt", "message/rfc822"]


@pytest.mark.parametrize("when", [b"soon", b"9" * 5000, b"Mon, 31 Feb 2020 99:99:99 +9999"])
def test_a_date_that_is_none_is_null_and_named(when: bytes) -> None:
    found = subject(b"Date: " + when + b"\r\n\r\nx")
    assert found["date"] is None
    assert found["defects"] == ["the date cannot be read"]


def test_a_cut_text_says_that_it_was_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mime, "MAX_TEXT", 10)
    found = subject(HEAD + b"\r\n" + b"x" * 11)
    assert found["text"] == "x" * 10
    assert found["defects"] == ["the text is cut at 10 characters"]


def test_what_is_beyond_the_bounds_is_a_failure_with_a_code(monkeypatch: pytest.MonkeyPatch) -> None:
    nested = b"".join(
        b"Content-Type: multipart/mixed; boundary=%d\r\n\r\n--%d\r\n" % (n, n) for n in range(3000)
    )
    assert failure(b"") == failure(b"\r\n\r\n") == "empty"
    assert failure(HEAD + nested + b"\r\nhi") == "too_many_parts"
    assert failure(HEAD + b"Content-Type: message/rfc822\r\n\r\n" * 3000 + b"hi") == "nested_too_deep"
    assert (
        failure(HEAD + b'Content-Type: text/plain; x="' + b";" * 20_000 + b'"\r\n\r\nhi') == "header_too_long"
    )
    monkeypatch.setattr(mime, "MAX_MESSAGE", 100)
    assert failure(HEAD + b"\r\n" + b"x" * 100) == "too_large"


def test_parts_deeper_than_the_bound_are_not_read_and_that_is_said() -> None:
    nested = b"".join(
        b"Content-Type: multipart/mixed; boundary=%d\r\n\r\n--%d\r\n" % (n, n) for n in range(60)
    )
    found = subject(HEAD + nested + b"\r\nhi")
    assert found["text"] == ""
    assert "parts beyond 1000 or deeper than 40 were not read" in str(found["defects"])


@pytest.mark.parametrize("mark", [b"(", b'"', b"<", b"a:", b"[@", b"a@b.c,"])
def test_a_hostile_address_header_costs_its_reader_nothing_but_a_defect(mark: bytes) -> None:
    found = subject(b"To: " + mark * 16_000 + b"\r\nSubject: kept\r\n\r\nx")
    assert found["subject"] == "kept"
    assert found["defects"]


def test_whatever_the_parser_raises_is_a_failure_and_not_an_exception(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object, **__: object) -> object:
        raise AttributeError("a kind nobody expected")

    monkeypatch.setattr(mime.email, "message_from_bytes", broken)
    assert failure(HEAD + b"\r\nhi") == "unparseable"


def test_a_subject_can_always_be_written_as_foreign_json() -> None:
    for raw in (
        b"\x00" * 100,
        bytes(range(256)) * 4,
        b"From: \xed\xa0\x80\r\n\r\n\xff\xfe",
        b":\r\n:\r\n",
        b"\xff",
    ):
        found = subject(raw)
        assert canonical.decode_foreign(canonical.encode_foreign(found)) == found
