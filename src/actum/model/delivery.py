# SPDX-License-Identifier: Apache-2.0
"""Outbox rows and executions: what waits to leave, who holds it, and one attempt at it."""

from __future__ import annotations

import enum

import msgspec

from actum.model.grading import ExecutorSaid


class OutboxKind(enum.Enum):
    """What a row does when its turn comes; only ``effect`` rows can need a grant."""

    EFFECT = "effect"
    MODEL_CALL = "model_call"
    NOTICE = "notice"
    TIMER = "timer"


class OutboxState(enum.Enum):
    """Where a row stands; ``dispatched`` commits before the executor is called."""

    READY = "ready"
    CLAIMED = "claimed"
    DISPATCHED = "dispatched"
    SETTLED = "settled"
    RETRY_WAIT = "retry_wait"
    CHECK_REQUIRED = "check_required"
    DEAD = "dead"


class ExecutionKind(enum.Enum):
    """What an execution was.

    ``effect`` touched the world, ``settlement`` looked again or stored a person's word, ``record`` wrote our own row.
    """

    EFFECT = "effect"
    SETTLEMENT = "settlement"
    RECORD = "record"


class OutboxRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of the only job mechanism there is.

    ``epoch`` fences every write of a holder; ``attempts`` counts claims, so that a crash counts too.
    ``body_digest`` names the packet of a model call; ``effect_digest`` the effect of an effect row.
    """

    outbox_id: str
    tenant: str
    kind: OutboxKind
    turn_id: str
    step_id: str
    capability: str
    effect_digest: str | None
    body_digest: str | None
    grant_id: str | None
    intent_digest: str | None
    idempotency_key: str | None
    state: OutboxState
    epoch: int
    attempts: int
    holder: str | None
    lease_until_ms: int | None
    not_before_ms: int
    dispatched_at_ms: int | None
    incarnation: str
    created_at_ms: int


class Execution(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One attempt: (outbox row, epoch), what the executor said, and the world before it.

    ``before`` is the digest the verifier saw before dispatch (null where it could not look).
    """

    execution_id: str
    tenant: str
    outbox_id: str
    turn_id: str
    epoch: int
    kind: ExecutionKind
    started_at_ms: int
    finished_at_ms: int | None
    before: str | None
    before_digest: str | None
    executor_said: ExecutorSaid | None
    result_digest: str | None
