# SPDX-License-Identifier: Apache-2.0
"""A message is the same bytes for the same arguments, and no argument reaches a header unread."""

from __future__ import annotations

import email
import email.policy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.capabilities.mail.content import body_digest
from actum.capabilities.mail.describe import rebuild_message
from actum.capabilities.mail.message import date_header
from actum.model import canonical
from actum.model.errors import Refused
from actum.ports.capability import Described

from .mail_drive import BOB, CAROL, describe, no_server


def described(**changed: object) -> Described:
    answer = describe(no_server(), "mail.send", **changed)
    assert isinstance(answer, Described), answer
    return answer


def refused(**changed: object) -> tuple[str, str]:
    answer = describe(no_server(), "mail.send", **changed)
    assert isinstance(answer, Refused), answer
    return answer.reason, answer.facts.get("path", "")


def raw_of(answer: Described) -> bytes:
    rebuilt = rebuild_message(answer.arguments)
    assert not isinstance(rebuilt, Refused)
    return rebuilt[1]


def test_the_same_arguments_are_the_same_bytes_to_the_octet() -> None:
    answer = described(cc=["Zoë <zoe@example.test>"], in_reply_to="<q1@example.test>")
    assert raw_of(answer) == (
        b"From: Alice <alice@example.test>\r\n"
        b"To: bob@example.test\r\n"
        b"Cc: =?utf-8?B?Wm/Dqw==?=\r\n <zoe@example.test>\r\n"
        b"Subject: Thursday\r\n"
        b"Date: Mon, 01 Dec 2025 03:33:20 +0000\r\n"
        b"Message-ID: <01JDPROPOSAL@example.test>\r\n"
        b"In-Reply-To: <q1@example.test>\r\n"
        b"References: <q1@example.test>\r\n"
        b"MIME-Version: 1.0\r\n"
        b'Content-Type: text/plain; charset="utf-8"\r\n'
        b"Content-Transfer-Encoding: 7bit\r\n"
        b"\r\n"
        b"The room is free.\r\n"
    )


def test_the_resolved_arguments_name_the_digest_of_the_exact_bytes() -> None:
    answer = described()
    assert answer.arguments["message_digest"] == canonical.digest_bytes(raw_of(answer))
    assert answer.arguments["message_id"] == "<01JDPROPOSAL@example.test>"
    assert answer.resources[0].digest == answer.arguments["message_digest"]


def test_resolved_arguments_that_were_changed_afterwards_are_refused() -> None:
    arguments = described().arguments
    for member, value in (("text", "Other"), ("to", ["mallory@example.test"]), ("date", "x"), ("cc", None)):
        answer = rebuild_message({**arguments, member: value})
        assert isinstance(answer, Refused)
        assert answer.reason == "message_differs"


def test_recipients_and_server_stand_in_the_descriptor_and_each_recipient_counts() -> None:
    answer = described(cc=[f"Carol <{CAROL}>"])
    assert answer.recipients == (BOB, CAROL)
    assert answer.destinations == ("smtp://127.0.0.1:9",)
    assert (answer.object_count, answer.blast_radius) == (1, 2)


@pytest.mark.parametrize(
    "changed, path",
    [
        ({"subject": "x\r\nBcc: mallory@example.test"}, "/subject"),
        ({"subject": "x\nBcc: mallory@example.test"}, "/subject"),
        ({"subject": "x\u2028Bcc: mallory@example.test"}, "/subject"),
        ({"subject": "x\x00"}, "/subject"),
        ({"to": ["bob@example.test\r\nBcc: mallory@example.test"]}, "/to/0"),
        ({"cc": [BOB, "Mallory\n <m@example.test>"]}, "/cc/1"),
        ({"from": "Alice\r\nX: y <alice@example.test>"}, "/from"),
    ],
)
def test_a_line_break_in_a_header_is_refused(changed: dict[str, object], path: str) -> None:
    assert refused(**changed) == ("header_injection", path)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "bob",
        "bob@",
        "@example.test",
        "bob@example..test",
        "bob.@example.test",
        "bob@-example.test",
        "bob@[127.0.0.1]",
        '"bob"@example.test',
        "bob@example.test, mallory@example.test",
        "bob@example.test mallory@example.test",
        "bob@example.test <mallory@example.test>",
        "<bob@example.test> <mallory@example.test>",
        "Bob <bob@example.test",
        "friends: bob@example.test;",
        "bob@example.test(comment)",
        "bób@example.test",
        "bob@exämple.test",
    ],
)
def test_what_two_readers_could_read_as_different_recipients_is_refused(address: str) -> None:
    assert refused(to=[address]) == ("address_malformed", "/to/0")


def test_an_address_that_is_too_long_is_refused() -> None:
    assert refused(to=[f"{'a' * 65}@example.test"]) == ("address_too_long", "/to/0")


@pytest.mark.parametrize(
    "changed, reason, path",
    [
        ({"bcc": [BOB]}, "unknown_argument", "/bcc"),
        ({"to": []}, "argument_type", "/to"),
        ({"to": BOB}, "argument_type", "/to"),
        ({"to": [7]}, "argument_type", "/to/0"),
        ({"subject": None}, "argument_type", "/subject"),
        ({"text": 7}, "argument_type", "/text"),
        ({"text": "a\x00b"}, "text_unusable", "/text"),
        ({"text": "a\ud800b"}, "text_unusable", "/text"),
        ({"text": "x" * 1_000_001}, "text_too_long", "/text"),
        ({"subject": "x" * 2_001}, "text_too_long", "/subject"),
        ({"in_reply_to": "q1@example.test"}, "message_id_malformed", "/in_reply_to"),
        ({"in_reply_to": "<q1@example.test>\r\nBcc: m@example.test"}, "message_id_malformed", "/in_reply_to"),
        ({"from": "mallory@example.test"}, "sender_not_allowed", "/from"),
        ({"from": "Chief <alice@example.test>"}, "sender_not_allowed", "/from"),
    ],
)
def test_an_argument_that_is_not_as_declared_is_refused(
    changed: dict[str, object], reason: str, path: str
) -> None:
    assert refused(**changed) == (reason, path)


def test_nobody_receives_a_message_twice() -> None:
    answer = describe(no_server(), "mail.send", cc=["Bob <BOB@EXAMPLE.test>"])
    assert isinstance(answer, Refused)
    assert answer.reason == "recipient_repeated"


def test_there_is_an_end_to_how_many_people_one_message_reaches() -> None:
    answer = describe(no_server(), "mail.send", to=[f"p{n}@example.test" for n in range(101)])
    assert isinstance(answer, Refused)
    assert answer.reason == "too_many_recipients"


def test_a_configured_sender_may_be_asked_for() -> None:
    answer = describe(
        no_server(allowed_senders=["desk@example.test"]), "mail.send", **{"from": "desk@example.test"}
    )
    assert isinstance(answer, Described)
    assert answer.arguments["from"] == "desk@example.test"


def test_a_person_sees_the_whole_message_and_nothing_invisible() -> None:
    answer = described(subject="Pay \u202e001", text="first\nsec\u200bond\n", cc=["Bоb <b@example.test>"])
    shown = "\n".join(answer.lines)
    assert "Subject: Pay ⟨U+202E⟩001" in answer.lines
    assert "sec⟨U+200B⟩ond" in answer.lines
    assert "U+043E CYRILLIC" in shown
    assert "To: bob@example.test" in answer.lines
    assert "Message-ID: <01JDPROPOSAL@example.test>" in answer.lines


def test_the_date_is_written_in_utc_without_asking_the_locale() -> None:
    assert date_header(0) == "Thu, 01 Jan 1970 00:00:00 +0000"
    assert date_header(951_782_400_000) == "Tue, 29 Feb 2000 00:00:00 +0000"


LETTERS = st.text(st.characters(exclude_categories=("Cs",)), max_size=300)
NAMES = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp"), exclude_characters='"<>\\@'), max_size=80
)


@given(subject=NAMES, text=LETTERS.filter(lambda text: "\0" not in text), name=NAMES)
def test_any_text_arrives_as_it_was_written_in_lines_every_server_takes(
    subject: str, text: str, name: str
) -> None:
    answer = described(subject=subject, text=text, to=[f"{name} <{BOB}>"])
    raw = raw_of(answer)
    assert raw.isascii()
    assert all(len(line) <= 998 for line in raw.split(b"\r\n"))
    assert b"\n" not in raw.replace(b"\r\n", b"")
    message = email.message_from_bytes(raw, policy=email.policy.default)
    assert message["message-id"] == "<01JDPROPOSAL@example.test>"
    assert [str(box.addr_spec) for box in message["to"].addresses] == [BOB]
    written = answer.arguments["text"]
    assert isinstance(written, str)
    payload = message.get_payload(decode=True)
    assert isinstance(payload, bytes)
    assert payload.decode("utf-8").replace("\r\n", "\n").rstrip("\n") == written.rstrip("\n")
    assert (
        str(email.header.make_header(email.header.decode_header(message["subject"]))).split()
        == subject.split()
    )


def test_text_that_looks_encoded_is_not_decoded_into_something_else() -> None:
    answer = described(subject="=?utf-8?Q?evil?=", to=["=?utf-8?Q?evil?= <bob@example.test>"])
    message = email.message_from_bytes(raw_of(answer), policy=email.policy.default)
    assert str(message["subject"]) == "=?utf-8?Q?evil?="
    assert message["to"].addresses[0].display_name == "=?utf-8?Q?evil?="


def test_servers_may_add_traces_and_refold_but_not_change_what_was_said() -> None:
    raw = raw_of(described(subject="A long way round", cc=[CAROL]))
    same = [
        b"Received: by hop\r\nX-Spam: no\r\n" + raw,
        raw.replace(b"\r\n", b"\n"),
        raw.replace(b"A long way", b"A long\r\n  way"),
        raw + b"\r\n\r\n",
    ]
    other = [
        b"Reply-To: mallory@example.test\r\n" + raw,
        b"Bcc: mallory@example.test\r\n" + raw,
        raw.replace(b"is free", b"is taken"),
        raw.replace(b"Subject: A long", b"Subject: A short"),
        raw.replace(b"bob@", b"rob@"),
        raw.replace(b"text/plain", b"text/html"),
        raw.replace(b"Date: Mon, 01", b"Date: Mon, 08"),
        b"",
    ]
    assert {body_digest(message) for message in same} == {body_digest(raw)}
    assert all(body_digest(message) != body_digest(raw) for message in other)
