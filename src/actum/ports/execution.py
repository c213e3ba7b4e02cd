# SPDX-License-Identifier: Apache-2.0
"""What an executor hands out, a held resource and its report, says nothing about how to reach one.

These stand apart from the executor port so that they can be named where that port may not be imported.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from actum.model.grading import ExecutorSaid


class ExecutorReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the executor says. It is the actor's word and never evidence.

    ``result`` is JSON; ``acknowledged`` tells whether the sink itself answered with an acknowledgement.
    """

    said: ExecutorSaid
    result: dict[str, object]
    acknowledged: bool = False


class Held(Protocol):
    """An open, checked handle on the resource; closing it twice is harmless."""

    def close(self) -> None:
        """Give the handle back."""
        ...
