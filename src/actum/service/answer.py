# SPDX-License-Identifier: Apache-2.0
"""A person's answer moves what waits: one gesture behind confirm and refuse (`actum.service.judge` has the third).

Rules
1. Only a named person with the role answers; agents, models and tools never hold it.
2. A confirm is a signed grant for one exact digest, written in one transaction with the outbox row.
3. Money and legal effects are confirmed one at a time, by neither the submitter nor the one acted for.
4. The first answer counts: a second one is told what happened and changes nothing.
5. A refused proposal is settled without being attempted, and sealed as such.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from actum.evidence.keys import Signer
from actum.kernel.may_execute import may_confirm
from actum.model.activity import FailureCategory
from actum.model.delivery import OutboxRow, OutboxState
from actum.model.effect import Effect, EffectClass, EffectDescriptor, intent_digest, needs_qualification
from actum.model.errors import InvariantViolation, RefusedError
from actum.model.evidence import QualificationResult
from actum.model.grant import Authn, Grant, GrantPurpose
from actum.model.proposal import Proposal, ProposalState
from actum.model.question import Question, QuestionReason, QuestionState
from actum.model.work import StepState, WorkItem
from actum.ports.store import EffectOrigin, QualificationRow, Tx
from actum.service.enqueue import add_effect_row
from actum.service.keys import find_key
from actum.service.line import Line
from actum.service.points import commit
from actum.service.rows import failed, step_settled
from actum.service.seal import seal_grant
from actum.service.standing import refresh, set_confirmed
from actum.service.view import unknown

CONFIRM_MS = 24 * 3600 * 1000
CONFIRM_MONEY_MS = 3600 * 1000
NOT_PERSONS = ("agent:", "model:", "tool:")


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """Who answers, and with what key: their own, or None for a session that the kernel's key vouches for."""

    name: str
    signer: Signer | None = None


def require_role(tx: Tx, person: str, *, role: str) -> None:
    """Raise RefusedError unless this is a person with the role (rule 1)."""
    if person.startswith(NOT_PERSONS) or role not in tx.roles(person):
        raise RefusedError(
            "not_a_person" if person.startswith(NOT_PERSONS) else "role_missing",
            failed=f"{person} may not answer this: it needs a person with the role {role}",
            state="The question is still open",
            next_step="Let somebody with the role answer, or have an operator give the role",
            person=person,
            role=role,
        )


def confirm(
    line: Line,
    question_ids: Sequence[str],
    *,
    person: Person,
    accept_unqualified: bool = False,
    shown_digest: str | Mapping[str, str] | None = None,
) -> list[str]:
    """Confirm exact effects; return the outbox id of each. All of them, or none.

    ``shown_digest`` is the digest of what was displayed to the person, or one for each question id.
    """

    def work(tx: Tx) -> list[OutboxRow | str]:
        require_role(tx, person.name, role="approver")
        loaded = [open_question(tx, question_id, QuestionReason.CONFIRM) for question_id in question_ids]
        origins = [_origin_of(tx, question) for question in loaded]
        _refuse_many_money(origins)
        return [
            _confirm(
                line,
                tx,
                question,
                origin,
                person=person,
                accepts=accept_unqualified,
                shown_digest=_shown(shown_digest, question),
            )
            for question, origin in zip(loaded, origins, strict=True)
        ]

    given: list[OutboxRow] = []
    try:
        confirmed = commit(line, "confirm", lambda tx: _handed(line, work(tx), given))
        # Only now: a row of a commit that failed must not be taken for one that is ours.
        line.claimed.extend(given)
    finally:
        line.handed.difference_update([row.outbox_id for row in given])
    return [row.outbox_id if isinstance(row, OutboxRow) else row for row in confirmed]


def _handed(line: Line, confirmed: list[OutboxRow | str], given: list[OutboxRow]) -> list[OutboxRow | str]:
    """Name the rows that are claimed for this runner before anybody can see them, so that none looks left behind."""
    given[:] = [row for row in confirmed if isinstance(row, OutboxRow) and row.state is OutboxState.CLAIMED]
    line.handed.update([row.outbox_id for row in given])
    return confirmed


def _shown(given: str | Mapping[str, str] | None, question: Question) -> str | None:
    return given.get(question.question_id, "") if isinstance(given, Mapping) else given


def _confirm(
    line: Line,
    tx: Tx,
    question: Question,
    origin: EffectOrigin,
    *,
    person: Person,
    accepts: bool,
    shown_digest: str | None,
) -> OutboxRow | str:
    effect, proposal, item = origin.effect.sealed(), origin.proposal, origin.item
    descriptor = effect.descriptor
    _check_person(descriptor, person=person, item=item)
    _check_shown(question, shown_digest)
    qualification = tx.qualification(effect.effect_digest) if needs_qualification(descriptor) else None
    _check_qualified(descriptor, qualification, accepts=accepts)
    now = line.now()
    answer_question(tx, question, by=person.name, answer="confirmed", now_ms=now)
    intent = intent_digest(descriptor, principal=item.principal)
    key = find_key(tx, descriptor.capability, descriptor.idempotency_key)
    if key.bound is not None:
        return _confirmed_twice(line, tx, proposal, bound=key.bound, intent=intent)
    # Rule 2
    grant = _confirm_grant(line, question, effect, person=person, item=item, now_ms=now)
    if qualification is not None:
        grant = msgspec.structs.replace(
            grant, qualification_digest=qualification.digest, accepts_unqualified=accepts
        )
    seal_grant(line, tx, grant, signer=person.signer, chain=question.turn_id)
    outbox = add_effect_row(
        line, tx, effect, turn_id=question.turn_id, step_id=proposal.step_id, intent=intent,
        grant_id=grant.grant_id, bind=key, claim=True,
    )  # fmt: skip
    tx.set_proposal(proposal.proposed_action_id, state=ProposalState.GRANTED)
    set_confirmed(tx, question.turn_id, now_ms=now)
    return outbox


def _check_person(descriptor: EffectDescriptor, *, person: Person, item: WorkItem) -> None:
    # Rule 3
    if not may_confirm(
        descriptor.effect_class,
        person=person.name,
        submitter=item.principal,
        on_behalf_of=item.on_behalf_of,
    ):
        raise RefusedError(
            "confirm_not_independent",
            failed=f"{person.name} submitted this or is acted for, and it is about money or law",
            state="The question is still open",
            next_step="Let somebody else confirm it",
        )


def _check_shown(question: Question, shown_digest: str | None) -> None:
    if shown_digest is not None and shown_digest != question.shown_digest:
        raise RefusedError(
            "shown_other",
            failed="what you were shown is not what this question asks now",
            state="The question is still open",
            next_step="Look at it again with `actum show`, then confirm",
        )


def _check_qualified(
    descriptor: EffectDescriptor, qualification: QualificationRow | None, *, accepts: bool
) -> None:
    if not needs_qualification(descriptor):
        return
    result = None if qualification is None else qualification.result
    if result == QualificationResult.PASSED.value:
        return
    if result == QualificationResult.NOT_POSSIBLE.value and accepts:
        return
    raise RefusedError(
        "not_qualified",
        failed="this effect could not be rehearsed in isolation, and the confirm does not accept that",
        state="The question is still open",
        next_step="Look at the reason with `actum show`; to accept it, confirm with --accept-unqualified",
    )


def _confirm_grant(
    line: Line, question: Question, effect: Effect, *, person: Person, item: WorkItem, now_ms: int
) -> Grant:
    money = effect.descriptor.effect_class is EffectClass.MONEY_LEGAL
    return Grant(
        grant_id=line.ids.ulid(now_ms),
        purpose=GrantPurpose.CONFIRM,
        incarnation=line.incarnation,
        tenant=item.tenant,
        principal=person.name,
        authn=Authn.SESSION if person.signer is None else Authn.PASSPHRASE,
        subject_digest=effect.effect_digest,
        qualification_digest=None,
        shown_digest=question.shown_digest,
        task=item.work_item_id,
        issued_at_ms=now_ms,
        expires_at_ms=now_ms + (CONFIRM_MONEY_MS if money else CONFIRM_MS),
        nonce=line.ids.salt(),
        accepts_unqualified=False,
    )


def _confirmed_twice(line: Line, tx: Tx, proposal: Proposal, *, bound: tuple[str, str], intent: str) -> str:
    same = bound[0] == intent
    tx.set_proposal(
        proposal.proposed_action_id,
        state=ProposalState.SUPERSEDED if same else ProposalState.REFUSED,
        refusal=f"duplicate_of:{bound[1]}" if same else "idempotency_conflict",
    )
    if same:
        step_settled(tx, proposal.turn_id, proposal.step_id)
    else:
        tx.set_visit(proposal.turn_id, proposal.step_id, state=StepState.FAILED)
        failed(
            line,
            tx,
            proposal.turn_id,
            category=FailureCategory.NATIVE_EXECUTION,
            reason="idempotency_conflict",
        )
    refresh(tx, proposal.turn_id, now_ms=line.now())
    return bound[1]


def refuse(line: Line, question_ids: Sequence[str], *, person: Person, reason: str = "") -> list[str]:
    """Refuse proposed effects; return the outbox ids of the rows that say so. They are sealed by the next run."""

    def work(tx: Tx) -> list[str]:
        require_role(tx, person.name, role="approver")
        return [
            _refuse(
                line, tx, open_question(tx, question_id, QuestionReason.CONFIRM), person=person, reason=reason
            )
            for question_id in question_ids
        ]

    return commit(line, "refuse", work)


def _refuse(line: Line, tx: Tx, question: Question, *, person: Person, reason: str) -> str:
    origin = _origin_of(tx, question)
    effect, proposal = origin.effect.sealed(), origin.proposal
    answer_question(
        tx, question, by=person.name, answer=f"refused: {reason}" if reason else "refused", now_ms=line.now()
    )
    # Rule 5: the row is settled from the start, so nothing can claim it; the next run seals it.
    outbox = add_effect_row(
        line, tx, effect, turn_id=question.turn_id, step_id=proposal.step_id,
        intent=intent_digest(effect.descriptor, principal=origin.item.principal), grant_id=None, bind=None,
    )  # fmt: skip
    tx.set_proposal(proposal.proposed_action_id, state=ProposalState.DECLINED, refusal=reason or None)
    step_settled(tx, question.turn_id, proposal.step_id)
    refresh(tx, question.turn_id, now_ms=line.now())
    return outbox.outbox_id


def answer_question(tx: Tx, question: Question, *, by: str, answer: str, now_ms: int) -> None:
    """Answer a question; RefusedError where somebody else did meanwhile."""
    # Rule 4
    if not tx.answer_question(question.question_id, by=by, answer=answer, now_ms=now_ms):
        raise _resolved(tx.question(question.question_id) or question)


def open_question(tx: Tx, question_id: str, reason: QuestionReason) -> Question:
    """Return an open question of that kind; an error that says how it stands otherwise."""
    question = tx.question(question_id)
    if question is None:
        raise unknown("question", question_id)
    if question.state is not QuestionState.OPEN:
        raise _resolved(question)
    if question.reason is not reason:
        raise RefusedError(
            "other_question",
            failed=f"question {question_id} asks for {question.reason.value}, not {reason.value}",
            state="The question is still open",
            next_step={
                QuestionReason.CONFIRM: "Use `actum confirm` or `actum refuse`",
                QuestionReason.JUDGMENT: "Use `actum judge`",
            }.get(question.reason, "Use `actum settle`"),
        )
    return question


def _resolved(question: Question) -> RefusedError:
    how = f"{question.answered_by} answered it: {question.answer}" if question.answered_by else "it is void"
    return RefusedError(
        "question_resolved",
        failed=f"question {question.question_id} is no longer open: {how}",
        state="That answer stands; this one changed nothing",
        next_step=f"See what came of it with `actum show {question.turn_id}`",
        question_id=question.question_id,
    )


def _origin_of(tx: Tx, question: Question) -> EffectOrigin:
    origin = tx.effect_origin(question.subject_ref)
    if origin is None:
        raise InvariantViolation("a confirm asks about a stored effect", question=question.question_id)
    return origin


def _refuse_many_money(origins: Sequence[EffectOrigin]) -> None:
    classes = [origin.effect.descriptor.effect_class for origin in origins]
    if EffectClass.MONEY_LEGAL in classes and len(classes) > 1:
        raise RefusedError(
            "money_one_at_a_time",
            failed="money and legal effects are confirmed one at a time",
            state="None of these questions was answered",
            next_step="Confirm each of them alone",
        )
