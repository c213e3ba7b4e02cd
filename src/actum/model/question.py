# SPDX-License-Identifier: Apache-2.0
"""A question is work that waits for a person; there is one human queue and this is its only record."""

from __future__ import annotations

import enum

import msgspec


class QuestionReason(enum.Enum):
    """Why a person is asked."""

    JUDGMENT = "judgment"
    CONFIRM = "confirm"
    CHECK_REQUIRED = "check_required"
    ESCALATED_DEADLINE = "escalated_deadline"
    DEAD_LETTER = "dead_letter"
    BINDING_MISMATCH = "binding_mismatch"


class QuestionState(enum.Enum):
    """Open until a person answers, or void when it can no longer be acted upon."""

    OPEN = "open"
    ANSWERED = "answered"
    VOID = "void"


class Question(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person is asked, about exactly which record, and how it was answered.

    ``subject_ref`` is an effect digest (confirm), a decision step ``turn/step`` (judgment) or an outbox id.
    ``shown_digest`` names the content object with what is shown, frozen as it was when asked.
    """

    question_id: str
    tenant: str
    turn_id: str
    step_id: str | None
    reason: QuestionReason
    subject_ref: str
    shown_digest: str
    state: QuestionState
    asked_at_ms: int
    answered_by: str | None = None
    answered_at_ms: int | None = None
    answer: str | None = None
