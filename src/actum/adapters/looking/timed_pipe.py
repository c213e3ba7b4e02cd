# SPDX-License-Identifier: Apache-2.0
"""A pipe is read and written until a moment; whoever is at its other end cannot keep this process waiting longer."""

from __future__ import annotations

import os
import select
import time
from typing import IO


class TimedPipe:
    """One end of an unbuffered pipe for one exchange of at most ``seconds``; TimeoutError where they are over."""

    def __init__(self, stream: IO[bytes], *, seconds: float) -> None:
        self._fd = stream.fileno()
        self._until = time.monotonic() + seconds

    def read(self, size: int) -> bytes:
        """Return that many bytes, fewer only at the end of the pipe."""
        found = bytearray()
        while len(found) < size:
            self._wait(select.POLLIN)
            more = os.read(self._fd, size - len(found))
            if not more:
                break
            found += more
        return bytes(found)

    def write(self, data: bytes) -> int:
        """Write all bytes."""
        left = memoryview(data)
        os.set_blocking(self._fd, False)
        while left:
            self._wait(select.POLLOUT)
            left = left[os.write(self._fd, left) :]
        return len(data)

    def flush(self) -> None:
        """Everything was written already."""

    def _wait(self, event: int) -> None:
        poll = select.poll()
        poll.register(self._fd, event)
        left = max(0.0, self._until - time.monotonic())
        if not poll.poll(left * 1000):
            raise TimeoutError("the other end of the pipe neither reads nor answers")
