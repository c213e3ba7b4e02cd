# SPDX-License-Identifier: Apache-2.0
"""Work item lines are read strictly, one at a time; each is answered with an item or with all its faults.

A line is {"work_type", "subject", "key", "on_behalf_of", "attachments"}, the last three optional or null.
A first line that is only ``{`` or ``[`` starts one JSON document instead: one such object, or a list of them,
of which every member is answered. Memory holds one line, or the one document.

Rules
1. An unknown member is a fault: a misspelt ``key`` must not become a second item.
2. Every fault of a line is reported, each with a code and the JSON Pointer of its place.
3. A line longer than the bound is skipped to its end, and the lines behind it are still answered.
4. Blank lines are skipped and counted; a byte order mark, NaN, duplicate keys and lone surrogates are faults.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import BinaryIO, cast

import msgspec

from actum.model import canonical
from actum.model.canonical import JsonRefused
from actum.model.strict_json import pointer
from actum.model.work import Submission

MAX_LINE = 64 * 1024 * 1024
MAX_KEY = 512

_MEMBERS = ("work_type", "subject", "key", "on_behalf_of", "attachments")
# A dot stands in the names of built-in work only, such as agent.action; a process file cannot take one.
_work_type_form = re.compile(r"(?=.{1,100}\Z)[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*", re.ASCII)
_control = re.compile("[\\x00-\\x1f\\x7f]")


class Fault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that is wrong: a stable code, a JSON Pointer and what it means.

    Codes: not_utf8, not_json, duplicate_key, bad_number, lone_surrogate, too_deep, type, missing,
    unknown_field, format, too_long.
    """

    code: str
    path: str
    message: str


class LineFailure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line that did not become an item; ``line`` counts physical lines from 1."""

    line: int
    faults: tuple[Fault, ...]


def read_lines(stream: BinaryIO, *, max_line: int = MAX_LINE) -> Iterator[Submission | LineFailure]:
    """Yield one answer for each line that is not blank, or for each item of one JSON document."""
    first = True
    for number, line in _lines(stream, max_line=max_line):
        if line is None:
            # Rule 3
            yield _one_fault(number, "too_long", "", f"the line is longer than {max_line} bytes")
        elif not line.strip():
            continue
        elif first and line.strip() in (b"{", b"["):
            yield from _document(number, line + stream.read(max_line + 1), max_line=max_line)
            return
        else:
            yield _answer(number, line)
        first = False


def _lines(stream: BinaryIO, *, max_line: int) -> Iterator[tuple[int, bytes | None]]:
    number = 0
    while line := stream.readline(max_line + 1):
        number += 1
        if len(line) <= max_line or line.endswith(b"\n"):
            yield number, line
            continue
        while line and not line.endswith(b"\n"):
            line = stream.readline(65_536)
        yield number, None


def _document(number: int, data: bytes, *, max_line: int) -> Iterator[Submission | LineFailure]:
    if len(data) > max_line:
        yield _one_fault(number, "too_long", "", f"the document is longer than {max_line} bytes")
        return
    try:
        value = cast("object", canonical.parse_foreign(data))
    except JsonRefused as refused:
        yield _one_fault(number, refused.code, refused.path, refused.message)
        return
    if isinstance(value, list):
        for index, member in enumerate(cast("list[object]", value)):
            yield _checked(number, member, f"/{index}")
    else:
        yield _checked(number, value, "")


def _answer(number: int, line: bytes) -> Submission | LineFailure:
    try:
        value = cast("object", canonical.parse_foreign(line))
    except JsonRefused as refused:
        # Rule 4
        return _one_fault(number, refused.code, refused.path, refused.message)
    return _checked(number, value, "")


def _checked(number: int, value: object, at: str) -> Submission | LineFailure:
    if not isinstance(value, dict):
        return _one_fault(number, "type", at, "a work item is an object")
    members = cast("dict[str, object]", value)
    # Rule 2
    faults = [
        *_unknown(members, at),
        *_work_type(members, at),
        *_subject(members, at),
        *_short_text(members, "key", at),
        *_short_text(members, "on_behalf_of", at),
        *_attachments(members, at),
    ]
    if faults:
        return LineFailure(line=number, faults=tuple(faults))
    return Submission(
        work_type=cast(str, members["work_type"]),
        subject=cast("dict[str, object]", members["subject"]),
        key=cast("str | None", members.get("key")),
        on_behalf_of=cast("str | None", members.get("on_behalf_of")),
        attachments=cast("dict[str, str] | None", members.get("attachments")),
    )


def _unknown(members: dict[str, object], at: str) -> Iterator[Fault]:
    for name in members:
        # Rule 1
        if name not in _MEMBERS:
            yield Fault(
                code="unknown_field", path=pointer(at, name), message="a work item has no such member"
            )


def _work_type(members: dict[str, object], at: str) -> Iterator[Fault]:
    value = members.get("work_type")
    if value is None:
        yield Fault(code="missing", path=f"{at}/work_type", message="the type of work is needed")
    elif not isinstance(value, str):
        yield Fault(code="type", path=f"{at}/work_type", message="must be text")
    elif _work_type_form.fullmatch(value) is None:
        yield Fault(
            code="format",
            path=f"{at}/work_type",
            message="must be lower case letters, digits, underscores and dots between them",
        )


def _subject(members: dict[str, object], at: str) -> Iterator[Fault]:
    value = members.get("subject")
    if value is None:
        yield Fault(code="missing", path=f"{at}/subject", message="the subject is needed")
    elif not isinstance(value, dict):
        yield Fault(code="type", path=f"{at}/subject", message="must be an object")


def _short_text(members: dict[str, object], name: str, at: str) -> Iterator[Fault]:
    value = members.get(name)
    if value is None:
        return
    if not isinstance(value, str):
        yield Fault(code="type", path=f"{at}/{name}", message="must be text or null")
    elif not value or len(value) > MAX_KEY or _control.search(value):
        yield Fault(
            code="format", path=f"{at}/{name}", message=f"must be 1 to {MAX_KEY} characters without controls"
        )


def _attachments(members: dict[str, object], at: str) -> Iterator[Fault]:
    value = members.get("attachments")
    if value is None:
        return
    if not isinstance(value, dict):
        yield Fault(code="type", path=f"{at}/attachments", message="must be an object or null")
        return
    for name, content in cast("dict[str, object]", value).items():
        path = pointer(f"{at}/attachments", name)
        if not name or len(name) > 255 or "/" in name or name in (".", "..") or _control.search(name):
            yield Fault(code="format", path=path, message="is no file name")
        if not isinstance(content, str):
            yield Fault(code="type", path=path, message="must be text in base64")
        elif not _is_base64(content):
            yield Fault(code="format", path=path, message="is not standard base64 with padding")


def _is_base64(text: str) -> bool:
    try:
        # Writing it again refuses bits that the decoder ignores, so one content has one text.
        return base64.b64encode(base64.b64decode(text, validate=True)).decode("ascii") == text
    except (binascii.Error, ValueError):
        return False


def _one_fault(number: int, code: str, path: str, message: str) -> LineFailure:
    return LineFailure(line=number, faults=(Fault(code=code, path=path, message=message),))
