# SPDX-License-Identifier: Apache-2.0
"""One process dispatches; one that was held up past its lease neither acts nor writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from actum.bootstrap import Kernel
from actum.model.delivery import OutboxRow, OutboxState
from actum.model.errors import EnvironmentFault
from actum.service import deliver as delivery
from actum.service.recover import left_behind
from actum.service.runner import RUNNER_LEASE_MS, renew, take_lease
from actum.testing.kernels import PERSON, append_action, open_kernel
from tests.crash.agreement import disagreements
from tests.unit.service.shop import Shop


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path)
    yield made
    made.kernel.close()


@pytest.fixture
def other(shop: Shop) -> Iterator[Kernel]:
    """The same place, open in another process as far as anything can tell."""
    kernel = open_kernel(shop.folder, clock=shop.clock)
    append_action(kernel, shop.ledger)
    yield kernel
    kernel.close()


def test_r124_a_second_runner_is_refused_while_the_first_has_the_lease(shop: Shop, other: Kernel) -> None:
    shop.confirmed("a")
    shop.kernel.run()
    shop.confirmed("b")
    with pytest.raises(EnvironmentFault) as caught:
        other.run()
    assert caught.value.code == "runner_elsewhere"
    assert shop.ledger.entries() == ["a"]


def test_r124_a_lease_that_is_over_is_taken_over_with_its_rows(shop: Shop, other: Kernel) -> None:
    turn = shop.confirmed("a")
    shop.run_until_stopped("after_claim")
    assert shop.row(turn).state is OutboxState.CLAIMED
    shop.clock.step(RUNNER_LEASE_MS + 1)
    other.run()
    assert shop.ledger.entries() == ["a"]
    assert shop.grade(turn) == ("finalized", "verified")
    assert shop.row(turn).epoch == 2


def test_r124_one_row_is_claimed_by_one_holder_only(shop: Shop, other: Kernel) -> None:
    shop.confirmed("a")
    now = shop.clock.now_ms()
    claims = [
        line.store.write(
            lambda tx, name=name: tx.claim(
                holder=name, now_ms=now, lease_until_ms=now + 1000, limit=10, capabilities=["ledger.append"]
            )
        )
        for name, line in (("one", shop.kernel.line), ("two", other.line))
    ]
    assert [len(rows) for rows in claims] == [1, 0]


def overtaken(shop: Shop, other: Kernel, *, at: str) -> None:
    """While the first process stands still at a point, its lease ends and the other takes everything over."""

    def listen(reached: str) -> None:
        if reached == at:
            shop.kernel.line.at_point = None
            shop.clock.step(RUNNER_LEASE_MS + 1)
            other.run()

    shop.kernel.line.at_point = listen


@pytest.mark.parametrize("point", ["after_claim", "before_dispatch"])
def test_a_process_that_wakes_after_its_lease_does_not_act(point: str, shop: Shop, other: Kernel) -> None:
    shop.kernel.run()
    turn = shop.append("a")
    other.confirm(turn.question_ids(), by="ann")
    overtaken(shop, other, at=point)
    shop.kernel.run()
    assert shop.ledger.entries() == ["a"]
    assert len(shop.receipts(turn)) == 1
    assert shop.grade(turn) == ("finalized", "verified")
    assert disagreements(other) == []


def test_rule_3_a_process_that_lost_its_lease_in_the_midst_of_a_run_claims_nothing_more(
    shop: Shop, other: Kernel
) -> None:
    shop.kernel.run()
    later = [shop.append(entry) for entry in "bc"]
    shop.confirmed("a")

    def listen(reached: str) -> None:
        if reached == "before_execute":
            shop.kernel.line.at_point = None
            for turn in later:
                other.confirm(turn.question_ids(), by="ann")
            shop.clock.step(RUNNER_LEASE_MS + 1)
            take_lease(other.line, other._opened.name)

    shop.kernel.line.at_point = listen
    shop.kernel.run()
    assert shop.ledger.entries() == []
    assert [shop.row(turn).state for turn in later] == [OutboxState.READY] * 2
    other.run()
    assert shop.ledger.entries() == ["b", "c"]


def test_rule_3_a_row_is_not_marked_for_a_runner_that_was_replaced(shop: Shop, other: Kernel) -> None:
    turn = shop.confirmed("a")

    def listen(reached: str) -> None:
        if reached == "before_dispatch":
            shop.kernel.line.at_point = None
            other.line.is_gone = lambda _runner: True
            take_lease(other.line, other._opened.name)

    shop.kernel.line.at_point = listen
    shop.kernel.run()
    assert (shop.ledger.entries(), shop.row(turn).state) == ([], OutboxState.CLAIMED)


def test_rule_3_a_confirm_claims_only_for_a_runner_that_has_the_lease(shop: Shop, other: Kernel) -> None:
    shop.kernel.run()
    assert shop.row(shop.confirmed("a")).state is OutboxState.CLAIMED
    shop.clock.step(RUNNER_LEASE_MS + 1)
    other.run()
    row = shop.row(shop.confirmed("b"))
    assert (row.state, row.attempts) == (OutboxState.READY, 0)
    assert [
        claimed.outbox_id for claimed in shop.kernel.line.claimed if claimed.outbox_id == row.outbox_id
    ] == []


def test_a_row_whose_confirm_is_just_committed_is_not_left_behind(shop: Shop) -> None:
    shop.kernel.run()
    seen: list[bool] = []

    def listen(reached: str) -> None:
        if reached == "after_confirm":
            seen.append(left_behind(shop.kernel.line))

    shop.kernel.line.at_point = listen
    turn = shop.confirmed("a")
    assert (seen, left_behind(shop.kernel.line), shop.kernel.line.handed) == ([False], False, set())
    shop.kernel.line.claimed.clear()
    assert left_behind(shop.kernel.line)
    shop.kernel.run()
    assert shop.grade(turn) == ("finalized", "verified")


def test_a_process_that_wakes_after_its_mark_neither_acts_nor_writes(shop: Shop, other: Kernel) -> None:
    turn = shop.confirmed("a")
    overtaken(shop, other, at="before_execute")
    shop.kernel.run()
    assert shop.ledger.entries() == []
    assert [receipt.graded.finality.value for receipt in shop.receipts(turn)] == ["indeterminate"]
    assert shop.row(turn).state is OutboxState.CHECK_REQUIRED


def test_a_process_that_wakes_after_acting_does_not_write_over_its_successor(
    shop: Shop, other: Kernel
) -> None:
    turn = shop.confirmed("a")
    overtaken(shop, other, at="before_seal")
    shop.kernel.run()
    assert shop.ledger.entries() == ["a"]
    statuses = [receipt.status.value for receipt in shop.receipts(turn) if receipt.status is not None]
    assert statuses == ["unknown_outcome", "success"]
    assert disagreements(other) == []


def test_a_lease_that_was_lost_is_not_renewed(shop: Shop, other: Kernel) -> None:
    shop.kernel.run()
    shop.clock.step(RUNNER_LEASE_MS + 1)
    other.run()
    assert renew(shop.kernel.line, epoch=1) is False
    assert renew(other.line, epoch=2) is True


def test_the_dispatched_mark_needs_a_live_lease(shop: Shop) -> None:
    shop.kernel.run()
    turn = shop.confirmed("a")
    row: OutboxRow = shop.row(turn)
    assert row.lease_until_ms is not None
    late = row.lease_until_ms
    marked = shop.kernel.line.store.write(
        lambda tx: tx.mark_dispatched(row.outbox_id, epoch=row.epoch, now_ms=late)
    )
    assert marked is False


def test_r122_work_that_came_due_while_nobody_ran_is_done_at_the_next_run(shop: Shop) -> None:
    tries: list[str] = []

    def acting(entry: str) -> dict[str, int]:
        tries.append(entry)
        if len(tries) > 1:
            shop.ledger.append(entry)
        return {"tries": len(tries)}

    append_action(shop.kernel, shop.ledger, capability="ledger.late", acting=acting)
    turn = shop.kernel.propose("ledger.late", {"entry": "late"})
    shop.kernel.confirm(turn.question_ids(), by="ann")
    shop.kernel.run()
    assert shop.row(turn).state is OutboxState.RETRY_WAIT
    shop.run_later(12 * 3600 * 1000)  # half a day asleep; the grant is still in force
    assert shop.ledger.entries() == ["late"]
    assert shop.grade(turn) == ("finalized", "verified")


def test_r125_retries_wait_longer_each_time_and_end(tmp_path: Path) -> None:
    shop = Shop(tmp_path, acting=lambda entry: {"lied": entry})
    turn = shop.done("a")
    first = shop.row(turn).not_before_ms - shop.clock.now_ms()
    shop.clock.step(first)
    shop.kernel.run()
    second = shop.row(turn).not_before_ms - shop.clock.now_ms()
    assert 1_000 <= first < 2_000 <= second < 4_000
    shop.run_later()
    assert (shop.row(turn).state, shop.row(turn).attempts) == (OutboxState.DEAD, 3)
    shop.kernel.close()


def test_d051_what_may_have_happened_is_not_tried_again(tmp_path: Path) -> None:
    shop = Shop(tmp_path, absence_is_proof=False, acting=lambda entry: 1 / 0)
    turn = shop.done("a")
    for _ in range(3):
        shop.run_later()
    assert (shop.row(turn).state, shop.row(turn).attempts) == (OutboxState.CHECK_REQUIRED, 1)
    shop.kernel.close()


def test_a_batch_is_no_longer_than_its_limit(shop: Shop) -> None:
    for number in range(delivery.BATCH_MAX + 5):
        shop.append(f"n{number}")
    shop.kernel.confirm([question.question_id for question in shop.kernel.inbox()], by="ann")
    shop.kernel.run()
    assert len(set(shop.ledger.entries())) == len(shop.ledger.entries()) == delivery.BATCH_MAX + 5


def test_a_refusal_that_was_sealed_is_not_read_again_by_later_runs(shop: Shop) -> None:
    turn = shop.append("a")
    shop.kernel.refuse(turn.question_ids(), by=PERSON)
    waiting = "SELECT count(*) FROM outbox WHERE tenant = ? AND state = 'settled' AND epoch = 0"
    assert shop.read(lambda tx: tx.value(waiting, tx.tenant)) == 1
    shop.kernel.run()
    assert shop.grade(turn) == ("not_attempted", "verified")
    assert shop.read(lambda tx: tx.value(waiting, tx.tenant)) == 0
