# SPDX-License-Identifier: Apache-2.0
"""The mailbox is the witness: a message counts as delivered where somebody who did not send it finds it.

This module and what it imports hold no code that sends or writes. What an SMTP server answered is never
looked at here.

Projections
- ``mail.delivered@1``: {"message_id", "recipients", "body_sha256", "copies"}; every recipient's own mailbox
  was read, ``recipients`` are those in whose mailbox the message was, sorted.
- ``mail.mailbox@1``: {"message_id", "mailbox", "body_sha256", "copies"}; one mailbox was read, which says
  nothing about the others.
- ``mail.drafted@1``: {"message_id", "body_sha256", "copies"} in the drafts maildir.
``copies`` is the highest number in any one mailbox; ``body_sha256`` is null where there is no copy.

Rules
1. A message that is not in the mailbox has not been shown to be lost: absence after sending is unclear.
2. A message that was there before the dispatch does not show that this dispatch put it there.
3. A mailbox that could not be read gives an unclear look without a value, and no control.
4. Two copies are not one copy, and other content under the same Message-ID is not the message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from actum.capabilities.mail.addresses import Mailbox, is_message_id, parse_mailbox
from actum.capabilities.mail.config import MailConfig
from actum.capabilities.mail.content import body_digest
from actum.capabilities.mail.readers import Found, MailboxReader, MaildirReader, reader_of
from actum.model import canonical
from actum.model.errors import EnvironmentFault
from actum.model.grading import LookOutcome
from actum.model.look import Channel, Observation
from actum.ports.verifier import LookRequest, Phase

DELIVERED = "mail.delivered@1"
ONE_MAILBOX = "mail.mailbox@1"
DRAFTED = "mail.drafted@1"


class DeliveredVerifier:
    """Looks for a sent message in the recipients' mailboxes, or in the one mailbox that is configured."""

    id = "actum.mail.send"
    version = "1"

    def __init__(self, reader: MailboxReader, *, config: MailConfig) -> None:
        self._reader = reader
        self._label = None if config.mailbox_is_per_recipient() else config.mailbox_label()
        self.projection = sent_projection(config)

    def observe(self, request: LookRequest) -> Observation:
        """Project the mailboxes as they are now."""
        wanted = _message_id(request)
        recipients = envelope_recipients(request.arguments)
        places = recipients if self._label is None else recipients[:1]
        try:
            found = {place: self._reader.find(wanted, recipient=place) for place in places}
        except EnvironmentFault as fault:
            return _could_not_look(fault, channel=Channel.OTHER)
        seen = [place for place in places if found[place].copies]
        where: dict[str, object] = (
            {"recipients": sorted(seen)} if self._label is None else {"mailbox": self._label}
        )
        return _observation(
            value={"message_id": wanted, **where, **_counted(list(found.values()))},
            found=found,
            request=request,
            channel=Channel.OTHER,
            # Rule 1
            absence_is_definite=False,
        )


class DraftVerifier:
    """Looks for a draft in the drafts maildir."""

    id = "actum.mail.draft"
    version = "1"
    projection = DRAFTED

    def __init__(self, folder: str) -> None:
        self._reader = MaildirReader(folder)

    def observe(self, request: LookRequest) -> Observation:
        """Project the drafts folder as it is now."""
        wanted = _message_id(request)
        try:
            found = {"drafts": self._reader.find(wanted, recipient="")}
        except EnvironmentFault as fault:
            return _could_not_look(fault, channel=Channel.SAME_SINK)
        return _observation(
            value={"message_id": wanted, **_counted(list(found.values()))},
            found=found,
            request=request,
            channel=Channel.SAME_SINK,
            absence_is_definite=True,
        )


def verifiers_of(config: MailConfig) -> dict[str, DeliveredVerifier | DraftVerifier]:
    """Return the verifiers that a configuration allows, by capability id."""
    found: dict[str, DeliveredVerifier | DraftVerifier] = {}
    reader = reader_of(config)
    if reader is not None:
        found["mail.send"] = DeliveredVerifier(reader, config=config)
    if config.drafts is not None:
        found["mail.draft"] = DraftVerifier(config.drafts)
    return found


def sent_projection(config: MailConfig) -> str:
    """Return the projection that the configured reader can give of a sent message."""
    return DELIVERED if config.mailbox_is_per_recipient() else ONE_MAILBOX


def expected_sent(raw: bytes, *, message_id: str, recipients: Sequence[str], config: MailConfig) -> object:
    """Return the value that must be seen after sending."""
    where: dict[str, object] = (
        {"recipients": sorted(recipients)}
        if config.mailbox_is_per_recipient()
        else {"mailbox": config.mailbox_label()}
    )
    return {"message_id": message_id, **where, "body_sha256": body_digest(raw), "copies": 1}


def expected_draft(raw: bytes, *, message_id: str) -> object:
    """Return the value that must be seen after writing a draft."""
    return {"message_id": message_id, "body_sha256": body_digest(raw), "copies": 1}


def envelope_recipients(arguments: dict[str, object]) -> list[str]:
    """Return the addresses that resolved arguments name in to and cc."""
    texts = [*cast("list[object]", arguments["to"]), *cast("list[object]", arguments["cc"])]
    boxes = [parse_mailbox(str(text), path="") for text in texts]
    return [box.address for box in boxes if isinstance(box, Mailbox)]


def _message_id(request: LookRequest) -> str:
    wanted = request.arguments.get("message_id")
    if not isinstance(wanted, str) or not is_message_id(wanted):
        raise ValueError("the resolved arguments hold no usable message_id")
    return wanted


def _counted(found: list[Found]) -> dict[str, object]:
    # Rule 4
    bodies = sorted({body_digest(raw) for one in found for raw in one.copies})
    body = None if not bodies else bodies[0] if len(bodies) == 1 else canonical.digest(bodies)
    return {"body_sha256": body, "copies": max((len(one.copies) for one in found), default=0)}


def _observation(
    *,
    value: dict[str, object],
    found: dict[str, Found],
    request: LookRequest,
    channel: Channel,
    absence_is_definite: bool,
) -> Observation:
    copies = sum(len(one.copies) for one in found.values())
    why = _why_unclear(copies, request=request, absence_is_definite=absence_is_definite)
    detail: dict[str, object] = {
        "value": value,
        "copies": copies,
        "places": {place: {"messages": one.messages} for place, one in found.items()},
        "reason": why,
    }
    return Observation(
        value=value,
        outcome=LookOutcome.DEFINITE if why is None else LookOutcome.UNCLEAR,
        detail=detail,
        control_held=True,
        channel=channel,
    )


def _why_unclear(copies: int, *, request: LookRequest, absence_is_definite: bool) -> str | None:
    # Rule 2
    if copies and request.phase is Phase.BEFORE:
        return "already_so_before"
    if copies and request.before is None:
        return "not_seen_before"
    if copies and request.before is not None and request.before.get("copies") != 0:
        return "already_so_before"
    # Rule 1
    if not copies and request.phase is not Phase.BEFORE and not absence_is_definite:
        return "absence_proves_nothing"
    return None


def _could_not_look(fault: EnvironmentFault, *, channel: Channel) -> Observation:
    # Rule 3
    return Observation(
        value=None,
        outcome=LookOutcome.UNCLEAR,
        detail={"reason": fault.code, **fault.facts},
        control_held=False,
        channel=channel,
    )
