# SPDX-License-Identifier: Apache-2.0
"""A look is definite only where it can tell; whoever signs it asks this function first.

Rules
1. A verifier that says unclear, or saw nothing, is unclear.
2. Where a change is claimed, a world that was as expected before, or was not seen before, is unclear.
3. A world as before is a definite contrary only where absence is proof, the consistency window is over and a
   positive control held.
4. Everything else the verifier calls definite is definite.
"""

from __future__ import annotations

from actum.model.effect import Claims
from actum.model.grading import LookOutcome


def outcome_of(
    said: LookOutcome,
    *,
    observed: str | None,
    before: str | None,
    expected: str | None,
    claims: Claims,
    absence_is_proof: bool,
    window_over: bool,
    control_held: bool,
) -> LookOutcome:
    """Return the outcome a looker may sign for what was observed; the digests share one projection."""
    # Rule 1
    if said is not LookOutcome.DEFINITE or observed is None:
        return LookOutcome.UNCLEAR
    # Rule 2
    if claims is Claims.CHANGE and (before is None or observed == before == expected):
        return LookOutcome.UNCLEAR
    if observed == before:
        if observed == expected:
            return LookOutcome.DEFINITE
        # Rule 3
        if not (absence_is_proof and window_over and control_held):
            return LookOutcome.UNCLEAR
    # Rule 4
    return LookOutcome.DEFINITE
