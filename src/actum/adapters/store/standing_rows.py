# SPDX-License-Identifier: Apache-2.0
"""Everything that says where a turn stands, read in one statement: it is read in every commit of the line."""

from __future__ import annotations

from actum.adapters.store.evidence_rows import LOGGED
from actum.adapters.store.rows import Rows
from actum.ports.store import ReceiptEnd, TurnRows

_NONE = "CAST(NULL AS TEXT)"
_SQL = f"""
SELECT 'visit' AS what, step_id AS a, state AS b, {_NONE} AS c, {_NONE} AS d, {_NONE} AS e, {_NONE} AS f
  FROM step_visit WHERE tenant = ? AND turn_id = ?
UNION ALL SELECT 'question', reason, state, {_NONE}, {_NONE}, {_NONE}, {_NONE}
  FROM question WHERE tenant = ? AND turn_id = ?
UNION ALL SELECT 'proposal', proposed_action_id, state, {_NONE}, {_NONE}, {_NONE}, {_NONE}
  FROM proposal WHERE tenant = ? AND turn_id = ?
UNION ALL SELECT 'row', outbox_id, state, {_NONE}, {_NONE}, {_NONE}, {_NONE}
  FROM outbox WHERE tenant = ? AND turn_id = ?
UNION ALL SELECT 'receipt', receipt_id, payload_digest, outbox_id, kind,
       graded_finality || ' ' || graded_confidence || ' ' || {LOGGED}, status
  FROM receipt WHERE tenant = ? AND turn_id = ?
UNION ALL SELECT 'assertion', assertion_id, outbox_id, {_NONE}, {_NONE}, {_NONE}, {_NONE}
  FROM assertion WHERE tenant = ? AND turn_id = ? AND asserts IS NOT NULL
UNION ALL SELECT 'decision', digest, {_NONE}, {_NONE}, {_NONE}, {_NONE}, {_NONE}
  FROM decision WHERE tenant = ? AND turn_id = ?
"""
_SELECTS = 7


def _logged(row: tuple[str | None, ...]) -> tuple[int, str]:
    return int(str(row[4]).split(" ")[2]), str(row[0])


class StandingRows(Rows):
    """The one query behind every activity row."""

    def turn_rows(self, turn_id: str) -> TurnRows:
        """Return the states of everything that belongs to a turn; receipts are oldest first by the log."""
        found: dict[str, list[tuple[str | None, ...]]] = {}
        for row in self.rows(_SQL, *(self.tenant, turn_id) * _SELECTS):
            found.setdefault(row[0], []).append(tuple(row[1:]))
        receipts = [
            ReceiptEnd(
                receipt_id=str(row[0]),
                payload_digest=str(row[1]),
                outbox_id=str(row[2]),
                kind=str(row[3]),
                finality=str(row[4]).split(" ")[0],
                confidence=str(row[4]).split(" ")[1],
                status=row[5],
            )
            for row in sorted(found.get("receipt", []), key=_logged)
        ]
        return TurnRows(
            visits=[str(row[1]) for row in found.get("visit", [])],
            questions=[(str(row[0]), str(row[1])) for row in found.get("question", [])],
            proposals=[str(row[1]) for row in found.get("proposal", [])],
            rows=[str(row[1]) for row in found.get("row", [])],
            receipts=receipts,
            assertions=[row[1] for row in found.get("assertion", [])],
            decisions=len(found.get("decision", [])),
        )

    def nudge_activity(self, turn_id: str, *, state: str, questions: int, now_ms: int) -> bool:
        """Move a queued turn to a state without completion evidence, and count its open questions up or down.

        False where the turn is not queued: then only reading everything tells where it stands.
        """
        return (
            self.run(
                "UPDATE activity SET state = ?, open_questions = open_questions + ?, updated_at_ms = ?"
                " WHERE tenant = ? AND turn_id = ? AND state = 'queued' AND label IS NULL",
                state,
                questions,
                now_ms,
                self.tenant,
                turn_id,
            )
            == 1
        )
