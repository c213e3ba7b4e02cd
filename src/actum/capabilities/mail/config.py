# SPDX-License-Identifier: Apache-2.0
"""The [mail] section is read whole: every problem in it is reported at once, and no password stands in it.

Passwords are named, not written: an environment variable or a file that only its owner can read. They are
read when a connection is opened and kept nowhere.

Rules
1. An unknown member, a wrong type or a missing part is a problem; nothing is guessed.
2. A password over a connection without TLS is accepted for this machine only.
3. A password file that others can read is refused.
4. Sending without a mailbox to read back is refused.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

import msgspec

from actum.capabilities.mail.addresses import Mailbox, is_host_name, parse_mailbox
from actum.model.errors import EnvironmentFault, Refused, UsageError

RECIPIENT = "{recipient}"
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_READERS = ("imap", "maildir")


class MailConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The [mail] section of actum.toml. ``imap_user`` and ``maildir`` may hold ``{recipient}``.

    With ``{recipient}`` each recipient's own mailbox is read; without it one mailbox is read for every
    message. Paths are absolute; times are milliseconds.
    """

    sender: str | None = msgspec.field(name="from", default=None)
    allowed_senders: tuple[str, ...] = ()
    domain: str | None = None
    smtp_host: str | None = None
    smtp_port: int = 25
    starttls: bool = False
    smtp_user: str | None = None
    smtp_password_env: str | None = None
    smtp_password_file: str | None = None
    reader: str | None = None
    imap_host: str | None = None
    imap_port: int = 143
    imap_tls: bool = False
    imap_user: str | None = None
    imap_mailbox: str = "INBOX"
    imap_password_env: str | None = None
    imap_password_file: str | None = None
    maildir: str | None = None
    drafts: str | None = None
    consistency_window_ms: int = 5_000
    timeout_ms: int = 20_000

    def mailbox_is_per_recipient(self) -> bool:
        """Tell whether the reader opens every recipient's own mailbox."""
        place = self.imap_user if self.reader == "imap" else self.maildir
        return place is not None and RECIPIENT in place

    def mailbox_label(self) -> str:
        """Return how the one mailbox that is read is named to a person and in a projection."""
        if self.reader == "imap":
            return f"imap://{self.imap_user}@{self.imap_host}:{self.imap_port}/{self.imap_mailbox}"
        return f"maildir:{self.maildir}"


def read_mail_config(section: Mapping[str, object]) -> MailConfig:
    """Return the configuration; raise UsageError ``bad_mail_config`` that names every problem.

    The error's facts are {"/mail/MEMBER": what is wrong}.
    """
    problems: dict[str, str] = {}
    members: dict[str, object] = {}
    known = {field.encode_name: field for field in msgspec.structs.fields(MailConfig)}
    for name, value in section.items():
        # Rule 1
        if name not in known:
            problems[f"/mail/{name}"] = "no such setting"
            continue
        try:
            members[name] = msgspec.convert(value, known[name].type)
        except msgspec.ValidationError as error:
            problems[f"/mail/{name}"] = str(error)
    config = msgspec.convert(members, MailConfig)
    for problem in (*_parts(config), *_senders(config), *_passwords(config), *_numbers(config)):
        problems.setdefault(*problem)
    if problems:
        raise UsageError(
            "bad_mail_config",
            failed="The [mail] section has problems: "
            + "; ".join(f"{path} {what}" for path, what in sorted(problems.items())),
            state="No mail capability was registered and nothing was sent",
            next_step="Correct them all in actum.toml and start again",
            **problems,
        )
    return config


def read_password(*, env: str | None, file: str | None, purpose: str) -> str:
    """Return a password from where the configuration says; the value is in no error and no record.

    Raises EnvironmentFault: password_absent, password_file_open_to_others.
    """
    if env is not None:
        found = os.environ.get(env)
        if found is None:
            raise _no_password(purpose, f"the environment variable {env} is not set")
        return found
    try:
        descriptor = os.open(file or "", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _no_password(purpose, f"{file} cannot be opened ({error.strerror})") from error
    facts = os.fstat(descriptor)
    # Rule 3
    if not stat.S_ISREG(facts.st_mode) or facts.st_mode & 0o077:
        os.close(descriptor)
        raise EnvironmentFault(
            "password_file_open_to_others",
            failed=f"{file} is no private file",
            state="No connection was opened",
            next_step=f"Run chmod 600 {file} and try again",
            purpose=purpose,
        )
    with os.fdopen(descriptor, "rb") as handle:
        text = handle.read(4096)
    try:
        return text.decode("utf-8").strip("\r\n")
    except UnicodeDecodeError:
        # The error's own text would quote what stands in the file, so no cause is chained.
        raise _no_password(purpose, f"{file} is not UTF-8") from None


def _no_password(purpose: str, why: str) -> EnvironmentFault:
    return EnvironmentFault(
        "password_absent",
        failed=f"There is no password for {purpose}: {why}",
        state="No connection was opened",
        next_step="Set it where the [mail] section says and try again",
        purpose=purpose,
    )


def _parts(config: MailConfig) -> list[tuple[str, str]]:
    problems: list[tuple[str, str]] = []
    if config.reader is not None and config.reader not in _READERS:
        problems.append(("/mail/reader", "must be imap or maildir"))
    # Rule 4
    if config.smtp_host is not None and config.reader is None:
        problems.append(("/mail/reader", "is missing: what is sent must be read back"))
    if config.reader == "imap":
        for name, value in (("imap_host", config.imap_host), ("imap_user", config.imap_user)):
            if not value:
                problems.append((f"/mail/{name}", "is missing for the reader imap"))
    if config.reader == "maildir" and not config.maildir:
        problems.append(("/mail/maildir", "is missing for the reader maildir"))
    for name, path in (("maildir", config.maildir), ("drafts", config.drafts)):
        if path is not None and not os.path.isabs(path):
            problems.append((f"/mail/{name}", "must be an absolute path"))
    return problems


def _senders(config: MailConfig) -> list[tuple[str, str]]:
    problems: list[tuple[str, str]] = []
    acts = config.smtp_host is not None or config.drafts is not None
    if acts and config.sender is None:
        problems.append(("/mail/from", "is missing"))
    if acts and config.domain is None:
        problems.append(("/mail/domain", "is missing: Message-IDs are made under it"))
    if config.domain is not None and not is_host_name(config.domain):
        problems.append(("/mail/domain", "is no host name"))
    for index, text in enumerate(config.allowed_senders):
        if not isinstance(parse_mailbox(text, path=""), Mailbox):
            problems.append((f"/mail/allowed_senders/{index}", "is no address"))
    if config.sender is not None and isinstance(parse_mailbox(config.sender, path=""), Refused):
        problems.append(("/mail/from", "is no address"))
    return problems


def _passwords(config: MailConfig) -> list[tuple[str, str]]:
    problems: list[tuple[str, str]] = []
    for kind, user, env, file, host, tls in (
        ("smtp", config.smtp_user, config.smtp_password_env, config.smtp_password_file, config.smtp_host,
         config.starttls),
        ("imap", config.imap_user, config.imap_password_env, config.imap_password_file, config.imap_host,
         config.imap_tls),
    ):  # fmt: skip
        if env is not None and file is not None:
            problems.append((f"/mail/{kind}_password_file", f"stands beside {kind}_password_env: give one"))
        if user is None:
            continue
        if env is None and file is None:
            problems.append((f"/mail/{kind}_password_env", f"is missing for {kind}_user"))
        # Rule 2
        if not tls and host not in _LOOPBACK:
            setting = "starttls" if kind == "smtp" else "imap_tls"
            problems.append((f"/mail/{setting}", "must be true: a password would cross the network in clear"))
    return problems


def _numbers(config: MailConfig) -> list[tuple[str, str]]:
    bounds = (
        ("smtp_port", config.smtp_port, 1, 65_535),
        ("imap_port", config.imap_port, 1, 65_535),
        ("consistency_window_ms", config.consistency_window_ms, 0, 600_000),
        ("timeout_ms", config.timeout_ms, 100, 120_000),
    )
    return [
        (f"/mail/{name}", f"must be between {low} and {high}")
        for name, value, low, high in bounds
        if not low <= value <= high
    ]
