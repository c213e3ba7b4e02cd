# SPDX-License-Identifier: Apache-2.0
"""A turn as it stands: its subject with everything its decisions wrote, and the step it is at."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from actum.kernel.index import RulebookIndex
from actum.kernel.parsers import pointer_tokens
from actum.model import canonical, foreign
from actum.model.errors import InvariantViolation, UsageError
from actum.model.process import Process, Rulebook, Step
from actum.model.walk import FieldWrite, QuestionDraft
from actum.model.work import StepState, Turn, WorkItem
from actum.ports.store import Tx, VisitRow
from actum.service import content
from actum.service.line import Line

GIVEN = "judgment.given"
"""The event that keeps a person's choice for the program that can describe what it proposes."""


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """A choice that is given and not decided by yet; ``writes_json`` is canonical foreign JSON."""

    question_id: str
    step_id: str
    choice: str
    person: str
    reason: str
    writes_json: str | None
    at_ms: int


class TurnView(msgspec.Struct, kw_only=True):
    """One turn, loaded. ``subject`` is the foreign object with all writes so far applied.

    ``given`` are the choices by step that were given and wait for the program which can describe what they propose.
    """

    turn: Turn
    item: WorkItem
    process: Process
    index: RulebookIndex
    subject: dict[str, Any]
    visits: dict[str, VisitRow]
    decided: set[str]
    given: dict[str, tuple[Given, QuestionDraft]] = {}

    def current(self) -> Step | None:
        """Return the first step on the turn's way that is not done, or None at the end."""
        step_id: str | None = self.process.steps[0].id
        seen: set[str] = set()
        while step_id is not None and step_id not in seen:
            seen.add(step_id)
            visit = self.visits.get(step_id)
            if visit is None or visit.state is not StepState.DONE:
                return self.process.step(step_id)
            step_id = self.process.step_after(step_id)
        return None


def load_view(line: Line, tx: Tx, turn_id: str) -> TurnView:
    """Return a turn as it stands; UsageError where there is none of that id."""
    turn = tx.turn(turn_id)
    if turn is None:
        raise unknown("turn", turn_id)
    item = tx.work_item(turn.work_item_id)
    if item is None:
        raise InvariantViolation("a turn has a work item", turn=turn_id)
    rulebook, index = line.rules.by_digest(turn.rulebook_digest)
    process = find_process(rulebook, turn.process)
    visits = {visit.step_id: visit for visit in tx.visits(turn_id)}
    subject: dict[str, Any] = content.load_json(line, tx, item.subject_digest)
    for visit in sorted(visits.values(), key=lambda visit: visit.position):
        if visit.writes is not None:
            writes = msgspec.json.decode(visit.writes, type=tuple[FieldWrite, ...])
            subject = apply_writes(subject, writes, process=process)
    decided = {row.step_id for row in tx.decisions(turn_id)}
    return TurnView(
        turn=turn, item=item, process=process, index=index, subject=subject, visits=visits, decided=decided,
        given=_given(line, tx, turn_id),
    )  # fmt: skip


def _given(line: Line, tx: Tx, turn_id: str) -> dict[str, tuple[Given, QuestionDraft]]:
    found: dict[str, tuple[Given, QuestionDraft]] = {}
    for event in tx.events(kind=GIVEN, turn_id=turn_id):
        given = msgspec.json.decode(event.body, type=Given)
        question = tx.question(given.question_id)
        if question is None:
            raise InvariantViolation("a choice was given to a question", question=given.question_id)
        shown = content.load(line, tx, question.shown_digest)
        found[given.step_id] = given, canonical.decode_strict(shown, QuestionDraft)
    return found


def find_process(rulebook: Rulebook, name: str) -> Process:
    """Return a process of a rulebook by its name."""
    for process in rulebook.processes:
        if process.name == name:
            return process
    raise InvariantViolation("a turn's process is in its rulebook", process=name)


def apply_writes(
    subject: dict[str, Any], writes: tuple[FieldWrite, ...], *, process: Process
) -> dict[str, Any]:
    """Return a copy of a subject with fields written at the places their declarations name."""
    fields = {field.name: field for field in process.fields}
    for write in writes:
        tokens = pointer_tokens(fields[write.field].pointer) or (write.field,)
        subject = _with(subject, tokens, foreign.decode_foreign(write.value_json.encode()))
    return subject


def _with(value: dict[str, Any], tokens: tuple[str, ...], leaf: object) -> dict[str, Any]:
    head, rest = tokens[0], tokens[1:]
    if not rest:
        return {**value, head: leaf}
    inner = value.get(head)
    return {
        **value,
        head: _with(cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}, rest, leaf),
    }


def unknown(kind: str, what: str) -> UsageError:
    """Return the error for an id that is not in the store."""
    return UsageError(
        "not_found",
        failed=f"there is no {kind} {what} in this store",
        state="Nothing was changed",
        next_step="See `actum activity` and `actum inbox` for the ids there are",
        id=what,
    )
