# SPDX-License-Identifier: Apache-2.0
"""The one place that reads the wall clock and random bytes.

Rules
1. Time given out never steps back within a process, and never stands still: while the wall clock is behind, it goes
   on by the monotonic clock, so that what ends at a time does end.
   It never steps back behind the newest record of a store either: a little is held, more is refused.
2. ULIDs of one millisecond are counted up, so ids of a process sort in the order they were made.
"""

from __future__ import annotations

import os
import threading
import time

from actum.model.errors import EnvironmentFault

HELD_MS = 5_000
"""A wall clock this far behind the newest record is held there; one that is further behind is wrong."""
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


class SystemClock:
    """Wall and monotonic time."""

    def __init__(self) -> None:
        self._newest = 0
        self._from = 0, time.monotonic_ns()
        self._lock = threading.Lock()

    def now_ms(self) -> int:
        """Return unix milliseconds that never step back within this process (rule 1)."""
        with self._lock:
            wall = time.time_ns() // 1_000_000
            if wall < self._newest - HELD_MS:
                raise _behind(self._newest - wall)
            return self._at_least(wall)

    def not_before(self, newest_ms: int) -> None:
        """Give out no time before that of the newest record (rule 1)."""
        with self._lock:
            self._newest = newest_ms
            self._at_least(newest_ms)

    def stepped_back_ms(self) -> int:
        """Return how far the wall clock is behind the newest time given out; 0 where it is not."""
        with self._lock:
            wall = time.time_ns() // 1_000_000
            return max(0, self._at_least(wall) - wall)

    def _at_least(self, at_ms: int) -> int:
        """Return a time, or what was given out with the time that passed since, where that is later."""
        given_ms, given_ns = self._from
        now_ns = time.monotonic_ns()
        passed = given_ms + (now_ns - given_ns) // 1_000_000
        if at_ms >= passed:
            self._from = at_ms, now_ns
        return max(at_ms, passed)

    def monotonic_ms(self) -> int:
        """Return milliseconds since some moment of this boot."""
        return time.monotonic_ns() // 1_000_000

    def sleep_ms(self, duration_ms: int) -> None:
        """Wait."""
        time.sleep(duration_ms / 1000)


def _behind(by_ms: int) -> EnvironmentFault:
    return EnvironmentFault(
        "clock_behind",
        failed=f"this machine's clock is {by_ms / 1000:.0f} s behind the newest record of the store",
        state="Nothing was written: a record may not say that it is older than the ones before it",
        next_step="Set the clock, then repeat the command; reading works meanwhile",
        behind_ms=by_ms,
    )


class SystemIds:
    """ULIDs and salts from the system's random bytes."""

    def __init__(self) -> None:
        self._last_ms = -1
        self._count = 0
        self._lock = threading.Lock()

    def ulid(self, now_ms: int) -> str:
        """Return a fresh ULID; within one millisecond it counts up (rule 2)."""
        with self._lock:
            if now_ms <= self._last_ms:
                self._count += 1
            else:
                self._last_ms = now_ms
                # The top bit is left free, so that counting up never runs over.
                self._count = int.from_bytes(os.urandom(10), "big") >> 1
            value = (self._last_ms << 80) | self._count
        return "".join([_ALPHABET[(value >> shift) & 31] for shift in range(125, -1, -5)])

    def salt(self) -> str:
        """Return 128 random bits as hex."""
        return os.urandom(16).hex()
