# SPDX-License-Identifier: Apache-2.0
"""A message is handed to the SMTP server once; every answer of the server is reported as its word.

Rules
1. ``hold`` connects, checks greeting and EHLO, and says nothing that could have an effect.
2. The session that was checked is the session that sends.
3. If one recipient is refused, the transaction is reset and nobody receives anything.
4. A refusal before the end of the data, or of the data itself, is ``rejected``.
5. Once the server has asked for the data, a lost connection is ``no_answer``: the message may be there.
6. 250 after the data is ``accepted`` and no more: the server took the message, nobody has seen it arrive.
"""

from __future__ import annotations

import re
import smtplib
import ssl
import time

from actum.capabilities.mail.config import MailConfig, read_password
from actum.capabilities.mail.describe import rebuild_message
from actum.capabilities.mail.message import Letter
from actum.model.errors import EnvironmentFault, InvariantViolation, Refused
from actum.model.grading import ExecutorSaid
from actum.ports.executor import Dispatch, EffectView, ExecutorReport, Held

_REPLY_SHOWN = 200
_leading_dot = re.compile(rb"^\.", re.MULTILINE)


class SmtpHeld:
    """An open SMTP session whose server was checked, with the message it is open for."""

    def __init__(self, session: smtplib.SMTP, *, letter: Letter, raw: bytes) -> None:
        self.session = session
        self.letter = letter
        self.raw = raw

    def close(self) -> None:
        """End the session; harmless where it has ended."""
        leave(self.session)


class SmtpExecutor:
    """Sends one message through the configured server."""

    def __init__(self, config: MailConfig) -> None:
        self._config = config

    def hold(self, effect: EffectView) -> Held | Refused:
        """Open the session to the server that was resolved; refuse where server or bytes differ.

        Raises EnvironmentFault smtp_unreachable: nothing was sent.
        """
        rebuilt = rebuild_message(effect.arguments)
        if isinstance(rebuilt, Refused):
            return rebuilt
        letter, raw = rebuilt
        here = destination(self._config)
        if effect.descriptor.destinations != (here,):
            return Refused(reason="destination_changed", facts={"now": here})
        if effect.descriptor.recipients != letter.recipients():
            return Refused(reason="recipients_differ", facts={"message_id": letter.message_id})
        # Rule 1
        return SmtpHeld(open_session(self._config), letter=letter, raw=raw)

    def execute(self, dispatch: Dispatch, held: Held) -> ExecutorReport:
        """Send the held message once."""
        if not isinstance(held, SmtpHeld) or dispatch.effect.arguments.get("message_id") != (
            held.letter.message_id
        ):
            raise InvariantViolation("the held session belongs to another message")
        # Rule 2
        give_up_at = time.monotonic() + self._config.timeout_ms / 1000
        try:
            refusal = _offer(held.session, held.letter)
            if refusal is None and time.monotonic() > give_up_at:
                # A server this slow may have outlived the lease; nothing was sent, so nothing is in doubt.
                _reset(held.session)
                return ExecutorReport(said=ExecutorSaid.RAISED, result={"stage": "rcpt", "why": "too slow"})
            if refusal is None:
                code, text = held.session.docmd("DATA")
                refusal = None if code == 354 else _reply("data", code, text)
        except (smtplib.SMTPException, OSError) as error:
            # The data was not asked for, so no part of the message has left this machine.
            return _lost(ExecutorSaid.RAISED, "before_data", error)
        # Rule 4
        if refusal is not None:
            return ExecutorReport(said=ExecutorSaid.REJECTED, result=refusal)
        return _send_data(held.session, held.raw)


def destination(config: MailConfig) -> str:
    """Return the destination that the descriptor names."""
    return f"smtp://{config.smtp_host}:{config.smtp_port}"


def open_session(config: MailConfig) -> smtplib.SMTP:
    """Return a session after greeting, EHLO and, where configured, STARTTLS and login.

    Raises EnvironmentFault: smtp_unreachable, password_absent, password_file_open_to_others.
    """
    session = smtplib.SMTP(local_hostname=config.domain, timeout=config.timeout_ms / 1000)
    try:
        code, _ = session.connect(config.smtp_host or "", config.smtp_port)
        if code != 220:
            raise _unreachable(config, f"it greeted with {code}")
        if config.starttls:
            session.starttls(context=ssl.create_default_context())
        code, _ = session.ehlo()
        if code != 250:
            raise _unreachable(config, f"it answered EHLO with {code}")
        if config.smtp_user is not None:
            password = read_password(
                env=config.smtp_password_env, file=config.smtp_password_file, purpose="sending mail"
            )
            session.login(config.smtp_user, password)
    except EnvironmentFault:
        session.close()
        raise
    except (smtplib.SMTPException, OSError) as error:
        session.close()
        # The exception's own text can repeat what was sent: only its kind is told, and no cause is chained.
        raise _unreachable(config, type(error).__name__) from None
    return session


def leave(session: smtplib.SMTP) -> None:
    """End a session politely if it is still open."""
    try:
        if session.sock is not None:
            session.quit()
    except (smtplib.SMTPException, OSError):
        session.close()


def _offer(session: smtplib.SMTP, letter: Letter) -> dict[str, object] | None:
    """Name sender and recipients; return the refusal after resetting, or None where all were accepted."""
    code, text = session.mail(letter.sender.address)
    refusal = None if code == 250 else _reply("mail", code, text)
    for recipient in letter.recipients():
        if refusal is None:
            code, text = session.rcpt(recipient)
            if code not in (250, 251):
                refusal = {**_reply("rcpt", code, text), "recipient": recipient}
    # Rule 3
    if refusal is not None:
        _reset(session)
    return refusal


def _send_data(session: smtplib.SMTP, raw: bytes) -> ExecutorReport:
    try:
        session.send(_leading_dot.sub(b"..", raw))
        session.send(b".\r\n")
        code, text = session.getreply()
    except (smtplib.SMTPException, OSError) as error:
        # Rule 5
        return _lost(ExecutorSaid.NO_ANSWER, "after_data", error)
    if code == 250:
        # Rule 6
        return ExecutorReport(
            said=ExecutorSaid.ACCEPTED, result=_reply("end_of_data", code, text), acknowledged=True
        )
    # 421 and an unreadable answer come from a server that is going away, not from one that refuses.
    said = ExecutorSaid.REJECTED if 400 <= code <= 599 and code != 421 else ExecutorSaid.NO_ANSWER
    return ExecutorReport(said=said, result=_reply("end_of_data", code, text))


def _reset(session: smtplib.SMTP) -> None:
    try:
        session.rset()
    except (smtplib.SMTPException, OSError):
        # A server that hung up has dropped the transaction as well.
        session.close()


def _reply(stage: str, code: int, text: bytes) -> dict[str, object]:
    return {"stage": stage, "code": code, "reply": text[:_REPLY_SHOWN].decode("utf-8", "replace")}


def _lost(said: ExecutorSaid, stage: str, error: Exception) -> ExecutorReport:
    return ExecutorReport(said=said, result={"stage": stage, "error": type(error).__name__})


def _unreachable(config: MailConfig, why: str) -> EnvironmentFault:
    return EnvironmentFault(
        "smtp_unreachable",
        failed=f"{destination(config)} cannot be used: {why}",
        state="Nothing was sent",
        next_step="Start the mail server or correct the [mail] section, then run again",
        why=why,
    )
