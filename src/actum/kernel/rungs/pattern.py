# SPDX-License-Identifier: Apache-2.0
"""The pattern rung wins only on an exact match with one active authored pattern, and costs no tokens.

Rules
1. A pattern matches where its whole WHEN is true; a nearest match is no match.
2. A pattern that stages an action and whose exact digest no person confirmed decides and does not stage.
   The actions it asked for are named on the decision as withheld.
"""

from __future__ import annotations

from actum.kernel.facts import Facts
from actum.kernel.index import StepIndex
from actum.kernel.rungs.offer import RungAnswer, from_rules
from actum.model.decision import ConditionKind, Rung, RungEntry, RungOutcome

_NONE = RungAnswer(RungEntry(rung=Rung.PATTERN, ran=True, outcome=RungOutcome.NO_MATCH), ())


def answer(at: StepIndex, facts: Facts) -> RungAnswer:
    """Return what the authored patterns of one step make of one subject."""
    index = at.patterns
    found = from_rules(Rung.PATTERN, index=index, kind=ConditionKind.PATTERN, at=at, facts=facts)
    if found is not None:
        return found
    if index.count == 0:
        return _NONE
    entry = RungEntry(rung=Rung.PATTERN, ran=True, outcome=RungOutcome.NO_MATCH, considered=index.count)
    return RungAnswer(entry, ())
