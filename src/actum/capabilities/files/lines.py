# SPDX-License-Identifier: Apache-2.0
"""The lines a person reads before confirming show what will happen in full, with nothing hidden in a name.

What is cut is said to be cut, with how much; the digest stands beside every preview.
"""

from __future__ import annotations

import difflib

from actum.model.effect import FileIdentity
from actum.model.visible import mixed_script, visible

PREVIEW_CHARACTERS_MAX = 4000
DIFF_BYTES_MAX = 64 * 1024
_DIFF_LINES_MAX = 200


def name_lines(*paths: str) -> list[str]:
    """Return a warning for each path in which a word mixes scripts."""
    found: list[str] = []
    for path in paths:
        odd = mixed_script(path)
        if odd:
            found.append(f"Look closely: {visible(path)} mixes scripts: {', '.join(odd)}")
    return found


def content_lines(data: bytes, *, digest: str) -> list[str]:
    """Return size, digest and a preview of content."""
    head = f"New content: {_bytes(len(data))}, {digest}"
    text = _text(data)
    if text is None:
        return [head, "It is not text, so it is not shown; compare the digest."]
    shown = text[:PREVIEW_CHARACTERS_MAX]
    lines = [head, *(f"  | {line}" for line in visible(shown, keep_lines=True).split("\n"))]
    if len(text) > len(shown):
        lines.append(f"  ... {len(text) - len(shown)} more characters are not shown")
    return lines


def replaced_lines(identity: FileIdentity, *, digest: str, old: bytes | None, new: bytes) -> list[str]:
    """Return what a write replaces, and the difference where both are short text."""
    lines = [f"Replaces a file of {_bytes(identity.size)}, {digest}; its content is kept and can be put back"]
    before, after = (_text(old) if old is not None else None), _text(new)
    if before is None or after is None:
        return [*lines, "The difference is not shown: the content is not text or is long."]
    old_lines, new_lines = before.split("\n"), after.split("\n")
    changes = list(difflib.unified_diff(old_lines, new_lines, "now", "new", lineterm="", n=2))
    lines += [f"  {visible(line)}" for line in changes[:_DIFF_LINES_MAX]]
    if len(changes) > _DIFF_LINES_MAX:
        lines.append(f"  ... {len(changes) - _DIFF_LINES_MAX} more lines of difference are not shown")
    return lines


def file_lines(identity: FileIdentity, *, digest: str, names: int) -> list[str]:
    """Return what an existing file is."""
    lines = [f"The file: {_bytes(identity.size)}, {digest}"]
    if names > 1:
        lines.append(f"It has {names} names (hard links); the others stay as they are")
    return lines


def _bytes(size: int) -> str:
    return "1 byte" if size == 1 else f"{size} bytes"


def _text(data: bytes) -> str | None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
