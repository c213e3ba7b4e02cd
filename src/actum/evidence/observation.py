# SPDX-License-Identifier: Apache-2.0
"""Every receipt is graded again from its looks, and the grade it carries is only compared.

Rules
1. The grade is `verify_effect` of the claim and the looks under the trust file, whatever the receipt says.
2. A stored grade that the looks do not bear out contradicts the record, unless the difference comes from the
   trust file: a verifier's key that is not pinned here, or no longer valid, leaves it not established.
3. The newest receipt of an outbox row counts, be it of another attempt or a settlement; an execution has one receipt.
4. A look counts for its effect only, and neither the actor nor whoever signed the receipt can be its looker:
   a kernel that names somebody else as the actor must not look for itself.

That a verifier saw it does not say that it saw everything.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

from actum.evidence.looks import accept_look
from actum.evidence.published import PublishedGrade, PublishedLook, PublishedObject, PublishedReceipt
from actum.evidence.trust_file import NO_TRUST, Trust
from actum.evidence.verdict import Aspect, Finding, Problems, State, count_of, few
from actum.kernel.grading import BatchGrade, grade_batch, verify_effect
from actum.model.action_v2 import Actor, Verifier, WireLook
from actum.model.grading import (
    Claim,
    EffectConfidence,
    EffectFinality,
    Graded,
    GradePair,
    JudgedLook,
    LookOutcome,
    ReasonCode,
)

# Rule 2: these say something about the reader's trust file and not about the record.
_OF_TRUST = frozenset(
    {
        ReasonCode.LOOK_UNTRUSTED,
        ReasonCode.LOOK_ROLE,
        ReasonCode.LOOK_KEY_EXPIRED,
        ReasonCode.LOOK_KEY_REVOKED,
    }
)


class _Regraded:
    """What this reader's trust leaves of one receipt."""

    __slots__ = ("pair", "status", "agrees", "by_trust", "seen_by")

    def __init__(self) -> None:
        self.pair = GradePair(finality=EffectFinality.INDETERMINATE)
        self.status: str = "open"
        self.agrees = True
        self.by_trust = False
        self.seen_by: set[str] = set()

    def compare(self, stored: PublishedGrade, own: Graded) -> None:
        same = (stored.finality, stored.confidence, stored.status) == (
            own.pair.finality,
            own.pair.confidence,
            own.status,
        )
        if same and stored.reasons == own.reasons:
            return
        self.agrees = False
        self.by_trust |= not _OF_TRUST.isdisjoint({*stored.reasons, *own.reasons})


class Observation:
    """Answers `observed`: about 100 bytes are kept for each receipt, to know the newest."""

    def __init__(self, trust: Trust | None, *, problems: Problems) -> None:
        self._trust = trust or NO_TRUST
        self._problems = problems
        self._newest: dict[int, tuple[str, bool]] = {}
        self._of_row: dict[int, int] = {}
        self._executions: set[int] = set()
        self._standing: Counter[tuple[str, bool]] = Counter()
        self._seen_by: set[str] = set()
        self._unexplained = 0
        self._shown = True

    def withhold(self, payload_digest: str) -> None:
        """Remember that something stands in the log whose grade is not shown."""
        self._newest[_short(payload_digest)] = ("withheld", False)
        self._shown = False

    def receipt(self, receipt: PublishedReceipt, *, payload_digest: str, signed_by: str, line: int) -> None:
        """Grade one receipt and compare."""
        if receipt.finished_at_ms < receipt.started_at_ms:
            self._contradict("receipt_times", line, "it finished before it started")
        execution = hash_of_text(receipt.identity.execution_id)
        # Rule 3
        if execution in self._executions:
            self._contradict("receipt_twice", line, "its execution has a receipt already")
        self._executions.add(execution)
        own = regrade(receipt, signed_by=signed_by, trust=self._trust)
        # Rule 2
        if not own.agrees and not own.by_trust:
            self._contradict("grade_differs", line, f"its looks leave {_pair(own.pair)}, it says otherwise")
        self._unexplained += not own.agrees
        self._seen_by |= own.seen_by
        standing = (own.status, own.agrees and own.pair.confidence is EffectConfidence.VERIFIED)
        self._supersede(receipt, line=line)
        self._newest[_short(payload_digest)] = standing
        self._of_row[_row(receipt)] = _short(payload_digest)
        self._standing[standing] += 1

    def _supersede(self, receipt: PublishedReceipt, *, line: int) -> None:
        # Rule 3
        earlier = self._of_row.get(_row(receipt))
        if receipt.settles is not None:
            earlier = _short(receipt.settles)
            if earlier not in self._newest:
                self._contradict(
                    "settles_nothing", line, "what it settles does not stand before it, or was settled"
                )
        before = None if earlier is None else self._newest.pop(earlier, None)
        if before is not None and before[0] != "withheld":
            self._standing[before] -= 1

    def _contradict(self, code: str, line: int, sentence: str) -> None:
        self._problems.add(Aspect.OBSERVED, code=code, line=line, sentence=sentence)

    def statuses(self) -> dict[str, int]:
        """Return how many effects stand under each status, by their newest receipt."""
        found: Counter[str] = Counter()
        for (status, _), number in self._standing.items():
            found[status] += number
        return {status: number for status, number in sorted(found.items()) if number}

    def finding(self) -> Finding:
        """Return the answer."""
        contradicted = self._problems.finding(Aspect.OBSERVED)
        if contradicted is not None:
            return contradicted
        every = sum(self._standing.values())
        seen = sum(number for (_, held), number in self._standing.items() if held)
        state = State.ESTABLISHED if every == seen > 0 and self._shown else State.NOT_ESTABLISHED
        parts = [
            f"{seen} of {count_of(every, 'effect')} graded verified, from looks of others than the actor"
        ]
        if self._unexplained:
            parts.append(f"{count_of(self._unexplained, 'stored grade')} not borne out under this trust file")
        if not self._shown:
            parts.append("withheld records are not graded")
        return Finding(aspect=Aspect.OBSERVED, state=state, sentence="; ".join(parts), by=few(self._seen_by))


def regrade(receipt: PublishedReceipt, *, signed_by: str, trust: Trust) -> _Regraded:
    """Return the grade that the looks leave of a receipt's claim; `signed_by` is the keyid of its signer."""
    # Rule 1
    result = _Regraded()
    actors = [Actor(id=receipt.actor.id, keyid=receipt.actor.keyid)]
    # Rule 4
    if signed_by != receipt.actor.keyid:
        actors.append(Actor(keyid=signed_by))
    if not receipt.objects:
        graded = _grade_one(receipt, receipt=receipt, actors=actors, trust=trust, result=result)
        result.compare(receipt.graded, graded)
        result.pair, status = graded.pair, graded.status
    else:
        pairs: list[GradePair] = []
        for each in receipt.objects:
            graded = _grade_one(each, receipt=receipt, actors=actors, trust=trust, result=result)
            result.compare(each.graded, graded)
            pairs.append(graded.pair)
        batch = grade_batch(pairs)
        _compare_batch(receipt.graded, batch, result=result)
        result.pair, status = batch.pair, batch.status
    result.status = "open" if status is None else status.value
    return result


def _grade_one(
    graded: PublishedReceipt | PublishedObject,
    *,
    receipt: PublishedReceipt,
    actors: Sequence[Actor],
    trust: Trust,
    result: _Regraded,
) -> Graded:
    judged: list[JudgedLook] = []
    for look in _wire(graded.looks):
        refused: ReasonCode | None = None
        for actor in actors:
            refused = refused or accept_look(
                look, effect_digest=receipt.effect_digest, expected=graded.expected, actor=actor, trust=trust
            )
        if refused is None and look.verifier is not None:
            result.seen_by.add(f"{look.verifier.id}@{look.verifier.version} ({look.keyid})")
        outcome = look.outcome or LookOutcome.UNCLEAR
        judged.append(
            JudgedLook(outcome=outcome, before=look.before, observed=look.observed, refused_for=refused)
        )
    claim = Claim(
        finality=graded.claim.finality,
        confidence=graded.claim.confidence,
        expected=graded.expected,
        output_hash=graded.output_hash,
    )
    return verify_effect(claim, looks=judged)


def _wire(looks: Sequence[PublishedLook]) -> list[WireLook]:
    return [
        WireLook(
            before=look.before,
            observed=look.observed,
            outcome=look.outcome,
            verifier=None
            if look.verifier is None
            else Verifier(id=look.verifier.id, version=look.verifier.version),
            at=look.at,
            keyid=look.keyid,
            sig=look.sig,
        )
        for look in looks
    ]


def _compare_batch(stored: PublishedGrade, own: BatchGrade, *, result: _Regraded) -> None:
    pair = (own.pair.finality, own.pair.confidence, own.status)
    if (stored.finality, stored.confidence, stored.status) != pair:
        # Where every object agreed, the batch's pair is only arithmetic and no trust file explains it.
        result.by_trust = result.by_trust and not result.agrees
        result.agrees = False


def _pair(pair: GradePair) -> str:
    return f"{pair.finality.value} + {pair.confidence.value}"


def _row(receipt: PublishedReceipt) -> int:
    # With the effect, so that a receipt for something else cannot take the place of one under the row's name.
    return hash_of_text(f"{receipt.identity.outbox_id} {receipt.effect_digest}")


def _short(payload_digest: str) -> int:
    return int(payload_digest[7:23], 16)


def hash_of_text(text: str) -> int:
    """Return the first 64 bits of a text's SHA-256, which is enough to tell executions apart."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
