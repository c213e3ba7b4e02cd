# SPDX-License-Identifier: Apache-2.0
"""For every named rule, the smallest change of a valid row that breaks it, and only it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from actum.testing.store_exercises.samples import LATER, NOW, digest

Changes = dict[str, Any]
_HELD: Changes = {"state": "claimed", "holder": "h", "lease_until_ms": LATER, "epoch": 1, "attempts": 1}
_DISPATCHED: Changes = {"state": "dispatched", "dispatched_at_ms": NOW}
_NOTICE: Changes = {
    "kind": "notice", "effect_digest": None, "intent_digest": None, "idempotency_key": None, "grant_id": None,
}  # fmt: skip
_EVIDENCE = digest("evidence")


@dataclass(frozen=True, kw_only=True)
class Break:
    """How a rule is broken on INSERT and on UPDATE; None where it holds by another rule there.

    ``base`` changes the valid row that is stored first, ``through`` are changes it goes through.
    """

    rule: str
    table: str
    insert: Changes | None = None
    update: Changes | None = None
    base: Changes = field(default_factory=dict[str, Any])
    through: tuple[Changes, ...] = ()


def _both(rule: str, table: str, changes: Changes, **more: Any) -> Break:
    return Break(rule=rule, table=table, insert=changes, update=changes, **more)


def _insert(rule: str, table: str, changes: Changes) -> Break:
    return Break(rule=rule, table=table, insert=changes)


def _update(rule: str, table: str, changes: Changes, **more: Any) -> Break:
    return Break(rule=rule, table=table, update=changes, **more)


BREAKS = (
    _both("role_known", "role", {"role": "king"}),
    _insert("content_digest_form", "content", {"digest": "sha256:" + "A" * 64}),
    _both("content_held_or_erased", "content", {"file": "also.bin"}),
    _both("rulebook_times", "rulebook", {"active_until_ms": NOW - 1}),
    _insert("turn_reason_known", "turn", {"reason": "bored"}),
    _both("step_state_known", "step_visit", {"state": "lost"}),
    _insert("decision_rung_known", "decision", {"rung": "guess"}),
    _insert("decision_plumbing_tokens", "decision", {"input_tokens": 1}),
    _insert("decision_answers_step", "decision", {"step_id": "nowhere"}),
    _both("proposal_state_known", "proposal", {"state": "maybe"}),
    _both("proposal_granted_has_effect", "proposal", {"state": "granted"}),
    _insert("qualification_result_known", "qualification", {"result": "fine"}),
    _insert("question_reason_known", "question", {"reason": "curious"}),
    _both("question_state_known", "question", {"state": "asked"}),
    _both("question_answer_named", "question", {"state": "answered"}),
    _both("question_open_unanswered", "question", {"answer": "yes"}),
    _update(
        "question_answered_once",
        "question",
        {"answer": "no"},
        through=({"state": "answered", "answered_by": "bob", "answered_at_ms": NOW, "answer": "yes"},),
    ),
    _insert("grant_purpose_known", "grant", {"purpose": "fun"}),
    _insert("grant_expires_after_issue", "grant", {"expires_at_ms": NOW}),
    _insert("grant_named_person", "grant", {"principal": ""}),
    _insert("grant_starts_unused", "grant", {"used_by": "somebody"}),
    _update("grant_used_once", "grant", {"used_by": "another"}, through=({"used_by": "one"},)),
    _update("grant_void_unusable", "grant", {"used_by": "one"}, through=({"voided_at_ms": NOW},)),
    _update("grant_void_unusable", "grant", {"voided_at_ms": None}, through=({"voided_at_ms": NOW},)),
    _insert("outbox_kind_known", "outbox", {**_NOTICE, "kind": "wish"}),
    _update("outbox_state_known", "outbox", {"state": "somewhere"}),
    _insert("outbox_effect_named", "outbox", {"intent_digest": None}),
    _insert("outbox_effect_named", "outbox", {"kind": "notice"}),
    _update("outbox_holder_known", "outbox", {**_HELD, "holder": None}),
    _update("outbox_dispatch_marked", "outbox", {"state": "dispatched"}, base=_NOTICE, through=(_HELD,)),
    _insert("outbox_starts_waiting", "outbox", _HELD),
    _insert("outbox_starts_waiting", "outbox", {**_HELD, **_DISPATCHED}),
    _insert("outbox_ungranted_is_inform", "outbox", {"grant_id": None}),
    _update("outbox_dispatch_granted", "outbox", _DISPATCHED, through=(_HELD,)),
    _update("outbox_dispatch_from_claim", "outbox", {**_HELD, **_DISPATCHED}, base=_NOTICE),
    _update("outbox_settled_stays", "outbox", {"state": "ready"}, base={"state": "settled"}),
    _update("outbox_dispatched_never_back", "outbox", {"state": "ready"}, base=_NOTICE, through=(_HELD, _DISPATCHED)),
    _update("outbox_claim_counts", "outbox", {**_HELD, "attempts": 0, "epoch": 2}, base={"attempts": 1}),
    _update("outbox_claim_counts", "outbox", {"epoch": 4}, base={"epoch": 5}),
    _update("outbox_claim_counts", "outbox", {"holder": "thief"}, through=(_HELD,)),
    _update("outbox_mark_stays", "outbox", {"dispatched_at_ms": None, "state": "check_required"},
            base=_NOTICE, through=(_HELD, _DISPATCHED)),
    _insert("execution_kind_known", "execution", {"kind": "wish"}),
    _both("execution_times", "execution", {"finished_at_ms": NOW - 1}),
    _both("execution_said_known", "execution", {"executor_said": "sure"}),
    _update("execution_finished_once", "execution", {"executor_said": "rejected"},
            through=({"finished_at_ms": NOW, "executor_said": "ok"},)),
    _insert("receipt_finality_known", "receipt", {"status": None, "graded_finality": "probably"}),
    _insert("receipt_confidence_known", "receipt", {"status": None, "graded_confidence": "sure"}),
    _insert("receipt_status_known", "receipt", {"status": "great"}),
    _insert("receipt_status_earned", "receipt", {"graded_confidence": "not_verified"}),
    _insert("receipt_graded_not_higher", "receipt", {"claimed_confidence": "not_verified"}),
    _insert("receipt_graded_not_higher", "receipt", {"claimed_finality": "initiated"}),
    _insert("receipt_after_execution", "receipt", {"kind": "settlement"}),
    _insert("receipt_attempted_after_dispatch", "receipt",
            {"status": None, "claimed_finality": "not_attempted", "graded_finality": "not_attempted"}),
    _insert("log_leaf_hash_length", "log_leaf", {"leaf_hash": b"short"}),
    _insert("log_leaf_next", "log_leaf", {"seq": 700}),
    _insert("log_state_size", "log_state", {"size": -1}),
    _update("log_state_grows", "log_state", {"size": 2}),
    _insert("chain_seq", "chain", {"next_seq": -1}),
    _update("chain_grows", "chain", {"next_seq": 3}),
    _both("activity_state_known", "activity", {"state": "asleep"}),
    _both("activity_category_known", "activity", {"state": "failed", "failure_category": "weather"}),
    _both("activity_completed_has_evidence", "activity", {"state": "completed", "receipt_count": 1}),
    _both("activity_failed_has_category_only", "activity", {"state": "failed"}),
    _both("activity_open_is_bare", "activity", {"evidence_digest": _EVIDENCE}),
    _both("activity_open_is_bare", "activity", {"receipt_count": 1}),
    _both("activity_open_is_bare", "activity", {"failure_category": "unknown"}),
    _both("activity_evidence_form", "activity", {"state": "completed", "receipt_count": 1, "evidence_digest": "x"}),
    _both("activity_questions_counted", "activity", {"open_questions": -1}),
    _insert("message_role_known", "message", {"role": "system"}),
    _insert("message_kind_known", "message", {"execution_kind": "oracle"}),
    _insert("message_provenance_whole", "message", {"provider": None}),
    _update("runner_epoch_grows", "runner", {"epoch": 2}),
    _update("runner_epoch_grows", "runner", {"holder": "two"}),
)  # fmt: skip
"""Rules that one changed row shows. The others need rows beside it and have exercises of their own."""

UNIQUE = {
    "work_item_key_once": ("work_item", ("tenant", "principal", "key")),
    "effect_of_proposal_once": ("effect", ("tenant", "proposed_action_id")),
    "question_open_once": ("question", ("tenant", "reason", "subject_ref")),
    "outbox_effect_once": ("outbox", ("tenant", "effect_digest")),
    "execution_effect_once": ("execution", ("tenant", "outbox_id", "epoch")),
    "receipt_execution_once": ("receipt", ("tenant", "execution_id", "outbox_id", "turn_id")),
    "receipt_payload_once": ("receipt", ("tenant", "payload_digest")),
    "log_leaf_payload_once": ("log_leaf", ("tenant", "payload_digest")),
}
"""Rules that two rows break when they have these columns in common."""
BESIDE = {
    "activity_counts_receipts",
    "activity_completed_is_earned",
    "message_native_not_cloud",
    "message_native_has_receipt",
    "message_native_receipt_earned",
    "receipt_happened_after_dispatch",
}
"""Rules whose exercises stand in `activity`, `people` and `evidence`."""
