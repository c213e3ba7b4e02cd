# SPDX-License-Identifier: Apache-2.0
"""A runner's lease is held by a beat of its own, so that a long action does not lose it.

Rules
1. A store that was copied or restored, or whose log is shorter than its checkpoint, is not run before it was
   adopted.
2. The first start, every start after the lease was lost, and every start after a run that broke off reconciles
   before anything is claimed.
3. Nor is one run whose own key is not in force (`actum.service.own_key`).
4. The beat runs in a thread of its own; a beat that comes too late has lost the lease, and the next start says so.
5. One run is at work at a time. Closing waits for it to end; what an action calls from within it neither runs nor
   closes anything, because it would wait for itself. Whoever waits for a run waits five minutes at most.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from actum.bootstrap.opening import Opened
from actum.kernel.recovery import NOTHING, Reconciliation
from actum.model.errors import CorruptRecordError, EnvironmentFault, UsageError
from actum.service import runner
from actum.service.own_key import require_own_key
from actum.service.recover import left_behind, reconcile

HEARTBEAT_S = 5.0
WAIT_S = 300.0
"""How long a call waits for a run of another thread; the run may itself be waiting for that call."""
_within: ContextVar[object] = ContextVar("actum_within", default=None)
"""The lease whose run this code was called by; a thread that copies its caller's context knows it too."""


class HeldLease:
    """The runner's lease of one kernel: taken at the first run, held until it is closed."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._epoch: int | None = None
        self._in_order = False
        self._beat: threading.Thread | None = None
        self._stop = threading.Event()
        self._lost = False
        self._at_work = threading.Lock()

    @contextmanager
    def alone(self, what: str) -> Generator[None]:
        """Wait for a run that is at work, and hold off the next; UsageError from within one (rule 5).

        EnvironmentFault ``run_at_work`` where the other one did not end in five minutes.
        """
        if self._at_work.locked() and _within.get() is self:
            raise UsageError(
                "within_a_run",
                failed=f"an action, a verifier or a signal handler called {what} while kernel.run() was calling it",
                state="The run that is at work goes on; this call did nothing",
                next_step="Return first: what was submitted or confirmed meanwhile is taken up by the run at work",
            )
        if not self._at_work.acquire(timeout=WAIT_S):
            raise EnvironmentFault(
                "run_at_work",
                failed=f"{what} waited {WAIT_S:.0f} s for the run of another thread, which is still at work",
                state="The run that is at work goes on; this call did nothing",
                next_step="Call it again later. Where an action or a verifier waits for this call, neither would end:"
                " return from it first",
            )
        token = _within.set(self)
        try:
            yield
        finally:
            _within.reset(token)
            self._at_work.release()

    def ensure(self) -> Reconciliation:
        """Take the lease where it is not held and return what had to be put in order.

        EnvironmentFault ``store_moved``, ``kernel_key_not_in_force`` or ``runner_elsewhere``.
        """
        # Rule 1
        if self._opened.moved:
            raise EnvironmentFault(
                "store_moved",
                failed="this store was copied or restored, or its host changed",
                state="Nothing was dispatched; what was open here may have happened elsewhere",
                next_step="Run `actum adopt`: open effects will then need checking, and unused grants are void",
            )
        if self._opened.cut_short is not None:
            raise CorruptRecordError(
                "log_cut_short",
                failed=f"the log does not hold against its checkpoint: {self._opened.cut_short}",
                state="Nothing was dispatched; what missing records allowed or told may have happened",
                next_step="Restore the newest copy of the store, or run `actum adopt` to go on from what is here",
            )
        require_own_key(self._opened.line)  # Rule 3
        if self._epoch is None or self._lost:
            # Rule 2
            self._in_order = False
            self._epoch = runner.take_lease(self._opened.line, self._opened.name)
            self._lost = False
        if self._in_order and not left_behind(self._opened.line):
            return NOTHING
        found = reconcile(self._opened.line)
        self._in_order = True
        self._start_beat()
        return found

    def adopted(self) -> None:
        """Go on with the epoch that adopting gave the lease, where this kernel has it."""
        line = self._opened.line
        found = line.store.read(lambda tx: tx.runner())
        if self._epoch is not None and found is not None and found.holder == line.holder:
            self._epoch = found.epoch

    def _start_beat(self) -> None:
        if self._beat is None:
            self._beat = threading.Thread(target=self._keep, name="actum-heartbeat", daemon=True)
            self._beat.start()

    def _keep(self) -> None:
        # Rule 4
        while not self._stop.wait(HEARTBEAT_S):
            try:
                self._lost = not runner.renew(self._opened.line, epoch=self._epoch or 0)
            except Exception:  # A beat that fails is a lease that runs out; the next one may succeed.
                continue

    def close(self) -> None:
        """Stop the beat and give the lease back."""
        self._stop.set()
        if self._beat is not None:
            self._beat.join()
        if self._epoch is not None and not self._lost:
            runner.release(self._opened.line, epoch=self._epoch)
