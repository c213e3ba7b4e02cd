# SPDX-License-Identifier: Apache-2.0
"""A maildir is read without changing it, and every message in it is answered once.

Answers come in the order new/ before cur/, by name. Memory holds one message and the names of the folder.

Rules
1. Every entry of new/ and cur/ yields one item or one failure; none is passed over in silence.
2. No link is followed and no pipe is waited for: what is no regular file is a failure.
3. The same message in the same maildir has the same key, also after a mail program has read it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

import msgspec

from actum.adapters.intake.mime import MAX_MESSAGE, Unreadable, read_message
from actum.model import canonical
from actum.model.errors import UsageError
from actum.model.visible import visible
from actum.model.work import Submission


class IntakeFailure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message that did not become an item: its file, a stable code and what it means."""

    path: str
    code: str
    message: str


def is_maildir(path: str) -> bool:
    """Tell whether the folder has a new/ or a cur/ folder, as a maildir has."""
    return any(os.path.isdir(os.path.join(path, name)) for name in ("new", "cur"))


def read_maildir(path: str) -> Iterator[Submission | IntakeFailure]:
    """Yield one answer for each entry of new/ and cur/.

    Raises UsageError not_a_maildir before anything is read. Codes of failures: those of `read_message`,
    not_regular, unreadable, gone.
    """
    if not is_maildir(path):
        raise UsageError(
            "not_a_maildir",
            failed=f"{visible(path)} has neither new/ nor cur/",
            state="Nothing was submitted",
            next_step="Give the folder that holds new/ and cur/, or a file of JSON lines",
        )
    return _answers(path)


def _answers(path: str) -> Iterator[Submission | IntakeFailure]:
    for folder in ("new", "cur"):
        place = os.path.join(path, folder)
        try:
            names = sorted(os.listdir(place))
        except FileNotFoundError:
            continue
        except OSError as error:
            yield _failure(place, "unreadable", error.strerror or "it cannot be listed")
            continue
        for name in names:
            # Rule 1
            yield _answer(os.path.join(place, name), name)


def _answer(path: str, name: str) -> Submission | IntakeFailure:
    try:
        raw = _read(path)
    except FileNotFoundError:
        return _failure(path, "gone", "it was moved or deleted while the folder was read")
    except OSError as error:
        # O_NOFOLLOW answers ELOOP for a link, which says little to a reader of the failure.
        if os.path.islink(path):
            return _failure(path, "not_regular", "it is a link")
        return _failure(path, "unreadable", error.strerror or "it cannot be read")
    if raw is None:
        return _failure(path, "not_regular", "it is no regular file")
    answer = read_message(raw, key=_key(name, raw))
    if isinstance(answer, Unreadable):
        return _failure(path, answer.code, answer.message)
    return answer


def _read(path: str) -> bytes | None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    # Rule 2; checked before the descriptor becomes a file object, which a folder cannot become.
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    with os.fdopen(descriptor, "rb") as handle:
        # One octet more than allowed is enough to see that it is too large.
        return handle.read(MAX_MESSAGE + 1)


def _key(name: str, raw: bytes) -> str:
    # Rule 3: a mail program hangs flags on the name behind a colon.
    unique = os.fsencode(name).partition(b":")[0]
    return "maildir:" + canonical.digest_bytes(unique + b"\0" + raw)[7:]


def _failure(path: str, code: str, message: str) -> IntakeFailure:
    return IntakeFailure(path=visible(path), code=code, message=message)
