# SPDX-License-Identifier: Apache-2.0
"""The learned rung is asked in its place and answers that no learned pattern is active.

Rule 1. Nothing can make a learned pattern active yet: there is no replay gate and no promotion. An index
that claims to hold an active one is therefore refused instead of believed.
"""

from __future__ import annotations

from actum.kernel.rungs.offer import RungAnswer
from actum.model.decision import Rung, RungEntry, RungOutcome
from actum.model.errors import InvariantViolation

_NOT_ACTIVE = RungAnswer(
    RungEntry(
        rung=Rung.LEARNED, ran=True, outcome=RungOutcome.NOT_ACTIVE, reason="no learned pattern is active"
    ),
    (),
)


def answer(active: tuple[object, ...]) -> RungAnswer:
    """Return that nothing is active."""
    if active:  # Rule 1
        raise InvariantViolation("no learned pattern is active without a gate", count=len(active))
    return _NOT_ACTIVE
