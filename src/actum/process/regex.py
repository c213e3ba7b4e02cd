# SPDX-License-Identifier: Apache-2.0
"""Authored regular expressions run on RE2: linear in the text, or refused when the file is loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Twice what any pattern in the wild needs; RE2 refuses a bounded-repetition bomb at this size.
MEMORY_BYTES_MAX = 1 << 20


def compile_regex(pattern: str) -> Callable[[str], bool]:
    """Return a function that says whether a text holds a match; raises ValueError with RE2's reason."""
    import re2

    engine: Any = re2
    options = engine.Options()
    options.max_mem = MEMORY_BYTES_MAX
    options.log_errors = False
    try:
        compiled = engine.compile(pattern, options)
    except engine.error as error:
        reason: Any = error.args[0] if error.args else "not a regular expression"
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise ValueError(text) from error
    return lambda text: compiled.search(text) is not None
