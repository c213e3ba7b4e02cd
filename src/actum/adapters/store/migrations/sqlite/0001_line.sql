-- SPDX-License-Identifier: Apache-2.0
-- The line's tables. Each rule is a named CHECK and a trigger of the same name on INSERT and UPDATE, because a
-- pragma can switch CHECKs off and OR IGNORE swallows them; a trigger with RAISE(ABORT) obeys neither.

CREATE TABLE meta (
    key TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE role (
    tenant TEXT NOT NULL,
    principal TEXT NOT NULL,
    role TEXT NOT NULL,
    granted_by TEXT NOT NULL,
    granted_at_ms INTEGER NOT NULL,
    PRIMARY KEY (tenant, principal, role),
    CONSTRAINT role_known CHECK (role IN ('submitter', 'approver', 'operator'))
) STRICT, WITHOUT ROWID;
CREATE TRIGGER role_known_insert BEFORE INSERT ON role
WHEN NOT coalesce(NEW.role IN ('submitter', 'approver', 'operator'), 0)
BEGIN SELECT RAISE(ABORT, 'role_known'); END;
CREATE TRIGGER role_known_update BEFORE UPDATE ON role
WHEN NOT coalesce(NEW.role IN ('submitter', 'approver', 'operator'), 0)
BEGIN SELECT RAISE(ABORT, 'role_known'); END;

CREATE TABLE content (
    tenant TEXT NOT NULL,
    digest TEXT NOT NULL,
    body BLOB,
    file TEXT,
    size INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    erased_at_ms INTEGER,
    PRIMARY KEY (tenant, digest),
    CONSTRAINT content_digest_form CHECK (length(digest) = 71 AND substr(digest, 1, 7) = 'sha256:'),
    CONSTRAINT content_held_or_erased CHECK ((erased_at_ms IS NULL AND (body IS NOT NULL) <> (file IS NOT NULL)) OR (erased_at_ms IS NOT NULL AND body IS NULL AND file IS NULL))
) STRICT;
CREATE TRIGGER content_digest_form_insert BEFORE INSERT ON content
WHEN NOT coalesce(length(NEW.digest) = 71 AND substr(NEW.digest, 1, 7) = 'sha256:', 0)
BEGIN SELECT RAISE(ABORT, 'content_digest_form'); END;
CREATE TRIGGER content_digest_form_update BEFORE UPDATE ON content
WHEN NOT coalesce(length(NEW.digest) = 71 AND substr(NEW.digest, 1, 7) = 'sha256:', 0)
BEGIN SELECT RAISE(ABORT, 'content_digest_form'); END;
CREATE TRIGGER content_held_or_erased_insert BEFORE INSERT ON content
WHEN NOT coalesce((NEW.erased_at_ms IS NULL AND (NEW.body IS NOT NULL) <> (NEW.file IS NOT NULL)) OR (NEW.erased_at_ms IS NOT NULL AND NEW.body IS NULL AND NEW.file IS NULL), 0)
BEGIN SELECT RAISE(ABORT, 'content_held_or_erased'); END;
CREATE TRIGGER content_held_or_erased_update BEFORE UPDATE ON content
WHEN NOT coalesce((NEW.erased_at_ms IS NULL AND (NEW.body IS NOT NULL) <> (NEW.file IS NOT NULL)) OR (NEW.erased_at_ms IS NOT NULL AND NEW.body IS NULL AND NEW.file IS NULL), 0)
BEGIN SELECT RAISE(ABORT, 'content_held_or_erased'); END;
CREATE TRIGGER content_append_only_delete BEFORE DELETE ON content
BEGIN SELECT RAISE(ABORT, 'content_never_deleted'); END;

CREATE TABLE rulebook (
    tenant TEXT NOT NULL,
    digest TEXT NOT NULL,
    body BLOB NOT NULL,
    active_from_ms INTEGER NOT NULL,
    active_until_ms INTEGER,
    activated_by TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (tenant, seq),
    CONSTRAINT rulebook_times CHECK (active_until_ms IS NULL OR active_until_ms >= active_from_ms)
) STRICT;
CREATE TRIGGER rulebook_times_insert BEFORE INSERT ON rulebook
WHEN NOT coalesce(NEW.active_until_ms IS NULL OR NEW.active_until_ms >= NEW.active_from_ms, 0)
BEGIN SELECT RAISE(ABORT, 'rulebook_times'); END;
CREATE TRIGGER rulebook_times_update BEFORE UPDATE ON rulebook
WHEN NOT coalesce(NEW.active_until_ms IS NULL OR NEW.active_until_ms >= NEW.active_from_ms, 0)
BEGIN SELECT RAISE(ABORT, 'rulebook_times'); END;
CREATE TRIGGER rulebook_append_only_delete BEFORE DELETE ON rulebook
BEGIN SELECT RAISE(ABORT, 'rulebook_never_deleted'); END;

CREATE TABLE work_item (
    work_item_id TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    principal TEXT NOT NULL,
    work_type TEXT NOT NULL,
    subject_digest TEXT NOT NULL,
    key TEXT,
    on_behalf_of TEXT,
    received_at_ms INTEGER NOT NULL,
    UNIQUE (tenant, principal, key)
) STRICT;
CREATE TRIGGER work_item_append_only_update BEFORE UPDATE ON work_item
BEGIN SELECT RAISE(ABORT, 'work_item_append_only'); END;
CREATE TRIGGER work_item_append_only_delete BEFORE DELETE ON work_item
BEGIN SELECT RAISE(ABORT, 'work_item_never_deleted'); END;

CREATE TABLE turn (
    turn_id TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    work_item_id TEXT NOT NULL REFERENCES work_item,
    process TEXT NOT NULL,
    rulebook_digest TEXT NOT NULL,
    reason TEXT NOT NULL,
    started_at_ms INTEGER NOT NULL,
    CONSTRAINT turn_reason_known CHECK (reason IN ('submitted', 'changed', 'resubmitted', 'event'))
) STRICT;
CREATE TRIGGER turn_reason_known_insert BEFORE INSERT ON turn
WHEN NOT coalesce(NEW.reason IN ('submitted', 'changed', 'resubmitted', 'event'), 0)
BEGIN SELECT RAISE(ABORT, 'turn_reason_known'); END;
CREATE TRIGGER turn_reason_known_update BEFORE UPDATE ON turn
WHEN NOT coalesce(NEW.reason IN ('submitted', 'changed', 'resubmitted', 'event'), 0)
BEGIN SELECT RAISE(ABORT, 'turn_reason_known'); END;
CREATE TRIGGER turn_append_only_update BEFORE UPDATE ON turn
BEGIN SELECT RAISE(ABORT, 'turn_append_only'); END;
CREATE TRIGGER turn_append_only_delete BEFORE DELETE ON turn
BEGIN SELECT RAISE(ABORT, 'turn_never_deleted'); END;

CREATE TABLE step_visit (
    turn_id TEXT NOT NULL REFERENCES turn,
    step_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    position INTEGER NOT NULL,
    state TEXT NOT NULL,
    writes BLOB,
    PRIMARY KEY (turn_id, step_id),
    CONSTRAINT step_state_known CHECK (state IN ('pending', 'reserved', 'running', 'check_required', 'done', 'failed'))
) STRICT, WITHOUT ROWID;
CREATE TRIGGER step_state_known_insert BEFORE INSERT ON step_visit
WHEN NOT coalesce(NEW.state IN ('pending', 'reserved', 'running', 'check_required', 'done', 'failed'), 0)
BEGIN SELECT RAISE(ABORT, 'step_state_known'); END;
CREATE TRIGGER step_state_known_update BEFORE UPDATE ON step_visit
WHEN NOT coalesce(NEW.state IN ('pending', 'reserved', 'running', 'check_required', 'done', 'failed'), 0)
BEGIN SELECT RAISE(ABORT, 'step_state_known'); END;
CREATE TRIGGER step_visit_append_only_delete BEFORE DELETE ON step_visit
BEGIN SELECT RAISE(ABORT, 'step_visit_never_deleted'); END;

CREATE TABLE decision (
    digest TEXT NOT NULL,
    tenant TEXT NOT NULL,
    turn_id TEXT NOT NULL REFERENCES turn,
    step_id TEXT NOT NULL,
    rung TEXT NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    decided_at_ms INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (turn_id, step_id),
    CONSTRAINT decision_rung_known CHECK (rung IN ('structured', 'pattern', 'learned', 'reasoning', 'judgment')),
    CONSTRAINT decision_plumbing_tokens CHECK (rung IN ('reasoning') OR (input_tokens = 0 AND output_tokens = 0))
) STRICT;
CREATE TRIGGER decision_rung_known_insert BEFORE INSERT ON decision
WHEN NOT coalesce(NEW.rung IN ('structured', 'pattern', 'learned', 'reasoning', 'judgment'), 0)
BEGIN SELECT RAISE(ABORT, 'decision_rung_known'); END;
CREATE TRIGGER decision_rung_known_update BEFORE UPDATE ON decision
WHEN NOT coalesce(NEW.rung IN ('structured', 'pattern', 'learned', 'reasoning', 'judgment'), 0)
BEGIN SELECT RAISE(ABORT, 'decision_rung_known'); END;
CREATE TRIGGER decision_plumbing_tokens_insert BEFORE INSERT ON decision
WHEN NOT coalesce(NEW.rung IN ('reasoning') OR (NEW.input_tokens = 0 AND NEW.output_tokens = 0), 0)
BEGIN SELECT RAISE(ABORT, 'decision_plumbing_tokens'); END;
CREATE TRIGGER decision_plumbing_tokens_update BEFORE UPDATE ON decision
WHEN NOT coalesce(NEW.rung IN ('reasoning') OR (NEW.input_tokens = 0 AND NEW.output_tokens = 0), 0)
BEGIN SELECT RAISE(ABORT, 'decision_plumbing_tokens'); END;
CREATE TRIGGER decision_append_only_update BEFORE UPDATE ON decision
BEGIN SELECT RAISE(ABORT, 'decision_append_only'); END;
CREATE TRIGGER decision_append_only_delete BEFORE DELETE ON decision
BEGIN SELECT RAISE(ABORT, 'decision_never_deleted'); END;

CREATE TABLE proposal (
    proposed_action_id TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    turn_id TEXT NOT NULL REFERENCES turn,
    step_id TEXT NOT NULL,
    decision_digest TEXT NOT NULL,
    capability TEXT NOT NULL,
    arguments_digest TEXT NOT NULL,
    effect_digest TEXT,
    state TEXT NOT NULL,
    refusal TEXT,
    proposed_at_ms INTEGER NOT NULL,
    CONSTRAINT proposal_state_known CHECK (state IN ('staged', 'granted', 'refused', 'declined', 'cancelled', 'superseded', 'settled')),
    CONSTRAINT proposal_granted_has_effect CHECK (state NOT IN ('granted', 'settled') OR effect_digest IS NOT NULL)
) STRICT;
CREATE TRIGGER proposal_state_known_insert BEFORE INSERT ON proposal
WHEN NOT coalesce(NEW.state IN ('staged', 'granted', 'refused', 'declined', 'cancelled', 'superseded', 'settled'), 0)
BEGIN SELECT RAISE(ABORT, 'proposal_state_known'); END;
CREATE TRIGGER proposal_state_known_update BEFORE UPDATE ON proposal
WHEN NOT coalesce(NEW.state IN ('staged', 'granted', 'refused', 'declined', 'cancelled', 'superseded', 'settled'), 0)
BEGIN SELECT RAISE(ABORT, 'proposal_state_known'); END;
CREATE TRIGGER proposal_granted_has_effect_insert BEFORE INSERT ON proposal
WHEN NOT coalesce(NEW.state NOT IN ('granted', 'settled') OR NEW.effect_digest IS NOT NULL, 0)
BEGIN SELECT RAISE(ABORT, 'proposal_granted_has_effect'); END;
CREATE TRIGGER proposal_granted_has_effect_update BEFORE UPDATE ON proposal
WHEN NOT coalesce(NEW.state NOT IN ('granted', 'settled') OR NEW.effect_digest IS NOT NULL, 0)
BEGIN SELECT RAISE(ABORT, 'proposal_granted_has_effect'); END;
CREATE TRIGGER proposal_append_only_delete BEFORE DELETE ON proposal
BEGIN SELECT RAISE(ABORT, 'proposal_never_deleted'); END;

CREATE TABLE effect (
    effect_digest TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    proposed_action_id TEXT NOT NULL,
    salt TEXT NOT NULL,
    descriptor TEXT NOT NULL,
    arguments BLOB NOT NULL,
    shown BLOB NOT NULL,
    context BLOB NOT NULL,
    UNIQUE (proposed_action_id)
) STRICT;
CREATE TRIGGER effect_append_only_update BEFORE UPDATE ON effect
BEGIN SELECT RAISE(ABORT, 'effect_append_only'); END;
CREATE TRIGGER effect_append_only_delete BEFORE DELETE ON effect
BEGIN SELECT RAISE(ABORT, 'effect_never_deleted'); END;

CREATE TABLE qualification (
    digest TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    effect_digest TEXT NOT NULL REFERENCES effect,
    result TEXT NOT NULL,
    body BLOB NOT NULL,
    recorded_at_ms INTEGER NOT NULL,
    CONSTRAINT qualification_result_known CHECK (result IN ('passed', 'failed', 'not_possible'))
) STRICT;
CREATE TRIGGER qualification_result_known_insert BEFORE INSERT ON qualification
WHEN NOT coalesce(NEW.result IN ('passed', 'failed', 'not_possible'), 0)
BEGIN SELECT RAISE(ABORT, 'qualification_result_known'); END;
CREATE TRIGGER qualification_result_known_update BEFORE UPDATE ON qualification
WHEN NOT coalesce(NEW.result IN ('passed', 'failed', 'not_possible'), 0)
BEGIN SELECT RAISE(ABORT, 'qualification_result_known'); END;
CREATE TRIGGER qualification_append_only_update BEFORE UPDATE ON qualification
BEGIN SELECT RAISE(ABORT, 'qualification_append_only'); END;
CREATE TRIGGER qualification_append_only_delete BEFORE DELETE ON qualification
BEGIN SELECT RAISE(ABORT, 'qualification_never_deleted'); END;

CREATE TABLE question (
    question_id TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    turn_id TEXT NOT NULL REFERENCES turn,
    step_id TEXT,
    reason TEXT NOT NULL,
    subject_ref TEXT NOT NULL,
    shown_digest TEXT NOT NULL,
    state TEXT NOT NULL,
    asked_at_ms INTEGER NOT NULL,
    answered_by TEXT,
    answered_at_ms INTEGER,
    answer TEXT,
    CONSTRAINT question_reason_known CHECK (reason IN ('judgment', 'confirm', 'check_required', 'escalated_deadline', 'dead_letter', 'binding_mismatch')),
    CONSTRAINT question_state_known CHECK (state IN ('open', 'answered', 'void')),
    CONSTRAINT question_answer_named CHECK (state <> 'answered' OR (answered_by IS NOT NULL AND answered_at_ms IS NOT NULL AND answer IS NOT NULL)),
    CONSTRAINT question_open_unanswered CHECK (state <> 'open' OR (answered_by IS NULL AND answered_at_ms IS NULL AND answer IS NULL))
) STRICT;
CREATE TRIGGER question_reason_known_insert BEFORE INSERT ON question
WHEN NOT coalesce(NEW.reason IN ('judgment', 'confirm', 'check_required', 'escalated_deadline', 'dead_letter', 'binding_mismatch'), 0)
BEGIN SELECT RAISE(ABORT, 'question_reason_known'); END;
CREATE TRIGGER question_reason_known_update BEFORE UPDATE ON question
WHEN NOT coalesce(NEW.reason IN ('judgment', 'confirm', 'check_required', 'escalated_deadline', 'dead_letter', 'binding_mismatch'), 0)
BEGIN SELECT RAISE(ABORT, 'question_reason_known'); END;
CREATE TRIGGER question_state_known_insert BEFORE INSERT ON question
WHEN NOT coalesce(NEW.state IN ('open', 'answered', 'void'), 0)
BEGIN SELECT RAISE(ABORT, 'question_state_known'); END;
CREATE TRIGGER question_state_known_update BEFORE UPDATE ON question
WHEN NOT coalesce(NEW.state IN ('open', 'answered', 'void'), 0)
BEGIN SELECT RAISE(ABORT, 'question_state_known'); END;
CREATE TRIGGER question_answer_named_insert BEFORE INSERT ON question
WHEN NOT coalesce(NEW.state <> 'answered' OR (NEW.answered_by IS NOT NULL AND NEW.answered_at_ms IS NOT NULL AND NEW.answer IS NOT NULL), 0)
BEGIN SELECT RAISE(ABORT, 'question_answer_named'); END;
CREATE TRIGGER question_answer_named_update BEFORE UPDATE ON question
WHEN NOT coalesce(NEW.state <> 'answered' OR (NEW.answered_by IS NOT NULL AND NEW.answered_at_ms IS NOT NULL AND NEW.answer IS NOT NULL), 0)
BEGIN SELECT RAISE(ABORT, 'question_answer_named'); END;
CREATE TRIGGER question_open_unanswered_insert BEFORE INSERT ON question
WHEN NOT coalesce(NEW.state <> 'open' OR (NEW.answered_by IS NULL AND NEW.answered_at_ms IS NULL AND NEW.answer IS NULL), 0)
BEGIN SELECT RAISE(ABORT, 'question_open_unanswered'); END;
CREATE TRIGGER question_open_unanswered_update BEFORE UPDATE ON question
WHEN NOT coalesce(NEW.state <> 'open' OR (NEW.answered_by IS NULL AND NEW.answered_at_ms IS NULL AND NEW.answer IS NULL), 0)
BEGIN SELECT RAISE(ABORT, 'question_open_unanswered'); END;
CREATE TRIGGER question_append_only_delete BEFORE DELETE ON question
BEGIN SELECT RAISE(ABORT, 'question_never_deleted'); END;

CREATE TABLE "grant" (
    grant_id TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    purpose TEXT NOT NULL,
    principal TEXT NOT NULL,
    subject_digest TEXT NOT NULL,
    incarnation TEXT NOT NULL,
    issued_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    body TEXT NOT NULL,
    payload_digest TEXT NOT NULL,
    envelope BLOB NOT NULL,
    used_by TEXT,
    voided_at_ms INTEGER,
    CONSTRAINT grant_purpose_known CHECK (purpose IN ('confirm', 'promotion', 'pattern_activation', 'settlement', 'policy')),
    CONSTRAINT grant_expires_after_issue CHECK (expires_at_ms > issued_at_ms),
    CONSTRAINT grant_named_person CHECK (length(principal) > 0)
) STRICT;
CREATE TRIGGER grant_purpose_known_insert BEFORE INSERT ON "grant"
WHEN NOT coalesce(NEW.purpose IN ('confirm', 'promotion', 'pattern_activation', 'settlement', 'policy'), 0)
BEGIN SELECT RAISE(ABORT, 'grant_purpose_known'); END;
CREATE TRIGGER grant_purpose_known_update BEFORE UPDATE ON "grant"
WHEN NOT coalesce(NEW.purpose IN ('confirm', 'promotion', 'pattern_activation', 'settlement', 'policy'), 0)
BEGIN SELECT RAISE(ABORT, 'grant_purpose_known'); END;
CREATE TRIGGER grant_expires_after_issue_insert BEFORE INSERT ON "grant"
WHEN NOT coalesce(NEW.expires_at_ms > NEW.issued_at_ms, 0)
BEGIN SELECT RAISE(ABORT, 'grant_expires_after_issue'); END;
CREATE TRIGGER grant_expires_after_issue_update BEFORE UPDATE ON "grant"
WHEN NOT coalesce(NEW.expires_at_ms > NEW.issued_at_ms, 0)
BEGIN SELECT RAISE(ABORT, 'grant_expires_after_issue'); END;
CREATE TRIGGER grant_named_person_insert BEFORE INSERT ON "grant"
WHEN NOT coalesce(length(NEW.principal) > 0, 0)
BEGIN SELECT RAISE(ABORT, 'grant_named_person'); END;
CREATE TRIGGER grant_named_person_update BEFORE UPDATE ON "grant"
WHEN NOT coalesce(length(NEW.principal) > 0, 0)
BEGIN SELECT RAISE(ABORT, 'grant_named_person'); END;
CREATE TRIGGER grant_append_only_delete BEFORE DELETE ON "grant"
BEGIN SELECT RAISE(ABORT, 'grant_never_deleted'); END;

CREATE TABLE outbox (
    outbox_id TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    turn_id TEXT NOT NULL REFERENCES turn,
    step_id TEXT NOT NULL,
    capability TEXT NOT NULL,
    effect_digest TEXT REFERENCES effect,
    body_digest TEXT,
    grant_id TEXT REFERENCES "grant",
    intent_digest TEXT,
    idempotency_key TEXT,
    state TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    holder TEXT,
    lease_until_ms INTEGER,
    not_before_ms INTEGER NOT NULL,
    dispatched_at_ms INTEGER,
    incarnation TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    UNIQUE (effect_digest),
    CONSTRAINT outbox_kind_known CHECK (kind IN ('effect', 'model_call', 'notice', 'timer')),
    CONSTRAINT outbox_state_known CHECK (state IN ('ready', 'claimed', 'dispatched', 'settled', 'retry_wait', 'check_required', 'dead')),
    CONSTRAINT outbox_effect_named CHECK (kind <> 'effect' OR (effect_digest IS NOT NULL AND intent_digest IS NOT NULL AND idempotency_key IS NOT NULL)),
    CONSTRAINT outbox_holder_known CHECK (state NOT IN ('claimed', 'dispatched') OR (holder IS NOT NULL AND lease_until_ms IS NOT NULL AND epoch > 0 AND attempts > 0)),
    CONSTRAINT outbox_dispatch_marked CHECK (state <> 'dispatched' OR dispatched_at_ms IS NOT NULL)
) STRICT;
CREATE TRIGGER outbox_kind_known_insert BEFORE INSERT ON outbox
WHEN NOT coalesce(NEW.kind IN ('effect', 'model_call', 'notice', 'timer'), 0)
BEGIN SELECT RAISE(ABORT, 'outbox_kind_known'); END;
CREATE TRIGGER outbox_kind_known_update BEFORE UPDATE ON outbox
WHEN NOT coalesce(NEW.kind IN ('effect', 'model_call', 'notice', 'timer'), 0)
BEGIN SELECT RAISE(ABORT, 'outbox_kind_known'); END;
CREATE TRIGGER outbox_state_known_insert BEFORE INSERT ON outbox
WHEN NOT coalesce(NEW.state IN ('ready', 'claimed', 'dispatched', 'settled', 'retry_wait', 'check_required', 'dead'), 0)
BEGIN SELECT RAISE(ABORT, 'outbox_state_known'); END;
CREATE TRIGGER outbox_state_known_update BEFORE UPDATE ON outbox
WHEN NOT coalesce(NEW.state IN ('ready', 'claimed', 'dispatched', 'settled', 'retry_wait', 'check_required', 'dead'), 0)
BEGIN SELECT RAISE(ABORT, 'outbox_state_known'); END;
CREATE TRIGGER outbox_effect_named_insert BEFORE INSERT ON outbox
WHEN NOT coalesce(NEW.kind <> 'effect' OR (NEW.effect_digest IS NOT NULL AND NEW.intent_digest IS NOT NULL AND NEW.idempotency_key IS NOT NULL), 0)
BEGIN SELECT RAISE(ABORT, 'outbox_effect_named'); END;
CREATE TRIGGER outbox_effect_named_update BEFORE UPDATE ON outbox
WHEN NOT coalesce(NEW.kind <> 'effect' OR (NEW.effect_digest IS NOT NULL AND NEW.intent_digest IS NOT NULL AND NEW.idempotency_key IS NOT NULL), 0)
BEGIN SELECT RAISE(ABORT, 'outbox_effect_named'); END;
CREATE TRIGGER outbox_holder_known_insert BEFORE INSERT ON outbox
WHEN NOT coalesce(NEW.state NOT IN ('claimed', 'dispatched') OR (NEW.holder IS NOT NULL AND NEW.lease_until_ms IS NOT NULL AND NEW.epoch > 0 AND NEW.attempts > 0), 0)
BEGIN SELECT RAISE(ABORT, 'outbox_holder_known'); END;
CREATE TRIGGER outbox_holder_known_update BEFORE UPDATE ON outbox
WHEN NOT coalesce(NEW.state NOT IN ('claimed', 'dispatched') OR (NEW.holder IS NOT NULL AND NEW.lease_until_ms IS NOT NULL AND NEW.epoch > 0 AND NEW.attempts > 0), 0)
BEGIN SELECT RAISE(ABORT, 'outbox_holder_known'); END;
CREATE TRIGGER outbox_dispatch_marked_insert BEFORE INSERT ON outbox
WHEN NOT coalesce(NEW.state <> 'dispatched' OR NEW.dispatched_at_ms IS NOT NULL, 0)
BEGIN SELECT RAISE(ABORT, 'outbox_dispatch_marked'); END;
CREATE TRIGGER outbox_dispatch_marked_update BEFORE UPDATE ON outbox
WHEN NOT coalesce(NEW.state <> 'dispatched' OR NEW.dispatched_at_ms IS NOT NULL, 0)
BEGIN SELECT RAISE(ABORT, 'outbox_dispatch_marked'); END;
CREATE TRIGGER outbox_append_only_delete BEFORE DELETE ON outbox
BEGIN SELECT RAISE(ABORT, 'outbox_never_deleted'); END;

CREATE TABLE idempotency (
    tenant TEXT NOT NULL,
    capability TEXT NOT NULL,
    key TEXT NOT NULL,
    intent_digest TEXT NOT NULL,
    outbox_id TEXT NOT NULL REFERENCES outbox,
    PRIMARY KEY (tenant, capability, key)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER idempotency_append_only_update BEFORE UPDATE ON idempotency
BEGIN SELECT RAISE(ABORT, 'idempotency_append_only'); END;
CREATE TRIGGER idempotency_append_only_delete BEFORE DELETE ON idempotency
BEGIN SELECT RAISE(ABORT, 'idempotency_never_deleted'); END;

CREATE TABLE execution (
    execution_id TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    outbox_id TEXT NOT NULL REFERENCES outbox,
    turn_id TEXT NOT NULL REFERENCES turn,
    epoch INTEGER NOT NULL,
    kind TEXT NOT NULL,
    started_at_ms INTEGER NOT NULL,
    finished_at_ms INTEGER,
    before TEXT,
    before_digest TEXT,
    executor_said TEXT,
    result_digest TEXT,
    CONSTRAINT execution_kind_known CHECK (kind IN ('effect', 'settlement', 'record')),
    CONSTRAINT execution_times CHECK (finished_at_ms IS NULL OR finished_at_ms >= started_at_ms),
    CONSTRAINT execution_said_known CHECK (executor_said IS NULL OR executor_said IN ('ok', 'accepted', 'rejected', 'raised', 'no_answer'))
) STRICT;
CREATE TRIGGER execution_kind_known_insert BEFORE INSERT ON execution
WHEN NOT coalesce(NEW.kind IN ('effect', 'settlement', 'record'), 0)
BEGIN SELECT RAISE(ABORT, 'execution_kind_known'); END;
CREATE TRIGGER execution_kind_known_update BEFORE UPDATE ON execution
WHEN NOT coalesce(NEW.kind IN ('effect', 'settlement', 'record'), 0)
BEGIN SELECT RAISE(ABORT, 'execution_kind_known'); END;
CREATE TRIGGER execution_times_insert BEFORE INSERT ON execution
WHEN NOT coalesce(NEW.finished_at_ms IS NULL OR NEW.finished_at_ms >= NEW.started_at_ms, 0)
BEGIN SELECT RAISE(ABORT, 'execution_times'); END;
CREATE TRIGGER execution_times_update BEFORE UPDATE ON execution
WHEN NOT coalesce(NEW.finished_at_ms IS NULL OR NEW.finished_at_ms >= NEW.started_at_ms, 0)
BEGIN SELECT RAISE(ABORT, 'execution_times'); END;
CREATE TRIGGER execution_said_known_insert BEFORE INSERT ON execution
WHEN NOT coalesce(NEW.executor_said IS NULL OR NEW.executor_said IN ('ok', 'accepted', 'rejected', 'raised', 'no_answer'), 0)
BEGIN SELECT RAISE(ABORT, 'execution_said_known'); END;
CREATE TRIGGER execution_said_known_update BEFORE UPDATE ON execution
WHEN NOT coalesce(NEW.executor_said IS NULL OR NEW.executor_said IN ('ok', 'accepted', 'rejected', 'raised', 'no_answer'), 0)
BEGIN SELECT RAISE(ABORT, 'execution_said_known'); END;
CREATE TRIGGER execution_append_only_delete BEFORE DELETE ON execution
BEGIN SELECT RAISE(ABORT, 'execution_never_deleted'); END;

CREATE TABLE receipt (
    receipt_id TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    turn_id TEXT NOT NULL REFERENCES turn,
    execution_id TEXT NOT NULL REFERENCES execution,
    outbox_id TEXT NOT NULL REFERENCES outbox,
    kind TEXT NOT NULL,
    payload_digest TEXT NOT NULL,
    settles TEXT,
    claimed_finality TEXT NOT NULL,
    claimed_confidence TEXT NOT NULL,
    graded_finality TEXT NOT NULL,
    graded_confidence TEXT NOT NULL,
    status TEXT,
    sealed_at_ms INTEGER NOT NULL,
    body BLOB NOT NULL,
    envelope BLOB NOT NULL,
    UNIQUE (execution_id),
    UNIQUE (payload_digest),
    CONSTRAINT receipt_finality_known CHECK (graded_finality IN ('not_attempted', 'initiated', 'finalized', 'failed', 'indeterminate') AND claimed_finality IN ('not_attempted', 'initiated', 'finalized', 'failed', 'indeterminate')),
    CONSTRAINT receipt_confidence_known CHECK (graded_confidence IN ('verified', 'partial', 'ambiguous', 'unknown', 'not_verified') AND claimed_confidence IN ('verified', 'partial', 'ambiguous', 'unknown', 'not_verified')),
    CONSTRAINT receipt_status_known CHECK (status IS NULL OR status IN ('success', 'partial', 'failed', 'cancelled', 'unknown_outcome')),
    CONSTRAINT receipt_status_earned CHECK (coalesce(status, '') <> 'success' OR (graded_finality = 'finalized' AND graded_confidence = 'verified')),
    CONSTRAINT receipt_graded_not_higher CHECK (graded_confidence <> 'verified' OR claimed_confidence = 'verified')
) STRICT;
CREATE TRIGGER receipt_finality_known_insert BEFORE INSERT ON receipt
WHEN NOT coalesce(NEW.graded_finality IN ('not_attempted', 'initiated', 'finalized', 'failed', 'indeterminate') AND NEW.claimed_finality IN ('not_attempted', 'initiated', 'finalized', 'failed', 'indeterminate'), 0)
BEGIN SELECT RAISE(ABORT, 'receipt_finality_known'); END;
CREATE TRIGGER receipt_finality_known_update BEFORE UPDATE ON receipt
WHEN NOT coalesce(NEW.graded_finality IN ('not_attempted', 'initiated', 'finalized', 'failed', 'indeterminate') AND NEW.claimed_finality IN ('not_attempted', 'initiated', 'finalized', 'failed', 'indeterminate'), 0)
BEGIN SELECT RAISE(ABORT, 'receipt_finality_known'); END;
CREATE TRIGGER receipt_confidence_known_insert BEFORE INSERT ON receipt
WHEN NOT coalesce(NEW.graded_confidence IN ('verified', 'partial', 'ambiguous', 'unknown', 'not_verified') AND NEW.claimed_confidence IN ('verified', 'partial', 'ambiguous', 'unknown', 'not_verified'), 0)
BEGIN SELECT RAISE(ABORT, 'receipt_confidence_known'); END;
CREATE TRIGGER receipt_confidence_known_update BEFORE UPDATE ON receipt
WHEN NOT coalesce(NEW.graded_confidence IN ('verified', 'partial', 'ambiguous', 'unknown', 'not_verified') AND NEW.claimed_confidence IN ('verified', 'partial', 'ambiguous', 'unknown', 'not_verified'), 0)
BEGIN SELECT RAISE(ABORT, 'receipt_confidence_known'); END;
CREATE TRIGGER receipt_status_known_insert BEFORE INSERT ON receipt
WHEN NOT coalesce(NEW.status IS NULL OR NEW.status IN ('success', 'partial', 'failed', 'cancelled', 'unknown_outcome'), 0)
BEGIN SELECT RAISE(ABORT, 'receipt_status_known'); END;
CREATE TRIGGER receipt_status_known_update BEFORE UPDATE ON receipt
WHEN NOT coalesce(NEW.status IS NULL OR NEW.status IN ('success', 'partial', 'failed', 'cancelled', 'unknown_outcome'), 0)
BEGIN SELECT RAISE(ABORT, 'receipt_status_known'); END;
CREATE TRIGGER receipt_status_earned_insert BEFORE INSERT ON receipt
WHEN NOT coalesce(coalesce(NEW.status, '') <> 'success' OR (NEW.graded_finality = 'finalized' AND NEW.graded_confidence = 'verified'), 0)
BEGIN SELECT RAISE(ABORT, 'receipt_status_earned'); END;
CREATE TRIGGER receipt_status_earned_update BEFORE UPDATE ON receipt
WHEN NOT coalesce(coalesce(NEW.status, '') <> 'success' OR (NEW.graded_finality = 'finalized' AND NEW.graded_confidence = 'verified'), 0)
BEGIN SELECT RAISE(ABORT, 'receipt_status_earned'); END;
CREATE TRIGGER receipt_graded_not_higher_insert BEFORE INSERT ON receipt
WHEN NOT coalesce(NEW.graded_confidence <> 'verified' OR NEW.claimed_confidence = 'verified', 0)
BEGIN SELECT RAISE(ABORT, 'receipt_graded_not_higher'); END;
CREATE TRIGGER receipt_graded_not_higher_update BEFORE UPDATE ON receipt
WHEN NOT coalesce(NEW.graded_confidence <> 'verified' OR NEW.claimed_confidence = 'verified', 0)
BEGIN SELECT RAISE(ABORT, 'receipt_graded_not_higher'); END;
CREATE TRIGGER receipt_append_only_update BEFORE UPDATE ON receipt
BEGIN SELECT RAISE(ABORT, 'receipt_append_only'); END;
CREATE TRIGGER receipt_append_only_delete BEFORE DELETE ON receipt
BEGIN SELECT RAISE(ABORT, 'receipt_never_deleted'); END;

CREATE TABLE log_leaf (
    seq INTEGER NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    entry BLOB NOT NULL,
    leaf_hash BLOB NOT NULL,
    envelope BLOB NOT NULL,
    payload_digest TEXT NOT NULL,
    UNIQUE (payload_digest),
    CONSTRAINT log_leaf_seq CHECK (seq >= 0),
    CONSTRAINT log_leaf_hash_length CHECK (length(leaf_hash) = 32)
) STRICT;
CREATE TRIGGER log_leaf_seq_insert BEFORE INSERT ON log_leaf
WHEN NOT coalesce(NEW.seq >= 0, 0)
BEGIN SELECT RAISE(ABORT, 'log_leaf_seq'); END;
CREATE TRIGGER log_leaf_seq_update BEFORE UPDATE ON log_leaf
WHEN NOT coalesce(NEW.seq >= 0, 0)
BEGIN SELECT RAISE(ABORT, 'log_leaf_seq'); END;
CREATE TRIGGER log_leaf_hash_length_insert BEFORE INSERT ON log_leaf
WHEN NOT coalesce(length(NEW.leaf_hash) = 32, 0)
BEGIN SELECT RAISE(ABORT, 'log_leaf_hash_length'); END;
CREATE TRIGGER log_leaf_hash_length_update BEFORE UPDATE ON log_leaf
WHEN NOT coalesce(length(NEW.leaf_hash) = 32, 0)
BEGIN SELECT RAISE(ABORT, 'log_leaf_hash_length'); END;
CREATE TRIGGER log_leaf_append_only_update BEFORE UPDATE ON log_leaf
BEGIN SELECT RAISE(ABORT, 'log_leaf_append_only'); END;
CREATE TRIGGER log_leaf_append_only_delete BEFORE DELETE ON log_leaf
BEGIN SELECT RAISE(ABORT, 'log_leaf_never_deleted'); END;

CREATE TABLE log_state (
    tenant TEXT NOT NULL PRIMARY KEY,
    size INTEGER NOT NULL,
    frontier BLOB NOT NULL,
    CONSTRAINT log_state_size CHECK (size >= 0)
) STRICT;
CREATE TRIGGER log_state_size_insert BEFORE INSERT ON log_state
WHEN NOT coalesce(NEW.size >= 0, 0)
BEGIN SELECT RAISE(ABORT, 'log_state_size'); END;
CREATE TRIGGER log_state_size_update BEFORE UPDATE ON log_state
WHEN NOT coalesce(NEW.size >= 0, 0)
BEGIN SELECT RAISE(ABORT, 'log_state_size'); END;
CREATE TRIGGER log_state_append_only_delete BEFORE DELETE ON log_state
BEGIN SELECT RAISE(ABORT, 'log_state_never_deleted'); END;

CREATE TABLE chain (
    tenant TEXT NOT NULL,
    chain TEXT NOT NULL,
    next_seq INTEGER NOT NULL,
    PRIMARY KEY (tenant, chain)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER chain_append_only_delete BEFORE DELETE ON chain
BEGIN SELECT RAISE(ABORT, 'chain_never_deleted'); END;

CREATE TABLE activity (
    turn_id TEXT NOT NULL PRIMARY KEY REFERENCES turn,
    tenant TEXT NOT NULL,
    title TEXT NOT NULL,
    state TEXT NOT NULL,
    receipt_count INTEGER NOT NULL,
    evidence_digest TEXT,
    failure_category TEXT,
    failure_reason TEXT,
    label TEXT,
    open_questions INTEGER NOT NULL,
    acknowledged_by TEXT,
    acknowledged_at_ms INTEGER,
    updated_at_ms INTEGER NOT NULL,
    CONSTRAINT activity_state_known CHECK (state IN ('queued', 'routing', 'running', 'verifying', 'completed', 'failed', 'recovery_required')),
    CONSTRAINT activity_category_known CHECK (failure_category IS NULL OR failure_category IN ('routing', 'local_model', 'cloud_service', 'native_execution', 'persistence', 'setup', 'unknown')),
    CONSTRAINT activity_completed_has_evidence CHECK (state <> 'completed' OR (receipt_count >= 1 AND evidence_digest IS NOT NULL AND failure_category IS NULL)),
    CONSTRAINT activity_failed_has_category_only CHECK (state <> 'failed' OR (receipt_count = 0 AND evidence_digest IS NULL AND failure_category IS NOT NULL)),
    CONSTRAINT activity_open_is_bare CHECK (state IN ('completed', 'failed') OR (receipt_count = 0 AND evidence_digest IS NULL AND failure_category IS NULL)),
    CONSTRAINT activity_evidence_form CHECK (evidence_digest IS NULL OR (length(evidence_digest) = 71 AND substr(evidence_digest, 1, 7) = 'sha256:'))
) STRICT;
CREATE TRIGGER activity_state_known_insert BEFORE INSERT ON activity
WHEN NOT coalesce(NEW.state IN ('queued', 'routing', 'running', 'verifying', 'completed', 'failed', 'recovery_required'), 0)
BEGIN SELECT RAISE(ABORT, 'activity_state_known'); END;
CREATE TRIGGER activity_state_known_update BEFORE UPDATE ON activity
WHEN NOT coalesce(NEW.state IN ('queued', 'routing', 'running', 'verifying', 'completed', 'failed', 'recovery_required'), 0)
BEGIN SELECT RAISE(ABORT, 'activity_state_known'); END;
CREATE TRIGGER activity_category_known_insert BEFORE INSERT ON activity
WHEN NOT coalesce(NEW.failure_category IS NULL OR NEW.failure_category IN ('routing', 'local_model', 'cloud_service', 'native_execution', 'persistence', 'setup', 'unknown'), 0)
BEGIN SELECT RAISE(ABORT, 'activity_category_known'); END;
CREATE TRIGGER activity_category_known_update BEFORE UPDATE ON activity
WHEN NOT coalesce(NEW.failure_category IS NULL OR NEW.failure_category IN ('routing', 'local_model', 'cloud_service', 'native_execution', 'persistence', 'setup', 'unknown'), 0)
BEGIN SELECT RAISE(ABORT, 'activity_category_known'); END;
CREATE TRIGGER activity_completed_has_evidence_insert BEFORE INSERT ON activity
WHEN NOT coalesce(NEW.state <> 'completed' OR (NEW.receipt_count >= 1 AND NEW.evidence_digest IS NOT NULL AND NEW.failure_category IS NULL), 0)
BEGIN SELECT RAISE(ABORT, 'activity_completed_has_evidence'); END;
CREATE TRIGGER activity_completed_has_evidence_update BEFORE UPDATE ON activity
WHEN NOT coalesce(NEW.state <> 'completed' OR (NEW.receipt_count >= 1 AND NEW.evidence_digest IS NOT NULL AND NEW.failure_category IS NULL), 0)
BEGIN SELECT RAISE(ABORT, 'activity_completed_has_evidence'); END;
CREATE TRIGGER activity_failed_has_category_only_insert BEFORE INSERT ON activity
WHEN NOT coalesce(NEW.state <> 'failed' OR (NEW.receipt_count = 0 AND NEW.evidence_digest IS NULL AND NEW.failure_category IS NOT NULL), 0)
BEGIN SELECT RAISE(ABORT, 'activity_failed_has_category_only'); END;
CREATE TRIGGER activity_failed_has_category_only_update BEFORE UPDATE ON activity
WHEN NOT coalesce(NEW.state <> 'failed' OR (NEW.receipt_count = 0 AND NEW.evidence_digest IS NULL AND NEW.failure_category IS NOT NULL), 0)
BEGIN SELECT RAISE(ABORT, 'activity_failed_has_category_only'); END;
CREATE TRIGGER activity_open_is_bare_insert BEFORE INSERT ON activity
WHEN NOT coalesce(NEW.state IN ('completed', 'failed') OR (NEW.receipt_count = 0 AND NEW.evidence_digest IS NULL AND NEW.failure_category IS NULL), 0)
BEGIN SELECT RAISE(ABORT, 'activity_open_is_bare'); END;
CREATE TRIGGER activity_open_is_bare_update BEFORE UPDATE ON activity
WHEN NOT coalesce(NEW.state IN ('completed', 'failed') OR (NEW.receipt_count = 0 AND NEW.evidence_digest IS NULL AND NEW.failure_category IS NULL), 0)
BEGIN SELECT RAISE(ABORT, 'activity_open_is_bare'); END;
CREATE TRIGGER activity_evidence_form_insert BEFORE INSERT ON activity
WHEN NOT coalesce(NEW.evidence_digest IS NULL OR (length(NEW.evidence_digest) = 71 AND substr(NEW.evidence_digest, 1, 7) = 'sha256:'), 0)
BEGIN SELECT RAISE(ABORT, 'activity_evidence_form'); END;
CREATE TRIGGER activity_evidence_form_update BEFORE UPDATE ON activity
WHEN NOT coalesce(NEW.evidence_digest IS NULL OR (length(NEW.evidence_digest) = 71 AND substr(NEW.evidence_digest, 1, 7) = 'sha256:'), 0)
BEGIN SELECT RAISE(ABORT, 'activity_evidence_form'); END;
CREATE TRIGGER activity_append_only_delete BEFORE DELETE ON activity
BEGIN SELECT RAISE(ABORT, 'activity_never_deleted'); END;

CREATE TABLE activity_event (
    event_id TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    kind TEXT NOT NULL,
    turn_id TEXT,
    body TEXT NOT NULL
) STRICT;
CREATE TRIGGER activity_event_append_only_update BEFORE UPDATE ON activity_event
BEGIN SELECT RAISE(ABORT, 'activity_event_append_only'); END;
CREATE TRIGGER activity_event_append_only_delete BEFORE DELETE ON activity_event
BEGIN SELECT RAISE(ABORT, 'activity_event_never_deleted'); END;

CREATE TABLE assertion (
    assertion_id TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    turn_id TEXT NOT NULL REFERENCES turn,
    text_digest TEXT NOT NULL,
    model_id TEXT,
    asserts TEXT,
    outbox_id TEXT,
    asserted_at_ms INTEGER NOT NULL
) STRICT;
CREATE TRIGGER assertion_append_only_update BEFORE UPDATE ON assertion
BEGIN SELECT RAISE(ABORT, 'assertion_append_only'); END;
CREATE TRIGGER assertion_append_only_delete BEFORE DELETE ON assertion
BEGIN SELECT RAISE(ABORT, 'assertion_never_deleted'); END;

CREATE TABLE message (
    message_id TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    turn_id TEXT NOT NULL REFERENCES turn,
    role TEXT NOT NULL,
    content_digest TEXT NOT NULL,
    routing_mode TEXT,
    execution_kind TEXT,
    provider TEXT,
    runtime TEXT,
    model TEXT,
    receipt_id TEXT REFERENCES receipt,
    said_at_ms INTEGER NOT NULL,
    CONSTRAINT message_role_known CHECK (role IN ('user', 'assistant', 'tool')),
    CONSTRAINT message_kind_known CHECK (execution_kind IS NULL OR execution_kind IN ('native', 'local_model', 'cloud_model')),
    CONSTRAINT message_provenance_whole CHECK ((execution_kind IS NULL) = (routing_mode IS NULL) AND (execution_kind IS NULL) = (provider IS NULL) AND (execution_kind IS NULL) = (runtime IS NULL)),
    CONSTRAINT message_native_not_cloud CHECK (coalesce(execution_kind, '') <> 'native' OR coalesce(provider, '') = 'actum'),
    CONSTRAINT message_native_has_receipt CHECK (coalesce(execution_kind, '') <> 'native' OR receipt_id IS NOT NULL)
) STRICT;
CREATE TRIGGER message_role_known_insert BEFORE INSERT ON message
WHEN NOT coalesce(NEW.role IN ('user', 'assistant', 'tool'), 0)
BEGIN SELECT RAISE(ABORT, 'message_role_known'); END;
CREATE TRIGGER message_role_known_update BEFORE UPDATE ON message
WHEN NOT coalesce(NEW.role IN ('user', 'assistant', 'tool'), 0)
BEGIN SELECT RAISE(ABORT, 'message_role_known'); END;
CREATE TRIGGER message_kind_known_insert BEFORE INSERT ON message
WHEN NOT coalesce(NEW.execution_kind IS NULL OR NEW.execution_kind IN ('native', 'local_model', 'cloud_model'), 0)
BEGIN SELECT RAISE(ABORT, 'message_kind_known'); END;
CREATE TRIGGER message_kind_known_update BEFORE UPDATE ON message
WHEN NOT coalesce(NEW.execution_kind IS NULL OR NEW.execution_kind IN ('native', 'local_model', 'cloud_model'), 0)
BEGIN SELECT RAISE(ABORT, 'message_kind_known'); END;
CREATE TRIGGER message_provenance_whole_insert BEFORE INSERT ON message
WHEN NOT coalesce((NEW.execution_kind IS NULL) = (NEW.routing_mode IS NULL) AND (NEW.execution_kind IS NULL) = (NEW.provider IS NULL) AND (NEW.execution_kind IS NULL) = (NEW.runtime IS NULL), 0)
BEGIN SELECT RAISE(ABORT, 'message_provenance_whole'); END;
CREATE TRIGGER message_provenance_whole_update BEFORE UPDATE ON message
WHEN NOT coalesce((NEW.execution_kind IS NULL) = (NEW.routing_mode IS NULL) AND (NEW.execution_kind IS NULL) = (NEW.provider IS NULL) AND (NEW.execution_kind IS NULL) = (NEW.runtime IS NULL), 0)
BEGIN SELECT RAISE(ABORT, 'message_provenance_whole'); END;
CREATE TRIGGER message_native_not_cloud_insert BEFORE INSERT ON message
WHEN NOT coalesce(coalesce(NEW.execution_kind, '') <> 'native' OR coalesce(NEW.provider, '') = 'actum', 0)
BEGIN SELECT RAISE(ABORT, 'message_native_not_cloud'); END;
CREATE TRIGGER message_native_not_cloud_update BEFORE UPDATE ON message
WHEN NOT coalesce(coalesce(NEW.execution_kind, '') <> 'native' OR coalesce(NEW.provider, '') = 'actum', 0)
BEGIN SELECT RAISE(ABORT, 'message_native_not_cloud'); END;
CREATE TRIGGER message_native_has_receipt_insert BEFORE INSERT ON message
WHEN NOT coalesce(coalesce(NEW.execution_kind, '') <> 'native' OR NEW.receipt_id IS NOT NULL, 0)
BEGIN SELECT RAISE(ABORT, 'message_native_has_receipt'); END;
CREATE TRIGGER message_native_has_receipt_update BEFORE UPDATE ON message
WHEN NOT coalesce(coalesce(NEW.execution_kind, '') <> 'native' OR NEW.receipt_id IS NOT NULL, 0)
BEGIN SELECT RAISE(ABORT, 'message_native_has_receipt'); END;
CREATE TRIGGER message_append_only_update BEFORE UPDATE ON message
BEGIN SELECT RAISE(ABORT, 'message_append_only'); END;
CREATE TRIGGER message_append_only_delete BEFORE DELETE ON message
BEGIN SELECT RAISE(ABORT, 'message_never_deleted'); END;

CREATE TABLE runner (
    tenant TEXT NOT NULL PRIMARY KEY,
    holder TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    lease_until_ms INTEGER NOT NULL,
    boot_id TEXT NOT NULL,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL
) STRICT;
CREATE TRIGGER runner_append_only_delete BEFORE DELETE ON runner
BEGIN SELECT RAISE(ABORT, 'runner_never_deleted'); END;

-- Indexes that the line reads by.
CREATE INDEX turn_of_item ON turn (work_item_id);
CREATE INDEX proposal_of_turn ON proposal (turn_id);
CREATE UNIQUE INDEX question_open_once ON question (tenant, reason, subject_ref) WHERE state = 'open';
CREATE INDEX question_of_turn ON question (turn_id);
CREATE INDEX outbox_ready ON outbox (not_before_ms, outbox_id) WHERE state IN ('ready', 'retry_wait');
CREATE INDEX outbox_held ON outbox (lease_until_ms) WHERE state IN ('claimed', 'dispatched');
CREATE INDEX outbox_of_turn ON outbox (turn_id);
CREATE UNIQUE INDEX execution_effect_once ON execution (outbox_id, epoch) WHERE kind = 'effect';
CREATE INDEX execution_of_row ON execution (outbox_id);
CREATE INDEX receipt_of_turn ON receipt (turn_id);
CREATE INDEX receipt_of_row ON receipt (outbox_id);
CREATE INDEX grant_of_subject ON "grant" (subject_digest);
CREATE INDEX qualification_of_effect ON qualification (effect_digest);
CREATE INDEX activity_by_state ON activity (state, updated_at_ms);
CREATE INDEX activity_needs ON activity (updated_at_ms) WHERE open_questions > 0;
CREATE INDEX assertion_of_turn ON assertion (turn_id);
CREATE INDEX message_of_turn ON message (turn_id);
CREATE INDEX rulebook_by_digest ON rulebook (tenant, digest);

-- A row that wants to leave without a grant must describe an effect that changes nothing outside this store.
CREATE TRIGGER outbox_ungranted_is_inform BEFORE INSERT ON outbox
WHEN NEW.kind = 'effect' AND NEW.grant_id IS NULL AND NEW.state <> 'settled' AND NOT coalesce((
    SELECT json_extract(descriptor, '$.reversibility') = 'no_mutation'
       AND json_extract(descriptor, '$.externality') IN ('local_only', 'public_read')
       AND json_extract(descriptor, '$.effect_class') = 'inform'
      FROM effect WHERE effect_digest = NEW.effect_digest), 0)
BEGIN SELECT RAISE(ABORT, 'outbox_ungranted_is_inform'); END;
CREATE TRIGGER outbox_grant_fixed BEFORE UPDATE OF grant_id, effect_digest, kind, capability, incarnation ON outbox
WHEN NEW.grant_id IS NOT OLD.grant_id OR NEW.effect_digest IS NOT OLD.effect_digest OR NEW.kind <> OLD.kind
  OR NEW.capability <> OLD.capability
BEGIN SELECT RAISE(ABORT, 'outbox_grant_fixed'); END;
-- The grant must be for this exact effect, for confirming, and taken by this row, before the mark is set.
CREATE TRIGGER outbox_dispatch_granted BEFORE UPDATE OF state ON outbox
WHEN NEW.state = 'dispatched' AND NEW.grant_id IS NOT NULL AND NOT coalesce((
    SELECT g.used_by = NEW.outbox_id AND g.purpose = 'confirm' AND g.subject_digest = NEW.effect_digest
      FROM "grant" g WHERE g.grant_id = NEW.grant_id), 0)
BEGIN SELECT RAISE(ABORT, 'outbox_dispatch_granted'); END;
CREATE TRIGGER outbox_dispatch_from_claim BEFORE UPDATE OF state ON outbox
WHEN NEW.state = 'dispatched' AND OLD.state <> 'claimed'
BEGIN SELECT RAISE(ABORT, 'outbox_dispatch_from_claim'); END;
CREATE TRIGGER outbox_settled_stays BEFORE UPDATE OF state ON outbox
WHEN OLD.state = 'settled' AND NEW.state <> 'settled'
BEGIN SELECT RAISE(ABORT, 'outbox_settled_stays'); END;
CREATE TRIGGER outbox_dispatched_never_back BEFORE UPDATE OF state ON outbox
WHEN OLD.state = 'dispatched' AND NEW.state IN ('ready', 'claimed')
BEGIN SELECT RAISE(ABORT, 'outbox_dispatched_never_back'); END;
-- A grant is used once, and neither its words nor its use can be changed afterwards.
CREATE TRIGGER grant_used_once BEFORE UPDATE OF used_by ON "grant"
WHEN OLD.used_by IS NOT NULL AND NEW.used_by IS NOT OLD.used_by
BEGIN SELECT RAISE(ABORT, 'grant_used_once'); END;
CREATE TRIGGER grant_void_unusable BEFORE UPDATE OF used_by ON "grant"
WHEN OLD.voided_at_ms IS NOT NULL AND NEW.used_by IS NOT NULL AND OLD.used_by IS NULL
BEGIN SELECT RAISE(ABORT, 'grant_void_unusable'); END;
CREATE TRIGGER grant_words_fixed BEFORE UPDATE OF grant_id, tenant, purpose, principal, subject_digest, incarnation,
    issued_at_ms, expires_at_ms, body, payload_digest, envelope ON "grant"
BEGIN SELECT RAISE(ABORT, 'grant_words_fixed'); END;
CREATE TRIGGER question_answered_once BEFORE UPDATE ON question
WHEN OLD.state <> 'open'
BEGIN SELECT RAISE(ABORT, 'question_answered_once'); END;
CREATE TRIGGER decision_answers_step BEFORE INSERT ON decision
WHEN NOT EXISTS (SELECT 1 FROM step_visit WHERE turn_id = NEW.turn_id AND step_id = NEW.step_id)
BEGIN SELECT RAISE(ABORT, 'decision_answers_step'); END;
-- Receipts are counted by the database, so that a completed row cannot say another number.
CREATE TRIGGER activity_counts_receipts_insert BEFORE INSERT ON activity
WHEN NEW.state = 'completed' AND NEW.receipt_count <> (SELECT count(*) FROM receipt WHERE turn_id = NEW.turn_id)
BEGIN SELECT RAISE(ABORT, 'activity_counts_receipts'); END;
CREATE TRIGGER activity_counts_receipts_update BEFORE UPDATE ON activity
WHEN NEW.state = 'completed' AND NEW.receipt_count <> (SELECT count(*) FROM receipt WHERE turn_id = NEW.turn_id)
BEGIN SELECT RAISE(ABORT, 'activity_counts_receipts'); END;
CREATE TRIGGER receipt_recounts_activity AFTER INSERT ON receipt
BEGIN UPDATE activity SET receipt_count = receipt_count + 1 WHERE turn_id = NEW.turn_id AND state = 'completed'; END;
CREATE TRIGGER receipt_after_execution BEFORE INSERT ON receipt
WHEN NOT EXISTS (SELECT 1 FROM execution WHERE execution_id = NEW.execution_id AND outbox_id = NEW.outbox_id
                 AND turn_id = NEW.turn_id AND finished_at_ms IS NOT NULL)
BEGIN SELECT RAISE(ABORT, 'receipt_after_execution'); END;
CREATE TRIGGER receipt_attempted_after_dispatch BEFORE INSERT ON receipt
WHEN NEW.kind = 'effect' AND NEW.claimed_finality = 'not_attempted'
 AND EXISTS (SELECT 1 FROM outbox WHERE outbox_id = NEW.outbox_id AND dispatched_at_ms IS NOT NULL)
BEGIN SELECT RAISE(ABORT, 'receipt_attempted_after_dispatch'); END;
-- A native reply stands on the receipt of an effect that was seen to have happened; a recorded decision is none.
CREATE TRIGGER message_native_receipt_earned BEFORE INSERT ON message
WHEN NEW.execution_kind = 'native' AND NOT coalesce((
    SELECT r.status = 'success' AND r.kind IN ('effect', 'settlement') AND r.turn_id = NEW.turn_id
      FROM receipt r WHERE r.receipt_id = NEW.receipt_id), 0)
BEGIN SELECT RAISE(ABORT, 'message_native_receipt_earned'); END;
