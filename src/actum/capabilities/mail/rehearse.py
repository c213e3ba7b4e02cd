# SPDX-License-Identifier: Apache-2.0
"""Sending is rehearsed as far as the server lets it be taken back: up to RCPT, then RSET.

The rehearsal shows that the server takes this sender and these recipients now. It does not show that the
message will be accepted or arrive.

Rules
1. The dialogue never reaches DATA and ends in RSET and QUIT.
2. A permanent refusal of the sender or of any recipient fails the rehearsal.
3. A temporary refusal or an unreachable server shows nothing: not possible, with the reason.
4. A server that also accepts a mailbox that cannot exist has told nothing about the others: not possible.
"""

from __future__ import annotations

import smtplib

from actum.capabilities.mail.config import MailConfig
from actum.capabilities.mail.describe import rebuild_message
from actum.capabilities.mail.message import Letter
from actum.capabilities.mail.smtp import leave, open_session
from actum.model import canonical
from actum.model.errors import EnvironmentFault, Refused
from actum.model.evidence import QualificationResult
from actum.ports.capability import Rehearsal
from actum.ports.executor import EffectView

METHOD = "smtp_dialogue_to_rcpt"


def rehearse_sending(effect: EffectView, *, config: MailConfig) -> Rehearsal:
    """Return what the server answers to sender and recipients, leaving nothing behind."""
    rebuilt = rebuild_message(effect.arguments)
    if isinstance(rebuilt, Refused):
        return _rehearsal(QualificationResult.FAILED, rebuilt.reason)
    try:
        session = open_session(config)
    except EnvironmentFault as fault:
        # Rule 3
        return _rehearsal(QualificationResult.NOT_POSSIBLE, fault.code)
    try:
        return _dialogue(session, rebuilt[0])
    except (smtplib.SMTPException, OSError) as error:
        return _rehearsal(QualificationResult.NOT_POSSIBLE, "connection_lost", error=type(error).__name__)
    finally:
        leave(session)


def _dialogue(session: smtplib.SMTP, letter: Letter) -> Rehearsal:
    answers: dict[str, object] = {}
    codes: list[int] = []
    code, _ = session.mail(letter.sender.address)
    if code != 250:
        return _rehearsal(_refused_with(code), "sender_refused", code=code)
    for recipient in letter.recipients():
        code, _ = session.rcpt(recipient)
        codes.append(code)
        answers[recipient] = code
    refused = [code for code in codes if code not in (250, 251)]
    if refused:
        session.rset()
        worst = QualificationResult.FAILED if max(refused) >= 500 else QualificationResult.NOT_POSSIBLE
        return _rehearsal(worst, "recipient_refused", answers=answers)
    accepts_all = [domain for domain in _domains(letter) if _accepts_nobody(session, letter, domain=domain)]
    # Rule 1
    session.rset()
    # Rule 4
    if accepts_all:
        return _rehearsal(
            QualificationResult.NOT_POSSIBLE,
            "server_accepts_every_recipient",
            answers=answers,
            domains=accepts_all,
        )
    return _rehearsal(QualificationResult.PASSED, "all_recipients_accepted", answers=answers)


def _accepts_nobody(session: smtplib.SMTP, letter: Letter, *, domain: str) -> bool:
    """Tell whether the server takes a mailbox that nobody can have; the name hangs on the message alone."""
    nobody = "no-mailbox-" + canonical.digest(letter.message_id)[7:31]
    code, _ = session.rcpt(f"{nobody}@{domain}")
    return code in (250, 251, 252)


def _domains(letter: Letter) -> list[str]:
    return sorted({recipient.rpartition("@")[2] for recipient in letter.recipients()})


def _refused_with(code: int) -> QualificationResult:
    # Rules 2 and 3
    return QualificationResult.FAILED if code >= 500 else QualificationResult.NOT_POSSIBLE


def _rehearsal(result: QualificationResult, reason: str, **detail: object) -> Rehearsal:
    return Rehearsal(result=result, reason=reason, method=METHOD, detail=detail)
