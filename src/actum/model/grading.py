# SPDX-License-Identifier: Apache-2.0
"""How far an effect got and how well that is known are two enums that nothing derives from each other.

Three words are kept apart: `ExecutorSaid` is what the acting component answered, a claimed grade is what the
kernel wrote when it sealed, a graded one is what `actum.kernel.grading.verify_effect` leaves of the claim.
"""

from __future__ import annotations

import enum

import msgspec


class EffectFinality(enum.Enum):
    """How far the change of state got."""

    NOT_ATTEMPTED = "not_attempted"
    INITIATED = "initiated"
    FINALIZED = "finalized"
    FAILED = "failed"
    INDETERMINATE = "indeterminate"


class EffectConfidence(enum.Enum):
    """How well the finality beside it is known; `not_verified` is the default and no failure."""

    VERIFIED = "verified"
    PARTIAL = "partial"
    AMBIGUOUS = "ambiguous"
    UNKNOWN = "unknown"
    NOT_VERIFIED = "not_verified"


class EffectStatus(enum.Enum):
    """What a person is told about a receipt; derived from graded pairs, never set."""

    SUCCESS = "success"
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNKNOWN_OUTCOME = "unknown_outcome"


class ExecutorSaid(enum.Enum):
    """What the acting component answered; it is kept and earns no grade."""

    OK = "ok"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    RAISED = "raised"
    NO_ANSWER = "no_answer"


class LookOutcome(enum.Enum):
    """Whether the verifier itself holds its look for conclusive."""

    DEFINITE = "definite"
    UNCLEAR = "unclear"


class ReasonCode(enum.Enum):
    """Why a graded pair is what it is; the order here is the order in every answer."""

    UNBACKED = "unbacked"
    CONTRADICTED = "contradicted"
    CAPPED_NO_LOOK = "capped_no_look"
    CAPPED_UNCLEAR = "capped_unclear"
    CLASHING_LOOKS = "clashing_looks"
    LOOK_UNTRUSTED = "look_untrusted"
    LOOK_ROLE = "look_role"
    LOOK_SELF = "look_self"
    LOOK_SIGNATURE = "look_signature"
    LOOK_KEY_EXPIRED = "look_key_expired"
    LOOK_KEY_REVOKED = "look_key_revoked"
    EXPECTED_MISSING = "expected_missing"
    OBSERVED_OTHER = "observed_other"
    PARTIAL_UNBACKED = "partial_unbacked"


LOOK_REFUSALS = frozenset(
    {
        ReasonCode.LOOK_UNTRUSTED,
        ReasonCode.LOOK_ROLE,
        ReasonCode.LOOK_SELF,
        ReasonCode.LOOK_SIGNATURE,
        ReasonCode.LOOK_KEY_EXPIRED,
        ReasonCode.LOOK_KEY_REVOKED,
    }
)


class Situation(enum.Enum):
    """What the accepted looks say together: one column of the grading table."""

    MATCH = "match"
    CONTRARY = "contrary"
    UNCLEAR = "unclear"
    CLASHING = "clashing"
    NONE = "none"


class DeadlinePolicy(enum.Enum):
    """What an effect becomes when its deadline passes and it is still open."""

    TIMEOUT = "timeout"
    ESCALATE = "escalate"
    TOMBSTONE = "tombstone"
    INHERIT = "inherit"


class ResolutionOutcome(enum.Enum):
    """How an effect stands against its deadline at one given instant."""

    RESOLVED = "resolved"
    INDEFINITE = "indefinite"
    PENDING = "pending"
    BREACHED = "breached"
    BAD_DEADLINE = "bad_deadline"


class GradePair(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A finality with its confidence; whether it is claimed or graded is said where it stands."""

    finality: EffectFinality
    confidence: EffectConfidence = EffectConfidence.NOT_VERIFIED


class JudgedLook(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A look after its acceptance was decided: `refused_for` is None if it was accepted.

    `before` and `observed` are digests under the projection of the claim's `expected`, or None.
    """

    outcome: LookOutcome = LookOutcome.UNCLEAR
    before: str | None = None
    observed: str | None = None
    refused_for: ReasonCode | None = None


class Claim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was claimed for one effect or object; an absent confidence is `not_verified`.

    `expected` is the digest a supporting look must have observed; `output_hash` the sink's own answer.
    """

    finality: EffectFinality
    confidence: EffectConfidence | None = None
    expected: str | None = None
    output_hash: str | None = None


class Graded(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is left of a claim after its looks were weighed; the claim itself stays where it was.

    `status` is None while the effect is open (`initiated`).
    """

    pair: GradePair
    status: EffectStatus | None
    situation: Situation
    reasons: tuple[ReasonCode, ...] = ()


class Resolved(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The answer of `check_resolution`: `seconds` is whole and absent unless pending or breached."""

    outcome: ResolutionOutcome
    seconds: int | None = None
    on_deadline: DeadlinePolicy | None = None


class Resolution(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A deadline (RFC 3339 text) and what happens when it passes; both may be absent."""

    deadline: str | None = None
    on_deadline: DeadlinePolicy | None = None
