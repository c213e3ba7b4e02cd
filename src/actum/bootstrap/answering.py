# SPDX-License-Identifier: Apache-2.0
"""What people do with an open store: see what waits, and answer it. Each method is one use case of the service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from actum.bootstrap import given
from actum.bootstrap.opening import Opened
from actum.bootstrap.place import Place
from actum.bootstrap.turn import Turn
from actum.model import foreign
from actum.model.errors import EnvironmentFault, RefusedError
from actum.model.question import Question
from actum.process.activate import PendingPattern
from actum.service import answer as answering
from actum.service import judge as judging
from actum.service import patterns as pattern_rights
from actum.service import settle
from actum.service.answer import Person
from actum.service.line import Line


class Answering:
    """The half of a kernel that people answer through."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened

    @property
    def line(self) -> Line:
        """The line itself, for tests and tools; it is no stable interface."""
        return self._opened.line

    @property
    def place(self) -> Place:
        """The folder this kernel has open."""
        return self._opened.place

    def inbox(self, *, limit: int = 1000) -> list[Question]:
        """Return what waits for a person, oldest first."""
        most = given.number(limit, name="limit")
        return self.line.store.read(lambda tx: tx.open_questions(limit=most))

    def person(self, name: str | None = None, *, passphrase: bytes | None = None) -> Person:
        """Return who answers; somebody with a key of their own must open it, and it must be pinned."""
        who = self._opened.principal if name is None else name
        if not self.place.has_key(who):
            return Person(name=who)
        signer = self.place.keys.load(f"person-{who}", passphrase=passphrase)
        if self.line.trust.find(signer.keyid) is None:
            raise RefusedError(
                "key_not_pinned",
                failed=f"the key of {who} is not in this store's trust file",
                state="Nothing was answered with it",
                next_step="Let an operator put the key back into trust.json, or let somebody else answer",
                person=who,
                keyid=signer.keyid,
            )
        return Person(name=who, signer=signer)

    def confirm(
        self,
        question_ids: str | Sequence[str],
        *,
        by: str | Person | None = None,
        passphrase: bytes | None = None,
        accept_unqualified: bool = False,
        shown_digest: str | Mapping[str, str] | None = None,
    ) -> list[str]:
        """Confirm exact effects in one transaction; return their outbox ids.

        ``shown_digest`` is the digest of what the person was shown, or one for each question id.
        """
        if self._opened.moved:
            raise EnvironmentFault(
                "store_moved",
                failed="this store was copied or restored, or its host changed",
                state="Nothing was confirmed; what was open here may have happened elsewhere",
                next_step="Run `actum adopt`, or confirm in the store this one was copied from",
            )
        return answering.confirm(
            self.line,
            given.ids(question_ids),
            person=self._who(by, passphrase),
            accept_unqualified=accept_unqualified,
            shown_digest=shown_digest,
        )

    def refuse(
        self, question_ids: str | Sequence[str], *, by: str | Person | None = None, reason: str = ""
    ) -> list[str]:
        """Refuse proposed effects; nothing runs, and the next run seals that nothing did."""
        return answering.refuse(self.line, given.ids(question_ids), person=self._who(by, None), reason=reason)

    def judge(
        self,
        question_id: str,
        choice: str,
        *,
        by: str | Person | None = None,
        reason: str = "",
        writes: Mapping[str, object] | None = None,
    ) -> Turn:
        """Decide a waiting step by a person's choice."""
        turn_id = judging.judge(
            self.line, question_id, choice=choice, person=self._who(by, None), reason=reason,
            writes=None if writes is None else {name: foreign.from_plain(value) for name, value in writes.items()},
        )  # fmt: skip
        return Turn(self.line, turn_id)

    def settle(
        self, outbox_id: str, word: str | None = None, *, by: str | Person | None = None
    ) -> settle.Settled:
        """Look again, or store a person's word: happened, did_not or stop."""
        if word is None:
            return settle.look_again(self.line, outbox_id)
        return settle.answer(self.line, outbox_id, word=word, person=self._who(by, None))

    def acknowledge(self, turn_id: str, *, by: str | Person | None = None) -> None:
        """Record that a person saw a failure."""
        settle.acknowledge(self.line, turn_id, person=self._who(by, None))

    def patterns(self) -> tuple[PendingPattern, ...]:
        """Return every authored pattern that stages an action: its digest, and whether a person confirmed it."""
        return pattern_rights.patterns(self.line)

    def confirm_pattern(
        self, digest: str, *, by: str | Person | None = None, passphrase: bytes | None = None
    ) -> None:
        """Give an authored pattern of this exact digest the right to stage; what it stages still waits."""
        rulebook = pattern_rights.confirm(self.line, digest, person=self._who(by, passphrase))
        self._opened.rules.activate_confirmed(rulebook.confirmed)

    def _who(self, by: str | Person | None, passphrase: bytes | None) -> Person:
        return by if isinstance(by, Person) else self.person(by, passphrase=passphrase)
