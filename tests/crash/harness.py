# SPDX-License-Identifier: Apache-2.0
"""Stops a real process at a point, lets others take the day up again, and counts what came of it.

A process is forked from this one, which has everything imported and has opened nothing. It is stopped by SIGKILL
from within. The last process works to the end and writes what it found to a file.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

import actum.adapters.models.configured
import actum.adapters.store.sqlite
import actum.process.activate  # noqa: F401 - imported here, so that no forked process has to
from actum.model import foreign
from actum.model.delivery import OutboxKind
from actum.model.receipt import Receipt
from actum.service.points import AFTER_EXECUTE
from actum.service.standing import newest
from tests.crash.agreement import disagreements
from tests.crash.workload import AT_MOST_ONCE, NEVER, ONCE, Day, turns_of

ENDED, KILLED = "ended", "killed"
FILES = {"new": 1, "moved": 1, "to-move": 0, "to-trash": 0}


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    """One stop: the process is killed when the point is reached for the ``at``-th time."""

    point: str
    at: int


COUNTED = Stop(point=AFTER_EXECUTE, at=2)
"""The stop after which it is counted what a second process reaches."""


class Result(msgspec.Struct, kw_only=True):
    """What came of one day: how each process ended, and what the last one found."""

    point: str
    seed: int
    ends: list[str]
    reached: bool = False
    lost: list[str] = []
    repeated: list[str] = []
    wrongly_called_verified: list[str] = []
    disagreements: list[str] = []

    def clean(self) -> bool:
        """Tell whether nothing is wrong."""
        return self.reached and not (
            self.lost or self.repeated or self.wrongly_called_verified or self.disagreements
        )


def scratch() -> Path:
    """Return a new folder, in memory where there is such a place: a killed process loses no page of it either way."""
    shm = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="actum-crash-", dir=shm if os.access(shm, os.W_OK) else None))


def forked(work: Callable[[], None]) -> str:
    """Run ``work`` in a process of its own; return how it ended, or what it raised."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            os.write(writer, traceback.format_exc().encode()[-4000:])
        finally:
            os._exit(code)
    os.close(writer)
    with open(reader, "rb") as pipe:
        said = pipe.read().decode()
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return KILLED if os.WTERMSIG(status) == signal.SIGKILL else f"signal {os.WTERMSIG(status)}"
    return ENDED if os.WEXITSTATUS(status) == 0 else said


def killer(stop: Stop | None) -> Callable[[str], None]:
    """Return the listener that kills its own process at a stop."""
    seen: Counter[str] = Counter()

    def at_point(point: str) -> None:
        seen[point] += 1
        if stop is not None and stop.point == point and seen[point] == stop.at:
            os.kill(os.getpid(), signal.SIGKILL)

    return at_point


def counts_of(folder: Path, *, number: int) -> Counter[str]:
    """Return how often each point is reached by a day that nothing stops from here on."""
    report = folder / f"reached-{number}.json"

    def work() -> None:
        seen: Counter[str] = Counter()
        day = Day(folder, number=number, at_point=lambda point: seen.update([point]))
        day.work()
        day.close()
        report.write_text(json.dumps(seen))

    ended = forked(work)
    if ended != ENDED:
        raise AssertionError(ended)
    return Counter(json.loads(report.read_text()))


class Harness:
    """Plans and runs days. What is reached when is counted once, from days that were not stopped or stopped once."""

    def __init__(self) -> None:
        self._seconds: dict[Stop, Counter[str]] = {}
        folder = scratch()
        try:
            self.first = counts_of(folder, number=0)
            shutil.rmtree(folder)
            folder.mkdir()
            self.killed(folder, COUNTED, number=0)
            self.second = counts_of(folder, number=1)
            shutil.rmtree(folder)
            folder.mkdir()
            self.killed(folder, COUNTED, number=0)
            self.adopting = counts_of(moved(folder), number=1)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            shutil.rmtree(folder.with_name(folder.name + "-copy"), ignore_errors=True)

    @staticmethod
    def killed(folder: Path, stop: Stop, *, number: int) -> str:
        """Begin the day in a process that is killed at a stop, if it gets there; return how it ended."""

        def work() -> None:
            day = Day(folder, number=number, at_point=killer(stop))
            day.work()
            day.close()

        return forked(work)

    def plan(self, point: str, seed: int) -> tuple[list[Stop], bool]:
        """Return the stops of a seed's day, and whether the store is copied after the first of them."""
        draw = _draws(point, seed)
        pick = lambda counts, name: Stop(point=name, at=1 + next(draw) % counts[name])  # noqa: E731
        early = pick(self.first, AFTER_EXECUTE)
        if self.first[point]:
            stops = [pick(self.first, point)]
            if seed % 2:
                others = sorted(name for name, count in self.second.items() if count)
                stops.append(Stop(point=others[next(draw) % len(others)], at=1))
            return stops, False
        copied = not self.second[point]
        if copied and not self.adopting[point]:
            return [], False
        if copied:
            return [early, Stop(point=point, at=1)], True
        if seed % 2:
            return [self._leading_to(point, early), Stop(point=point, at=1)], False
        return [COUNTED, pick(self.second, point)], False

    def _leading_to(self, point: str, early: Stop) -> Stop:
        """Return this stop, or the next one like it after which another process reaches the point."""
        count = self.first[early.point]
        for step in range(count):
            at = 1 + (early.at - 1 + step) % count
            if self._second_after(Stop(point=early.point, at=at))[point]:
                return Stop(point=early.point, at=at)
        return early

    def _second_after(self, stop: Stop) -> Counter[str]:
        if stop not in self._seconds:
            folder = scratch()
            try:
                self.killed(folder, stop, number=0)
                self._seconds[stop] = counts_of(folder, number=1)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        return self._seconds[stop]

    def day(self, point: str, seed: int) -> Result:
        """Run one day with its stops and return what came of it."""
        stops, copied = self.plan(point, seed)
        result = Result(point=point, seed=seed, ends=[])
        if not stops:
            return result
        folder = scratch()
        here = folder
        try:
            for number, stop in enumerate(stops):
                if copied and number == 1:
                    here = moved(folder)
                ended = self.killed(here, stop, number=number)
                result.ends.append(ended)
                result.reached = result.reached or (stop.point == point and ended == KILLED)
                if ended not in (KILLED, ENDED):
                    result.disagreements.append(ended)
            self._finish(here, number=len(stops), result=result, copied=copied)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            shutil.rmtree(folder.with_name(folder.name + "-copy"), ignore_errors=True)
        return result

    @staticmethod
    def _finish(folder: Path, *, number: int, result: Result, copied: bool) -> None:
        report = folder / "report.json"

        def work() -> None:
            day = Day(folder, number=number)
            day.work()
            found = judge(day, copied=copied)
            day.close()
            report.write_text(json.dumps(found))

        ended = forked(work)
        result.ends.append(ended)
        if ended != ENDED:
            result.disagreements.append(ended)
            return
        for name, problems in json.loads(report.read_text()).items():
            getattr(result, name).extend(problems)


def moved(folder: Path) -> Path:
    """Copy a place as a backup would; the copy does not run until it is adopted."""
    copy = folder.with_name(folder.name + "-copy")
    shutil.copytree(folder, copy)
    return copy


def judge(day: Day, *, copied: bool) -> dict[str, list[str]]:
    """Compare the world with what the store says of it."""
    entries = Counter(day.ledger.entries())
    ends = chain_ends(day)
    lost = [entry for entry in ONCE if not entries[entry] and (not copied or ends.get(entry) == "verified")]
    repeated = [f"{entry}: {count} times" for entry, count in entries.items() if count > 1]
    repeated += [f"{entry} was done" for entry in NEVER if entries[entry]]
    wrong = [
        f"{entry} is called {end}" for entry, end in ends.items() if end == "verified" and entries[entry] != 1
    ]
    wrong += [f"{entry} is called {end}" for entry, end in ends.items() if end == "undone" and entries[entry]]
    lost += [f"{entry} has no end" for entry in (*ONCE, *AT_MOST_ONCE, *NEVER) if entry not in ends]
    names = Counter(path.name for path in day.files.iterdir())
    if not copied:
        lost += [f"file {name}" for name, count in FILES.items() if count and not names[name]]
        repeated += [
            f"file {name} is still there" for name, count in FILES.items() if not count and names[name]
        ]
    return {
        "lost": lost,
        "repeated": repeated,
        "wrongly_called_verified": wrong,
        "disagreements": disagreements(day.kernel),
    }


def chain_ends(day: Day) -> dict[str, str]:
    """Return how each ledger entry ended: verified, undone (seen not to be there), or unverified."""
    ends: dict[str, str] = {}

    def read(tx: Any) -> None:
        for turn in turns_of(day.kernel):
            rows = {row.outbox_id: row for row in tx.outbox_of_turn(turn.turn_id)}
            for end in newest(tx.receipts(turn.turn_id)):
                row = rows[end.outbox_id]
                effect = tx.effect(row.effect_digest) if row.kind is OutboxKind.EFFECT else None
                arguments = foreign.to_plain(foreign.decode_foreign(effect.arguments)) if effect else {}
                if "entry" in arguments:
                    ends[str(arguments["entry"])] = _word(msgspec.json.decode(end.body, type=Receipt))

    day.kernel.line.store.read(read)
    return ends


def _word(receipt: Receipt) -> str:
    if receipt.graded.confidence.value != "verified":
        return "unverified"
    return "verified" if receipt.graded.finality.value == "finalized" else "undone"


def _draws(point: str, seed: int) -> Any:
    number = 0
    while True:
        yield int.from_bytes(hashlib.sha256(f"{point}/{seed}/{number}".encode()).digest()[:4], "big")
        number += 1


def run_all(days: Sequence[tuple[str, int]]) -> list[Result]:
    """Run days, each a point and a seed, one after the other."""
    harness = Harness()
    return [harness.day(point, seed) for point, seed in days]
