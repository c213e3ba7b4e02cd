# SPDX-License-Identifier: Apache-2.0
"""Effects that may touch one thing are not under way together, and what came late is not made again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actum.capabilities.functions import Rejected
from actum.model.delivery import OutboxState
from actum.model.errors import EnvironmentFault
from actum.ports.verifier import Phase
from actum.testing.kernels import PERSON, append_action
from tests.unit.service.shop import Shop


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path)
    yield made
    made.kernel.close()


class Switch:
    """One thing that two effects set to different values."""

    def __init__(self) -> None:
        self.value = "off"
        self.calls: list[str] = []

    def set(self, entry: str) -> dict[str, Any]:
        self.calls.append(entry)
        self.value = entry
        return {"set": entry}

    def look(self, entry: str) -> dict[str, Any]:
        return {"value": self.value}


def switched(shop: Shop, switch: Switch, **declared: Any) -> Any:
    return append_action(
        shop.kernel, Any, capability="switch.set", acting=switch.set, seeing=switch.look,
        expect=lambda entry: {"value": entry}, **declared,
    )  # fmt: skip


def test_a_batch_of_effects_on_one_thing_sees_each_of_them_by_itself(shop: Shop) -> None:
    switch = Switch()
    action = switched(shop, switch)
    turns = [action("on"), action("dim")]
    shop.kernel.confirm([one for turn in turns for one in turn.question_ids()], by=PERSON)
    shop.kernel.run()
    assert switch.calls == ["on", "dim"]
    assert [shop.grade(turn) for turn in turns] == [("finalized", "verified")] * 2
    shop.run_later()
    assert switch.calls == ["on", "dim"]


def test_names_that_two_effects_share_keep_them_apart_and_others_share_their_commits(shop: Shop) -> None:
    switch = Switch()
    shared = switched(shop, switch, disjoint=lambda entry: ["switch"])
    turns = [shared("on"), shared("dim")]
    shop.kernel.confirm([one for turn in turns for one in turn.question_ids()], by=PERSON)
    shop.kernel.run()
    assert [shop.grade(turn) for turn in turns] == [("finalized", "verified")] * 2
    named = append_action(
        shop.kernel, shop.ledger, capability="ledger.named", disjoint=lambda entry: [f"line {entry}"]
    )
    turns = [named(entry) for entry in "abc"]
    shop.kernel.confirm([one for turn in turns for one in turn.question_ids()], by=PERSON)
    marks: list[str] = []
    shop.kernel.line.at_point = marks.append
    shop.kernel.run()
    assert marks.count("after_dispatch") == 1
    assert [shop.grade(turn) for turn in turns] == [("finalized", "verified")] * 3


def test_two_writes_of_one_file_in_a_batch_are_one_write_and_one_refusal(shop: Shop) -> None:
    path = str(shop.folder / "note.txt")
    turns = [shop.kernel.propose("files.write", {"path": path, "content": "x"}) for _ in range(2)]
    shop.kernel.confirm([one for turn in turns for one in turn.question_ids()], by=PERSON)
    shop.kernel.run()
    assert [shop.grade(turn)[0] for turn in turns] == ["finalized", "not_attempted"]


def test_a_match_after_the_executor_said_rejected_is_nobodys_success(shop: Shop) -> None:
    switch = Switch()

    def refuse(entry: str) -> Any:
        switch.value = entry  # Somebody else did it, in the same instant.
        raise Rejected("no")

    switch.set = refuse  # type: ignore[method-assign]
    turn = switched(shop, switch)("on")
    shop.kernel.confirm(turn.question_ids(), by=PERSON)
    shop.kernel.run()
    assert shop.grade(turn) == ("indeterminate", "ambiguous")
    shop.run_later()
    assert (shop.grade(turn)[0], shop.row(turn).state) == ("indeterminate", OutboxState.CHECK_REQUIRED)


def test_an_effect_that_came_late_is_not_made_again(shop: Shop) -> None:
    switch = Switch()

    def lost(entry: str) -> Any:
        switch.calls.append(entry)
        raise TimeoutError

    switch.set = lost  # type: ignore[method-assign]
    turn = switched(shop, switch)("on")
    shop.kernel.confirm(turn.question_ids(), by=PERSON)
    shop.kernel.run()
    assert shop.row(turn).state is OutboxState.RETRY_WAIT
    switch.value = "on"
    shop.run_later()
    assert (switch.calls, shop.row(turn).state) == (["on"], OutboxState.CHECK_REQUIRED)
    shop.run_later()
    assert (switch.calls, shop.grade(turn)) == (["on"], ("finalized", "verified"))


@pytest.mark.parametrize(
    ("point", "grade"),
    [("before_dispatch", ("not_attempted", "verified")), ("before_execute", ("indeterminate", "ambiguous"))],
)
def test_a_grant_that_expires_between_check_and_call_allows_nothing(
    point: str, grade: tuple[str, str], tmp_path: Path
) -> None:
    shop = Shop(tmp_path, absence_is_proof=False)
    turn = shop.confirmed("a")
    line = shop.kernel.line

    def late(reached: str) -> None:
        if reached == point:
            shop.clock.step(25 * 3_600_000)
            until = line.now() + 30_000  # The heart beats on: only the grant is over.
            line.store.write(lambda tx: tx.renew_leases(holder=line.holder, now_ms=0, lease_until_ms=until))

    line.at_point = late
    shop.kernel.run()
    assert (shop.ledger.entries(), shop.grade(turn)) == ([], grade)
    shop.kernel.close()


def test_a_verifier_that_stays_away_makes_no_dead_letter(shop: Shop) -> None:
    looker: Any = shop.kernel.line.looker

    class Away:
        def look_many(self, asked: Any) -> Any:
            raise EnvironmentFault("gone", failed="a", state="b", next_step="c")

        look = look_many

        def close(self) -> None:
            looker.close()

    shop.kernel.line.looker = Away()  # type: ignore[assignment]
    turn = shop.done("a")
    for _ in range(12):
        shop.run_later()
    assert shop.row(turn).state is OutboxState.RETRY_WAIT
    shop.kernel.line.looker = looker
    shop.run_later()
    assert shop.grade(turn) == ("finalized", "verified")


def test_a_refusal_during_a_run_ends_it(shop: Shop) -> None:
    second = shop.append("b")
    once = [second.question_ids()]

    def refuse(point: str) -> None:
        if point == "after_execute" and once:
            shop.kernel.refuse(once.pop(), by=PERSON)

    turn = shop.confirmed("a")
    shop.kernel.line.at_point = refuse
    shop.kernel.run()
    assert (turn.state, second.state) == ("completed", "completed")


def test_what_no_look_can_tell_is_looked_at_when_due_and_stops_no_other_work(tmp_path: Path) -> None:
    looks: list[str] = []

    def see(entry: str) -> Any:
        looks.append(entry)
        return None if entry == "u" else {"lines": shop.ledger.count(entry)}

    shop = Shop(tmp_path, seeing=see)
    shop.done("u")
    shop.kernel.run()
    looks.clear()
    shop.kernel.run()
    assert looks == []
    real = shop.kernel.line.looker.look

    def gone(request: Any) -> Any:
        if request.phase is not Phase.LATER:
            return real(request)
        raise EnvironmentFault("gone", failed="a", state="b", next_step="c")

    shop.kernel.line.looker.look = gone  # type: ignore[method-assign]
    shop.clock.step(600_000)
    assert shop.grade(shop.done("a")) == ("finalized", "verified")
    shop.kernel.line.looker.look = real  # type: ignore[method-assign]
    shop.kernel.close()


def test_a_repetition_of_what_failed_does_not_read_completed(shop: Shop) -> None:
    def refuse(entry: str) -> Any:
        raise Rejected("no")

    append_action(shop.kernel, shop.ledger, capability="l.no", acting=refuse, attempts_max=1)
    first = shop.kernel.propose("l.no", {"entry": "a"}, idempotency_key="k")
    shop.kernel.confirm(first.question_ids(), by=PERSON)
    shop.kernel.run()
    again = shop.kernel.propose("l.no", {"entry": "a"}, idempotency_key="k")
    shop.kernel.run()
    assert (first.state, again.state, again.question_ids()) == ("failed", "failed", [])


def test_a_key_is_free_again_where_its_row_was_not_attempted(shop: Shop) -> None:
    first = shop.kernel.propose("ledger.append", {"entry": "a"}, idempotency_key="k")
    shop.kernel.confirm(first.question_ids(), by=PERSON)
    shop.run_later(25 * 3_600_000)
    assert shop.grade(first)[0] == "not_attempted"
    again = shop.kernel.propose("ledger.append", {"entry": "a"}, idempotency_key="k")
    shop.kernel.confirm(again.question_ids(), by=PERSON)
    shop.kernel.run()
    third = shop.kernel.propose("ledger.append", {"entry": "a"}, idempotency_key="k")
    assert (third.question_ids(), shop.ledger.entries()) == ([], ["a"])
