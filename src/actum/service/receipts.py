# SPDX-License-Identifier: Apache-2.0
"""A receipt has a private form with everything, and a published one that holds digests only."""

from __future__ import annotations

import msgspec

from actum.evidence.published import Actor as PublishedActor
from actum.evidence.published import (
    Identity,
    PublishedClaim,
    PublishedGrade,
    PublishedLook,
    PublishedReceipt,
    Versioned,
)
from actum.model.delivery import Execution, ExecutionKind, OutboxRow
from actum.model.effect import Effect, EffectDescriptor
from actum.model.evidence import (
    ExecutedEffect,
    ModelAssertion,
    ReceiptEvidence,
    ResolvedArgument,
    VerifiedPostcondition,
)
from actum.model.grading import (
    EffectStatus,
    ExecutorSaid,
    Graded,
    GradePair,
)
from actum.model.look import SeenLook, private_digest, private_digest_of
from actum.model.receipt import Receipt, RetryState
from actum.service.line import Line

KERNEL = "kernel"
"""The principal under which the kernel acts; a verifier's key is pinned to another one."""


class Sealing(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one execution when it is sealed.

    ``arguments`` are the canonical bytes of what was resolved; ``expected`` is the digest a supporting look must
    have observed; ``person_says`` a person's word.
    """

    row: OutboxRow
    execution: Execution
    effect: Effect
    arguments: bytes
    decision_digest: str
    grant_digest: str | None
    dispatched: bool
    said: ExecutorSaid | None
    acknowledged: bool
    result: dict[str, object] | None
    looks: tuple[SeenLook, ...]
    expected: str | None
    context: dict[str, object]
    finished_at_ms: int
    reasoning_route: str
    content_model_id: str | None
    failure_code: str | None = None
    refused: bool = False
    person_says: str | None = None
    said_by: str | None = None
    settles: str | None = None
    assertions: tuple[ModelAssertion, ...] = ()


def private_receipt(line: Line, sealing: Sealing, *, claimed: GradePair, graded: Graded) -> Receipt:
    """Return the whole receipt as it is kept in the store."""
    row, effect = sealing.row, sealing.effect
    observed = tuple(_postcondition(sealing, look) for look in sealing.looks)
    evidence = ReceiptEvidence(
        assertions=sealing.assertions,
        resolved=ResolvedArgument(
            resolved_argument_digest=effect.descriptor.resolved_argument_digest,
            resources=effect.descriptor.canonical_resources,
        ),
        executed=_executed(sealing),
        observed=observed,
    )
    failed = graded.status in (EffectStatus.FAILED, EffectStatus.UNKNOWN_OUTCOME)
    code = sealing.failure_code or (_failure_code(sealing, graded) if failed else None)
    return Receipt(
        receipt_id=line.new_id(),
        tenant=row.tenant,
        turn_id=row.turn_id,
        execution_id=sealing.execution.execution_id,
        outbox_id=row.outbox_id,
        epoch=row.epoch,
        kind=sealing.execution.kind,
        capability_id=effect.descriptor.capability,
        capability_version=effect.descriptor.capability_version,
        effect_digest=effect.effect_digest,
        decision_digest=sealing.decision_digest,
        grant_digest=sealing.grant_digest,
        executor_said=sealing.said,
        claimed=claimed,
        graded=graded.pair,
        reasons=tuple(reason.value for reason in graded.reasons),
        status=graded.status,
        failure_code=None if graded.status is EffectStatus.SUCCESS else code,
        started_at_ms=sealing.execution.started_at_ms,
        finished_at_ms=sealing.finished_at_ms,
        resolved_resource_summary=resource_summary(effect.descriptor),
        destination_summary=", ".join(effect.descriptor.destinations) or "this machine",
        native_result=sealing.result,
        postcondition_evidence=observed,
        looks=sealing.looks,
        expected=sealing.expected,
        input_hash=private_digest_of(sealing.arguments, salt=effect.salt),
        output_hash=output_hash_of(sealing),
        context_snapshot=private_digest(sealing.context, salt=effect.salt),
        evidence_digest=evidence.digest(),
        retry_state=RetryState.RETRY if row.attempts > 1 else RetryState.FIRST,
        reasoning_route=sealing.reasoning_route,
        content_model_id=sealing.content_model_id,
        router_model_id=None,
        refused=sealing.refused,
        person_says=sealing.person_says,
        said_by=sealing.said_by,
        settles=sealing.settles,
    )


def published_receipt(line: Line, sealing: Sealing, *, receipt: Receipt, graded: Graded) -> PublishedReceipt:
    """Return the published form: digests, ids, closed words and times."""
    # Rule 3
    independence = tuple(look.independence for look in sealing.looks)
    return PublishedReceipt(
        identity=Identity(
            receipt_id=receipt.receipt_id,
            execution_id=receipt.execution_id,
            turn_id=receipt.turn_id,
            outbox_id=receipt.outbox_id,
            epoch=receipt.epoch,
            kind=receipt.kind,
        ),
        capability=Versioned(id=receipt.capability_id, version=receipt.capability_version),
        actor=PublishedActor(id=KERNEL, keyid=line.kernel_key.keyid),
        effect_digest=receipt.effect_digest,
        decision_digest=receipt.decision_digest,
        grant_digest=receipt.grant_digest,
        claim=PublishedClaim(
            finality=receipt.claimed.finality,
            confidence=receipt.claimed.confidence,
            executor_said=receipt.executor_said,
        ),
        graded=PublishedGrade(
            finality=graded.pair.finality,
            confidence=graded.pair.confidence,
            status=graded.status,
            reasons=graded.reasons,
        ),
        expected=receipt.expected,
        input_hash=receipt.input_hash,
        output_hash=receipt.output_hash,
        context_snapshot=receipt.context_snapshot,
        looks=tuple(_published_look(look) for look in sealing.looks),
        independence=independence[0] if len(independence) == 1 else (independence or None),
        started_at_ms=receipt.started_at_ms,
        finished_at_ms=receipt.finished_at_ms,
        settles=receipt.settles,
        objects=(),
    )


def _published_look(look: SeenLook) -> PublishedLook:
    return PublishedLook(
        before=look.before,
        observed=look.observed,
        outcome=look.outcome,
        verifier=Versioned(id=look.verifier_id, version=look.verifier_version),
        at=look.at,
        keyid=look.keyid,
        sig=look.sig,
    )


def _executed(sealing: Sealing) -> ExecutedEffect | None:
    if not sealing.dispatched or sealing.execution.kind is ExecutionKind.SETTLEMENT:
        return None
    return ExecutedEffect(
        execution_id=sealing.execution.execution_id,
        capability=sealing.effect.descriptor.capability,
        effect_digest=sealing.effect.effect_digest,
        executor_said=sealing.said,
        started_at_ms=sealing.execution.started_at_ms,
        finished_at_ms=sealing.finished_at_ms,
    )


def _postcondition(sealing: Sealing, look: SeenLook) -> VerifiedPostcondition:
    return VerifiedPostcondition(
        execution_id=sealing.execution.execution_id,
        verifier_id=look.verifier_id,
        verifier_version=look.verifier_version,
        looked_at=look.at,
        expected=sealing.expected,
        observed=look.observed,
        outcome=look.outcome,
        verified=look.observed is not None
        and look.observed == sealing.expected
        and look.outcome.value == "definite",
        observation=look.detail,
    )


def _failure_code(sealing: Sealing, graded: Graded) -> str:
    if graded.status is EffectStatus.FAILED:
        return "did_not_take_effect"
    if sealing.said is None:
        return "interrupted"
    return {ExecutorSaid.NO_ANSWER: "no_answer", ExecutorSaid.RAISED: "raised"}.get(
        sealing.said, "not_observed"
    )


def output_hash_of(sealing: Sealing) -> str | None:
    """Return the digest of the sink's own acknowledgement, or None where it gave none."""
    if sealing.result is None or not sealing.acknowledged:
        return None
    return private_digest(sealing.result, salt=sealing.effect.salt)


def resource_summary(descriptor: EffectDescriptor) -> str:
    """Return what was actually resolved, for people."""
    shown = [f"{resource.kind} {resource.id}" for resource in descriptor.canonical_resources[:5]]
    more = len(descriptor.canonical_resources) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more else "") or "nothing outside this store"
