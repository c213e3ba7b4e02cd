# SPDX-License-Identifier: Apache-2.0
"""What the ladder answers: decided, residual, or a model is needed. No answer can execute anything.

All records are of the own profile: foreign values travel as their canonical JSON text, so that a question
can be stored, shown as it was and answered later. A residual always leaves a question or a failure, one of
the two, and never a stage.
"""

from __future__ import annotations

import enum
from typing import Any

import msgspec

from actum.model import canonical, foreign
from actum.model.decision import Decision, ModelCall, RungEntry, RungOutcome, Tokens, check_entries
from actum.model.effect import EffectClass
from actum.model.errors import InvariantViolation
from actum.model.model_call import ModelAnswer, ModelFault
from actum.model.process import ReasoningContract, StepKind


class LadderContext(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that a decision may know beside the subject; ``now_ms`` is the only clock there is."""

    turn_id: str
    now_ms: int
    work_type: str
    status: str = "new"


class ResidualReason(enum.Enum):
    """Why no rung could decide alone."""

    NO_RUNG_DECIDED = "no_rung_decided"
    CONFLICT = "conflict"
    MONEY_LEGAL = "money_legal"
    JUDGMENT_STEP = "judgment_step"
    VALUE_UNRESOLVED = "value_unresolved"
    NO_ANSWER = "no_answer"
    OTHER_PACKET = "other_packet"
    TOKEN_CONTRACT_EXCEEDED = "token_contract_exceeded"
    ANSWER_NOT_JSON = "answer_not_json"
    ANSWER_NOT_VALID = "answer_not_valid"
    ACTION_NOT_BOUND = "action_not_bound"


class ModelReply(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What came back for one packet, answer or fault, stored as an input of the decision."""

    packet_digest: str
    answer: ModelAnswer | None = None
    fault: ModelFault | None = None

    def __post_init__(self) -> None:
        if (self.answer is None) == (self.fault is None):
            raise InvariantViolation("a model call ends in one answer or one fault")

    def digest(self) -> str:
        """Return the digest under which the reply is kept."""
        return canonical.digest(self)


class FieldWrite(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A field and the canonical foreign JSON to write into it."""

    field: str
    value_json: str

    def value(self) -> Any:
        """Return the foreign value."""
        return foreign.decode_foreign(self.value_json.encode())


class Stage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A typed action that waits for a person; ``arguments_json`` is canonical foreign JSON of an object."""

    action: str
    capability: str
    effect_class: EffectClass
    arguments_json: str

    def arguments(self) -> dict[str, Any]:
        """Return the foreign arguments."""
        return foreign.decode_foreign(self.arguments_json.encode())

    def arguments_digest(self) -> str:
        """Return the digest of the foreign arguments."""
        return canonical.digest_bytes(self.arguments_json.encode())


class Suggestion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a rung would have done; inert until a person chooses it, exactly as it was shown."""

    source: str
    id: str
    writes: tuple[FieldWrite, ...] = ()
    stages: tuple[Stage, ...] = ()


class QuestionDraft(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question for the judgment queue: the packet as shown, the choices, and the walk that led to it."""

    turn_id: str
    process: str
    step_id: str
    kind: StepKind
    reason: ResidualReason
    detail: str
    choices: tuple[str, ...]
    suggestions: tuple[Suggestion, ...]
    packet_json: str
    subject_digest: str
    rulebook_digest: str
    work_type: str
    status: str
    rungs: tuple[RungEntry, ...]
    tokens: Tokens
    model_call: ModelCall | None
    asked_at_ms: int

    def digest(self) -> str:
        """Return the digest that a person's answer names."""
        return canonical.digest(self)

    def shown(self) -> str:
        """Return the packet as plain JSON, numbers as they were written: what a person is shown."""
        return foreign.dump_foreign(foreign.decode_foreign(self.packet_json.encode())).decode()


class FailureDraft(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A visible failure of a plumbing step whose file says ``residual: fail``."""

    turn_id: str
    process: str
    step_id: str
    reason: ResidualReason
    detail: str
    rungs: tuple[RungEntry, ...]
    failed_at_ms: int


class Decided(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A decision with the values behind its digests."""

    decision: Decision
    writes: tuple[FieldWrite, ...]
    stages: tuple[Stage, ...]


class Residual(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Undecided work. It is queued or visibly failed; there is no third way and no member for a stage."""

    reason: ResidualReason
    packet_json: str
    question: QuestionDraft | None
    failure: FailureDraft | None

    def __post_init__(self) -> None:
        if (self.question is None) == (self.failure is None):
            raise InvariantViolation("a residual is one question or one failure", reason=self.reason.value)
        left = self.question or self.failure
        assert left is not None
        check_entries(left.rungs)
        if any(entry.outcome is RungOutcome.WON for entry in left.rungs):
            raise InvariantViolation("a residual has no winner", reason=self.reason.value)


class NeedModel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The residual packet for a model, under a contract. The caller stores it, calls, and enters again."""

    packet_json: str
    packet_digest: str
    contract: ReasoningContract
    answer_schema: dict[str, Any]
    data_classes: tuple[str, ...]

    def shown(self) -> str:
        """Return the packet as plain JSON, numbers as they were written: the text for a model."""
        return foreign.dump_foreign(foreign.decode_foreign(self.packet_json.encode())).decode()
