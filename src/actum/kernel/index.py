# SPDX-License-Identifier: Apache-2.0
"""A decision costs one look-up per set of fields that rules ask about, however many rules there are.

Rules
1. The equality terms of a WHEN's outermost ``&&`` chain are its key; the other terms are its residual.
2. A key holds the fields' declared types with the values, so 1, 1.0, true and "1" never meet.
3. A rule hits where its key is found and its residual is true: exactly where the whole WHEN is true.
4. A rule whose key fields or residual are unusable is skipped with the reason; it never counts as false.
5. An inactive pattern is not in the index at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any, NamedTuple, cast

import msgspec

from actum.kernel.evaluate import CompileRegex, Evaluate, compile_plan, literal_value
from actum.kernel.facts import Facts, FieldReader, reader_for
from actum.kernel.parsers import Unusable
from actum.model.decision import Skip
from actum.model.effect import EffectClass
from actum.model.errors import InvariantViolation
from actum.model.plan import Call, FieldType, Lit, Node, Op, Ref, conjuncts
from actum.model.process import (
    ActionDefinition,
    AuthoredPattern,
    Constant,
    FieldClass,
    FieldDeclaration,
    Process,
    Rule,
    Rulebook,
    Semantics,
    Skill,
    Step,
    Then,
    pattern_digest,
)
from actum.model.walk import FieldWrite

# Names of skipped rules kept on an entry; the others are counted.
SKIPS_NAMED_MAX = 20

_CONTEXT_TYPES = {
    "ctx.now_ms": FieldType.INT,
    "ctx.work_type": FieldType.STRING,
    "ctx.status": FieldType.STRING,
}


# Which literal a field of each type is compared with; a type that is not here cannot be a key.
LITERAL_TYPES = {
    FieldType.STRING: FieldType.STRING,
    FieldType.EMAIL: FieldType.STRING,
    FieldType.URL: FieldType.STRING,
    FieldType.JSON_POINTER: FieldType.STRING,
    FieldType.INT: FieldType.INT,
    FieldType.TIME: FieldType.INT,
    FieldType.BOOL: FieldType.BOOL,
    FieldType.DECIMAL: FieldType.DECIMAL,
}


class IndexedRule(NamedTuple):
    """One rule as the index holds it. ``digest`` and ``confirmed`` matter for authored patterns only.

    ``fixed`` are the writes of a THEN that only writes constants, so that a hit need not resolve them again.
    """

    id: str
    then: Then
    residual: Evaluate | None
    needs_person: bool
    digest: str | None
    confirmed: bool
    fixed: tuple[FieldWrite, ...] | None = None


class _Signature(NamedTuple):
    fields: tuple[str, ...]
    key: Callable[[Facts], Any]
    table: dict[Any, list[IndexedRule]]
    rules: list[IndexedRule]


class Found(msgspec.Struct, frozen=True):
    """What a look-up saw: the rules that hit and the ones that could not be applied."""

    hits: tuple[IndexedRule, ...]
    skipped: tuple[Skip, ...]


class RuleIndex:
    """The rules of one step on one rung, by hash of their equality terms."""

    __slots__ = ("_by_fields", "_signatures", "count")

    def __init__(self) -> None:
        self._signatures: list[_Signature] = []
        self._by_fields: dict[tuple[tuple[str, FieldType], ...], _Signature] = {}
        self.count = 0

    def add(self, rule: IndexedRule, *, keys: Mapping[str, Lit], types: Mapping[str, FieldType]) -> None:
        """Put one rule under its key."""
        names = tuple(sorted(keys))
        typed = tuple((name, types[name]) for name in names)  # Rule 2
        signature = self._by_fields.get(typed)
        if signature is None:
            getter = cast("Callable[[Facts], Any]", itemgetter(*names)) if names else _no_key
            signature = self._by_fields[typed] = _Signature(names, getter, {}, [])
            self._signatures.append(signature)
        for name in names:
            # In Python True == 1 and both hash alike, so a literal of another type would meet it.
            if keys[name].type is not LITERAL_TYPES.get(types[name]):
                raise InvariantViolation("a key literal has the type of its field", field=name)
        values = tuple(literal_value(keys[name]) for name in names)
        signature.rules.append(rule)
        signature.table.setdefault(values[0] if len(values) == 1 else values, []).append(rule)
        self.count += 1

    def look_up(self, facts: Facts) -> Found:
        """Return hits and skips for one subject."""
        hits: list[IndexedRule] = []
        skips: list[Skip] | None = None
        for names, key, table, rules in self._signatures:
            bucket = table.get(key(facts))
            if bucket is None:
                for name in names:
                    if type(facts[name]) is Unusable:  # Rule 4
                        skips = _skip(skips, facts[name], rules)
                        break
                continue
            for rule in bucket:
                value = True if rule.residual is None else rule.residual(facts)
                if value is True:  # Rule 3
                    hits.append(rule)
                elif isinstance(value, Unusable):
                    skips = _skip(skips, value, [rule])
        return Found(tuple(hits), tuple(skips) if skips else ())


def _no_key(_facts: Facts) -> tuple[()]:
    return ()


def _skip(skips: list[Skip] | None, why: Any, rules: list[IndexedRule]) -> list[Skip]:
    found = skips or []
    found.append(
        Skip(
            reason=why.reason,
            detail=why.detail,
            count=len(rules),
            ids=tuple([rule.id for rule in rules[:SKIPS_NAMED_MAX]]),
        )
    )
    return found


def split_when(when: Node) -> tuple[dict[str, Lit], Node | None]:
    """Return the key terms by field and the conjunction of all other terms (rule 1)."""
    keys: dict[str, Lit] = {}
    rest: list[Node] = []
    for term in conjuncts(when):
        key = _key_term(term)
        if key is None or key[0] in keys:
            rest.append(term)
        else:
            keys[key[0]] = key[1]
    if not rest:
        return keys, None
    return keys, rest[0] if len(rest) == 1 else Call(op=Op.AND, args=tuple(rest))


def _key_term(term: Node) -> tuple[str, Lit] | None:
    if isinstance(term, Ref):
        return term.field, Lit(type=FieldType.BOOL, text="true")
    if not isinstance(term, Call):
        return None
    if term.op is Op.NOT and isinstance(term.args[0], Ref):
        return term.args[0].field, Lit(type=FieldType.BOOL, text="false")
    if term.op is Op.EQ:
        left, right = term.args
        if isinstance(left, Ref) and isinstance(right, Lit):
            return left.field, right
        if isinstance(left, Lit) and isinstance(right, Ref):
            return right.field, left
    return None


class StepIndex(NamedTuple):
    """Everything a walk of one step needs, resolved once. ``has_rules`` counts inactive patterns too."""

    step: Step
    process: Process
    skill: Skill
    fields: Mapping[str, FieldDeclaration]
    readers: Mapping[str, FieldReader]
    actions: Mapping[str, ActionDefinition]
    rules: RuleIndex
    patterns: RuleIndex
    skill_needs_person: bool
    has_rules: bool


class RulebookIndex(NamedTuple):
    """A rulebook ready for decisions. ``learned`` stays empty until there is a gate that can fill it."""

    rulebook_digest: str
    semantics: Semantics
    steps: Mapping[tuple[str, str], StepIndex]
    learned: tuple[object, ...] = ()


def build_index(rulebook: Rulebook, *, regex: CompileRegex, semantics: Semantics) -> RulebookIndex:
    """Return the index of a rulebook; it needs neither YAML nor CEL, only a regular expression engine."""
    steps: dict[tuple[str, str], StepIndex] = {}
    confirmed = frozenset(rulebook.confirmed)
    for process in rulebook.processes:
        steps.update(_process_steps(process, confirmed=confirmed, regex=regex))
    return RulebookIndex(rulebook.digest, semantics, steps)


def _process_steps(
    process: Process, *, confirmed: frozenset[str], regex: CompileRegex
) -> dict[tuple[str, str], StepIndex]:
    fields = {field.name: field for field in process.fields}
    readers = {field.name: reader_for(field) for field in process.fields}
    types = {**_CONTEXT_TYPES, **{field.name: field.type for field in process.fields}}
    actions = {action.id: action for action in process.actions}
    skills = {skill.id: skill for skill in process.skills}
    patterns: dict[str, RuleIndex] = {step.id: RuleIndex() for step in process.steps}

    def put(rule: Rule | AuthoredPattern, indexes: list[RuleIndex], digest: str | None) -> None:
        keys, rest = split_when(rule.when)
        indexed = IndexedRule(
            id=rule.id,
            then=rule.then,
            residual=None if rest is None else compile_plan(rest, regex=regex),
            needs_person=needs_person(rule.then, fields=fields, actions=actions),
            digest=digest,
            confirmed=digest in confirmed,
            fixed=_fixed_writes(rule.then),
        )
        for index in indexes:
            index.add(indexed, keys=keys, types=types)

    for pattern in process.patterns:
        if pattern.active:  # Rule 5
            # Only an action-causing pattern has anything to confirm.
            digest = pattern_digest(process, pattern) if pattern.then.stage else None
            put(pattern, [patterns[step_id] for step_id in pattern.steps], digest)
    found: dict[tuple[str, str], StepIndex] = {}
    for step in process.steps:
        skill = skills.get(step.skill or "") or Skill(id=step.skill or step.id)
        rules = RuleIndex()
        for rule in skill.rules:
            put(rule, [rules], None)
        found[(process.name, step.id)] = StepIndex(
            step, process, skill, fields, readers, actions, rules, patterns[step.id],
            needs_person(skill.then, fields=fields, actions=actions),
            bool(skill.rules) or any(step.id in pattern.steps for pattern in process.patterns),
        )  # fmt: skip
    return found


def _fixed_writes(then: Then) -> tuple[FieldWrite, ...] | None:
    # Constants had the type of their field when the file was loaded, and the rulebook's digest covers both.
    if then.stage or not all(isinstance(write.value, Constant) for write in then.writes):
        return None
    return tuple(
        FieldWrite(field=write.name, value_json=write.value.json)
        for write in then.writes
        if isinstance(write.value, Constant)
    )


def needs_person(
    then: Then, *, fields: Mapping[str, FieldDeclaration], actions: Mapping[str, ActionDefinition]
) -> bool:
    """Tell whether a THEN writes a money_legal field or stages a money_legal action."""
    return any(fields[write.name].field_class is FieldClass.MONEY_LEGAL for write in then.writes) or any(
        actions[action].effect_class is EffectClass.MONEY_LEGAL for action in then.stage
    )
