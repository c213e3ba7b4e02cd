# SPDX-License-Identifier: Apache-2.0
"""A receipt is what is known after one execution, graded on two axes, in a private and a published form.

The published form holds digests only. A receipt does not prove that nothing else happened, nor that the effect
was the right one to want.
"""

from __future__ import annotations

import enum

import msgspec

from actum.model.delivery import ExecutionKind
from actum.model.evidence import VerifiedPostcondition
from actum.model.grading import EffectStatus, ExecutorSaid, GradePair
from actum.model.look import SeenLook


class RetryState(enum.Enum):
    """Whether this execution repeated an earlier attempt of the same row."""

    FIRST = "first"
    RETRY = "retry"


class Receipt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole private receipt of one execution.

    ``claimed`` is what the kernel sealed after the look; ``graded`` is equal or lower. ``settles`` is the
    payload digest of the receipt this one looks at again. ``refused`` tells that Actum itself refused to
    dispatch; ``person_says`` is happened, did_not or stop, ``said_by`` whose word it is.
    Model fields are explicit nulls where no model ran.
    """

    receipt_id: str
    tenant: str
    turn_id: str
    execution_id: str
    outbox_id: str
    epoch: int
    kind: ExecutionKind
    capability_id: str
    capability_version: str
    effect_digest: str
    decision_digest: str
    grant_digest: str | None
    executor_said: ExecutorSaid | None
    claimed: GradePair
    graded: GradePair
    reasons: tuple[str, ...]
    status: EffectStatus | None
    failure_code: str | None
    started_at_ms: int
    finished_at_ms: int
    resolved_resource_summary: str
    destination_summary: str
    native_result: object
    postcondition_evidence: tuple[VerifiedPostcondition, ...]
    looks: tuple[SeenLook, ...]
    expected: str | None
    input_hash: str
    output_hash: str | None
    context_snapshot: str | None
    evidence_digest: str
    retry_state: RetryState
    reasoning_route: str
    content_model_id: str | None
    router_model_id: str | None
    refused: bool
    person_says: str | None
    said_by: str | None
    settles: str | None
