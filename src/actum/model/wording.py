# SPDX-License-Identifier: Apache-2.0
"""What a person reads about a grade says what was observed, and never more.

Every surface takes its sentences from here. None of them says that the effect was the right one to want, that
nothing else happened, or that the verifiers saw all there was to see.
"""

from __future__ import annotations

from actum.model.grading import (
    DeadlinePolicy,
    EffectConfidence,
    EffectFinality,
    GradePair,
    ReasonCode,
    ResolutionOutcome,
)

_F, _C = EffectFinality, EffectConfidence

POSTCONDITION_HELD = (
    "The intended post-state was independently observed; this confirms this expected outcome only."
)
LIMITS = (
    "A grade weighs the evidence about one effect. It does not say that the effect was the right one to "
    "want, that nothing else happened, or that the verifiers saw everything."
)

_HOW_FAR = {
    _F.NOT_ATTEMPTED: "The effect was never tried",
    _F.INITIATED: "The change was started and accepted and is not durable yet",
    _F.FINALIZED: "The change is said to be complete and durable",
    _F.FAILED: "The effect was attempted and did not take hold",
    _F.INDETERMINATE: "How far the change got is not known",
}
_HOW_WELL_KNOWN = {
    _C.VERIFIED: "an independent look supports this",
    _C.PARTIAL: "the sink acknowledged it and nothing read the post-state back",
    _C.AMBIGUOUS: "what was observed fits more than one outcome",
    _C.UNKNOWN: "the actor could not determine what happened",
    _C.NOT_VERIFIED: "nothing was independently checked",
}
# The pairs of which more can be said than the two halves side by side.
_PAIRS = {
    (_F.FINALIZED, _C.VERIFIED): POSTCONDITION_HELD,
    (_F.INITIATED, _C.VERIFIED): (
        "The pending state was independently observed: surely pending, surely not finalized yet."
    ),
    (_F.FAILED, _C.VERIFIED): (
        "The effect was attempted; an independent look found the state as it was before."
    ),
    (_F.NOT_ATTEMPTED, _C.VERIFIED): (
        "The effect was never tried; an independent look found the state as it was before."
    ),
}

_REASONS = {
    ReasonCode.UNBACKED: "the claim is kept, but no accepted look stands behind it",
    ReasonCode.CONTRADICTED: "an accepted look opposes the claim",
    ReasonCode.CAPPED_NO_LOOK: "lowered, because no look was accepted",
    ReasonCode.CAPPED_UNCLEAR: "lowered, because the accepted looks are unclear",
    ReasonCode.CLASHING_LOOKS: "accepted looks saw different states",
    ReasonCode.LOOK_UNTRUSTED: "a look names no pinned key",
    ReasonCode.LOOK_ROLE: "a look was signed with a key that is pinned for no looking role",
    ReasonCode.LOOK_SELF: "a look cannot be shown to be independent of the actor",
    ReasonCode.LOOK_SIGNATURE: "a look's signature does not hold for this effect",
    ReasonCode.LOOK_KEY_EXPIRED: "a look was made outside the validity of its key",
    ReasonCode.LOOK_KEY_REVOKED: "a look was made after its key was revoked",
    ReasonCode.EXPECTED_MISSING: "a definite look has no expected value to be compared with",
    ReasonCode.OBSERVED_OTHER: "a look observed neither the expected state nor the one before",
    ReasonCode.PARTIAL_UNBACKED: "partial was claimed without the sink's acknowledgement",
}
_DEADLINES = {
    ResolutionOutcome.RESOLVED: "resolved, no deadline applies any more",
    ResolutionOutcome.INDEFINITE: "open without a deadline",
    ResolutionOutcome.PENDING: "open, the deadline lies ahead",
    ResolutionOutcome.BREACHED: "open and past its deadline",
    ResolutionOutcome.BAD_DEADLINE: "open, and the deadline cannot be read",
}
_POLICIES = {
    DeadlinePolicy.TIMEOUT: "it is treated as failed; the grade stays as it is",
    DeadlinePolicy.ESCALATE: "it is raised to a person",
    DeadlinePolicy.TOMBSTONE: "it is marked dead and the record is kept",
    DeadlinePolicy.INHERIT: "the policy of its parent applies",
}


def explain_grade(pair: GradePair) -> str:
    """Return the one sentence a person reads about a graded pair.

    >>> explain_grade(GradePair(finality=EffectFinality.FINALIZED))
    'The change is said to be complete and durable; nothing was independently checked.'
    """
    known = _PAIRS.get((pair.finality, pair.confidence))
    return known or f"{_HOW_FAR[pair.finality]}; {_HOW_WELL_KNOWN[pair.confidence]}."


def explain_reason(reason: ReasonCode) -> str:
    """Return what a reason code means, as a clause."""
    return _REASONS[reason]


def explain_deadline(outcome: ResolutionOutcome) -> str:
    """Return what the outcome of a deadline check means, as a clause."""
    return _DEADLINES[outcome]


def explain_policy(policy: DeadlinePolicy) -> str:
    """Return what happens to a breached effect under a policy, as a clause."""
    return _POLICIES[policy]
