# SPDX-License-Identifier: Apache-2.0
"""The five levels of evidence are five record types, and none can be made out of a weaker one alone.

Rules
1. A model assertion holds text and no fact about the world.
2. A resolved argument holds the identity of a real resource.
3. An executed effect names the capability and the descriptor it ran under.
4. A verified postcondition holds a look made after the execution.
5. A receipt holds all four lower levels and a digest over them.
"""

from __future__ import annotations

import enum
from functools import total_ordering

import msgspec

from actum.model import foreign
from actum.model.effect import Resource
from actum.model.grading import ExecutorSaid, LookOutcome


@total_ordering
class EvidenceLevel(enum.Enum):
    """How strong a record is; ``model_assertion`` is the weakest."""

    MODEL_ASSERTION = "model_assertion"
    RESOLVED_ARGUMENT = "resolved_argument"
    EXECUTED_EFFECT = "executed_effect"
    VERIFIED_POSTCONDITION = "verified_postcondition"
    RECEIPT = "receipt"

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, EvidenceLevel):
            return NotImplemented
        order = list(EvidenceLevel)
        return order.index(self) < order.index(other)


class ModelAssertion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rule 1: a model produced this text. It claims nothing that anybody saw."""

    turn_id: str
    text_digest: str
    model_id: str | None


class ResolvedArgument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rule 2: real resources were identified, with their identity."""

    resolved_argument_digest: str
    resources: tuple[Resource, ...]


class ExecutedEffect(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rule 3: a native executor ran under this descriptor. What it said is its own word."""

    execution_id: str
    capability: str
    effect_digest: str
    executor_said: ExecutorSaid | None
    started_at_ms: int
    finished_at_ms: int


class VerifiedPostcondition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rule 4: a verifier looked after the execution; ``verified`` tells whether the expected value was seen."""

    execution_id: str
    verifier_id: str
    verifier_version: str
    looked_at: str
    expected: str | None
    observed: str | None
    outcome: LookOutcome
    verified: bool
    observation: dict[str, object]


class ReceiptEvidence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rule 5: everything below, recorded and digested."""

    assertions: tuple[ModelAssertion, ...]
    resolved: ResolvedArgument
    executed: ExecutedEffect | None
    observed: tuple[VerifiedPostcondition, ...]

    def digest(self) -> str:
        """Return the digest over all lower levels."""
        return foreign.digest_foreign(msgspec.to_builtins(self))


class QualificationResult(enum.Enum):
    """What a rehearsal in isolation showed."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_POSSIBLE = "not_possible"


class Qualification(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rehearsal's record for one flagged effect; ``method`` says how it was isolated."""

    effect_digest: str
    result: QualificationResult
    reason: str
    method: str
    detail: dict[str, object]
    recorded_at_ms: int

    def digest(self) -> str:
        """Return the digest a grant names."""
        return foreign.digest_foreign(msgspec.to_builtins(self))
