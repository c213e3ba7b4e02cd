# SPDX-License-Identifier: Apache-2.0
"""Activity rows: one for each turn, where the state and the evidence behind it cannot disagree.

Rules
1. ``completed`` has at least one receipt, an evidence digest and no failure category.
2. ``failed`` has zero receipts, no evidence digest and a failure category.
3. Every other state has none of the three.
"""

from __future__ import annotations

import enum

import msgspec

from actum.model.errors import InvariantViolation


class ActivityState(enum.Enum):
    """The seven states of a turn."""

    QUEUED = "queued"
    ROUTING = "routing"
    RUNNING = "running"
    VERIFYING = "verifying"
    COMPLETED = "completed"
    FAILED = "failed"
    RECOVERY_REQUIRED = "recovery_required"


class FailureCategory(enum.Enum):
    """The layer that failed."""

    ROUTING = "routing"
    LOCAL_MODEL = "local_model"
    CLOUD_SERVICE = "cloud_service"
    NATIVE_EXECUTION = "native_execution"
    PERSISTENCE = "persistence"
    SETUP = "setup"
    UNKNOWN = "unknown"


class ActivityFilter(enum.Enum):
    """The four views of the activity list."""

    IN_PROGRESS = "in_progress"
    NEEDS_ATTENTION = "needs_attention"
    FINISHED = "finished"
    ALL = "all"


class Activity(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One turn as people see it; the three evidence columns are completion evidence, filled only then."""

    turn_id: str
    tenant: str
    title: str
    state: ActivityState
    receipt_count: int
    evidence_digest: str | None
    failure_category: FailureCategory | None
    failure_reason: str | None
    label: str | None
    open_questions: int
    acknowledged_by: str | None
    acknowledged_at_ms: int | None
    updated_at_ms: int

    def __post_init__(self) -> None:
        """Refuse a row whose state and evidence disagree, before it reaches the database."""
        bare = self.receipt_count == 0 and self.evidence_digest is None and self.failure_category is None
        if self.state is ActivityState.COMPLETED:
            # Rule 1
            good = (
                self.receipt_count >= 1 and self.evidence_digest is not None and self.failure_category is None
            )
        elif self.state is ActivityState.FAILED:
            # Rule 2
            good = (
                self.receipt_count == 0 and self.evidence_digest is None and self.failure_category is not None
            )
        else:
            # Rule 3
            good = bare
        if not good:
            raise InvariantViolation(
                f"activity {self.turn_id}: {self.state.value} disagrees with its evidence"
            )


def view_of(activity: Activity) -> ActivityFilter:
    """Return the one view, besides all, under which a turn is listed."""
    if activity.state is ActivityState.RECOVERY_REQUIRED or activity.open_questions > 0:
        return ActivityFilter.NEEDS_ATTENTION
    if activity.state is ActivityState.FAILED:
        return ActivityFilter.FINISHED if activity.acknowledged_by else ActivityFilter.NEEDS_ATTENTION
    if activity.state is ActivityState.COMPLETED:
        return ActivityFilter.FINISHED
    return ActivityFilter.IN_PROGRESS
