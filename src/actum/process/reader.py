# SPDX-License-Identifier: Apache-2.0
"""Members are read by name and shape; what is unknown, missing or misshapen is reported with its place."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from actum.model.foreign import ForeignNumber
from actum.process.problems import Place, Report, suggest
from actum.process.yaml_nodes import ListNode, MapNode, ScalarNode, YamlNode

E = TypeVar("E", bound=enum.Enum)

_name = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z_][A-Za-z0-9_-]*)*", re.ASCII)
NAME_MAX = 100


class Named(NamedTuple):
    """A name and where it stands."""

    name: str
    place: Place


class Reader:
    """Reads nodes of one file and reports to one report; a reading that fails returns None."""

    def __init__(self, report: Report) -> None:
        self.report = report

    def members(
        self, node: YamlNode, *, what: str, allowed: tuple[str, ...], required: tuple[str, ...] = ()
    ) -> Mapping[str, YamlNode] | None:
        """Return a mapping's members; null members count as absent."""
        if not isinstance(node, MapNode):
            self.wrong(node, what, "a mapping")
            return None
        found: dict[str, YamlNode] = {}
        for name, member in node.members.items():
            if name not in allowed:
                self.report.problem(
                    node.key_places[name],
                    "member_unknown",
                    f"{what} has no member {name[:60]!r}{suggest(name, allowed)}",
                    expected=" | ".join(allowed),
                    got=name,
                )
            elif not (isinstance(member, ScalarNode) and member.value() is None):
                found[name] = member
        for name in required:
            if name not in found:
                self.report.problem(node.place, f"{name}_missing", f"{what} needs the member {name!r}")
        return found

    def table(self, node: YamlNode | None, *, what: str) -> Mapping[str, YamlNode]:
        """Return a mapping of the author's own names; a bad name is reported and left out."""
        if node is None:
            return {}
        if not isinstance(node, MapNode):
            self.wrong(node, what, "a mapping of names")
            return {}
        found: dict[str, YamlNode] = {}
        for name, member in node.members.items():
            if self._check_name(name, node.key_places[name]):
                found[name] = member
        return found

    def items(self, node: YamlNode | None, *, what: str) -> tuple[YamlNode, ...]:
        """Return the items of a list; an absent list is empty."""
        if node is None:
            return ()
        if not isinstance(node, ListNode):
            self.wrong(node, what, "a list")
            return ()
        return node.items

    def text(self, node: YamlNode | None, *, what: str) -> str | None:
        """Return a text."""
        if node is None:
            return None
        value = node.value() if isinstance(node, ScalarNode) else node
        if not isinstance(value, str):
            self.wrong(node, what, "a text")
            return None
        return value

    def name(self, node: YamlNode | None, *, what: str) -> Named | None:
        """Return a name: letters, digits, `_`, `-`, joined by dots."""
        text = self.text(node, what=what)
        if node is None or text is None or not self._check_name(text, node.place):
            return None
        return Named(text, node.place)

    def names(self, node: YamlNode | None, *, what: str) -> tuple[Named, ...]:
        """Return a list of different names."""
        found: dict[str, Named] = {}
        for item in self.items(node, what=what):
            named = self.name(item, what=what)
            if named is None:
                continue
            if named.name in found:
                self.report.problem(named.place, "duplicate_name", f"{named.name!r} stands twice in {what}")
            found[named.name] = named
        return tuple(found.values())

    def flag(self, node: YamlNode | None, *, what: str, default: bool = False) -> bool:
        """Return true or false."""
        if node is None:
            return default
        value = node.value() if isinstance(node, ScalarNode) else None
        if not isinstance(value, bool):
            self.wrong(node, what, "true or false")
            return default
        return value

    def whole(self, node: YamlNode | None, *, what: str, low: int, high: int, default: int) -> int:
        """Return an integer within bounds."""
        if node is None:
            return default
        value = node.value() if isinstance(node, ScalarNode) else None
        text = value.text if isinstance(value, ForeignNumber) else ""
        if not re.fullmatch(r"-?[0-9]{1,18}", text) or not low <= int(text) <= high:
            self.wrong(node, what, f"an integer from {low} to {high}")
            return default
        return int(text)

    def choice(
        self, node: YamlNode | None, kind: type[E], *, what: str, code: str, why: str = ""
    ) -> E | None:
        """Return the enum member of a text; another word is reported under ``code``."""
        text = self.text(node, what=what)
        if node is None or text is None:
            return None
        words = [str(member.value) for member in kind]
        if text not in words:
            message = f"{what} {text[:60]!r} is unknown{suggest(text, words)}" + (f"; {why}" if why else "")
            self.report.problem(node.place, code, message, expected=" | ".join(words), got=text)
            return None
        return kind(text)

    def wrong(self, node: YamlNode, what: str, expected: str) -> None:
        """Report a node of another shape."""
        self.report.problem(
            node.place, "wrong_shape", f"{what} is {expected}", expected=expected, got=shape_of(node)
        )

    def unknown(self, named: Named, *, what: str, known: Mapping[str, object], code: str) -> None:
        """Report a name that nothing declares."""
        message = f"{what} {named.name!r} is not declared{suggest(named.name, known)}"
        self.report.problem(named.place, code, message, expected=" | ".join(list(known)[:20]), got=named.name)

    def _check_name(self, text: str, place: Place) -> bool:
        if len(text) <= NAME_MAX and _name.fullmatch(text):
            return True
        self.report.problem(
            place,
            "name_refused",
            "a name is letters, digits, _ and -, joined by dots",
            expected=f"a name of at most {NAME_MAX} characters",
            got=text,
        )
        return False


def shape_of(node: YamlNode) -> str:
    """Return what a node is, for a message."""
    if isinstance(node, MapNode):
        return "a mapping"
    if isinstance(node, ListNode):
        return "a list"
    value = node.value()
    if isinstance(value, bool):
        return f"the boolean {node.text}"
    if value is None:
        return "nothing"
    return ("the number " if isinstance(value, ForeignNumber) else "the text ") + node.text[:60]
