# SPDX-License-Identifier: Apache-2.0
"""A THEN becomes values and typed stages, or it does not apply and says why; nothing is half filled.

Rules
1. A value that cannot be read from the subject makes the whole THEN unresolved.
2. A written value has the declared type of its field, or the whole THEN is unresolved.
3. A stage is data: capability, class and arguments. Nothing here can execute one.
4. Arguments see the fields that the same THEN, answer or choice writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

import msgspec

from actum.kernel.evaluate import compile_plan
from actum.kernel.facts import Facts
from actum.kernel.index import StepIndex
from actum.kernel.parsers import ABSENT, PARSERS, Unusable, pointer_tokens, resolve_pointer
from actum.model import foreign
from actum.model.errors import InvariantViolation
from actum.model.process import (
    ActionDefinition,
    Constant,
    FieldDeclaration,
    FromExpression,
    FromField,
    FromPointer,
    Member,
    Template,
    Then,
)
from actum.model.walk import FieldWrite, Stage


class Outcome(msgspec.Struct, frozen=True):
    """What a THEN came to: values to write and stages."""

    writes: tuple[FieldWrite, ...]
    stages: tuple[Stage, ...]


NOTHING = Outcome((), ())


def resolve_then(then: Then, *, at: StepIndex, facts: Facts) -> Outcome | Unusable:
    """Return the outcome of a THEN for one subject, or why it has none."""
    if not then.writes and not then.stage:
        return NOTHING
    writes: list[FieldWrite] = []
    for member in then.writes:
        written = _write(member, declaration=at.fields[member.name], facts=facts)
        if isinstance(written, Unusable):
            return written
        writes.append(written)
    return stage_all(then.stage, writes=tuple(writes), at=at, facts=facts)


def stage_all(
    action_ids: tuple[str, ...], *, writes: tuple[FieldWrite, ...], at: StepIndex, facts: Facts
) -> Outcome | Unusable:
    """Return the outcome with those writes and one stage for each action, in the order given."""
    if not action_ids:
        return Outcome(writes, ())
    seen = facts.with_writes({write.field: write.value() for write in writes}) if writes else facts  # Rule 4
    stages: list[Stage] = []
    for action_id in action_ids:
        stage = stage_action(at.actions[action_id], facts=seen)
        if isinstance(stage, Unusable):
            return stage
        stages.append(stage)
    return Outcome(writes, tuple(stages))


def stage_action(action: ActionDefinition, *, facts: Facts) -> Stage | Unusable:
    """Return the typed stage of an action with its arguments resolved from the subject (rule 3)."""
    arguments: dict[str, object] = {}
    if action.arguments_from is not None:
        whole = _value(FromPointer(pointer=action.arguments_from), facts)
        if not isinstance(whole, dict):
            return Unusable("arguments_no_object", action.arguments_from)
        arguments.update(cast("dict[str, object]", whole))
    for member in action.arguments:
        value = _value(member.value, facts)
        if isinstance(value, Unusable):  # Rule 1
            return Unusable(value.reason, f"argument {member.name} of {action.id}: {value.detail}")
        arguments[member.name] = value
    return stage_with(action, arguments=arguments)


def stage_with(action: ActionDefinition, *, arguments: Mapping[str, object]) -> Stage:
    """Return the typed stage of an action with given foreign arguments."""
    return Stage(
        action=action.id,
        capability=action.capability,
        effect_class=action.effect_class,
        arguments_json=foreign.encode_foreign(dict(arguments)).decode(),
    )


def check_value(value: object, *, declaration: FieldDeclaration) -> Unusable | None:
    """Return why a foreign value may not stand in a declared field, or None (rule 2)."""
    parsed = PARSERS[declaration.type](value)
    if isinstance(parsed, Unusable):
        return Unusable(parsed.reason, f"{declaration.name}: {parsed.detail}")
    if declaration.values and parsed not in declaration.values:
        return Unusable("field_not_among_values", declaration.name)
    return None


def write_of(declaration: FieldDeclaration, *, value: object) -> FieldWrite | Unusable:
    """Return the write of one foreign value into a declared field, or why it may not stand there."""
    wrong = check_value(value, declaration=declaration)
    if wrong is not None:
        return wrong
    return FieldWrite(field=declaration.name, value_json=foreign.encode_foreign(value).decode())


def _write(member: Member, *, declaration: FieldDeclaration, facts: Facts) -> FieldWrite | Unusable:
    value = _value(member.value, facts)
    return value if isinstance(value, Unusable) else write_of(declaration, value=value)


def _value(template: Template, facts: Facts) -> object:
    if isinstance(template, Constant):
        return foreign.decode_foreign(template.json.encode())
    if isinstance(template, FromField):
        usable = facts[template.field]
        return usable if isinstance(usable, Unusable) else facts.raw(template.field)
    if isinstance(template, FromExpression):
        return compile_plan(template.plan, regex=_no_regex)(facts)
    tokens = pointer_tokens(template.pointer)
    value = ABSENT if tokens is None else resolve_pointer(facts.subject, tokens)
    return Unusable("pointer_missing", template.pointer) if value is ABSENT else value


def _no_regex(pattern: str) -> Callable[[str], bool]:
    raise InvariantViolation("an argument expression has no regular expression", pattern=pattern)
