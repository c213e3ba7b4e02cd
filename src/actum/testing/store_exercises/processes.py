# SPDX-License-Identifier: Apache-2.0
"""Several processes share a store: no row is claimed twice, no write is torn, no lock reaches a caller."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import Any

from actum.testing.store_exercises.bench import Bench
from actum.testing.store_exercises.samples import Samples


class Child:
    """A process that opens the bench's store and waits for its start."""

    def __init__(self, bench: Bench, verb: str, name: str, count: int = 0) -> None:
        self._process = subprocess.Popen(
            [
                sys.executable, "-m", "actum.testing.store_exercises.child", bench.opener, bench.address, verb,
                name, str(count),
            ],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def start(self) -> None:
        """Let the process begin once its store is open."""
        assert self._process.stdin is not None
        assert self._line() == "ready", self._errors()
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def wait_for(self, line: str) -> None:
        """Return when the process printed a line."""
        while self._line() != line:
            assert self._process.poll() is None, self._errors()

    def kill(self) -> None:
        """Kill the process where it is."""
        self._process.send_signal(signal.SIGKILL)
        self._process.communicate()

    def answer(self) -> Any:
        """Return what the process answered; fail with its errors where it failed."""
        out, err = self._process.communicate(timeout=120)
        assert self._process.returncode == 0, err
        return json.loads(out.strip().splitlines()[-1])

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def _errors(self) -> str:
        return self._process.communicate()[1]


def two_processes_never_claim_the_same_row(bench: Bench) -> None:
    """Of rows that two processes claim as fast as they can, each goes to one of them, once."""
    store, s = bench.store(), Samples()
    turn_id = store.write(lambda tx: s.begun(tx))
    rows = [s.outbox(turn_id) for _ in range(120)]
    store.write(lambda tx: [tx.add_outbox(row) for row in rows])
    children = [Child(bench, "claim", name) for name in ("one", "two")]
    for child in children:
        child.start()
    claimed = [row for child in children for row in child.answer()]
    assert sorted(claimed) == [row.outbox_id for row in rows]
    stored = store.read(lambda tx: tx.outbox_of_turn(turn_id))
    assert {(row.epoch, row.attempts) for row in stored} == {(1, 1)}


def two_processes_write_and_no_lock_reaches_them(bench: Bench) -> None:
    """Thousands of rows from two processes are all there, and neither was told of a lock."""
    store = bench.store()
    children = [Child(bench, "write", name, 1000) for name in ("one", "two")]
    for child in children:
        child.start()
    assert [child.answer() for child in children] == [1000, 1000]
    assert bench.raw("SELECT count(*) FROM meta")[0][0] == 4000
    assert store.check() == []


def two_processes_append_to_one_log(bench: Bench) -> None:
    """What a write reads stays true until it commits: two processes number leaves without a gap or a clash."""
    store = bench.store()
    children = [Child(bench, "log", name, 150) for name in ("P", "Q")]
    for child in children:
        child.start()
    for child in children:
        assert child.answer() == 150
    assert store.read(lambda tx: [leaf.seq for leaf in tx.each_leaf()]) == list(range(300))
    assert store.read(lambda tx: tx.log_state())[0] == 300


def one_process_takes_the_runner_s_lease(bench: Bench) -> None:
    """Of two processes that start at once, one is the runner."""
    children = [Child(bench, "take", name, 1) for name in ("one", "two")]
    for child in children:
        child.start()
    assert sorted(child.answer() for child in children) == [False, True]
    assert bench.store().read(lambda tx: tx.runner()) is not None


def a_killed_writer_leaves_whole_writes(bench: Bench) -> None:
    """A process killed while it writes, with another writing, leaves each write whole or absent, and no damage."""
    store = bench.store()
    victim, other = Child(bench, "write", "victim", 100_000), Child(bench, "write", "other", 400)
    for child in (victim, other):
        child.start()
    victim.wait_for("100")
    victim.kill()
    assert other.answer() == 400
    names = [str(row[0]) for row in bench.raw("SELECT key FROM meta")]
    whole: dict[str, set[str]] = {}
    for name in names:
        start, _, part = name.rpartition("-")
        whole.setdefault(start, set()).add(part)
    assert all(parts == {"a", "b"} for parts in whole.values())
    assert sum(start.startswith("other") for start in whole) == 400
    assert sum(start.startswith("victim") for start in whole) >= 100
    assert store.check() == []
    store.write(lambda tx: tx.set_meta("after", "x"))


EXERCISES = (
    two_processes_never_claim_the_same_row,
    two_processes_write_and_no_lock_reaches_them,
    two_processes_append_to_one_log,
    one_process_takes_the_runner_s_lease,
    a_killed_writer_leaves_whole_writes,
)
