# SPDX-License-Identifier: Apache-2.0
"""A message becomes a work item whatever is wrong with it, as long as it can be kept whole.

The raw bytes are attached and are the truth; the subject is a reading of them, marked where it is partial.
Nothing in a message is believed: its From, its Date and its Message-ID are what somebody wrote.

Subject: {"from", "to", "cc", "reply_to", "subject", "date", "date_text", "message_id", "in_reply_to", "text",
"attachments", "defects"}. Addresses are {"name", "address"}, ``from`` is one or null, the others are lists;
``date`` is RFC 3339 in UTC or null; ``defects`` lists in words what could not be read as it stands.

Rules
1. No message makes the reader raise: what cannot be read is a failure with a code.
2. Size, parts and depth are bounded before and while parsing.
3. Text holds neither NUL nor half a surrogate pair; both become U+FFFD.
4. A cut text says that it was cut.
"""

from __future__ import annotations

import base64
import codecs
import datetime
import email
import email.policy
import email.utils
import re
from collections.abc import Iterator
from email.header import decode_header
from email.message import Message
from html import unescape
from typing import cast

import msgspec

from actum.model import canonical
from actum.model.work import Submission

WORK_TYPE = "ea_inbox"
ATTACHMENT = "message.eml"

MAX_MESSAGE = 25_000_000
# The library compares every line with every open boundary, so their product is what costs time.
MAX_COMPARISONS = 20_000_000
MAX_PARTS = 1_000
MAX_DEPTH = 40
MAX_HEADER = 16_384
MAX_ADDRESSES = 500
MAX_TEXT = 200_000

_boundary = re.compile(rb"boundary[ \t*0-9]*=", re.IGNORECASE)
_part_header = re.compile(rb"^content-[a-z-]*:[^\n]*(?:\n[ \t][^\n]*)*", re.IGNORECASE | re.MULTILINE)
_tag_name = re.compile("[a-z0-9]*")
_BREAKING = frozenset({"p", "br", "div", "tr", "li", "h1", "h2", "h3"})
_not_text = re.compile("[\0\ud800-\udfff]")
# These decoders cost the square of their input, or read escapes that no mail means.
_NO_CHARSETS = frozenset({"punycode", "idna", "unicode_escape", "raw_unicode_escape", "undefined"})

_Parsed = Message


class Unreadable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message that could not become an item: a stable code and what it means."""

    code: str
    message: str


def read_message(raw: bytes, *, key: str | None) -> Submission | Unreadable:
    """Return the work item of one message, or why there is none.

    Codes: empty, too_large, too_many_parts, header_too_long, nested_too_deep, unparseable.
    ``key`` makes a repeated submission the same item.
    """
    refused = _bounds(raw)
    if refused is not None:
        return refused
    try:
        # The policy that reads headers into structures can raise while parsing and costs the square of a
        # header's length; the plain one leaves headers as they are, and they are read below.
        subject = _subject(email.message_from_bytes(raw, policy=email.policy.compat32))
        canonical.encode_foreign(subject)
    except RecursionError:
        return Unreadable(code="nested_too_deep", message="its parts are nested too deep to be read")
    except Exception as error:
        # Rule 1: the library raises many kinds for malformed input, so no list of them would be complete.
        return Unreadable(code="unparseable", message=f"reading it raised {type(error).__name__}")
    content = base64.b64encode(raw).decode("ascii")
    return Submission(work_type=WORK_TYPE, subject=subject, key=key, attachments={ATTACHMENT: content})


def _bounds(raw: bytes) -> Unreadable | None:
    # Rule 2
    if not raw.strip():
        return Unreadable(code="empty", message="the message has no content")
    if len(raw) > MAX_MESSAGE:
        return Unreadable(code="too_large", message=f"it is larger than {MAX_MESSAGE} bytes")
    boundaries = sum(1 for _ in _boundary.finditer(raw))
    if (raw.count(b"\n") + raw.count(b"\r")) * (boundaries + 1) > MAX_COMPARISONS:
        return Unreadable(
            code="too_many_parts", message=f"{boundaries} boundaries in a message of this length"
        )
    if any(len(match.group()) > MAX_HEADER for match in _part_header.finditer(raw)):
        return Unreadable(code="header_too_long", message=f"a Content header exceeds {MAX_HEADER} bytes")
    return None


def _subject(message: _Parsed) -> dict[str, object]:
    defects: list[str] = []
    headers = _headers(message)
    sender = _addresses(headers, "from", defects)
    text, names = _content(message, defects)
    when = _date(headers.get("date", ""), defects)
    defects += sorted({type(defect).__name__ for defect in message.defects})
    return {
        "from": sender[0] if sender else None,
        "to": _addresses(headers, "to", defects),
        "cc": _addresses(headers, "cc", defects),
        "reply_to": _addresses(headers, "reply-to", defects),
        "subject": _decoded(headers.get("subject", ""), "subject", defects),
        "date": when,
        "date_text": _clean(headers.get("date", ""))[:200],
        "message_id": _clean(headers.get("message-id", "")).strip()[:998] or None,
        "in_reply_to": _clean(headers.get("in-reply-to", "")).strip()[:998] or None,
        "text": text,
        "attachments": names,
        "defects": defects,
    }


def _headers(message: _Parsed) -> dict[str, str]:
    """Return the first value of each header as it was written, unfolded; bytes are surrogate-escaped."""
    found: dict[str, str] = {}
    for name, value in message.raw_items():
        found.setdefault(name.lower(), " ".join(str(value).splitlines()))
    return found


def _decoded(value: str, name: str, defects: list[str]) -> str:
    """Return a header's text with its encoded words decoded as far as they can be."""
    if len(value) > MAX_HEADER:
        # Rule 4
        defects.append(f"{name} is cut at {MAX_HEADER} characters")
        value = value[:MAX_HEADER]
    try:
        chunks = decode_header(_from_octets(value))
    except Exception as error:
        defects.append(f"{name} has an encoded word that raised {type(error).__name__}")
        return _clean(value)
    return _clean("".join(_chunk(chunk, charset, name, defects) for chunk, charset in chunks)).strip()


def _chunk(chunk: bytes | str, charset: str | None, name: str, defects: list[str]) -> str:
    if isinstance(chunk, str):
        return chunk
    # decode_header gives unencoded text beside encoded words as these escapes.
    return (
        chunk.decode("raw-unicode-escape", "replace")
        if charset is None
        else _text_of(chunk, charset, name, defects)
    )


def _addresses(headers: dict[str, str], name: str, defects: list[str]) -> list[object]:
    value = headers.get(name, "")
    if not value:
        return []
    if len(value) > MAX_HEADER:
        defects.append(f"{name} is cut at {MAX_HEADER} characters")
        value = value[:MAX_HEADER].rpartition(",")[0]
    try:
        pairs = email.utils.getaddresses([_from_octets(value)])
    except Exception as error:
        defects.append(f"{name} raised {type(error).__name__}")
        return []
    found: list[object] = [
        {"name": _decoded(shown, name, defects), "address": _clean(address)}
        for shown, address in pairs[:MAX_ADDRESSES]
        if shown or address
    ]
    if len(found) < len(pairs) or not found:
        defects.append(f"{name} has entries that are no addresses or are too many")
    return found


def _date(value: str, defects: list[str]) -> str | None:
    if not value:
        return None
    try:
        at = email.utils.parsedate_to_datetime(_clean(value))
        # A zone of -0000 says that the local zone is unknown; RFC 5322 3.3 lets it be read as UTC.
        aware = at if at.tzinfo is not None else at.replace(tzinfo=datetime.UTC)
        return aware.astimezone(datetime.UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, TypeError, OverflowError, IndexError):
        defects.append("the date cannot be read")
        return None


def _content(message: _Parsed, defects: list[str]) -> tuple[str, list[object]]:
    """Return the text a person would read first, and the names of attached files."""
    plain: str | None = None
    html: str | None = None
    names: list[object] = []
    for part in _leaves(message, defects):
        kind = part.get_content_type()
        name = _file_name(part, defects)
        if name is not None or kind not in ("text/plain", "text/html"):
            names.append(name or kind)
        elif kind == "text/plain" and plain is None:
            plain = _part_text(part, defects)
        elif kind == "text/html" and html is None:
            html = _part_text(part, defects)
    text = plain if plain is not None else _shown_text(html or "")
    if len(text) > MAX_TEXT:
        # Rule 4
        defects.append(f"the text is cut at {MAX_TEXT} characters")
        text = text[:MAX_TEXT]
    return text, names[:100]


def _leaves(message: _Parsed, defects: list[str]) -> Iterator[_Parsed]:
    # Rule 2; the library's own walk recurses once for each level.
    waiting: list[tuple[_Parsed, int]] = [(message, 0)]
    seen = 0
    while waiting:
        part, depth = waiting.pop()
        seen += 1
        if seen > MAX_PARTS or depth > MAX_DEPTH:
            defects.append(f"parts beyond {MAX_PARTS} or deeper than {MAX_DEPTH} were not read")
            return
        # Only a multipart is asked for its payload: for text the library would decode it by its charset.
        if part.is_multipart() and part.get_content_maintype() == "multipart":
            inner = cast("list[_Parsed]", part.get_payload())
            waiting += [(child, depth + 1) for child in reversed(inner)]
        else:
            yield part


def _file_name(part: _Parsed, defects: list[str]) -> str | None:
    try:
        name = part.get_filename()
        attached = part.get_content_disposition() == "attachment"
    except Exception as error:
        defects.append(f"an attachment's name raised {type(error).__name__}")
        return "unnamed"
    if name is None:
        return "unnamed" if attached else None
    return _clean(str(name))[:255] or "unnamed"


def _part_text(part: _Parsed, defects: list[str]) -> str:
    try:
        payload, charset = cast("object", part.get_payload(decode=True)), part.get_content_charset("utf-8")
    except Exception as error:
        # A charset that cannot be used makes the library raise before it gives the bytes.
        defects.append(f"a part's charset raised {type(error).__name__}")
        del part["content-type"]
        payload, charset = cast("object", part.get_payload(decode=True)), "utf-8"
    data = payload if isinstance(payload, bytes) else b""
    return _clean(_text_of(data, charset, "the text", defects)).replace("\r\n", "\n")


def _text_of(data: bytes, charset: str, name: str, defects: list[str]) -> str:
    try:
        if codecs.lookup(charset).name.replace("-", "_") in _NO_CHARSETS:
            raise LookupError(charset)
        return data.decode(charset)
    except (LookupError, ValueError) as error:
        kind = (
            "an unknown charset" if isinstance(error, LookupError) else "bytes that its charset does not have"
        )
        defects.append(f"{name} has {kind}")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _from_octets(value: str) -> str:
    """Return a raw header in which bytes outside ASCII were read as UTF-8, or replaced."""
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _clean(text: str) -> str:
    # Rule 3
    return _not_text.sub("\ufffd", text)


def _shown_text(html: str) -> str:
    """Return the text of an HTML part without tags, comments, scripts and styles, in one pass over it."""
    lowered = html.lower() if html.isascii() else "".join(mark.lower()[0] for mark in html)
    pieces: list[str] = []
    at = 0
    while (start := html.find("<", at)) >= 0:
        pieces.append(html[at:start])
        comment = html.startswith("<!--", start)
        end = html.find("-->", start + 4) if comment else html.find(">", start + 1)
        if end < 0:
            break
        at = end + (3 if comment else 1)
        name = "" if comment else _name_at(lowered, start + 1)
        if name in ("script", "style"):
            closing = lowered.find(f"</{name}", at)
            at = closing if closing >= 0 else len(html)
        elif name in _BREAKING:
            pieces.append("\n")
    pieces.append(html[at:] if start < 0 else "")
    lines = unescape("".join(pieces)).splitlines()
    return _clean("\n".join(line for line in map(str.strip, lines) if line))


def _name_at(text: str, at: int) -> str:
    match = _tag_name.match(text, at)
    return match.group() if match is not None else ""
