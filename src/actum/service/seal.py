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
)
from actum.evidence.statements import grant_statement, receipt_statement
from actum.kernel.claims import claim_after
from actum.kernel.grading import verify_effect, weigh_looks
from actum.model import canonical
from actum.model.action_v2 import Actor, Verifier, WireLook
from actum.model.grading import (
    Claim,
    EffectConfidence,
    EffectFinality,
    Graded,
    GradePair,
    JudgedLook,
    Situation,
)
from actum.model.grant import Grant, GrantRow
from actum.model.look import SeenLook
from actum.model.receipt import Receipt
from actum.ports.store import LeafRow, ReceiptRow, Tx
from actum.service.grants import remember, require_key
from actum.service.holder import require_incarnation
from actum.service.line import Line
from actum.service.own_key import require_own_key
from actum.service.receipts import KERNEL, Sealing, output_hash_of, private_receipt, published_receipt


def grade(line: Line, sealing: Sealing) -> tuple[GradePair, Graded]:
    """Return the claimed pair and what the looks leave of it."""
    judged = judge_looks(line, sealing)
    situation, _ = weigh_looks(judged, expected=sealing.expected)
    claimed = _claimed(sealing, situation)
    claim = Claim(
        finality=claimed.finality,
        confidence=claimed.confidence,
        expected=sealing.expected,
        output_hash=output_hash_of(sealing),
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
    receipt = private_receipt(line, sealing, claimed=claimed, graded=graded)
    payload = receipt_statement(published_receipt(line, sealing, receipt=receipt, graded=graded))
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
    """Sign a grant, keep it and log it; an error where the key that would sign it is revoked or not in force."""
    require_incarnation(line, tx)
    if signer is None:
        require_own_key(line)
    else:
        require_key(line, grant, signer)
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
    remember(line, row, keyid=key.keyid)
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
