# SPDX-License-Identifier: Apache-2.0
"""Records of one tenant for exercises: each valid, each with ids that sort in the order they were made."""

from __future__ import annotations

import itertools
from typing import Any, TypeVar

import msgspec

from actum.model import canonical
from actum.model.activity import Activity, ActivityState
from actum.model.delivery import Execution, ExecutionKind, OutboxKind, OutboxRow, OutboxState
from actum.model.effect import (
    Claims,
    EffectClass,
    EffectDescriptor,
    Externality,
    PrivilegeLevel,
    Reversibility,
)
from actum.model.grading import ExecutorSaid
from actum.model.grant import Authn, Grant, GrantPurpose, GrantRow
from actum.model.message import ExecutionMode, Message, Provenance, Role, RoutingMode
from actum.model.proposal import Proposal, ProposalState
from actum.model.question import Question, QuestionReason, QuestionState
from actum.model.work import StepState, StepVisit, Turn, TurnReason, WorkItem
from actum.ports.store import (
    AssertionRow,
    DecisionRow,
    EffectRow,
    EventRow,
    LeafRow,
    QualificationRow,
    ReceiptRow,
    RunnerRow,
    Tx,
)

S = TypeVar("S", bound=msgspec.Struct)
NOW = 1_800_000_000_000
LATER = NOW + 60_000
CAPABILITY = "files.write"


def digest(text: str) -> str:
    """Return the digest of a text."""
    return canonical.digest_bytes(text.encode())


class Samples:
    """Makes records of a tenant; keyword arguments replace fields."""

    def __init__(self, tenant: str = "local", *, mark: str = "A") -> None:
        self.tenant = tenant
        self._mark = mark
        self._count = itertools.count(1)

    def id(self) -> str:
        """Return an id that nothing else of these samples has."""
        return f"{self._mark}{next(self._count):06}"

    def item(self, **fields: Any) -> WorkItem:
        new = self.id()
        made = WorkItem(
            work_item_id=new, tenant=self.tenant, principal="ann", work_type="mail", subject_digest=digest(new),
            key=None, on_behalf_of=None, received_at_ms=NOW,
        )  # fmt: skip
        return _with(made, fields)

    def turn(self, work_item_id: str, **fields: Any) -> Turn:
        made = Turn(
            turn_id=self.id(), tenant=self.tenant, work_item_id=work_item_id, process="inbox",
            rulebook_digest=digest("rules"), reason=TurnReason.SUBMITTED, started_at_ms=NOW,
        )  # fmt: skip
        return _with(made, fields)

    def visit(self, turn_id: str, step_id: str = "sort", **fields: Any) -> StepVisit:
        made = StepVisit(turn_id=turn_id, step_id=step_id, position=0, state=StepState.PENDING)
        return _with(made, fields)

    def decision(self, turn_id: str, **fields: Any) -> DecisionRow:
        new = self.id()
        made = DecisionRow(
            digest=digest(new), tenant=self.tenant, turn_id=turn_id, step_id="sort", rung="pattern",
            input_tokens=0, output_tokens=0, decided_at_ms=NOW, body=b"{}",
        )  # fmt: skip
        return _with(made, fields)

    def proposal(self, turn_id: str, **fields: Any) -> Proposal:
        made = Proposal(
            proposed_action_id=self.id(), tenant=self.tenant, turn_id=turn_id, step_id="sort",
            decision_digest=digest("decision"), capability=CAPABILITY, arguments_digest=digest("arguments"),
            effect_digest=None, state=ProposalState.STAGED, refusal=None, proposed_at_ms=NOW,
        )  # fmt: skip
        return _with(made, fields)

    def descriptor(self, turn_id: str, **fields: Any) -> EffectDescriptor:
        made = EffectDescriptor(
            capability=CAPABILITY, capability_version="1", effect_class=EffectClass.ACTION,
            reversibility=Reversibility.REVERSIBLE, externality=Externality.LOCAL_ONLY,
            privilege_level=PrivilegeLevel.STANDARD, canonical_resources=(), destinations=(), recipients=(),
            data_classes=("internal",), object_count=1, blast_radius=1, executable_code=False,
            origin_turn_id=turn_id, proposed_action_id=self.id(), resolved_argument_digest=digest("arguments"),
            idempotency_key="k", claims=Claims.CHANGE, expected=None,
        )  # fmt: skip
        return _with(made, fields)

    def effect(self, turn_id: str, **fields: Any) -> EffectRow:
        """An effect that changes something; with ``inform`` one that changes nothing."""
        descriptor = self.descriptor(turn_id, **(INFORM if fields.pop("inform", False) else {}))
        made = EffectRow(
            effect_digest=digest(descriptor.proposed_action_id), tenant=self.tenant,
            proposed_action_id=descriptor.proposed_action_id, salt="0" * 32, descriptor=descriptor,
            arguments=b"{}", shown=b"[]", context=b"{}",
        )  # fmt: skip
        return _with(made, fields)

    def qualification(self, effect_digest: str, **fields: Any) -> QualificationRow:
        made = QualificationRow(
            digest=digest(self.id()), tenant=self.tenant, effect_digest=effect_digest, result="passed",
            body=b"{}", recorded_at_ms=NOW,
        )  # fmt: skip
        return _with(made, fields)

    def question(self, turn_id: str, **fields: Any) -> Question:
        new = self.id()
        made = Question(
            question_id=new, tenant=self.tenant, turn_id=turn_id, step_id="sort", reason=QuestionReason.CONFIRM,
            subject_ref=f"about {new}", shown_digest=digest("shown"), state=QuestionState.OPEN, asked_at_ms=NOW,
        )  # fmt: skip
        return _with(made, fields)

    def grant(self, subject: str, **fields: Any) -> GrantRow:
        new = self.id()
        made = Grant(
            grant_id=new, purpose=GrantPurpose.CONFIRM, incarnation="one", tenant=self.tenant, principal="bob",
            authn=Authn.PASSPHRASE, subject_digest=subject, qualification_digest=None,
            shown_digest=digest("shown"), task="task", issued_at_ms=NOW, expires_at_ms=LATER, nonce=new,
            accepts_unqualified=False,
        )  # fmt: skip
        return GrantRow(
            grant=_with(made, fields),
            payload_digest=digest(new),
            envelope=b"{}",
            used_by=None,
            voided_at_ms=None,
        )

    def outbox(self, turn_id: str, effect_digest: str | None = None, **fields: Any) -> OutboxRow:
        """A row of an effect, or a notice where there is none."""
        named = effect_digest is not None
        made = OutboxRow(
            outbox_id=self.id(), tenant=self.tenant, kind=OutboxKind.EFFECT if named else OutboxKind.NOTICE,
            turn_id=turn_id, step_id="sort", capability=CAPABILITY, effect_digest=effect_digest, body_digest=None,
            grant_id=None, intent_digest=digest("intent") if named else None,
            idempotency_key="k" if named else None, state=OutboxState.READY, epoch=0, attempts=0, holder=None,
            lease_until_ms=None, not_before_ms=NOW, dispatched_at_ms=None, incarnation="one", created_at_ms=NOW,
        )  # fmt: skip
        return _with(made, fields)

    def execution(self, row: OutboxRow, **fields: Any) -> Execution:
        made = Execution(
            execution_id=self.id(), tenant=self.tenant, outbox_id=row.outbox_id, turn_id=row.turn_id, epoch=1,
            kind=ExecutionKind.EFFECT, started_at_ms=NOW, finished_at_ms=None, before=None, before_digest=None,
            executor_said=None, result_digest=None,
        )  # fmt: skip
        return _with(made, fields)

    def receipt(self, execution: Execution, **fields: Any) -> ReceiptRow:
        """The receipt of a success."""
        new = self.id()
        made = ReceiptRow(
            receipt_id=new, tenant=self.tenant, turn_id=execution.turn_id, execution_id=execution.execution_id,
            outbox_id=execution.outbox_id, kind=execution.kind.value, payload_digest=digest(new), settles=None,
            claimed_finality="finalized", claimed_confidence="verified", graded_finality="finalized",
            graded_confidence="verified", status="success", sealed_at_ms=NOW, body=b"{}", envelope=b"{}",
        )  # fmt: skip
        return _with(made, fields)

    def leaf(self, seq: int, **fields: Any) -> LeafRow:
        new = self.id()
        made = LeafRow(
            seq=seq, tenant=self.tenant, entry=new.encode(), leaf_hash=b"\x01" * 32, envelope=b"{}",
            payload_digest=digest(new),
        )  # fmt: skip
        return _with(made, fields)

    def activity(self, turn_id: str, **fields: Any) -> Activity:
        made = Activity(
            turn_id=turn_id, tenant=self.tenant, title="a letter", state=ActivityState.RUNNING, receipt_count=0,
            evidence_digest=None, failure_category=None, failure_reason=None, label=None, open_questions=0,
            acknowledged_by=None, acknowledged_at_ms=None, updated_at_ms=NOW,
        )  # fmt: skip
        return _with(made, fields)

    def event(self, **fields: Any) -> EventRow:
        made = EventRow(
            event_id=self.id(), tenant=self.tenant, at_ms=NOW, kind="turn.started", turn_id=None, body="{}"
        )
        return _with(made, fields)

    def assertion(self, turn_id: str, **fields: Any) -> AssertionRow:
        made = AssertionRow(
            assertion_id=self.id(), tenant=self.tenant, turn_id=turn_id, text_digest=digest("said"),
            model_id="m", asserts="sent", outbox_id=None, asserted_at_ms=NOW,
        )  # fmt: skip
        return _with(made, fields)

    def message(self, turn_id: str, **fields: Any) -> Message:
        """What a user said; ``native`` makes it a reply of native code."""
        native = fields.pop("native", False)
        made = Message(
            message_id=self.id(), tenant=self.tenant, turn_id=turn_id, role=Role.ASSISTANT if native else Role.USER,
            content_digest=digest("text"), provenance=NATIVE if native else None, receipt_id=None, said_at_ms=NOW,
        )  # fmt: skip
        return _with(made, fields)

    def runner(self, holder: str = "one", epoch: int = 1, **fields: Any) -> RunnerRow:
        made = RunnerRow(
            tenant=self.tenant, holder=holder, epoch=epoch, lease_until_ms=LATER, boot_id="b", host="h", pid=1
        )
        return _with(made, fields)

    # -- parts of a line -------------------------------------------------------------------------------------

    def begun(self, tx: Tx, step_id: str = "sort") -> str:
        """Store an item with a turn and one step visit; return the turn's id."""
        item = self.item()
        tx.add_work_item(item)
        turn = self.turn(item.work_item_id)
        tx.add_turn(turn)
        tx.add_visit(self.visit(turn.turn_id, step_id))
        return turn.turn_id

    def ready(self, tx: Tx, turn_id: str, **fields: Any) -> OutboxRow:
        """Store a granted effect with its row, ready to be claimed."""
        effect = self.effect(turn_id)
        tx.add_effect(effect)
        grant = self.grant(effect.effect_digest)
        tx.add_grant(grant)
        row = self.outbox(turn_id, effect.effect_digest, grant_id=grant.grant.grant_id, **fields)
        tx.add_outbox(row)
        return row

    def claimed(self, tx: Tx, turn_id: str, *, holder: str = "one") -> OutboxRow:
        """Store a granted row and claim it; nothing else of the capability may be due."""
        row = self.ready(tx, turn_id)
        claimed = tx.claim(
            holder=holder, now_ms=NOW, lease_until_ms=LATER, limit=100, capabilities=[CAPABILITY]
        )
        return next(found for found in claimed if found.outbox_id == row.outbox_id)

    def dispatched(self, tx: Tx, turn_id: str) -> OutboxRow:
        """Store a granted row, claim it, take its grant and set the mark."""
        row = self.claimed(tx, turn_id)
        assert tx.use_grant(str(row.grant_id), outbox_id=row.outbox_id)
        assert tx.mark_dispatched(row.outbox_id, epoch=row.epoch, now_ms=NOW)
        return row

    def sealed(self, tx: Tx, turn_id: str, **fields: Any) -> ReceiptRow:
        """Store a whole execution with its receipt and a settled row; ``fields`` are the receipt's."""
        row = self.dispatched(tx, turn_id)
        execution = self.execution(row)
        tx.add_execution(execution)
        tx.finish_execution(
            execution.execution_id, finished_at_ms=NOW, said=ExecutorSaid.OK.value, result_digest=None
        )
        receipt = self.receipt(execution, **fields)
        tx.add_receipt(receipt)
        moved = tx.move_outbox(
            row.outbox_id, epoch=row.epoch, state=OutboxState.DISPATCHED, to=OutboxState.SETTLED
        )
        assert moved
        return receipt

    def completed(self, turn_id: str, *, receipts: int = 1) -> Activity:
        """The activity row of a completed turn."""
        return self.activity(
            turn_id, state=ActivityState.COMPLETED, receipt_count=receipts, evidence_digest=digest("evidence")
        )


INFORM: dict[str, Any] = {
    "effect_class": EffectClass.INFORM,
    "reversibility": Reversibility.NO_MUTATION,
    "object_count": 0,
}
NATIVE = Provenance(
    routing_mode=RoutingMode.LADDER, execution_kind=ExecutionMode.NATIVE, provider="actum", runtime="actum",
    model=None,
)  # fmt: skip
CLOUD = Provenance(
    routing_mode=RoutingMode.DIRECT, execution_kind=ExecutionMode.CLOUD_MODEL, provider="anthropic",
    runtime="https", model="m-1",
)  # fmt: skip


def _with(record: S, fields: dict[str, Any]) -> S:
    return msgspec.structs.replace(record, **fields) if fields else record
