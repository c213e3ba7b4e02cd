# SPDX-License-Identifier: Apache-2.0
"""What becomes of a row after its look: settled, tried again, or left for a person. Never a blind retry.

Rules
1. A graded finality that is finalized, failed or not_attempted settles the row; so does an initiated one whose
   receipt stays open.
2. After dispatch a row is tried again only where the capability says that absence is proof, the look was a
   definite contrary, and attempts are left.
3. A definite contrary with no attempts left is a dead letter.
4. An indeterminate outcome is check_required, also one that only the executor vouches for: no machine moves it but
   a recorded look, and a person may.
5. A row that was claimed and not dispatched becomes ready again; attempts were counted at the claim, so a poison
   row ends as a dead letter too.
6. The wait before another attempt doubles from one second up to five minutes, spread by the row's own id.
7. What a look could not tell is looked at again after as long as it has been unknown, from one second up to five
   minutes.
8. Another attempt is made only where the look before it sees the very world the attempt before it found, with its
   control held. Seen as it should become: the first one came late. Seen otherwise, or not at all: nobody knows.
"""

from __future__ import annotations

import hashlib
from typing import assert_never

from actum.model.delivery import OutboxState
from actum.model.grading import EffectFinality, Graded, Situation

BACKOFF_MS_MIN = 1_000
BACKOFF_MS_MAX = 300_000


def row_after_look(
    graded: Graded, *, absence_is_proof: bool, attempts: int, attempts_max: int
) -> OutboxState:
    """Return the state of a dispatched row once its look is graded."""
    match graded.pair.finality:
        case EffectFinality.FINALIZED | EffectFinality.NOT_ATTEMPTED | EffectFinality.INITIATED:
            return OutboxState.SETTLED  # Rule 1
        case EffectFinality.FAILED:
            # Rule 2
            if absence_is_proof and graded.situation is Situation.CONTRARY and attempts_max > 1:
                # Rule 3
                return OutboxState.RETRY_WAIT if attempts < attempts_max else OutboxState.DEAD
            return OutboxState.SETTLED
        case EffectFinality.INDETERMINATE:
            return OutboxState.CHECK_REQUIRED  # Rule 4
        case _:
            assert_never(graded.pair.finality)


def why_not_again(
    *, found: str | None, observed: str | None, expected: str | None, control_held: bool
) -> str | None:
    """Return why no further attempt may be made, or None where one may.

    ``found`` is the digest of the world before the last attempt, ``observed`` of the world now.
    """
    # Rule 8
    if observed is None or not control_held:
        return "the look before another attempt could not tell"
    if observed == expected:
        return "seen before another attempt"
    if observed != found:
        return "the world changed after the first attempt"
    return None


def row_after_lost_claim(*, attempts: int, attempts_max: int) -> OutboxState:
    """Return the state of a row whose holder stopped before it dispatched."""
    # Rule 5
    return OutboxState.READY if attempts < max(attempts_max, 1) + CRASHES_MAX else OutboxState.DEAD


CRASHES_MAX = 5
"""How many claims may end in a stopped process, beyond the handled attempts, before a row is a dead letter."""


def look_wait_ms(*, unknown_for_ms: int) -> int:
    """Return how long to wait before another look at what no look could tell: as long again as it is unknown."""
    # Rule 7
    return min(max(unknown_for_ms, BACKOFF_MS_MIN), BACKOFF_MS_MAX)


def backoff_ms(outbox_id: str, *, attempts: int) -> int:
    """Return how long to wait before another attempt; the spread comes from the id, not from chance."""
    # Rule 6
    base = min(BACKOFF_MS_MIN * 2 ** max(attempts - 1, 0), BACKOFF_MS_MAX)
    spread = hashlib.sha256(f"{outbox_id}:{attempts}".encode()).digest()[0]
    return base + base * spread // 1024
