# SPDX-License-Identifier: Apache-2.0
"""The same key with the same intent is the same effect, and another intent under it is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from actum.bootstrap.turn import Turn
from actum.model.delivery import OutboxState
from actum.model.errors import UsageError
from actum.testing.kernels import PERSON, perform
from tests.unit.service.shop import Shop


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path)
    yield made
    made.kernel.close()


def propose(shop: Shop, entry: str, *, key: str = "k", **options: object) -> Turn:
    return shop.kernel.propose("ledger.append", {"entry": entry}, idempotency_key=key, **options)  # type: ignore[arg-type]


def test_o41_r126_the_same_key_and_intent_returns_the_first_receipt_and_does_nothing(shop: Shop) -> None:
    first = propose(shop, "a")
    perform(shop.kernel, first)
    again = propose(shop, "a")
    assert again.question_ids() == []
    shop.kernel.run()
    assert shop.ledger.entries() == ["a"]
    assert again.receipt() == first.receipt()
    assert again.activity().label == "decision recorded"


@pytest.mark.parametrize("key", ["", 5, True, ["k"], {"k": 1}])
def test_a_key_that_is_no_text_is_refused_and_not_left_out(shop: Shop, key: object) -> None:
    with pytest.raises(UsageError) as caught:
        shop.kernel.propose("ledger.append", {"entry": "a"}, idempotency_key=key)  # type: ignore[arg-type]
    assert caught.value.code == "idempotency_key_malformed"
    assert shop.kernel.activity() == []


def test_the_same_key_with_another_intent_is_refused_and_shown(shop: Shop) -> None:
    perform(shop.kernel, propose(shop, "a"))
    other = propose(shop, "b")
    assert (other.state, other.activity().failure_reason) == ("failed", "ledger.append: idempotency_conflict")
    assert shop.ledger.entries() == ["a"]


def test_another_principal_may_not_use_a_key_that_is_bound(shop: Shop) -> None:
    perform(shop.kernel, propose(shop, "a"))
    other = propose(shop, "a", principal="agent:other")
    assert other.activity().failure_reason == "ledger.append: idempotency_conflict"


def test_o41_a_repeated_write_is_found_by_its_key_before_the_world_is_looked_at(shop: Shop) -> None:
    arguments = {"path": str(shop.folder / "note.txt"), "content": "once"}
    first = shop.kernel.propose("files.write", arguments, idempotency_key="w")
    perform(shop.kernel, first)
    again = shop.kernel.propose("files.write", arguments, idempotency_key="w")
    assert again.activity().failure_reason is None
    assert again.receipt() == first.receipt()
    # Without the key the describer sees that there is nothing to do.
    assert "already" in str(shop.kernel.propose("files.write", arguments).activity().failure_reason)


def test_r126_two_confirms_of_one_key_make_one_effect(shop: Shop) -> None:
    first, second = propose(shop, "a"), propose(shop, "a")
    shop.kernel.confirm([*first.question_ids(), *second.question_ids()], by=PERSON)
    shop.kernel.run()
    shop.kernel.run()
    assert shop.ledger.entries() == ["a"]
    assert {first.state, second.state} == {"completed"}
    assert second.receipt() == first.receipt()


def test_d045_a_repeated_proposal_waits_on_the_unknown_outcome_of_the_first(tmp_path: Path) -> None:
    shop = Shop(tmp_path, absence_is_proof=False, attempts_max=1)
    first = propose(shop, "a")
    shop.kernel.confirm(first.question_ids(), by=PERSON)
    shop.run_until_stopped("before_execute")
    shop.restart()
    shop.kernel.run()
    again = propose(shop, "a")
    assert again.question_ids() == []
    shop.kernel.run()
    assert shop.ledger.entries() == []
    assert shop.row(first).state is OutboxState.CHECK_REQUIRED
    shop.kernel.close()


def test_without_a_key_two_pieces_of_work_are_two_effects(shop: Shop) -> None:
    for _ in range(2):
        shop.done("a")
    assert shop.ledger.entries() == ["a", "a"]


def test_a_key_binds_one_capability_only(shop: Shop) -> None:
    perform(shop.kernel, propose(shop, "a", key="same"))
    arguments = {"path": str(shop.folder / "note.txt"), "content": "x"}
    other = shop.kernel.propose("files.write", arguments, idempotency_key="same")
    assert len(other.question_ids()) == 1


def test_the_same_work_submitted_again_under_its_key_is_the_same_turn(shop: Shop) -> None:
    subject = {"capability": "ledger.append", "arguments": {"entry": "a"}}
    first = shop.kernel.submit("agent.action", subject, key="job")
    perform(shop.kernel, first)
    assert shop.kernel.submit("agent.action", subject, key="job").turn_id == first.turn_id
    assert shop.ledger.entries() == ["a"]
