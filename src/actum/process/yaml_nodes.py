# SPDX-License-Identifier: Apache-2.0
"""YAML is read into nodes with places, in bounded space, and nothing in it can name a type or run code.

Read is the plain core: mappings, lists and scalars. Refused are tags, duplicate keys, merge keys, keys that
are not text, several documents, and files over the bounds. An alias stands for the node it names, and what it
stands for counts against the bound, so that a small file cannot become a large one. Numbers keep their text;
``yes``, ``no``, ``on`` and dates are text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import yaml

from actum.model.foreign import ForeignNumber, pointer
from actum.process.problems import Place, Report

TEXT_BYTES_MAX = 16 * 1024 * 1024
NODES_MAX = 2_000_000
DEPTH_MAX = 24

_number = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)


class ScalarNode(msgspec.Struct, frozen=True, kw_only=True):
    """One scalar as text. ``style`` is '' for plain, else one of ' " | >; ``indent`` is a literal block's."""

    place: Place
    text: str
    style: str
    end_line: int
    indent: int = 0

    def value(self) -> object:
        """Return null, a boolean, a number with its text, or text; only a plain scalar can be no text."""
        if self.style:
            return self.text
        if self.text in ("", "~", "null"):
            return None
        if self.text in ("true", "false"):
            return self.text == "true"
        return ForeignNumber(self.text) if _number.fullmatch(self.text) else self.text


class MapNode(msgspec.Struct, frozen=True, kw_only=True):
    """One mapping with its members in the order of the file."""

    place: Place
    members: dict[str, YamlNode]
    key_places: dict[str, Place]


class ListNode(msgspec.Struct, frozen=True, kw_only=True):
    """One list."""

    place: Place
    items: tuple[YamlNode, ...]


YamlNode = ScalarNode | MapNode | ListNode


class _Sized(NamedTuple):
    node: YamlNode
    size: int
    depth: int


class _Stop(Exception):
    """Reading ends here; the problem is already reported."""


def read_yaml(text: str, *, report: Report) -> YamlNode | None:
    """Return the one document of a text, or None with the problems reported."""
    start = Place(line=1, column=1, pointer="")
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError:
        report.problem(start, "not_utf8", "the text holds half a surrogate pair")
        return None
    if size > TEXT_BYTES_MAX:
        report.problem(start, "file_too_large", "the file is too large", expected=f"{TEXT_BYTES_MAX} bytes")
        return None
    try:
        return _Composer(text, report).document()
    except _Stop:
        return None
    except yaml.MarkedYAMLError as error:
        mark: Any = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        place = Place(line=line, column=column, pointer="")
        report.problem(place, "yaml_syntax", error.problem or error.context or "this is not YAML")
    except yaml.YAMLError as error:
        report.problem(start, "yaml_syntax", str(error).splitlines()[0])
    return None


def to_foreign(node: YamlNode) -> Any:
    """Return a node as a foreign value, numbers as they are written."""
    if isinstance(node, ScalarNode):
        return node.value()
    if isinstance(node, ListNode):
        return [to_foreign(item) for item in node.items]
    return {name: to_foreign(member) for name, member in node.members.items()}


class _Composer:
    def __init__(self, text: str, report: Report) -> None:
        # The parser in C is ten times quicker and is not built on every platform.
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        reader: Any = yaml
        self._events: Iterator[Any] = iter(reader.parse(text, Loader=loader))
        self._report = report
        self._lines = text.splitlines() if "|" in text else []
        self._anchors: dict[str, _Sized] = {}
        self._nodes = 0

    def document(self) -> YamlNode | None:
        event = self._next()
        while isinstance(event, yaml.StreamStartEvent | yaml.DocumentStartEvent):
            event = self._next()
        if isinstance(event, yaml.StreamEndEvent):
            self._stop(event, "", "file_empty", "the file is empty")
        found = self._node(event, "", 0)
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                self._stop(event, "", "several_documents", "a process file is one YAML document")
        return found.node

    def _next(self) -> Any:
        return next(self._events)

    def _stop(self, event: Any, at: str, code: str, message: str) -> None:
        self._report.problem(self._place(event, at), code, message)
        raise _Stop

    def _place(self, event: Any, at: str) -> Place:
        return Place(line=event.start_mark.line + 1, column=event.start_mark.column + 1, pointer=at)

    def _indent(self, event: Any) -> int:
        for line in self._lines[event.start_mark.line + 1 : event.end_mark.line + 1]:
            if line.strip():
                return len(line) - len(line.lstrip(" "))
        return 0

    def _count(self, event: Any, at: str, size: int) -> None:
        self._nodes += size
        if self._nodes > NODES_MAX:
            self._stop(event, at, "file_too_large", f"the file stands for more than {NODES_MAX} values")

    def _node(self, event: Any, at: str, depth: int) -> _Sized:
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, at, depth)
        if depth > DEPTH_MAX:
            self._stop(event, at, "too_deep", f"values are nested more than {DEPTH_MAX} levels deep")
        if event.tag not in (None, "!"):
            self._stop(event, at, "tag_refused", f"the tag {str(event.tag)[:40]!r} is not allowed")
        self._count(event, at, 1)
        if isinstance(event, yaml.ScalarEvent):
            style = event.style or ""
            node: YamlNode = ScalarNode(
                place=self._place(event, at),
                text=event.value,
                style=style,
                end_line=event.end_mark.line + 1,
                indent=self._indent(event) if style == "|" else 0,
            )
            found = _Sized(node, 1, 0)
        elif isinstance(event, yaml.SequenceStartEvent):
            found = self._list(event, at, depth)
        else:
            found = self._map(event, at, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = found
        return found

    def _alias(self, event: Any, at: str, depth: int) -> _Sized:
        found = self._anchors.get(event.anchor)
        if found is None:
            self._stop(event, at, "alias_unknown", f"no finished value has the anchor {event.anchor[:40]!r}")
            raise _Stop
        self._count(event, at, found.size)
        if depth + found.depth > DEPTH_MAX:
            self._stop(event, at, "too_deep", f"values are nested more than {DEPTH_MAX} levels deep")
        return found

    def _list(self, event: Any, at: str, depth: int) -> _Sized:
        items: list[YamlNode] = []
        size, deepest = 1, 0
        while not isinstance(inner := self._next(), yaml.SequenceEndEvent):
            found = self._node(inner, pointer(at, len(items)), depth + 1)
            items.append(found.node)
            size, deepest = size + found.size, max(deepest, found.depth + 1)
        return _Sized(ListNode(place=self._place(event, at), items=tuple(items)), size, deepest)

    def _map(self, event: Any, at: str, depth: int) -> _Sized:
        members: dict[str, YamlNode] = {}
        places: dict[str, Place] = {}
        size, deepest = 1, 0
        while not isinstance(key := self._next(), yaml.MappingEndEvent):
            if not isinstance(key, yaml.ScalarEvent) or key.tag not in (None, "!") or key.value == "<<":
                self._stop(key, at, "key_refused", "a key is plain text, without tag, alias or merge")
            name: str = key.value
            below = pointer(at, name)
            if name in members:
                self._report.problem(
                    self._place(key, below), "duplicate_key", f"{name[:60]!r} stands here a second time"
                )
            found = self._node(self._next(), below, depth + 1)
            self._count(event, at, 1)
            places[name] = self._place(key, below)
            members[name] = found.node
            size, deepest = size + found.size + 1, max(deepest, found.depth + 1)
        return _Sized(
            MapNode(place=self._place(event, at), members=members, key_places=places), size, deepest
        )
