# SPDX-License-Identifier: Apache-2.0
"""A walk ends in one record: a decision, or a residual that is a question or a visible failure.

Rules
1. Every record carries one entry for each rung; a rung that did not run says whether it was not reached or
   not allowed at this kind of step.
2. A residual of a plumbing step that says ``residual: fail`` is a failure; money_legal goes to a person all
   the same, because it is no uncertainty but a reserved decision.
3. What a rung would have done travels with a question as an inert suggestion, never as a stage.
"""

from __future__ import annotations

import msgspec

from actum.kernel.facts import Facts
from actum.kernel.index import RulebookIndex, StepIndex
from actum.kernel.rungs import judgment
from actum.kernel.rungs.offer import Offer, RungAnswer
from actum.kernel.staging import Outcome
from actum.model import canonical
from actum.model.decision import (
    RUNGS,
    Condition,
    Decision,
    JudgmentRecord,
    ModelCall,
    Rung,
    RungEntry,
    RungOutcome,
    StagedAction,
    Tokens,
    WrittenField,
)
from actum.model.process import ResidualPolicy, StepKind
from actum.model.walk import Decided, FailureDraft, QuestionDraft, Residual, ResidualReason, Suggestion

NOT_REACHED = {rung: RungEntry(rung=rung, ran=False, outcome=RungOutcome.NOT_REACHED) for rung in RUNGS}
_NOT_ALLOWED = {
    kind: RungEntry(
        rung=Rung.REASONING,
        ran=False,
        outcome=RungOutcome.NOT_ALLOWED,
        reason=f"a {kind.value} step has no model",
    )
    for kind in (StepKind.PLUMBING, StepKind.JUDGMENT)
}
# The entries below each winning rung, built once because most decisions end high up.
_TAILS = {
    (kind, rung): tuple(
        _NOT_ALLOWED[kind] if below is Rung.REASONING and kind in _NOT_ALLOWED else NOT_REACHED[below]
        for below in RUNGS[position + 1 :]
    )
    for position, rung in enumerate(RUNGS)
    for kind in StepKind
}


class Bound(msgspec.Struct, frozen=True):
    """What stays the same during one walk."""

    at: StepIndex
    facts: Facts
    rules: RulebookIndex
    subject_digest: str


class Spent(msgspec.Struct, frozen=True):
    """What a model call of this visit cost and where it is kept."""

    tokens: Tokens
    call: ModelCall | None


NOTHING_SPENT = Spent(Tokens(), None)


def residual_of(
    bound: Bound, answers: tuple[RungAnswer, ...], *, reason: ResidualReason, detail: str, spent: Spent
) -> Residual:
    """Return the question, or the visible failure, that an undecided walk leaves."""
    at, facts = bound.at, bound.facts
    entries = _complete(answers, at.step.kind)
    suggestions = _suggestions(answers)
    packet = judgment.packet_of(
        at, facts, reason=reason, detail=detail, suggestions=suggestions, entries=entries
    )
    fails = at.step.kind is StepKind.PLUMBING and at.step.residual is ResidualPolicy.FAIL
    if fails and reason is not ResidualReason.MONEY_LEGAL:  # Rule 2
        failure = FailureDraft(
            turn_id=facts.context.turn_id,
            process=at.process.name,
            step_id=at.step.id,
            reason=reason,
            detail=detail,
            rungs=entries,
            failed_at_ms=facts.context.now_ms,
        )
        return Residual(reason=reason, packet_json=packet, question=None, failure=failure)
    question = QuestionDraft(
        turn_id=facts.context.turn_id,
        process=at.process.name,
        step_id=at.step.id,
        kind=at.step.kind,
        reason=reason,
        detail=detail,
        choices=judgment.choices_of(at.step.choices, suggestions),
        suggestions=suggestions,
        packet_json=packet,
        subject_digest=bound.subject_digest,
        rulebook_digest=bound.rules.rulebook_digest,
        work_type=facts.context.work_type,
        status=facts.context.status,
        rungs=entries,
        tokens=spent.tokens,
        model_call=spent.call,
        asked_at_ms=facts.context.now_ms,
    )
    return Residual(reason=reason, packet_json=packet, question=question, failure=None)


def _suggestions(answers: tuple[RungAnswer, ...]) -> tuple[Suggestion, ...]:
    # Rule 3
    return tuple(
        judgment.suggestion(answer.entry.rung, offer)
        for answer in answers
        for offer in answer.offers
        if offer.outcome.writes or offer.outcome.stages
    )


def _complete(answers: tuple[RungAnswer, ...], kind: StepKind) -> tuple[RungEntry, ...]:
    # Rule 1
    return (*[answer.entry for answer in answers], *_TAILS[(kind, answers[-1].entry.rung)])


def decided_by(
    bound: Bound, answers: tuple[RungAnswer, ...], offer: Offer, *, spent: Spent = NOTHING_SPENT
) -> Decided:
    """Return the decision that the last rung of a walk takes by its one offer."""
    return record_of(
        bound,
        rung=answers[-1].entry.rung,
        condition=offer.condition,
        outcome=offer.outcome,
        withheld=offer.withheld,
        entries=_complete(answers, bound.at.step.kind),
        spent=spent,
    )


def record_of(
    bound: Bound,
    *,
    rung: Rung,
    condition: Condition,
    outcome: Outcome,
    withheld: tuple[str, ...],
    entries: tuple[RungEntry, ...],
    spent: Spent,
    judged: JudgmentRecord | None = None,
) -> Decided:
    """Return the decision with its digests; the record itself refuses a label that did not run."""
    at, context = bound.at, bound.facts.context
    decision = Decision(
        turn_id=context.turn_id,
        process=at.process.name,
        step_id=at.step.id,
        kind=at.step.kind,
        rung=rung,
        condition=condition,
        writes=tuple([_written(write.field, write.value_json) for write in outcome.writes]),
        staged=tuple(
            [
                StagedAction(
                    action=stage.action,
                    capability=stage.capability,
                    effect_class=stage.effect_class,
                    arguments_digest=stage.arguments_digest(),
                )
                for stage in outcome.stages
            ]
        ),
        withheld=withheld,
        rungs=entries,
        tokens=spent.tokens,
        model_call=spent.call,
        judgment=judged,
        rulebook_digest=bound.rules.rulebook_digest,
        subject_digest=bound.subject_digest,
        work_type=context.work_type,
        status=context.status,
        decided_at_ms=context.now_ms,
        semantics=bound.rules.semantics,
    )
    return Decided(decision=decision, writes=outcome.writes, stages=outcome.stages)


def _written(field: str, value_json: str) -> WrittenField:
    return WrittenField(field=field, value_digest=canonical.digest_bytes(value_json.encode()))
