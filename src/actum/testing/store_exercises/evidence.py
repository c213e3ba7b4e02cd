# SPDX-License-Identifier: Apache-2.0
"""Executions, receipts, the log and the runner's lease: written once, in order, never taken back."""

from __future__ import annotations

import msgspec

from actum.model.delivery import Execution, ExecutionKind
from actum.ports.store import Tx
from actum.testing.store_exercises.bench import Bench, refused
from actum.testing.store_exercises.raw_rows import RawRows
from actum.testing.store_exercises.samples import LATER, NOW, Samples


def an_execution_is_finished_once(bench: Bench) -> None:
    """An execution comes back with what the executor said; a second end, or a second of an epoch, is refused."""
    store, s = bench.store(), Samples()
    row = store.write(lambda tx: s.dispatched(tx, s.begun(tx)))
    one = s.execution(row, before="b", before_digest=None)
    two = s.execution(row, kind=ExecutionKind.SETTLEMENT)
    store.write(lambda tx: [tx.add_execution(two), tx.add_execution(one)])
    assert store.read(lambda tx: tx.execution(one.execution_id)) == one
    assert store.read(lambda tx: tx.executions(row.outbox_id)) == [one, two]
    assert store.read(lambda tx: tx.execution("none")) is None

    def finish(said: str) -> None:
        store.write(
            lambda tx: tx.finish_execution(
                one.execution_id, finished_at_ms=NOW + 1, said=said, result_digest="r"
            )
        )

    finish("raised")
    found = store.read(lambda tx: tx.execution(one.execution_id))
    assert found is not None
    assert (found.finished_at_ms, found.result_digest) == (NOW + 1, "r")
    assert found.executor_said is not None
    assert found.executor_said.value == "raised"
    assert refused(lambda: finish("ok")) == "execution_finished_once"
    again = s.execution(row)
    assert refused(lambda: store.write(lambda tx: tx.add_execution(again))) == "execution_effect_once"


def an_execution_has_one_receipt(bench: Bench) -> None:
    """Receipts come back by id, payload, row and turn; a second one for an execution is refused."""
    store, s = bench.store(), Samples()
    turn_id = store.write(lambda tx: s.begun(tx))
    first = store.write(lambda tx: s.sealed(tx, turn_id, body=b'{"private":1}', envelope=b"\x00e"))
    second = store.write(lambda tx: s.sealed(tx, turn_id, settles=first.receipt_id))
    assert store.read(lambda tx: tx.receipts(turn_id)) == [first, second]
    assert store.read(lambda tx: tx.receipts_of_row(first.outbox_id)) == [first]
    assert store.read(lambda tx: tx.receipt(first.receipt_id)) == first
    assert store.read(lambda tx: tx.receipt(second.payload_digest)) == second
    assert store.read(lambda tx: tx.receipt("none")) is None
    fake = Execution(
        execution_id=first.execution_id, tenant="local", outbox_id=first.outbox_id, turn_id=turn_id, epoch=1,
        kind=ExecutionKind.EFFECT, started_at_ms=NOW, finished_at_ms=NOW, before=None, before_digest=None,
        executor_said=None, result_digest=None,
    )  # fmt: skip
    again = s.receipt(fake)
    assert refused(lambda: store.write(lambda tx: tx.add_receipt(again))) == "receipt_execution_once"


def receipts_are_in_the_order_of_the_log(bench: Bench) -> None:
    """The newest receipt is the one logged last, whatever the clocks said that gave the ids."""
    store, s = bench.store(), Samples()
    turn_id = store.write(lambda tx: s.begun(tx))
    first = store.write(lambda tx: s.sealed(tx, turn_id, receipt_id="Z9"))
    row = store.read(lambda tx: tx.outbox(first.outbox_id))
    assert row is not None
    settling = s.execution(row, kind=ExecutionKind.SETTLEMENT, finished_at_ms=NOW)
    second = s.receipt(settling, receipt_id="A0", settles=first.receipt_id)
    store.write(lambda tx: [tx.add_execution(settling), tx.add_receipt(second)])
    for seq, receipt in enumerate((first, second)):
        leaf = s.leaf(seq, payload_digest=receipt.payload_digest)
        store.write(lambda tx, leaf=leaf: tx.add_leaf(leaf))
    assert store.read(lambda tx: tx.receipts(turn_id)) == [first, second]
    assert store.read(lambda tx: tx.receipts_of_row(first.outbox_id)) == [first, second]
    ends = store.read(lambda tx: tx.turn_rows(turn_id)).receipts
    assert [end.receipt_id for end in ends] == ["Z9", "A0"]


def a_receipt_says_what_the_row_can_bear(bench: Bench) -> None:
    """No receipt before its execution ended; none of what was not dispatched says that it happened."""
    store, s = bench.store(), Samples()
    row = store.write(lambda tx: s.dispatched(tx, s.begun(tx)))
    open_one = s.execution(row)
    store.write(lambda tx: tx.add_execution(open_one))
    early = s.receipt(open_one)
    assert refused(lambda: store.write(lambda tx: tx.add_receipt(early))) == "receipt_after_execution"
    held = store.write(lambda tx: s.claimed(tx, s.begun(tx)))
    never = s.execution(held, finished_at_ms=NOW)
    store.write(lambda tx: tx.add_execution(never))
    for finality in ("initiated", "finalized"):
        lie = s.receipt(never, status=None, claimed_finality=finality, graded_finality=finality)
        told = refused(lambda lie=lie: store.write(lambda tx: tx.add_receipt(lie)))
        assert told == "receipt_happened_after_dispatch"
    honest = s.receipt(
        never, status="cancelled", claimed_finality="not_attempted", graded_finality="not_attempted"
    )
    store.write(lambda tx: tx.add_receipt(honest))
    rows = RawRows(bench, samples=s)
    undone = msgspec.structs.replace(never, execution_id="X1", kind=ExecutionKind.EFFECT, epoch=9)
    store.write(lambda tx: tx.add_execution(undone))
    receipt = s.receipt(undone)
    columns = {name: getattr(receipt, name) for name in receipt.__struct_fields__}
    for way in bench.ways:
        told = refused(lambda way=way: rows.insert("receipt", columns, way=way))
        assert told == "receipt_happened_after_dispatch", (way, told)


def the_log_has_no_gap_and_only_grows(bench: Bench) -> None:
    """Leaves follow one another from zero; size, frontier and chains come back and never shrink."""
    store, s = bench.store(), Samples()
    assert store.read(lambda tx: tx.log_state()) == (0, b"")
    leaves = [s.leaf(seq) for seq in range(3)]
    store.write(lambda tx: [tx.add_leaf(leaf) for leaf in leaves])
    assert store.read(lambda tx: list(tx.each_leaf())) == leaves
    assert store.read(lambda tx: list(tx.each_leaf(start=2))) == leaves[2:]
    for seq in (2, 4, -1):
        leaf = s.leaf(seq)
        told = refused(lambda leaf=leaf: store.write(lambda tx: tx.add_leaf(leaf)))
        assert told in ("log_leaf_next", "log_leaf_once"), told
    store.write(lambda tx: tx.set_log_state(3, b"front"))
    store.write(lambda tx: tx.set_log_state(3, b"other"))
    assert store.read(lambda tx: tx.log_state()) == (3, b"other")
    assert refused(lambda: store.write(lambda tx: tx.set_log_state(2, b""))) == "log_state_grows"
    assert [store.write(lambda tx: tx.next_in_chain("a")) for _ in range(3)] == [0, 1, 2]
    assert store.write(lambda tx: tx.next_in_chain("b")) == 0


def the_runner_s_lease_has_one_holder(bench: Bench) -> None:
    """The lease is taken over a known epoch or an absent row; who lost it cannot renew it."""
    store, s = bench.store(), Samples()
    one, two, three = s.runner("one", 1), s.runner("two", 2), s.runner("three", 2)
    assert store.read(lambda tx: tx.runner()) is None
    store.write(lambda tx: tx.set_meta("incarnation", "this"))
    assert store.read(lambda tx: tx.holds_runner("one", incarnation="this")) is False
    assert store.write(lambda tx: tx.take_runner(one, over_epoch=None)) is True
    assert store.read(lambda tx: tx.holds_runner("one", incarnation="this")) is True
    assert store.read(lambda tx: tx.holds_runner("one", incarnation="that")) is False
    assert store.read(lambda tx: tx.holds_runner("two", incarnation="this")) is False
    assert store.write(lambda tx: tx.take_runner(two, over_epoch=None)) is False
    assert store.write(lambda tx: tx.take_runner(two, over_epoch=7)) is False
    assert store.write(lambda tx: tx.renew_runner(holder="one", epoch=1, lease_until_ms=LATER + 5)) is True
    assert store.write(lambda tx: tx.take_runner(two, over_epoch=1)) is True
    assert store.write(lambda tx: tx.take_runner(three, over_epoch=1)) is False
    assert store.write(lambda tx: tx.renew_runner(holder="one", epoch=1, lease_until_ms=LATER)) is False
    assert store.write(lambda tx: tx.renew_runner(holder="two", epoch=1, lease_until_ms=LATER)) is False
    assert store.read(lambda tx: tx.runner()) == two


def assertions_events_and_facts_come_back(bench: Bench) -> None:
    """What a model said, what happened and the store's own facts are read back in order."""
    store, s = bench.store(), Samples()
    turn_id = store.write(lambda tx: s.begun(tx))
    said = [s.assertion(turn_id), s.assertion(turn_id, asserts=None, model_id=None)]
    store.write(lambda tx: [tx.add_assertion(one) for one in reversed(said)])
    assert store.read(lambda tx: tx.assertions(turn_id)) == said
    assert store.read(lambda tx: list(tx.each_assertion())) == said
    events = [s.event(), s.event(kind="step.failed", turn_id=turn_id), s.event(kind="step.failed")]
    store.write(lambda tx: [tx.add_event(one) for one in reversed(events)])
    assert store.read(lambda tx: tx.events()) == events
    assert store.read(lambda tx: tx.events(kind="step.failed")) == events[1:]
    assert store.read(lambda tx: tx.events(kind="step.failed", turn_id=turn_id)) == [events[1]]
    assert store.read(lambda tx: tx.events(turn_id=turn_id)) == [events[1]]

    def twice(tx: Tx) -> None:
        tx.set_meta("incarnation", "one")
        tx.set_meta("incarnation", "two")

    store.write(twice)
    assert store.read(lambda tx: tx.meta("incarnation")) == "two"
    assert store.read(lambda tx: tx.meta("none")) is None


EXERCISES = (
    an_execution_is_finished_once,
    an_execution_has_one_receipt,
    receipts_are_in_the_order_of_the_log,
    a_receipt_says_what_the_row_can_bear,
    the_log_has_no_gap_and_only_grows,
    the_runner_s_lease_has_one_holder,
    assertions_events_and_facts_come_back,
)
