# SPDX-License-Identifier: Apache-2.0
"""After a stop each unfinished thing becomes one thing, and the count of each is written down.

Rules
1. A reserved step visit becomes pending: it had not started.
2. A running step visit becomes check_required: nobody knows.
3. An expired routine lease is released; there are no routines yet, so its count is zero.
4. An activity in flight (running, verifying) becomes recovery_required.
5. A claimed row whose holder is gone becomes ready; a dispatched one is sealed unknown and becomes check_required.
6. All four counts are written, zeros too, with what was changed; nothing is deleted.
"""

from __future__ import annotations

import msgspec

from actum.model.activity import ActivityState
from actum.model.work import StepState

BECOMES = {StepState.RESERVED: StepState.PENDING, StepState.RUNNING: StepState.CHECK_REQUIRED}
"""Rules 1 and 2: every other state of a visit is left as it is."""

IN_FLIGHT = (ActivityState.RUNNING, ActivityState.VERIFYING)
"""Rule 4."""


class Reconciliation(msgspec.Struct, frozen=True, kw_only=True):
    """What one reconciliation changed: four counts, and the ids behind them."""

    steps_reset: tuple[str, ...]
    steps_check_required: tuple[str, ...]
    routine_leases_released: tuple[str, ...]
    activities_recovery_required: tuple[str, ...]
    rows_ready: tuple[str, ...]
    rows_check_required: tuple[str, ...]

    def counts(self) -> dict[str, int]:
        """Return the count of each transition, zeros included (rule 6)."""
        return {name: len(getattr(self, name)) for name in self.__struct_fields__}

    def changed(self) -> bool:
        """Tell whether anything was changed."""
        return any(self.counts().values())


NOTHING = Reconciliation(
    steps_reset=(), steps_check_required=(), routine_leases_released=(), activities_recovery_required=(),
    rows_ready=(), rows_check_required=(),
)  # fmt: skip
"""What a reconciliation that found everything in order comes to."""
