# SPDX-License-Identifier: Apache-2.0
"""What cannot happen: nothing is dispatched that a named person did not allow exactly, in time, here, once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

from actum.bootstrap.turn import Turn
from actum.model.errors import RefusedError
from actum.model.grant import Authn, Grant, GrantPurpose
from actum.model.proposal import ProposalState
from actum.service.seal import seal_grant
from actum.testing.kernels import OTHER_PERSON, PERSON, append_action
from tests.crash.agreement import disagreements
from tests.unit.service.shop import Shop

HOUR_MS = 3600 * 1000
AUTO = """
process: auto
work_types: [auto]
fields: {entry: string}
actions: {append: {capability: ledger.append, auto_confirm: true, arguments: {entry: {field: entry}}}}
skills: {act: {actions: [append], then: {stage: [append]}}}
steps: [{id: act, kind: plumbing, skill: act, fields: [entry]}]
"""


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path)
    yield made
    made.kernel.close()


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path, effect_class="money_legal")
    yield made
    made.kernel.close()


def must_be_refused(shop: Shop, turn: Turn, reason: str) -> None:
    """Assert that a run did not act on a turn, and says so for this reason everywhere."""
    reached: list[str] = []
    shop.kernel.line.at_point = reached.append
    shop.kernel.run()
    shop.run_later()
    # Refused before the mark, not only by it.
    assert not {"before_dispatch", "before_execute"} & set(reached)
    assert shop.ledger.entries() == []
    receipt = shop.receipts(turn)[-1]
    assert (receipt.failure_code, receipt.refused) == (reason, True)
    assert shop.grade(turn) == ("not_attempted", "verified")
    activity = shop.turn(turn).activity()
    assert (activity.state.value, activity.failure_reason) == ("failed", reason)
    assert shop.read(lambda tx: tx.proposals(turn.turn_id))[-1].state is ProposalState.REFUSED
    # A grant written by hand leaves a leaf that no row names, and an outside reader sees a wrong purpose too.
    assert [
        one for one in disagreements(shop.kernel) if " leaves for " not in one and "grant_purpose" not in one
    ] == []


def edit(shop: Shop, sql: str, *values: object) -> None:
    """Change a store by hand, as somebody with the file can: the rules taken down and put up again around it."""
    connection = apsw.Connection(str(shop.kernel.place.database))
    triggers = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    connection.execute("BEGIN IMMEDIATE")
    for name, _ in triggers:
        connection.execute(f'DROP TRIGGER "{name}"')
    connection.execute(sql, values)
    assert connection.changes() == 1
    for _, text in triggers:
        connection.execute(text)
    connection.execute("COMMIT")
    connection.close()


def grant_by_hand(shop: Shop, turn: Turn, **changes: Any) -> None:
    """Write a grant that says something else, signed with the kernel's own key, into the row of a turn."""
    row = shop.row(turn)
    found = shop.read(lambda tx: tx.grant(row.grant_id))
    grant = msgspec.structs.replace(found.grant, grant_id=shop.kernel.line.new_id(), **changes)
    shop.kernel.line.store.write(
        lambda tx: seal_grant(shop.kernel.line, tx, grant, signer=None, chain=turn.turn_id)
    )
    edit(shop, "UPDATE outbox SET grant_id = ? WHERE outbox_id = ?", grant.grant_id, row.outbox_id)


def waiting(shop: Shop, entry: str = "a") -> Turn:
    """Return a turn that is confirmed and not claimed by this process."""
    turn = shop.append(entry)
    shop.kernel.confirm(turn.question_ids(), by=PERSON)
    return turn


# -- nobody confirmed ----------------------------------------------------------------------------------------


def test_r137_a_staged_action_waits_for_a_confirm_even_where_its_definition_says_auto_confirm(
    shop: Shop,
) -> None:
    (shop.kernel.place.processes / "auto.yaml").write_text(AUTO)
    shop.kernel.line.rules.forget()  # type: ignore[attr-defined]
    turn = shop.kernel.submit("auto", {"entry": "a"})
    for _ in range(3):
        shop.run_later()
    assert shop.ledger.entries() == []
    assert len(turn.question_ids()) == 1
    assert shop.read(lambda tx: tx.outbox_of_turn(turn.turn_id)) == []
    shop.kernel.confirm(turn.question_ids(), by=PERSON)
    shop.kernel.run()
    assert shop.ledger.entries() == ["a"]


def test_r137_a_row_without_a_grant_is_not_dispatched(shop: Shop) -> None:
    turn = waiting(shop)
    edit(shop, "UPDATE outbox SET grant_id = NULL WHERE outbox_id = ?", shop.row(turn).outbox_id)
    must_be_refused(shop, turn, "no_grant")


@pytest.mark.parametrize("nobody", ["agent:tester", "model:m", "tool:t", "carl"])
def test_r137_nobody_without_the_role_confirms(nobody: str, shop: Shop) -> None:
    turn = shop.append("a")
    with pytest.raises(RefusedError):
        shop.kernel.confirm(turn.question_ids(), by=nobody)
    shop.kernel.run()
    assert shop.ledger.entries() == []
    assert len(turn.question_ids()) == 1


def test_g097_one_refusal_stops_one_action_and_no_other(shop: Shop) -> None:
    no, yes = shop.append("no"), shop.append("yes")
    shop.kernel.confirm(yes.question_ids(), by=PERSON)
    shop.kernel.refuse(no.question_ids(), by=PERSON)
    shop.kernel.run()
    assert shop.ledger.entries() == ["yes"]
    assert (shop.grade(no), no.activity().label) == (("not_attempted", "verified"), "cancelled")


# -- money and law -------------------------------------------------------------------------------------------


def proposed(bank: Shop, entry: str = "a", *, judge: str = OTHER_PERSON, **options: Any) -> Turn:
    """Propose a payment and let a person choose it; what it will do still waits for its confirm."""
    turn = bank.kernel.propose("ledger.append", {"entry": entry}, **options)
    (question,) = turn.questions("judgment")
    bank.kernel.judge(question.question_id, "act", by=judge)
    return turn


def test_r138_money_moves_only_by_a_person(bank: Shop) -> None:
    turn = bank.append("a")
    bank.run_later()
    assert turn.question_ids() == []  # No rule chooses it: first a person judges.
    turn = proposed(bank)
    for _ in range(2):
        bank.run_later()
    assert bank.ledger.entries() == []
    bank.kernel.confirm(turn.question_ids(), by=PERSON)
    bank.kernel.run()
    assert bank.ledger.entries() == ["a"]


@pytest.mark.parametrize("role", ["submitter", "on_behalf_of"])
def test_r138_nobody_confirms_their_own_money(role: str, bank: Shop) -> None:
    options = {"principal": PERSON} if role == "submitter" else {"on_behalf_of": PERSON}
    turn = proposed(bank, **options)
    with pytest.raises(RefusedError) as caught:
        bank.kernel.confirm(turn.question_ids(), by=PERSON)
    assert caught.value.code == "confirm_not_independent"
    bank.kernel.confirm(turn.question_ids(), by=OTHER_PERSON)
    bank.kernel.run()
    assert bank.ledger.entries() == ["a"]


def test_r138_a_grant_of_the_submitter_is_refused_at_the_dispatch_too(bank: Shop) -> None:
    turn = proposed(bank, principal=PERSON)
    bank.kernel.confirm(turn.question_ids(), by=OTHER_PERSON)
    grant_by_hand(bank, turn, principal=PERSON)
    must_be_refused(bank, turn, "grant_not_independent")


def test_r138_money_is_confirmed_one_at_a_time(bank: Shop) -> None:
    first, second = proposed(bank, "a"), proposed(bank, "b")
    with pytest.raises(RefusedError) as caught:
        bank.kernel.confirm([*first.question_ids(), *second.question_ids()], by=PERSON)
    assert caught.value.code == "money_one_at_a_time"
    bank.kernel.run()
    assert bank.ledger.entries() == []
    assert len(bank.kernel.inbox()) == 2


# -- time ----------------------------------------------------------------------------------------------------


def test_a_grant_that_expired_allows_nothing(shop: Shop) -> None:
    turn = waiting(shop)
    shop.clock.step(24 * HOUR_MS)
    must_be_refused(shop, turn, "grant_expired")


def test_a_grant_about_money_lasts_an_hour(bank: Shop) -> None:
    turn = proposed(bank)
    bank.kernel.confirm(turn.question_ids(), by=PERSON)
    bank.clock.step(HOUR_MS)
    must_be_refused(bank, turn, "grant_expired")


def test_a_grant_from_the_future_allows_nothing_yet(shop: Shop) -> None:
    turn = waiting(shop)
    now = shop.clock.now_ms()
    grant_by_hand(shop, turn, issued_at_ms=now + HOUR_MS * 4, expires_at_ms=now + HOUR_MS * 5)
    must_be_refused(shop, turn, "grant_future")


# -- exactly this, once, here --------------------------------------------------------------------------------


def test_a_grant_for_another_effect_allows_nothing(shop: Shop) -> None:
    turn = waiting(shop)
    grant_by_hand(shop, turn, subject_digest="sha256:" + "1" * 64)
    must_be_refused(shop, turn, "grant_other_effect")


def test_a_grant_of_another_purpose_allows_nothing(shop: Shop) -> None:
    turn = waiting(shop)
    grant_by_hand(shop, turn, purpose=GrantPurpose.SETTLEMENT)
    must_be_refused(shop, turn, "grant_other_effect")


def test_a_grant_of_another_incarnation_allows_nothing(shop: Shop) -> None:
    turn = waiting(shop)
    grant_by_hand(shop, turn, incarnation="another")
    must_be_refused(shop, turn, "grant_void")


def test_a_row_of_another_incarnation_is_not_dispatched(shop: Shop) -> None:
    turn = waiting(shop)
    edit(shop, "UPDATE outbox SET incarnation = 'another'")
    must_be_refused(shop, turn, "other_incarnation")


def test_a_grant_whose_row_says_more_than_its_signature_allows_nothing(shop: Shop) -> None:
    turn = waiting(shop)
    row = shop.row(turn)
    found: Grant = shop.read(lambda tx: tx.grant(row.grant_id)).grant
    body = msgspec.json.encode(msgspec.structs.replace(found, authn=Authn.PASSPHRASE)).decode()
    edit(shop, 'UPDATE "grant" SET body = ? WHERE grant_id = ?', body, found.grant_id)
    must_be_refused(shop, turn, "grant_signature")


def test_a_void_grant_allows_nothing(shop: Shop) -> None:
    turn = waiting(shop)
    shop.kernel.line.store.write(lambda tx: tx.void_unused_grants(now_ms=shop.clock.now_ms()))
    must_be_refused(shop, turn, "grant_void")


def test_a_grant_is_used_once(shop: Shop) -> None:
    first = shop.done("first")
    turn = waiting(shop)
    shop.ledger.path.unlink()
    used, row = shop.row(first), shop.row(turn)
    # The second effect is given the first one's used grant, made out to it.
    grant = shop.read(lambda tx: tx.grant(used.grant_id))
    grant_by_hand(shop, turn)
    again = shop.row(turn).grant_id
    edit(shop, 'UPDATE "grant" SET used_by = ? WHERE grant_id = ?', used.outbox_id, again)
    assert grant.used_by == used.outbox_id != row.outbox_id
    must_be_refused(shop, turn, "grant_used")


def test_one_byte_more_in_the_arguments_is_not_what_was_confirmed(shop: Shop) -> None:
    turn = waiting(shop)
    edit(
        shop,
        "UPDATE effect SET arguments = ? WHERE effect_digest = ?",
        b'{"entry":"aa"}',
        shop.row(turn).effect_digest,
    )
    must_be_refused(shop, turn, "arguments_changed")


def test_one_word_other_in_the_descriptor_is_not_what_was_confirmed(shop: Shop) -> None:
    turn = waiting(shop)
    digest = shop.row(turn).effect_digest
    effect = shop.read(lambda tx: tx.effect(digest))
    text = msgspec.json.encode(msgspec.structs.replace(effect.descriptor, blast_radius=2)).decode()
    edit(shop, "UPDATE effect SET descriptor = ? WHERE effect_digest = ?", text, digest)
    must_be_refused(shop, turn, "effect_changed")


def test_d054_what_was_cancelled_before_its_dispatch_is_not_dispatched(shop: Shop) -> None:
    turn = waiting(shop)
    (proposal,) = shop.read(lambda tx: tx.proposals(turn.turn_id))
    shop.kernel.line.store.write(
        lambda tx: tx.set_proposal(proposal.proposed_action_id, state=ProposalState.CANCELLED)
    )
    must_be_refused(shop, turn, "proposal_cancelled")


# -- qualification -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "reason"), [(True, "not_qualified"), (None, "qualification_not_possible")]
)
def test_o49_a_flagged_effect_is_not_dispatched_on_a_qualification_that_does_not_hold(
    answer: bool | None, reason: str, tmp_path: Path
) -> None:
    shop = Shop(tmp_path, reversibility="irreversible", rehearse=lambda entry: answer)
    turn = shop.append("a")
    shop.kernel.confirm(turn.question_ids(), by=PERSON, accept_unqualified=True)
    if answer:
        edit(shop, "DELETE FROM qualification WHERE effect_digest = ?", shop.row(turn).effect_digest)
    else:
        grant_by_hand(shop, turn, accepts_unqualified=False)
    must_be_refused(shop, turn, reason)
    shop.kernel.close()


def test_o49_a_grant_over_another_rehearsal_allows_nothing(tmp_path: Path) -> None:
    shop = Shop(tmp_path, reversibility="irreversible", rehearse=lambda entry: True)
    turn = waiting(shop)
    grant_by_hand(shop, turn, qualification_digest="sha256:" + "2" * 64)
    must_be_refused(shop, turn, "qualification_other")
    shop.kernel.close()


def test_a_look_of_the_world_that_raises_holds_nothing_and_refuses(shop: Shop) -> None:
    append_action(shop.kernel, shop.ledger, capability="l.held")
    found: Any = shop.kernel.line.registry.find("l.held")

    def hold(effect: object) -> object:
        raise KeyError("x")

    found.executor.hold = hold
    turn = shop.kernel.propose("l.held", {"entry": "a"})
    shop.kernel.confirm(turn.question_ids(), by=PERSON)
    must_be_refused(shop, turn, "hold_raised")
