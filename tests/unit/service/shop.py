# SPDX-License-Identifier: Apache-2.0
"""A kernel with a ledger, whose process can be stopped at a point and taken up by another one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from actum.bootstrap import Kernel
from actum.bootstrap.turn import Turn
from actum.model.delivery import OutboxRow
from actum.model.receipt import Receipt
from actum.testing.clock import SimulatedClock
from actum.testing.kernels import PERSON, Ledger, append_action, open_kernel, perform


class Stopped(BaseException):
    """The process ends here; nothing in it may handle that."""


class Shop:
    """One place on the disk, its ledger, and the kernel of the process that has it open now."""

    def __init__(self, folder: Path, **declared: Any) -> None:
        self.folder = folder
        self.clock = SimulatedClock()
        self.ledger = Ledger(folder / "ledger.txt")
        self.declared = declared
        self.kernel = self._open()

    def _open(self) -> Kernel:
        kernel = open_kernel(self.folder, clock=self.clock)
        self.append = append_action(kernel, self.ledger, **self.declared)
        return kernel

    # -- acting ----------------------------------------------------------------------------------------------

    def done(self, entry: str, **options: Any) -> Turn:
        """Propose, confirm and run one entry."""
        turn = self.append(entry)
        perform(self.kernel, turn, **options)
        return turn

    def confirmed(self, entry: str) -> Turn:
        """Propose and confirm one entry; nothing runs yet."""
        turn = self.append(entry)
        self.kernel.confirm(turn.question_ids(), by=PERSON)
        return turn

    def run_later(self, ms: int = 600_000) -> None:
        """Let time pass and run."""
        self.clock.step(ms)
        self.kernel.run()

    # -- stopping --------------------------------------------------------------------------------------------

    def stop_at(self, point: str, *, at: int = 1) -> None:
        """Make this process end when a point is reached for the ``at``-th time."""
        left = [at]

        def listen(reached: str) -> None:
            if reached == point:
                left[0] -= 1
                if left[0] == 0:
                    raise Stopped(point)

        self.kernel.line.at_point = listen

    def run_until_stopped(self, point: str, *, at: int = 1) -> None:
        """Run until the process ends at a point."""
        self.stop_at(point, at=at)
        try:
            self.kernel.run()
        except Stopped:
            return
        raise AssertionError(f"{point} was not reached")

    def restart(self, *, holder_ended: bool = True) -> Kernel:
        """Leave this process as a kill does, without giving anything back, and open the place in another one."""
        self.abandon()
        self.clock.step(60_000)
        self.kernel = self._open()
        self.kernel.line.is_gone = lambda runner: holder_ended
        return self.kernel

    def abandon(self) -> None:
        """End this process's hold on the file, and nothing else."""
        kernel: Any = self.kernel
        kernel._runner._stop.set()
        kernel.line.store.close()

    # -- reading ---------------------------------------------------------------------------------------------

    def read(self, work: Callable[[Any], Any]) -> Any:
        """Read the store."""
        return self.kernel.line.store.read(work)

    def turn(self, turn: Turn) -> Turn:
        """Return the same turn in the process that is open now."""
        return Turn(self.kernel.line, turn.turn_id)

    def row(self, turn: Turn) -> OutboxRow:
        """Return the newest outbox row of a turn."""
        return self.read(lambda tx: tx.outbox_of_turn(turn.turn_id))[-1]

    def receipts(self, turn: Turn) -> list[Receipt]:
        """Return the receipts of a turn, oldest first."""
        rows = self.read(lambda tx: tx.receipts(turn.turn_id))
        return [msgspec.json.decode(row.body, type=Receipt) for row in rows]

    def grade(self, turn: Turn) -> tuple[str, str]:
        """Return finality and confidence of the newest receipt of a turn."""
        newest = self.receipts(turn)[-1]
        return newest.graded.finality.value, newest.graded.confidence.value

    def events(self, kind: str) -> list[dict[str, Any]]:
        """Return the bodies of the activity log's events of a kind."""
        return [msgspec.json.decode(event.body) for event in self.read(lambda tx: tx.events(kind=kind))]
