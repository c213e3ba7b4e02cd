# SPDX-License-Identifier: Apache-2.0
"""Reports of kind T, idempotency: a key means one intent of one caller, and only an end is ever given back for it.

The ids are those of the public reports listed in the shared `cases/bug_reports.md`; a letter stands apart from its
number here, because T-ids in test names are those of the seed documents. All three rows are here.
"""

from __future__ import annotations

from typing import Any

from actum.testing.kernels import PERSON, append_action, perform
from tests.unit.service.shop import Shop


def _proposed(shop: Shop, entry: str, *, key: str, capability: str = "ledger.append") -> Any:
    return shop.kernel.propose(capability, {"entry": entry}, idempotency_key=key)


def test_bug_t_226_a_key_is_of_one_operation_and_target(shop: Shop) -> None:
    append_action(shop.kernel, shop.ledger, capability="ledger.other")
    perform(shop.kernel, _proposed(shop, "a", key="k"))
    perform(shop.kernel, _proposed(shop, "b", key="k", capability="ledger.other"))
    assert shop.ledger.entries() == ["a", "b"]


def test_bug_t_226_a_refusal_is_not_given_back_for_the_key_of_a_later_try(shop: Shop) -> None:
    declined = _proposed(shop, "a", key="k")
    shop.kernel.refuse(declined.question_ids(), by=PERSON, reason="not yet")
    shop.kernel.run()
    malformed = shop.kernel.propose("ledger.append", {"wrong": 1}, idempotency_key="k2")
    assert malformed.state == "failed"
    perform(shop.kernel, _proposed(shop, "a", key="k"))
    perform(shop.kernel, _proposed(shop, "b", key="k2"))
    assert shop.ledger.entries() == ["a", "b"]


def test_bug_t_228_the_same_key_with_another_body_is_a_conflict_and_no_old_answer(shop: Shop) -> None:
    first = _proposed(shop, "a", key="k")
    perform(shop.kernel, first)
    other = _proposed(shop, "b", key="k")
    shop.kernel.run()
    assert other.activity().failure_reason == "ledger.append: idempotency_conflict"
    assert other.receipt() is None or other.receipt().receipt_id != first.receipt().receipt_id
    assert shop.ledger.entries() == ["a"]


def test_bug_t_229_a_key_does_not_leak_to_later_calls(shop: Shop) -> None:
    perform(shop.kernel, _proposed(shop, "a", key="k"))
    later = [shop.append("a"), shop.append("b")]
    for turn in later:
        perform(shop.kernel, turn)
    assert shop.ledger.entries() == ["a", "a", "b"]
    keys = {
        shop.read(lambda tx, one=turn: tx.outbox_of_turn(one.turn_id))[0].idempotency_key for turn in later
    }
    assert "k" not in keys
    assert len(keys) == 2
