# SPDX-License-Identifier: Apache-2.0
"""A process file compiles whole, or is refused with every problem it has, each at its line and column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from actum.model.foreign import JsonRefused
from actum.model.process import FieldDeclaration, Process, Skill, Step
from actum.process.actions import ActionReader, CapabilityFacts
from actum.process.cel import Expressions
from actum.process.fields import read_fields
from actum.process.problems import Problem, ProcessFileError, Report
from actum.process.reader import Reader
from actum.process.rules import RuleReader
from actum.process.steps import StepReader
from actum.process.templates import Templates
from actum.process.yaml_nodes import YamlNode, read_yaml

MEMBERS = ("process", "work_types", "fields", "skills", "actions", "patterns", "steps", "routines")


class Loaded(NamedTuple):
    """A compiled process and what its author should know: nothing in ``findings`` stops it."""

    process: Process
    findings: tuple[Problem, ...]


def load_process(
    text: str, *, path: str, capabilities: Mapping[str, CapabilityFacts] | None = None
) -> Process:
    """Return the compiled process of a file's text; raises ProcessFileError with all problems."""
    return read_process(text, path=path, capabilities=capabilities).process


def read_process(
    text: str, *, path: str, capabilities: Mapping[str, CapabilityFacts] | None = None
) -> Loaded:
    """Return the compiled process with its findings; raises ProcessFileError with all problems.

    ``path`` only names the file in messages. Without ``capabilities`` an action's capability is not checked
    to exist.
    """
    report = Report(path)
    root = read_yaml(text, report=report)
    process = None
    if root is not None:
        try:
            process = _process(root, Reader(report), capabilities)
        except JsonRefused as refused:
            report.problem(root.place, "value_refused", refused.message)
    if report.problems or process is None:
        raise ProcessFileError(report.problems)
    return Loaded(process, tuple(sorted(report.findings, key=lambda one: (one.line, one.column))))


def _process(
    root: YamlNode, reader: Reader, capabilities: Mapping[str, CapabilityFacts] | None
) -> Process | None:
    members = reader.members(
        root, what="a process file", allowed=MEMBERS, required=("process", "work_types", "steps")
    )
    if members is None:
        return None
    name = reader.name(members.get("process"), what="process")
    work_types = reader.names(members.get("work_types"), what="work_types")
    if "work_types" in members and not work_types:
        reader.report.problem(
            members["work_types"].place, "work_types_missing", "a process takes at least one work type"
        )
    _refuse_routines(members.get("routines"), reader)
    fields = read_fields(members.get("fields"), reader=reader)
    steps = StepReader(reader, name=name.name if name else "", fields=fields)
    steps.read_outline(members.get("steps"), declares_fields="fields" in members)
    expressions = Expressions(fields)
    templates = Templates(reader, fields=fields, expressions=expressions)
    action_reader = ActionReader(reader, templates=templates, capabilities=capabilities)
    actions = action_reader.read(members.get("actions"))
    rules = RuleReader(reader, fields=fields, expressions=expressions, templates=templates, actions=actions)
    skills = rules.read_skills(members.get("skills"))
    patterns = rules.read_patterns(members.get("patterns"), steps=steps.ids)
    built = steps.build(rules, skills=skills, declares_skills="skills" in members)
    if name is None:
        return None
    return Process(
        name=name.name,
        work_types=tuple(work_type.name for work_type in work_types),
        fields=_sorted_fields(fields),
        skills=_sorted_skills(skills, built),
        actions=tuple(actions[one] for one in sorted(actions)),
        patterns=tuple(sorted(patterns, key=lambda pattern: pattern.id)),
        steps=built,
    )


def _sorted_fields(fields: Mapping[str, FieldDeclaration]) -> tuple[FieldDeclaration, ...]:
    return tuple(fields[name] for name in sorted(fields))


def _sorted_skills(skills: Mapping[str, Skill], steps: tuple[Step, ...]) -> tuple[Skill, ...]:
    # A skill that only a step names has no bound actions and no rules.
    used = {step.skill: Skill(id=step.skill) for step in steps if step.skill is not None}
    every = {**used, **skills}
    return tuple(every[name] for name in sorted(every))


def _refuse_routines(node: YamlNode | None, reader: Reader) -> None:
    if node is not None and reader.items(node, what="routines"):
        reader.report.problem(
            node.place, "routines_not_yet", "routines are not run by this version: leave the list empty"
        )
