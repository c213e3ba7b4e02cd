# SPDX-License-Identifier: Apache-2.0
"""Judgment is a person: the rung asks a question and only a named person's choice decides it.

Rules
1. A question shows the packet, what each rung said, and inert suggestions exactly as they would be staged.
2. The choices are the step's own; beside them ``act`` takes the one suggestion and ``act:ID`` one of several.
   Where the step names none and nothing was suggested, they are ``act`` and ``decline``.
3. An answer names a person and one of the question's choices; anything else is refused and decides nothing.
4. The choice is recorded with the person, the reason and the question's digest: it is evidence.
5. Values that a person writes have the declared types; a person, and nobody else, may write money_legal.
6. What the person's choice stages is still only staged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from actum.kernel.facts import Facts
from actum.kernel.index import StepIndex
from actum.kernel.parsers import Unusable
from actum.kernel.rungs.offer import Offer
from actum.kernel.staging import NOTHING, Outcome, resolve_then, stage_all, write_of
from actum.model import foreign
from actum.model.decision import Condition, ConditionKind, JudgmentRecord, Rung, RungEntry, RungOutcome
from actum.model.errors import Refused
from actum.model.process import Choice
from actum.model.walk import FieldWrite, QuestionDraft, ResidualReason, Suggestion

ACT, DECLINE = "act", "decline"


class Judged(NamedTuple):
    """A person's answer, resolved: what it writes and stages, and the record of who gave it."""

    outcome: Outcome
    condition: Condition
    record: JudgmentRecord


def suggestion(rung: Rung, offer: Offer) -> Suggestion:
    """Return an offer as an inert suggestion."""
    return Suggestion(
        source=rung.value, id=offer.id, writes=offer.outcome.writes, stages=offer.outcome.stages
    )


def choices_of(choices: tuple[Choice, ...], suggestions: tuple[Suggestion, ...]) -> tuple[str, ...]:
    """Return the choices of a question (rule 2)."""
    if len(suggestions) > 1:
        acts = tuple(dict.fromkeys(f"{ACT}:{one.source}:{one.id}" for one in suggestions))
    else:
        acts = (ACT,) if suggestions or not choices else ()
    own = tuple(choice.id for choice in choices) or (DECLINE,)
    return acts + own


def packet_of(
    at: StepIndex,
    facts: Facts,
    *,
    reason: ResidualReason,
    detail: str,
    suggestions: tuple[Suggestion, ...],
    entries: tuple[RungEntry, ...],
) -> str:
    """Return the canonical JSON that a person is shown (rule 1)."""
    shown: dict[str, object] = {
        "process": at.process.name,
        "step": at.step.id,
        "kind": at.step.kind.value,
        "skill": at.step.skill,
        "reason": reason.value,
        "detail": detail,
        "work_type": facts.context.work_type,
        "status": facts.context.status,
        "subject": dict(facts.subject),
        "fields_missing": [why.detail for why in facts.missing_from(at.step.fields)],
        "choices": list(choices_of(at.step.choices, suggestions)),
        "suggestions": [
            {
                "rung": one.source,
                "id": one.id,
                "writes": {write.field: write.value() for write in one.writes},
                "stages": [
                    {"action": stage.action, "capability": stage.capability, "arguments": stage.arguments()}
                    for stage in one.stages
                ],
            }
            for one in suggestions
        ],
        "rungs": [
            {"rung": entry.rung.value, "outcome": entry.outcome.value, "reason": entry.reason}
            for entry in entries
        ],
    }
    return foreign.encode_foreign(shown).decode()


def judge(
    at: StepIndex,
    facts: Facts,
    *,
    question: QuestionDraft,
    choice: str,
    person: str,
    reason: str,
    now_ms: int,
    writes: Mapping[str, object],
) -> Judged | Refused:
    """Return what a person's choice comes to, or why it is no answer to this question."""
    if not person.strip():  # Rule 3
        return Refused(reason="person_unnamed", facts={"step": question.step_id})
    if choice not in question.choices:
        return Refused(
            reason="choice_unknown", facts={"choice": choice[:100], "choices": ", ".join(question.choices)}
        )
    given = _given(at, writes)
    if isinstance(given, Unusable):
        return Refused(reason=given.reason, facts={"detail": given.detail})
    # What the choice stages may read what the person wrote with it.
    facts = facts.with_writes({write.field: write.value() for write in given}) if given else facts
    chosen = _chosen(at, facts, question=question, choice=choice)
    if isinstance(chosen, Unusable):
        return Refused(reason=chosen.reason, facts={"detail": chosen.detail})
    outcome = _with_writes(at, facts, chosen=chosen, choice=choice, given=given)
    if isinstance(outcome, Unusable):
        return Refused(reason=outcome.reason, facts={"detail": outcome.detail})
    record = JudgmentRecord(  # Rule 4
        person=person.strip(),
        choice=choice,
        reason=reason,
        question_digest=question.digest(),
        judged_at_ms=now_ms,
    )
    return Judged(outcome, Condition(kind=ConditionKind.CHOICE, id=choice), record)


def won_by_person(entries: tuple[RungEntry, ...]) -> tuple[RungEntry, ...]:
    """Return the walk of a question with judgment as its winner."""
    return (*entries[:4], RungEntry(rung=Rung.JUDGMENT, ran=True, outcome=RungOutcome.WON))


def _chosen(at: StepIndex, facts: Facts, *, question: QuestionDraft, choice: str) -> Outcome | Unusable:
    own = next((one for one in at.step.choices if one.id == choice), None)
    if own is not None:
        return resolve_then(own.then, at=at, facts=facts)
    for one in question.suggestions:
        if choice in (ACT, f"{ACT}:{one.source}:{one.id}"):
            # As it was shown, not as it would be computed now.
            return Outcome(one.writes, one.stages)
    return NOTHING


def _given(at: StepIndex, writes: Mapping[str, object]) -> tuple[FieldWrite, ...] | Unusable:
    """Return what the person wrote, checked (rule 5)."""
    given: list[FieldWrite] = []
    for name, value in writes.items():
        if name not in at.fields:
            return Unusable("field_unknown", name)
        write = write_of(at.fields[name], value=value)
        if isinstance(write, Unusable):
            return write
        given.append(write)
    return tuple(given)


def _with_writes(
    at: StepIndex, facts: Facts, *, chosen: Outcome, choice: str, given: tuple[FieldWrite, ...]
) -> Outcome | Unusable:
    if not given:
        return chosen
    written = {write.field: write for write in (*chosen.writes, *given)}
    changed: tuple[FieldWrite, ...] = tuple(written[name] for name in sorted(written))
    if choice == DECLINE:
        return Outcome(changed, ())
    # Resolved again: where choice and person write the same field, the person's value is the one that counts.
    return stage_all(tuple(stage.action for stage in chosen.stages), writes=changed, at=at, facts=facts)


__all__ = [
    "ACT",
    "DECLINE",
    "Judged",
    "choices_of",
    "judge",
    "packet_of",
    "suggestion",
    "won_by_person",
]
