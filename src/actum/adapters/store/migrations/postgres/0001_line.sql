-- SPDX-License-Identifier: Apache-2.0
-- The line's tables, with the rules and the names of the SQLite migration. A CHECK cannot be switched off here, so the
-- rules of one row need no second form. Text is compared byte by byte (COLLATE "C"), as ids and pages expect.

CREATE FUNCTION actum_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = '23514', CONSTRAINT = TG_ARGV[0];
END $$;

CREATE TABLE meta (
    tenant TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    value TEXT COLLATE "C" NOT NULL,
    CONSTRAINT meta_once PRIMARY KEY (tenant, key)
);

CREATE TABLE role (
    tenant TEXT COLLATE "C" NOT NULL,
    principal TEXT COLLATE "C" NOT NULL,
    role TEXT COLLATE "C" NOT NULL,
    granted_by TEXT COLLATE "C" NOT NULL,
    granted_at_ms BIGINT NOT NULL,
    CONSTRAINT role_once PRIMARY KEY (tenant, principal, role),
    CONSTRAINT role_known CHECK (coalesce(role IN ('submitter', 'approver', 'operator'), false))
);

CREATE TABLE content (
    tenant TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    body BYTEA,
    file TEXT COLLATE "C",
    size BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    erased_at_ms BIGINT,
    CONSTRAINT content_once PRIMARY KEY (tenant, digest),
    CONSTRAINT content_digest_form CHECK (coalesce(length(digest) = 71 AND substr(digest, 1, 7) = 'sha256:' AND substr(digest, 8) !~ '[^0-9a-f]', false)),
    CONSTRAINT content_held_or_erased CHECK (coalesce((erased_at_ms IS NULL AND (body IS NOT NULL) <> (file IS NOT NULL)) OR (erased_at_ms IS NOT NULL AND body IS NULL AND file IS NULL), false))
);
CREATE TRIGGER content_words_fixed BEFORE UPDATE OF tenant, digest, size, created_at_ms ON content FOR EACH ROW EXECUTE FUNCTION actum_refuse('content_words_fixed');
CREATE TRIGGER content_never_deleted BEFORE DELETE ON content FOR EACH ROW EXECUTE FUNCTION actum_refuse('content_never_deleted');
CREATE TRIGGER content_never_deleted_truncate BEFORE TRUNCATE ON content FOR EACH STATEMENT EXECUTE FUNCTION actum_refuse('content_never_deleted');

CREATE TABLE rulebook (
    tenant TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    body BYTEA NOT NULL,
    active_from_ms BIGINT NOT NULL,
    active_until_ms BIGINT,
    activated_by TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    CONSTRAINT rulebook_once PRIMARY KEY (tenant, seq),
    CONSTRAINT rulebook_times CHECK (coalesce(active_until_ms IS NULL OR active_until_ms >= active_from_ms, false))
);
CREATE TRIGGER rulebook_words_fixed BEFORE UPDATE OF tenant, digest, body, active_from_ms, activated_by, seq ON rulebook FOR EACH ROW EXECUTE FUNCTION actum_refuse('rulebook_words_fixed');
CREATE TRIGGER rulebook_never_deleted BEFORE DELETE ON rulebook FOR EACH ROW EXECUTE FUNCTION actum_refuse('rulebook_never_deleted');
CREATE TRIGGER rulebook_never_deleted_truncate BEFORE TRUNCATE ON rulebook FOR EACH STATEMENT EXECUTE FUNCTION actum_refuse('rulebook_never_deleted');

CREATE TABLE work_item (
    work_item_id TEXT COLLATE "C" NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    principal TEXT COLLATE "C" NOT NULL,
    work_type TEXT COLLATE "C" NOT NULL,
    subject_digest TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C",
    on_behalf_of TEXT COLLATE "C",
    received_at_ms BIGINT NOT NULL,
    CONSTRAINT work_item_once PRIMARY KEY (tenant, work_item_id),
    CONSTRAINT work_item_key_once UNIQUE (tenant, principal, key)
);
CREATE TRIGGER work_item_append_only BEFORE UPDATE ON work_item FOR EACH ROW EXECUTE FUNCTION actum_refuse('work_item_append_only');
CREATE TRIGGER work_item_never_deleted BEFORE DELETE ON work_item FOR EACH ROW EXECUTE FUNCTION actum_refuse('work_item_never_deleted');
CREATE TRIGGER work_item_never_deleted_truncate BEFORE TRUNCATE ON work_item FOR EACH STATEMENT EXECUTE FUNCTION actum_refuse('work_item_never_deleted');

CREATE TABLE turn (
    turn_id TEXT COLLATE "C" NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    work_item_id TEXT COLLATE "C" NOT NULL,
    process TEXT COLLATE "C" NOT NULL,
    rulebook_digest TEXT COLLATE "C" NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    started_at_ms BIGINT NOT NULL,
    CONSTRAINT turn_once PRIMARY KEY (tenant, turn_id),
    FOREIGN KEY (tenant, work_item_id) REFERENCES work_item,
    CONSTRAINT turn_reason_known CHECK (coalesce(reason IN ('submitted', 'changed', 'resubmitted', 'event'), false))
);
CREATE TRIGGER turn_append_only BEFORE UPDATE ON turn FOR EACH ROW EXECUTE FUNCTION actum_refuse('turn_append_only');
CREATE TRIGGER turn_never_deleted BEFORE DELETE ON turn FOR EACH ROW EXECUTE FUNCTION actum_refuse('turn_never_deleted');
CREATE TRIGGER turn_never_deleted_truncate BEFORE TRUNCATE ON turn FOR EACH STATEMENT EXECUTE FUNCTION actum_refuse('turn_never_deleted');

CREATE TABLE step_visit (
    turn_id TEXT COLLATE "C" NOT NULL,
    step_id TEXT COLLATE "C" NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    position BIGINT NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    writes BYTEA,
    CONSTRAINT step_visit_once PRIMARY KEY (tenant, turn_id, step_id),
    FOREIGN KEY (tenant, turn_id) REFERENCES turn,
    CONSTRAINT step_state_known CHECK (coalesce(state IN ('pending', 'reserved', 'running', 'check_required', 'done', 'failed'), false))
);
CREATE TRIGGER step_visit_words_fixed BEFORE UPDATE OF tenant, turn_id, step_id, position ON step_visit FOR EACH ROW EXECUTE FUNCTION actum_refuse('step_visit_words_fixed');
CREATE TRIGGER step_visit_never_deleted BEFORE DELETE ON step_visit FOR EACH ROW EXECUTE FUNCTION actum_refuse('step_visit_never_deleted');
CREATE TRIGGER step_visit_never_deleted_truncate BEFORE TRUNCATE ON step_visit FOR EACH STATEMENT EXECUTE FUNCTION actum_refuse('step_visit_never_deleted');

CREATE TABLE decision (
    digest TEXT COLLATE "C" NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    turn_id TEXT COLLATE "C" NOT NULL,
    step_id TEXT COLLATE "C" NOT NULL,
    rung TEXT COLLATE "C" NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    decided_at_ms BIGINT NOT NULL,
    body BYTEA NOT NULL,
    CONSTRAINT decision_once PRIMARY KEY (tenant, turn_id, step_id),
    FOREIGN KEY (tenant, turn_id) REFERENCES turn,
    CONSTRAINT decision_rung_known CHECK (coalesce(rung IN ('structured', 'pattern', 'learned', 'reasoning', 'judgment'), false)),
    CONSTRAINT decision_plumbing_tokens CHECK (coalesce(rung = 'reasoning' OR (input_tokens = 0 AND output_tokens = 0), false))
);
CREATE TRIGGER decision_append_only BEFORE UPDATE ON decision FOR EACH ROW EXECUTE FUNCTION actum_refuse('decision_append_only');
CREATE TRIGGER decision_never_deleted BEFORE DELETE ON decision FOR EACH ROW EXECUTE FUNCTION actum_refuse('decision_never_deleted');
CREATE TRIGGER decision_never_deleted_truncate BEFORE TRUNCATE ON decision FOR EACH STATEMENT EXECUTE FUNCTION actum_refuse('decision_never_deleted');

CREATE TABLE proposal (
    proposed_action_id TEXT COLLATE "C" NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    turn_id TEXT COLLATE "C" NOT NULL,
    step_id TEXT COLLATE "C" NOT NULL,
    decision_digest TEXT COLLATE "C" NOT NULL,
    capability TEXT COLLATE "C" NOT NULL,
    arguments_digest TEXT COLLATE "C" NOT NULL,
    effect_digest TEXT COLLATE "C",
    state TEXT COLLATE "C" NOT NULL,
    refusal TEXT COLLATE "C",
    proposed_at_ms BIGINT NOT NULL,
    CONSTRAINT proposal_once PRIMARY KEY (tenant, proposed_action_id),
    FOREIGN KEY (tenant, turn_id) REFERENCES turn,
    CONSTRAINT proposal_state_known CHECK (coalesce(state IN ('staged', 'granted', 'refused', 'declined', 'cancelled', 'superseded', 'settled'), false)),
    CONSTRAINT proposal_granted_has_effect CHECK (coalesce(state NOT IN ('granted', 'settled') OR effect_digest IS NOT NULL, false))
);
CREATE TRIGGER proposal_words_fixed BEFORE UPDATE OF tenant, proposed_action_id, turn_id, step_id, decision_digest, capability, arguments_digest, effect_digest, proposed_at_ms ON proposal FOR EACH ROW EXECUTE FUNCTION actum_refuse('proposal_words_fixed');
CREATE TRIGGER proposal_never_deleted BEFORE DELETE ON proposal FOR EACH ROW EXECUTE FUNCTION actum_refuse('proposal_never_deleted');
CREATE TRIGGER proposal_never_deleted_truncate BEFORE TRUNCATE ON proposal FOR EACH STATEMENT EXECUTE FUNCTION actum_refuse('proposal_never_deleted');

CREATE TABLE effect (
    effect_digest TEXT COLLATE "C" NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    proposed_action_id TEXT COLLATE "C" NOT NULL,
    salt TEXT COLLATE "C" NOT NULL,
    descriptor TEXT COLLATE "C" NOT NULL,
    arguments BYTEA NOT NULL,
    shown BYTEA NOT NULL,
    context BYTEA NOT NULL,
    CONSTRAINT effect_once PRIMARY KEY (tenant, effect_digest),
    CONSTRAINT effect_of_proposal_once UNIQUE (tenant, proposed_action_id)
);
CREATE TRIGGER effect_append_only BEFORE UPDATE ON effect FOR EACH ROW EXECUTE FUNCTION actum_refuse('effect_append_only');
CREATE TRIGGER effect_never_deleted BEFORE DELETE ON effect FOR EACH ROW EXECUTE FUNCTION actum_refuse('effect_never_deleted');
CREATE TRIGGER effect_never_deleted_truncate BEFORE TRUNCATE ON effect FOR EACH STATEMENT EXECUTE FUNCTION actum_refuse('effect_never_deleted');

CREATE TABLE qualification (
    digest TEXT COLLATE "C" NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    effect_digest TEXT COLLATE "C" NOT NULL,
    result TEXT COLLATE "C" NOT NULL,
    body BYTEA NOT NULL,
    recorded_at_ms BIGINT NOT NULL,
    CONSTRAINT qualification_once PRIMARY KEY (tenant, digest),
    FOREIGN KEY (tenant, effect_digest) REFERENCES effect,
    CONSTRAINT qualification_result_known CHECK (coalesce(result IN ('passed', 'failed', 'not_possible'), false))
);
CREATE TRIGGER qualification_append_only BEFORE UPDATE ON qualification FOR EACH ROW EXECUTE FUNCTION actum_refuse('qualification_append_only');
CREATE TRIGGER qualification_never_deleted BEFORE DELETE ON qualification FOR EACH ROW EXECUTE FUNCTION actum_refuse('qualification_never_deleted');
CREATE TRIGGER qualification_never_deleted_truncate BEFORE TRUNCATE ON qualification FOR EACH STATEMENT EXECUTE FUNCTION actum_refuse('qualification_never_deleted');

CREATE TABLE question (
    question_id TEXT COLLATE "C" NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    turn_id TEXT COLLATE "C" NOT NULL,
    step_id TEXT COLLATE "C",
    reason TEXT COLLATE "C" NOT NULL,
    subject_ref TEXT COLLATE "C" NOT NULL,
    shown_digest TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    asked_at_ms BIGINT NOT NULL,
    answered_by TEXT COLLATE "C",
    answered_at_ms BIGINT,
    answer TEXT COLLATE "C",
    CONSTRAINT question_once PRIMARY KEY (tenant, question_id),
    FOREIGN KEY (tenant, turn_id) REFERENCES turn,
    CONSTRAINT question_reason_known CHECK (coalesce(reason IN ('judgment', 'confirm', 'check_required', 'escalated_deadline', 'dead_letter', 'binding_mismatch'), false)),
    CONSTRAINT question_state_known CHECK (coalesce(state IN ('open', 'answered', 'void'), false)),
    CONSTRAINT question_answer_named CHECK (coalesce(state <> 'answered' OR (answered_by IS NOT NULL AND answered_at_ms IS NOT NULL AND answer IS NOT NULL), false)),
    CONSTRAINT question_open_unanswered CHECK (coalesce(state <> 'open' OR (answered_by IS NULL AND answered_at_ms IS NULL AND answer IS NULL), false))
);
CREATE UNIQUE INDEX question_open_once ON question (tenant, reason, subject_ref) WHERE state = 'open';
CREATE TRIGGER question_words_fixed BEFORE UPDATE OF tenant, question_id, turn_id, step_id, reason, subject_ref, shown_digest, asked_at_ms ON question FOR EACH ROW EXECUTE FUNCTION actum_refuse('question_words_fixed');
CREATE TRIGGER question_never_deleted BEFORE DELETE ON question FOR EACH ROW EXECUTE FUNCTION actum_refuse('question_never_deleted');
CREATE TRIGGER question_never_deleted_truncate BEFORE TRUNCATE ON question FOR EACH STATEMENT EXECUTE FUNCTION actum_refuse('question_never_deleted');

CREATE TABLE "grant" (
    grant_id TEXT COLLATE "C" NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    purpose TEXT COLLATE "C" NOT NULL,
    principal TEXT COLLATE "C" NOT NULL,
    subject_digest TEXT COLLATE "C" NOT NULL,
    incarnation TEXT COLLATE "C" NOT NULL,
    issued_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT NOT NULL,
    body TEXT COLLATE "C" NOT NULL,
    payload_digest TEXT COLLATE "C" NOT NULL,
    envelope BYTEA NOT NULL,
    used_by TEXT COLLATE "C",
    voided_at_ms BIGINT,
    CONSTRAINT grant_once PRIMARY KEY (tenant, grant_id),
    CONSTRAINT grant_purpose_known CHECK (coalesce(purpose IN ('confirm', 'promotion', 'pattern_activation', 'settlement', 'policy'), false)),
    CONSTRAINT grant_expires_after_issue CHECK (coalesce(expires_at_ms > issued_at_ms, false)),
    CONSTRAINT grant_named_person CHECK (coalesce(length(principal) > 0, false))
);
CREATE TRIGGER grant_words_fixed BEFORE UPDATE OF grant_id, tenant, purpose, principal, subject_digest, incarnation, issued_at_ms, expires_at_ms, body, payload_digest, envelope ON "grant" FOR EACH ROW EXECUTE FUNCTION actum_refuse('grant_words_fixed');
CREATE TRIGGER grant_never_deleted BEFORE DELETE ON "grant" FOR EACH ROW EXECUTE FUNCTION actum_refuse('grant_never_deleted');
CREATE TRIGGER grant_never_deleted_truncate BEFORE TRUNCATE ON "grant" FOR EACH STATEMENT EXECUTE FUNCTION actum_refuse('grant_never_deleted');

CREATE TABLE outbox (
    outbox_id TEXT COLLATE "C" NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    turn_id TEXT COLLATE "C" NOT NULL,
    step_id TEXT COLLATE "C" NOT NULL,
    capability TEXT COLLATE "C" NOT NULL,
    effect_digest TEXT COLLATE "C",
    body_digest TEXT COLLATE "C",
    grant_id TEXT COLLATE "C",
    intent_digest TEXT COLLATE "C",
    idempotency_key TEXT COLLATE "C",
    state TEXT COLLATE "C" NOT NULL,
    epoch BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    holder TEXT COLLATE "C",
    lease_until_ms BIGINT,
    not_before_ms BIGINT NOT NULL,
    dispatched_at_ms BIGINT,
    incarnation TEXT COLLATE "C" NOT NULL,
    created_at_ms BIGINT NOT NULL,
    CONSTRAINT outbox_once PRIMARY KEY (tenant, outbox_id),
    CONSTRAINT outbox_effect_once UNIQUE (tenant, effect_digest),
    FOREIGN KEY (tenant, turn_id) REFERENCES turn,
    FOREIGN KEY (tenant, effect_digest) REFERENCES effect,
    FOREIGN KEY (tenant, grant_id) REFERENCES "grant",
    CONSTRAINT outbox_kind_known CHECK (coalesce(kind IN ('effect', 'model_call', 'notice', 'timer'), false)),
    CONSTRAINT outbox_state_known CHECK (coalesce(state IN ('ready', 'claimed', 'dispatched', 'settled', 'retry_wait', 'check_required', 'dead'), false)),
    CONSTRAINT outbox_effect_named CHECK (coalesce((kind <> 'effect' AND effect_digest IS NULL) OR (kind = 'effect' AND effect_digest IS NOT NULL AND intent_digest IS NOT NULL AND idempotency_key IS NOT NULL), false)),
    CONSTRAINT outbox_holder_known CHECK (coalesce(state NOT IN ('claimed', 'dispatched') OR (holder IS NOT NULL AND lease_until_ms IS NOT NULL AND epoch > 0 AND attempts > 0), false)),
    CONSTRAINT outbox_dispatch_marked CHECK (coalesce(state <> 'dispatched' OR dispatched_at_ms IS NOT NULL, false))
);
CREATE TRIGGER outbox_words_fixed BEFORE UPDATE OF tenant, outbox_id, kind, turn_id, step_id, capability, effect_digest, body_digest, grant_id, intent_digest, idempotency_key, incarnation, created_at_ms ON outbox FOR EACH ROW EXECUTE FUNCTION actum_refuse('outbox_words_fixed');
CREATE TRIGGER outbox_never_deleted BEFORE DELETE ON outbox FOR EACH ROW EXECUTE FUNCTION actum_refuse('outbox_never_deleted');
CREATE TRIGGER outbox_never_deleted_truncate BEFORE TRUNCATE ON outbox FOR EACH STATEMENT EXECUTE FUNCTION actum_refuse('outbox_never_deleted');

CREATE TABLE idempotency (
    tenant TEXT COLLATE "C" NOT NULL,
    capability TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    intent_digest TEXT COLLATE "C" NOT NULL,
    outbox_id TEXT COLLATE "C" NOT NULL,
    CONSTRAINT idempotency_once PRIMARY KEY (tenant, capability, key),
    FOREIGN KEY (tenant, outbox_id) REFERENCES outbox
);
CREATE TRIGGER idempotency_append_only BEFORE UPDATE ON idempotency FOR EACH ROW EXECUTE FUNCTION actum_refuse('idempotency_append_only');
CREATE TRIGGER idempotency_never_deleted BEFORE DELETE ON idempotency FOR EACH ROW EXECUTE FUNCTION actum_refuse('idempotency_never_deleted');
CREATE TRIGGER idempotency_never_deleted_truncate BEFORE TRUNCATE ON idempotency FOR EACH STATEMENT EXECUTE FUNCTION actum_refuse('idempotency_never_deleted');

CREATE TABLE execution (
    execution_id TEXT COLLATE "C" NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    outbox_id TEXT COLLATE "C" NOT NULL,
    turn_id TEXT COLLATE "C" NOT NULL,
    epoch BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    started_at_ms BIGINT NOT NULL,
    finished_at_ms BIGINT,
    before TEXT COLLATE "C",
    before_digest TEXT COLLATE "C",
    executor_said TEXT COLLATE "C",
    result_digest TEXT COLLATE "C",
    CONSTRAINT execution_once PRIMARY KEY (tenant, execution_id),
    FOREIGN KEY (tenant, outbox_id) REFERENCES outbox,
    FOREIGN KEY (tenant, turn_id) REFERENCES turn,
    CONSTRAINT execution_kind_known CHECK (coalesce(kind IN ('effect', 'settlement', 'record'), false)),
    CONSTRAINT execution_times CHECK (coalesce(finished_at_ms IS NULL OR finished_at_ms >= started_at_ms, false)),
    CONSTRAINT execution_said_known CHECK (coalesce(executor_said IS NULL OR executor_said IN ('ok', 'accepted', 'rejected', 'raised', 'no_answer'), false))
);
CREATE UNIQUE INDEX execution_effect_once ON execution (tenant, outbox_id, epoch) WHERE kind = 'effect';
CREATE TRIGGER execution_words_fixed BEFORE UPDATE OF tenant, execution_id, outbox_id, turn_id, epoch, kind, started_at_ms, before, before_digest ON execution FOR EACH ROW EXECUTE FUNCTION actum_refuse('execution_words_fixed');
CREATE TRIGGER execution_never_deleted BEFORE DELETE ON execution FOR EACH ROW EXECUTE FUNCTION actum_refuse('execution_never_deleted');
CREATE TRIGGER execution_never_deleted_truncate BEFORE TRUNCATE ON execution FOR EACH STATEMENT EXECUTE FUNCTION actum_refuse('execution_never_deleted');

CREATE TABLE receipt (
    receipt_id TEXT COLLATE "C" NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    turn_id TEXT COLLATE "C" NOT NULL,
    execution_id TEXT COLLATE "C" NOT NULL,
    outbox_id TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    payload_digest TEXT COLLATE "C" NOT NULL,
    settles TEXT COLLATE "C",
    claimed_finality TEXT COLLATE "C" NOT NULL,
    claimed_confidence TEXT COLLATE "C" NOT NULL,
    graded_finality TEXT COLLATE "C" NOT NULL,
    graded_confidence TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C",
    sealed_at_ms BIGINT NOT NULL,
    body BYTEA NOT NULL,
    envelope BYTEA NOT NULL,
    CONSTRAINT receipt_once PRIMARY KEY (tenant, receipt_id),
    CONSTRAINT receipt_execution_once UNIQUE (tenant, execution_id),
    CONSTRAINT receipt_payload_once UNIQUE (tenant, payload_digest),
    FOREIGN KEY (tenant, turn_id) REFERENCES turn,
    FOREIGN KEY (tenant, execution_id) REFERENCES execution,
    FOREIGN KEY (tenant, outbox_id) REFERENCES outbox,
    CONSTRAINT receipt_finality_known CHECK (coalesce(graded_finality IN ('not_attempted', 'initiated', 'finalized', 'failed', 'indeterminate') AND claimed_finality IN ('not_attempted', 'initiated', 'finalized', 'failed', 'indeterminate'), false)),
    CONSTRAINT receipt_confidence_known CHECK (coalesce(graded_confidence IN ('verified', 'partial', 'ambiguous', 'unknown', 'not_verified') AND claimed_confidence IN ('verified', 'partial', 'ambiguous', 'unknown', 'not_verified'), false)),
    CONSTRAINT receipt_status_known CHECK (coalesce(status IS NULL OR status IN ('success', 'partial', 'failed', 'cancelled', 'unknown_outcome'), false)),
    CONSTRAINT receipt_status_earned CHECK (coalesce(coalesce(status, '') <> 'success' OR (graded_finality = 'finalized' AND graded_confidence = 'verified'), false)),
    CONSTRAINT receipt_graded_not_higher CHECK (coalesce((graded_finality NOT IN ('finalized', 'initiated', 'not_attempted') OR graded_finality = claimed_finality) AND (graded_confidence <> 'verified' OR claimed_confidence = 'verified' OR graded_finality <> claimed_finality OR graded_finality = 'initiated'), false))
);
CREATE TRIGGER receipt_append_only BEFORE UPDATE ON receipt FOR EACH ROW EXECUTE FUNCTION actum_refuse('receipt_append_only');
CREATE TRIGGER receipt_never_deleted BEFORE DELETE ON receipt FOR EACH ROW EXECUTE FUNCTION actum_refuse('receipt_never_deleted');
CREATE TRIGGER receipt_never_deleted_truncate BEFORE TRUNCATE ON receipt FOR EACH STATEMENT EXECUTE FUNCTION actum_refuse('receipt_never_deleted');

CREATE TABLE log_leaf (
    seq BIGINT NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    entry BYTEA NOT NULL,
    leaf_hash BYTEA NOT NULL,
    envelope BYTEA NOT NULL,
    payload_digest TEXT COLLATE "C" NOT NULL,
    CONSTRAINT log_leaf_once PRIMARY KEY (tenant, seq),
    CONSTRAINT log_leaf_payload_once UNIQUE (tenant, payload_digest),
    CONSTRAINT log_leaf_hash_length CHECK (coalesce(length(leaf_hash) = 32, false))
);
CREATE TRIGGER log_leaf_append_only BEFORE UPDATE ON log_leaf FOR EACH ROW EXECUTE FUNCTION actum_refuse('log_leaf_append_only');
CREATE TRIGGER log_leaf_never_deleted BEFORE DELETE ON log_leaf FOR EACH ROW EXECUTE FUNCTION actum_refuse('log_leaf_never_deleted');
CREATE TRIGGER log_leaf_never_deleted_truncate BEFORE TRUNCATE ON log_leaf FOR EACH STATEMENT EXECUTE FUNCTION actum_refuse('log_leaf_never_deleted');

CREATE TABLE log_state (
    tenant TEXT COLLATE "C" NOT NULL,
    size BIGINT NOT NULL,
    frontier BYTEA NOT NULL,
    CONSTRAINT log_state_once PRIMARY KEY (tenant),
    CONSTRAINT log_state_size CHECK (coalesce(size >= 0, false))
);
CREATE TRIGGER log_state_never_deleted BEFORE DELETE ON log_state FOR EACH ROW EXECUTE FUNCTION actum_refuse('log_state_never_deleted');
CREATE TRIGGER log_state_never_deleted_truncate BEFORE TRUNCATE ON log_state FOR EACH STATEMENT EXECUTE FUNCTION actum_refuse('log_state_never_deleted');

CREATE TABLE chain (
    tenant TEXT COLLATE "C" NOT NULL,
    chain TEXT COLLATE "C" NOT NULL,
    next_seq BIGINT NOT NULL,
    CONSTRAINT chain_once PRIMARY KEY (tenant, chain),
    CONSTRAINT chain_seq CHECK (coalesce(next_seq >= 0, false))
);
CREATE TRIGGER chain_never_deleted BEFORE DELETE ON chain FOR EACH ROW EXECUTE FUNCTION actum_refuse('chain_never_deleted');
CREATE TRIGGER chain_never_deleted_truncate BEFORE TRUNCATE ON chain FOR EACH STATEMENT EXECUTE FUNCTION actum_refuse('chain_never_deleted');

CREATE TABLE activity (
    turn_id TEXT COLLATE "C" NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    title TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    receipt_count BIGINT NOT NULL,
    evidence_digest TEXT COLLATE "C",
    failure_category TEXT COLLATE "C",
    failure_reason TEXT COLLATE "C",
    label TEXT COLLATE "C",
    open_questions BIGINT NOT NULL,
    acknowledged_by TEXT COLLATE "C",
    acknowledged_at_ms BIGINT,
    updated_at_ms BIGINT NOT NULL,
    CONSTRAINT activity_once PRIMARY KEY (tenant, turn_id),
    FOREIGN KEY (tenant, turn_id) REFERENCES turn,
    CONSTRAINT activity_state_known CHECK (coalesce(state IN ('queued', 'routing', 'running', 'verifying', 'completed', 'failed', 'recovery_required'), false)),
    CONSTRAINT activity_category_known CHECK (coalesce(failure_category IS NULL OR failure_category IN ('routing', 'local_model', 'cloud_service', 'native_execution', 'persistence', 'setup', 'unknown'), false)),
    CONSTRAINT activity_completed_has_evidence CHECK (coalesce(state <> 'completed' OR (receipt_count >= 1 AND evidence_digest IS NOT NULL AND failure_category IS NULL), false)),
    CONSTRAINT activity_failed_has_category_only CHECK (coalesce(state <> 'failed' OR (receipt_count = 0 AND evidence_digest IS NULL AND failure_category IS NOT NULL), false)),
    CONSTRAINT activity_open_is_bare CHECK (coalesce(state IN ('completed', 'failed') OR (receipt_count = 0 AND evidence_digest IS NULL AND failure_category IS NULL), false)),
    CONSTRAINT activity_evidence_form CHECK (coalesce(evidence_digest IS NULL OR (length(evidence_digest) = 71 AND substr(evidence_digest, 1, 7) = 'sha256:' AND substr(evidence_digest, 8) !~ '[^0-9a-f]'), false)),
    CONSTRAINT activity_questions_counted CHECK (coalesce(open_questions >= 0, false))
);
CREATE TRIGGER activity_never_deleted BEFORE DELETE ON activity FOR EACH ROW EXECUTE FUNCTION actum_refuse('activity_never_deleted');
CREATE TRIGGER activity_never_deleted_truncate BEFORE TRUNCATE ON activity FOR EACH STATEMENT EXECUTE FUNCTION actum_refuse('activity_never_deleted');

CREATE TABLE activity_event (
    event_id TEXT COLLATE "C" NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    at_ms BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    turn_id TEXT COLLATE "C",
    body TEXT COLLATE "C" NOT NULL,
    CONSTRAINT activity_event_once PRIMARY KEY (tenant, event_id)
);
CREATE TRIGGER activity_event_append_only BEFORE UPDATE ON activity_event FOR EACH ROW EXECUTE FUNCTION actum_refuse('activity_event_append_only');
CREATE TRIGGER activity_event_never_deleted BEFORE DELETE ON activity_event FOR EACH ROW EXECUTE FUNCTION actum_refuse('activity_event_never_deleted');
CREATE TRIGGER activity_event_never_deleted_truncate BEFORE TRUNCATE ON activity_event FOR EACH STATEMENT EXECUTE FUNCTION actum_refuse('activity_event_never_deleted');

CREATE TABLE assertion (
    assertion_id TEXT COLLATE "C" NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    turn_id TEXT COLLATE "C" NOT NULL,
    text_digest TEXT COLLATE "C" NOT NULL,
    model_id TEXT COLLATE "C",
    asserts TEXT COLLATE "C",
    outbox_id TEXT COLLATE "C",
    asserted_at_ms BIGINT NOT NULL,
    CONSTRAINT assertion_once PRIMARY KEY (tenant, assertion_id),
    FOREIGN KEY (tenant, turn_id) REFERENCES turn
);
CREATE TRIGGER assertion_append_only BEFORE UPDATE ON assertion FOR EACH ROW EXECUTE FUNCTION actum_refuse('assertion_append_only');
CREATE TRIGGER assertion_never_deleted BEFORE DELETE ON assertion FOR EACH ROW EXECUTE FUNCTION actum_refuse('assertion_never_deleted');
CREATE TRIGGER assertion_never_deleted_truncate BEFORE TRUNCATE ON assertion FOR EACH STATEMENT EXECUTE FUNCTION actum_refuse('assertion_never_deleted');

CREATE TABLE message (
    message_id TEXT COLLATE "C" NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    turn_id TEXT COLLATE "C" NOT NULL,
    role TEXT COLLATE "C" NOT NULL,
    content_digest TEXT COLLATE "C" NOT NULL,
    routing_mode TEXT COLLATE "C",
    execution_kind TEXT COLLATE "C",
    provider TEXT COLLATE "C",
    runtime TEXT COLLATE "C",
    model TEXT COLLATE "C",
    receipt_id TEXT COLLATE "C",
    said_at_ms BIGINT NOT NULL,
    CONSTRAINT message_once PRIMARY KEY (tenant, message_id),
    FOREIGN KEY (tenant, turn_id) REFERENCES turn,
    FOREIGN KEY (tenant, receipt_id) REFERENCES receipt,
    CONSTRAINT message_role_known CHECK (coalesce(role IN ('user', 'assistant', 'tool'), false)),
    CONSTRAINT message_kind_known CHECK (coalesce(execution_kind IS NULL OR execution_kind IN ('native', 'local_model', 'cloud_model'), false)),
    CONSTRAINT message_provenance_whole CHECK (coalesce((execution_kind IS NULL) = (routing_mode IS NULL) AND (execution_kind IS NULL) = (provider IS NULL) AND (execution_kind IS NULL) = (runtime IS NULL), false)),
    CONSTRAINT message_native_not_cloud CHECK (coalesce(coalesce(execution_kind, '') <> 'native' OR coalesce(provider, '') = 'actum', false)),
    CONSTRAINT message_native_has_receipt CHECK (coalesce(coalesce(execution_kind, '') <> 'native' OR receipt_id IS NOT NULL, false))
);
CREATE TRIGGER message_append_only BEFORE UPDATE ON message FOR EACH ROW EXECUTE FUNCTION actum_refuse('message_append_only');
CREATE TRIGGER message_never_deleted BEFORE DELETE ON message FOR EACH ROW EXECUTE FUNCTION actum_refuse('message_never_deleted');
CREATE TRIGGER message_never_deleted_truncate BEFORE TRUNCATE ON message FOR EACH STATEMENT EXECUTE FUNCTION actum_refuse('message_never_deleted');

CREATE TABLE runner (
    tenant TEXT COLLATE "C" NOT NULL,
    holder TEXT COLLATE "C" NOT NULL,
    epoch BIGINT NOT NULL,
    lease_until_ms BIGINT NOT NULL,
    boot_id TEXT COLLATE "C" NOT NULL,
    host TEXT COLLATE "C" NOT NULL,
    pid BIGINT NOT NULL,
    CONSTRAINT runner_once PRIMARY KEY (tenant)
);
CREATE TRIGGER runner_never_deleted BEFORE DELETE ON runner FOR EACH ROW EXECUTE FUNCTION actum_refuse('runner_never_deleted');
CREATE TRIGGER runner_never_deleted_truncate BEFORE TRUNCATE ON runner FOR EACH STATEMENT EXECUTE FUNCTION actum_refuse('runner_never_deleted');

-- Indexes that the line reads by.
CREATE INDEX turn_of_item ON turn (tenant, work_item_id, turn_id);
CREATE INDEX rulebook_by_digest ON rulebook (tenant, digest);
CREATE INDEX decision_by_digest ON decision (tenant, digest);
CREATE INDEX proposal_of_turn ON proposal (tenant, turn_id, proposed_action_id);
CREATE INDEX question_of_turn ON question (tenant, turn_id, question_id);
CREATE INDEX question_open ON question (tenant, question_id) WHERE state = 'open';
CREATE INDEX qualification_of_effect ON qualification (tenant, effect_digest, recorded_at_ms);
CREATE INDEX outbox_ready ON outbox (tenant, not_before_ms, outbox_id) WHERE state IN ('ready', 'retry_wait');
CREATE INDEX outbox_open ON outbox (tenant, state, outbox_id) WHERE state <> 'settled';
CREATE INDEX outbox_unattempted ON outbox (tenant, outbox_id) WHERE state = 'settled' AND epoch = 0;
CREATE INDEX outbox_of_turn ON outbox (tenant, turn_id, outbox_id);
CREATE INDEX execution_of_row ON execution (tenant, outbox_id, execution_id);
CREATE INDEX receipt_of_turn ON receipt (tenant, turn_id, receipt_id);
CREATE INDEX receipt_of_row ON receipt (tenant, outbox_id, receipt_id);
CREATE INDEX activity_by_state ON activity (tenant, state, turn_id);
CREATE INDEX activity_needs_attention ON activity (tenant, turn_id) WHERE (state = 'recovery_required' OR open_questions > 0 OR (state = 'failed' AND acknowledged_by IS NULL));
CREATE INDEX activity_in_progress ON activity (tenant, turn_id) WHERE open_questions = 0 AND state IN ('queued', 'routing', 'running', 'verifying');
CREATE INDEX activity_event_of_turn ON activity_event (tenant, turn_id, event_id);
CREATE INDEX assertion_of_turn ON assertion (tenant, turn_id, assertion_id);
CREATE INDEX message_of_turn ON message (tenant, turn_id, message_id);

-- Rules that look at other rows, or at what the row was.
-- A row enters the outbox waiting, or settled at once where there is nothing to send; only a claim leads further.
CREATE FUNCTION outbox_starts_waiting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.state NOT IN ('ready', 'retry_wait', 'settled') OR NEW.dispatched_at_ms IS NOT NULL
    THEN RAISE EXCEPTION 'outbox_starts_waiting' USING ERRCODE = '23514', CONSTRAINT = 'outbox_starts_waiting'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER outbox_starts_waiting BEFORE INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION outbox_starts_waiting();
-- A row that wants to leave without a grant must describe an effect that changes nothing outside this store.
CREATE FUNCTION outbox_ungranted_is_inform() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.kind = 'effect' AND NEW.grant_id IS NULL AND NEW.state <> 'settled' AND NOT coalesce((
            SELECT (e.descriptor::jsonb ->> 'reversibility') = 'no_mutation'
               AND (e.descriptor::jsonb ->> 'externality') IN ('local_only', 'public_read')
               AND (e.descriptor::jsonb ->> 'effect_class') = 'inform'
              FROM effect e WHERE e.tenant = NEW.tenant AND e.effect_digest = NEW.effect_digest), false)
    THEN RAISE EXCEPTION 'outbox_ungranted_is_inform' USING ERRCODE = '23514', CONSTRAINT = 'outbox_ungranted_is_inform'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER outbox_ungranted_is_inform BEFORE INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION outbox_ungranted_is_inform();
-- The grant must be for this exact effect, for confirming, in this incarnation, neither void nor expired, and taken by
-- this row, before the mark is set.
CREATE FUNCTION outbox_dispatch_granted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.state = 'dispatched' AND NEW.grant_id IS NOT NULL AND NOT coalesce((
            SELECT g.used_by = NEW.outbox_id AND g.purpose = 'confirm' AND g.subject_digest = NEW.effect_digest
               AND g.incarnation = NEW.incarnation AND g.voided_at_ms IS NULL AND g.expires_at_ms > NEW.dispatched_at_ms
              FROM "grant" g WHERE g.tenant = NEW.tenant AND g.grant_id = NEW.grant_id), false)
    THEN RAISE EXCEPTION 'outbox_dispatch_granted' USING ERRCODE = '23514', CONSTRAINT = 'outbox_dispatch_granted'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER outbox_dispatch_granted BEFORE UPDATE OF state ON outbox FOR EACH ROW EXECUTE FUNCTION outbox_dispatch_granted();
CREATE FUNCTION outbox_dispatch_from_claim() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.state = 'dispatched' AND OLD.state NOT IN ('claimed', 'dispatched')
    THEN RAISE EXCEPTION 'outbox_dispatch_from_claim' USING ERRCODE = '23514', CONSTRAINT = 'outbox_dispatch_from_claim'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER outbox_dispatch_from_claim BEFORE UPDATE OF state ON outbox FOR EACH ROW EXECUTE FUNCTION outbox_dispatch_from_claim();
CREATE FUNCTION outbox_settled_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state = 'settled' AND NEW.state <> 'settled'
    THEN RAISE EXCEPTION 'outbox_settled_stays' USING ERRCODE = '23514', CONSTRAINT = 'outbox_settled_stays'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER outbox_settled_stays BEFORE UPDATE OF state ON outbox FOR EACH ROW EXECUTE FUNCTION outbox_settled_stays();
CREATE FUNCTION outbox_dispatched_never_back() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state = 'dispatched' AND NEW.state IN ('ready', 'claimed')
    THEN RAISE EXCEPTION 'outbox_dispatched_never_back' USING ERRCODE = '23514', CONSTRAINT = 'outbox_dispatched_never_back'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER outbox_dispatched_never_back BEFORE UPDATE OF state ON outbox FOR EACH ROW EXECUTE FUNCTION outbox_dispatched_never_back();
-- A claim is fenced and counted in the statement that makes it, so a crash counts too.
CREATE FUNCTION outbox_claim_counts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.epoch < OLD.epoch OR NEW.attempts < OLD.attempts
          OR (NEW.state = 'claimed' AND (OLD.state <> 'claimed' OR NEW.holder IS DISTINCT FROM OLD.holder)
              AND (NEW.epoch <> OLD.epoch + 1 OR NEW.attempts <> OLD.attempts + 1))
    THEN RAISE EXCEPTION 'outbox_claim_counts' USING ERRCODE = '23514', CONSTRAINT = 'outbox_claim_counts'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER outbox_claim_counts BEFORE UPDATE OF state, epoch, attempts, holder ON outbox FOR EACH ROW EXECUTE FUNCTION outbox_claim_counts();
-- What was once dispatched can never look as if it had not been.
CREATE FUNCTION outbox_mark_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.dispatched_at_ms IS NOT NULL AND NEW.dispatched_at_ms IS NULL
    THEN RAISE EXCEPTION 'outbox_mark_stays' USING ERRCODE = '23514', CONSTRAINT = 'outbox_mark_stays'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER outbox_mark_stays BEFORE UPDATE OF dispatched_at_ms ON outbox FOR EACH ROW EXECUTE FUNCTION outbox_mark_stays();
-- A grant is used once, and neither its words nor its use can be changed afterwards.
CREATE FUNCTION grant_starts_unused() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.used_by IS NOT NULL OR NEW.voided_at_ms IS NOT NULL
    THEN RAISE EXCEPTION 'grant_starts_unused' USING ERRCODE = '23514', CONSTRAINT = 'grant_starts_unused'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER grant_starts_unused BEFORE INSERT ON "grant" FOR EACH ROW EXECUTE FUNCTION grant_starts_unused();
CREATE FUNCTION grant_used_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.used_by IS NOT NULL AND NEW.used_by IS DISTINCT FROM OLD.used_by
    THEN RAISE EXCEPTION 'grant_used_once' USING ERRCODE = '23514', CONSTRAINT = 'grant_used_once'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER grant_used_once BEFORE UPDATE OF used_by ON "grant" FOR EACH ROW EXECUTE FUNCTION grant_used_once();
CREATE FUNCTION grant_void_unusable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.voided_at_ms IS NOT NULL AND (NEW.voided_at_ms IS NULL OR (NEW.used_by IS NOT NULL AND OLD.used_by IS NULL))
    THEN RAISE EXCEPTION 'grant_void_unusable' USING ERRCODE = '23514', CONSTRAINT = 'grant_void_unusable'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER grant_void_unusable BEFORE UPDATE OF used_by, voided_at_ms ON "grant" FOR EACH ROW EXECUTE FUNCTION grant_void_unusable();
CREATE FUNCTION question_answered_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state <> 'open'
    THEN RAISE EXCEPTION 'question_answered_once' USING ERRCODE = '23514', CONSTRAINT = 'question_answered_once'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER question_answered_once BEFORE UPDATE ON question FOR EACH ROW EXECUTE FUNCTION question_answered_once();
CREATE FUNCTION decision_answers_step() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM step_visit v WHERE v.tenant = NEW.tenant AND v.turn_id = NEW.turn_id AND v.step_id = NEW.step_id)
    THEN RAISE EXCEPTION 'decision_answers_step' USING ERRCODE = '23514', CONSTRAINT = 'decision_answers_step'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER decision_answers_step BEFORE INSERT ON decision FOR EACH ROW EXECUTE FUNCTION decision_answers_step();
-- What an executor said is written once.
CREATE FUNCTION execution_finished_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.finished_at_ms IS NOT NULL
    THEN RAISE EXCEPTION 'execution_finished_once' USING ERRCODE = '23514', CONSTRAINT = 'execution_finished_once'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER execution_finished_once BEFORE UPDATE ON execution FOR EACH ROW EXECUTE FUNCTION execution_finished_once();
CREATE FUNCTION receipt_after_execution() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM execution x WHERE x.tenant = NEW.tenant AND x.execution_id = NEW.execution_id
            AND x.outbox_id = NEW.outbox_id AND x.turn_id = NEW.turn_id AND x.kind = NEW.kind AND x.finished_at_ms IS NOT NULL)
    THEN RAISE EXCEPTION 'receipt_after_execution' USING ERRCODE = '23514', CONSTRAINT = 'receipt_after_execution'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER receipt_after_execution BEFORE INSERT ON receipt FOR EACH ROW EXECUTE FUNCTION receipt_after_execution();
-- Nothing says not attempted once the mark was committed, and nothing says it happened before.
CREATE FUNCTION receipt_attempted_after_dispatch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.kind = 'effect' AND NEW.claimed_finality = 'not_attempted'
         AND EXISTS (SELECT 1 FROM outbox o WHERE o.tenant = NEW.tenant AND o.outbox_id = NEW.outbox_id
                     AND o.dispatched_at_ms IS NOT NULL)
    THEN RAISE EXCEPTION 'receipt_attempted_after_dispatch' USING ERRCODE = '23514', CONSTRAINT = 'receipt_attempted_after_dispatch'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER receipt_attempted_after_dispatch BEFORE INSERT ON receipt FOR EACH ROW EXECUTE FUNCTION receipt_attempted_after_dispatch();
CREATE FUNCTION receipt_happened_after_dispatch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.kind = 'effect' AND NEW.claimed_finality IN ('initiated', 'finalized')
         AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.tenant = NEW.tenant AND o.outbox_id = NEW.outbox_id
                         AND o.dispatched_at_ms IS NOT NULL)
    THEN RAISE EXCEPTION 'receipt_happened_after_dispatch' USING ERRCODE = '23514', CONSTRAINT = 'receipt_happened_after_dispatch'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER receipt_happened_after_dispatch BEFORE INSERT ON receipt FOR EACH ROW EXECUTE FUNCTION receipt_happened_after_dispatch();
-- The log has no gap, and what stands beside it only grows.
CREATE FUNCTION log_leaf_next() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.seq <> coalesce((SELECT max(l.seq) FROM log_leaf l WHERE l.tenant = NEW.tenant), -1) + 1
    THEN RAISE EXCEPTION 'log_leaf_next' USING ERRCODE = '23514', CONSTRAINT = 'log_leaf_next'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER log_leaf_next BEFORE INSERT ON log_leaf FOR EACH ROW EXECUTE FUNCTION log_leaf_next();
CREATE FUNCTION log_state_grows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.size < OLD.size
    THEN RAISE EXCEPTION 'log_state_grows' USING ERRCODE = '23514', CONSTRAINT = 'log_state_grows'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER log_state_grows BEFORE UPDATE ON log_state FOR EACH ROW EXECUTE FUNCTION log_state_grows();
CREATE FUNCTION chain_grows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.next_seq <= OLD.next_seq
    THEN RAISE EXCEPTION 'chain_grows' USING ERRCODE = '23514', CONSTRAINT = 'chain_grows'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER chain_grows BEFORE UPDATE ON chain FOR EACH ROW EXECUTE FUNCTION chain_grows();
CREATE FUNCTION runner_epoch_grows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.epoch < OLD.epoch OR (NEW.holder <> OLD.holder AND NEW.epoch = OLD.epoch)
    THEN RAISE EXCEPTION 'runner_epoch_grows' USING ERRCODE = '23514', CONSTRAINT = 'runner_epoch_grows'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER runner_epoch_grows BEFORE UPDATE ON runner FOR EACH ROW EXECUTE FUNCTION runner_epoch_grows();
-- Receipts are counted by the database, so that a completed row cannot say another number.
CREATE FUNCTION activity_counts_receipts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.state = 'completed' AND NEW.receipt_count <> (
            SELECT count(*) FROM receipt r WHERE r.tenant = NEW.tenant AND r.turn_id = NEW.turn_id)
    THEN RAISE EXCEPTION 'activity_counts_receipts' USING ERRCODE = '23514', CONSTRAINT = 'activity_counts_receipts'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER activity_counts_receipts BEFORE INSERT OR UPDATE ON activity FOR EACH ROW EXECUTE FUNCTION activity_counts_receipts();
-- Nothing is completed on receipts of failures and unknown outcomes alone; a person's answer is a settlement.
CREATE FUNCTION activity_completed_is_earned() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.state = 'completed' AND NOT EXISTS (
            SELECT 1 FROM receipt r WHERE r.tenant = NEW.tenant AND r.turn_id = NEW.turn_id
               AND (r.status IN ('success', 'partial', 'cancelled') OR r.kind = 'settlement'))
    THEN RAISE EXCEPTION 'activity_completed_is_earned' USING ERRCODE = '23514', CONSTRAINT = 'activity_completed_is_earned'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER activity_completed_is_earned BEFORE INSERT OR UPDATE ON activity FOR EACH ROW EXECUTE FUNCTION activity_completed_is_earned();
-- A native reply stands on the receipt of an effect that was seen to have happened; a recorded decision is none.
CREATE FUNCTION message_native_receipt_earned() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.execution_kind = 'native' AND NOT coalesce((
            SELECT r.status = 'success' AND r.kind IN ('effect', 'settlement') AND r.turn_id = NEW.turn_id
              FROM receipt r WHERE r.tenant = NEW.tenant AND r.receipt_id = NEW.receipt_id), false)
    THEN RAISE EXCEPTION 'message_native_receipt_earned' USING ERRCODE = '23514', CONSTRAINT = 'message_native_receipt_earned'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER message_native_receipt_earned BEFORE INSERT ON message FOR EACH ROW EXECUTE FUNCTION message_native_receipt_earned();
-- A receipt that arrives after completion is counted; the evidence digest is the service's to renew.
CREATE FUNCTION receipt_recounts_activity() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE activity SET receipt_count = receipt_count + 1
     WHERE tenant = NEW.tenant AND turn_id = NEW.turn_id AND state = 'completed';
    RETURN NULL;
END $$;
CREATE TRIGGER receipt_recounts_activity AFTER INSERT ON receipt FOR EACH ROW EXECUTE FUNCTION receipt_recounts_activity();
