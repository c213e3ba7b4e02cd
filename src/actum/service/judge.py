# SPDX-License-Identifier: Apache-2.0
"""A person's choice decides a waiting step, and the walk goes on from there.

Rules
1. A judgment is decided by the ladder from the question as it was shown, and recorded with the person.
2. A choice that proposes what only another program can describe is kept with the person and the time; that program's
   walk decides by it (`actum.service.walk` 7), and nobody is asked again.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actum.kernel.ladder import decide_by_person
from actum.kernel.redaction import redact
from actum.model import canonical, foreign
from actum.model.errors import InvariantViolation, Refused, RefusedError
from actum.model.question import QuestionReason
from actum.model.walk import QuestionDraft
from actum.ports.store import Tx
from actum.service import content
from actum.service.answer import Person, answer_question, open_question, require_role
from actum.service.line import Line
from actum.service.points import commit
from actum.service.rows import Walked, write_walk
from actum.service.standing import refresh
from actum.service.view import GIVEN, Given, TurnView, load_view
from actum.service.walk import take_decision, walk


def judge(
    line: Line,
    question_id: str,
    *,
    choice: str,
    person: Person,
    reason: str = "",
    writes: Mapping[str, object] | None = None,
) -> str:
    """Decide a waiting step by a person's choice; return the turn's id. The walk goes on from there."""
    question = line.store.read(lambda tx: open_question(tx, question_id, QuestionReason.JUDGMENT))
    line.store.read(lambda tx: require_role(tx, person.name, role="approver"))

    def load(tx: Tx) -> tuple[QuestionDraft, TurnView]:
        draft = canonical.decode_strict(content.load(line, tx, question.shown_digest), QuestionDraft)
        return draft, load_view(line, tx, question.turn_id)

    draft, view = line.store.read(load)
    step = view.process.step(draft.step_id)
    if step is None:
        raise InvariantViolation("a question's step is in its process", step=draft.step_id)
    clean = None if writes is None else redact(dict(writes))[0]
    now = line.now()
    # Rule 1
    decided = decide_by_person(
        step, subject=view.subject, question=draft, choice=choice, person=person.name, reason=reason, now_ms=now,
        index=view.index, writes=clean,
    )  # fmt: skip
    if isinstance(decided, Refused):
        raise RefusedError.from_refused(
            decided,
            failed=f"the choice {choice!r} was not taken: {decided.reason}",
            state="The question is still open",
            next_step=f"Choose one of: {', '.join(draft.choices)}",
        )
    walked = Walked(base=frozenset((visit.step_id, visit.state) for visit in view.visits.values()))
    elsewhere = any(line.rules.is_elsewhere(stage.capability) for stage in decided.stages)
    if not elsewhere:
        take_decision(line, view, walked, step=step, decided=decided)
    given = Given(
        question_id=question_id, step_id=step.id, choice=choice, person=person.name, reason=reason, at_ms=now,
        writes_json=None if clean is None else foreign.encode_foreign(clean).decode(),
    )  # fmt: skip

    def work(tx: Tx) -> bool:
        found = open_question(tx, question_id, QuestionReason.JUDGMENT)
        answer_question(tx, found, by=person.name, answer=choice, now_ms=now)
        if not elsewhere:
            return write_walk(line, tx, view, walked)
        # Rule 2
        line.event(tx, GIVEN, turn_id=question.turn_id, body=msgspec.to_builtins(given))
        refresh(tx, question.turn_id, now_ms=now)
        return True

    if not commit(line, "judge", work):
        raise InvariantViolation("an open question's step is walked by its answer only", question=question_id)
    walk(line, question.turn_id)
    return question.turn_id
