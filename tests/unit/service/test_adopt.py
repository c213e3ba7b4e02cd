# SPDX-License-Identifier: Apache-2.0
"""What was open in the store that a copy came from may have happened there, and nothing of it runs here."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from actum.model.delivery import OutboxState
from actum.model.errors import EnvironmentFault, RefusedError
from actum.testing.kernels import PERSON, append_action, confirm_all, open_kernel, open_reasons, perform
from tests.unit.service.desk import Desk


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


def test_rule_3_an_open_confirm_stays_open_and_leads_to_a_grant_of_the_new_incarnation(desk: Desk) -> None:
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
