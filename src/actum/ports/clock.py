# SPDX-License-Identifier: Apache-2.0
"""The clock and the source of ids; nothing on a decision path has either."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Wall and monotonic time."""

    def now_ms(self) -> int:
        """Return unix milliseconds, UTC."""
        ...

    def monotonic_ms(self) -> int:
        """Return milliseconds that never step back while this machine is up."""
        ...

    def sleep_ms(self, duration_ms: int) -> None:
        """Wait; a simulated clock steps forward instead."""
        ...


class Ids(Protocol):
    """Fresh ids and salts."""

    def ulid(self, now_ms: int) -> str:
        """Return a fresh ULID, 26 characters of Crockford's base 32, sorted by time."""
        ...

    def salt(self) -> str:
        """Return 128 random bits as 32 lower hex digits."""
        ...
