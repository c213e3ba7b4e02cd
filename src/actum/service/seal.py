# SPDX-License-Identifier: Apache-2.0
"""Sealing turns one finished execution into one receipt: graded, signed, and a leaf of the log.

Rules
1. The claim is written after the look; the grade is what `verify_effect` leaves of it.
2. A look counts only if it is accepted: trusted key, not the actor's, signature over this effect.
3. The published form holds digests only; content stays in the private record.
4. Receipt, leaf and frontier are written in the caller's transaction, so that none is there without the others.
"""

from __future__ import annotations

import msgspec

from actum.evidence.dsse import seal as seal_envelope
from actum.evidence.keys import Signer
from actum.evidence.log import Frontier, leaf_hash, log_entry
from actum.evidence.looks import accept_look
from actum.evidence.published import (
    GRANT,
    RECEIPT,
    Identity,
    PublishedClaim,
    PublishedGrade,
    PublishedLook,
    PublishedReceipt,
    Versioned,
)
from actum.evidence.published import Actor as PublishedActor
from actum.evidence.statements import grant_statement, receipt_statement
from actum.kernel.claims import claim_after
from actum.kernel.grading import verify_effect, weigh_looks
from actum.model import canonical
from actum.model.action_v2 import Actor, Verifier, WireLook
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
    Claim,
    EffectConfidence,
    EffectFinality,
    EffectStatus,
    ExecutorSaid,
    Graded,
    GradePair,
    JudgedLook,
    Situation,
)
from actum.model.grant import Grant, GrantRow
from actum.model.look import SeenLook, private_digest
from actum.model.receipt import Receipt, RetryState
from actum.ports.store import LeafRow, ReceiptRow, Tx
from actum.service.line import Line

KERNEL = "kernel"
"""The principal under which the kernel acts; a verifier's key is pinned to another one."""


class Sealing(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one execution when it is sealed.

    ``expected`` is the digest a supporting look must have observed; ``person_says`` a person's word.
    """

    row: OutboxRow
    execution: Execution
    effect: Effect
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


def grade(line: Line, sealing: Sealing) -> tuple[GradePair, Graded]:
    """Return the claimed pair and what the looks leave of it."""
    judged = judge_looks(line, sealing)
    situation, _ = weigh_looks(judged, expected=sealing.expected)
    claimed = _claimed(sealing, situation)
    claim = Claim(
        finality=claimed.finality,
        confidence=claimed.confidence,
        expected=sealing.expected,
        output_hash=_output_hash(sealing),
    )
    return claimed, verify_effect(claim, looks=judged)  # Rule 1


def judge_looks(line: Line, sealing: Sealing) -> list[JudgedLook]:
    """Return each look with the refusal it got, if any (rule 2)."""
    actor = Actor(id=KERNEL, keyid=line.kernel_key.keyid)
    return [
        JudgedLook(
            outcome=look.outcome,
            before=look.before,
            observed=look.observed,
            refused_for=accept_look(
                wire(look),
                effect_digest=sealing.effect.effect_digest,
                expected=sealing.expected,
                actor=actor,
                trust=line.trust,
            ),
        )
        for look in sealing.looks
    ]


def _claimed(sealing: Sealing, situation: Situation) -> GradePair:
    if sealing.person_says == "happened" and situation in (Situation.NONE, Situation.UNCLEAR):
        return GradePair(finality=EffectFinality.FINALIZED, confidence=EffectConfidence.NOT_VERIFIED)
    if sealing.person_says == "did_not" and situation in (Situation.NONE, Situation.UNCLEAR):
        return GradePair(finality=EffectFinality.FAILED, confidence=EffectConfidence.NOT_VERIFIED)
    if not sealing.dispatched:
        seen = situation is Situation.CONTRARY
        return GradePair(
            finality=EffectFinality.NOT_ATTEMPTED,
            confidence=EffectConfidence.VERIFIED if seen else EffectConfidence.NOT_VERIFIED,
        )
    return claim_after(
        dispatched=True, said=sealing.said, situation=situation, acknowledged=sealing.acknowledged
    )


def seal(line: Line, tx: Tx, sealing: Sealing) -> tuple[Receipt, Graded]:
    """Write the receipt of an execution, its leaf and the new frontier; return the private record."""
    claimed, graded = grade(line, sealing)
    receipt = _private(line, sealing, claimed=claimed, graded=graded)
    payload = receipt_statement(_published(line, sealing, receipt=receipt, graded=graded))
    envelope = seal_envelope(payload, signer=line.kernel_key)
    payload_digest = canonical.digest_bytes(payload)
    tx.add_receipt(
        ReceiptRow(
            receipt_id=receipt.receipt_id,
            tenant=tx.tenant,
            turn_id=receipt.turn_id,
            execution_id=receipt.execution_id,
            outbox_id=receipt.outbox_id,
            kind=receipt.kind.value,
            payload_digest=payload_digest,
            settles=receipt.settles,
            claimed_finality=claimed.finality.value,
            claimed_confidence=claimed.confidence.value,
            graded_finality=graded.pair.finality.value,
            graded_confidence=graded.pair.confidence.value,
            status=None if graded.status is None else graded.status.value,
            sealed_at_ms=sealing.finished_at_ms,
            body=msgspec.json.encode(receipt),
            envelope=envelope,
        )
    )
    append_leaf(
        line, tx, predicate_type=RECEIPT, payload_digest=payload_digest, envelope=envelope, chain=receipt.turn_id,
        keyid=line.kernel_key.keyid,
    )  # fmt: skip
    return receipt, graded


def seal_grant(line: Line, tx: Tx, grant: Grant, *, signer: Signer | None, chain: str) -> GrantRow:
    """Sign a grant, keep it and log it."""
    key = line.kernel_key if signer is None else signer
    payload = grant_statement(grant)
    envelope = seal_envelope(payload, signer=key)
    row = GrantRow(
        grant=grant,
        payload_digest=canonical.digest_bytes(payload),
        envelope=envelope,
        used_by=None,
        voided_at_ms=None,
    )
    tx.add_grant(row)
    append_leaf(
        line, tx, predicate_type=GRANT, payload_digest=row.payload_digest, envelope=envelope, chain=chain,
        keyid=key.keyid,
    )  # fmt: skip
    return row


def append_leaf(
    line: Line, tx: Tx, *, predicate_type: str, payload_digest: str, envelope: bytes, chain: str, keyid: str
) -> None:
    """Append one leaf to the log in the caller's transaction (rule 4)."""
    size, hashes = tx.log_state()
    frontier = Frontier(size, [hashes[at : at + 32] for at in range(0, len(hashes), 32)])
    entry = log_entry(
        predicate_type=predicate_type,
        payload_digest=payload_digest,
        keyid=keyid,
        chain=chain,
        seq=tx.next_in_chain(chain),
    )
    leaf = leaf_hash(entry)
    tx.add_leaf(
        LeafRow(
            seq=size,
            tenant=tx.tenant,
            entry=entry,
            leaf_hash=leaf,
            envelope=envelope,
            payload_digest=payload_digest,
        )
    )
    frontier.append(leaf)
    tx.set_log_state(frontier.size, b"".join(frontier.hashes))


def wire(look: SeenLook) -> WireLook:
    """Return the wire form of a look."""
    return WireLook(
        before=look.before,
        observed=look.observed,
        outcome=look.outcome,
        verifier=Verifier(id=look.verifier_id, version=look.verifier_version),
        at=look.at,
        keyid=look.keyid,
        sig=look.sig,
    )


def _private(line: Line, sealing: Sealing, *, claimed: GradePair, graded: Graded) -> Receipt:
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
        input_hash=input_hash(effect),
        output_hash=_output_hash(sealing),
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


def _published(line: Line, sealing: Sealing, *, receipt: Receipt, graded: Graded) -> PublishedReceipt:
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


def _output_hash(sealing: Sealing) -> str | None:
    if sealing.result is None or not sealing.acknowledged:
        return None
    return private_digest(sealing.result, salt=sealing.effect.salt)


def input_hash(effect: Effect) -> str:
    """Return the published digest of the resolved arguments: salted, over their private digest."""
    return canonical.digest({"salt": effect.salt, "value": effect.descriptor.resolved_argument_digest})


def resource_summary(descriptor: EffectDescriptor) -> str:
    """Return what was actually resolved, for people."""
    shown = [f"{resource.kind} {resource.id}" for resource in descriptor.canonical_resources[:5]]
    more = len(descriptor.canonical_resources) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more else "") or "nothing outside this store"
