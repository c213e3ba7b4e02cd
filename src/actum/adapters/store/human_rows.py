# SPDX-License-Identifier: Apache-2.0
"""Rows of people: questions, grants, qualifications and roles."""

from __future__ import annotations

import msgspec

from actum.adapters.store.mapping import Mapping
from actum.adapters.store.rows import Rows
from actum.model.errors import CorruptRecordError
from actum.model.grant import Grant, GrantRow
from actum.model.question import Question, QuestionReason, QuestionState
from actum.ports.store import QualificationRow

_questions = Mapping("question", Question)
_qualifications = Mapping("qualification", QualificationRow)
_QUESTION = _questions.select("question_id = ?")
_OPEN_QUESTION = _questions.select("reason = ? AND subject_ref = ? AND state = 'open'")
_OPEN_QUESTIONS = _questions.select("state = 'open' AND question_id > ?", order="question_id LIMIT ?")
_QUESTIONS_OF_TURN = _questions.select("turn_id = ?", order="question_id")
_QUALIFICATION = _qualifications.select("effect_digest = ?", order="recorded_at_ms DESC, digest LIMIT 1")
_grant_decoder = msgspec.json.Decoder(Grant)


class HumanRows(Rows):
    """What people were asked and what they allowed."""

    def add_question(self, question: Question) -> None:
        """Store a question; a second open one about the same thing for the same reason is refused."""
        self.add(_questions, question, tenant=question.tenant)

    def question(self, question_id: str) -> Question | None:
        """Return a question."""
        return self.one(_questions, _QUESTION, question_id)

    def open_question(self, *, reason: QuestionReason, subject_ref: str) -> Question | None:
        """Return the open question about a thing for a reason."""
        return self.one(_questions, _OPEN_QUESTION, reason.value, subject_ref)

    def open_questions(self, *, after: str = "", limit: int = 1000) -> list[Question]:
        """Return the open questions, oldest first, from after an id."""
        return self.many(_questions, _OPEN_QUESTIONS, after, limit)

    def questions(self, turn_id: str) -> list[Question]:
        """Return all questions of a turn, oldest first."""
        return self.many(_questions, _QUESTIONS_OF_TURN, turn_id)

    def answer_question(self, question_id: str, *, by: str, answer: str, now_ms: int) -> bool:
        """Answer an open question; False where somebody was quicker."""
        return (
            self.run(
                "UPDATE question SET state = 'answered', answered_by = ?, answered_at_ms = ?, answer = ?"
                " WHERE tenant = ? AND question_id = ? AND state = 'open'",
                by,
                now_ms,
                answer,
                self.tenant,
                question_id,
            )
            == 1
        )

    def void_question(self, question_id: str) -> bool:
        """Void an open question that can no longer be acted upon."""
        return (
            self.run(
                "UPDATE question SET state = ? WHERE tenant = ? AND question_id = ? AND state = 'open'",
                QuestionState.VOID.value,
                self.tenant,
                question_id,
            )
            == 1
        )

    def add_grant(self, row: GrantRow) -> None:
        """Store a signed grant; it begins unused and not void, whatever the row says."""
        grant = row.grant
        self.own(grant.tenant, table="grant")
        self.run(
            'INSERT INTO "grant" (grant_id, tenant, purpose, principal, subject_digest, incarnation,'
            " issued_at_ms, expires_at_ms, body, payload_digest, envelope)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            grant.grant_id,
            grant.tenant,
            grant.purpose.value,
            grant.principal,
            grant.subject_digest,
            grant.incarnation,
            grant.issued_at_ms,
            grant.expires_at_ms,
            msgspec.json.encode(grant).decode(),
            row.payload_digest,
            row.envelope,
        )

    def grant(self, grant_id: str) -> GrantRow | None:
        """Return a grant."""
        found = self.row(
            'SELECT body, payload_digest, envelope, used_by, voided_at_ms FROM "grant"'
            " WHERE tenant = ? AND grant_id = ?",
            self.tenant,
            grant_id,
        )
        if found is None:
            return None
        try:
            grant = _grant_decoder.decode(found[0])
        except msgspec.MsgspecError as error:
            raise CorruptRecordError(
                "row_unreadable",
                failed=f"the body of grant {grant_id} does not fit its record: {error}",
                state="The row was left as it is and nothing was derived from it",
                next_step="Run `actum doctor`; restore the store from a backup if it was edited by hand",
                table="grant",
            ) from error
        return GrantRow(
            grant=grant,
            payload_digest=found[1],
            envelope=found[2],
            used_by=found[3],
            voided_at_ms=found[4],
        )

    def use_grant(self, grant_id: str, *, outbox_id: str) -> bool:
        """Take a grant for one row; True where this row already has it, False where it is used or void."""
        return (
            self.run(
                'UPDATE "grant" SET used_by = ? WHERE tenant = ? AND grant_id = ? AND voided_at_ms IS NULL'
                " AND (used_by IS NULL OR used_by = ?)",
                outbox_id,
                self.tenant,
                grant_id,
                outbox_id,
            )
            == 1
        )

    def void_unused_grants(self, *, now_ms: int) -> int:
        """Void every grant that nothing used; return how many."""
        return self.run(
            'UPDATE "grant" SET voided_at_ms = ?'
            " WHERE tenant = ? AND used_by IS NULL AND voided_at_ms IS NULL",
            now_ms,
            self.tenant,
        )

    def add_qualification(self, row: QualificationRow) -> None:
        """Store a qualification record."""
        self.add(_qualifications, row, tenant=row.tenant)

    def qualification(self, effect_digest: str) -> QualificationRow | None:
        """Return the newest qualification of an effect."""
        return self.one(_qualifications, _QUALIFICATION, effect_digest)

    def add_role(self, principal: str, role: str, *, by: str, now_ms: int) -> None:
        """Give a principal a role; giving it twice is one row."""
        self.run(
            "INSERT INTO role (tenant, principal, role, granted_by, granted_at_ms) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (tenant, principal, role) DO NOTHING",
            self.tenant,
            principal,
            role,
            by,
            now_ms,
        )

    def roles(self, principal: str) -> set[str]:
        """Return the roles of a principal."""
        found = self.rows("SELECT role FROM role WHERE tenant = ? AND principal = ?", self.tenant, principal)
        return {row[0] for row in found}
