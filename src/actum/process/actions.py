# SPDX-License-Identifier: Apache-2.0
"""An action is a capability bound to argument templates; the file can raise its class and never lower it.

Rules
1. An action's capability is a registered one, where the registered ones are known.
2. An action is never of a lower class than its capability.
3. ``auto_confirm`` is kept as written, reported, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from actum.model.effect import EffectClass
from actum.model.process import ActionDefinition, Member
from actum.process.problems import suggest
from actum.process.reader import Named, Reader
from actum.process.templates import Templates
from actum.process.yaml_nodes import YamlNode

_CLASS_ORDER = (EffectClass.INFORM, EffectClass.ACTION, EffectClass.MONEY_LEGAL)


class CapabilityFacts(Protocol):
    """What a process file is checked against: a capability's id and class."""

    @property
    def id(self) -> str:
        """The capability's name."""
        ...

    @property
    def effect_class(self) -> EffectClass:
        """The lowest class an action on it may have."""
        ...


class ActionReader:
    """Reads the actions of one process."""

    def __init__(
        self, reader: Reader, *, templates: Templates, capabilities: Mapping[str, CapabilityFacts] | None
    ) -> None:
        self._reader = reader
        self._templates = templates
        self._capabilities = capabilities

    def read(self, node: YamlNode | None) -> dict[str, ActionDefinition]:
        """Return all actions by id."""
        found: dict[str, ActionDefinition] = {}
        for name, member in self._reader.table(node, what="actions").items():
            action = self._action(name, member)
            if action is not None:
                found[name] = action
        return found

    def _action(self, name: str, node: YamlNode) -> ActionDefinition | None:
        what = f"action {name!r}"
        members = self._reader.members(
            node,
            what=what,
            allowed=("capability", "class", "arguments", "auto_confirm"),
            required=("capability",),
        )
        capability = (
            self._reader.name(members.get("capability"), what=f"{what}'s capability") if members else None
        )
        if members is None or capability is None:
            return None
        effect_class = self._class(name, members.get("class"), capability)
        arguments = [
            Member(name=argument, value=template)
            for argument, value in self._reader.table(
                members.get("arguments"), what=f"{what}'s arguments"
            ).items()
            if (template := self._templates.read(value, what=f"argument {argument!r}")) is not None
        ]
        auto = self._reader.flag(members.get("auto_confirm"), what=f"{what}'s auto_confirm")
        if auto:  # Rule 3
            self._reader.report.finding(
                members["auto_confirm"].place,
                "auto_confirm_ignored",
                f"auto_confirm of {name!r} changes nothing: a staged action always needs a person's confirm",
            )
        return ActionDefinition(
            id=name,
            capability=capability.name,
            effect_class=effect_class,
            arguments=tuple(arguments),
            auto_confirm=auto,
        )

    def _class(self, name: str, node: YamlNode | None, capability: Named) -> EffectClass:
        declared = self._reader.choice(
            node, EffectClass, what=f"the class of action {name!r}", code="action_class_unknown"
        )
        if self._capabilities is None:
            return declared or EffectClass.ACTION
        known = self._capabilities.get(capability.name)
        if known is None:
            self._reader.report.problem(
                capability.place,
                "capability_unknown",
                f"no capability {capability.name!r} is registered, and no program of this store registered it before"
                + suggest(capability.name, self._capabilities),
                expected=" | ".join(sorted(self._capabilities)[:20]),
                got=capability.name,
            )
            return declared or EffectClass.ACTION
        if declared is None:
            return known.effect_class
        if _CLASS_ORDER.index(declared) < _CLASS_ORDER.index(known.effect_class) and node is not None:
            self._reader.report.problem(
                node.place,
                "class_lower_than_capability",
                f"{capability.name!r} is {known.effect_class.value}; an action cannot lower that",
                expected=known.effect_class.value,
                got=declared.value,
            )
        return declared
