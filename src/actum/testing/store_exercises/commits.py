# SPDX-License-Identifier: Apache-2.0
"""Writes share commits and stay whole; a write that raises leaves nothing; a read cannot write."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from actum.model.errors import InvariantViolation, RefusedError, UsageError
from actum.ports.store import Store, Tx
from actum.testing.store_exercises.bench import Bench, raised, refused
from actum.testing.store_exercises.samples import Samples, digest


class _Stop(Exception):
    """Raised by exercises inside a write."""


def a_write_that_raises_leaves_nothing(bench: Bench) -> None:
    """Neither the state change nor the outbox row it caused is kept, and what it raised is raised."""
    store, s = bench.store(), Samples()
    turn_id = store.write(lambda tx: s.begun(tx))

    def work(tx: Tx) -> None:
        row = s.ready(tx, turn_id)
        tx.put_activity(s.activity(turn_id))
        tx.set_meta("state", "changed")
        assert tx.outbox(row.outbox_id) == row
        raise _Stop

    assert isinstance(raised(lambda: store.write(work)), _Stop)
    other = bench.open()
    for one in (store, other):
        assert one.read(lambda tx: tx.outbox_of_turn(turn_id)) == []
        assert one.read(lambda tx: tx.activity(turn_id)) is None
        assert one.read(lambda tx: tx.meta("state")) is None
    store.write(lambda tx: s.ready(tx, turn_id))
    assert len(other.read(lambda tx: tx.outbox_of_turn(turn_id))) == 1


def a_refused_row_takes_the_whole_write_with_it(bench: Bench) -> None:
    """A write that catches a refusal and goes on is not kept: what it built on is not there."""
    store, s = bench.store(), Samples()
    turn_id = store.write(lambda tx: s.begun(tx))

    def work(tx: Tx) -> str:
        tx.set_meta("before", "x")
        try:
            tx.add_visit(s.visit(turn_id))
        except RefusedError:
            return "went on"
        raise AssertionError("a second visit of a step was taken")

    assert refused(lambda: store.write(work)) == "step_visit_once"
    assert store.read(lambda tx: tx.meta("before")) is None
    store.write(lambda tx: tx.set_meta("after", "y"))
    assert store.read(lambda tx: tx.meta("after")) == "y"


def many_threads_share_commits_and_harm_nobody(bench: Bench) -> None:
    """Each write of a shared commit is all or nothing: those that raise leave nothing, the others everything."""
    store = bench.store()
    count = 40
    outcome: dict[int, object] = {}
    begun, go = threading.Event(), threading.Event()

    def hold(tx: Tx) -> None:
        tx.set_meta("hold", "x")
        begun.set()
        go.wait(30)

    def work(number: int) -> Callable[[Tx], int]:
        def inner(tx: Tx) -> int:
            tx.set_meta(f"a{number}", "x")
            if number % 4 == 1:
                raise _Stop
            if number % 4 == 2:
                tx.add_role("bob", "king", by="eve", now_ms=1)
            tx.set_meta(f"b{number}", "x")
            return number

        return inner

    def run(number: int) -> None:
        try:
            outcome[number] = store.write(work(number))
        except Exception as error:
            outcome[number] = error

    first = threading.Thread(target=lambda: store.write(hold))
    first.start()
    assert begun.wait(30)
    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    _wait_until(lambda: _waiting(store) == count)
    go.set()
    for thread in [first, *threads]:
        thread.join()
    for number in range(count):
        kept = store.read(lambda tx, n=number: [tx.meta(f"a{n}"), tx.meta(f"b{n}")])
        match number % 4:
            case 1:
                assert isinstance(outcome[number], _Stop)
                assert kept == [None, None]
            case 2:
                assert isinstance(outcome[number], RefusedError)
                assert kept == [None, None]
            case _:
                assert outcome[number] == number
                assert kept == ["x", "x"]
    assert store.commits() == 2, "one commit for the first write, one for all that waited meanwhile"


def more_writers_than_a_group_are_all_answered(bench: Bench) -> None:
    """With more threads than one commit takes, every write is made and returns its own result."""
    store = bench.store()
    results: list[int] = []
    go = threading.Event()

    def run(number: int) -> None:
        def work(tx: Tx) -> int:
            if number == 0:
                go.wait(30)
            tx.set_meta(str(number), "x")
            return number

        results.append(store.write(work))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(300)]
    for thread in threads:
        thread.start()
    _wait_until(lambda: _waiting(store) >= 290)
    go.set()
    for thread in threads:
        thread.join()
    assert sorted(results) == list(range(300))
    assert all(store.read(lambda tx, n=n: tx.meta(str(n))) == "x" for n in range(300))


def _waiting(store: Store) -> int:
    return len(getattr(store, "_queue", range(1_000_000)))


def _wait_until(true: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(3000):
        if true():
            return
        pause.wait(0.01)
    raise AssertionError("this did not become true within 30 seconds")


def a_read_is_a_snapshot_that_cannot_write(bench: Bench) -> None:
    """A read sees one moment, whatever is committed meanwhile; every write inside it fails and changes nothing."""
    store, other, s = bench.store(), bench.open(), Samples()
    store.write(lambda tx: tx.set_meta("k", "old"))

    def look(tx: Tx) -> tuple[str | None, str | None]:
        before = tx.meta("k")
        other.write(lambda tx: tx.set_meta("k", "new"))
        return before, tx.meta("k")

    assert store.read(look) == ("old", "old")
    assert store.read(lambda tx: tx.meta("k")) == "new"
    item = s.item()
    writes: list[Callable[[Tx], object]] = [
        lambda tx: tx.add_work_item(item),
        lambda tx: tx.set_meta("k", "never"),
        lambda tx: tx.put_content(digest("x"), b"x", now_ms=1),
    ]
    for work in writes:
        error = raised(lambda work=work: store.read(work))
        assert getattr(error, "code", None) == "store_unwritable", error
    assert store.read(lambda tx: (tx.work_item(item.work_item_id), tx.meta("k"))) == (None, "new")


def a_glance_sees_the_last_write_and_writes_nothing(bench: Bench) -> None:
    """A glance reads what was committed last, keeps nothing that is written in it, and holds no write inside."""
    store = bench.store()
    store.write(lambda tx: tx.set_meta("k", "old"))
    assert store.glance(lambda tx: tx.meta("k")) == "old"
    assert store.glance(lambda tx: store.glance(lambda inner: inner.meta("k"))) == "old"

    def both(tx: Tx) -> str | None:
        tx.set_meta("k", "new")
        return store.glance(lambda inner: inner.meta("k"))

    assert store.write(both) == "old"
    raised(lambda: store.glance(lambda tx: tx.set_meta("k", "never")))
    inside = raised(lambda: store.glance(lambda tx: _write_into(store)))
    assert isinstance(inside, InvariantViolation | _Stop)
    assert isinstance(raised(lambda: store.glance(_stop)), _Stop)
    assert store.read(lambda tx: tx.meta("k")) == "new"
    store.write(lambda tx: tx.set_meta("k", "last"))
    assert bench.open().read(lambda tx: tx.meta("k")) == "last"


def _stop(tx: Tx) -> None:
    del tx
    raise _Stop


def _write_into(store: Store) -> None:
    store.write(lambda tx: tx.set_meta("inside", "x"))
    raise _Stop


def a_transaction_is_of_no_use_after_its_end(bench: Bench) -> None:
    """A transaction that was kept beyond its function stops, and so does a write inside a write."""
    store = bench.store()
    kept: list[Tx] = []
    store.write(kept.append)
    store.read(kept.append)
    for tx in kept:
        assert isinstance(raised(lambda tx=tx: tx.meta("k")), InvariantViolation)
        assert isinstance(raised(lambda tx=tx: tx.set_meta("k", "v")), InvariantViolation)

    def nested(tx: Tx) -> None:
        del tx
        store.write(lambda inner: inner.set_meta("k", "v"))

    assert isinstance(raised(lambda: store.write(nested)), InvariantViolation)
    assert store.read(lambda tx: tx.meta("k")) is None


def a_write_is_seen_by_others_once_it_returned(bench: Bench) -> None:
    """Another store object on the same database sees a write as soon as it returned, and commits are counted."""
    store, other = bench.store(), bench.open()
    before = store.commits()
    for number in range(5):
        store.write(lambda tx, n=number: tx.set_meta("k", str(n)))
        assert other.read(lambda tx: tx.meta("k")) == str(number)
    assert store.commits() == before + 5
    assert store.check() == []


def a_long_read_is_streamed_while_others_write(bench: Bench) -> None:
    """A read over many rows holds them one by one, sees its snapshot, and blocks no writer."""
    store, other, s = bench.store(), bench.open(), Samples()
    leaves = [s.leaf(seq) for seq in range(2500)]
    store.write(lambda tx: [tx.add_leaf(leaf) for leaf in leaves])

    def look(tx: Tx) -> int:
        found: Iterator[object] = tx.each_leaf()
        seen = 0
        for _ in found:
            if seen == 10:
                other.write(lambda tx: tx.add_leaf(s.leaf(2500)))
            seen += 1
        return seen

    assert store.read(look) == 2500
    assert store.read(lambda tx: sum(1 for _ in tx.each_leaf())) == 2501


def a_closed_store_says_so(bench: Bench) -> None:
    """Closing twice is harmless; a call after it is refused in words."""
    store = bench.open()
    store.close()
    store.close()
    calls: list[Callable[[], object]] = [
        lambda: store.write(lambda tx: tx.meta("k")),
        lambda: store.read(lambda tx: tx.meta("k")),
    ]
    for call in calls:
        error = raised(call)
        assert isinstance(error, UsageError), error
        assert error.code == "store_closed"


EXERCISES = (
    a_write_that_raises_leaves_nothing,
    a_refused_row_takes_the_whole_write_with_it,
    many_threads_share_commits_and_harm_nobody,
    more_writers_than_a_group_are_all_answered,
    a_read_is_a_snapshot_that_cannot_write,
    a_glance_sees_the_last_write_and_writes_nothing,
    a_transaction_is_of_no_use_after_its_end,
    a_write_is_seen_by_others_once_it_returned,
    a_long_read_is_streamed_while_others_write,
    a_closed_store_says_so,
)
