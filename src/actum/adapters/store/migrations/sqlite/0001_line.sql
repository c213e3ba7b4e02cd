-- SPDX-License-Identifier: Apache-2.0
-- The line's tables. Each rule of one row is a named CHECK and a trigger of the same name, because a pragma can switch
-- CHECKs off and OR IGNORE swallows them; a trigger with RAISE(ABORT) obeys neither. OR REPLACE deletes without asking
-- delete triggers, so a row that must stay is refused before it could be replaced (the rules that end in _once).
-- A rule asks for one of several words with OR: IN with more than two has SQLite build a table of them at every row.
-- An append-only table has no rules on UPDATE beside the one that refuses it. Every key begins with the tenant. A table
-- with further indexes keeps its rowid: without one the planner would take the key's first column, the tenant, for
-- selective, and read the whole history.

CREATE TABLE meta (
    tenant TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    CONSTRAINT meta_once PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE role (
    tenant TEXT NOT NULL,
    principal TEXT NOT NULL,
    role TEXT NOT NULL,
    granted_by TEXT NOT NULL,
    granted_at_ms INTEGER NOT NULL,
    CONSTRAINT role_once PRIMARY KEY (tenant, principal, role),
    CONSTRAINT role_known CHECK ((role = 'submitter' OR role = 'approver' OR role = 'operator'))
) STRICT, WITHOUT ROWID;
CREATE TRIGGER role_known_insert BEFORE INSERT ON role
WHEN NOT coalesce((NEW.role = 'submitter' OR NEW.role = 'approver' OR NEW.role = 'operator'), false)
BEGIN SELECT RAISE(ABORT, 'role_known'); END;
CREATE TRIGGER role_known_update BEFORE UPDATE ON role
WHEN NOT coalesce((NEW.role = 'submitter' OR NEW.role = 'approver' OR NEW.role = 'operator'), false)
BEGIN SELECT RAISE(ABORT, 'role_known'); END;

CREATE TABLE content (
    tenant TEXT NOT NULL,
    digest TEXT NOT NULL,
    body BLOB,
    file TEXT,
    size INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    erased_at_ms INTEGER,
    CONSTRAINT content_once PRIMARY KEY (tenant, digest),
    CONSTRAINT content_digest_form CHECK (length(digest) = 71 AND substr(digest, 1, 7) = 'sha256:' AND substr(digest, 8) NOT GLOB '*[^0-9a-f]*'),
    CONSTRAINT content_held_or_erased CHECK ((erased_at_ms IS NULL AND (body IS NOT NULL) <> (file IS NOT NULL)) OR (erased_at_ms IS NOT NULL AND body IS NULL AND file IS NULL))
) STRICT;
CREATE TRIGGER content_once_insert BEFORE INSERT ON content
WHEN EXISTS (SELECT 1 FROM content o WHERE o.tenant = NEW.tenant AND o.digest = NEW.digest)
BEGIN SELECT RAISE(ABORT, 'content_once'); END;
CREATE TRIGGER content_digest_form_insert BEFORE INSERT ON content
WHEN NOT coalesce(length(NEW.digest) = 71 AND substr(NEW.digest, 1, 7) = 'sha256:' AND substr(NEW.digest, 8) NOT GLOB '*[^0-9a-f]*', false)
BEGIN SELECT RAISE(ABORT, 'content_digest_form'); END;
CREATE TRIGGER content_digest_form_update BEFORE UPDATE ON content
WHEN NOT coalesce(length(NEW.digest) = 71 AND substr(NEW.digest, 1, 7) = 'sha256:' AND substr(NEW.digest, 8) NOT GLOB '*[^0-9a-f]*', false)
BEGIN SELECT RAISE(ABORT, 'content_digest_form'); END;
CREATE TRIGGER content_held_or_erased_insert BEFORE INSERT ON content
WHEN NOT coalesce((NEW.erased_at_ms IS NULL AND (NEW.body IS NOT NULL) <> (NEW.file IS NOT NULL)) OR (NEW.erased_at_ms IS NOT NULL AND NEW.body IS NULL AND NEW.file IS NULL), false)
BEGIN SELECT RAISE(ABORT, 'content_held_or_erased'); END;
CREATE TRIGGER content_held_or_erased_update BEFORE UPDATE ON content
WHEN NOT coalesce((NEW.erased_at_ms IS NULL AND (NEW.body IS NOT NULL) <> (NEW.file IS NOT NULL)) OR (NEW.erased_at_ms IS NOT NULL AND NEW.body IS NULL AND NEW.file IS NULL), false)
BEGIN SELECT RAISE(ABORT, 'content_held_or_erased'); END;
CREATE TRIGGER content_words_fixed BEFORE UPDATE OF tenant, digest, size, created_at_ms ON content
BEGIN SELECT RAISE(ABORT, 'content_words_fixed'); END;
CREATE TRIGGER content_never_deleted BEFORE DELETE ON content
BEGIN SELECT RAISE(ABORT, 'content_never_deleted'); END;

CREATE TABLE rulebook (
    tenant TEXT NOT NULL,
    digest TEXT NOT NULL,
    body BLOB NOT NULL,
    active_from_ms INTEGER NOT NULL,
    active_until_ms INTEGER,
    activated_by TEXT NOT NULL,
    seq INTEGER NOT NULL,
    CONSTRAINT rulebook_once PRIMARY KEY (tenant, seq),
    CONSTRAINT rulebook_times CHECK (active_until_ms IS NULL OR active_until_ms >= active_from_ms)
) STRICT;
CREATE TRIGGER rulebook_once_insert BEFORE INSERT ON rulebook
WHEN EXISTS (SELECT 1 FROM rulebook o WHERE o.tenant = NEW.tenant AND o.seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'rulebook_once'); END;
CREATE TRIGGER rulebook_times_insert BEFORE INSERT ON rulebook
WHEN NOT coalesce(NEW.active_until_ms IS NULL OR NEW.active_until_ms >= NEW.active_from_ms, false)
BEGIN SELECT RAISE(ABORT, 'rulebook_times'); END;
CREATE TRIGGER rulebook_times_update BEFORE UPDATE ON rulebook
WHEN NOT coalesce(NEW.active_until_ms IS NULL OR NEW.active_until_ms >= NEW.active_from_ms, false)
BEGIN SELECT RAISE(ABORT, 'rulebook_times'); END;
CREATE TRIGGER rulebook_words_fixed BEFORE UPDATE OF tenant, digest, body, active_from_ms, activated_by, seq ON rulebook
BEGIN SELECT RAISE(ABORT, 'rulebook_words_fixed'); END;
CREATE TRIGGER rulebook_never_deleted BEFORE DELETE ON rulebook
BEGIN SELECT RAISE(ABORT, 'rulebook_never_deleted'); END;

CREATE TABLE work_item (
    work_item_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    principal TEXT NOT NULL,
    work_type TEXT NOT NULL,
    subject_digest TEXT NOT NULL,
    key TEXT,
    on_behalf_of TEXT,
    received_at_ms INTEGER NOT NULL,
    CONSTRAINT work_item_once PRIMARY KEY (tenant, work_item_id),
    CONSTRAINT work_item_key_once UNIQUE (tenant, principal, key)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER work_item_once_insert BEFORE INSERT ON work_item
WHEN EXISTS (SELECT 1 FROM work_item o WHERE o.tenant = NEW.tenant AND o.work_item_id = NEW.work_item_id)
BEGIN SELECT RAISE(ABORT, 'work_item_once'); END;
CREATE TRIGGER work_item_key_once_insert BEFORE INSERT ON work_item
WHEN EXISTS (SELECT 1 FROM work_item o WHERE o.tenant = NEW.tenant AND o.principal = NEW.principal AND o.key = NEW.key)
BEGIN SELECT RAISE(ABORT, 'work_item_key_once'); END;
CREATE TRIGGER work_item_append_only BEFORE UPDATE ON work_item
BEGIN SELECT RAISE(ABORT, 'work_item_append_only'); END;
CREATE TRIGGER work_item_never_deleted BEFORE DELETE ON work_item
BEGIN SELECT RAISE(ABORT, 'work_item_never_deleted'); END;

CREATE TABLE turn (
    turn_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    work_item_id TEXT NOT NULL,
    process TEXT NOT NULL,
    rulebook_digest TEXT NOT NULL,
    reason TEXT NOT NULL,
    started_at_ms INTEGER NOT NULL,
    CONSTRAINT turn_once PRIMARY KEY (tenant, turn_id),
    FOREIGN KEY (tenant, work_item_id) REFERENCES work_item,
    CONSTRAINT turn_reason_known CHECK ((reason = 'submitted' OR reason = 'changed' OR reason = 'resubmitted' OR reason = 'event'))
) STRICT;
CREATE TRIGGER turn_once_insert BEFORE INSERT ON turn
WHEN EXISTS (SELECT 1 FROM turn o WHERE o.tenant = NEW.tenant AND o.turn_id = NEW.turn_id)
BEGIN SELECT RAISE(ABORT, 'turn_once'); END;
CREATE TRIGGER turn_reason_known_insert BEFORE INSERT ON turn
WHEN NOT coalesce((NEW.reason = 'submitted' OR NEW.reason = 'changed' OR NEW.reason = 'resubmitted' OR NEW.reason = 'event'), false)
BEGIN SELECT RAISE(ABORT, 'turn_reason_known'); END;
CREATE TRIGGER turn_append_only BEFORE UPDATE ON turn
BEGIN SELECT RAISE(ABORT, 'turn_append_only'); END;
CREATE TRIGGER turn_never_deleted BEFORE DELETE ON turn
BEGIN SELECT RAISE(ABORT, 'turn_never_deleted'); END;

CREATE TABLE step_visit (
    turn_id TEXT NOT NULL,
    step_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    position INTEGER NOT NULL,
    state TEXT NOT NULL,
    writes BLOB,
    CONSTRAINT step_visit_once PRIMARY KEY (tenant, turn_id, step_id),
    FOREIGN KEY (tenant, turn_id) REFERENCES turn,
    CONSTRAINT step_state_known CHECK ((state = 'pending' OR state = 'reserved' OR state = 'running' OR state = 'check_required' OR state = 'done' OR state = 'failed'))
) STRICT, WITHOUT ROWID;
CREATE TRIGGER step_visit_once_insert BEFORE INSERT ON step_visit
WHEN EXISTS (SELECT 1 FROM step_visit o WHERE o.tenant = NEW.tenant AND o.turn_id = NEW.turn_id AND o.step_id = NEW.step_id)
BEGIN SELECT RAISE(ABORT, 'step_visit_once'); END;
CREATE TRIGGER step_state_known_insert BEFORE INSERT ON step_visit
WHEN NOT coalesce((NEW.state = 'pending' OR NEW.state = 'reserved' OR NEW.state = 'running' OR NEW.state = 'check_required' OR NEW.state = 'done' OR NEW.state = 'failed'), false)
BEGIN SELECT RAISE(ABORT, 'step_state_known'); END;
CREATE TRIGGER step_state_known_update BEFORE UPDATE ON step_visit
WHEN NOT coalesce((NEW.state = 'pending' OR NEW.state = 'reserved' OR NEW.state = 'running' OR NEW.state = 'check_required' OR NEW.state = 'done' OR NEW.state = 'failed'), false)
BEGIN SELECT RAISE(ABORT, 'step_state_known'); END;
CREATE TRIGGER step_visit_words_fixed BEFORE UPDATE OF tenant, turn_id, step_id, position ON step_visit
BEGIN SELECT RAISE(ABORT, 'step_visit_words_fixed'); END;
CREATE TRIGGER step_visit_never_deleted BEFORE DELETE ON step_visit
BEGIN SELECT RAISE(ABORT, 'step_visit_never_deleted'); END;

CREATE TABLE decision (
    digest TEXT NOT NULL,
    tenant TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    step_id TEXT NOT NULL,
    rung TEXT NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    decided_at_ms INTEGER NOT NULL,
    body BLOB NOT NULL,
    CONSTRAINT decision_once PRIMARY KEY (tenant, turn_id, step_id),
    FOREIGN KEY (tenant, turn_id) REFERENCES turn,
    CONSTRAINT decision_rung_known CHECK ((rung = 'structured' OR rung = 'pattern' OR rung = 'learned' OR rung = 'reasoning' OR rung = 'judgment')),
    CONSTRAINT decision_plumbing_tokens CHECK (rung = 'reasoning' OR (input_tokens = 0 AND output_tokens = 0))
) STRICT;
CREATE TRIGGER decision_once_insert BEFORE INSERT ON decision
WHEN EXISTS (SELECT 1 FROM decision o WHERE o.tenant = NEW.tenant AND o.turn_id = NEW.turn_id AND o.step_id = NEW.step_id)
BEGIN SELECT RAISE(ABORT, 'decision_once'); END;
CREATE TRIGGER decision_rung_known_insert BEFORE INSERT ON decision
WHEN NOT coalesce((NEW.rung = 'structured' OR NEW.rung = 'pattern' OR NEW.rung = 'learned' OR NEW.rung = 'reasoning' OR NEW.rung = 'judgment'), false)
BEGIN SELECT RAISE(ABORT, 'decision_rung_known'); END;
CREATE TRIGGER decision_plumbing_tokens_insert BEFORE INSERT ON decision
WHEN NOT coalesce(NEW.rung = 'reasoning' OR (NEW.input_tokens = 0 AND NEW.output_tokens = 0), false)
BEGIN SELECT RAISE(ABORT, 'decision_plumbing_tokens'); END;
CREATE TRIGGER decision_append_only BEFORE UPDATE ON decision
BEGIN SELECT RAISE(ABORT, 'decision_append_only'); END;
CREATE TRIGGER decision_never_deleted BEFORE DELETE ON decision
BEGIN SELECT RAISE(ABORT, 'decision_never_deleted'); END;

CREATE TABLE proposal (
    proposed_action_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    step_id TEXT NOT NULL,
    decision_digest TEXT NOT NULL,
    capability TEXT NOT NULL,
    arguments_digest TEXT NOT NULL,
    effect_digest TEXT,
    state TEXT NOT NULL,
    refusal TEXT,
    proposed_at_ms INTEGER NOT NULL,
    CONSTRAINT proposal_once PRIMARY KEY (tenant, proposed_action_id),
    FOREIGN KEY (tenant, turn_id) REFERENCES turn,
    CONSTRAINT proposal_state_known CHECK ((state = 'staged' OR state = 'granted' OR state = 'refused' OR state = 'declined' OR state = 'cancelled' OR state = 'superseded' OR state = 'settled')),
    CONSTRAINT proposal_granted_has_effect CHECK (state NOT IN ('granted', 'settled') OR effect_digest IS NOT NULL)
) STRICT;
CREATE TRIGGER proposal_once_insert BEFORE INSERT ON proposal
WHEN EXISTS (SELECT 1 FROM proposal o WHERE o.tenant = NEW.tenant AND o.proposed_action_id = NEW.proposed_action_id)
BEGIN SELECT RAISE(ABORT, 'proposal_once'); END;
CREATE TRIGGER proposal_state_known_insert BEFORE INSERT ON proposal
WHEN NOT coalesce((NEW.state = 'staged' OR NEW.state = 'granted' OR NEW.state = 'refused' OR NEW.state = 'declined' OR NEW.state = 'cancelled' OR NEW.state = 'superseded' OR NEW.state = 'settled'), false)
BEGIN SELECT RAISE(ABORT, 'proposal_state_known'); END;
CREATE TRIGGER proposal_state_known_update BEFORE UPDATE ON proposal
WHEN NOT coalesce((NEW.state = 'staged' OR NEW.state = 'granted' OR NEW.state = 'refused' OR NEW.state = 'declined' OR NEW.state = 'cancelled' OR NEW.state = 'superseded' OR NEW.state = 'settled'), false)
BEGIN SELECT RAISE(ABORT, 'proposal_state_known'); END;
CREATE TRIGGER proposal_granted_has_effect_insert BEFORE INSERT ON proposal
WHEN NOT coalesce(NEW.state NOT IN ('granted', 'settled') OR NEW.effect_digest IS NOT NULL, false)
BEGIN SELECT RAISE(ABORT, 'proposal_granted_has_effect'); END;
CREATE TRIGGER proposal_granted_has_effect_update BEFORE UPDATE ON proposal
WHEN NOT coalesce(NEW.state NOT IN ('granted', 'settled') OR NEW.effect_digest IS NOT NULL, false)
BEGIN SELECT RAISE(ABORT, 'proposal_granted_has_effect'); END;
CREATE TRIGGER proposal_words_fixed BEFORE UPDATE OF tenant, proposed_action_id, turn_id, step_id, decision_digest, capability, arguments_digest, effect_digest, proposed_at_ms ON proposal
BEGIN SELECT RAISE(ABORT, 'proposal_words_fixed'); END;
CREATE TRIGGER proposal_never_deleted BEFORE DELETE ON proposal
BEGIN SELECT RAISE(ABORT, 'proposal_never_deleted'); END;

CREATE TABLE effect (
    effect_digest TEXT NOT NULL,
    tenant TEXT NOT NULL,
    proposed_action_id TEXT NOT NULL,
    salt TEXT NOT NULL,
    descriptor TEXT NOT NULL,
    arguments BLOB NOT NULL,
    shown BLOB NOT NULL,
    context BLOB NOT NULL,
    CONSTRAINT effect_once PRIMARY KEY (tenant, effect_digest),
    CONSTRAINT effect_of_proposal_once UNIQUE (tenant, proposed_action_id)
) STRICT;
CREATE TRIGGER effect_once_insert BEFORE INSERT ON effect
WHEN EXISTS (SELECT 1 FROM effect o WHERE o.tenant = NEW.tenant AND o.effect_digest = NEW.effect_digest)
BEGIN SELECT RAISE(ABORT, 'effect_once'); END;
CREATE TRIGGER effect_of_proposal_once_insert BEFORE INSERT ON effect
WHEN EXISTS (SELECT 1 FROM effect o WHERE o.tenant = NEW.tenant AND o.proposed_action_id = NEW.proposed_action_id)
BEGIN SELECT RAISE(ABORT, 'effect_of_proposal_once'); END;
CREATE TRIGGER effect_append_only BEFORE UPDATE ON effect
BEGIN SELECT RAISE(ABORT, 'effect_append_only'); END;
CREATE TRIGGER effect_never_deleted BEFORE DELETE ON effect
BEGIN SELECT RAISE(ABORT, 'effect_never_deleted'); END;

CREATE TABLE qualification (
    digest TEXT NOT NULL,
    tenant TEXT NOT NULL,
    effect_digest TEXT NOT NULL,
    result TEXT NOT NULL,
    body BLOB NOT NULL,
    recorded_at_ms INTEGER NOT NULL,
    CONSTRAINT qualification_once PRIMARY KEY (tenant, digest),
    FOREIGN KEY (tenant, effect_digest) REFERENCES effect,
    CONSTRAINT qualification_result_known CHECK ((result = 'passed' OR result = 'failed' OR result = 'not_possible'))
) STRICT;
CREATE TRIGGER qualification_once_insert BEFORE INSERT ON qualification
WHEN EXISTS (SELECT 1 FROM qualification o WHERE o.tenant = NEW.tenant AND o.digest = NEW.digest)
BEGIN SELECT RAISE(ABORT, 'qualification_once'); END;
CREATE TRIGGER qualification_result_known_insert BEFORE INSERT ON qualification
WHEN NOT coalesce((NEW.result = 'passed' OR NEW.result = 'failed' OR NEW.result = 'not_possible'), false)
BEGIN SELECT RAISE(ABORT, 'qualification_result_known'); END;
CREATE TRIGGER qualification_append_only BEFORE UPDATE ON qualification
BEGIN SELECT RAISE(ABORT, 'qualification_append_only'); END;
CREATE TRIGGER qualification_never_deleted BEFORE DELETE ON qualification
BEGIN SELECT RAISE(ABORT, 'qualification_never_deleted'); END;

CREATE TABLE question (
    question_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    step_id TEXT,
    reason TEXT NOT NULL,
    subject_ref TEXT NOT NULL,
    shown_digest TEXT NOT NULL,
    state TEXT NOT NULL,
    asked_at_ms INTEGER NOT NULL,
    answered_by TEXT,
    answered_at_ms INTEGER,
    answer TEXT,
    CONSTRAINT question_once PRIMARY KEY (tenant, question_id),
    FOREIGN KEY (tenant, turn_id) REFERENCES turn,
    CONSTRAINT question_reason_known CHECK ((reason = 'judgment' OR reason = 'confirm' OR reason = 'check_required' OR reason = 'escalated_deadline' OR reason = 'dead_letter' OR reason = 'binding_mismatch')),
    CONSTRAINT question_state_known CHECK ((state = 'open' OR state = 'answered' OR state = 'void')),
    CONSTRAINT question_answer_named CHECK (state <> 'answered' OR (answered_by IS NOT NULL AND answered_at_ms IS NOT NULL AND answer IS NOT NULL)),
    CONSTRAINT question_open_unanswered CHECK (state <> 'open' OR (answered_by IS NULL AND answered_at_ms IS NULL AND answer IS NULL))
) STRICT;
CREATE UNIQUE INDEX question_open_once ON question (tenant, reason, subject_ref) WHERE state = 'open';
CREATE TRIGGER question_once_insert BEFORE INSERT ON question
WHEN EXISTS (SELECT 1 FROM question o WHERE o.tenant = NEW.tenant AND o.question_id = NEW.question_id)
BEGIN SELECT RAISE(ABORT, 'question_once'); END;
CREATE TRIGGER question_open_once_insert BEFORE INSERT ON question
WHEN NEW.state = 'open' AND EXISTS (SELECT 1 FROM question o WHERE o.tenant = NEW.tenant AND o.reason = NEW.reason AND o.subject_ref = NEW.subject_ref AND o.state = 'open')
BEGIN SELECT RAISE(ABORT, 'question_open_once'); END;
CREATE TRIGGER question_reason_known_insert BEFORE INSERT ON question
WHEN NOT coalesce((NEW.reason = 'judgment' OR NEW.reason = 'confirm' OR NEW.reason = 'check_required' OR NEW.reason = 'escalated_deadline' OR NEW.reason = 'dead_letter' OR NEW.reason = 'binding_mismatch'), false)
BEGIN SELECT RAISE(ABORT, 'question_reason_known'); END;
CREATE TRIGGER question_reason_known_update BEFORE UPDATE ON question
WHEN NOT coalesce((NEW.reason = 'judgment' OR NEW.reason = 'confirm' OR NEW.reason = 'check_required' OR NEW.reason = 'escalated_deadline' OR NEW.reason = 'dead_letter' OR NEW.reason = 'binding_mismatch'), false)
BEGIN SELECT RAISE(ABORT, 'question_reason_known'); END;
CREATE TRIGGER question_state_known_insert BEFORE INSERT ON question
WHEN NOT coalesce((NEW.state = 'open' OR NEW.state = 'answered' OR NEW.state = 'void'), false)
BEGIN SELECT RAISE(ABORT, 'question_state_known'); END;
CREATE TRIGGER question_state_known_update BEFORE UPDATE ON question
WHEN NOT coalesce((NEW.state = 'open' OR NEW.state = 'answered' OR NEW.state = 'void'), false)
BEGIN SELECT RAISE(ABORT, 'question_state_known'); END;
CREATE TRIGGER question_answer_named_insert BEFORE INSERT ON question
WHEN NOT coalesce(NEW.state <> 'answered' OR (NEW.answered_by IS NOT NULL AND NEW.answered_at_ms IS NOT NULL AND NEW.answer IS NOT NULL), false)
BEGIN SELECT RAISE(ABORT, 'question_answer_named'); END;
CREATE TRIGGER question_answer_named_update BEFORE UPDATE ON question
WHEN NOT coalesce(NEW.state <> 'answered' OR (NEW.answered_by IS NOT NULL AND NEW.answered_at_ms IS NOT NULL AND NEW.answer IS NOT NULL), false)
BEGIN SELECT RAISE(ABORT, 'question_answer_named'); END;
CREATE TRIGGER question_open_unanswered_insert BEFORE INSERT ON question
WHEN NOT coalesce(NEW.state <> 'open' OR (NEW.answered_by IS NULL AND NEW.answered_at_ms IS NULL AND NEW.answer IS NULL), false)
BEGIN SELECT RAISE(ABORT, 'question_open_unanswered'); END;
CREATE TRIGGER question_open_unanswered_update BEFORE UPDATE ON question
WHEN NOT coalesce(NEW.state <> 'open' OR (NEW.answered_by IS NULL AND NEW.answered_at_ms IS NULL AND NEW.answer IS NULL), false)
BEGIN SELECT RAISE(ABORT, 'question_open_unanswered'); END;
CREATE TRIGGER question_words_fixed BEFORE UPDATE OF tenant, question_id, turn_id, step_id, reason, subject_ref, shown_digest, asked_at_ms ON question
BEGIN SELECT RAISE(ABORT, 'question_words_fixed'); END;
CREATE TRIGGER question_never_deleted BEFORE DELETE ON question
BEGIN SELECT RAISE(ABORT, 'question_never_deleted'); END;

CREATE TABLE "grant" (
    grant_id TEXT NOT NULL,
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
    CONSTRAINT grant_once PRIMARY KEY (tenant, grant_id),
    CONSTRAINT grant_purpose_known CHECK ((purpose = 'confirm' OR purpose = 'promotion' OR purpose = 'pattern_activation' OR purpose = 'settlement' OR purpose = 'policy')),
    CONSTRAINT grant_expires_after_issue CHECK (expires_at_ms > issued_at_ms),
    CONSTRAINT grant_named_person CHECK (length(principal) > 0)
) STRICT;
CREATE TRIGGER grant_once_insert BEFORE INSERT ON "grant"
WHEN EXISTS (SELECT 1 FROM "grant" o WHERE o.tenant = NEW.tenant AND o.grant_id = NEW.grant_id)
BEGIN SELECT RAISE(ABORT, 'grant_once'); END;
CREATE TRIGGER grant_purpose_known_insert BEFORE INSERT ON "grant"
WHEN NOT coalesce((NEW.purpose = 'confirm' OR NEW.purpose = 'promotion' OR NEW.purpose = 'pattern_activation' OR NEW.purpose = 'settlement' OR NEW.purpose = 'policy'), false)
BEGIN SELECT RAISE(ABORT, 'grant_purpose_known'); END;
CREATE TRIGGER grant_purpose_known_update BEFORE UPDATE ON "grant"
WHEN NOT coalesce((NEW.purpose = 'confirm' OR NEW.purpose = 'promotion' OR NEW.purpose = 'pattern_activation' OR NEW.purpose = 'settlement' OR NEW.purpose = 'policy'), false)
BEGIN SELECT RAISE(ABORT, 'grant_purpose_known'); END;
CREATE TRIGGER grant_expires_after_issue_insert BEFORE INSERT ON "grant"
WHEN NOT coalesce(NEW.expires_at_ms > NEW.issued_at_ms, false)
BEGIN SELECT RAISE(ABORT, 'grant_expires_after_issue'); END;
CREATE TRIGGER grant_expires_after_issue_update BEFORE UPDATE ON "grant"
WHEN NOT coalesce(NEW.expires_at_ms > NEW.issued_at_ms, false)
BEGIN SELECT RAISE(ABORT, 'grant_expires_after_issue'); END;
CREATE TRIGGER grant_named_person_insert BEFORE INSERT ON "grant"
WHEN NOT coalesce(length(NEW.principal) > 0, false)
BEGIN SELECT RAISE(ABORT, 'grant_named_person'); END;
CREATE TRIGGER grant_named_person_update BEFORE UPDATE ON "grant"
WHEN NOT coalesce(length(NEW.principal) > 0, false)
BEGIN SELECT RAISE(ABORT, 'grant_named_person'); END;
CREATE TRIGGER grant_words_fixed BEFORE UPDATE OF grant_id, tenant, purpose, principal, subject_digest, incarnation, issued_at_ms, expires_at_ms, body, payload_digest, envelope ON "grant"
BEGIN SELECT RAISE(ABORT, 'grant_words_fixed'); END;
CREATE TRIGGER grant_never_deleted BEFORE DELETE ON "grant"
BEGIN SELECT RAISE(ABORT, 'grant_never_deleted'); END;

CREATE TABLE outbox (
    outbox_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    step_id TEXT NOT NULL,
    capability TEXT NOT NULL,
    effect_digest TEXT,
    body_digest TEXT,
    grant_id TEXT,
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
    CONSTRAINT outbox_once PRIMARY KEY (tenant, outbox_id),
    CONSTRAINT outbox_effect_once UNIQUE (tenant, effect_digest),
    FOREIGN KEY (tenant, turn_id) REFERENCES turn,
    FOREIGN KEY (tenant, effect_digest) REFERENCES effect,
    FOREIGN KEY (tenant, grant_id) REFERENCES "grant",
    CONSTRAINT outbox_kind_known CHECK ((kind = 'effect' OR kind = 'model_call' OR kind = 'notice' OR kind = 'timer')),
    CONSTRAINT outbox_state_known CHECK ((state = 'ready' OR state = 'claimed' OR state = 'dispatched' OR state = 'settled' OR state = 'retry_wait' OR state = 'check_required' OR state = 'dead')),
    CONSTRAINT outbox_effect_named CHECK ((kind <> 'effect' AND effect_digest IS NULL) OR (kind = 'effect' AND effect_digest IS NOT NULL AND intent_digest IS NOT NULL AND idempotency_key IS NOT NULL)),
    CONSTRAINT outbox_holder_known CHECK (state NOT IN ('claimed', 'dispatched') OR (holder IS NOT NULL AND lease_until_ms IS NOT NULL AND epoch > 0 AND attempts > 0)),
    CONSTRAINT outbox_dispatch_marked CHECK (state <> 'dispatched' OR dispatched_at_ms IS NOT NULL)
) STRICT;
CREATE TRIGGER outbox_once_insert BEFORE INSERT ON outbox
WHEN EXISTS (SELECT 1 FROM outbox o WHERE o.tenant = NEW.tenant AND o.outbox_id = NEW.outbox_id)
BEGIN SELECT RAISE(ABORT, 'outbox_once'); END;
CREATE TRIGGER outbox_effect_once_insert BEFORE INSERT ON outbox
WHEN EXISTS (SELECT 1 FROM outbox o WHERE o.tenant = NEW.tenant AND o.effect_digest = NEW.effect_digest)
BEGIN SELECT RAISE(ABORT, 'outbox_effect_once'); END;
CREATE TRIGGER outbox_kind_known_insert BEFORE INSERT ON outbox
WHEN NOT coalesce((NEW.kind = 'effect' OR NEW.kind = 'model_call' OR NEW.kind = 'notice' OR NEW.kind = 'timer'), false)
BEGIN SELECT RAISE(ABORT, 'outbox_kind_known'); END;
CREATE TRIGGER outbox_kind_known_update BEFORE UPDATE ON outbox
WHEN NOT coalesce((NEW.kind = 'effect' OR NEW.kind = 'model_call' OR NEW.kind = 'notice' OR NEW.kind = 'timer'), false)
BEGIN SELECT RAISE(ABORT, 'outbox_kind_known'); END;
CREATE TRIGGER outbox_state_known_insert BEFORE INSERT ON outbox
WHEN NOT coalesce((NEW.state = 'ready' OR NEW.state = 'claimed' OR NEW.state = 'dispatched' OR NEW.state = 'settled' OR NEW.state = 'retry_wait' OR NEW.state = 'check_required' OR NEW.state = 'dead'), false)
BEGIN SELECT RAISE(ABORT, 'outbox_state_known'); END;
CREATE TRIGGER outbox_state_known_update BEFORE UPDATE ON outbox
WHEN NOT coalesce((NEW.state = 'ready' OR NEW.state = 'claimed' OR NEW.state = 'dispatched' OR NEW.state = 'settled' OR NEW.state = 'retry_wait' OR NEW.state = 'check_required' OR NEW.state = 'dead'), false)
BEGIN SELECT RAISE(ABORT, 'outbox_state_known'); END;
CREATE TRIGGER outbox_effect_named_insert BEFORE INSERT ON outbox
WHEN NOT coalesce((NEW.kind <> 'effect' AND NEW.effect_digest IS NULL) OR (NEW.kind = 'effect' AND NEW.effect_digest IS NOT NULL AND NEW.intent_digest IS NOT NULL AND NEW.idempotency_key IS NOT NULL), false)
BEGIN SELECT RAISE(ABORT, 'outbox_effect_named'); END;
CREATE TRIGGER outbox_effect_named_update BEFORE UPDATE ON outbox
WHEN NOT coalesce((NEW.kind <> 'effect' AND NEW.effect_digest IS NULL) OR (NEW.kind = 'effect' AND NEW.effect_digest IS NOT NULL AND NEW.intent_digest IS NOT NULL AND NEW.idempotency_key IS NOT NULL), false)
BEGIN SELECT RAISE(ABORT, 'outbox_effect_named'); END;
CREATE TRIGGER outbox_holder_known_insert BEFORE INSERT ON outbox
WHEN NOT coalesce(NEW.state NOT IN ('claimed', 'dispatched') OR (NEW.holder IS NOT NULL AND NEW.lease_until_ms IS NOT NULL AND NEW.epoch > 0 AND NEW.attempts > 0), false)
BEGIN SELECT RAISE(ABORT, 'outbox_holder_known'); END;
CREATE TRIGGER outbox_holder_known_update BEFORE UPDATE ON outbox
WHEN NOT coalesce(NEW.state NOT IN ('claimed', 'dispatched') OR (NEW.holder IS NOT NULL AND NEW.lease_until_ms IS NOT NULL AND NEW.epoch > 0 AND NEW.attempts > 0), false)
BEGIN SELECT RAISE(ABORT, 'outbox_holder_known'); END;
CREATE TRIGGER outbox_dispatch_marked_insert BEFORE INSERT ON outbox
WHEN NOT coalesce(NEW.state <> 'dispatched' OR NEW.dispatched_at_ms IS NOT NULL, false)
BEGIN SELECT RAISE(ABORT, 'outbox_dispatch_marked'); END;
CREATE TRIGGER outbox_dispatch_marked_update BEFORE UPDATE ON outbox
WHEN NOT coalesce(NEW.state <> 'dispatched' OR NEW.dispatched_at_ms IS NOT NULL, false)
BEGIN SELECT RAISE(ABORT, 'outbox_dispatch_marked'); END;
CREATE TRIGGER outbox_words_fixed BEFORE UPDATE OF tenant, outbox_id, kind, turn_id, step_id, capability, effect_digest, body_digest, grant_id, intent_digest, idempotency_key, incarnation, created_at_ms ON outbox
BEGIN SELECT RAISE(ABORT, 'outbox_words_fixed'); END;
CREATE TRIGGER outbox_never_deleted BEFORE DELETE ON outbox
BEGIN SELECT RAISE(ABORT, 'outbox_never_deleted'); END;

CREATE TABLE idempotency (
    tenant TEXT NOT NULL,
    capability TEXT NOT NULL,
    key TEXT NOT NULL,
    intent_digest TEXT NOT NULL,
    outbox_id TEXT NOT NULL,
    CONSTRAINT idempotency_once PRIMARY KEY (tenant, capability, key),
    FOREIGN KEY (tenant, outbox_id) REFERENCES outbox
) STRICT, WITHOUT ROWID;
CREATE TRIGGER idempotency_once_insert BEFORE INSERT ON idempotency
WHEN EXISTS (SELECT 1 FROM idempotency o WHERE o.tenant = NEW.tenant AND o.capability = NEW.capability AND o.key = NEW.key)
BEGIN SELECT RAISE(ABORT, 'idempotency_once'); END;
CREATE TRIGGER idempotency_append_only BEFORE UPDATE ON idempotency
BEGIN SELECT RAISE(ABORT, 'idempotency_append_only'); END;
CREATE TRIGGER idempotency_never_deleted BEFORE DELETE ON idempotency
BEGIN SELECT RAISE(ABORT, 'idempotency_never_deleted'); END;

CREATE TABLE execution (
    execution_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    outbox_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    kind TEXT NOT NULL,
    started_at_ms INTEGER NOT NULL,
    finished_at_ms INTEGER,
    before TEXT,
    before_digest TEXT,
    executor_said TEXT,
    result_digest TEXT,
    CONSTRAINT execution_once PRIMARY KEY (tenant, execution_id),
    FOREIGN KEY (tenant, outbox_id) REFERENCES outbox,
    FOREIGN KEY (tenant, turn_id) REFERENCES turn,
    CONSTRAINT execution_kind_known CHECK ((kind = 'effect' OR kind = 'settlement' OR kind = 'record')),
    CONSTRAINT execution_times CHECK (finished_at_ms IS NULL OR finished_at_ms >= started_at_ms),
    CONSTRAINT execution_said_known CHECK (executor_said IS NULL OR (executor_said = 'ok' OR executor_said = 'accepted' OR executor_said = 'rejected' OR executor_said = 'raised' OR executor_said = 'no_answer'))
) STRICT;
CREATE UNIQUE INDEX execution_effect_once ON execution (tenant, outbox_id, epoch) WHERE kind = 'effect';
CREATE TRIGGER execution_once_insert BEFORE INSERT ON execution
WHEN EXISTS (SELECT 1 FROM execution o WHERE o.tenant = NEW.tenant AND o.execution_id = NEW.execution_id)
BEGIN SELECT RAISE(ABORT, 'execution_once'); END;
CREATE TRIGGER execution_effect_once_insert BEFORE INSERT ON execution
WHEN NEW.kind = 'effect' AND EXISTS (SELECT 1 FROM execution o WHERE o.tenant = NEW.tenant AND o.outbox_id = NEW.outbox_id AND o.epoch = NEW.epoch AND o.kind = 'effect')
BEGIN SELECT RAISE(ABORT, 'execution_effect_once'); END;
CREATE TRIGGER execution_kind_known_insert BEFORE INSERT ON execution
WHEN NOT coalesce((NEW.kind = 'effect' OR NEW.kind = 'settlement' OR NEW.kind = 'record'), false)
BEGIN SELECT RAISE(ABORT, 'execution_kind_known'); END;
CREATE TRIGGER execution_kind_known_update BEFORE UPDATE ON execution
WHEN NOT coalesce((NEW.kind = 'effect' OR NEW.kind = 'settlement' OR NEW.kind = 'record'), false)
BEGIN SELECT RAISE(ABORT, 'execution_kind_known'); END;
CREATE TRIGGER execution_times_insert BEFORE INSERT ON execution
WHEN NOT coalesce(NEW.finished_at_ms IS NULL OR NEW.finished_at_ms >= NEW.started_at_ms, false)
BEGIN SELECT RAISE(ABORT, 'execution_times'); END;
CREATE TRIGGER execution_times_update BEFORE UPDATE ON execution
WHEN NOT coalesce(NEW.finished_at_ms IS NULL OR NEW.finished_at_ms >= NEW.started_at_ms, false)
BEGIN SELECT RAISE(ABORT, 'execution_times'); END;
CREATE TRIGGER execution_said_known_insert BEFORE INSERT ON execution
WHEN NOT coalesce(NEW.executor_said IS NULL OR (NEW.executor_said = 'ok' OR NEW.executor_said = 'accepted' OR NEW.executor_said = 'rejected' OR NEW.executor_said = 'raised' OR NEW.executor_said = 'no_answer'), false)
BEGIN SELECT RAISE(ABORT, 'execution_said_known'); END;
CREATE TRIGGER execution_said_known_update BEFORE UPDATE ON execution
WHEN NOT coalesce(NEW.executor_said IS NULL OR (NEW.executor_said = 'ok' OR NEW.executor_said = 'accepted' OR NEW.executor_said = 'rejected' OR NEW.executor_said = 'raised' OR NEW.executor_said = 'no_answer'), false)
BEGIN SELECT RAISE(ABORT, 'execution_said_known'); END;
CREATE TRIGGER execution_words_fixed BEFORE UPDATE OF tenant, execution_id, outbox_id, turn_id, epoch, kind, started_at_ms, before, before_digest ON execution
BEGIN SELECT RAISE(ABORT, 'execution_words_fixed'); END;
CREATE TRIGGER execution_never_deleted BEFORE DELETE ON execution
BEGIN SELECT RAISE(ABORT, 'execution_never_deleted'); END;

CREATE TABLE receipt (
    receipt_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    execution_id TEXT NOT NULL,
    outbox_id TEXT NOT NULL,
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
    CONSTRAINT receipt_once PRIMARY KEY (tenant, receipt_id),
    CONSTRAINT receipt_execution_once UNIQUE (tenant, execution_id),
    CONSTRAINT receipt_payload_once UNIQUE (tenant, payload_digest),
    FOREIGN KEY (tenant, turn_id) REFERENCES turn,
    FOREIGN KEY (tenant, execution_id) REFERENCES execution,
    FOREIGN KEY (tenant, outbox_id) REFERENCES outbox,
    CONSTRAINT receipt_finality_known CHECK ((graded_finality = 'not_attempted' OR graded_finality = 'initiated' OR graded_finality = 'finalized' OR graded_finality = 'failed' OR graded_finality = 'indeterminate') AND (claimed_finality = 'not_attempted' OR claimed_finality = 'initiated' OR claimed_finality = 'finalized' OR claimed_finality = 'failed' OR claimed_finality = 'indeterminate')),
    CONSTRAINT receipt_confidence_known CHECK ((graded_confidence = 'verified' OR graded_confidence = 'partial' OR graded_confidence = 'ambiguous' OR graded_confidence = 'unknown' OR graded_confidence = 'not_verified') AND (claimed_confidence = 'verified' OR claimed_confidence = 'partial' OR claimed_confidence = 'ambiguous' OR claimed_confidence = 'unknown' OR claimed_confidence = 'not_verified')),
    CONSTRAINT receipt_status_known CHECK (status IS NULL OR (status = 'success' OR status = 'partial' OR status = 'failed' OR status = 'cancelled' OR status = 'unknown_outcome')),
    CONSTRAINT receipt_status_earned CHECK (coalesce(status, '') <> 'success' OR (graded_finality = 'finalized' AND graded_confidence = 'verified')),
    CONSTRAINT receipt_graded_not_higher CHECK ((NOT (graded_finality = 'finalized' OR graded_finality = 'initiated' OR graded_finality = 'not_attempted') OR graded_finality = claimed_finality) AND (graded_confidence <> 'verified' OR claimed_confidence = 'verified' OR graded_finality <> claimed_finality OR graded_finality = 'initiated'))
) STRICT;
CREATE TRIGGER receipt_once_insert BEFORE INSERT ON receipt
WHEN EXISTS (SELECT 1 FROM receipt o WHERE o.tenant = NEW.tenant AND o.receipt_id = NEW.receipt_id)
BEGIN SELECT RAISE(ABORT, 'receipt_once'); END;
CREATE TRIGGER receipt_execution_once_insert BEFORE INSERT ON receipt
WHEN EXISTS (SELECT 1 FROM receipt o WHERE o.tenant = NEW.tenant AND o.execution_id = NEW.execution_id)
BEGIN SELECT RAISE(ABORT, 'receipt_execution_once'); END;
CREATE TRIGGER receipt_payload_once_insert BEFORE INSERT ON receipt
WHEN EXISTS (SELECT 1 FROM receipt o WHERE o.tenant = NEW.tenant AND o.payload_digest = NEW.payload_digest)
BEGIN SELECT RAISE(ABORT, 'receipt_payload_once'); END;
CREATE TRIGGER receipt_finality_known_insert BEFORE INSERT ON receipt
WHEN NOT coalesce((NEW.graded_finality = 'not_attempted' OR NEW.graded_finality = 'initiated' OR NEW.graded_finality = 'finalized' OR NEW.graded_finality = 'failed' OR NEW.graded_finality = 'indeterminate') AND (NEW.claimed_finality = 'not_attempted' OR NEW.claimed_finality = 'initiated' OR NEW.claimed_finality = 'finalized' OR NEW.claimed_finality = 'failed' OR NEW.claimed_finality = 'indeterminate'), false)
BEGIN SELECT RAISE(ABORT, 'receipt_finality_known'); END;
CREATE TRIGGER receipt_confidence_known_insert BEFORE INSERT ON receipt
WHEN NOT coalesce((NEW.graded_confidence = 'verified' OR NEW.graded_confidence = 'partial' OR NEW.graded_confidence = 'ambiguous' OR NEW.graded_confidence = 'unknown' OR NEW.graded_confidence = 'not_verified') AND (NEW.claimed_confidence = 'verified' OR NEW.claimed_confidence = 'partial' OR NEW.claimed_confidence = 'ambiguous' OR NEW.claimed_confidence = 'unknown' OR NEW.claimed_confidence = 'not_verified'), false)
BEGIN SELECT RAISE(ABORT, 'receipt_confidence_known'); END;
CREATE TRIGGER receipt_status_known_insert BEFORE INSERT ON receipt
WHEN NOT coalesce(NEW.status IS NULL OR (NEW.status = 'success' OR NEW.status = 'partial' OR NEW.status = 'failed' OR NEW.status = 'cancelled' OR NEW.status = 'unknown_outcome'), false)
BEGIN SELECT RAISE(ABORT, 'receipt_status_known'); END;
CREATE TRIGGER receipt_status_earned_insert BEFORE INSERT ON receipt
WHEN NOT coalesce(coalesce(NEW.status, '') <> 'success' OR (NEW.graded_finality = 'finalized' AND NEW.graded_confidence = 'verified'), false)
BEGIN SELECT RAISE(ABORT, 'receipt_status_earned'); END;
CREATE TRIGGER receipt_graded_not_higher_insert BEFORE INSERT ON receipt
WHEN NOT coalesce((NOT (NEW.graded_finality = 'finalized' OR NEW.graded_finality = 'initiated' OR NEW.graded_finality = 'not_attempted') OR NEW.graded_finality = NEW.claimed_finality) AND (NEW.graded_confidence <> 'verified' OR NEW.claimed_confidence = 'verified' OR NEW.graded_finality <> NEW.claimed_finality OR NEW.graded_finality = 'initiated'), false)
BEGIN SELECT RAISE(ABORT, 'receipt_graded_not_higher'); END;
CREATE TRIGGER receipt_append_only BEFORE UPDATE ON receipt
BEGIN SELECT RAISE(ABORT, 'receipt_append_only'); END;
CREATE TRIGGER receipt_never_deleted BEFORE DELETE ON receipt
BEGIN SELECT RAISE(ABORT, 'receipt_never_deleted'); END;

CREATE TABLE log_leaf (
    seq INTEGER NOT NULL,
    tenant TEXT NOT NULL,
    entry BLOB NOT NULL,
    leaf_hash BLOB NOT NULL,
    envelope BLOB NOT NULL,
    payload_digest TEXT NOT NULL,
    CONSTRAINT log_leaf_once PRIMARY KEY (tenant, seq),
    CONSTRAINT log_leaf_payload_once UNIQUE (tenant, payload_digest),
    CONSTRAINT log_leaf_hash_length CHECK (length(leaf_hash) = 32)
) STRICT;
CREATE TRIGGER log_leaf_once_insert BEFORE INSERT ON log_leaf
WHEN EXISTS (SELECT 1 FROM log_leaf o WHERE o.tenant = NEW.tenant AND o.seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'log_leaf_once'); END;
CREATE TRIGGER log_leaf_payload_once_insert BEFORE INSERT ON log_leaf
WHEN EXISTS (SELECT 1 FROM log_leaf o WHERE o.tenant = NEW.tenant AND o.payload_digest = NEW.payload_digest)
BEGIN SELECT RAISE(ABORT, 'log_leaf_payload_once'); END;
CREATE TRIGGER log_leaf_hash_length_insert BEFORE INSERT ON log_leaf
WHEN NOT coalesce(length(NEW.leaf_hash) = 32, false)
BEGIN SELECT RAISE(ABORT, 'log_leaf_hash_length'); END;
CREATE TRIGGER log_leaf_append_only BEFORE UPDATE ON log_leaf
BEGIN SELECT RAISE(ABORT, 'log_leaf_append_only'); END;
CREATE TRIGGER log_leaf_never_deleted BEFORE DELETE ON log_leaf
BEGIN SELECT RAISE(ABORT, 'log_leaf_never_deleted'); END;

CREATE TABLE log_state (
    tenant TEXT NOT NULL,
    size INTEGER NOT NULL,
    frontier BLOB NOT NULL,
    CONSTRAINT log_state_once PRIMARY KEY (tenant),
    CONSTRAINT log_state_size CHECK (size >= 0)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER log_state_size_insert BEFORE INSERT ON log_state
WHEN NOT coalesce(NEW.size >= 0, false)
BEGIN SELECT RAISE(ABORT, 'log_state_size'); END;
CREATE TRIGGER log_state_size_update BEFORE UPDATE ON log_state
WHEN NOT coalesce(NEW.size >= 0, false)
BEGIN SELECT RAISE(ABORT, 'log_state_size'); END;
CREATE TRIGGER log_state_never_deleted BEFORE DELETE ON log_state
BEGIN SELECT RAISE(ABORT, 'log_state_never_deleted'); END;

CREATE TABLE chain (
    tenant TEXT NOT NULL,
    chain TEXT NOT NULL,
    next_seq INTEGER NOT NULL,
    CONSTRAINT chain_once PRIMARY KEY (tenant, chain),
    CONSTRAINT chain_seq CHECK (next_seq >= 0)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER chain_seq_insert BEFORE INSERT ON chain
WHEN NOT coalesce(NEW.next_seq >= 0, false)
BEGIN SELECT RAISE(ABORT, 'chain_seq'); END;
CREATE TRIGGER chain_seq_update BEFORE UPDATE ON chain
WHEN NOT coalesce(NEW.next_seq >= 0, false)
BEGIN SELECT RAISE(ABORT, 'chain_seq'); END;
CREATE TRIGGER chain_never_deleted BEFORE DELETE ON chain
BEGIN SELECT RAISE(ABORT, 'chain_never_deleted'); END;

CREATE TABLE activity (
    turn_id TEXT NOT NULL,
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
    CONSTRAINT activity_once PRIMARY KEY (tenant, turn_id),
    FOREIGN KEY (tenant, turn_id) REFERENCES turn,
    CONSTRAINT activity_state_known CHECK ((state = 'queued' OR state = 'routing' OR state = 'running' OR state = 'verifying' OR state = 'completed' OR state = 'failed' OR state = 'recovery_required')),
    CONSTRAINT activity_category_known CHECK (failure_category IS NULL OR (failure_category = 'routing' OR failure_category = 'local_model' OR failure_category = 'cloud_service' OR failure_category = 'native_execution' OR failure_category = 'persistence' OR failure_category = 'setup' OR failure_category = 'unknown')),
    CONSTRAINT activity_completed_has_evidence CHECK (state <> 'completed' OR (receipt_count >= 1 AND evidence_digest IS NOT NULL AND failure_category IS NULL)),
    CONSTRAINT activity_failed_has_category_only CHECK (state <> 'failed' OR (receipt_count = 0 AND evidence_digest IS NULL AND failure_category IS NOT NULL)),
    CONSTRAINT activity_open_is_bare CHECK (state IN ('completed', 'failed') OR (receipt_count = 0 AND evidence_digest IS NULL AND failure_category IS NULL)),
    CONSTRAINT activity_evidence_form CHECK (evidence_digest IS NULL OR (length(evidence_digest) = 71 AND substr(evidence_digest, 1, 7) = 'sha256:' AND substr(evidence_digest, 8) NOT GLOB '*[^0-9a-f]*')),
    CONSTRAINT activity_questions_counted CHECK (open_questions >= 0)
) STRICT;
CREATE TRIGGER activity_state_known_insert BEFORE INSERT ON activity
WHEN NOT coalesce((NEW.state = 'queued' OR NEW.state = 'routing' OR NEW.state = 'running' OR NEW.state = 'verifying' OR NEW.state = 'completed' OR NEW.state = 'failed' OR NEW.state = 'recovery_required'), false)
BEGIN SELECT RAISE(ABORT, 'activity_state_known'); END;
CREATE TRIGGER activity_state_known_update BEFORE UPDATE ON activity
WHEN NOT coalesce((NEW.state = 'queued' OR NEW.state = 'routing' OR NEW.state = 'running' OR NEW.state = 'verifying' OR NEW.state = 'completed' OR NEW.state = 'failed' OR NEW.state = 'recovery_required'), false)
BEGIN SELECT RAISE(ABORT, 'activity_state_known'); END;
CREATE TRIGGER activity_category_known_insert BEFORE INSERT ON activity
WHEN NOT coalesce(NEW.failure_category IS NULL OR (NEW.failure_category = 'routing' OR NEW.failure_category = 'local_model' OR NEW.failure_category = 'cloud_service' OR NEW.failure_category = 'native_execution' OR NEW.failure_category = 'persistence' OR NEW.failure_category = 'setup' OR NEW.failure_category = 'unknown'), false)
BEGIN SELECT RAISE(ABORT, 'activity_category_known'); END;
CREATE TRIGGER activity_category_known_update BEFORE UPDATE ON activity
WHEN NOT coalesce(NEW.failure_category IS NULL OR (NEW.failure_category = 'routing' OR NEW.failure_category = 'local_model' OR NEW.failure_category = 'cloud_service' OR NEW.failure_category = 'native_execution' OR NEW.failure_category = 'persistence' OR NEW.failure_category = 'setup' OR NEW.failure_category = 'unknown'), false)
BEGIN SELECT RAISE(ABORT, 'activity_category_known'); END;
CREATE TRIGGER activity_completed_has_evidence_insert BEFORE INSERT ON activity
WHEN NOT coalesce(NEW.state <> 'completed' OR (NEW.receipt_count >= 1 AND NEW.evidence_digest IS NOT NULL AND NEW.failure_category IS NULL), false)
BEGIN SELECT RAISE(ABORT, 'activity_completed_has_evidence'); END;
CREATE TRIGGER activity_completed_has_evidence_update BEFORE UPDATE ON activity
WHEN NOT coalesce(NEW.state <> 'completed' OR (NEW.receipt_count >= 1 AND NEW.evidence_digest IS NOT NULL AND NEW.failure_category IS NULL), false)
BEGIN SELECT RAISE(ABORT, 'activity_completed_has_evidence'); END;
CREATE TRIGGER activity_failed_has_category_only_insert BEFORE INSERT ON activity
WHEN NOT coalesce(NEW.state <> 'failed' OR (NEW.receipt_count = 0 AND NEW.evidence_digest IS NULL AND NEW.failure_category IS NOT NULL), false)
BEGIN SELECT RAISE(ABORT, 'activity_failed_has_category_only'); END;
CREATE TRIGGER activity_failed_has_category_only_update BEFORE UPDATE ON activity
WHEN NOT coalesce(NEW.state <> 'failed' OR (NEW.receipt_count = 0 AND NEW.evidence_digest IS NULL AND NEW.failure_category IS NOT NULL), false)
BEGIN SELECT RAISE(ABORT, 'activity_failed_has_category_only'); END;
CREATE TRIGGER activity_open_is_bare_insert BEFORE INSERT ON activity
WHEN NOT coalesce(NEW.state IN ('completed', 'failed') OR (NEW.receipt_count = 0 AND NEW.evidence_digest IS NULL AND NEW.failure_category IS NULL), false)
BEGIN SELECT RAISE(ABORT, 'activity_open_is_bare'); END;
CREATE TRIGGER activity_open_is_bare_update BEFORE UPDATE ON activity
WHEN NOT coalesce(NEW.state IN ('completed', 'failed') OR (NEW.receipt_count = 0 AND NEW.evidence_digest IS NULL AND NEW.failure_category IS NULL), false)
BEGIN SELECT RAISE(ABORT, 'activity_open_is_bare'); END;
CREATE TRIGGER activity_evidence_form_insert BEFORE INSERT ON activity
WHEN NOT coalesce(NEW.evidence_digest IS NULL OR (length(NEW.evidence_digest) = 71 AND substr(NEW.evidence_digest, 1, 7) = 'sha256:' AND substr(NEW.evidence_digest, 8) NOT GLOB '*[^0-9a-f]*'), false)
BEGIN SELECT RAISE(ABORT, 'activity_evidence_form'); END;
CREATE TRIGGER activity_evidence_form_update BEFORE UPDATE ON activity
WHEN NOT coalesce(NEW.evidence_digest IS NULL OR (length(NEW.evidence_digest) = 71 AND substr(NEW.evidence_digest, 1, 7) = 'sha256:' AND substr(NEW.evidence_digest, 8) NOT GLOB '*[^0-9a-f]*'), false)
BEGIN SELECT RAISE(ABORT, 'activity_evidence_form'); END;
CREATE TRIGGER activity_questions_counted_insert BEFORE INSERT ON activity
WHEN NOT coalesce(NEW.open_questions >= 0, false)
BEGIN SELECT RAISE(ABORT, 'activity_questions_counted'); END;
CREATE TRIGGER activity_questions_counted_update BEFORE UPDATE ON activity
WHEN NOT coalesce(NEW.open_questions >= 0, false)
BEGIN SELECT RAISE(ABORT, 'activity_questions_counted'); END;
CREATE TRIGGER activity_never_deleted BEFORE DELETE ON activity
BEGIN SELECT RAISE(ABORT, 'activity_never_deleted'); END;

CREATE TABLE activity_event (
    event_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    kind TEXT NOT NULL,
    turn_id TEXT,
    body TEXT NOT NULL,
    CONSTRAINT activity_event_once PRIMARY KEY (tenant, event_id)
) STRICT;
CREATE TRIGGER activity_event_once_insert BEFORE INSERT ON activity_event
WHEN EXISTS (SELECT 1 FROM activity_event o WHERE o.tenant = NEW.tenant AND o.event_id = NEW.event_id)
BEGIN SELECT RAISE(ABORT, 'activity_event_once'); END;
CREATE TRIGGER activity_event_append_only BEFORE UPDATE ON activity_event
BEGIN SELECT RAISE(ABORT, 'activity_event_append_only'); END;
CREATE TRIGGER activity_event_never_deleted BEFORE DELETE ON activity_event
BEGIN SELECT RAISE(ABORT, 'activity_event_never_deleted'); END;

CREATE TABLE assertion (
    assertion_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    text_digest TEXT NOT NULL,
    model_id TEXT,
    asserts TEXT,
    outbox_id TEXT,
    asserted_at_ms INTEGER NOT NULL,
    CONSTRAINT assertion_once PRIMARY KEY (tenant, assertion_id),
    FOREIGN KEY (tenant, turn_id) REFERENCES turn
) STRICT;
CREATE TRIGGER assertion_once_insert BEFORE INSERT ON assertion
WHEN EXISTS (SELECT 1 FROM assertion o WHERE o.tenant = NEW.tenant AND o.assertion_id = NEW.assertion_id)
BEGIN SELECT RAISE(ABORT, 'assertion_once'); END;
CREATE TRIGGER assertion_append_only BEFORE UPDATE ON assertion
BEGIN SELECT RAISE(ABORT, 'assertion_append_only'); END;
CREATE TRIGGER assertion_never_deleted BEFORE DELETE ON assertion
BEGIN SELECT RAISE(ABORT, 'assertion_never_deleted'); END;

CREATE TABLE message (
    message_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    role TEXT NOT NULL,
    content_digest TEXT NOT NULL,
    routing_mode TEXT,
    execution_kind TEXT,
    provider TEXT,
    runtime TEXT,
    model TEXT,
    receipt_id TEXT,
    said_at_ms INTEGER NOT NULL,
    CONSTRAINT message_once PRIMARY KEY (tenant, message_id),
    FOREIGN KEY (tenant, turn_id) REFERENCES turn,
    FOREIGN KEY (tenant, receipt_id) REFERENCES receipt,
    CONSTRAINT message_role_known CHECK ((role = 'user' OR role = 'assistant' OR role = 'tool')),
    CONSTRAINT message_kind_known CHECK (execution_kind IS NULL OR (execution_kind = 'native' OR execution_kind = 'local_model' OR execution_kind = 'cloud_model')),
    CONSTRAINT message_provenance_whole CHECK ((execution_kind IS NULL) = (routing_mode IS NULL) AND (execution_kind IS NULL) = (provider IS NULL) AND (execution_kind IS NULL) = (runtime IS NULL)),
    CONSTRAINT message_native_not_cloud CHECK (coalesce(execution_kind, '') <> 'native' OR coalesce(provider, '') = 'actum'),
    CONSTRAINT message_native_has_receipt CHECK (coalesce(execution_kind, '') <> 'native' OR receipt_id IS NOT NULL)
) STRICT;
CREATE TRIGGER message_once_insert BEFORE INSERT ON message
WHEN EXISTS (SELECT 1 FROM message o WHERE o.tenant = NEW.tenant AND o.message_id = NEW.message_id)
BEGIN SELECT RAISE(ABORT, 'message_once'); END;
CREATE TRIGGER message_role_known_insert BEFORE INSERT ON message
WHEN NOT coalesce((NEW.role = 'user' OR NEW.role = 'assistant' OR NEW.role = 'tool'), false)
BEGIN SELECT RAISE(ABORT, 'message_role_known'); END;
CREATE TRIGGER message_kind_known_insert BEFORE INSERT ON message
WHEN NOT coalesce(NEW.execution_kind IS NULL OR (NEW.execution_kind = 'native' OR NEW.execution_kind = 'local_model' OR NEW.execution_kind = 'cloud_model'), false)
BEGIN SELECT RAISE(ABORT, 'message_kind_known'); END;
CREATE TRIGGER message_provenance_whole_insert BEFORE INSERT ON message
WHEN NOT coalesce((NEW.execution_kind IS NULL) = (NEW.routing_mode IS NULL) AND (NEW.execution_kind IS NULL) = (NEW.provider IS NULL) AND (NEW.execution_kind IS NULL) = (NEW.runtime IS NULL), false)
BEGIN SELECT RAISE(ABORT, 'message_provenance_whole'); END;
CREATE TRIGGER message_native_not_cloud_insert BEFORE INSERT ON message
WHEN NOT coalesce(coalesce(NEW.execution_kind, '') <> 'native' OR coalesce(NEW.provider, '') = 'actum', false)
BEGIN SELECT RAISE(ABORT, 'message_native_not_cloud'); END;
CREATE TRIGGER message_native_has_receipt_insert BEFORE INSERT ON message
WHEN NOT coalesce(coalesce(NEW.execution_kind, '') <> 'native' OR NEW.receipt_id IS NOT NULL, false)
BEGIN SELECT RAISE(ABORT, 'message_native_has_receipt'); END;
CREATE TRIGGER message_append_only BEFORE UPDATE ON message
BEGIN SELECT RAISE(ABORT, 'message_append_only'); END;
CREATE TRIGGER message_never_deleted BEFORE DELETE ON message
BEGIN SELECT RAISE(ABORT, 'message_never_deleted'); END;

CREATE TABLE runner (
    tenant TEXT NOT NULL,
    holder TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    lease_until_ms INTEGER NOT NULL,
    boot_id TEXT NOT NULL,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    CONSTRAINT runner_once PRIMARY KEY (tenant)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER runner_never_deleted BEFORE DELETE ON runner
BEGIN SELECT RAISE(ABORT, 'runner_never_deleted'); END;

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
CREATE INDEX activity_in_progress ON activity (tenant, turn_id) WHERE open_questions = 0 AND (state = 'queued' OR state = 'routing' OR state = 'running' OR state = 'verifying');
CREATE INDEX activity_event_of_turn ON activity_event (tenant, turn_id, event_id);
CREATE INDEX assertion_of_turn ON assertion (tenant, turn_id, assertion_id);
CREATE INDEX message_of_turn ON message (tenant, turn_id, message_id);

-- Rules that look at other rows, or at what the row was.
-- A row enters the outbox waiting, or settled at once where there is nothing to send; only a claim leads further.
CREATE TRIGGER outbox_starts_waiting BEFORE INSERT ON outbox
WHEN NOT (NEW.state = 'ready' OR NEW.state = 'retry_wait' OR NEW.state = 'settled') OR NEW.dispatched_at_ms IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'outbox_starts_waiting'); END;
-- A row that wants to leave without a grant must describe an effect that changes nothing outside this store.
CREATE TRIGGER outbox_ungranted_is_inform BEFORE INSERT ON outbox
WHEN NEW.kind = 'effect' AND NEW.grant_id IS NULL AND NEW.state <> 'settled' AND NOT coalesce((
    SELECT json_extract(e.descriptor, '$.reversibility') = 'no_mutation'
       AND json_extract(e.descriptor, '$.externality') IN ('local_only', 'public_read')
       AND json_extract(e.descriptor, '$.effect_class') = 'inform'
      FROM effect e WHERE e.tenant = NEW.tenant AND e.effect_digest = NEW.effect_digest), false)
BEGIN SELECT RAISE(ABORT, 'outbox_ungranted_is_inform'); END;
-- The grant must be for this exact effect, for confirming, in this incarnation, neither void nor expired, and taken by
-- this row, before the mark is set.
CREATE TRIGGER outbox_dispatch_granted BEFORE UPDATE OF state ON outbox
WHEN NEW.state = 'dispatched' AND NEW.grant_id IS NOT NULL AND NOT coalesce((
    SELECT g.used_by = NEW.outbox_id AND g.purpose = 'confirm' AND g.subject_digest = NEW.effect_digest
       AND g.incarnation = NEW.incarnation AND g.voided_at_ms IS NULL AND g.expires_at_ms > NEW.dispatched_at_ms
      FROM "grant" g WHERE g.tenant = NEW.tenant AND g.grant_id = NEW.grant_id), false)
BEGIN SELECT RAISE(ABORT, 'outbox_dispatch_granted'); END;
CREATE TRIGGER outbox_dispatch_from_claim BEFORE UPDATE OF state ON outbox
WHEN NEW.state = 'dispatched' AND OLD.state NOT IN ('claimed', 'dispatched')
BEGIN SELECT RAISE(ABORT, 'outbox_dispatch_from_claim'); END;
CREATE TRIGGER outbox_settled_stays BEFORE UPDATE OF state ON outbox
WHEN OLD.state = 'settled' AND NEW.state <> 'settled'
BEGIN SELECT RAISE(ABORT, 'outbox_settled_stays'); END;
CREATE TRIGGER outbox_dispatched_never_back BEFORE UPDATE OF state ON outbox
WHEN OLD.state = 'dispatched' AND NEW.state IN ('ready', 'claimed')
BEGIN SELECT RAISE(ABORT, 'outbox_dispatched_never_back'); END;
-- A claim is fenced and counted in the statement that makes it, so a crash counts too.
CREATE TRIGGER outbox_claim_counts BEFORE UPDATE OF state, epoch, attempts, holder ON outbox
WHEN NEW.epoch < OLD.epoch OR NEW.attempts < OLD.attempts
  OR (NEW.state = 'claimed' AND (OLD.state <> 'claimed' OR NEW.holder IS DISTINCT FROM OLD.holder)
      AND (NEW.epoch <> OLD.epoch + 1 OR NEW.attempts <> OLD.attempts + 1))
BEGIN SELECT RAISE(ABORT, 'outbox_claim_counts'); END;
-- What was once dispatched can never look as if it had not been.
CREATE TRIGGER outbox_mark_stays BEFORE UPDATE OF dispatched_at_ms ON outbox
WHEN OLD.dispatched_at_ms IS NOT NULL AND NEW.dispatched_at_ms IS NULL
BEGIN SELECT RAISE(ABORT, 'outbox_mark_stays'); END;
-- A grant is used once, and neither its words nor its use can be changed afterwards.
CREATE TRIGGER grant_starts_unused BEFORE INSERT ON "grant"
WHEN NEW.used_by IS NOT NULL OR NEW.voided_at_ms IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'grant_starts_unused'); END;
CREATE TRIGGER grant_used_once BEFORE UPDATE OF used_by ON "grant"
WHEN OLD.used_by IS NOT NULL AND NEW.used_by IS DISTINCT FROM OLD.used_by
BEGIN SELECT RAISE(ABORT, 'grant_used_once'); END;
CREATE TRIGGER grant_void_unusable BEFORE UPDATE OF used_by, voided_at_ms ON "grant"
WHEN OLD.voided_at_ms IS NOT NULL AND (NEW.voided_at_ms IS NULL OR (NEW.used_by IS NOT NULL AND OLD.used_by IS NULL))
BEGIN SELECT RAISE(ABORT, 'grant_void_unusable'); END;
CREATE TRIGGER question_answered_once BEFORE UPDATE ON question
WHEN OLD.state <> 'open'
BEGIN SELECT RAISE(ABORT, 'question_answered_once'); END;
CREATE TRIGGER decision_answers_step BEFORE INSERT ON decision
WHEN NOT EXISTS (SELECT 1 FROM step_visit v WHERE v.tenant = NEW.tenant AND v.turn_id = NEW.turn_id AND v.step_id = NEW.step_id)
BEGIN SELECT RAISE(ABORT, 'decision_answers_step'); END;
-- What an executor said is written once.
CREATE TRIGGER execution_finished_once BEFORE UPDATE ON execution
WHEN OLD.finished_at_ms IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'execution_finished_once'); END;
CREATE TRIGGER receipt_after_execution BEFORE INSERT ON receipt
WHEN NOT EXISTS (SELECT 1 FROM execution x WHERE x.tenant = NEW.tenant AND x.execution_id = NEW.execution_id
    AND x.outbox_id = NEW.outbox_id AND x.turn_id = NEW.turn_id AND x.kind = NEW.kind AND x.finished_at_ms IS NOT NULL)
BEGIN SELECT RAISE(ABORT, 'receipt_after_execution'); END;
-- Nothing says not attempted once the mark was committed, and nothing says it happened before.
CREATE TRIGGER receipt_attempted_after_dispatch BEFORE INSERT ON receipt
WHEN NEW.kind = 'effect' AND NEW.claimed_finality = 'not_attempted'
 AND EXISTS (SELECT 1 FROM outbox o WHERE o.tenant = NEW.tenant AND o.outbox_id = NEW.outbox_id
             AND o.dispatched_at_ms IS NOT NULL)
BEGIN SELECT RAISE(ABORT, 'receipt_attempted_after_dispatch'); END;
CREATE TRIGGER receipt_happened_after_dispatch BEFORE INSERT ON receipt
WHEN NEW.kind = 'effect' AND NEW.claimed_finality IN ('initiated', 'finalized')
 AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.tenant = NEW.tenant AND o.outbox_id = NEW.outbox_id
                 AND o.dispatched_at_ms IS NOT NULL)
BEGIN SELECT RAISE(ABORT, 'receipt_happened_after_dispatch'); END;
-- The log has no gap, and what stands beside it only grows.
CREATE TRIGGER log_leaf_next BEFORE INSERT ON log_leaf
WHEN NEW.seq <> coalesce((SELECT max(l.seq) FROM log_leaf l WHERE l.tenant = NEW.tenant), -1) + 1
BEGIN SELECT RAISE(ABORT, 'log_leaf_next'); END;
CREATE TRIGGER log_state_grows BEFORE UPDATE ON log_state
WHEN NEW.size < OLD.size
BEGIN SELECT RAISE(ABORT, 'log_state_grows'); END;
CREATE TRIGGER chain_grows BEFORE UPDATE ON chain
WHEN NEW.next_seq <= OLD.next_seq
BEGIN SELECT RAISE(ABORT, 'chain_grows'); END;
CREATE TRIGGER runner_epoch_grows BEFORE UPDATE ON runner
WHEN NEW.epoch < OLD.epoch OR (NEW.holder <> OLD.holder AND NEW.epoch = OLD.epoch)
BEGIN SELECT RAISE(ABORT, 'runner_epoch_grows'); END;
-- Receipts are counted by the database, so that a completed row cannot say another number.
CREATE TRIGGER activity_counts_receipts_insert BEFORE INSERT ON activity
WHEN NEW.state = 'completed' AND NEW.receipt_count <> (
    SELECT count(*) FROM receipt r WHERE r.tenant = NEW.tenant AND r.turn_id = NEW.turn_id)
BEGIN SELECT RAISE(ABORT, 'activity_counts_receipts'); END;
CREATE TRIGGER activity_counts_receipts_update BEFORE UPDATE ON activity
WHEN NEW.state = 'completed' AND NEW.receipt_count <> (
    SELECT count(*) FROM receipt r WHERE r.tenant = NEW.tenant AND r.turn_id = NEW.turn_id)
BEGIN SELECT RAISE(ABORT, 'activity_counts_receipts'); END;
-- Nothing is completed on receipts of failures and unknown outcomes alone; a person's answer is a settlement.
CREATE TRIGGER activity_completed_is_earned_insert BEFORE INSERT ON activity
WHEN NEW.state = 'completed' AND NOT EXISTS (
    SELECT 1 FROM receipt r WHERE r.tenant = NEW.tenant AND r.turn_id = NEW.turn_id
       AND ((r.status = 'success' OR r.status = 'partial' OR r.status = 'cancelled') OR r.kind = 'settlement'))
BEGIN SELECT RAISE(ABORT, 'activity_completed_is_earned'); END;
CREATE TRIGGER activity_completed_is_earned_update BEFORE UPDATE ON activity
WHEN NEW.state = 'completed' AND NOT EXISTS (
    SELECT 1 FROM receipt r WHERE r.tenant = NEW.tenant AND r.turn_id = NEW.turn_id
       AND ((r.status = 'success' OR r.status = 'partial' OR r.status = 'cancelled') OR r.kind = 'settlement'))
BEGIN SELECT RAISE(ABORT, 'activity_completed_is_earned'); END;
-- A native reply stands on the receipt of an effect that was seen to have happened; a recorded decision is none.
CREATE TRIGGER message_native_receipt_earned BEFORE INSERT ON message
WHEN NEW.execution_kind = 'native' AND NOT coalesce((
    SELECT r.status = 'success' AND r.kind IN ('effect', 'settlement') AND r.turn_id = NEW.turn_id
      FROM receipt r WHERE r.tenant = NEW.tenant AND r.receipt_id = NEW.receipt_id), false)
BEGIN SELECT RAISE(ABORT, 'message_native_receipt_earned'); END;
-- A receipt that arrives after completion is counted; the evidence digest is the service's to renew.
CREATE TRIGGER receipt_recounts_activity AFTER INSERT ON receipt
BEGIN
    UPDATE activity SET receipt_count = receipt_count + 1
     WHERE tenant = NEW.tenant AND turn_id = NEW.turn_id AND state = 'completed';
END;
