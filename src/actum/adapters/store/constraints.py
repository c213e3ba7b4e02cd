# SPDX-License-Identifier: Apache-2.0
"""Each named rule of the schema has one sentence, so that a refused row reads as what it broke."""

from __future__ import annotations

from actum.model.errors import RefusedError

RULES = {
    "role_known": "a role is submitter, approver or operator",
    "content_digest_form": "content is kept under sha256: and 64 hex digits",
    "content_held_or_erased": "content is held in one place, or erased with its digest kept",
    "rulebook_times": "a rulebook does not end before it starts",
    "work_item_key_once": "a principal submits one work item under a key",
    "turn_reason_known": "a turn has one of its four reasons",
    "step_state_known": "a step visit is in one of its six states",
    "decision_rung_known": "a decision was made on one of the five rungs",
    "decision_plumbing_tokens": "only the reasoning rung uses tokens",
    "decision_answers_step": "a decision answers a step visit of its turn",
    "proposal_state_known": "a proposal is in one of its seven states",
    "proposal_granted_has_effect": "a granted proposal has an effect",
    "effect_of_proposal_once": "a proposal has one effect",
    "qualification_result_known": "a qualification is passed, failed or not possible",
    "question_reason_known": "a question has one of its six reasons",
    "question_state_known": "a question is open, answered or void",
    "question_open_once": "one thing is asked about once at a time, for one reason",
    "question_answer_named": "an answered question names who answered, when and what",
    "question_open_unanswered": "an open question has no answer",
    "question_answered_once": "a question is answered once",
    "grant_purpose_known": "a grant has one of its five purposes",
    "grant_expires_after_issue": "a grant expires after it is issued",
    "grant_named_person": "a grant names a person",
    "grant_starts_unused": "a grant begins unused and not void",
    "grant_used_once": "a grant is used by one row, once",
    "grant_void_unusable": "a void grant cannot be used and stays void",
    "outbox_kind_known": "an outbox row has one of its four kinds",
    "outbox_effect_once": "an effect has one outbox row",
    "outbox_state_known": "an outbox row is in one of its seven states",
    "outbox_effect_named": "an effect row, and no other, names its effect, with intent and idempotency key",
    "outbox_holder_known": "a claimed or dispatched row names its holder, lease, epoch and attempt",
    "outbox_dispatch_marked": "a dispatched row carries the time of its mark",
    "outbox_starts_waiting": "a row enters the outbox waiting or settled, never claimed or dispatched",
    "outbox_ungranted_is_inform": "an effect without a grant changes nothing and stays on this machine",
    "outbox_claim_counts": "a claim raises epoch and attempts by one, and neither ever falls",
    "outbox_mark_stays": "the mark of a dispatch is never taken away",
    "outbox_dispatch_granted": "a dispatched row holds a live confirm of its own effect, taken by this row",
    "outbox_dispatch_from_claim": "a row is dispatched only from a claim",
    "outbox_settled_stays": "a settled row stays settled",
    "outbox_dispatched_never_back": "a dispatched row never becomes ready again by itself",
    "execution_kind_known": "an execution is an effect, a settlement or a record",
    "execution_times": "an execution does not end before it starts",
    "execution_said_known": "an executor says one of five words",
    "execution_effect_once": "an epoch of a row has one effect execution",
    "execution_finished_once": "what an executor said is written once",
    "receipt_finality_known": "a finality is one of five",
    "receipt_confidence_known": "a confidence is one of five",
    "receipt_status_known": "a status is one of five, or absent",
    "receipt_status_earned": "success needs finalized and verified",
    "receipt_graded_not_higher": "a grade is never higher than the claim",
    "receipt_execution_once": "an execution has one receipt",
    "receipt_payload_once": "a receipt is stored once",
    "receipt_after_execution": "a receipt follows its finished execution",
    "receipt_attempted_after_dispatch": "a dispatched row is never sealed as not attempted",
    "receipt_happened_after_dispatch": "nothing is sealed as happened that was not dispatched",
    "log_leaf_next": "leaves are numbered from zero without a gap",
    "log_leaf_payload_once": "a record is logged once",
    "log_leaf_hash_length": "a leaf hash has 32 bytes",
    "log_state_size": "a log has no negative size",
    "log_state_grows": "a log never becomes shorter",
    "chain_seq": "a chain is numbered from zero",
    "chain_grows": "a chain only counts up",
    "runner_epoch_grows": "another runner has a higher epoch",
    "activity_state_known": "a turn is in one of its seven states",
    "activity_category_known": "a failure has one of its seven categories",
    "activity_completed_has_evidence": "a completed turn has a receipt, an evidence digest, and no failure",
    "activity_failed_has_category_only": "a failed turn has a category and no completion evidence",
    "activity_open_is_bare": "an unfinished turn has neither completion evidence nor a failure",
    "activity_evidence_form": "an evidence digest is sha256: and 64 hex digits",
    "activity_questions_counted": "a turn has no negative number of open questions",
    "activity_counts_receipts": "a completed turn counts exactly its receipts",
    "activity_completed_is_earned": "failures and unknown outcomes alone complete no turn",
    "message_role_known": "a message is the user's, the assistant's or a tool's",
    "message_kind_known": "a reply was made natively, by a local or by a cloud model",
    "message_provenance_whole": "a provenance is whole or absent",
    "message_native_not_cloud": "a native reply names no cloud provider",
    "message_native_has_receipt": "a native reply names the receipt it stands on",
    "message_native_receipt_earned": "a native reply stands on a receipt of its turn, graded finalized and verified",
}
"""Every rule that a row can break, by the name it has in both databases."""

REFERENCE = "reference"
"""The name of a broken foreign key, which SQLite does not tell apart."""
_ENDINGS = {
    "_append_only": "rows of {} are never changed",
    "_never_deleted": "rows of {} are never deleted",
    "_words_fixed": "what a row of {} says cannot change afterwards",
    "_once": "an id of {} stands for one row",
}


def name_of(text: str) -> str:
    """Return the rule's name from SQLite's message: a CHECK puts words before it."""
    if text.startswith("FOREIGN KEY"):
        return REFERENCE
    return text.removeprefix("CHECK constraint failed: ").strip()


def sentence(name: str) -> str | None:
    """Return what a rule says, or None where no rule has that name."""
    if name in RULES:
        return RULES[name]
    if name == REFERENCE:
        return "a row refers to one that is there"
    for ending, words in _ENDINGS.items():
        if name.endswith(ending):
            return words.format(name.removesuffix(ending))
    return None


def refusal(name: str) -> RefusedError:
    """Return the error for a broken rule; an unknown name is shown as it is."""
    return RefusedError(
        "store_rule",
        failed=f"the database refused a row: {sentence(name) or name}",
        state="Nothing of this write was kept; the records are as they were before it",
        next_step="Do not write around it: it keeps the record true. If you wrote nothing by hand, report it",
        rule=name,
    )
