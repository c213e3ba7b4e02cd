# SPDX-License-Identifier: Apache-2.0
"""A step says its kind in the file; its kind settles what else it may say.

Rules
1. A missing or unknown kind is refused.
2. Only a reasoning step has a contract, and its tier is ``fast`` or ``capable``, never a vendor or a model.
3. Only a plumbing step says where its residual goes.
4. ``next`` names a later step, because a step is visited once in a turn.
5. A judgment step needs no skill.
6. Where a file declares fields or skills, every one that a step names is declared; where it declares none,
   the names are taken as they are and reported as findings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from actum.model.model_call import ModelTier
from actum.model.process import (
    FieldDeclaration,
    ReasoningContract,
    ResidualPolicy,
    Skill,
    Step,
    StepKind,
)
from actum.process.fields import implied_field
from actum.process.problems import Place
from actum.process.reader import Reader
from actum.process.rules import RuleReader
from actum.process.yaml_nodes import YamlNode

MEMBERS = ("id", "kind", "skill", "fields", "residual", "next", "contract", "choices")
MAX_TOKENS = 32_768


class _Outline(NamedTuple):
    id: str
    kind: StepKind | None
    place: Place
    members: Mapping[str, YamlNode]
    fields: tuple[str, ...]
    outputs: tuple[str, ...]


class StepReader:
    """Reads the steps of one process in two passes: names first, then what refers to other members."""

    def __init__(self, reader: Reader, *, name: str, fields: dict[str, FieldDeclaration]) -> None:
        self._reader = reader
        self._process = name
        self._fields = fields
        self._outlines: list[_Outline] = []
        self.ids: dict[str, int] = {}

    def read_outline(self, node: YamlNode | None, *, declares_fields: bool) -> None:
        """Read ids, kinds and field names; names of undeclared fields are added to the fields."""
        items = self._reader.items(node, what="steps")
        if node is not None and not items:
            self._reader.report.problem(node.place, "steps_missing", "a process has at least one step")
        for item in items:
            members = self._reader.members(item, what="a step", allowed=MEMBERS, required=("id", "kind"))
            if members is None:
                continue
            kind = self._reader.choice(  # Rule 1
                members.get("kind"), StepKind, what="kind", code="kind_unknown"
            )
            named = self._reader.name(members.get("id"), what="a step's id")
            fields = self._names(members.get("fields"), declares_fields)
            outputs = self._names(self._outputs(members.get("contract")), declares_fields)
            if named is None:
                continue
            if named.name in self.ids:
                self._reader.report.problem(
                    named.place, "duplicate_id", f"step {named.name!r} stands here a second time"
                )
            self.ids[named.name] = len(self._outlines)
            self._outlines.append(_Outline(named.name, kind, item.place, members, fields, outputs))

    def build(
        self, rules: RuleReader, *, skills: Mapping[str, Skill], declares_skills: bool
    ) -> tuple[Step, ...]:
        """Return the steps; every flaw is reported."""
        found: list[Step] = []
        for position, outline in enumerate(self._outlines):
            members, kind = outline.members, outline.kind
            skill = self._skill(members.get("skill"), skills, declares_skills)  # Rule 5
            residual = self._residual(members.get("residual"), kind)
            after = self._next(members.get("next"), position)
            contract = self._contract(members.get("contract"), outline)
            choices = rules.read_choices(members.get("choices"))
            if kind is not None:
                found.append(
                    Step(
                        process=self._process,
                        id=outline.id,
                        kind=kind,
                        skill=skill,
                        fields=outline.fields,
                        residual=residual,
                        next=after,
                        contract=contract,
                        choices=choices,
                    )
                )
        return tuple(found)

    def _names(self, node: YamlNode | None, declares_fields: bool) -> tuple[str, ...]:
        found: list[str] = []
        for named in self._reader.names(node, what="fields"):
            if named.name not in self._fields:
                if declares_fields:  # Rule 6
                    self._reader.unknown(named, what="field", known=self._fields, code="field_undeclared")
                    continue
                self._fields[named.name] = implied_field(named.name)
                self._reader.report.finding(
                    named.place,
                    "field_implied",
                    f"field {named.name!r} is not declared: any value but null counts, no WHEN compares it",
                )
            found.append(named.name)
        return tuple(found)

    def _outputs(self, node: YamlNode | None) -> YamlNode | None:
        # Shape and unknown members of the contract are reported when the step is built.
        return getattr(node, "members", {}).get("output")

    def _skill(self, node: YamlNode | None, skills: Mapping[str, Skill], declares_skills: bool) -> str | None:
        named = self._reader.name(node, what="skill")
        if named is None:
            return None
        if named.name not in skills:
            if declares_skills:
                self._reader.unknown(named, what="skill", known=skills, code="skill_undeclared")
            else:
                self._reader.report.finding(
                    named.place,
                    "skill_implied",
                    f"skill {named.name!r} is not declared: it has no rules and no bound actions",
                )
        return named.name

    def _residual(self, node: YamlNode | None, kind: StepKind | None) -> ResidualPolicy:
        policy = self._reader.choice(node, ResidualPolicy, what="residual", code="residual_unknown")
        if node is not None and kind not in (StepKind.PLUMBING, None):  # Rule 3
            self._reader.report.problem(
                node.place, "residual_needs_plumbing", "only a plumbing step says where its residual goes"
            )
        return policy or ResidualPolicy.JUDGE

    def _next(self, node: YamlNode | None, position: int) -> str | None:
        named = self._reader.name(node, what="next")
        if named is None:
            return None
        if named.name not in self.ids:
            self._reader.unknown(named, what="step", known=self.ids, code="next_unknown")
        elif self.ids[named.name] <= position:  # Rule 4
            self._reader.report.problem(
                named.place, "next_backwards", f"step {named.name!r} does not come later in the file"
            )
        return named.name

    def _contract(self, node: YamlNode | None, outline: _Outline) -> ReasoningContract | None:
        if node is None:
            if outline.kind is not StepKind.REASONING:
                return None
            contract = ReasoningContract(outputs=outline.outputs)
            self._reader.report.finding(
                outline.place,
                "contract_implied",
                f"step {outline.id!r} has no contract: tier {contract.tier.value}, "
                f"at most {contract.max_tokens} tokens, output {', '.join(outline.fields) or 'a note'}",
            )
            return contract
        if outline.kind not in (StepKind.REASONING, None):  # Rule 2
            self._reader.report.problem(
                node.place, "contract_needs_reasoning", "only a reasoning step has a model contract"
            )
        members = self._reader.members(node, what="a contract", allowed=("tier", "max_tokens", "output"))
        if members is None:
            return None
        tier = self._reader.choice(
            members.get("tier"),
            ModelTier,
            what="tier",
            code="tier_unknown",
            why="a process names a tier, never a vendor or a model",
        )
        tokens = self._reader.whole(
            members.get("max_tokens"), what="max_tokens", low=1, high=MAX_TOKENS, default=512
        )
        return ReasoningContract(tier=tier or ModelTier.FAST, max_tokens=tokens, outputs=outline.outputs)
