# SPDX-License-Identifier: Apache-2.0
"""What users of agent systems reported, each in the shape it was reported in: doubled, lost and resumed approvals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from actum.model.errors import RefusedError
from actum.testing.kernels import OTHER_PERSON, PERSON, append_action, open_kernel
from tests.crash.agreement import disagreements
from tests.unit.service.shop import Shop


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path)
    yield made
    made.kernel.close()


def test_a_question_that_was_asked_before_a_restart_is_answered_after_it(shop: Shop) -> None:
    turn = shop.append("a")
    (asked,) = turn.question_ids()
    shop.restart()
    shop.kernel.confirm(asked, by=PERSON)
    shop.kernel.run()
    assert shop.ledger.entries() == ["a"]


def test_two_people_who_confirm_at_once_make_one_effect_and_the_second_is_told(shop: Shop) -> None:
    turn = shop.append("a")
    other = open_kernel(shop.folder, clock=shop.clock)
    append_action(other, shop.ledger)
    (asked,) = turn.question_ids()
    shop.kernel.confirm(asked, by=PERSON)
    with pytest.raises(RefusedError) as caught:
        other.confirm(asked, by=OTHER_PERSON)
    assert caught.value.code == "question_resolved"
    assert "ann answered it: confirmed" in str(caught.value)
    shop.kernel.run()
    assert shop.ledger.entries() == ["a"]
    assert len(shop.receipts(turn)) == 1
    other.close()


def test_a_late_confirm_of_what_was_refused_gets_a_truthful_answer(shop: Shop) -> None:
    turn = shop.append("a")
    (asked,) = turn.question_ids()
    shop.kernel.refuse(asked, by=PERSON, reason="not today")
    with pytest.raises(RefusedError) as caught:
        shop.kernel.confirm(asked, by=OTHER_PERSON)
    assert "refused: not today" in str(caught.value)
    shop.kernel.run()
    assert (shop.ledger.entries(), shop.grade(turn)) == ([], ("not_attempted", "verified"))


def test_a_refusal_that_is_repeated_is_carried_out_once(shop: Shop) -> None:
    turn = shop.append("a")
    (asked,) = turn.question_ids()
    shop.kernel.refuse(asked, by=PERSON)
    with pytest.raises(RefusedError):
        shop.kernel.refuse(asked, by=PERSON)
    shop.kernel.run()
    assert len(shop.receipts(turn)) == 1
    assert disagreements(shop.kernel) == []


def test_a_stop_in_the_third_of_three_effects_repeats_none_of_the_first_two(shop: Shop) -> None:
    turns = [shop.confirmed(entry) for entry in ("one", "two", "three")]
    shop.run_until_stopped("before_execute", at=3)
    assert shop.ledger.entries() == ["one", "two"]
    shop.restart()
    for _ in range(2):
        shop.run_later()
    assert shop.ledger.entries() == ["one", "two", "three"]
    assert [shop.grade(turn) for turn in turns] == [("finalized", "verified")] * 3
    assert disagreements(shop.kernel) == []


def test_a_row_that_was_released_with_its_runner_is_not_sent_twice(shop: Shop) -> None:
    shop.confirmed("a")
    shop.run_until_stopped("after_execute")
    shop.kernel.line.at_point = None
    shop.kernel.close()  # An orderly end after a broken run: the lease is given back, the row is not.
    shop.kernel = shop._open()
    for _ in range(3):
        shop.run_later()
    assert shop.ledger.entries() == ["a"]


def test_an_agent_cannot_withdraw_the_question_about_what_it_proposed(shop: Shop) -> None:
    turn = shop.append("a")
    for act in (shop.kernel.confirm, shop.kernel.refuse):
        with pytest.raises(RefusedError):
            act(turn.question_ids(), by="agent:tester")
    assert len(turn.question_ids()) == 1
