# SPDX-License-Identifier: Apache-2.0
"""Two messages have the same content if what the sender wrote is the same, whatever the servers added.

What counts is every header that carries meaning for a reader (also one that we did not write, such as
Reply-To) and the decoded text. Trace headers (Received, Return-Path, X-...), folding, line ends and empty
lines at the end of the text do not count. Equality proves nothing about who sent the message.
"""

from __future__ import annotations

import email
import email.policy
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message

from actum.capabilities.mail.message import unify_line_ends
from actum.model import canonical

_MEANING = (
    "from",
    "sender",
    "reply-to",
    "to",
    "cc",
    "bcc",
    "subject",
    "date",
    "message-id",
    "in-reply-to",
    "references",
    "mime-version",
    "content-type",
    "content-disposition",
)


def body_digest(raw: bytes) -> str:
    """Return the digest of a message's content; of the bytes themselves where they cannot be parsed."""
    try:
        message = email.message_from_bytes(raw, policy=email.policy.compat32)
        return canonical.digest({"headers": _headers(message), "text": _text(message)})
    except (ValueError, LookupError, TypeError, RecursionError, HeaderParseError):
        return canonical.digest_bytes(raw)


def message_ids(raw: bytes) -> list[str]:
    """Return the text of every Message-ID header, in order; empty where the head cannot be parsed."""
    try:
        head = email.message_from_bytes(head_of(raw), policy=email.policy.compat32)
        return [_decoded(str(value)) for name, value in head.raw_items() if name.lower() == "message-id"]
    except (ValueError, LookupError, TypeError, RecursionError, HeaderParseError):
        return []


def head_of(raw: bytes) -> bytes:
    """Return the bytes up to the first empty line."""
    ends = [end for end in (raw.find(b"\r\n\r\n"), raw.find(b"\n\n")) if end >= 0]
    return raw[: min(ends)] + b"\r\n\r\n" if ends else raw


def _headers(message: Message) -> dict[str, object]:
    found: dict[str, list[str]] = {}
    for name, value in message.raw_items():
        lowered = name.lower()
        if lowered in _MEANING or lowered.startswith("resent-"):
            found.setdefault(lowered.encode("ascii", "backslashreplace").decode("ascii"), []).append(
                _decoded(str(value))
            )
    return dict(found)


def _decoded(value: str) -> str:
    parts: list[str] = []
    for chunk, charset in decode_header(" ".join(value.split())):
        if isinstance(chunk, str):
            parts.append(chunk)
        else:
            parts.append(chunk.decode(charset or "utf-8", "replace"))
    return _readable(" ".join("".join(parts).split()))


def _text(message: Message) -> str | None:
    if message.is_multipart() or message.get_content_type() != "text/plain":
        return None
    payload = message.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return None
    charset = message.get_content_charset("utf-8")
    return _readable(unify_line_ends(payload.decode(charset, "replace"))).rstrip("\n")


def _readable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
