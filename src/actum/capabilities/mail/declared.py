# SPDX-License-Identifier: Apache-2.0
"""mail.draft can be put back and stays on this machine; mail.send can never be taken back.

What each declares about itself decides how the kernel treats it: sending is flagged for qualification, is
attempted once after its dispatch, and the absence of a message proves nothing.
"""

from __future__ import annotations

import os
import tempfile

from actum.capabilities.mail.config import MailConfig
from actum.capabilities.mail.content import body_digest
from actum.capabilities.mail.describe import (
    rebuild_message,
    resolve_letter,
    resolved_arguments,
    shown_lines,
)
from actum.capabilities.mail.maildir import DraftExecutor, draft_resource, write_draft
from actum.capabilities.mail.message import build_message, content_digest
from actum.capabilities.mail.rehearse import rehearse_sending
from actum.capabilities.mail.smtp import SmtpExecutor, destination
from actum.capabilities.mail.verify import (
    DRAFTED,
    DraftVerifier,
    expected_draft,
    expected_sent,
    sent_projection,
    verifiers_of,
)
from actum.model.effect import Claims, EffectClass, Externality, PrivilegeLevel, Resource, Reversibility
from actum.model.errors import Refused
from actum.model.evidence import QualificationResult
from actum.ports.capability import Capability, CapabilityInfo, DescribeContext, Described, Rehearsal
from actum.ports.executor import EffectView, Executor
from actum.ports.verifier import Verifier

_VERIFIERS = "actum.capabilities.mail:verifiers"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class MailDraft:
    """Writes a message into the drafts maildir, for a person to send or throw away."""

    executor: Executor
    verifier: Verifier

    def __init__(self, config: MailConfig) -> None:
        self._config = config
        self.executor = DraftExecutor(config)
        self.verifier = DraftVerifier(config.drafts or "")
        self.info = CapabilityInfo(
            id="mail.draft",
            version="1",
            effect_class=EffectClass.ACTION,
            reversibility=Reversibility.REVERSIBLE,
            externality=Externality.LOCAL_ONLY,
            privilege_level=PrivilegeLevel.STANDARD,
            claims=Claims.CHANGE,
            absence_is_proof=True,
            consistency_window_ms=0,
            attempts_max=3,
            verifier_ref=_VERIFIERS,
            timeout_ms=config.timeout_ms,
            data_classes=("personal",),
            resources_are_all=True,
        )

    def describe(self, arguments: dict[str, object], *, context: DescribeContext) -> Described | Refused:
        """Resolve the arguments to one new file in the drafts maildir."""
        letter = resolve_letter(arguments, config=self._config, context=context)
        if isinstance(letter, Refused):
            return letter
        resource = draft_resource(self._config.drafts or "", message_id=letter.message_id)
        if isinstance(resource, Refused):
            return resource
        raw = build_message(letter)
        return Described(
            arguments=resolved_arguments(letter),
            resources=(resource,),
            destinations=(f"maildir:{self._config.drafts}",),
            # Nobody receives a draft; whom it is addressed to stands in the lines.
            recipients=(),
            object_count=1,
            blast_radius=1,
            projection=DRAFTED,
            expected_value=expected_draft(raw, message_id=letter.message_id),
            lines=(f"Write a draft, unsent, as {resource.id}", *shown_lines(letter)),
            context={"message_digest": content_digest(raw)},
        )

    def rehearse(self, effect: EffectView) -> Rehearsal:
        """Write the draft into an empty maildir of its own and read it back."""
        rebuilt = rebuild_message(effect.arguments)
        if isinstance(rebuilt, Refused):
            return _copy_rehearsal(QualificationResult.FAILED, rebuilt.reason)
        with tempfile.TemporaryDirectory(prefix="actum-draft-") as place:
            folders: dict[str, int] = {}
            try:
                for name in ("tmp", "new", "cur"):
                    os.mkdir(os.path.join(place, name))
                    folders[name] = os.open(os.path.join(place, name), _FOLDER)
                write_draft(folders, name="draft", raw=rebuilt[1])
                with open(os.path.join(place, "new", "draft"), "rb") as handle:
                    kept = body_digest(handle.read()) == body_digest(rebuilt[1])
            except OSError as error:
                return _copy_rehearsal(QualificationResult.NOT_POSSIBLE, error.strerror or "no copy")
            finally:
                for descriptor in folders.values():
                    os.close(descriptor)
        if not kept:
            return _copy_rehearsal(QualificationResult.FAILED, "copy_differs")
        return _copy_rehearsal(QualificationResult.PASSED, "written_to_a_copy")


class MailSend:
    """Sends a message through the configured SMTP server."""

    executor: Executor
    verifier: Verifier

    def __init__(self, config: MailConfig) -> None:
        self._config = config
        self.executor = SmtpExecutor(config)
        self.verifier = verifiers_of(config)["mail.send"]
        self.info = CapabilityInfo(
            id="mail.send",
            version="1",
            effect_class=EffectClass.ACTION,
            reversibility=Reversibility.IRREVERSIBLE,
            externality=Externality.EXTERNAL_MUTATION,
            privilege_level=PrivilegeLevel.STANDARD,
            claims=Claims.CHANGE,
            absence_is_proof=False,
            consistency_window_ms=config.consistency_window_ms,
            attempts_max=1,
            verifier_ref=_VERIFIERS,
            timeout_ms=config.timeout_ms,
            data_classes=("personal",),
        )

    def describe(self, arguments: dict[str, object], *, context: DescribeContext) -> Described | Refused:
        """Resolve the arguments to one message, its recipients and its server, sending nothing."""
        letter = resolve_letter(arguments, config=self._config, context=context)
        if isinstance(letter, Refused):
            return letter
        raw = build_message(letter)
        recipients = letter.recipients()
        server = destination(self._config)
        return Described(
            arguments=resolved_arguments(letter),
            resources=(
                Resource(kind="mail.message", id=letter.message_id, digest=content_digest(raw)),
                *(Resource(kind="mail.mailbox", id=address) for address in recipients),
            ),
            destinations=(server,),
            recipients=recipients,
            # One message is sent; it reaches as many people as it has recipients.
            object_count=1,
            blast_radius=len(recipients),
            projection=sent_projection(self._config),
            expected_value=expected_sent(
                raw, message_id=letter.message_id, recipients=recipients, config=self._config
            ),
            lines=(f"Send by {server} to {_people(recipients)}", self._where_looked(), *shown_lines(letter)),
            context={"message_digest": content_digest(raw)},
        )

    def rehearse(self, effect: EffectView) -> Rehearsal:
        """Hold the SMTP dialogue up to RCPT and take it back."""
        return rehearse_sending(effect, config=self._config)

    def _where_looked(self) -> str:
        if self._config.mailbox_is_per_recipient():
            return "Delivery is looked for in each recipient's mailbox"
        return f"Delivery is looked for in one mailbox only: {self._config.mailbox_label()}"


def mail_capabilities(config: MailConfig) -> list[Capability]:
    """Return the capabilities that the configuration allows: mail.draft with drafts, mail.send with SMTP."""
    found: list[Capability] = []
    if config.drafts is not None:
        found.append(MailDraft(config))
    if config.smtp_host is not None:
        found.append(MailSend(config))
    return found


def _people(recipients: tuple[str, ...]) -> str:
    return "1 recipient" if len(recipients) == 1 else f"{len(recipients)} recipients"


def _copy_rehearsal(result: QualificationResult, reason: str) -> Rehearsal:
    return Rehearsal(result=result, reason=reason, method="copy", detail={})
