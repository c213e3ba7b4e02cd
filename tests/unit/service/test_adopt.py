# SPDX-License-Identifier: Apache-2.0
"""What was open in the store that a copy came from may have happened there, and nothing of it runs here."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actum import Kernel
from actum.model.delivery import OutboxState
from actum.model.errors import EnvironmentFault, RefusedError
from actum.service.runner import renew
from actum.testing.kernels import PERSON, append_action, confirm_all, open_kernel, open_reasons, perform
from tests.unit.service.desk import Desk
from tests.unit.service.shop import Shop


def _row(desk: Desk, outbox_id: str) -> Any:
    return desk.read(lambda tx: tx.outbox(outbox_id))


def test_rule_1_every_open_row_becomes_check_required_and_is_asked_about(desk: Desk) -> None:
    turn = desk.append("a")
    rows = confirm_all(desk.kernel, turn)
    counts = desk.kernel.adopt(by=PERSON)
    assert counts == {"rows_check_required": 1, "grants_void": 1}
    assert _row(desk, rows[0]).state is OutboxState.CHECK_REQUIRED
    assert turn.state == "recovery_required"
    assert [reason.value for reason in open_reasons(turn)] == ["check_required"]
    desk.kernel.run(look=False)
    assert desk.ledger.entries() == []
    receipt = turn.receipt()
    assert receipt is not None
    assert (receipt.graded.finality.value, receipt.failure_code) == ("indeterminate", "adopted")


def test_rule_1_a_look_at_an_adopted_row_can_tell_that_it_did_happen_elsewhere(desk: Desk) -> None:
    turn = desk.append("a")
    rows = confirm_all(desk.kernel, turn)
    desk.kernel.adopt(by=PERSON)
    desk.ledger.append("a")  # The store this one was copied from carried it out meanwhile.
    desk.kernel.run()
    assert desk.ledger.entries() == ["a"]
    assert _row(desk, rows[0]).state is not OutboxState.READY


def test_rule_2_a_grant_of_another_incarnation_allows_nothing_here(desk: Desk) -> None:
    rows = confirm_all(desk.kernel, desk.append("a"))
    before = desk.kernel.line.incarnation
    desk.kernel.adopt(by=PERSON)
    assert desk.kernel.line.incarnation != before
    grant = desk.read(lambda tx: tx.grant(_row(desk, rows[0]).grant_id))
    assert (grant.grant.incarnation, grant.voided_at_ms) == (before, desk.clock.now_ms())


def test_rule_2_a_used_grant_is_left_as_it_was_used(desk: Desk) -> None:
    rows = perform(desk.kernel, desk.append("a"))
    assert desk.kernel.adopt(by=PERSON) == {"rows_check_required": 0, "grants_void": 0}
    grant = desk.read(lambda tx: tx.grant(_row(desk, rows[0]).grant_id))
    assert (grant.used_by, grant.voided_at_ms) == (rows[0], None)


@pytest.fixture
def other(desk: Desk) -> Iterator[Kernel]:
    """The same place, open in another process as far as anything can tell."""
    kernel = open_kernel(desk.folder, clock=desk.clock)
    append_action(kernel, desk.ledger)
    yield kernel
    kernel.close()


def test_a_living_process_of_the_old_incarnation_allows_and_dispatches_nothing(
    desk: Desk, other: Kernel
) -> None:
    perform(desk.kernel, desk.append("a"))
    turn = desk.append("b")
    other.adopt(by=PERSON)
    for act in (lambda: confirm_all(desk.kernel, turn), desk.kernel.run):
        with pytest.raises(EnvironmentFault) as caught:
            act()
        assert caught.value.code == "store_adopted"
    assert (desk.ledger.entries(), len(turn.question_ids()), desk.count('"grant"')) == (["a"], 1, 1)


@pytest.mark.parametrize("point", ["before_claim", "before_dispatch"])
def test_a_process_in_the_midst_of_a_run_does_nothing_more_once_its_store_was_adopted(
    desk: Desk, other: Kernel, point: str
) -> None:
    desk.kernel.run()
    turn = desk.append("a")

    def adopt(reached: str) -> None:
        if reached == point:
            desk.kernel.line.at_point = None
            other.adopt(by=PERSON)
            other.confirm(desk.append("b").question_ids(), by=PERSON)

    other.confirm(turn.question_ids(), by=PERSON)
    desk.kernel.line.at_point = adopt
    desk.kernel.run()
    assert desk.ledger.entries() == []
    states = desk.read(lambda tx: [row.state for row in tx.outbox_in(*OutboxState)])
    assert sorted(state.value for state in states) == ["check_required", "ready"]


def test_rule_3_adopting_ends_the_lease_of_every_other_process(desk: Desk, other: Kernel) -> None:
    desk.kernel.run()
    other.adopt(by=PERSON)
    assert renew(desk.kernel.line, epoch=1) is False


def test_rule_3_who_adopts_goes_on_with_the_lease_it_has(desk: Desk) -> None:
    perform(desk.kernel, desk.append("a"))
    desk.kernel.adopt(by=PERSON)
    assert renew(desk.kernel.line, epoch=2) is True
    perform(desk.kernel, desk.append("b"))
    assert desk.ledger.entries() == ["a", "b"]
    desk.kernel.close()
    with open_kernel(desk.folder, clock=desk.clock) as later:
        assert later.line.store.read(lambda tx: tx.runner()).lease_until_ms == 0


def test_rule_4_an_open_confirm_stays_open_and_leads_to_a_grant_of_the_new_incarnation(desk: Desk) -> None:
    turn = desk.append("a")
    desk.kernel.adopt(by=PERSON)
    rows = perform(desk.kernel, turn)
    grant = desk.read(lambda tx: tx.grant(_row(desk, rows[0]).grant_id))
    assert grant.grant.incarnation == desk.kernel.line.incarnation
    assert (turn.state, desk.ledger.entries()) == ("completed", ["a"])


@pytest.mark.parametrize("name, code", [("mallory", "role_missing"), ("agent:a", "not_a_person")])
def test_only_an_operator_adopts(desk: Desk, name: str, code: str) -> None:
    before = desk.kernel.line.incarnation
    with pytest.raises(RefusedError) as caught:
        desk.kernel.adopt(by=name)
    assert caught.value.code == code
    assert desk.read(lambda tx: tx.meta("incarnation")) == before


def test_a_copied_store_dispatches_nothing_before_it_was_adopted(desk: Desk) -> None:
    rows = confirm_all(desk.kernel, desk.append("a"))
    desk.kernel.close()
    copy = desk.folder / "copy"
    copy.mkdir()
    shutil.copytree(desk.folder / ".actum", copy / ".actum")
    with open_kernel(copy, clock=desk.clock) as kernel:
        append_action(kernel, desk.ledger)
        with pytest.raises(EnvironmentFault) as caught:
            kernel.run()
        assert caught.value.code == "store_moved"
        assert kernel.adopt(by=PERSON) == {"rows_check_required": 1, "grants_void": 1}
        kernel.run(look=False)
        assert kernel.line.store.read(lambda tx: tx.outbox(rows[0])).state is OutboxState.CHECK_REQUIRED
    assert desk.ledger.entries() == []


def test_rule_5_while_the_process_that_dispatched_may_act_no_look_takes_its_effect_for_undone(
    tmp_path: Path,
) -> None:
    shop = Shop(tmp_path)
    turn = shop.confirmed("a")
    shop.run_until_stopped("before_execute")
    shop.restart(holder_ended=False)
    shop.kernel.adopt(by=PERSON)
    assert shop.kernel.settle(shop.row(turn).outbox_id).told is False
    shop.run_later()
    assert shop.row(turn).state is OutboxState.CHECK_REQUIRED
    # A person confirmed it, and the receipt of what was dispatched says so.
    assert shop.receipts(turn)[0].grant_digest is not None
    shop.kernel.line.is_gone = lambda runner: True
    assert shop.kernel.settle(shop.row(turn).outbox_id).told is True
    shop.kernel.close()
