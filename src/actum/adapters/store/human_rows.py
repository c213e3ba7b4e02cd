# SPDX-License-Identifier: Apache-2.0
"""Rows of people: questions, grants, qualifications and roles."""

from __future__ import annotations

import msgspec

from actum.adapters.store.mapping import Mapping
from actum.adapters.store.rows import Rows
from actum.model.grant import Grant, GrantRow
from actum.model.question import Question, QuestionReason, QuestionState
from actum.ports.store import QualificationRow

_questions = Mapping("question", Question)
_qualifications = Mapping("qualification", QualificationRow)
_grant_columns = "body, payload_digest, envelope, used_by, voided_at_ms"


class HumanRows(Rows):
    """What people were asked and what they allowed."""

    def add_question(self, question: Question) -> None:
        """Store a question; a second open one about the same thing for the same reason is refused."""
        self.run(_questions.insert, *_questions.to_row(question))

    def question(self, question_id: str) -> Question | None:
        """Return a question."""
        found = self.row(
            f"SELECT {_questions.columns} FROM question WHERE tenant = ? AND question_id = ?",
            self.tenant,
            question_id,
        )
        return None if found is None else _questions.from_row(found)

    def open_question(self, *, reason: QuestionReason, subject_ref: str) -> Question | None:
        """Return the open question about a thing for a reason."""
        found = self.row(
            f"SELECT {_questions.columns} FROM question"
            " WHERE tenant = ? AND reason = ? AND subject_ref = ? AND state = 'open'",
            self.tenant,
            reason.value,
            subject_ref,
        )
        return None if found is None else _questions.from_row(found)

    def open_questions(self, *, after: str = "", limit: int = 1000) -> list[Question]:
        """Return the open questions, oldest first, from after an id."""
        found = self.rows(
            f"SELECT {_questions.columns} FROM question"
            " WHERE tenant = ? AND state = 'open' AND question_id > ? ORDER BY question_id LIMIT ?",
            self.tenant,
            after,
            limit,
        )
        return [_questions.from_row(row) for row in found]

    def questions(self, turn_id: str) -> list[Question]:
        """Return all questions of a turn, oldest first."""
        found = self.rows(
            f"SELECT {_questions.columns} FROM question WHERE turn_id = ? ORDER BY question_id", turn_id
        )
        return [_questions.from_row(row) for row in found]

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
        """Store a signed grant."""
        grant = row.grant
        self.run(
            'INSERT INTO "grant" (grant_id, tenant, purpose, principal, subject_digest, incarnation, issued_at_ms,'
            " expires_at_ms, body, payload_digest, envelope) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
            f'SELECT {_grant_columns} FROM "grant" WHERE tenant = ? AND grant_id = ?', self.tenant, grant_id
        )
        if found is None:
            return None
        return GrantRow(
            grant=msgspec.json.decode(found[0], type=Grant),
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
            'UPDATE "grant" SET voided_at_ms = ? WHERE tenant = ? AND used_by IS NULL AND voided_at_ms IS NULL',
            now_ms,
            self.tenant,
        )

    def add_qualification(self, row: QualificationRow) -> None:
        """Store a qualification record."""
        self.run(_qualifications.insert, *_qualifications.to_row(row))

    def qualification(self, effect_digest: str) -> QualificationRow | None:
        """Return the newest qualification of an effect."""
        found = self.row(
            f"SELECT {_qualifications.columns} FROM qualification WHERE effect_digest = ?"
            " ORDER BY recorded_at_ms DESC, digest LIMIT 1",
            effect_digest,
        )
        return None if found is None else _qualifications.from_row(found)

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
        found = self.rows(
            "SELECT role FROM role WHERE tenant = ? AND principal = ?", self.tenant, principal
        )
        return {row[0] for row in found}
