# SPDX-License-Identifier: Apache-2.0
"""What a walk found becomes rows, all of them in the caller's transaction.

Rules
1. Visits, decisions, proposals, effects, questions and outbox rows of a walk are written together.
2. A walk that somebody else overtook writes nothing.
3. A residual is a question or a visible failure; a refused proposal is a visible failure.
4. A turn that only decided leaves a subject.record row, so that it too ends on a receipt.
5. A step that staged something leaves a pending visit of the step after it: the turn is not over before that.
"""

from __future__ import annotations

from typing import Any

import msgspec

from actum.model import canonical, foreign
from actum.model.activity import FailureCategory
from actum.model.delivery import OutboxKind, OutboxRow
from actum.model.effect import Effect
from actum.model.errors import InvariantViolation, Refused
from actum.model.process import Step
from actum.model.proposal import Proposal, ProposalState
from actum.model.question import Question, QuestionReason, QuestionState
from actum.model.walk import Decided, NeedModel, Residual
from actum.model.work import StepState, StepVisit
from actum.ports.store import DecisionRow, EffectRow, QualificationRow, Tx
from actum.service import content, record
from actum.service.enqueue import add_effect_row, new_row
from actum.service.keys import Key, find_key
from actum.service.line import Line
from actum.service.stage import Staged
from actum.service.standing import ELSEWHERE, note, refresh
from actum.service.view import TurnView

TERMINAL = frozenset(
    {
        ProposalState.REFUSED,
        ProposalState.DECLINED,
        ProposalState.CANCELLED,
        ProposalState.SUPERSEDED,
        ProposalState.SETTLED,
    }
)


class Walked(msgspec.Struct, kw_only=True):
    """What one walk found, in order, before any of it is written."""

    decided: list[tuple[Step, Decided, dict[str, Any], list[Staged]]] = []
    residual: tuple[Step, Residual] | None = None
    need: tuple[Step, NeedModel] | None = None
    refused: tuple[Step, Refused] | None = None
    elsewhere: tuple[Step, str] | None = None
    """The step that is left to the program which registers that capability."""
    ended: bool = False
    base: frozenset[tuple[str, StepState]] = frozenset()


def write_walk(line: Line, tx: Tx, view: TurnView, walked: Walked, *, title: str | None = None) -> bool:
    """Write a walk in one transaction; False where the turn moved on meanwhile (rule 4)."""
    turn_id = view.turn.turn_id
    # What has its title given only now is new: this transaction wrote it, and nobody can have overtaken it.
    visits = [] if title is not None else tx.visits(turn_id)
    if frozenset((visit.step_id, visit.state) for visit in visits) != walked.base:
        return False
    known = {visit.step_id for visit in visits}
    for step, decided, subject, staged in walked.decided:
        state = StepState.DONE if not staged else _state_of(staged)
        _put_visit(tx, view, step, state=state, known=known)
        if decided.decision.subject_digest != view.item.subject_digest:
            content.keep_json(line, tx, subject)  # Replay needs the subject as it was decided upon.
        decision_digest = _write_decision(tx, view, step, decided)
        for one in staged:
            write_staged(line, tx, view, one, decision_digest=decision_digest)
    if walked.decided and walked.decided[-1][3]:
        _announce_next(tx, view, walked.decided[-1][0], known=known)
    if walked.residual is not None:
        _write_residual(line, tx, view, *walked.residual, known=known)
    if walked.need is not None:
        _write_need(line, tx, view, *walked.need, known=known)
    if walked.refused is not None:
        step, refused = walked.refused
        _put_visit(tx, view, step, state=StepState.FAILED, known=known)
        failed(line, tx, turn_id, category=FailureCategory.ROUTING, reason=refused.reason)
    if walked.elsewhere is not None:
        step, capability = walked.elsewhere
        _put_visit(tx, view, step, state=StepState.PENDING, known=known)
        note(line, tx, ELSEWHERE, turn_id=turn_id, body={"step_id": step.id, "capability": capability})
    if walked.ended:
        write_end(line, tx, turn_id)
    refresh(tx, turn_id, now_ms=line.now(), title=title)
    return True


def _state_of(staged: list[Staged]) -> StepState:
    # Rule 5: a refused proposal fails its step, because nothing else would show it.
    return StepState.FAILED if any(one.refused is not None for one in staged) else StepState.PENDING


def _put_visit(tx: Tx, view: TurnView, step: Step, *, state: StepState, known: set[str]) -> None:
    if step.id in known:
        tx.set_visit(view.turn.turn_id, step.id, state=state)
    else:
        tx.add_visit(StepVisit(turn_id=view.turn.turn_id, step_id=step.id, position=len(known), state=state))
        known.add(step.id)


def _announce_next(tx: Tx, view: TurnView, step: Step, *, known: set[str]) -> None:
    # Rule 5: without the visit a turn whose effects are seen would look as if nothing were left to do.
    after = view.process.step(view.process.step_after(step.id) or "")
    if after is not None and after.id not in known:
        _put_visit(tx, view, after, state=StepState.PENDING, known=known)


def _write_decision(tx: Tx, view: TurnView, step: Step, decided: Decided) -> str:
    decision = decided.decision
    if decided.writes:
        writes = msgspec.json.encode(decided.writes)
        visit = next(found for found in tx.visits(view.turn.turn_id) if found.step_id == step.id)
        tx.set_visit(view.turn.turn_id, step.id, state=visit.state, writes=writes)
    body = canonical.encode(decision)
    digest = canonical.digest_bytes(body)
    tx.add_decision(
        DecisionRow(
            digest=digest,
            tenant=tx.tenant,
            turn_id=view.turn.turn_id,
            step_id=step.id,
            rung=decision.rung.value,
            input_tokens=decision.tokens.input if decision.rung.value == "reasoning" else 0,
            output_tokens=decision.tokens.output if decision.rung.value == "reasoning" else 0,
            decided_at_ms=decision.decided_at_ms,
            body=body,
        )
    )
    return digest


def write_staged(line: Line, tx: Tx, view: TurnView, one: Staged, *, decision_digest: str) -> None:
    """Write one staged action: proposal, effect, and the question or row that follows."""
    key = _key_of(tx, one)
    existing = None if key is None else key.bound
    state, refusal = ProposalState.STAGED, None
    if one.refused is not None:
        state, refusal = ProposalState.REFUSED, one.refused.reason
    elif one.repeats is not None:
        state, refusal = ProposalState.SUPERSEDED, f"duplicate_of:{one.repeats}"
    elif existing is not None:
        # Rule 4 of staging: the first receipt answers, or the conflict is shown.
        same = existing[0] == one.intent
        state = ProposalState.SUPERSEDED if same else ProposalState.REFUSED
        refusal = f"duplicate_of:{existing[1]}" if same else "idempotency_conflict"
    arguments = foreign.encode_foreign(one.stage.arguments())
    tx.add_proposal(
        Proposal(
            proposed_action_id=one.proposed_action_id,
            tenant=tx.tenant,
            turn_id=view.turn.turn_id,
            step_id=one.step_id,
            decision_digest=decision_digest,
            capability=one.stage.capability,
            arguments_digest=content.keep(line, tx, arguments),
            effect_digest=one.effect.effect_digest if one.effect is not None else None,
            state=state,
            refusal=refusal,
            proposed_at_ms=line.now(),
        )
    )
    if one.effect is not None:
        _write_effect(tx, one, one.effect)
    if state is ProposalState.REFUSED:
        tx.set_visit(view.turn.turn_id, one.step_id, state=StepState.FAILED)
        category = (
            FailureCategory.SETUP if refusal == "capability_unknown" else FailureCategory.NATIVE_EXECUTION
        )
        failed(line, tx, view.turn.turn_id, category=category, reason=f"{one.stage.capability}: {refusal}")
    elif state is ProposalState.SUPERSEDED:
        step_settled(tx, view.turn.turn_id, one.step_id)
    elif one.alone:
        add_row(line, tx, view.turn.turn_id, one, bind=key)
    else:
        _ask_confirm(line, tx, view, one)


def _key_of(tx: Tx, one: Staged) -> Key | None:
    if one.effect is None:
        return None
    descriptor = one.effect.descriptor
    return find_key(tx, descriptor.capability, descriptor.idempotency_key)


def _write_effect(tx: Tx, one: Staged, sealed: Effect) -> None:
    tx.add_effect(
        EffectRow(
            effect_digest=sealed.effect_digest,
            tenant=tx.tenant,
            proposed_action_id=one.proposed_action_id,
            salt=sealed.salt,
            descriptor=sealed.descriptor,
            arguments=one.arguments,
            shown=one.shown,
            context=one.context,
        )
    )
    if one.qualification is not None:
        tx.add_qualification(
            QualificationRow(
                digest=one.qualification.digest(),
                tenant=tx.tenant,
                effect_digest=sealed.effect_digest,
                result=one.qualification.result.value,
                body=msgspec.json.encode(one.qualification),
                recorded_at_ms=one.qualification.recorded_at_ms,
            )
        )


def add_row(line: Line, tx: Tx, turn_id: str, one: Staged, *, bind: Key | None) -> OutboxRow:
    """Write the outbox row of a staged effect that needs no grant, and bind its idempotency key to it."""
    if one.effect is None:
        raise InvariantViolation("only a sealed effect gets a row")
    return add_effect_row(
        line, tx, one.effect, turn_id=turn_id, step_id=one.step_id, intent=one.intent, grant_id=None,
        bind=bind,
    )  # fmt: skip


def _ask_confirm(line: Line, tx: Tx, view: TurnView, one: Staged) -> None:
    effect = one.effect
    if effect is None:
        raise InvariantViolation("only a sealed effect is asked about")
    ask(
        line, tx, turn_id=view.turn.turn_id, step_id=one.step_id, reason=QuestionReason.CONFIRM,
        subject_ref=effect.effect_digest, shown=one.shown, first=True,
    )  # fmt: skip


def ask(
    line: Line,
    tx: Tx,
    *,
    turn_id: str,
    step_id: str | None,
    reason: QuestionReason,
    subject_ref: str,
    shown: bytes,
    first: bool = False,
) -> Question:
    """Put a question to the human queue; asking again about the same thing returns the open one.

    ``first`` says that nobody can have asked before, because this transaction wrote what is asked about.
    """
    found = None if first else tx.open_question(reason=reason, subject_ref=subject_ref)
    if found is not None:
        return found
    now = line.now()
    question = Question(
        question_id=line.ids.ulid(now),
        tenant=tx.tenant,
        turn_id=turn_id,
        step_id=step_id,
        reason=reason,
        subject_ref=subject_ref,
        shown_digest=content.keep(line, tx, shown),
        state=QuestionState.OPEN,
        asked_at_ms=now,
    )
    tx.add_question(question)
    return question


def _write_residual(
    line: Line, tx: Tx, view: TurnView, step: Step, residual: Residual, *, known: set[str]
) -> None:
    turn_id = view.turn.turn_id
    if residual.question is not None:
        _put_visit(tx, view, step, state=StepState.PENDING, known=known)
        ask(
            line, tx, turn_id=turn_id, step_id=step.id, reason=QuestionReason.JUDGMENT,
            subject_ref=f"{turn_id}/{step.id}", shown=canonical.encode(residual.question),
        )  # fmt: skip
        return
    _put_visit(tx, view, step, state=StepState.FAILED, known=known)
    failed(line, tx, turn_id, category=FailureCategory.ROUTING, reason=residual.reason.value)


def _write_need(line: Line, tx: Tx, view: TurnView, step: Step, need: NeedModel, *, known: set[str]) -> None:
    turn_id = view.turn.turn_id
    _put_visit(tx, view, step, state=StepState.RESERVED, known=known)
    tx.add_outbox(
        new_row(
            line,
            tx,
            kind=OutboxKind.MODEL_CALL,
            turn_id=turn_id,
            step_id=step.id,
            capability=f"model.{need.contract.tier.value}",
            body_digest=content.keep(line, tx, msgspec.json.encode(need)),
        )
    )


def failed(line: Line, tx: Tx, turn_id: str, *, category: FailureCategory, reason: str) -> None:
    """Record why a step failed; the activity row takes category and reason from here."""
    line.event(tx, "step.failed", turn_id=turn_id, body={"category": category.value, "reason": reason})


def step_settled(tx: Tx, turn_id: str, step_id: str) -> bool:
    """Mark a step done once none of its proposals is open; True where it now is (rule 2)."""
    proposals = [found for found in tx.proposals(turn_id) if found.step_id == step_id]
    if any(found.state not in TERMINAL for found in proposals):
        return False
    if any(found.state is ProposalState.REFUSED for found in proposals):
        return False
    tx.set_visit(turn_id, step_id, state=StepState.DONE)
    return True


def write_end(line: Line, tx: Tx, turn_id: str) -> None:
    """Give a turn that ended without any effect its subject.record row (rule 6)."""
    effects = [row for row in tx.outbox_of_turn(turn_id) if row.kind is OutboxKind.EFFECT]
    if tx.receipts(turn_id) or effects or not tx.decisions(turn_id):
        return
    staged, effect = record.stage_record(line, tx, turn_id)
    tx.add_proposal(
        Proposal(
            proposed_action_id=staged.proposed_action_id,
            tenant=tx.tenant,
            turn_id=turn_id,
            step_id=staged.step_id,
            decision_digest=tx.decisions(turn_id)[-1].digest,
            capability=record.CAPABILITY,
            arguments_digest=content.keep(line, tx, staged.arguments),
            effect_digest=effect.effect_digest,
            state=ProposalState.GRANTED,
            refusal=None,
            proposed_at_ms=line.now(),
        )
    )
    _write_effect(tx, staged, effect)
    add_row(line, tx, turn_id, staged, bind=_key_of(tx, staged))
