# SPDX-License-Identifier: Apache-2.0
"""Reports of kind O, SQLite: several users, long readers, a full disk and broken pages lose nothing and say so.

The ids are those of the public reports listed in the shared `cases/bug_reports.md`; a letter stands apart from its
number here, because O-ids in test names are those of the seed documents.

| row | why it is not a test of its own here |
|---|---|
| O204 | an abort during a write with other writers is a kill of a real process: `tests/crash` does it at every point |
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from actum.adapters.store import sqlite
from actum.bootstrap import Kernel
from actum.model.errors import CorruptRecordError
from actum.testing.kernels import PERSON, append_action, open_kernel
from tests.unit.service.shop import Shop


def _together(*works: Any) -> list[BaseException]:
    """Run works at the same time in threads; return what they raised."""
    raised: list[BaseException] = []
    gate = threading.Barrier(len(works))

    def run(work: Any) -> None:
        gate.wait()
        try:
            work()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


def test_bug_o_195_two_users_at_once_are_both_served(shop: Shop, other: Kernel) -> None:
    def work(kernel: Kernel, name: str) -> Any:
        return lambda: [kernel.propose("ledger.append", {"entry": f"{name}-{n}"}) for n in range(25)]

    raised = _together(work(shop.kernel, "one"), work(other, "two"))
    assert raised == []
    assert len(shop.kernel.inbox()) == 50


def test_bug_o_196_a_runner_in_the_background_and_handlers_do_not_lock_each_other_out(
    shop: Shop, other: Kernel
) -> None:
    turns = [shop.append(f"e{n}") for n in range(20)]
    done = threading.Event()

    def runner() -> None:
        while not done.is_set():
            shop.kernel.run()
        shop.kernel.run()

    def handler() -> None:
        for turn in turns:
            other.confirm(turn.question_ids(), by=PERSON)
            other.activity()
        done.set()

    assert _together(runner, handler) == []
    assert sorted(shop.ledger.entries()) == sorted(f"e{n}" for n in range(20))
    assert {turn.state for turn in turns} == {"completed"}


def test_bug_o_198_a_read_of_the_front_door_ends_before_it_returns(shop: Shop) -> None:
    shop.done("a")
    kernel = shop.kernel
    for read in (kernel.inbox, kernel.activity, kernel.rungs, kernel.check_log):
        read()
    wal = shop.folder / ".actum" / "store.db-wal"
    store: Any = kernel.line.store
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite, "CHECKPOINT_PAGES", 50)
        for number in range(60):
            store.write(lambda tx, n=number: tx.set_meta(f"k{n}", "x" * 20_000))
            kernel.activity()
    assert wal.stat().st_size < 4 << 20


def test_bug_o_199_o_201_a_wal_that_grew_is_told_and_cut_when_its_reader_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "WAL_LIMIT", 1 << 20)
    monkeypatch.setattr(sqlite, "CHECKPOINT_PAGES", 100)
    shop = Shop(tmp_path)
    store: Any = shop.kernel.line.store
    wal = shop.folder / ".actum" / "store.db-wal"

    def fill(prefix: str) -> None:
        for number in range(20):
            store.write(lambda tx, n=number: tx.set_meta(f"{prefix}{n}", "x" * 300_000))

    def look(tx: Any) -> list[str]:
        tx.meta("k")
        fill("held")
        return store.check()

    assert any("reader" in line for line in store.read(look))
    grown = wal.stat().st_size
    fill("free")
    assert wal.stat().st_size < grown
    assert store.check() == []
    shop.kernel.close()


def _use(folder: Path, shop: Shop) -> None:
    with open_kernel(folder) as kernel:
        append_action(kernel, shop.ledger)
        kernel.activity()
        kernel.run()


def test_bug_o_202_a_malformed_image_is_refused_as_it_is_and_never_rebuilt(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    for number in range(40):
        shop.append(f"e{number}")
    shop.kernel.close()
    path = tmp_path / ".actum" / "store.db"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 3])
    broken = path.read_bytes()
    for _ in range(2):
        with pytest.raises(CorruptRecordError):
            _use(tmp_path, shop)
    assert path.read_bytes() == broken
