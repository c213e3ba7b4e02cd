# SPDX-License-Identifier: Apache-2.0
"""Each named rule of the schema has one sentence, so that a refused row reads as what it broke."""

from __future__ import annotations

from actum.model.errors import RefusedError

RULES = {
    "role_known": "a role is submitter, approver or operator",
    "content_digest_form": "content is kept under sha256: and 64 hex digits",
    "content_held_or_erased": "content is held in one place, or erased with its digest kept",
    "rulebook_times": "a rulebook does not end before it starts",
    "turn_reason_known": "a turn has one of its four reasons",
    "step_state_known": "a step visit is in one of its six states",
    "decision_rung_known": "a decision was made on one of the five rungs",
    "decision_plumbing_tokens": "only the reasoning rung uses tokens",
    "decision_answers_step": "a decision answers a step visit of its turn",
    "proposal_state_known": "a proposal is in one of its seven states",
    "proposal_granted_has_effect": "a granted proposal has an effect",
    "qualification_result_known": "a qualification is passed, failed or not possible",
    "question_reason_known": "a question has one of its six reasons",
    "question_state_known": "a question is open, answered or void",
    "question_answer_named": "an answered question names who answered, when and what",
    "question_open_unanswered": "an open question has no answer",
    "question_answered_once": "a question is answered once",
    "grant_purpose_known": "a grant has one of its five purposes",
    "grant_expires_after_issue": "a grant expires after it is issued",
    "grant_named_person": "a grant names a person",
    "grant_used_once": "a grant is used by one row, once",
    "grant_void_unusable": "a void grant cannot be used",
    "grant_words_fixed": "the words of a grant cannot change",
    "outbox_kind_known": "an outbox row has one of its four kinds",
    "outbox_state_known": "an outbox row is in one of its seven states",
    "outbox_effect_named": "an effect row names its effect, intent and idempotency key",
    "outbox_holder_known": "a claimed or dispatched row names its holder, lease, epoch and attempt",
    "outbox_dispatch_marked": "a dispatched row carries the time of its mark",
    "outbox_ungranted_is_inform": "an effect without a grant changes nothing and stays on this machine",
    "outbox_grant_fixed": "the grant and effect of a row cannot change",
    "outbox_dispatch_granted": "a row is dispatched under an unused confirm of its exact effect",
    "outbox_dispatch_from_claim": "a row is dispatched only from a claim",
    "outbox_settled_stays": "a settled row stays settled",
    "outbox_dispatched_never_back": "a dispatched row never becomes ready again by itself",
    "execution_kind_known": "an execution is an effect, a settlement or a record",
    "execution_times": "an execution does not end before it starts",
    "execution_said_known": "an executor says one of five words",
    "receipt_finality_known": "a finality is one of five",
    "receipt_confidence_known": "a confidence is one of five",
    "receipt_status_known": "a status is one of five, or absent",
    "receipt_status_earned": "success needs finalized and verified",
    "receipt_graded_not_higher": "a grade is never higher than the claim",
    "receipt_after_execution": "a receipt follows its finished execution",
    "receipt_attempted_after_dispatch": "a dispatched row is never sealed as not attempted",
    "log_leaf_seq": "leaves are numbered from zero",
    "log_leaf_hash_length": "a leaf hash has 32 bytes",
    "log_state_size": "a log has no negative size",
    "activity_state_known": "a turn is in one of its seven states",
    "activity_category_known": "a failure has one of its seven categories",
    "activity_completed_has_evidence": "a completed turn has a receipt and an evidence digest, and no failure",
    "activity_failed_has_category_only": "a failed turn has a category and no completion evidence",
    "activity_open_is_bare": "an unfinished turn has neither completion evidence nor a failure",
    "activity_evidence_form": "an evidence digest is sha256: and 64 hex digits",
    "activity_counts_receipts": "a completed turn counts exactly its receipts",
    "message_role_known": "a message is the user's, the assistant's or a tool's",
    "message_kind_known": "a reply was made natively, by a local or by a cloud model",
    "message_provenance_whole": "a provenance is whole or absent",
    "message_native_not_cloud": "a native reply names no cloud provider",
    "message_native_has_receipt": "a native reply names the receipt it stands on",
    "message_native_receipt_earned": "a native reply stands on an effect of its turn graded finalized and verified",
}
"""Every rule that a row can break, by the name it has in both databases."""

APPEND_ONLY = "_append_only"
NEVER_DELETED = "_never_deleted"


def refusal(name: str) -> RefusedError:
    """Return the error for a broken rule; an unknown name is shown as it is."""
    sentence = RULES.get(name)
    if sentence is None and name.endswith(APPEND_ONLY):
        sentence = f"rows of {name.removesuffix(APPEND_ONLY)} are never changed"
    if sentence is None and name.endswith(NEVER_DELETED):
        sentence = f"rows of {name.removesuffix(NEVER_DELETED)} are never deleted"
    return RefusedError(
        "store_rule",
        failed=f"the database refused a row: {sentence or name}",
        state="Nothing of this write was kept; the records are as they were before it",
        next_step="Do not write around it: this rule keeps the record true. If you did not write by hand, report it",
        rule=name,
    )
