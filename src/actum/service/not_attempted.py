# SPDX-License-Identifier: Apache-2.0
"""What was declined, cancelled or refused is sealed as not attempted, seen by the absence of a dispatched mark.

Rules
1. The look reads the committed row on another connection: no mark means nothing was dispatched.
2. A row that carries a mark is never sealed here. Where another attempt of it is refused, the receipts of the
   earlier ones stand, and the refusal is shown beside them.
3. A row the handler refused fails its turn visibly; a row a person declined completes it as cancelled.
4. The receipt names a grant only where that grant is for this very effect.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from actum.model.activity import FailureCategory
from actum.model.delivery import ExecutionKind, OutboxRow, OutboxState
from actum.model.effect import Effect
from actum.model.errors import InvariantViolation, Refused
from actum.model.look import SeenLook, projection_digest
from actum.model.proposal import ProposalState
from actum.model.work import StepState
from actum.ports.store import Tx
from actum.ports.verifier import LookRequest, Phase
from actum.service.job import ended_execution
from actum.service.line import Line
from actum.service.points import commit
from actum.service.receipts import Sealing
from actum.service.rows import failed, step_settled
from actum.service.seal import seal
from actum.service.standing import refresh

MARK = "outbox.mark"
PROJECTION = "outbox.mark@1"
NOT_AS_STORED = ("record_unreadable", "effect_changed", "arguments_changed")
"""Refusals because the store did not give back what was put in: the layer that failed is persistence."""


def seal_unsealed(line: Line) -> int:
    """Seal every row that was settled without an attempt and has no receipt yet; return how many."""

    def unsealed(tx: Tx) -> list[OutboxRow]:
        return [row for row in tx.outbox_unsealed() if row.dispatched_at_ms is None]

    rows = line.store.glance(unsealed)
    if rows:
        seal_not_attempted(line, [(row, None) for row in rows])
    return len(rows)


def seal_not_attempted(
    line: Line, rows: Sequence[tuple[OutboxRow, Refused | None]], *, also: Callable[[Tx], None] | None = None
) -> None:
    """Seal rows that were not attempted; with a refusal where the handler was the one who said no.

    ``also`` is written in the same commit.
    """
    effects = line.store.read(lambda tx: [_effect(tx, row) for row, _ in rows])
    looks = line.looker.look_many([_request(effect) for effect in effects])

    def work(tx: Tx) -> None:
        if also is not None:
            also(tx)
        for (row, refused), effect, look in zip(rows, effects, looks, strict=True):
            current = tx.outbox(row.outbox_id)
            if current is None or current.epoch != row.epoch:
                continue
            if refused is not None and not tx.move_outbox(
                row.outbox_id, epoch=row.epoch, state=row.state, to=OutboxState.SETTLED
            ):
                continue
            # Rule 2
            if current.dispatched_at_ms is not None:
                if refused is not None:
                    _refuse(line, tx, row, effect=effect, refused=refused)
                continue
            _seal_one(line, tx, row, effect=effect, look=look, refused=refused)

    commit(line, "seal_not_attempted", work)


def _effect(tx: Tx, row: OutboxRow) -> Effect:
    stored = tx.effect(row.effect_digest or "")
    if stored is None:
        raise InvariantViolation("an effect row has an effect", row=row.outbox_id)
    return stored.sealed()


def _digest(effect: Effect, *, dispatched: bool) -> str:
    return projection_digest({"dispatched": dispatched}, projection=PROJECTION, salt=effect.salt)


def _request(effect: Effect) -> LookRequest:
    # Rule 1: before the row existed it carried no mark, and that is what the look must still see.
    return LookRequest(
        capability=MARK,
        effect_digest=effect.effect_digest,
        salt=effect.salt,
        descriptor=effect.descriptor,
        arguments={},
        phase=Phase.LATER,
        before={},
        before_digest=_digest(effect, dispatched=False),
        result=None,
        expected=_digest(effect, dispatched=True),
        absence_is_proof=True,
        window_over=True,
    )


def _seal_one(
    line: Line, tx: Tx, row: OutboxRow, *, effect: Effect, look: SeenLook, refused: Refused | None
) -> None:
    now = line.now()
    proposal_id = effect.descriptor.proposed_action_id
    proposal, stored = tx.proposal(proposal_id), tx.effect(effect.effect_digest)
    if proposal is None or stored is None:
        raise InvariantViolation("a row has an effect, and an effect a proposal", row=row.outbox_id)
    execution = msgspec.structs.replace(
        ended_execution(line, row, kind=ExecutionKind.EFFECT),
        before_digest=_digest(effect, dispatched=False),
    )
    tx.add_execution(execution)
    grant = None if row.grant_id is None else tx.grant(row.grant_id)
    if grant is not None and grant.grant.subject_digest != effect.effect_digest:
        grant = (
            None  # Rule 4: to an auditor it would look as if a grant for one thing had been used for another.
        )
    code = refused.reason if refused is not None else "declined"
    sealing = Sealing(
        row=row,
        execution=execution,
        effect=effect,
        arguments=stored.arguments,
        decision_digest=proposal.decision_digest,
        grant_digest=None if grant is None else grant.payload_digest,
        dispatched=False,
        said=None,
        acknowledged=False,
        result=None if refused is None else {"refused": refused.reason, **refused.facts},
        looks=(look,),
        expected=_digest(effect, dispatched=True),
        context={},
        finished_at_ms=execution.started_at_ms,
        reasoning_route="none",
        content_model_id=None,
        failure_code=code,
        refused=refused is not None,
    )
    seal(line, tx, sealing)
    tx.close_unattempted(row.outbox_id)
    if refused is not None:
        _refuse(line, tx, row, effect=effect, refused=refused)
    elif proposal.state is ProposalState.DECLINED:
        step_settled(tx, row.turn_id, row.step_id)
    refresh(tx, row.turn_id, now_ms=now)


def _refuse(line: Line, tx: Tx, row: OutboxRow, *, effect: Effect, refused: Refused) -> None:
    # Rule 3
    tx.set_proposal(effect.descriptor.proposed_action_id, state=ProposalState.REFUSED, refusal=refused.reason)
    tx.set_visit(row.turn_id, row.step_id, state=StepState.FAILED)
    stored = refused.reason in NOT_AS_STORED
    category = FailureCategory.PERSISTENCE if stored else FailureCategory.NATIVE_EXECUTION
    failed(line, tx, row.turn_id, category=category, reason=refused.reason)
    refresh(tx, row.turn_id, now_ms=line.now())
