# SPDX-License-Identifier: Apache-2.0
"""A real process is stopped at a point until its lease is over and another has finished its work; then it wakes.

Run as a script with a folder and a point; prints what came of it as one JSON object. Time is a file, so that a lease
ends when the script says so.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from actum.bootstrap.turn import Turn
from actum.service.runner import RUNNER_LEASE_MS
from actum.testing.clock import START_MS
from actum.testing.kernels import PERSON, Ledger, append_action, open_kernel
from tests.crash.agreement import disagreements


class FileClock:
    """Time read from a file that several processes share."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def now_ms(self) -> int:
        return int(self._path.read_text())

    monotonic_ms = now_ms

    def sleep_ms(self, duration_ms: int) -> None:
        """Nobody waits here."""

    def step(self, duration_ms: int) -> None:
        waiting = self._path.with_suffix(".new")
        waiting.write_text(str(self.now_ms() + duration_ms))
        os.replace(waiting, self._path)


def child(work: Callable[[], None]) -> int:
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return pid


def main(folder: Path, point: str) -> dict[str, object]:
    """Let a first process stand still at the point, a second one take over, and the first go on."""
    (folder / "clock").write_text(str(START_MS))
    clock = FileClock(folder / "clock")
    ledger = Ledger(folder / "ledger")

    def propose() -> None:
        kernel = open_kernel(folder, clock=clock)
        turn = append_action(kernel, ledger)("a")
        kernel.confirm(turn.question_ids(), by=PERSON)
        (folder / "turn").write_text(turn.turn_id)
        kernel.close()

    def first() -> None:
        kernel = open_kernel(folder, clock=clock)
        append_action(kernel, ledger)
        kernel.line.at_point = lambda reached: (
            os.kill(os.getpid(), signal.SIGSTOP) if reached == point else None
        )
        kernel.run()
        kernel.close()

    def second() -> None:
        kernel = open_kernel(folder, clock=clock)
        append_action(kernel, ledger)
        kernel.run()
        kernel.run()
        kernel.close()

    os.waitpid(child(propose), 0)
    stopped = child(first)
    _, status = os.waitpid(stopped, os.WUNTRACED)
    clock.step(RUNNER_LEASE_MS + 1)
    _, took_over = os.waitpid(child(second), 0)
    acted_meanwhile = ledger.count("a")
    os.kill(stopped, signal.SIGCONT)
    _, woke = os.waitpid(stopped, 0)
    kernel = open_kernel(folder, clock=clock)
    append_action(kernel, ledger)
    turn = Turn(kernel.line, (folder / "turn").read_text())
    found: dict[str, object] = {
        "was_stopped": os.WIFSTOPPED(status),
        "ended": [os.WEXITSTATUS(took_over), os.WEXITSTATUS(woke)],
        "acted_meanwhile": acted_meanwhile,
        "acted": ledger.count("a"),
        "statuses": [receipt.status.value if receipt.status else None for receipt in turn.receipts()],
        "disagreements": disagreements(kernel, at_rest=False),
    }
    kernel.close()
    return found


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), sys.argv[2])))
