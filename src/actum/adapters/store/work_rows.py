# SPDX-License-Identifier: Apache-2.0
"""Rows of work: items, turns, visits, decisions, proposals, effects, content and rulebooks."""

from __future__ import annotations

from collections.abc import Iterator

from actum.adapters.store.mapping import Mapping
from actum.adapters.store.rows import Rows
from actum.model.proposal import Proposal, ProposalState
from actum.model.work import StepState, StepVisit, Turn, WorkItem
from actum.ports.store import DecisionRow, EffectRow, VisitRow

_items = Mapping("work_item", WorkItem)
_turns = Mapping("turn", Turn)
_visits = Mapping("step_visit", StepVisit, extra=("tenant",))
_proposals = Mapping("proposal", Proposal)
_effects = Mapping("effect", EffectRow)
_decisions = Mapping("decision", DecisionRow)


class WorkRows(Rows):
    """What came in and what was decided about it."""

    # -- content ---------------------------------------------------------------------------------------------

    def put_content(self, digest: str, body: bytes, *, now_ms: int) -> None:
        """Keep bytes under their digest; keeping the same bytes twice is one row."""
        self.run(
            "INSERT INTO content (tenant, digest, body, size, created_at_ms) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (tenant, digest) DO NOTHING",
            self.tenant,
            digest,
            body,
            len(body),
            now_ms,
        )

    def put_content_file(self, digest: str, name: str, *, size: int, now_ms: int) -> None:
        """Note that the bytes of a digest lie in a file beside the store."""
        self.run(
            "INSERT INTO content (tenant, digest, file, size, created_at_ms) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (tenant, digest) DO NOTHING",
            self.tenant,
            digest,
            name,
            size,
            now_ms,
        )

    def content(self, digest: str) -> tuple[bytes | None, str | None] | None:
        """Return (bytes, file name) of a digest, or None where it was never kept."""
        found = self.row("SELECT body, file FROM content WHERE tenant = ? AND digest = ?", self.tenant, digest)
        return None if found is None else (found[0], found[1])

    # -- rulebooks -------------------------------------------------------------------------------------------

    def put_rulebook(self, digest: str, body: bytes, *, by: str, now_ms: int) -> None:
        """Make a rulebook the active one from now on; the one before keeps its times."""
        self.run(
            "UPDATE rulebook SET active_until_ms = ? WHERE tenant = ? AND active_until_ms IS NULL",
            now_ms,
            self.tenant,
        )
        self.run(
            "INSERT INTO rulebook (tenant, digest, body, active_from_ms, activated_by, seq)"
            " SELECT ?, ?, ?, ?, ?, count(*) FROM rulebook WHERE tenant = ?",
            self.tenant,
            digest,
            body,
            now_ms,
            by,
            self.tenant,
        )

    def active_rulebook(self) -> tuple[str, bytes] | None:
        """Return (digest, stored form) of the active rulebook, or None."""
        found = self.row(
            "SELECT digest, body FROM rulebook WHERE tenant = ? AND active_until_ms IS NULL", self.tenant
        )
        return None if found is None else (found[0], found[1])

    def rulebook(self, digest: str) -> bytes | None:
        """Return the stored form of a rulebook that was ever active."""
        return self.value("SELECT body FROM rulebook WHERE tenant = ? AND digest = ?", self.tenant, digest)

    # -- items, turns, visits --------------------------------------------------------------------------------

    def add_work_item(self, item: WorkItem) -> None:
        """Store a work item."""
        self.run(_items.insert, *_items.to_row(item))

    def work_item(self, work_item_id: str) -> WorkItem | None:
        """Return a work item."""
        found = self.row(
            f"SELECT {_items.columns} FROM work_item WHERE tenant = ? AND work_item_id = ?",
            self.tenant,
            work_item_id,
        )
        return None if found is None else _items.from_row(found)

    def find_work_item(self, *, principal: str, key: str) -> WorkItem | None:
        """Return the item this principal already submitted under this key."""
        found = self.row(
            f"SELECT {_items.columns} FROM work_item WHERE tenant = ? AND principal = ? AND key = ?",
            self.tenant,
            principal,
            key,
        )
        return None if found is None else _items.from_row(found)

    def add_turn(self, turn: Turn) -> None:
        """Store a turn."""
        self.run(_turns.insert, *_turns.to_row(turn))

    def turn(self, turn_id: str) -> Turn | None:
        """Return a turn."""
        found = self.row(
            f"SELECT {_turns.columns} FROM turn WHERE tenant = ? AND turn_id = ?", self.tenant, turn_id
        )
        return None if found is None else _turns.from_row(found)

    def turns_of_item(self, work_item_id: str) -> list[Turn]:
        """Return the turns of a work item, oldest first."""
        found = self.rows(
            f"SELECT {_turns.columns} FROM turn WHERE work_item_id = ? ORDER BY turn_id", work_item_id
        )
        return [_turns.from_row(row) for row in found]

    def add_visit(self, visit: StepVisit) -> None:
        """Store a step visit."""
        self.run(_visits.insert, *_visits.to_row(visit, self.tenant))

    def set_visit(
        self, turn_id: str, step_id: str, *, state: StepState, writes: bytes | None = None
    ) -> None:
        """Move a step visit, and keep what its decision wrote to the subject."""
        self.run(
            "UPDATE step_visit SET state = ?, writes = coalesce(?, writes) WHERE turn_id = ? AND step_id = ?",
            state.value,
            writes,
            turn_id,
            step_id,
        )

    def visits(self, turn_id: str) -> list[VisitRow]:
        """Return the visits of a turn in file order."""
        found = self.rows(
            "SELECT step_id, position, state, writes FROM step_visit WHERE turn_id = ? ORDER BY position",
            turn_id,
        )
        return [
            VisitRow(step_id=row[0], position=row[1], state=StepState(row[2]), writes=row[3]) for row in found
        ]

    def move_visits(self, *, state: StepState, to: StepState) -> list[tuple[str, str]]:
        """Move every visit in one state to another; return (turn, step) of each."""
        found = self.rows(
            "SELECT turn_id, step_id FROM step_visit WHERE tenant = ? AND state = ? ORDER BY turn_id, position",
            self.tenant,
            state.value,
        )
        self.run(
            "UPDATE step_visit SET state = ? WHERE tenant = ? AND state = ?", to.value, self.tenant, state.value
        )
        return [(row[0], row[1]) for row in found]

    # -- decisions, proposals, effects -----------------------------------------------------------------------

    def add_decision(self, row: DecisionRow) -> None:
        """Store a decision; a second one for the same step visit is refused by the database."""
        self.run(_decisions.insert, *_decisions.to_row(row))

    def decisions(self, turn_id: str) -> list[DecisionRow]:
        """Return the decisions of a turn in the order they were made."""
        found = self.rows(
            f"SELECT {_decisions.columns} FROM decision WHERE turn_id = ? ORDER BY decided_at_ms, step_id",
            turn_id,
        )
        return [_decisions.from_row(row) for row in found]

    def decision(self, digest: str) -> DecisionRow | None:
        """Return a decision by its digest."""
        found = self.row(
            f"SELECT {_decisions.columns} FROM decision WHERE tenant = ? AND digest = ?", self.tenant, digest
        )
        return None if found is None else _decisions.from_row(found)

    def each_decision(self) -> Iterator[DecisionRow]:
        """Yield every decision of the tenant."""
        for row in self.each(f"SELECT {_decisions.columns} FROM decision WHERE tenant = ?", self.tenant):
            yield _decisions.from_row(row)

    def decisions_per_rung(self) -> list[tuple[str, int, int, int]]:
        """Return (rung, decisions, input tokens, output tokens) counted from the rows."""
        found = self.rows(
            "SELECT rung, count(*), sum(input_tokens), sum(output_tokens) FROM decision WHERE tenant = ?"
            " GROUP BY rung ORDER BY rung",
            self.tenant,
        )
        return [(row[0], int(row[1]), int(row[2]), int(row[3])) for row in found]

    def add_proposal(self, proposal: Proposal) -> None:
        """Store a proposal."""
        self.run(_proposals.insert, *_proposals.to_row(proposal))

    def set_proposal(
        self, proposed_action_id: str, *, state: ProposalState, refusal: str | None = None
    ) -> None:
        """Move a proposal."""
        self.run(
            "UPDATE proposal SET state = ?, refusal = coalesce(?, refusal) WHERE proposed_action_id = ?",
            state.value,
            refusal,
            proposed_action_id,
        )

    def proposal(self, proposed_action_id: str) -> Proposal | None:
        """Return a proposal."""
        found = self.row(
            f"SELECT {_proposals.columns} FROM proposal WHERE tenant = ? AND proposed_action_id = ?",
            self.tenant,
            proposed_action_id,
        )
        return None if found is None else _proposals.from_row(found)

    def proposals(self, turn_id: str) -> list[Proposal]:
        """Return the proposals of a turn, oldest first."""
        found = self.rows(
            f"SELECT {_proposals.columns} FROM proposal WHERE turn_id = ? ORDER BY proposed_action_id", turn_id
        )
        return [_proposals.from_row(row) for row in found]

    def add_effect(self, effect: EffectRow) -> None:
        """Store an effect with its arguments and what a person is shown."""
        self.run(_effects.insert, *_effects.to_row(effect))

    def effect(self, effect_digest: str) -> EffectRow | None:
        """Return an effect by its digest."""
        found = self.row(
            f"SELECT {_effects.columns} FROM effect WHERE tenant = ? AND effect_digest = ?",
            self.tenant,
            effect_digest,
        )
        return None if found is None else _effects.from_row(found)
