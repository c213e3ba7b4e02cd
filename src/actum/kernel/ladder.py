# SPDX-License-Identifier: Apache-2.0
"""Every piece of work descends the ladder: five rungs, one order, one winner, and the label is what ran.

Rules
1. The order is structured, pattern, learned, reasoning, judgment; the first rung that can decide decides.
2. A plumbing step uses the deterministic rungs only. It is never given a model, and a model's reply offered
   for it is refused; nothing turns it into another kind at run time.
3. A reasoning step asks for a model only after the deterministic rungs left a residual, and only by
   returning what is needed: the kernel calls nothing. A reply stages at most; nothing here executes.
4. At a judgment step the deterministic rungs fill the packet, and only a person decides.
5. Two hits on one rung decide nothing: the residual names both and no lower rung breaks the tie but a person.
6. A THEN that writes a money_legal field or stages a money_legal action never wins without a person.
7. The clock is ``context.now_ms``. Nothing else is read, so the same inputs give the same bytes.

What a walk leaves (decision, question or visible failure) is written in `actum.kernel.walk_record`.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actum.kernel.facts import Facts
from actum.kernel.index import RulebookIndex, StepIndex
from actum.kernel.rungs import judgment, learned, pattern, reasoning, structured
from actum.kernel.rungs.offer import RungAnswer
from actum.kernel.walk_record import (
    NOT_REACHED,
    NOTHING_SPENT,
    Bound,
    Spent,
    decided_by,
    record_of,
    residual_of,
)
from actum.model import foreign
from actum.model.decision import (
    ModelCall,
    Rung,
    RungEntry,
    RungOutcome,
    Tokens,
)
from actum.model.errors import InvariantViolation, Refused
from actum.model.process import Step, StepKind
from actum.model.walk import (
    Decided,
    LadderContext,
    ModelReply,
    NeedModel,
    QuestionDraft,
    Residual,
    ResidualReason,
)

_DETERMINISTIC = (Rung.STRUCTURED, Rung.PATTERN, Rung.LEARNED)


class _Walk(msgspec.Struct, frozen=True):
    """One pass over the deterministic rungs."""

    answers: tuple[RungAnswer, ...]
    reason: ResidualReason | None
    detail: str


def may_call_model(step: Step) -> Refused | None:
    """Return why a step may not reach a model, or None; the shell asks this before any call (rule 2)."""
    if step.kind is StepKind.REASONING:
        return None
    return Refused(
        reason="step_has_no_model", facts={"process": step.process, "step": step.id, "kind": step.kind.value}
    )


def decide(
    step: Step,
    *,
    subject: Mapping[str, object],
    context: LadderContext,
    index: RulebookIndex,
    model_reply: ModelReply | None = None,
    subject_digest: str | None = None,
) -> Decided | Residual | NeedModel | Refused:
    """Walk one step for one subject.

    ``subject`` is a foreign JSON object; ``subject_digest`` spares computing it again. Returns a decision, a
    residual (question or failure), the need for a model, or a refusal of a reply the step may not have.
    """
    at = _step_index(index, step)
    if model_reply is not None and (refused := may_call_model(step)) is not None:  # Rule 2
        return refused
    facts = Facts(subject, readers=at.readers, context=context)
    bound = Bound(at, facts, index, subject_digest or foreign.digest_foreign(subject))
    if step.kind is StepKind.JUDGMENT:  # Rule 4
        return _ask_at_judgment(bound)
    walk = _descend(at, facts, index)
    last = walk.answers[-1]
    if walk.reason is None and last.entry.outcome is RungOutcome.WON:
        return decided_by(bound, walk.answers, last.offers[0])
    if walk.reason is not None or step.kind is StepKind.PLUMBING:
        reason = walk.reason or ResidualReason.NO_RUNG_DECIDED
        return residual_of(bound, walk.answers, reason=reason, detail=walk.detail, spent=NOTHING_SPENT)
    asked = reasoning.need_model(at, facts, entries=tuple(answer.entry for answer in walk.answers))  # Rule 3
    if model_reply is None:
        return asked
    return _after_reply(bound, walk, asked, model_reply)


def decide_by_person(
    step: Step,
    *,
    subject: Mapping[str, object],
    question: QuestionDraft,
    choice: str,
    person: str,
    reason: str,
    now_ms: int,
    index: RulebookIndex,
    writes: Mapping[str, object] | None = None,
) -> Decided | Refused:
    """Decide a step by a named person's choice of a question's choices.

    ``writes`` are foreign values the person gives for declared fields. Refusals: question_of_another_step,
    subject_changed, rulebook_changed, person_unnamed, choice_unknown, and the reasons of a value that does
    not fit. The shell must have established who the person is; a name in a request body is not that.
    """
    at = _step_index(index, step)
    if (question.process, question.step_id) != (step.process, step.id):
        return Refused(reason="question_of_another_step", facts={"step": step.id, "asked": question.step_id})
    subject_digest = foreign.digest_foreign(subject)
    if subject_digest != question.subject_digest:
        return Refused(reason="subject_changed", facts={"step": step.id})
    if index.rulebook_digest != question.rulebook_digest:
        return Refused(reason="rulebook_changed", facts={"step": step.id})
    context = LadderContext(
        turn_id=question.turn_id, now_ms=now_ms, work_type=question.work_type, status=question.status
    )
    facts = Facts(subject, readers=at.readers, context=context)
    judged = judgment.judge(
        at, facts, question=question, choice=choice, person=person, reason=reason, now_ms=now_ms,
        writes=writes or {},
    )  # fmt: skip
    if isinstance(judged, Refused):
        return judged
    return record_of(
        Bound(at, facts, index, subject_digest),
        rung=Rung.JUDGMENT,
        condition=judged.condition,
        outcome=judged.outcome,
        withheld=(),
        entries=judgment.won_by_person(question.rungs),
        spent=Spent(question.tokens, question.model_call),
        judged=judged.record,
    )


def _step_index(index: RulebookIndex, step: Step) -> StepIndex:
    at = index.steps.get((step.process, step.id))
    # A step of another rulebook with the same name may have another kind: its rungs would be other ones.
    if at is None or (at.step is not step and at.step != step):
        raise InvariantViolation("a step belongs to the rulebook that decides it", step=step.id)
    return at


def _ask(rung: Rung, at: StepIndex, facts: Facts, index: RulebookIndex) -> RungAnswer:
    if rung is Rung.STRUCTURED:
        return structured.answer(at, facts)
    if rung is Rung.PATTERN:
        return pattern.answer(at, facts)
    return learned.answer(index.learned)


def _descend(at: StepIndex, facts: Facts, index: RulebookIndex) -> _Walk:
    answers: list[RungAnswer] = []
    for rung in _DETERMINISTIC:  # Rule 1
        answer = _ask(rung, at, facts, index)
        answers.append(answer)
        outcome = answer.entry.outcome
        if outcome is RungOutcome.WON:
            return _Walk(tuple(answers), None, "")
        if outcome is RungOutcome.CONFLICT:  # Rule 5
            detail = f"{rung.value}: {', '.join(answer.entry.hits)}"
            return _Walk(tuple(answers), ResidualReason.CONFLICT, detail)
        if outcome is RungOutcome.NEEDS_PERSON:  # Rule 6
            return _Walk(tuple(answers), ResidualReason.MONEY_LEGAL, f"{rung.value}: {answer.offers[0].id}")
        if outcome is RungOutcome.UNRESOLVED:
            return _Walk(tuple(answers), ResidualReason.VALUE_UNRESOLVED, answer.entry.reason)
    return _Walk(tuple(answers), None, answers[0].entry.reason)


def _after_reply(bound: Bound, walk: _Walk, asked: NeedModel, reply: ModelReply) -> Decided | Residual:
    verdict = reasoning.judge_reply(bound.at, bound.facts, asked=asked, reply=reply)
    answers = (*walk.answers, verdict.answer)
    spent = _spent(reply)
    if verdict.reason is not None:
        return residual_of(bound, answers, reason=verdict.reason, detail=verdict.detail, spent=spent)
    return decided_by(bound, answers, verdict.answer.offers[0], spent=spent)


def _spent(reply: ModelReply) -> Spent:
    said = reply.answer or reply.fault
    assert said is not None
    tokens = Tokens(input=said.input_tokens or 0, output=said.output_tokens or 0)
    call = ModelCall(packet_digest=reply.packet_digest, answer_digest=reply.digest(), model=said.model_id)
    return Spent(tokens, call)


def _ask_at_judgment(bound: Bound) -> Residual:
    answers: list[RungAnswer] = []
    for rung in (Rung.STRUCTURED, Rung.PATTERN):
        answer = _ask(rung, bound.at, bound.facts, bound.rules)
        shown = RungOutcome.SHOWN if answer.offers else answer.entry.outcome
        answers.append(RungAnswer(_with_outcome(answer.entry, shown), answer.offers))
    # A learned rule is shown only after the person chose, so that it cannot lead the choice it learns from.
    answers.append(RungAnswer(NOT_REACHED[Rung.LEARNED], ()))
    return residual_of(
        bound, tuple(answers), reason=ResidualReason.JUDGMENT_STEP, detail="", spent=NOTHING_SPENT
    )


def _with_outcome(entry: RungEntry, outcome: RungOutcome) -> RungEntry:
    return RungEntry(
        rung=entry.rung,
        ran=entry.ran,
        outcome=outcome,
        reason=entry.reason,
        hits=entry.hits,
        skipped=entry.skipped,
        considered=entry.considered,
    )
