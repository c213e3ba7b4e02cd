# SPDX-License-Identifier: Apache-2.0
"""A decision names the one rung that won, and cannot be built with the label of a rung that did not run.

Rules
1. The five rungs stand in one fixed order and each decision has one entry for every rung.
2. Exactly one entry won; it ran, and it is the rung the decision is labelled with.
3. No rung below the winner ran, and the deterministic rungs ran before a model.
4. A model call and tokens stand on a decision exactly where the reasoning rung ran.
5. Only a reasoning step has a reasoning entry that ran.
6. A judgment names the person; no other rung carries one.
7. A decision of a judgment step is won by the judgment rung.
"""

from __future__ import annotations

import enum
from typing import NoReturn

import msgspec

from actum.model import canonical
from actum.model.effect import EffectClass
from actum.model.errors import InvariantViolation
from actum.model.process import Semantics, StepKind


class Rung(enum.Enum):
    """The five rungs, in the order of the walk."""

    STRUCTURED = "structured"
    PATTERN = "pattern"
    LEARNED = "learned"
    REASONING = "reasoning"
    JUDGMENT = "judgment"


RUNGS: tuple[Rung, ...] = tuple(Rung)
_POSITION = {rung: position for position, rung in enumerate(RUNGS)}


class RungOutcome(enum.Enum):
    """What came of one rung. ``won`` is the winner; every other value says why that rung did not decide."""

    WON = "won"
    NO_MATCH = "no_match"
    CONFLICT = "conflict"
    NEEDS_PERSON = "needs_person"
    UNRESOLVED = "unresolved"
    NOT_ACTIVE = "not_active"
    NOT_ALLOWED = "not_allowed"
    NOT_REACHED = "not_reached"
    SHOWN = "shown"
    ANSWER_REFUSED = "answer_refused"


class ConditionKind(enum.Enum):
    """Which condition made a rung win."""

    FIELDS_PRESENT = "fields_present"
    NO_FIELDS_REQUIRED = "no_fields_required"
    RULE = "rule"
    PATTERN = "pattern"
    LEARNED = "learned"
    ANSWER = "answer"
    CHOICE = "choice"


class Condition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The winning condition; ``id`` names the rule, pattern or choice, ``fields`` what had to be present."""

    kind: ConditionKind
    id: str | None = None
    digest: str | None = None
    fields: tuple[str, ...] = ()


class Skip(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rules that could not be applied, and why. ``ids`` names the first ones, ``count`` counts them all."""

    reason: str
    detail: str
    count: int
    ids: tuple[str, ...] = ()


class RungEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one rung did at one step: hits, skips with reasons, and how many rules it looked at."""

    rung: Rung
    ran: bool
    outcome: RungOutcome
    reason: str = ""
    hits: tuple[str, ...] = ()
    skipped: tuple[Skip, ...] = ()
    considered: int = 0


class Tokens(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What model calls of this decision cost."""

    input: int = 0
    output: int = 0


class ModelCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The stored input and answer of a model call, by digest; replay reads them back and calls nothing."""

    packet_digest: str
    answer_digest: str
    model: str | None


class JudgmentRecord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person's choice as evidence: who chose what, why, of which question, and when."""

    person: str
    choice: str
    reason: str
    question_digest: str
    judged_at_ms: int


class WrittenField(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A field the decision writes, and the digest of the foreign value."""

    field: str
    value_digest: str


class StagedAction(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An action the decision staged, by reference; a stage is a proposal and executes nothing."""

    action: str
    capability: str
    effect_class: EffectClass
    arguments_digest: str


class Decision(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The outcome of one decided step visit, with everything needed to walk it again.

    ``withheld`` names actions that an unconfirmed pattern asked for and that were not staged.
    """

    turn_id: str
    process: str
    step_id: str
    kind: StepKind
    rung: Rung
    condition: Condition
    writes: tuple[WrittenField, ...]
    staged: tuple[StagedAction, ...]
    withheld: tuple[str, ...]
    rungs: tuple[RungEntry, ...]
    tokens: Tokens
    model_call: ModelCall | None
    judgment: JudgmentRecord | None
    rulebook_digest: str
    subject_digest: str
    work_type: str
    status: str
    decided_at_ms: int
    semantics: Semantics

    def __post_init__(self) -> None:
        _check_walk(self.rungs, self.rung)
        _check_spending(self)

    def digest(self) -> str:
        """Return the digest that identifies the decision."""
        return canonical.digest(self)


def check_entries(entries: tuple[RungEntry, ...]) -> None:
    """Raise InvariantViolation unless there is one entry for each rung, in order."""
    if tuple([entry.rung for entry in entries]) != RUNGS:
        _broken("five rungs in one order", rungs=[entry.rung.value for entry in entries])  # Rule 1


def _check_walk(entries: tuple[RungEntry, ...], label: Rung) -> None:
    check_entries(entries)
    at = _POSITION[label]
    outcomes = [entry.outcome for entry in entries]
    if outcomes.count(RungOutcome.WON) != 1 or outcomes[at] is not RungOutcome.WON or not entries[at].ran:
        _broken("the label is the rung that won", label=label.value)  # Rule 2
    for entry in entries[at + 1 :]:  # Rule 3
        if entry.ran:
            _broken("no rung below the winner ran", rung=entry.rung.value)
    if entries[3].ran and not (entries[0].ran and entries[1].ran and entries[2].ran):
        _broken("deterministic rungs run before a model")


def _check_spending(decision: Decision) -> None:
    reasoned = decision.rungs[3].ran
    if reasoned != (decision.model_call is not None):  # Rule 4
        _broken("a model call stands exactly where the reasoning rung ran", rung=decision.rung.value)
    if not reasoned and (decision.tokens.input or decision.tokens.output):
        _broken("tokens only where the reasoning rung ran", rung=decision.rung.value)
    if reasoned and decision.kind is not StepKind.REASONING:  # Rule 5
        _broken("only a reasoning step reasons", kind=decision.kind.value)
    judged = decision.judgment is not None
    if judged != (decision.rung is Rung.JUDGMENT) or (
        decision.judgment is not None and not decision.judgment.person.strip()
    ):  # Rule 6
        _broken("a judgment names its person", rung=decision.rung.value)
    if decision.kind is StepKind.JUDGMENT and decision.rung is not Rung.JUDGMENT:  # Rule 7
        _broken("a judgment step is decided by a person", rung=decision.rung.value)


def _broken(invariant: str, **facts: object) -> NoReturn:
    raise InvariantViolation(invariant, **facts)
