# SPDX-License-Identifier: Apache-2.0
"""Whole records for tests of rules: each is valid as it stands, and keyword arguments replace its fields.

    >>> descriptor(object_count=3, blast_radius=3).object_count
    3
    >>> message(provenance=native()).role.value
    'assistant'

Rows of a store come from `actum.testing.store_exercises.samples`; nothing here is stored or signed.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from actum.kernel.standing import ChainEnd, Facts
from actum.model import canonical
from actum.model.delivery import ExecutionKind
from actum.model.effect import (
    Claims,
    Effect,
    EffectClass,
    EffectDescriptor,
    Expected,
    Externality,
    PrivilegeLevel,
    Resource,
    Reversibility,
    effect_digest,
)
from actum.model.evidence import (
    ExecutedEffect,
    ModelAssertion,
    ReceiptEvidence,
    ResolvedArgument,
    VerifiedPostcondition,
)
from actum.model.grading import (
    EffectConfidence,
    EffectFinality,
    EffectStatus,
    ExecutorSaid,
    GradePair,
    LookOutcome,
)
from actum.model.message import LOCAL_PROVIDER, ExecutionMode, Message, Provenance, Role, RoutingMode
from actum.model.receipt import Receipt, RetryState
from actum.model.work import StepState

S = TypeVar("S", bound=msgspec.Struct)
NOW_MS = 1_800_000_000_000
SALT = "0" * 32
OBSERVED = GradePair(finality=EffectFinality.FINALIZED, confidence=EffectConfidence.VERIFIED)


def digest(text: str) -> str:
    """Return the digest of a text, for fields that only need one."""
    return canonical.digest_bytes(text.encode())


def descriptor(**fields: Any) -> EffectDescriptor:
    """Return a valid, reversible, local effect on one file."""
    made = EffectDescriptor(
        capability="files.write", capability_version="1", effect_class=EffectClass.ACTION,
        reversibility=Reversibility.REVERSIBLE, externality=Externality.LOCAL_ONLY,
        privilege_level=PrivilegeLevel.STANDARD,
        canonical_resources=(Resource(kind="file", id="/a/b", digest=digest("content")),),
        destinations=("/a",), recipients=(), data_classes=("internal",), object_count=1, blast_radius=1,
        executable_code=False, origin_turn_id="T1", proposed_action_id="P1",
        resolved_argument_digest=digest("arguments"), idempotency_key="k", claims=Claims.CHANGE,
        expected=Expected(projection="files.write@1", digest=digest("expected")),
    )  # fmt: skip
    return _with(made, fields)


def effect(*, salt: str = SALT, **fields: Any) -> Effect:
    """Return a descriptor with its digest; ``fields`` are the descriptor's, and are not validated."""
    made = descriptor(**fields)
    return Effect(effect_digest=effect_digest(made, salt=salt), salt=salt, descriptor=made)


def evidence(**fields: Any) -> ReceiptEvidence:
    """Return the four lower levels of one execution."""
    made = ReceiptEvidence(
        assertions=(ModelAssertion(turn_id="T1", text_digest=digest("said"), model_id="m"),),
        resolved=ResolvedArgument(
            resolved_argument_digest=digest("arguments"), resources=descriptor().canonical_resources
        ),
        executed=ExecutedEffect(
            execution_id="X1", capability="files.write", effect_digest=effect().effect_digest,
            executor_said=ExecutorSaid.OK, started_at_ms=NOW_MS, finished_at_ms=NOW_MS,
        ),
        observed=(
            VerifiedPostcondition(
                execution_id="X1", verifier_id="files.reader", verifier_version="1",
                looked_at="2027-01-15T08:00:00.000Z", expected=digest("expected"), observed=digest("expected"),
                outcome=LookOutcome.DEFINITE, verified=True, observation={"size": 1},
            ),
        ),
    )  # fmt: skip
    return _with(made, fields)


def receipt(**fields: Any) -> Receipt:
    """Return the private receipt of an effect that was observed."""
    known = evidence()
    made = Receipt(
        receipt_id="C1", tenant="local", turn_id="T1", execution_id="X1", outbox_id="B1", epoch=1,
        kind=ExecutionKind.EFFECT, capability_id="files.write", capability_version="1",
        effect_digest=effect().effect_digest, decision_digest=digest("decision"), grant_digest=digest("grant"),
        executor_said=ExecutorSaid.OK, claimed=OBSERVED, graded=OBSERVED, reasons=(),
        status=EffectStatus.SUCCESS, failure_code=None, started_at_ms=NOW_MS, finished_at_ms=NOW_MS,
        resolved_resource_summary="file /a/b", destination_summary="/a", native_result={"written": 1},
        postcondition_evidence=known.observed, looks=(), expected=digest("expected"),
        input_hash=digest("input"), output_hash=None, context_snapshot=None, evidence_digest=known.digest(),
        retry_state=RetryState.FIRST, reasoning_route="structured", content_model_id=None,
        router_model_id=None, refused=False, person_says=None, said_by=None, settles=None,
    )  # fmt: skip
    return _with(made, fields)


def native(**fields: Any) -> Provenance:
    """Return where a reply of native code comes from."""
    made = Provenance(
        routing_mode=RoutingMode.LADDER, execution_kind=ExecutionMode.NATIVE, provider=LOCAL_PROVIDER,
        runtime="actum", model=None,
    )  # fmt: skip
    return _with(made, fields)


def cloud(**fields: Any) -> Provenance:
    """Return where a reply of a cloud model comes from."""
    made = Provenance(
        routing_mode=RoutingMode.LADDER, execution_kind=ExecutionMode.CLOUD_MODEL, provider="anthropic",
        runtime="https", model="m-1",
    )  # fmt: skip
    return _with(made, fields)


def message(**fields: Any) -> Message:
    """Return an assistant's message without an attribution."""
    made = Message(
        message_id="M1", tenant="local", turn_id="T1", role=Role.ASSISTANT, content_digest=digest("text"),
        provenance=None, receipt_id=None, said_at_ms=NOW_MS,
    )  # fmt: skip
    return _with(made, fields)


def chain_end(**fields: Any) -> ChainEnd:
    """Return the end of a chain whose effect was observed."""
    made = ChainEnd(
        kind=ExecutionKind.EFFECT.value, status=EffectStatus.SUCCESS, finality=EffectFinality.FINALIZED,
        confidence=EffectConfidence.VERIFIED, refused=None, person_says=None, said_by=None,
    )  # fmt: skip
    return _with(made, fields)


def turn_facts(**fields: Any) -> Facts:
    """Return the facts of a turn that did one thing, saw it, and has nothing left to do."""
    made = Facts(
        visits=(StepState.DONE,), undecided=False, failure=None, open_judgments=0, open_confirms=0,
        open_checks=0, proposals=(), rows=(), looking=False, chains=(chain_end(),),
        receipts=(digest("receipt"),), decisions=1, unbacked_assertions=0,
    )  # fmt: skip
    return _with(made, fields)


def _with(record: S, fields: dict[str, Any]) -> S:
    return msgspec.structs.replace(record, **fields) if fields else record
