# SPDX-License-Identifier: Apache-2.0
"""For mail.draft and mail.send: a world, a wish, and what may happen to that world behind the kernel's back.

The cases have the shape of `actum.testing.capability_cases.CapabilityCase`. A world of mail.send has an SMTP
server of its own that delivers into maildirs under ``world["mail"]``; it runs until `stop_servers`, which is
also called when the process ends.
"""

from __future__ import annotations

import atexit
import os
from pathlib import Path

import msgspec

from actum.capabilities.mail import mail_capabilities, read_mail_config, reader_section
from actum.capabilities.mail.describe import rebuild_message
from actum.capabilities.mail.maildir import draft_name
from actum.model.errors import InvariantViolation, Refused
from actum.ports.capability import Capability
from actum.ports.executor import EffectView
from actum.testing.capability_cases import CapabilityCase, World
from actum.testing.mail_servers import SmtpSink, make_maildir

BOB = "bob@example.test"
CAROL = "carol@example.test"
ARGUMENTS: dict[str, object] = {
    "to": [f"Bob <{BOB}>"],
    "cc": [CAROL],
    "subject": "Thursday",
    "text": "The room is free.\n",
}

_running: list[SmtpSink] = []


class MailCase(CapabilityCase, frozen=True, kw_only=True):
    """One message in one world, whose [mail] section stands in ``world["section"]``."""

    def capability(self, world: World) -> Capability:
        """Return the capability over the world's section."""
        made = mail_capabilities(read_mail_config(section_of(world)))
        return next(capability for capability in made if capability.info.id == self.capability_id)

    def verifier_config(self, world: World) -> dict[str, object]:
        """Return the plain data from which another process makes the verifier."""
        return reader_section(section_of(world))


def mail_cases() -> tuple[MailCase, ...]:
    """Return one case for a draft and one for a sent message with two recipients."""
    return (
        MailCase(
            name="mail_draft",
            capability_id="mail.draft",
            set_up=_draft_world,
            arguments=lambda world: dict(ARGUMENTS),
            satisfy=_lay_draft,
            behind={
                "name_taken": _lay_draft,
                "folder_swapped": _swap_folder,
                "folder_linked": _link_folder,
                "folder_removed": _remove_folder,
            },
            alter=lambda world, effect: _rewrite(world["drafts"] / "new" / _name_of(effect)),
        ),
        MailCase(
            name="mail_send",
            capability_id="mail.send",
            set_up=_send_world,
            arguments=lambda world: dict(ARGUMENTS),
            satisfy=_deliver,
            # A server and its mailboxes have no identity that a sender could hold.
            behind={},
            alter=lambda world, effect: _rewrite(*(world["mail"] / BOB / "new").iterdir()),
        ),
    )


def section_of(world: World) -> dict[str, object]:
    """Return the [mail] section of a world."""
    return msgspec.json.decode(world["section"].read_bytes(), type=dict[str, object])


def stop_servers() -> None:
    """Stop every SMTP server that a world started."""
    while _running:
        _running.pop().stop()


def _section(**members: object) -> dict[str, object]:
    return {"from": "Alice <alice@example.test>", "domain": "example.test", **members}


def _draft_world(folder: Path) -> World:
    drafts = folder / "Drafts"
    make_maildir(str(drafts))
    section = folder / "section.json"
    section.write_bytes(msgspec.json.encode(_section(drafts=str(drafts))))
    return {"root": folder, "drafts": drafts, "section": section}


def _send_world(folder: Path) -> World:
    mail = folder / "mail"
    sink = SmtpSink(str(mail), mailboxes={BOB, CAROL})
    sink.start()
    if not _running:
        atexit.register(stop_servers)
    _running.append(sink)
    section = folder / "section.json"
    section.write_bytes(
        msgspec.json.encode(
            _section(
                smtp_host=sink.host,
                smtp_port=sink.port,
                reader="maildir",
                maildir=f"{mail}/{{recipient}}",
                consistency_window_ms=0,
            )
        )
    )
    return {"root": folder, "mail": mail, "section": section}


def _name_of(effect: EffectView) -> str:
    return draft_name(str(effect.arguments["message_id"]))


def _raw_of(effect: EffectView) -> bytes:
    rebuilt = rebuild_message(effect.arguments)
    if isinstance(rebuilt, Refused):
        raise InvariantViolation("the case's own message was refused", reason=rebuilt.reason)
    return rebuilt[1]


def _lay_draft(world: World, effect: EffectView) -> None:
    (world["drafts"] / "new" / _name_of(effect)).write_bytes(_raw_of(effect))


def _deliver(world: World, effect: EffectView) -> None:
    for address in (BOB, CAROL):
        (world["mail"] / address / "new" / "1.by-hand").write_bytes(_raw_of(effect))


def _rewrite(*paths: Path) -> None:
    for path in paths:
        path.write_bytes(path.read_bytes().replace(b"is free", b"is taken"))


def _swap_folder(world: World, effect: EffectView) -> None:
    folder = world["drafts"] / "new"
    os.rename(folder, folder.with_name("was"))
    folder.mkdir()


def _link_folder(world: World, effect: EffectView) -> None:
    folder = world["drafts"] / "new"
    os.rename(folder, folder.with_name("was"))
    folder.symlink_to(folder.with_name("was"))


def _remove_folder(world: World, effect: EffectView) -> None:
    os.rename(world["drafts"] / "new", world["drafts"] / "was")
