# SPDX-License-Identifier: Apache-2.0
"""A [mail] section, a wish and a context for the tests of mail."""

from __future__ import annotations

from actum.capabilities.mail import mail_capabilities, read_mail_config
from actum.capabilities.mail.config import MailConfig
from actum.model.errors import Refused
from actum.ports.capability import Capability, DescribeContext, Described
from actum.ports.executor import EffectView
from actum.testing.capability_cases import describe_case
from actum.testing.mail_servers import SmtpSink

BOB, CAROL = "bob@example.test", "carol@example.test"
WISH: dict[str, object] = {"to": [BOB], "subject": "Thursday", "text": "The room is free.\n"}
CONTEXT = DescribeContext(
    tenant="local",
    turn_id="turn",
    proposed_action_id="01JDPROPOSAL",
    principal="tester",
    now_ms=1_764_560_000_999,
)


def section(**members: object) -> dict[str, object]:
    return {"from": "Alice <alice@example.test>", "domain": "example.test", **members}


def over_sink(sink: SmtpSink, **members: object) -> dict[str, object]:
    return section(
        smtp_host=sink.host,
        smtp_port=sink.port,
        **{"reader": "maildir", "maildir": f"{sink.root}/{{recipient}}", **members},
    )


def capability(members: dict[str, object], name: str) -> Capability:
    return next(made for made in mail_capabilities(read_mail_config(members)) if made.info.id == name)


def sending(sink: SmtpSink, **members: object) -> Capability:
    return capability(over_sink(sink, **members), "mail.send")


def effect_of(made: Capability, **changed: object) -> EffectView:
    return describe_case(made, {**WISH, **changed})[1]


def describe(members: dict[str, object], name: str, **changed: object) -> Described | Refused:
    return capability(members, name).describe({**WISH, **changed}, context=CONTEXT)


def no_server(**members: object) -> dict[str, object]:
    """A section that describes sending; nothing listens at its port."""
    return section(smtp_host="127.0.0.1", smtp_port=9, reader="maildir", maildir="/nowhere", **members)


def config(**members: object) -> MailConfig:
    return read_mail_config(section(**members))
