# SPDX-License-Identifier: Apache-2.0
"""The same arguments give the same bytes, on every machine and every version of Python.

The message is written by hand and not by the standard library's generator, whose folding changes between
versions: what a person confirmed is a digest over these bytes.

Rules
1. Nothing in the message comes from anywhere but the resolved arguments.
2. Every line ends in CR LF, is ASCII and is shorter than 998 octets.
3. Text that is not plain ASCII in short lines is sent as base64, so that no server has a reason to change it.
"""

from __future__ import annotations

import base64
import datetime

import msgspec

from actum.capabilities.mail.addresses import Mailbox, needs_quotes
from actum.model import canonical

# RFC 5322 section 2.1.1 allows 998 octets without the line end; the margin is for names of headers.
_MAX_PLAIN_LINE = 900
# RFC 2047 section 2 allows 75 characters for one encoded word; 45 octets make 60 characters of base64.
_WORD_OCTETS = 45

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class Letter(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The resolved content of one message; ``date`` is the header's own text, ``text`` has LF line ends."""

    sender: Mailbox
    to: tuple[Mailbox, ...]
    cc: tuple[Mailbox, ...]
    subject: str
    text: str
    date: str
    message_id: str
    in_reply_to: str | None

    def recipients(self) -> tuple[str, ...]:
        """Return the envelope's addresses, To before Cc."""
        return tuple(box.address for box in (*self.to, *self.cc))


def date_header(now_ms: int) -> str:
    """Return the Date header's text for an instant in unix milliseconds, in UTC, without using the locale."""
    at = datetime.datetime.fromtimestamp(now_ms // 1000, tz=datetime.UTC)
    day, month = _DAYS[at.weekday()], _MONTHS[at.month - 1]
    return f"{day}, {at.day:02d} {month} {at.year:04d} {at.hour:02d}:{at.minute:02d}:{at.second:02d} +0000"


def message_id(proposed_action_id: str, *, domain: str) -> str:
    """Return the Message-ID that belongs to a proposal and to no other."""
    return f"<{proposed_action_id}@{domain}>"


def build_message(letter: Letter) -> bytes:
    """Return the RFC 5322 message of a letter: headers, an empty line, one text/plain part."""
    # Rule 1
    encoding, body = _body(letter.text)
    headers = [("From", _mailboxes((letter.sender,))), ("To", _mailboxes(letter.to))]
    if letter.cc:
        headers.append(("Cc", _mailboxes(letter.cc)))
    headers += [
        ("Subject", _unstructured(letter.subject)),
        ("Date", letter.date),
        ("Message-ID", letter.message_id),
    ]
    if letter.in_reply_to is not None:
        headers += [("In-Reply-To", letter.in_reply_to), ("References", letter.in_reply_to)]
    headers += [
        ("MIME-Version", "1.0"),
        ("Content-Type", 'text/plain; charset="utf-8"'),
        ("Content-Transfer-Encoding", encoding),
    ]
    # Rule 2
    head = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return head.encode("ascii") + b"\r\n" + body


def content_digest(raw: bytes) -> str:
    """Return the digest of the exact bytes, as the resolved arguments name it."""
    return canonical.digest_bytes(raw)


def unify_line_ends(text: str) -> str:
    """Return the text with LF as its only line end."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _mailboxes(boxes: tuple[Mailbox, ...]) -> str:
    # One mailbox a line: the longest is far below the limit and no folding decision is left.
    return ",\r\n ".join(_mailbox(box) for box in boxes)


def _mailbox(box: Mailbox) -> str:
    if not box.name:
        return box.address
    if not box.name.isascii() or "=?" in box.name:
        return f"{_words(box.name)}\r\n <{box.address}>"
    name = f'"{box.name}"' if needs_quotes(box.name) else box.name
    return f"{name} <{box.address}>"


def _unstructured(text: str) -> str:
    plain = text.isascii() and "=?" not in text and text == text.strip() and len(text) <= _MAX_PLAIN_LINE
    return text if plain else _words(text)


def _words(text: str) -> str:
    """Return RFC 2047 encoded words, one a line, none of which cuts a character in two."""
    chunks: list[bytes] = [b""]
    for character in text:
        octets = character.encode("utf-8")
        if len(chunks[-1]) + len(octets) > _WORD_OCTETS:
            chunks.append(b"")
        chunks[-1] += octets
    return "\r\n ".join(f"=?utf-8?B?{base64.b64encode(chunk).decode('ascii')}?=" for chunk in chunks)


def _body(text: str) -> tuple[str, bytes]:
    lines = text.split("\n")
    # Rule 3
    plain = all(line.isascii() and line.isprintable() and len(line) <= _MAX_PLAIN_LINE for line in lines)
    # Trailing blanks and lines that start with "From " are what servers are known to change.
    if plain and not any(line.endswith(" ") or line.startswith("From ") for line in lines):
        return "7bit", ("\r\n".join(lines).rstrip("\r\n") + "\r\n").encode("ascii")
    encoded = base64.b64encode("\r\n".join(lines).encode("utf-8")).decode("ascii")
    rows = [encoded[start : start + 76] for start in range(0, len(encoded), 76)]
    return "base64", ("\r\n".join(rows) + "\r\n").encode("ascii")
