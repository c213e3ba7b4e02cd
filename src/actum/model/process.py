# SPDX-License-Identifier: Apache-2.0
"""A process is frozen data: what its file said, checked and compiled, with one digest.

Nothing here holds positions, comments or order of members, so two files that mean the same have the same
digest. A rulebook is the set of compiled processes that decide together; its record rebuilds the index of the
ladder without YAML and without CEL.
"""

from __future__ import annotations

import enum
from typing import Any

import msgspec

from actum.model import canonical
from actum.model.effect import EffectClass
from actum.model.errors import CorruptRecordError
from actum.model.model_call import ModelTier
from actum.model.plan import FieldType, Node

RULEBOOK_FORMAT = "actum.rulebook/1"


class StepKind(enum.Enum):
    """Which rungs a step may use; the file says it and nothing changes it at run time."""

    PLUMBING = "plumbing"
    REASONING = "reasoning"
    JUDGMENT = "judgment"


class ResidualPolicy(enum.Enum):
    """Where the residual of a plumbing step goes: to a person, or to a visible failure."""

    JUDGE = "judge"
    FAIL = "fail"


class FieldClass(enum.Enum):
    """What a field is about. ``identity`` and ``money_legal`` are never learnable; money_legal needs a person."""

    PLAIN = "plain"
    IDENTITY = "identity"
    MONEY_LEGAL = "money_legal"


class FieldDeclaration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One subject field: where it stands (JSON Pointer), what it must hold, and what it may be used for.

    ``values`` closes a string field to a set; ``ordinal`` says that order among its values means something.
    """

    name: str
    type: FieldType
    pointer: str
    field_class: FieldClass = FieldClass.PLAIN
    learnable: bool = False
    ordinal: bool = False
    values: tuple[str, ...] = ()


class Constant(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="from", tag="constant"
):
    """A value written in the file; ``json`` is its canonical foreign JSON."""

    json: str


class FromField(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="from", tag="field"
):
    """The subject's value of a declared field, as it stands in the subject."""

    field: str


class FromPointer(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="from", tag="pointer"
):
    """The value at a JSON Pointer of the subject, as it stands there."""

    pointer: str


class FromExpression(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="from", tag="expression"
):
    """A text computed by a CEL expression of the replayable profile."""

    plan: Node


Template = Constant | FromField | FromPointer | FromExpression


class Member(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A named value to be: one argument of an action, or one field a THEN writes."""

    name: str
    value: Template


class Then(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What follows from a hit: fields to write and action ids to stage. Staging executes nothing."""

    writes: tuple[Member, ...] = ()
    stage: tuple[str, ...] = ()


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A deterministic WHEN and THEN that belongs to a skill; it decides on the structured rung."""

    id: str
    when: Node
    then: Then


class AuthoredPattern(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A WHEN and THEN that a person wrote into the file, for the steps it names."""

    id: str
    steps: tuple[str, ...]
    when: Node
    then: Then
    active: bool = True


class ActionDefinition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A capability bound to argument templates. ``auto_confirm`` is kept as written and has no power.

    ``arguments_from`` points at an object of the subject that is all arguments, for actions an agent names itself.
    """

    id: str
    capability: str
    effect_class: EffectClass
    arguments: tuple[Member, ...] = ()
    arguments_from: str | None = None
    auto_confirm: bool = False


class Skill(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a step can do: its rules, what follows when the fields are present, the only actions it may stage."""

    id: str
    actions: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    then: Then = Then()


class ReasoningContract(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model call may cost and must return; ``outputs`` are the only fields an answer may write."""

    tier: ModelTier = ModelTier.FAST
    max_tokens: int = 512
    outputs: tuple[str, ...] = ()


class Choice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One answer a person may give at a step, and what follows from it."""

    id: str
    then: Then = Then()


class Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One step of a process. ``next`` names the step after it where that is not the following one."""

    process: str
    id: str
    kind: StepKind
    skill: str | None = None
    fields: tuple[str, ...] = ()
    residual: ResidualPolicy = ResidualPolicy.JUDGE
    next: str | None = None
    contract: ReasoningContract | None = None
    choices: tuple[Choice, ...] = ()


class Process(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One compiled process file."""

    name: str
    work_types: tuple[str, ...]
    fields: tuple[FieldDeclaration, ...]
    skills: tuple[Skill, ...]
    actions: tuple[ActionDefinition, ...]
    patterns: tuple[AuthoredPattern, ...]
    steps: tuple[Step, ...]

    def digest(self) -> str:
        """Return the digest of everything the process means."""
        return canonical.digest(self)

    def step(self, step_id: str) -> Step | None:
        """Return the step of that id, or None."""
        return next((step for step in self.steps if step.id == step_id), None)

    def step_after(self, step_id: str) -> str | None:
        """Return the id of the step that follows in file order or by ``next``, or None after the last one."""
        for position, step in enumerate(self.steps):
            if step.id == step_id:
                if step.next is not None:
                    return step.next
                return self.steps[position + 1].id if position + 1 < len(self.steps) else None
        return None


class Semantics(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The versions under which a decision was taken; replay under others reports dependency_changed."""

    kernel: str
    cel: str
    re2: str
    tzdata: str


class Rulebook(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The processes that decide together, and the digests of the authored patterns a person confirmed.

    Both are sorted, so the digest does not depend on the order in which files were read.
    """

    processes: tuple[Process, ...]
    confirmed: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Return the digest of the whole rulebook."""
        # The same bytes as those of the record, without building it.
        return canonical.digest(
            {"format": RULEBOOK_FORMAT, "processes": self.processes, "confirmed": self.confirmed}
        )

    def process_for(self, work_type: str) -> Process | None:
        """Return the one process that takes this work type, or None."""
        return next((process for process in self.processes if work_type in process.work_types), None)


def pattern_digest(process: Process, pattern: AuthoredPattern) -> str:
    """Return what a person confirms: the pattern, the actions it stages and the fields of its process.

    An action that gets another capability, class or argument makes another digest, so an old confirmation
    does not cover it.
    """
    return canonical.digest(
        {
            "process": process.name,
            "pattern": pattern,
            "actions": tuple(action for action in process.actions if action.id in pattern.then.stage),
            "fields": process.fields,
        }
    )


def rulebook_to_record(rulebook: Rulebook) -> dict[str, Any]:
    """Return the rulebook as plain JSON data, ready for `canonical.encode`."""
    record: dict[str, Any] = msgspec.to_builtins(rulebook)
    return {"format": RULEBOOK_FORMAT, **record}


def rulebook_from_record(record: object) -> Rulebook:
    """Return the rulebook that a record holds; CorruptRecordError `rulebook_unreadable` otherwise."""
    try:
        if not isinstance(record, dict):
            raise ValueError("no object")
        members: dict[str, Any] = dict(record)  # pyright: ignore[reportUnknownArgumentType]
        if members.pop("format", None) != RULEBOOK_FORMAT:
            raise ValueError("another format")
        return msgspec.convert(members, Rulebook)
    except (ValueError, TypeError, RecursionError) as error:
        raise CorruptRecordError(
            "rulebook_unreadable",
            failed=f"A stored rulebook cannot be read: {error}",
            state="No decision was taken with it",
            next_step="Restore the record from a copy whose digest holds, or activate the files again",
        ) from error
