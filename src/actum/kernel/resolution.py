# SPDX-License-Identifier: Apache-2.0
"""An open effect past its deadline is breached and says so; nothing stays pending quietly.

Rules
1. Resolved: the graded finality is finalized, failed or not_attempted, and its reasons do not hold unbacked.
2. Indefinite: there is no deadline.
3. Bad deadline: the deadline is no RFC 3339 time with an offset.
4. Pending: now is not after the deadline. Breached: it is. Compared on the exact instants.
5. Seconds are the distance rounded down, given only for pending and breached.
6. A breach names its policy after inherit was followed: the first ancestor with a policy of its own decides,
   a cycle or nothing at the top is escalate. Only the policy is inherited, never the deadline.
7. A person or a shell acts on a breach; the graded pair is not touched by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from actum.model.grading import (
    DeadlinePolicy,
    EffectFinality,
    Graded,
    ReasonCode,
    Resolution,
    ResolutionOutcome,
    Resolved,
)
from actum.model.rfc3339 import Instant, parse_instant, whole_seconds_between

_TERMINAL = frozenset({EffectFinality.FINALIZED, EffectFinality.FAILED, EffectFinality.NOT_ATTEMPTED})


class Kin(Protocol):
    """What following inherit needs to know of an ancestor."""

    @property
    def parent(self) -> str | None: ...
    @property
    def on_deadline(self) -> DeadlinePolicy | None: ...


def check_resolution(
    resolution: Resolution | None,
    *,
    graded: Graded,
    now: Instant,
    ancestors: Iterable[DeadlinePolicy | None] = (),
) -> Resolved:
    """Return how the effect stands against its deadline at `now`.

    `ancestors` are the policies above the effect, nearest first, and are only read for a breach.
    """
    # Rule 1
    if is_resolved(graded):
        return Resolved(outcome=ResolutionOutcome.RESOLVED)
    # Rule 2
    if resolution is None or resolution.deadline is None:
        return Resolved(outcome=ResolutionOutcome.INDEFINITE)
    # Rule 3
    deadline = parse_instant(resolution.deadline)
    if deadline is None:
        return Resolved(outcome=ResolutionOutcome.BAD_DEADLINE)
    # Rules 4 and 5
    seconds = whole_seconds_between(now, deadline)
    if now <= deadline:
        return Resolved(outcome=ResolutionOutcome.PENDING, seconds=seconds)
    return Resolved(
        outcome=ResolutionOutcome.BREACHED,
        seconds=seconds,
        on_deadline=follow_inherit(resolution.on_deadline, ancestors=ancestors),
    )


def is_resolved(graded: Graded) -> bool:
    """Tell whether the graded effect needs no deadline any more; it says nothing about success."""
    return graded.pair.finality in _TERMINAL and ReasonCode.UNBACKED not in graded.reasons


def follow_inherit(
    own: DeadlinePolicy | None, *, ancestors: Iterable[DeadlinePolicy | None]
) -> DeadlinePolicy:
    """Return the policy that applies: the nearest one that is not inherit, else escalate."""
    # Rule 6
    if own is not None and own is not DeadlinePolicy.INHERIT:
        return own
    for policy in ancestors:
        if policy is not None and policy is not DeadlinePolicy.INHERIT:
            return policy
    return DeadlinePolicy.ESCALATE


def policies_above(
    parent: str | None, *, find: Callable[[str], Kin | None]
) -> Iterator[DeadlinePolicy | None]:
    """Yield the policies from `parent` upwards, ending at the top, at an absent ancestor or at a cycle."""
    seen: set[str] = set()
    while parent is not None and parent not in seen:
        seen.add(parent)
        kin = find(parent)
        if kin is None:
            return
        yield kin.on_deadline
        parent = kin.parent
