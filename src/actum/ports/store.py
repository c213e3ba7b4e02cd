# SPDX-License-Identifier: Apache-2.0
"""A store keeps the line's records in transactions; what a store must do is `actum.testing.store_exercises`.

A write is a function of a transaction. Several writes may share one commit (group commit), and each of them is
still all or nothing: a function that raises leaves nothing behind and disturbs none of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

import msgspec

from actum.model.activity import Activity, ActivityFilter
from actum.model.delivery import Execution, OutboxRow, OutboxState
from actum.model.effect import Effect, EffectDescriptor
from actum.model.grant import GrantRow
from actum.model.message import Message
from actum.model.proposal import Proposal, ProposalState
from actum.model.question import Question, QuestionReason
from actum.model.work import StepState, StepVisit, Turn, WorkItem

T = TypeVar("T")


class VisitRow(msgspec.Struct, frozen=True, kw_only=True):
    """A step visit of a turn; ``writes`` is the JSON object its decision wrote to the subject."""

    step_id: str
    position: int
    state: StepState
    writes: bytes | None


class DecisionRow(msgspec.Struct, frozen=True, kw_only=True):
    """A stored decision: its columns, and the whole record as canonical bytes."""

    digest: str
    tenant: str
    turn_id: str
    step_id: str
    rung: str
    input_tokens: int
    output_tokens: int
    decided_at_ms: int
    body: bytes


class EffectRow(msgspec.Struct, frozen=True, kw_only=True):
    """A stored effect; arguments, context and the lines shown are private JSON."""

    effect_digest: str
    tenant: str
    proposed_action_id: str
    salt: str
    descriptor: EffectDescriptor
    arguments: bytes
    shown: bytes
    context: bytes

    def sealed(self) -> Effect:
        """Return the effect itself, without what is private."""
        return Effect(effect_digest=self.effect_digest, salt=self.salt, descriptor=self.descriptor)


class EffectOrigin(msgspec.Struct, frozen=True, kw_only=True):
    """A stored effect with what it came from: its proposal, the work item, and the decision that staged it."""

    effect: EffectRow
    proposal: Proposal
    item: WorkItem
    decision: DecisionRow | None


class QualificationRow(msgspec.Struct, frozen=True, kw_only=True):
    """A stored qualification record."""

    digest: str
    tenant: str
    effect_digest: str
    result: str
    body: bytes
    recorded_at_ms: int


class ReceiptRow(msgspec.Struct, frozen=True, kw_only=True):
    """A stored receipt: grade columns, the private record, and the published signed envelope."""

    receipt_id: str
    tenant: str
    turn_id: str
    execution_id: str
    outbox_id: str
    kind: str
    payload_digest: str
    settles: str | None
    claimed_finality: str
    claimed_confidence: str
    graded_finality: str
    graded_confidence: str
    status: str | None
    sealed_at_ms: int
    body: bytes
    envelope: bytes


class LeafRow(msgspec.Struct, frozen=True, kw_only=True):
    """One leaf of the log: entry bytes, leaf hash, and the envelope the entry speaks of."""

    seq: int
    tenant: str
    entry: bytes
    leaf_hash: bytes
    envelope: bytes
    payload_digest: str


class RunnerRow(msgspec.Struct, frozen=True, kw_only=True):
    """Who may dispatch."""

    tenant: str
    holder: str
    epoch: int
    lease_until_ms: int
    boot_id: str
    host: str
    pid: int


class EventRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the activity log; ``body`` is a JSON object as text."""

    event_id: str
    tenant: str
    at_ms: int
    kind: str
    turn_id: str | None
    body: str


class AssertionRow(msgspec.Struct, frozen=True, kw_only=True):
    """What a model said: the text's digest, what it says was done, and the row it names, if any."""

    assertion_id: str
    tenant: str
    turn_id: str
    text_digest: str
    model_id: str | None
    asserts: str | None
    outbox_id: str | None
    asserted_at_ms: int


class ReceiptEnd(msgspec.Struct, frozen=True, kw_only=True):
    """What a receipt says about the end of its chain, without its body."""

    receipt_id: str
    payload_digest: str
    outbox_id: str
    kind: str
    finality: str
    confidence: str
    status: str | None


class TurnRows(msgspec.Struct, frozen=True, kw_only=True):
    """The states of everything that belongs to a turn.

    ``questions`` are (reason, state); ``assertions`` the outbox ids that texts claim, None for a text that claims
    an effect and names no row; ``receipts`` are oldest first.
    """

    visits: list[str]
    questions: list[tuple[str, str]]
    proposals: list[str]
    rows: list[str]
    receipts: list[ReceiptEnd]
    assertions: list[str | None]
    decisions: int


class Tx(Protocol):
    """One transaction, bound to one tenant. Every change is visible to the transaction that made it."""

    tenant: str

    def put_content(self, digest: str, body: bytes, *, now_ms: int) -> None: ...
    def put_content_file(self, digest: str, name: str, *, size: int, now_ms: int) -> None: ...
    def content(self, digest: str) -> tuple[bytes | None, str | None] | None: ...
    def put_rulebook(self, digest: str, body: bytes, *, by: str, now_ms: int) -> None: ...
    def active_rulebook(self) -> tuple[str, bytes] | None: ...
    def rulebook(self, digest: str) -> bytes | None: ...
    def add_work_item(self, item: WorkItem) -> None: ...
    def work_item(self, work_item_id: str) -> WorkItem | None: ...
    def find_work_item(self, *, principal: str, key: str) -> WorkItem | None: ...
    def add_turn(self, turn: Turn) -> None: ...
    def turn(self, turn_id: str) -> Turn | None: ...
    def turns_of_item(self, work_item_id: str) -> list[Turn]: ...
    def add_visit(self, visit: StepVisit) -> None: ...
    def set_visit(
        self, turn_id: str, step_id: str, *, state: StepState, writes: bytes | None = None
    ) -> None: ...
    def move_visit(self, turn_id: str, step_id: str, *, state: StepState, to: StepState) -> bool: ...
    def visits(self, turn_id: str) -> list[VisitRow]: ...
    def move_visits(self, *, state: StepState, to: StepState) -> list[tuple[str, str]]: ...
    def add_decision(self, row: DecisionRow) -> None: ...
    def decision(self, digest: str) -> DecisionRow | None: ...
    def decisions(self, turn_id: str) -> list[DecisionRow]: ...
    def each_decision(self) -> Iterator[DecisionRow]: ...
    def decisions_per_rung(self) -> list[tuple[str, int, int, int]]: ...
    def add_proposal(self, proposal: Proposal) -> None: ...
    def set_proposal(
        self, proposed_action_id: str, *, state: ProposalState, refusal: str | None = None
    ) -> None: ...
    def proposal(self, proposed_action_id: str) -> Proposal | None: ...
    def proposals(self, turn_id: str) -> list[Proposal]: ...
    def add_effect(self, effect: EffectRow) -> None: ...
    def effect(self, effect_digest: str) -> EffectRow | None: ...
    def effect_origin(self, effect_digest: str) -> EffectOrigin | None: ...

    def add_question(self, question: Question) -> None: ...
    def question(self, question_id: str) -> Question | None: ...
    def open_question(self, *, reason: QuestionReason, subject_ref: str) -> Question | None: ...
    def open_questions(self, *, after: str = "", limit: int = 1000) -> list[Question]: ...
    def questions(self, turn_id: str) -> list[Question]: ...
    def answer_question(self, question_id: str, *, by: str, answer: str, now_ms: int) -> bool: ...
    def void_question(self, question_id: str) -> bool: ...
    def add_grant(self, row: GrantRow) -> None: ...
    def grant(self, grant_id: str) -> GrantRow | None: ...
    def use_grant(self, grant_id: str, *, outbox_id: str) -> bool: ...
    def void_unused_grants(self, *, now_ms: int) -> int: ...
    def add_qualification(self, row: QualificationRow) -> None: ...
    def qualification(self, effect_digest: str) -> QualificationRow | None: ...
    def add_role(self, principal: str, role: str, *, by: str, now_ms: int) -> None: ...
    def roles(self, principal: str) -> set[str]: ...

    def add_outbox(self, row: OutboxRow) -> None: ...
    def outbox(self, outbox_id: str) -> OutboxRow | None: ...
    def outbox_of_effect(self, effect_digest: str) -> OutboxRow | None: ...
    def outbox_of_turn(self, turn_id: str) -> list[OutboxRow]: ...
    def outbox_in(self, *states: OutboxState) -> list[OutboxRow]: ...
    def outbox_unsealed(self) -> list[OutboxRow]: ...
    def close_unattempted(self, outbox_id: str) -> bool: ...
    def outbox_counts(self) -> dict[str, int]: ...
    def next_due_ms(self) -> int | None: ...
    def claim(
        self, *, holder: str, now_ms: int, lease_until_ms: int, limit: int, capabilities: Sequence[str]
    ) -> list[OutboxRow]: ...
    def claim_row(self, outbox_id: str, *, holder: str, lease_until_ms: int) -> OutboxRow | None: ...
    def mark_dispatched(self, outbox_id: str, *, epoch: int, now_ms: int) -> bool: ...
    def move_outbox(
        self,
        outbox_id: str,
        *,
        epoch: int,
        state: OutboxState,
        to: OutboxState,
        not_before_ms: int | None = None,
    ) -> bool: ...
    def renew_leases(self, *, holder: str, now_ms: int, lease_until_ms: int) -> int: ...
    def find_idempotent(self, capability: str, key: str) -> tuple[str, str] | None: ...
    def bind_idempotent(self, capability: str, key: str, *, intent_digest: str, outbox_id: str) -> None: ...
    def add_execution(self, execution: Execution) -> None: ...
    def finish_execution(
        self, execution_id: str, *, finished_at_ms: int, said: str | None, result_digest: str | None
    ) -> None: ...
    def executions(self, outbox_id: str) -> list[Execution]: ...
    def execution(self, execution_id: str) -> Execution | None: ...
    def add_receipt(self, row: ReceiptRow) -> None: ...
    def receipts(self, turn_id: str) -> list[ReceiptRow]: ...
    def receipts_of_row(self, outbox_id: str) -> list[ReceiptRow]: ...
    def receipt(self, receipt_id: str) -> ReceiptRow | None: ...
    def log_state(self) -> tuple[int, bytes]: ...
    def set_log_state(self, size: int, frontier: bytes) -> None: ...
    def next_in_chain(self, chain: str) -> int: ...
    def add_leaf(self, leaf: LeafRow) -> None: ...
    def each_leaf(self, *, start: int = 0) -> Iterator[LeafRow]: ...
    def runner(self) -> RunnerRow | None: ...
    def holds_runner(self, holder: str, *, incarnation: str) -> bool: ...
    def take_runner(self, row: RunnerRow, *, over_epoch: int | None) -> bool: ...
    def renew_runner(self, *, holder: str, epoch: int, lease_until_ms: int) -> bool: ...

    def turn_rows(self, turn_id: str) -> TurnRows: ...
    def nudge_activity(self, turn_id: str, *, state: str, questions: int, now_ms: int) -> bool: ...
    def put_activity(self, activity: Activity) -> None: ...
    def activity(self, turn_id: str) -> Activity | None: ...
    def activities(self, view: ActivityFilter, *, before: str = "~", limit: int = 200) -> list[Activity]: ...
    def activity_counts(self) -> dict[str, int]: ...
    def turns_in(self, *states: str) -> list[str]: ...
    def add_event(self, event: EventRow) -> None: ...
    def events(self, *, kind: str | None = None, turn_id: str | None = None) -> list[EventRow]: ...
    def add_assertion(self, assertion: AssertionRow) -> None: ...
    def assertions(self, turn_id: str) -> list[AssertionRow]: ...
    def each_assertion(self) -> Iterator[AssertionRow]: ...
    def add_message(self, message: Message) -> None: ...
    def messages(self, turn_id: str) -> list[Message]: ...
    def meta(self, key: str) -> str | None: ...
    def set_meta(self, key: str, value: str) -> None: ...


class Store(Protocol):
    """Where the records are. A write returns only after its commit is on the disk.

    ``url`` is for people; ``address`` opens the same store in another process and may hold a password.
    """

    tenant: str
    url: str
    address: str

    def write(self, work: Callable[[Tx], T]) -> T:
        """Run ``work`` in a transaction and commit it; raises what ``work`` raises, with nothing kept."""
        ...

    def read(self, work: Callable[[Tx], T]) -> T:
        """Run ``work`` on a consistent snapshot that cannot be written to."""
        ...

    def glance(self, work: Callable[[Tx], T]) -> T:
        """Run ``work``, which reads a few rows, like ``read``; it may keep a writer waiting meanwhile."""
        ...

    def commits(self) -> int:
        """Return how many commits this object made since it was opened."""
        ...

    def check(self) -> list[str]:
        """Return what is wrong with the database file or cluster, in sentences; empty where nothing is."""
        ...

    def close(self) -> None:
        """Give the database back. Closing twice is harmless."""
        ...
