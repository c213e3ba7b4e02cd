# SPDX-License-Identifier: Apache-2.0
"""A simulated clock: time stands until it is stepped, and sleeping steps it."""

from __future__ import annotations

START_MS = 1_700_000_000_000
"""In the past, so that a store written under it can be opened by the machine's own clock."""


class SimulatedClock:
    """Wall and monotonic time of a test. ``slept_ms`` collects what was asked to wait for."""

    def __init__(self, start_ms: int = START_MS) -> None:
        self._now_ms = start_ms
        self.slept_ms: list[int] = []

    def now_ms(self) -> int:
        """Return unix milliseconds as they were last set."""
        return self._now_ms

    def monotonic_ms(self) -> int:
        """Return the same time: it never steps back here."""
        return self._now_ms

    def sleep_ms(self, duration_ms: int) -> None:
        """Step forward instead of waiting."""
        self.slept_ms.append(duration_ms)
        self._now_ms += duration_ms

    def step(self, duration_ms: int) -> None:
        """Let time pass."""
        self._now_ms += duration_ms
