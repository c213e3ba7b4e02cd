# SPDX-License-Identifier: Apache-2.0
"""Where completion could not be verified, that is said, together with what was reported of it.

Rules
1. The state half is read from the activity rows when it is said: it never promises what they do not show.
2. A turn that is listed as completed all the same is named, with what its completion rests on.
"""

from __future__ import annotations

from collections.abc import Sequence

from actum.model.activity import Activity, ActivityState
from actum.model.errors import RefusedError
from actum.ports.store import Tx
from actum.service.line import Line


def unverifiable(line: Line, turn_ids: Sequence[str]) -> RefusedError | None:
    """Return what is to be said of turns whose effects nobody knows the end of; None where there are none."""
    if not turn_ids:
        return None

    def load(tx: Tx) -> list[Activity]:
        return [found for turn_id in turn_ids if (found := tx.activity(turn_id)) is not None]

    found = line.store.read(load)
    # Rule 1
    listed = [one for one in found if one.state is ActivityState.COMPLETED]
    state = "Nothing unverified was reported as done"
    if listed:
        # Rule 2
        named = ", ".join(f"{one.turn_id} ({one.label or 'no label'})" for one in listed[:5])
        state = f"Listed as completed all the same, on other evidence: {named}"
    some = "the work of 1 turn" if len(found) == 1 else f"the work of {len(found)} turns"
    return RefusedError(
        "completion_unverified",
        failed=f"verification as completed failed for {some}",
        state=state,
        next_step="Look again with `actum settle TURN`, or see `actum inbox` and say what you know",
        turns=", ".join(one.turn_id for one in found[:5]),
    )
