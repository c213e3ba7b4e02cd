# SPDX-License-Identifier: Apache-2.0
"""WHEN, THEN, skills and patterns are read and checked; what they may touch is settled before anything runs.

Rules
1. No WHEN keys on a money_legal field.
2. A THEN writes declared fields with values of their type, and stages declared actions.
3. A skill's THEN and its rules stage only the actions bound to the skill.
4. A money_legal value is not copied into a field of another class, nor a guarded value into a learnable one.
"""

from __future__ import annotations

from collections.abc import Mapping

from actum.kernel.staging import check_value
from actum.model import foreign
from actum.model.plan import Node, fields_read
from actum.model.process import (
    ActionDefinition,
    AuthoredPattern,
    Choice,
    Constant,
    FieldClass,
    FieldDeclaration,
    Member,
    Rule,
    Skill,
    Then,
)
from actum.process.cel import Expressions
from actum.process.problems import Place
from actum.process.reader import Named, Reader
from actum.process.short_form import short_form
from actum.process.templates import Templates, at_place
from actum.process.yaml_nodes import MapNode, ScalarNode, YamlNode, to_foreign


class RuleReader:
    """Reads everything that has a WHEN or a THEN, for one process."""

    def __init__(
        self,
        reader: Reader,
        *,
        fields: Mapping[str, FieldDeclaration],
        expressions: Expressions,
        templates: Templates,
        actions: Mapping[str, ActionDefinition],
    ) -> None:
        self._reader = reader
        self._fields = fields
        self._expressions = expressions
        self._templates = templates
        self.actions = actions

    def read_skills(self, node: YamlNode | None) -> dict[str, Skill]:
        """Return all declared skills by id."""
        found: dict[str, Skill] = {}
        for name, member in self._reader.table(node, what="skills").items():
            members = self._reader.members(
                member, what=f"skill {name!r}", allowed=("actions", "rules", "then")
            )
            if members is None:
                found[name] = Skill(id=name)
                continue
            bound: list[str] = []
            for action in self._reader.names(members.get("actions"), what=f"the actions of skill {name!r}"):
                if action.name in self.actions:
                    bound.append(action.name)
                else:
                    self._reader.unknown(action, what="action", known=self.actions, code="action_unknown")
            found[name] = Skill(
                id=name,
                actions=tuple(bound),
                rules=self._rules(members.get("rules"), skill=name, bound=tuple(bound)),
                then=self.then(members.get("then"), bound=tuple(bound), skill=name),
            )
        return found

    def read_patterns(
        self, node: YamlNode | None, *, steps: Mapping[str, object]
    ) -> tuple[AuthoredPattern, ...]:
        """Return all authored patterns; each names the steps it decides."""
        found: dict[str, AuthoredPattern] = {}
        for item in self._reader.items(node, what="patterns"):
            members = self._reader.members(
                item,
                what="a pattern",
                allowed=("id", "step", "steps", "when", "then", "active"),
                required=("id", "when"),
            )
            named = self._reader.name(members.get("id"), what="a pattern's id") if members else None
            if members is None or named is None:
                continue
            self._check_twice(named, found, "pattern")
            single = self._reader.name(members.get("step"), what="a pattern's step")
            at = (single,) if single else self._reader.names(members.get("steps"), what="a pattern's steps")
            if not at:
                self._reader.report.problem(item.place, "step_missing", "a pattern names the step it decides")
            for step in at:
                if step.name not in steps:
                    self._reader.unknown(step, what="step", known=steps, code="step_unknown")
            when = self.when(members.get("when"))
            then = self.then(members.get("then"), bound=None, skill=None)
            active = self._reader.flag(members.get("active"), what="a pattern's active", default=True)
            if when is not None:
                found[named.name] = AuthoredPattern(
                    id=named.name, steps=tuple(step.name for step in at), when=when, then=then, active=active
                )
        return tuple(found.values())

    def read_choices(self, node: YamlNode | None) -> tuple[Choice, ...]:
        """Return the choices of a step: words, or mappings with a THEN."""
        found: dict[str, Choice] = {}
        for item in self._reader.items(node, what="choices"):
            named, then = None, Then()
            if isinstance(item, ScalarNode):
                named = self._reader.name(item, what="a choice")
            else:
                members = self._reader.members(
                    item, what="a choice", allowed=("id", "then"), required=("id",)
                )
                if members is not None:
                    named = self._reader.name(members.get("id"), what="a choice's id")
                    then = self.then(members.get("then"), bound=None, skill=None)
            if named is None:
                continue
            self._check_twice(named, found, "choice")
            if named.name == "act":
                self._reader.report.problem(
                    named.place, "choice_reserved", "`act` takes a suggestion and cannot be declared"
                )
            found[named.name] = Choice(id=named.name, then=then)
        return tuple(found.values())

    def when(self, node: YamlNode | None) -> Node | None:
        """Return the plan of a WHEN: CEL text, or the short form of equalities."""
        if node is None:
            return None
        if isinstance(node, MapNode):
            plan = short_form(node, fields=self._fields, reader=self._reader)
        elif isinstance(node, ScalarNode):
            compiled = self._expressions.compile(node.text)
            for flaw in compiled.flaws:
                place = at_place(node, flaw.line, flaw.column)
                self._reader.report.problem(place, flaw.code, flaw.message, got=node.text)
            plan = compiled.plan
        else:
            self._reader.wrong(node, "when", "a CEL text or a mapping of fields to values")
            return None
        if plan is not None:
            self._check_keys(plan, node.place)
        return plan

    def then(self, node: YamlNode | None, *, bound: tuple[str, ...] | None, skill: str | None) -> Then:
        """Return a THEN. With ``bound`` only those actions may be staged."""
        if node is None:
            return Then()
        members = self._reader.members(node, what="then", allowed=("set", "stage"))
        if members is None:
            return Then()
        writes = [
            member
            for name, value in self._reader.table(members.get("set"), what="set").items()
            if (member := self._write(name, value)) is not None
        ]
        stage: list[str] = []
        for action in self._reader.names(members.get("stage"), what="stage"):
            if action.name not in self.actions:
                self._reader.unknown(action, what="action", known=self.actions, code="action_unknown")
            elif bound is not None and action.name not in bound:  # Rule 3
                self._reader.report.problem(
                    action.place,
                    "action_not_bound",
                    f"action {action.name!r} is not bound to skill {skill!r}",
                    expected=" | ".join(bound) or "no action",
                    got=action.name,
                )
            else:
                stage.append(action.name)
        return Then(writes=tuple(writes), stage=tuple(stage))

    def _rules(self, node: YamlNode | None, *, skill: str, bound: tuple[str, ...]) -> tuple[Rule, ...]:
        found: dict[str, Rule] = {}
        for item in self._reader.items(node, what="rules"):
            members = self._reader.members(
                item, what="a rule", allowed=("id", "when", "then"), required=("id", "when")
            )
            named = self._reader.name(members.get("id"), what="a rule's id") if members else None
            if members is None or named is None:
                continue
            self._check_twice(named, found, "rule")
            when = self.when(members.get("when"))
            then = self.then(members.get("then"), bound=bound, skill=skill)
            if when is not None:
                found[named.name] = Rule(id=named.name, when=when, then=then)
        return tuple(found.values())

    def _check_twice(self, named: Named, found: Mapping[str, object], what: str) -> None:
        if named.name in found:
            self._reader.report.problem(
                named.place, "duplicate_id", f"{what} {named.name!r} stands here a second time"
            )

    def _check_keys(self, plan: Node, place: Place) -> None:
        for name in sorted(fields_read(plan)):
            field = self._fields.get(name)
            if field is not None and field.field_class is FieldClass.MONEY_LEGAL:  # Rule 1
                self._reader.report.problem(
                    place, "when_on_money_legal", f"no rule may key on the money_legal field {name!r}"
                )

    def _write(self, name: str, node: YamlNode) -> Member | None:
        field = self._fields.get(name)
        if field is None:
            named = Named(name, node.place)
            self._reader.unknown(named, what="field", known=self._fields, code="field_undeclared")
            return None
        template = self._templates.read(node, what=f"the value of {name!r}")
        if template is None:
            return None
        if isinstance(template, Constant):
            wrong = check_value(foreign.decode_foreign(template.json.encode()), declaration=field)
            if wrong is not None:
                self._reader.report.problem(
                    node.place, "value_wrong_type", f"{name!r} cannot hold this: {wrong.detail}",
                    expected=field.type.value, got=str(to_foreign(node)),
                )  # fmt: skip
        self._templates.check_copy(template, into=field, place=node.place)  # Rule 4
        return Member(name=name, value=template)
