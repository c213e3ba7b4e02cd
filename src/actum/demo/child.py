# SPDX-License-Identifier: Apache-2.0
"""A second process runs the line and is killed with SIGKILL between its act and its record.

It waits for a line on standard input, opens the store, runs what is due, and stops inside the first refund,
after the refund is on disk and before the tool has answered. Then it says so and waits; only a signal ends it.
"""

from __future__ import annotations

import select
import signal
import subprocess
import sys
import time
from types import TracebackType

from actum.model.errors import EnvironmentFault

MODULE = "actum.demo.child"
WRITTEN = b"written\n"
PATIENCE_S = 60.0


class Victim:
    """The process that will be killed, seen from the one that kills it. It starts early, so that it is ready."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", MODULE], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def __enter__(self) -> Victim:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    def kill_in_the_act(self, store: str) -> tuple[int, int]:
        """Let it run a store, kill it once it acted; return the signal that ended it and milliseconds passed."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        started = time.monotonic()
        process.stdin.write(store.encode() + b"\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], PATIENCE_S)
        if not ready or process.stdout.readline() != WRITTEN:
            raise EnvironmentFault(
                "demo_child_did_not_act",
                failed="the process that was to be killed in the act did not get that far",
                state="The demo's store is kept as it is",
                next_step="Run the demo again; if it repeats, look at its error output",
            )
        process.send_signal(signal.SIGKILL)
        return -process.wait(), round((time.monotonic() - started) * 1000)


def _announce_and_wait() -> None:
    sys.stdout.buffer.write(WRITTEN)
    sys.stdout.buffer.flush()
    signal.pause()


def main() -> None:
    """Run the store that standard input names, until killed."""
    from actum.bootstrap import Kernel
    from actum.demo import tools

    store = sys.stdin.readline().rstrip("\n")
    if not store:
        return
    with Kernel.open(store, create=False) as kernel, tools.mishap(_announce_and_wait):
        tools.register(kernel)
        kernel.run(look=False)


if __name__ == "__main__":
    main()
