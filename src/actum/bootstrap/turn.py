# SPDX-License-Identifier: Apache-2.0
"""A handle on one turn: everything it says is read from the store when asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from actum.model.activity import Activity
from actum.model.delivery import ExecutionKind
from actum.model.question import Question, QuestionReason, QuestionState
from actum.model.receipt import Receipt
from actum.ports.store import Tx
from actum.service.line import Line
from actum.service.standing import newest
from actum.service.view import unknown

T = TypeVar("T")


class Turn:
    """A handle on one turn; everything is read from the store when asked."""

    def __init__(self, line: Line, turn_id: str) -> None:
        self._line = line
        self.turn_id = turn_id

    def activity(self) -> Activity:
        """Return where the turn stands."""
        found = self._read(lambda tx: tx.activity(self.turn_id))
        if found is None:
            raise unknown("turn", self.turn_id)
        return found

    @property
    def state(self) -> str:
        """The state of the turn now."""
        return self.activity().state.value

    def questions(self, reason: QuestionReason | str | None = None) -> list[Question]:
        """Return the open questions of the turn."""
        wanted = None if reason is None else QuestionReason(reason)
        found = self._read(lambda tx: tx.questions(self.turn_id))
        return [q for q in found if q.state is QuestionState.OPEN and wanted in (None, q.reason)]

    def question_ids(self) -> list[str]:
        """Return the ids of the open confirms of the turn."""
        return [question.question_id for question in self.questions(QuestionReason.CONFIRM)]

    def receipts(self) -> list[Receipt]:
        """Return all receipts of the turn, oldest first."""
        rows = self._read(lambda tx: tx.receipts(self.turn_id))
        return [msgspec.json.decode(row.body, type=Receipt) for row in rows]

    def receipt(self) -> Receipt | None:
        """Return the newest receipt of the turn's last effect, or of the effect it repeated; None if there is none."""
        own = newest(self._read(lambda tx: tx.receipts(self.turn_id)))
        # That the repetition was recorded says nothing about what was repeated.
        ends = [row for row in own if row.kind != ExecutionKind.RECORD.value]
        ends = ends or self._read(lambda tx: _first_receipts(tx, self.turn_id)) or own
        return msgspec.json.decode(ends[-1].body, type=Receipt) if ends else None

    def _read(self, work: Callable[[Tx], T]) -> T:
        return self._line.store.glance(work)

    def __repr__(self) -> str:
        return f"Turn({self.turn_id!r})"


def _first_receipts(tx: Tx, turn_id: str) -> list[Any]:
    for proposal in tx.proposals(turn_id):
        if proposal.refusal is not None and proposal.refusal.startswith("duplicate_of:"):
            return newest(tx.receipts_of_row(proposal.refusal.removeprefix("duplicate_of:")))
    return []
