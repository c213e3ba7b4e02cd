# SPDX-License-Identifier: Apache-2.0
"""What the kernel claims when it seals is written from what happened, on two axes that never ask each other.

Rules
1. Nothing dispatched is not_attempted, whatever was said.
2. A definite look outranks the executor: a match is finalized (initiated where the look projects the pending
   state), a contrary failed, anything unclear indeterminate. But a match is not the doing of an executor that said
   rejected: failed is claimed, and the look contradicts it.
3. Without a look the executor's word is all there is: ok is finalized, accepted is initiated (an id is no
   durability), rejected is failed, an exception or silence is indeterminate.
4. Confidence: a definite look is verified, an unclear one ambiguous; without a look an exception or silence
   is unknown, the sink's own acknowledgement is partial, and everything else is not_verified.

A claim earns nothing: `actum.kernel.grading.verify_effect` decides what is left of it.
"""

from __future__ import annotations

from typing import assert_never

from actum.model.grading import EffectConfidence, EffectFinality, ExecutorSaid, GradePair, Situation


def claim_after(
    *,
    dispatched: bool,
    said: ExecutorSaid | None,
    situation: Situation,
    acknowledged: bool = False,
    projects_pending: bool = False,
) -> GradePair:
    """Return the pair to seal with.

    `said` is None where the process stopped before an answer. `situation` is the joint word of the looks that
    were made. `acknowledged` tells that the sink's own acknowledgement was kept as output_hash.
    `projects_pending` tells that the expected value is the queued state, not the durable one.
    """
    return GradePair(
        finality=claimed_finality(
            dispatched=dispatched, said=said, situation=situation, projects_pending=projects_pending
        ),
        confidence=claimed_confidence(
            dispatched=dispatched, said=said, situation=situation, acknowledged=acknowledged
        ),
    )


def claimed_finality(
    *, dispatched: bool, said: ExecutorSaid | None, situation: Situation, projects_pending: bool = False
) -> EffectFinality:
    """Return how far the change got, as far as the kernel can say when it seals."""
    # Rule 1
    if not dispatched:
        return EffectFinality.NOT_ATTEMPTED
    # Rule 2
    match situation:
        case Situation.MATCH:
            if said is ExecutorSaid.REJECTED:
                return EffectFinality.FAILED
            return EffectFinality.INITIATED if projects_pending else EffectFinality.FINALIZED
        case Situation.CONTRARY:
            return EffectFinality.FAILED
        case Situation.UNCLEAR | Situation.CLASHING:
            return EffectFinality.INDETERMINATE
        case Situation.NONE:
            return _finality_said(said)
        case _:
            assert_never(situation)


def claimed_confidence(
    *, dispatched: bool, said: ExecutorSaid | None, situation: Situation, acknowledged: bool = False
) -> EffectConfidence:
    """Return how well that is known, as far as the kernel can say when it seals."""
    # Rule 4
    match situation:
        case Situation.MATCH | Situation.CONTRARY:
            return EffectConfidence.VERIFIED
        case Situation.UNCLEAR | Situation.CLASHING:
            return EffectConfidence.AMBIGUOUS
        case Situation.NONE:
            pass
        case _:
            assert_never(situation)
    if not dispatched:
        return EffectConfidence.NOT_VERIFIED
    if said in (None, ExecutorSaid.RAISED, ExecutorSaid.NO_ANSWER):
        return EffectConfidence.UNKNOWN
    return EffectConfidence.PARTIAL if acknowledged else EffectConfidence.NOT_VERIFIED


def _finality_said(said: ExecutorSaid | None) -> EffectFinality:
    # Rule 3
    match said:
        case ExecutorSaid.OK:
            return EffectFinality.FINALIZED
        case ExecutorSaid.ACCEPTED:
            return EffectFinality.INITIATED
        case ExecutorSaid.REJECTED:
            return EffectFinality.FAILED
        case ExecutorSaid.RAISED | ExecutorSaid.NO_ANSWER | None:
            return EffectFinality.INDETERMINATE
        case _:
            assert_never(said)
