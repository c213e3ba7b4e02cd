# SPDX-License-Identifier: Apache-2.0
"""Rows of work: items, turns, visits, decisions, proposals, effects, content and rulebooks."""

from __future__ import annotations

from collections.abc import Iterator

from actum.adapters.store.mapping import Mapping
from actum.adapters.store.rows import Rows
from actum.model.proposal import Proposal, ProposalState
from actum.model.work import StepState, StepVisit, Turn, WorkItem
from actum.ports.store import DecisionRow, EffectOrigin, EffectRow, VisitRow

_items = Mapping("work_item", WorkItem)
_turns = Mapping("turn", Turn)
_visits = Mapping("step_visit", StepVisit, extra=("tenant",))
_proposals = Mapping("proposal", Proposal)
_effects = Mapping("effect", EffectRow)
_decisions = Mapping("decision", DecisionRow)
_ITEM = _items.select("work_item_id = ?")
_ITEM_OF_KEY = _items.select("principal = ? AND key = ?")
_TURN = _turns.select("turn_id = ?")
_TURNS_OF_ITEM = _turns.select("work_item_id = ?", order="turn_id")
_DECISION = _decisions.select("digest = ?")
# Steps that were decided in one millisecond come in the order they were visited.
_VISITED = (
    "(SELECT v.position FROM step_visit v WHERE v.tenant = decision.tenant AND v.turn_id = decision.turn_id"
    " AND v.step_id = decision.step_id)"
)
_DECISIONS_OF_TURN = _decisions.select("turn_id = ?", order=f"decided_at_ms, {_VISITED}")
_EVERY_DECISION = _decisions.select(order="turn_id, step_id")
_PROPOSAL = _proposals.select("proposed_action_id = ?")
_PROPOSALS_OF_TURN = _proposals.select("turn_id = ?", order="proposed_action_id")
_EFFECT = _effects.select("effect_digest = ?")
_ORIGIN = (
    f"SELECT {_effects.columns_of('e')}, {_proposals.columns_of('p')}, {_items.columns_of('i')},"
    f" {_decisions.columns_of('d')}"
    " FROM effect e JOIN proposal p ON p.tenant = e.tenant AND p.proposed_action_id = e.proposed_action_id"
    " JOIN turn t ON t.tenant = p.tenant AND t.turn_id = p.turn_id"
    " JOIN work_item i ON i.tenant = t.tenant AND i.work_item_id = t.work_item_id"
    " LEFT JOIN decision d ON d.tenant = p.tenant AND d.digest = p.decision_digest"
    " WHERE e.tenant = ? AND e.effect_digest = ?"
)
_PROPOSAL_AT = len(_effects.fields)
_ITEM_AT = _PROPOSAL_AT + len(_proposals.fields)
_DECISION_AT = _ITEM_AT + len(_items.fields)
# A row that is there is not inserted again: the rule against replacing it would refuse, not ignore.
_CONTENT = (
    "INSERT INTO content (tenant, digest, body, file, size, created_at_ms) SELECT ?, ?, ?, ?, ?, ?"
    " WHERE NOT EXISTS (SELECT 1 FROM content WHERE tenant = ? AND digest = ?)"
    " ON CONFLICT (tenant, digest) DO NOTHING"
)


class WorkRows(Rows):
    """What came in and what was decided about it."""

    # -- content ---------------------------------------------------------------------------------------------

    def put_content(self, digest: str, body: bytes, *, now_ms: int) -> None:
        """Keep bytes under their digest; keeping the same bytes twice is one row."""
        self.run(_CONTENT, self.tenant, digest, body, None, len(body), now_ms, self.tenant, digest)

    def put_content_file(self, digest: str, name: str, *, size: int, now_ms: int) -> None:
        """Note that the bytes of a digest lie in a file beside the store."""
        self.run(_CONTENT, self.tenant, digest, None, name, size, now_ms, self.tenant, digest)

    def content(self, digest: str) -> tuple[bytes | None, str | None] | None:
        """Return (bytes, file name) of a digest, or None where it was never kept; erased is (None, None)."""
        found = self.row(
            "SELECT body, file FROM content WHERE tenant = ? AND digest = ?", self.tenant, digest
        )
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
        self.add(_items, item, tenant=item.tenant)

    def work_item(self, work_item_id: str) -> WorkItem | None:
        """Return a work item."""
        return self.one(_items, _ITEM, work_item_id)

    def find_work_item(self, *, principal: str, key: str) -> WorkItem | None:
        """Return the item this principal already submitted under this key."""
        return self.one(_items, _ITEM_OF_KEY, principal, key)

    def add_turn(self, turn: Turn) -> None:
        """Store a turn."""
        self.add(_turns, turn, tenant=turn.tenant)

    def turn(self, turn_id: str) -> Turn | None:
        """Return a turn."""
        return self.one(_turns, _TURN, turn_id)

    def turns_of_item(self, work_item_id: str) -> list[Turn]:
        """Return the turns of a work item, oldest first."""
        return self.many(_turns, _TURNS_OF_ITEM, work_item_id)

    def add_visit(self, visit: StepVisit) -> None:
        """Store a step visit."""
        self.run(_visits.insert, *_visits.to_row(visit, self.tenant))

    def set_visit(self, turn_id: str, step_id: str, *, state: StepState, writes: bytes | None = None) -> None:
        """Move a step visit, and keep what its decision wrote to the subject."""
        self.run(
            "UPDATE step_visit SET state = ?, writes = coalesce(?, writes)"
            " WHERE tenant = ? AND turn_id = ? AND step_id = ?",
            state.value,
            writes,
            self.tenant,
            turn_id,
            step_id,
        )

    def move_visit(self, turn_id: str, step_id: str, *, state: StepState, to: StepState) -> bool:
        """Move a step visit if it still is in this state."""
        return (
            self.run(
                "UPDATE step_visit SET state = ? WHERE tenant = ? AND turn_id = ? AND step_id = ? AND state = ?",
                to.value,
                self.tenant,
                turn_id,
                step_id,
                state.value,
            )
            == 1
        )

    def visits(self, turn_id: str) -> list[VisitRow]:
        """Return the visits of a turn in file order."""
        found = self.rows(
            "SELECT step_id, position, state, writes FROM step_visit WHERE tenant = ? AND turn_id = ?"
            " ORDER BY position",
            self.tenant,
            turn_id,
        )
        return [
            VisitRow(step_id=row[0], position=row[1], state=StepState(row[2]), writes=row[3]) for row in found
        ]

    def move_visits(self, *, state: StepState, to: StepState) -> list[tuple[str, str]]:
        """Move every visit in one state to another; return (turn, step) of each."""
        found = self.rows(
            "SELECT turn_id, step_id FROM step_visit WHERE tenant = ? AND state = ?"
            " ORDER BY turn_id, position",
            self.tenant,
            state.value,
        )
        self.run(
            "UPDATE step_visit SET state = ? WHERE tenant = ? AND state = ?",
            to.value,
            self.tenant,
            state.value,
        )
        return [(row[0], row[1]) for row in found]

    # -- decisions, proposals, effects -----------------------------------------------------------------------

    def add_decision(self, row: DecisionRow) -> None:
        """Store a decision; a second one for the same step visit is refused by the database."""
        self.add(_decisions, row, tenant=row.tenant)

    def decisions(self, turn_id: str) -> list[DecisionRow]:
        """Return the decisions of a turn in the order they were made."""
        return self.many(_decisions, _DECISIONS_OF_TURN, turn_id)

    def decision(self, digest: str) -> DecisionRow | None:
        """Return a decision by its digest."""
        return self.one(_decisions, _DECISION, digest)

    def each_decision(self) -> Iterator[DecisionRow]:
        """Yield every decision of the tenant, by turn and step."""
        for row in self.each(_EVERY_DECISION, self.tenant):
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
        self.add(_proposals, proposal, tenant=proposal.tenant)

    def set_proposal(
        self, proposed_action_id: str, *, state: ProposalState, refusal: str | None = None
    ) -> None:
        """Move a proposal."""
        self.run(
            "UPDATE proposal SET state = ?, refusal = coalesce(?, refusal)"
            " WHERE tenant = ? AND proposed_action_id = ?",
            state.value,
            refusal,
            self.tenant,
            proposed_action_id,
        )

    def proposal(self, proposed_action_id: str) -> Proposal | None:
        """Return a proposal."""
        return self.one(_proposals, _PROPOSAL, proposed_action_id)

    def proposals(self, turn_id: str) -> list[Proposal]:
        """Return the proposals of a turn, oldest first."""
        return self.many(_proposals, _PROPOSALS_OF_TURN, turn_id)

    def add_effect(self, effect: EffectRow) -> None:
        """Store an effect with its arguments and what a person is shown."""
        self.add(_effects, effect, tenant=effect.tenant)

    def effect(self, effect_digest: str) -> EffectRow | None:
        """Return an effect by its digest."""
        return self.one(_effects, _EFFECT, effect_digest)

    def effect_origin(self, effect_digest: str) -> EffectOrigin | None:
        """Return an effect with what it came from; None where any of it but the decision is missing."""
        found = self.row(_ORIGIN, self.tenant, effect_digest)
        if found is None:
            return None
        decision = found[_DECISION_AT:]
        return EffectOrigin(
            effect=_effects.from_row(found[:_PROPOSAL_AT]),
            proposal=_proposals.from_row(found[_PROPOSAL_AT:_ITEM_AT]),
            item=_items.from_row(found[_ITEM_AT:_DECISION_AT]),
            decision=None if decision[0] is None else _decisions.from_row(decision),
        )
