# SPDX-License-Identifier: Apache-2.0
"""Whole and broken messages of our own making: none is lost, none is invented, every byte is kept."""

from __future__ import annotations

import base64
import tempfile
from email.headerregistry import Address
from email.message import EmailMessage
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from actum.adapters.intake.maildir import IntakeFailure, read_maildir
from actum.adapters.intake.mime import read_message
from actum.model import canonical
from actum.model.work import Submission

# Text that a header can carry; surrogates and line ends are the business of the broken messages.
WORDS = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), max_size=40)
PLAIN = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0\r"), max_size=200)
CHARSETS = ("utf-8", "us-ascii", "iso-8859-1", "utf-16", "x-nowhere", "punycode", "", "utf-8\0", "\udcff")
ENCODINGS = (b"7bit", b"8bit", b"base64", b"quoted-printable", b"x-uuencode", b"nonsense", b"")
HEADERS = (
    b"From", b"To", b"Cc", b"Subject", b"Date", b"Message-ID", b"Content-Type", b"Content-Disposition",
    b"MIME-Version", b"X-Odd", b"", b"\xff", b"No Colon",
)  # fmt: skip
VALUES = st.one_of(
    st.binary(max_size=60),
    st.sampled_from(
        (
            b"=?utf-8?B?/w==?=", b"=?utf-8?Q?=ZZ?=", b"=?x?Z?x?=", b"a@b, (((", b'"', b"<<>>", b"group: a@b;",
            b"multipart/mixed; boundary=b", b"multipart/mixed", b"multipart/alternative; boundary=\"\"",
            b"message/rfc822", b"message/delivery-status", b"message/partial", b"text/plain; charset=x",
            b"text/html; charset*0*=utf-8''a; charset*2=b", b"attachment; filename*=utf-8''%ff%zz",
            b"Mon, 99 Foo 2020", b"\r\n\tfolded\r\n ", b"/;;;=",
        )
    ),
)  # fmt: skip


@st.composite
def whole_messages(draw: st.DrawFn) -> tuple[bytes, str, str]:
    """A message that the standard library wrote, with the subject and text it was given."""
    message = EmailMessage()
    name = draw(st.text("abcdefghijklmnopqrstuvwxyzäöü ", max_size=20)).strip()
    message["From"] = Address(display_name=name, addr_spec="alice@example.test")
    message["To"] = "bob@example.test"
    subject = draw(WORDS)
    message["Subject"] = subject
    text = draw(PLAIN)
    message.set_content(text, cte=draw(st.sampled_from(("base64", "quoted-printable"))))
    if draw(st.booleans()):
        message.add_alternative("<p>other</p>", subtype="html")
    for _ in range(draw(st.integers(0, 2))):
        message.add_attachment(
            draw(st.binary(max_size=50)), maintype="application", subtype="x", filename="f"
        )
    # Left to itself the library draws its boundaries from the clock and chance.
    for number, part in enumerate(message.walk()):
        if part.is_multipart():
            part.set_boundary(f"boundary-{number}")
    return message.as_bytes(), subject, text


@st.composite
def made_messages(draw: st.DrawFn) -> bytes:
    """Headers and parts put together without regard to any rule."""
    line_end = draw(st.sampled_from((b"\r\n", b"\n", b"\r", b"\n\r")))
    head = [
        draw(st.sampled_from(HEADERS)) + draw(st.sampled_from((b": ", b":", b" ", b""))) + draw(VALUES)
        for _ in range(draw(st.integers(0, 8)))
    ]
    charset = draw(st.sampled_from(CHARSETS)).encode("utf-8", "surrogateescape")
    body = [
        b"--b",
        b"Content-Type: text/plain; charset=" + charset,
        b"Content-Transfer-Encoding: " + draw(st.sampled_from(ENCODINGS)),
        b"",
        draw(st.binary(max_size=200)),
        draw(st.sampled_from((b"--b--", b"--b", b"--c", b""))),
    ]
    return line_end.join([*head, b"", *(body * draw(st.integers(0, 3)))])


@st.composite
def damaged_messages(draw: st.DrawFn) -> bytes:
    """A whole message with a piece cut out, doubled or overwritten."""
    raw, _, _ = draw(whole_messages())
    start, length = draw(st.integers(0, len(raw))), draw(st.integers(0, 40))
    piece = raw[start : start + length]
    new = draw(st.one_of(st.just(b""), st.just(piece * 2), st.binary(max_size=40), VALUES))
    return raw[:start] + new + raw[start + length :]


ANY = st.one_of(whole_messages().map(lambda made: made[0]), made_messages(), damaged_messages(), st.binary())


@settings(max_examples=60)
@given(st.lists(ANY, max_size=8))
def test_messages_in_are_items_and_failures_out(messages: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        new = Path(folder) / "new"
        new.mkdir()
        for number, raw in enumerate(messages):
            (new / f"{number:03d}.m").write_bytes(raw)
        answers = list(read_maildir(folder))
    assert len(answers) == len(messages)
    for raw, answer in zip(messages, answers, strict=True):
        if isinstance(answer, IntakeFailure):
            assert answer.code != "unparseable", (answer, raw)
        else:
            assert (answer.attachments or {})["message.eml"] == base64.b64encode(raw).decode()
            canonical.encode_foreign(answer.subject)


@settings(max_examples=300)
@given(ANY)
def test_no_message_makes_the_reader_raise(raw: bytes) -> None:
    answer = read_message(raw, key=None)
    if isinstance(answer, Submission):
        assert "\0" not in str(answer.subject["text"])


@given(whole_messages())
def test_what_a_whole_message_says_is_read_as_it_was_said(made: tuple[bytes, str, str]) -> None:
    raw, subject, text = made
    answer = read_message(raw, key=None)
    assert isinstance(answer, Submission)
    assert str(answer.subject["subject"]).split() == subject.split()
    assert str(answer.subject["text"]).rstrip("\n") == text.rstrip("\n")
    assert answer.subject["to"] == [{"name": "", "address": "bob@example.test"}]
