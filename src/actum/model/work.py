# SPDX-License-Identifier: Apache-2.0
"""Work items, turns and step visits: what came in, one pass of it, and where that pass stands."""

from __future__ import annotations

import enum

import msgspec


class StepState(enum.Enum):
    """Where one visit of a step stands."""

    PENDING = "pending"
    RESERVED = "reserved"
    RUNNING = "running"
    CHECK_REQUIRED = "check_required"
    DONE = "done"
    FAILED = "failed"


class TurnReason(enum.Enum):
    """Why a turn exists."""

    SUBMITTED = "submitted"
    CHANGED = "changed"
    RESUBMITTED = "resubmitted"
    EVENT = "event"


class WorkItem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A typed subject that came in; idempotent for (tenant, principal, key)."""

    work_item_id: str
    tenant: str
    principal: str
    work_type: str
    subject_digest: str
    key: str | None
    on_behalf_of: str | None
    received_at_ms: int


class Turn(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One pass of a work item through its process."""

    turn_id: str
    tenant: str
    work_item_id: str
    process: str
    rulebook_digest: str
    reason: TurnReason
    started_at_ms: int


class StepVisit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One visit of one step in one turn."""

    turn_id: str
    step_id: str
    position: int
    state: StepState


class Submission(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The work item line: what a submitter writes; the last three members are optional.

    ``subject`` is a foreign JSON object; ``attachments`` are {name: standard base64}.
    """

    work_type: str
    subject: dict[str, object]
    key: str | None = None
    on_behalf_of: str | None = None
    attachments: dict[str, str] | None = None
