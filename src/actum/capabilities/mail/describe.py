# SPDX-License-Identifier: Apache-2.0
"""A message is resolved to its exact bytes before anybody is asked; nothing is sent or written here.

Arguments of ``mail.send`` and ``mail.draft``: {"to": [text], "cc"?: [text], "subject": text, "text": text,
"in_reply_to"?: message id, "from"?: text}. Resolved arguments hold the same, each in its one written form,
and ``from``, ``cc``, ``in_reply_to`` always, with ``message_id``, ``date`` and ``message_digest`` added.

Rules
1. An unknown argument or one of the wrong type is refused.
2. Nobody receives a message twice: a repeated recipient is refused.
3. Only a configured sender may stand in From.
4. The Message-ID is made from the proposal's id, so one proposal is one message.
5. What executes is rebuilt from the resolved arguments and must have the digest that was confirmed.
6. Nothing invisible is shown to the person as if it were not there.
"""

from __future__ import annotations

import re
import unicodedata
from typing import cast

from actum.capabilities.mail.addresses import Mailbox, is_message_id, parse_mailbox, unsafe_in_header
from actum.capabilities.mail.config import MailConfig
from actum.capabilities.mail.message import (
    Letter,
    build_message,
    content_digest,
    date_header,
    message_id,
    unify_line_ends,
)
from actum.model.errors import Refused
from actum.model.visible import mixed_script, visible
from actum.ports.capability import DescribeContext

MAX_RECIPIENTS = 100
MAX_SUBJECT = 2_000
MAX_TEXT = 1_000_000

_MEMBERS = frozenset({"to", "cc", "subject", "text", "in_reply_to", "from"})
_id_form = re.compile(r"[A-Za-z0-9_-]{1,100}", re.ASCII)


def resolve_letter(
    arguments: dict[str, object], *, config: MailConfig, context: DescribeContext
) -> Letter | Refused:
    """Return the letter that the arguments mean, or why they mean none."""
    # Rule 1
    unknown = sorted(set(arguments) - _MEMBERS)
    if unknown:
        return Refused(reason="unknown_argument", facts={"path": f"/{unknown[0]}"})
    to = _mailboxes(arguments.get("to"), path="/to")
    cc = _mailboxes(arguments.get("cc") or [], path="/cc")
    sender = _sender(arguments.get("from"), config=config)
    subject = _header_text(arguments.get("subject"), path="/subject")
    text = _body_text(arguments.get("text"))
    reply = _reply(arguments.get("in_reply_to"))
    for part in (to, cc, sender, subject, text, reply):
        if isinstance(part, Refused):
            return part
    letter = Letter(
        sender=cast(Mailbox, sender),
        to=cast("tuple[Mailbox, ...]", to),
        cc=cast("tuple[Mailbox, ...]", cc),
        subject=cast(str, subject),
        text=cast(str, text),
        date=date_header(context.now_ms),
        # Rule 4
        message_id=message_id(context.proposed_action_id, domain=config.domain or ""),
        in_reply_to=cast("str | None", reply),
    )
    return _check_whole(letter, context=context)


def resolved_arguments(letter: Letter) -> dict[str, object]:
    """Return the resolved arguments of a letter; they alone execute."""
    return {
        "from": letter.sender.text(),
        "to": [box.text() for box in letter.to],
        "cc": [box.text() for box in letter.cc],
        "subject": letter.subject,
        "text": letter.text,
        "date": letter.date,
        "message_id": letter.message_id,
        "in_reply_to": letter.in_reply_to,
        "message_digest": content_digest(build_message(letter)),
    }


def rebuild_message(arguments: dict[str, object]) -> tuple[Letter, bytes] | Refused:
    """Return the letter and the bytes of resolved arguments; refuse where they are not those confirmed."""
    try:
        letter = Letter(
            sender=_known_mailbox(arguments["from"]),
            to=tuple(_known_mailbox(text) for text in cast("list[object]", arguments["to"])),
            cc=tuple(_known_mailbox(text) for text in cast("list[object]", arguments["cc"])),
            subject=str(arguments["subject"]),
            text=str(arguments["text"]),
            date=str(arguments["date"]),
            message_id=str(arguments["message_id"]),
            in_reply_to=cast("str | None", arguments["in_reply_to"]),
        )
    except (KeyError, TypeError, ValueError):
        return Refused(reason="message_differs", facts={"why": "the resolved arguments are incomplete"})
    raw = build_message(letter)
    # Rule 5
    if content_digest(raw) != arguments.get("message_digest"):
        return Refused(reason="message_differs", facts={"why": "the bytes are not those that were confirmed"})
    return letter, raw


def shown_lines(letter: Letter) -> tuple[str, ...]:
    """Return the message as a person reads it before confirming, with nothing left out or invisible."""
    # Rule 6
    lines = [f"From: {letter.sender.text()}"]
    lines += [f"To: {box.text()}" for box in letter.to]
    lines += [f"Cc: {box.text()}" for box in letter.cc]
    lines += [f"Subject: {letter.subject}", f"Date: {letter.date}", f"Message-ID: {letter.message_id}"]
    if letter.in_reply_to is not None:
        lines.append(f"In-Reply-To: {letter.in_reply_to}")
    odd = mixed_script(" ".join(lines))
    if odd:
        lines.append(f"Letters that look like others: {', '.join(odd)}")
    return (
        *(visible(line) for line in (*lines, "")),
        *(visible(line, keep_lines=True) for line in letter.text.split("\n")),
    )


def _check_whole(letter: Letter, *, context: DescribeContext) -> Letter | Refused:
    if _id_form.fullmatch(context.proposed_action_id) is None or not is_message_id(letter.message_id):
        return Refused(reason="proposal_id_unusable", facts={"got": context.proposed_action_id[:100]})
    seen: set[str] = set()
    for address in letter.recipients():
        # Rule 2
        if address.lower() in seen:
            return Refused(reason="recipient_repeated", facts={"recipient": address})
        seen.add(address.lower())
    if len(seen) > MAX_RECIPIENTS:
        return Refused(reason="too_many_recipients", facts={"limit": str(MAX_RECIPIENTS)})
    return letter


def _mailboxes(value: object, *, path: str) -> tuple[Mailbox, ...] | Refused:
    if not isinstance(value, list) or (path == "/to" and not value):
        return Refused(reason="argument_type", facts={"path": path, "wanted": "a list of addresses"})
    boxes: list[Mailbox] = []
    for index, text in enumerate(cast("list[object]", value)):
        if not isinstance(text, str):
            return Refused(reason="argument_type", facts={"path": f"{path}/{index}", "wanted": "text"})
        box = parse_mailbox(text, path=f"{path}/{index}")
        if isinstance(box, Refused):
            return box
        boxes.append(box)
    return tuple(boxes)


def _sender(value: object, *, config: MailConfig) -> Mailbox | Refused:
    default = parse_mailbox(config.sender or "", path="/from")
    if value is None:
        return default
    if not isinstance(value, str):
        return Refused(reason="argument_type", facts={"path": "/from", "wanted": "text"})
    asked = parse_mailbox(value, path="/from")
    if isinstance(asked, Refused):
        return asked
    allowed = (default, *(parse_mailbox(text, path="/from") for text in config.allowed_senders))
    # Rule 3
    if asked not in allowed:
        return Refused(reason="sender_not_allowed", facts={"path": "/from", "got": asked.address})
    return asked


def _header_text(value: object, *, path: str) -> str | Refused:
    if not isinstance(value, str):
        return Refused(reason="argument_type", facts={"path": path, "wanted": "text"})
    if unsafe_in_header(value):
        return Refused(reason="header_injection", facts={"path": path})
    if len(value) > MAX_SUBJECT:
        return Refused(reason="text_too_long", facts={"path": path, "limit": str(MAX_SUBJECT)})
    return value


def _body_text(value: object) -> str | Refused:
    if not isinstance(value, str):
        return Refused(reason="argument_type", facts={"path": "/text", "wanted": "text"})
    if len(value) > MAX_TEXT:
        return Refused(reason="text_too_long", facts={"path": "/text", "limit": str(MAX_TEXT)})
    if "\0" in value or any(unicodedata.category(mark) == "Cs" for mark in value if mark > "\ud7ff"):
        return Refused(reason="text_unusable", facts={"path": "/text", "why": "NUL or half a surrogate pair"})
    return unify_line_ends(value)


def _reply(value: object) -> str | Refused | None:
    if value is None:
        return None
    if not isinstance(value, str) or not is_message_id(value):
        return Refused(reason="message_id_malformed", facts={"path": "/in_reply_to"})
    return value


def _known_mailbox(value: object) -> Mailbox:
    box = parse_mailbox(str(value), path="")
    if isinstance(box, Refused):
        raise ValueError(box.reason)
    return box
