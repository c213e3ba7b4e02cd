# SPDX-License-Identifier: Apache-2.0
"""Reports of kind N, outbox, leases and zombies: whoever lost a row writes nothing about it and sends nothing for it.

The ids are those of the public reports listed in the shared `cases/bug_reports.md`; a letter stands apart from its
number here, because N-ids in test names are those of the seed documents. All eight rows are here.
"""

from __future__ import annotations

import threading
from typing import Any

from actum.bootstrap import Kernel
from actum.model.delivery import OutboxState
from actum.service.deliver import claim_due
from actum.service.line import LEASE_MS
from actum.service.runner import RUNNER_LEASE_MS, renew
from actum.testing.kernels import PERSON
from tests.unit.service.shop import Shop


def _claimed(shop: Shop) -> Any:
    """Return a row that this process has claimed and not dispatched."""
    shop.kernel.run()
    shop.confirmed("a")
    return claim_due(shop.kernel.line)[0]


def _write(shop: Shop, work: Any) -> Any:
    return shop.kernel.line.store.write(work)


def test_bug_n_183_a_long_action_keeps_its_lease_by_beats_and_settling_needs_its_epoch(shop: Shop) -> None:
    row = _claimed(shop)
    for _ in range(5):
        shop.clock.step(LEASE_MS - 1_000)
        assert renew(shop.kernel.line, epoch=1)
    held = shop.read(lambda tx: tx.outbox(row.outbox_id))
    assert (held.state, held.epoch) == (OutboxState.CLAIMED, row.epoch)
    assert held.lease_until_ms > shop.clock.now_ms()
    stale = _write(
        shop,
        lambda tx: tx.move_outbox(
            row.outbox_id, epoch=row.epoch - 1, state=OutboxState.CLAIMED, to=OutboxState.READY
        ),
    )
    assert stale is False


def test_bug_n_184_an_expired_row_is_taken_by_exactly_one_of_many(shop: Shop) -> None:
    row = _claimed(shop)
    shop.clock.step(LEASE_MS + 1)
    now, won, gate = shop.clock.now_ms(), [], threading.Barrier(4)

    def take(name: str) -> None:
        gate.wait()
        rows = _write(
            shop,
            lambda tx: tx.claim(
                holder=name,
                now_ms=now,
                lease_until_ms=now + LEASE_MS,
                limit=9,
                capabilities=["ledger.append"],
            ),
        )
        won.extend((name, found.epoch) for found in rows)

    threads = [threading.Thread(target=take, args=(f"d{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert won[0][1] == row.epoch + 1


def test_bug_n_186_a_lease_lost_before_the_call_is_retried_and_one_lost_after_it_is_uncertain(
    shop: Shop,
) -> None:
    before, after = shop.confirmed("before"), None
    shop.run_until_stopped("after_claim")
    shop.restart()
    shop.kernel.run()
    assert shop.grade(before) == ("finalized", "verified")
    after = shop.confirmed("after")
    shop.run_until_stopped("after_execute")
    shop.restart()
    shop.kernel.run(look=False)
    assert shop.row(before).state is OutboxState.SETTLED
    assert shop.row(after).state is OutboxState.CHECK_REQUIRED
    assert shop.ledger.entries() == ["before", "after"]


def test_bug_n_187_leaving_in_the_middle_gives_no_dispatched_row_back(shop: Shop) -> None:
    turn = shop.confirmed("a")
    shop.run_until_stopped("after_execute")
    shop.kernel.line.at_point = None
    shop.kernel.close()
    row = Shop(shop.folder)
    try:
        found = row.read(lambda tx: tx.outbox_of_turn(turn.turn_id))[-1]
        assert found.state in (OutboxState.DISPATCHED, OutboxState.CHECK_REQUIRED)
        row.kernel.run()
        assert row.ledger.entries() == ["a"]
    finally:
        row.kernel.close()


def test_bug_n_189_a_lease_that_is_over_renews_completes_and_marks_nothing(shop: Shop) -> None:
    row = _claimed(shop)
    shop.clock.step(LEASE_MS + 1)
    now, holder = shop.clock.now_ms(), shop.kernel.line.holder
    assert _write(shop, lambda tx: tx.renew_leases(holder=holder, now_ms=now, lease_until_ms=now + 9)) == 0
    assert not _write(shop, lambda tx: tx.mark_dispatched(row.outbox_id, epoch=row.epoch, now_ms=now))
    assert shop.read(lambda tx: tx.outbox(row.outbox_id)).state is OutboxState.CLAIMED


def test_bug_n_190_the_beat_of_a_runner_that_was_replaced_fails(shop: Shop, other: Kernel) -> None:
    shop.kernel.run()
    shop.clock.step(RUNNER_LEASE_MS + 1)
    other.run()
    assert renew(shop.kernel.line, epoch=1) is False
    shop.confirmed("a")
    other.run()
    assert shop.ledger.entries() == ["a"]


def test_bug_n_192_a_superseded_worker_completes_nothing(shop: Shop, other: Kernel) -> None:
    row = _claimed(shop)
    shop.clock.step(RUNNER_LEASE_MS + 1)
    other.run()
    assert shop.ledger.entries() == ["a"]
    for to in (OutboxState.SETTLED, OutboxState.READY, OutboxState.DEAD):
        for state in (OutboxState.CLAIMED, OutboxState.DISPATCHED):
            assert not _write(
                shop,
                lambda tx, state=state, to=to: tx.move_outbox(
                    row.outbox_id, epoch=row.epoch, state=state, to=to
                ),
            )
    assert shop.read(lambda tx: tx.outbox(row.outbox_id)).epoch == row.epoch + 1


def test_bug_n_193_a_worker_that_wakes_after_its_lease_does_not_act_on_the_world(
    shop: Shop, other: Kernel
) -> None:
    shop.kernel.run()
    turn = shop.append("a")
    shop.kernel.confirm(turn.question_ids(), by=PERSON)
    asleep = [True]

    def sleep(point: str) -> None:
        if point == "before_execute" and asleep.pop():
            shop.clock.step(RUNNER_LEASE_MS + LEASE_MS)
            other.run(look=False)
            asleep.append(False)

    shop.kernel.line.at_point = sleep
    shop.kernel.run(look=False)
    assert shop.ledger.entries() == []
    assert [one.graded.finality.value for one in shop.receipts(turn)] == ["indeterminate"]
