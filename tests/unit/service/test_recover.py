# SPDX-License-Identifier: Apache-2.0
"""After a stop every unfinished thing becomes one thing, once, and it is written down."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from actum.model.activity import ActivityState
from actum.model.delivery import OutboxState
from actum.model.errors import EnvironmentFault
from actum.model.work import StepState
from actum.service.recover import reconcile
from actum.testing.kernels import PERSON, open_reasons
from tests.crash.agreement import disagreements
from tests.unit.service.shop import Shop

COUNTS = (
    "steps_reset", "steps_check_required", "routine_leases_released", "activities_recovery_required",
)  # fmt: skip


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path)
    yield made
    made.kernel.close()


@pytest.fixture
def doubtful(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path, absence_is_proof=False, attempts_max=1)
    yield made
    made.kernel.close()


def interrupted(shop: Shop, *, at: str = "after_execute") -> object:
    turn = shop.confirmed("a")
    shop.run_until_stopped(at)
    shop.restart()
    return turn


def visit_states(shop: Shop, turn_id: str) -> list[StepState]:
    return [visit.state for visit in shop.read(lambda tx: tx.visits(turn_id))]


def count_tables(shop: Shop) -> dict[str, int]:
    def work(tx) -> dict[str, int]:
        names = [row[0] for row in tx.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {name: tx.rows(f'SELECT count(*) FROM "{name}"')[0][0] for name in names}

    return shop.read(work)


def test_o79_every_start_after_a_stop_reconciles_before_it_claims(shop: Shop) -> None:
    shop.confirmed("a")
    shop.run_until_stopped("after_dispatch")
    shop.restart()
    reached: list[str] = []
    shop.kernel.line.at_point = reached.append
    shop.kernel.run(look=False)
    assert reached.index("before_take_lease") < reached.index("before_reconcile")
    assert "before_claim" not in reached[: reached.index("after_reconcile")]
    assert len(shop.events("reconciled")) == 2


def test_o79_a_start_after_the_lease_was_lost_reconciles_again(shop: Shop) -> None:
    shop.done("a")
    shop.done("b")
    assert len(shop.events("reconciled")) == 1
    shop.kernel._runner._lost = True
    shop.done("c")
    assert len(shop.events("reconciled")) == 2


def test_o79_a_run_tells_what_it_put_in_order_itself_and_not_what_an_earlier_one_did(shop: Shop) -> None:
    shop.confirmed("a")
    shop.run_until_stopped("after_dispatch")
    shop.restart()
    assert shop.kernel.run(look=False).reconciled.changed()
    assert not shop.kernel.run(look=False).reconciled.changed()


def test_o80_a_reserved_step_becomes_pending_and_is_walked_again(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    (shop.kernel.place.processes / "t.yaml").write_text(
        "process: t\nwork_types: [think]\nfields: {label: string}\n"
        "steps:\n  - {id: label, kind: reasoning, contract: {tier: fast, max_tokens: 100, output: [label]}}\n"
    )
    shop.kernel.line.rules.forget()  # type: ignore[attr-defined]
    shop.kernel.run()
    turn = shop.kernel.submit("think", {})
    assert visit_states(shop, turn.turn_id) == [StepState.RESERVED]
    shop.run_until_stopped("before_keep_answer")
    shop.restart()
    found = reconcile(shop.kernel.line)
    assert found.steps_reset == (f"{turn.turn_id}/label",)
    assert visit_states(shop, turn.turn_id) == [StepState.PENDING]
    shop.kernel.close()


def test_o81_o84_a_running_step_needs_checking_and_its_activity_recovery(doubtful: Shop) -> None:
    turn = doubtful.confirmed("a")
    doubtful.run_until_stopped("before_execute")
    assert visit_states(doubtful, turn.turn_id) == [StepState.RUNNING]
    assert turn.activity().state is ActivityState.RUNNING
    doubtful.restart()
    found = reconcile(doubtful.kernel.line)
    assert found.steps_check_required == (f"{turn.turn_id}/stage",)
    assert found.activities_recovery_required == (turn.turn_id,)
    assert visit_states(doubtful, turn.turn_id) == [StepState.CHECK_REQUIRED]
    assert doubtful.turn(turn).activity().state is ActivityState.RECOVERY_REQUIRED
    assert [reason.value for reason in open_reasons(doubtful.turn(turn))] == ["check_required"]


def test_o82_what_needs_checking_is_neither_run_again_nor_marked_until_somebody_says(doubtful: Shop) -> None:
    turn = doubtful.confirmed("a")
    doubtful.run_until_stopped("before_execute")
    doubtful.restart()
    for _ in range(3):
        doubtful.run_later()
    assert doubtful.ledger.entries() == []
    assert len(doubtful.receipts(turn)) == 1
    assert doubtful.row(turn).state is OutboxState.CHECK_REQUIRED
    assert visit_states(doubtful, turn.turn_id) == [StepState.CHECK_REQUIRED]
    settled = doubtful.kernel.settle(doubtful.row(turn).outbox_id, "did_not", by=PERSON)
    assert settled.state is OutboxState.SETTLED
    assert doubtful.turn(turn).activity().state is ActivityState.FAILED
    doubtful.run_later()
    assert doubtful.ledger.entries() == []


def test_o27_o28_a_restart_between_acting_and_looking_yields_unknown_outcome(shop: Shop) -> None:
    turn = shop.confirmed("a")
    shop.run_until_stopped("after_execute")
    shop.restart()
    shop.kernel.run(look=False)
    (receipt,) = shop.receipts(turn)
    assert receipt.status is not None
    assert receipt.status.value == "unknown_outcome"
    assert (receipt.claimed.finality.value, receipt.claimed.confidence.value) == ("indeterminate", "unknown")
    assert receipt.failure_code == "interrupted"
    assert shop.turn(turn).activity().state is ActivityState.RECOVERY_REQUIRED


def test_o26_a_later_look_finds_the_one_effect_that_was_made(shop: Shop) -> None:
    turn = shop.confirmed("a")
    shop.run_until_stopped("after_execute")
    shop.restart()
    shop.kernel.run()
    first, second = shop.receipts(turn)
    assert (first.status.value, second.status.value) == ("unknown_outcome", "success")  # type: ignore[union-attr]
    assert second.settles is not None
    assert shop.ledger.entries() == ["a"]
    assert shop.turn(turn).activity().state is ActivityState.COMPLETED
    assert disagreements(shop.kernel) == []


def test_o85_all_four_counts_are_written_and_zeros_too(shop: Shop) -> None:
    shop.kernel.run()
    (body,) = shop.events("reconciled")
    assert {name: body["counts"][name] for name in COUNTS} == dict.fromkeys(COUNTS, 0)
    turn = shop.confirmed("a")
    shop.run_until_stopped("before_execute")
    shop.restart()
    reconcile(shop.kernel.line)
    counts = shop.events("reconciled")[-1]["counts"]
    assert [counts[name] for name in COUNTS] == [0, 1, 0, 1]
    assert turn.turn_id in shop.events("reconciled")[-1]["changed"]["activities_recovery_required"]


def test_o86_nothing_is_deleted_and_every_changed_row_is_named(shop: Shop) -> None:
    turn = shop.confirmed("a")
    shop.run_until_stopped("before_execute")
    before = count_tables(shop)
    shop.restart()
    reconcile(shop.kernel.line)
    after = count_tables(shop)
    assert {name: count for name, count in before.items() if after[name] < count} == {}
    changed = shop.events("reconciled")[-1]["changed"]
    assert changed["rows_check_required"] == [shop.row(turn).outbox_id]
    assert changed["steps_check_required"] == [f"{turn.turn_id}/stage"]


@pytest.mark.parametrize(
    "point", ["after_confirm", "after_claim", "before_execute", "after_execute", "before_seal"]
)
def test_o87_a_second_reconciliation_changes_nothing(point: str, shop: Shop) -> None:
    turn = shop.append("a")
    if point == "after_confirm":
        shop.kernel.confirm(turn.question_ids(), by=PERSON)
    else:
        shop.kernel.confirm(turn.question_ids(), by=PERSON)
        shop.run_until_stopped(point)
    shop.restart()
    reconcile(shop.kernel.line)
    rows = count_tables(shop)
    state = (shop.row(turn), shop.turn(turn).activity(), visit_states(shop, turn.turn_id))
    again = reconcile(shop.kernel.line)
    assert not again.changed()
    assert count_tables(shop) == {**rows, "activity_event": rows["activity_event"] + 1}
    assert (shop.row(turn), shop.turn(turn).activity(), visit_states(shop, turn.turn_id)) == state


def test_a_process_that_does_not_know_the_action_recovers_it_all_the_same(shop: Shop) -> None:
    turn = shop.confirmed("a")
    shop.run_until_stopped("after_execute")
    shop.restart()
    shop.kernel.line.registry._by_id.pop("ledger.append", None)  # type: ignore[attr-defined]
    shop.kernel.run()
    assert shop.row(turn).state is OutboxState.CHECK_REQUIRED
    assert shop.grade(turn) == ("indeterminate", "unknown")


def test_while_its_holder_may_still_act_nothing_is_taken_for_undone(shop: Shop) -> None:
    turn = shop.confirmed("a")
    shop.run_until_stopped("before_execute")
    shop.restart(holder_ended=False)
    for _ in range(3):
        shop.run_later()
    assert shop.row(turn).state is OutboxState.CHECK_REQUIRED
    assert shop.ledger.entries() == []
    shop.ledger.append("a")  # The stopped process went on after all.
    shop.run_later()
    assert shop.grade(turn) == ("finalized", "verified")
    assert shop.ledger.entries() == ["a"]


def test_r125_what_was_provably_not_done_is_tried_again(shop: Shop) -> None:
    turn = shop.confirmed("a")
    shop.run_until_stopped("before_execute")
    shop.restart()
    shop.kernel.run()
    shop.run_later()
    assert shop.ledger.entries() == ["a"]
    assert shop.grade(turn) == ("finalized", "verified")
    assert shop.receipts(turn)[-1].retry_state.value == "retry"


def test_a_run_that_broke_off_is_reconciled_by_the_next_run_of_the_same_process(shop: Shop) -> None:
    turn = shop.confirmed("a")

    def full(reached: str) -> None:
        if reached == "before_seal":
            shop.kernel.line.at_point = None
            raise EnvironmentFault("disk_full", failed="full", state="nothing", next_step="free some")

    shop.kernel.line.at_point = full
    with pytest.raises(EnvironmentFault):
        shop.kernel.run()
    assert shop.row(turn).state is OutboxState.DISPATCHED
    shop.kernel.run()
    assert shop.grade(turn) == ("finalized", "verified")
    assert shop.ledger.entries() == ["a"]
