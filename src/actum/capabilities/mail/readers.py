# SPDX-License-Identifier: Apache-2.0
"""A reader finds the copies of one message in one mailbox, and tells how many messages the mailbox holds.

Nothing is changed by reading: IMAP mailboxes are examined, not selected, and bodies are peeked at.

Rules
1. A message is a copy only if one of its Message-IDs equals the wanted one, to the character. A server's
   search finds substrings, so it only proposes candidates.
2. The count of all messages is read in the same session: a reader that sees an empty list because it could
   not look raises, and never answers "no copies".
3. Only regular files are messages: no link is followed, no pipe is waited for.
"""

from __future__ import annotations

import imaplib
import os
import ssl
import stat
from collections.abc import Iterator
from typing import Protocol, cast

import msgspec

from actum.capabilities.mail.config import RECIPIENT, MailConfig, read_password
from actum.capabilities.mail.content import message_ids
from actum.model.errors import EnvironmentFault

# Our own messages stay below 1.5 MB; what is larger cannot be an unchanged copy and is not loaded whole.
MAX_COPY_BYTES = 4_000_000
_HEAD_BYTES = 262_144


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The copies of one message in one mailbox, and how many messages were there in all."""

    copies: tuple[bytes, ...]
    messages: int


class MailboxReader(Protocol):
    """Whoever can look into a mailbox for one Message-ID."""

    def find(self, message_id: str, *, recipient: str) -> Found:
        """Return the copies in the recipient's mailbox; raise EnvironmentFault mailbox_unreadable."""
        ...


def reader_of(config: MailConfig) -> MailboxReader | None:
    """Return the reader that the configuration names, or None where it names none."""
    if config.reader == "imap":
        return ImapReader(config)
    if config.reader == "maildir" and config.maildir is not None:
        return MaildirReader(config.maildir)
    return None


class MaildirReader:
    """Reads new/ and cur/ of a maildir; the path may hold ``{recipient}``."""

    def __init__(self, path: str) -> None:
        self._path = path

    def find(self, message_id: str, *, recipient: str) -> Found:
        """Return the copies of a message among all regular files of new/ and cur/."""
        folder = self._path.replace(RECIPIENT, recipient.replace("/", "%2F"))
        wanted = message_id.encode("ascii")
        copies: list[bytes] = []
        # A message that moves from new/ to cur/ between the two listings is met twice and counted once.
        met: set[tuple[int, str]] = set()
        for path in _entries(folder):
            seen = _look_at(path, wanted=wanted)
            if seen is None or seen[0] in met:
                continue
            met.add(seen[0])
            # Rule 1
            if seen[1] is not None and message_id in message_ids(seen[1]):
                copies.append(seen[1])
        return Found(copies=tuple(copies), messages=len(met))


class ImapReader:
    """Examines one IMAP mailbox in a session of its own."""

    def __init__(self, config: MailConfig) -> None:
        self._config = config

    def find(self, message_id: str, *, recipient: str) -> Found:
        """Return the copies of a message that the server holds for the configured user."""
        user = (self._config.imap_user or "").replace(RECIPIENT, recipient)
        try:
            session = self._open(user)
            try:
                return _find_over_imap(session, message_id, mailbox=self._config.imap_mailbox)
            finally:
                _leave(session)
        except (imaplib.IMAP4.error, OSError) as error:
            raise _unreadable(self._config.mailbox_label(), type(error).__name__) from error

    def _open(self, user: str) -> imaplib.IMAP4:
        config = self._config
        host, timeout = config.imap_host or "", config.timeout_ms / 1000
        if config.imap_tls:
            context = ssl.create_default_context()
            session: imaplib.IMAP4 = imaplib.IMAP4_SSL(
                host, config.imap_port, ssl_context=context, timeout=timeout
            )
        else:
            session = imaplib.IMAP4(host, config.imap_port, timeout=timeout)
        try:
            password = read_password(
                env=config.imap_password_env, file=config.imap_password_file, purpose="reading the mailbox"
            )
            session.login(_quoted(user), password)
        except BaseException:
            session.shutdown()
            raise
        return session


def _find_over_imap(session: imaplib.IMAP4, message_id: str, *, mailbox: str) -> Found:
    # Rule 2
    status, counted = session.select(_quoted(mailbox), readonly=True)
    if status != "OK" or not counted or not (counted[0] or b"").isdigit():
        raise _unreadable(mailbox, "the mailbox could not be examined")
    messages = int(counted[0] or b"0")
    status, found = session.uid("SEARCH", "HEADER", "Message-ID", _quoted(message_id))
    if status != "OK":
        raise _unreadable(mailbox, "the search was refused")
    copies: list[bytes] = []
    for uid in (found[0] or b"").split():
        raw = _fetch(session, uid.decode("ascii"), mailbox=mailbox)
        # Rule 1
        if message_id in message_ids(raw):
            copies.append(raw)
    return Found(copies=tuple(copies), messages=messages)


def _fetch(session: imaplib.IMAP4, uid: str, *, mailbox: str) -> bytes:
    # One message is asked for, so the one answer that carries a literal is its text.
    status, answer = session.uid("FETCH", uid, f"(BODY.PEEK[]<0.{MAX_COPY_BYTES}>)")
    for part in cast("list[object]", answer):
        if status == "OK" and isinstance(part, tuple):
            return cast("tuple[bytes, bytes]", part)[1]
    raise _unreadable(mailbox, "a message that was found could not be fetched")


def _leave(session: imaplib.IMAP4) -> None:
    try:
        session.logout()
    except (imaplib.IMAP4.error, OSError):
        # What was read stays read; a server that does not say goodbye changes nothing.
        session.shutdown()


def _quoted(text: str) -> str:
    if not text.isascii() or not text.isprintable():
        raise _unreadable("a mailbox", "its name or user is not printable ASCII")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _entries(folder: str) -> Iterator[str]:
    for name in ("new", "cur"):
        place = os.path.join(folder, name)
        try:
            listed = sorted(os.listdir(place))
        except OSError as error:
            # Rule 2
            raise _unreadable(place, error.strerror or "it cannot be listed") from error
        yield from (os.path.join(place, entry) for entry in listed if not entry.startswith("."))


def _look_at(path: str, *, wanted: bytes) -> tuple[tuple[int, str], bytes | None] | None:
    """Return the file's identity and, where its head names the wanted id, its bytes; None if no message."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        # A mail program moved it from new/ to cur/, where it is met again, or deleted it.
        return None
    except OSError as error:
        if os.path.islink(path):
            return None
        raise _unreadable(path, error.strerror or "it cannot be opened") from error
    facts = os.fstat(descriptor)
    # Rule 3; checked before the descriptor becomes a file object, which a folder cannot become.
    if not stat.S_ISREG(facts.st_mode):
        os.close(descriptor)
        return None
    with os.fdopen(descriptor, "rb") as handle:
        identity = (facts.st_ino, os.path.basename(path).partition(":")[0])
        head = handle.read(_HEAD_BYTES)
        return identity, head + handle.read(MAX_COPY_BYTES - len(head)) if wanted in head else None


def _unreadable(place: str, why: str) -> EnvironmentFault:
    return EnvironmentFault(
        "mailbox_unreadable",
        failed=f"{place} could not be read: {why}",
        state="Whether the message is there is not known",
        next_step="Make the mailbox readable and look again",
        place=place,
        why=why,
    )
