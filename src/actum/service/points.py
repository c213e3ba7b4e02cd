# SPDX-License-Identifier: Apache-2.0
"""Every commit of the service has a name, and around each name a test can stop the process.

``commit`` is the only way the service writes; a test reads the names out of its source, so a commit without a
point cannot be added. In ordinary use reaching a point does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from actum.ports.store import Tx
from actum.service.line import Line

T = TypeVar("T")
BEFORE_EXECUTE = "before_execute"
AFTER_EXECUTE = "after_execute"
BEFORE_LOOK = "before_look"
CALLS = (BEFORE_EXECUTE, AFTER_EXECUTE, BEFORE_LOOK)
"""The points around calls outward; those around commits are named after the commit."""


def reach(line: Line, point: str) -> None:
    """Tell whoever listens that a point was reached."""
    if line.at_point is not None:
        line.at_point(point)


def commit(line: Line, name: str, work: Callable[[Tx], T]) -> T:
    """Write in one transaction, with the points ``before_NAME``, ``within_NAME`` and ``after_NAME`` around it."""
    reach(line, f"before_{name}")

    def within(tx: Tx) -> T:
        result = work(tx)
        reach(line, f"within_{name}")
        return result

    result = line.store.write(within)
    reach(line, f"after_{name}")
    return result
