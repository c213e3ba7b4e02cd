# SPDX-License-Identifier: Apache-2.0
"""The one place that reads the wall clock and random bytes.

Rules
1. Time given out never steps back within a process: a wall clock that does is held until it has caught up.
2. ULIDs of one millisecond are counted up, so ids of a process sort in the order they were made.
"""

from __future__ import annotations

import os
import threading
import time

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


class SystemClock:
    """Wall and monotonic time."""

    def __init__(self) -> None:
        self._last = 0
        self._lock = threading.Lock()

    def now_ms(self) -> int:
        """Return unix milliseconds that never step back within this process (rule 1)."""
        with self._lock:
            self._last = max(self._last, time.time_ns() // 1_000_000)
            return self._last

    def stepped_back_ms(self) -> int:
        """Return how far the wall clock is behind the newest time given out; 0 where it is not."""
        with self._lock:
            return max(0, self._last - time.time_ns() // 1_000_000)

    def monotonic_ms(self) -> int:
        """Return milliseconds since some moment of this boot."""
        return time.monotonic_ns() // 1_000_000

    def sleep_ms(self, duration_ms: int) -> None:
        """Wait."""
        time.sleep(duration_ms / 1000)


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
