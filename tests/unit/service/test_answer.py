# SPDX-License-Identifier: Apache-2.0
"""A person's answer moves exactly what it was asked about, and nobody else's answer moves anything."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actum.evidence.dsse import open_envelope
from actum.evidence.statements import read_grant
from actum.model.errors import RefusedError, UsageError
from actum.model.grant import Authn
from actum.model.question import QuestionState
from actum.model.rfc3339 import format_ms
from actum.service.answer import CONFIRM_MONEY_MS, CONFIRM_MS
from actum.testing.kernels import OTHER_PERSON, PERSON, perform
from tests.unit.service.desk import Desk


def _refused(code: str, call: Any, *args: Any, **more: Any) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        call(*args, **more)
    assert caught.value.code == code
    return caught.value


def _grant_of(desk: Desk, outbox_id: str) -> Any:
    row = desk.read(lambda tx: tx.outbox(outbox_id))
    return desk.read(lambda tx: tx.grant(row.grant_id))


@pytest.fixture
def money(desk: Desk) -> Any:
    @desk.kernel.action(
        "bank.pay",
        reversibility="reversible",
        externality="local_only",
        effect_class="money_legal",
        absence_is_proof=True,
    )
    def pay(entry: str) -> dict[str, str]:
        desk.ledger.append(entry)
        return {"paid": entry}

    pay.verifier(expect={"lines": 1})(lambda entry: {"lines": desk.ledger.count(entry)})
    return pay


@pytest.mark.parametrize("name", ["agent:tester", "model:m", "tool:t"])
def test_rule_1_r102_agents_models_and_tools_never_answer_even_with_a_role(desk: Desk, name: str) -> None:
    now = desk.clock.now_ms()
    desk.kernel.line.store.write(lambda tx: tx.add_role(name, "approver", by="test", now_ms=now))
    turn = desk.append("a")
    for answer in (desk.kernel.confirm, desk.kernel.refuse):
        _refused("not_a_person", answer, turn.question_ids(), by=name)
    odd = desk.kernel.submit("ticket", {"kind": "odd"})
    _refused("not_a_person", desk.kernel.judge, odd.questions()[0].question_id, "letter", by=name)
    assert len(turn.question_ids()) == len(odd.questions()) == 1
    assert desk.count('"grant"') == 0


def test_rule_1_r102_somebody_without_the_role_does_not_answer(desk: Desk) -> None:
    turn = desk.append("a")
    error = _refused("role_missing", desk.kernel.confirm, turn.question_ids(), by="mallory")
    assert error.facts == {"person": "mallory", "role": "approver"}
    odd = desk.kernel.submit("ticket", {"kind": "odd"})
    _refused("role_missing", desk.kernel.judge, odd.questions()[0].question_id, "letter", by="mallory")
    assert turn.state == "queued"


def test_rule_2_n22_a_confirm_is_a_signed_grant_for_one_exact_digest(desk: Desk) -> None:
    turn = desk.append("a")
    question = turn.questions()[0]
    row = _grant_of(desk, desk.kernel.confirm(question.question_id, by=PERSON)[0])
    grant = row.grant
    assert (grant.principal, grant.purpose.value, grant.authn) == (PERSON, "confirm", Authn.SESSION)
    assert (grant.subject_digest, grant.shown_digest) == (question.subject_ref, question.shown_digest)
    assert grant.task == desk.read(lambda tx: tx.turn(turn.turn_id)).work_item_id
    assert (grant.issued_at_ms, grant.expires_at_ms) == (
        desk.clock.now_ms(),
        desk.clock.now_ms() + CONFIRM_MS,
    )
    signed = read_grant(open_envelope(row.envelope).payload)
    assert (signed.principal, signed.subject_digest) == (PERSON, question.subject_ref)


def test_rule_2_r102_the_name_of_who_confirmed_is_kept_with_the_answer_and_the_grant(desk: Desk) -> None:
    turn = desk.append("a")
    question_id = turn.question_ids()[0]
    rows = desk.kernel.confirm(question_id, by=OTHER_PERSON)
    stored = desk.read(lambda tx: tx.question(question_id))
    assert (stored.answered_by, stored.answer) == (OTHER_PERSON, "confirmed")
    assert _grant_of(desk, rows[0]).grant.principal == OTHER_PERSON


def test_rule_2_n22_a_persons_own_key_signs_their_grant(desk: Desk) -> None:
    keyid = desk.kernel.place.enrol(PERSON, passphrase=b"long enough")
    turn = desk.append("a")
    with pytest.raises(UsageError) as caught:
        desk.kernel.confirm(turn.question_ids(), by=PERSON)
    assert caught.value.code == "passphrase_needed"
    rows = desk.kernel.confirm(turn.question_ids(), by=PERSON, passphrase=b"long enough")
    row = _grant_of(desk, rows[0])
    assert row.grant.authn is Authn.PASSPHRASE
    assert [one.keyid for one in open_envelope(row.envelope).signatures] == [keyid]
    desk.kernel.run()
    assert turn.state == "completed"


def _pin(desk: Desk, **bounds: str) -> None:
    place = desk.kernel.place
    keys = [
        msgspec.structs.replace(key, **bounds) if key.principal == PERSON else key
        for key in place.trust_keys()
    ]
    place.write_trust(keys)


KEY_BOUNDS = [
    ({"revoked_at": "2020-01-01T00:00:00Z"}, "was revoked"),
    ({"not_after": "2020-01-01T00:00:00Z"}, "is not in force now"),
    ({"not_before": "2100-01-01T00:00:00Z"}, "is not in force now"),
]


@pytest.mark.parametrize("bounds, told", KEY_BOUNDS)
def test_rule_2_a_key_that_was_revoked_or_is_not_in_force_confirms_nothing(
    desk: Desk, bounds: dict[str, str], told: str
) -> None:
    desk.kernel.place.enrol(PERSON, passphrase=b"long enough")
    turn = desk.append("a")
    _pin(desk, **bounds)
    with pytest.raises(RefusedError) as caught:
        desk.kernel.confirm(turn.question_ids(), by=PERSON, passphrase=b"long enough")
    assert caught.value.code == "key_not_in_force"
    assert told in str(caught.value)
    assert (desk.count('"grant"'), desk.count("outbox"), len(turn.question_ids())) == (0, 0, 1)


@pytest.mark.parametrize("known", [True, False], ids=["checked before", "read anew"])
@pytest.mark.parametrize("bounds, _told", KEY_BOUNDS)
def test_rule_2_a_grant_allows_nothing_once_its_key_was_revoked(
    desk: Desk, bounds: dict[str, str], _told: str, known: bool
) -> None:
    desk.kernel.place.enrol(PERSON, passphrase=b"long enough")
    turn = desk.append("a")
    desk.kernel.confirm(turn.question_ids(), by=PERSON, passphrase=b"long enough")
    _pin(desk, **bounds)
    if not known:
        desk.kernel.line.known_grants.clear()
    desk.kernel.run()
    assert desk.ledger.entries() == []
    assert turn.activity().failure_reason == "grant_signature"


def test_rule_2_a_key_that_ended_after_it_signed_still_allowed_what_it_signed(desk: Desk) -> None:
    desk.kernel.place.enrol(PERSON, passphrase=b"long enough")
    turn = desk.append("a")
    desk.kernel.confirm(turn.question_ids(), by=PERSON, passphrase=b"long enough")
    desk.clock.step(60_000)
    _pin(desk, not_after=format_ms(desk.clock.now_ms() - 30_000))
    desk.kernel.run()
    assert desk.ledger.entries() == ["a"]
    late = desk.append("b")
    with pytest.raises(RefusedError):
        desk.kernel.confirm(late.question_ids(), by=PERSON, passphrase=b"long enough")


def test_rule_2_a_key_revoked_after_it_signed_takes_back_what_is_not_dispatched_yet(desk: Desk) -> None:
    desk.kernel.place.enrol(PERSON, passphrase=b"long enough")
    turn = desk.append("a")
    desk.kernel.confirm(turn.question_ids(), by=PERSON, passphrase=b"long enough")
    desk.clock.step(60_000)
    _pin(desk, revoked_at=format_ms(desk.clock.now_ms()))
    desk.kernel.run()
    assert desk.ledger.entries() == []
    assert turn.activity().failure_reason == "grant_signature"


def test_rule_2_a_confirm_that_is_cut_off_leaves_neither_grant_nor_row(desk: Desk) -> None:
    turn = desk.append("a")

    def stop(point: str) -> None:
        if point == "within_confirm":
            raise KeyboardInterrupt

    desk.kernel.line.at_point = stop
    with pytest.raises(KeyboardInterrupt):
        desk.kernel.confirm(turn.question_ids(), by=PERSON)
    desk.kernel.line.at_point = None
    assert (desk.count('"grant"'), desk.count("outbox"), len(turn.question_ids())) == (0, 0, 1)
    perform(desk.kernel, turn)
    assert desk.ledger.entries() == ["a"]


def _confirms(desk: Desk, turn: Any) -> list[str]:
    """Let a person decide that the money action may be staged; return the confirm that then waits."""
    desk.kernel.judge(turn.questions()[0].question_id, "act", by=OTHER_PERSON)
    return turn.question_ids()


def test_rule_3_money_is_confirmed_one_at_a_time(desk: Desk, money: Any) -> None:
    ids = [*_confirms(desk, money("a")), *_confirms(desk, money("b"))]
    _refused("money_one_at_a_time", desk.kernel.confirm, ids, by=PERSON)
    _refused(
        "money_one_at_a_time", desk.kernel.confirm, [ids[0], *desk.append("c").question_ids()], by=PERSON
    )
    assert len(desk.kernel.inbox()) == 3
    grant = _grant_of(desk, desk.kernel.confirm(ids[0], by=PERSON)[0]).grant
    assert grant.expires_at_ms - grant.issued_at_ms == CONFIRM_MONEY_MS


@pytest.mark.parametrize(
    "submitter, behalf, allowed",
    [(PERSON, None, False), ("cy", PERSON, False), ("cy", "dee", True), ("cy", None, True)],
)
def test_rule_3_money_is_confirmed_by_neither_the_submitter_nor_the_one_acted_for(
    desk: Desk, money: Any, submitter: str, behalf: str | None, allowed: bool
) -> None:
    turn = desk.kernel.propose("bank.pay", {"entry": "a"}, principal=submitter, on_behalf_of=behalf)
    ids = _confirms(desk, turn)
    if allowed:
        assert len(desk.kernel.confirm(ids, by=PERSON)) == 1
    else:
        _refused("confirm_not_independent", desk.kernel.confirm, ids, by=PERSON)
        assert len(turn.question_ids()) == 1


def test_rule_3_an_ordinary_effect_may_be_confirmed_by_who_submitted_it(desk: Desk) -> None:
    turn = desk.kernel.propose("ledger.append", {"entry": "a"}, principal=PERSON)
    assert len(desk.kernel.confirm(turn.question_ids(), by=PERSON)) == 1


def test_rule_4_the_first_answer_counts_and_a_second_is_told_what_happened(desk: Desk) -> None:
    turn = desk.append("a")
    question_id = turn.question_ids()[0]
    desk.kernel.confirm(question_id, by=PERSON)
    for answer in (desk.kernel.confirm, desk.kernel.refuse):
        error = _refused("question_resolved", answer, question_id, by=OTHER_PERSON)
        assert f"{PERSON} answered it: confirmed" in error.failed
    assert (desk.count("outbox"), desk.count('"grant"')) == (1, 1)


def test_rule_4_a_confirm_of_several_is_all_or_none(desk: Desk) -> None:
    first, second = desk.append("a"), desk.append("b")
    desk.kernel.refuse(second.question_ids(), by=PERSON)
    ids = [
        *first.question_ids(),
        *[q.question_id for q in desk.read(lambda tx: tx.questions(second.turn_id))],
    ]
    _refused("question_resolved", desk.kernel.confirm, ids, by=OTHER_PERSON)
    assert len(first.question_ids()) == 1
    assert desk.count('"grant"') == 0


def test_rule_5_a_refused_proposal_is_sealed_as_not_attempted(desk: Desk) -> None:
    turn = desk.append("a")
    desk.kernel.refuse(turn.question_ids(), by=PERSON, reason="not now")
    desk.kernel.run()
    receipt = turn.receipt()
    assert receipt is not None
    assert (receipt.graded.finality.value, receipt.graded.confidence.value) == ("not_attempted", "verified")
    assert (receipt.status.value, receipt.grant_digest, receipt.executor_said) == ("cancelled", None, None)
    assert (turn.activity().state.value, turn.activity().label) == ("completed", "cancelled")
    assert desk.ledger.entries() == []


def test_rule_6_a_judgment_is_decided_by_the_ladder_and_recorded_with_the_person(desk: Desk) -> None:
    odd = desk.kernel.submit("ticket", {"kind": "odd", "entry": "a"})
    question_id = odd.questions()[0].question_id
    desk.kernel.judge(question_id, "order", by=OTHER_PERSON, reason="looks like one")
    decision = desk.kernel.show(odd.turn_id)["decisions"][0]
    assert decision["rung"] == "judgment"
    assert decision["judgment"]["person"] == OTHER_PERSON
    assert decision["judgment"]["choice"] == "order"
    assert desk.read(lambda tx: tx.question(question_id)).answer == "order"
    assert len(odd.question_ids()) == 1


def test_rule_6_a_choice_that_was_not_offered_is_refused_and_the_question_stays_open(desk: Desk) -> None:
    odd = desk.kernel.submit("ticket", {"kind": "odd"})
    question_id = odd.questions()[0].question_id
    error = _refused("choice_unknown", desk.kernel.judge, question_id, "burn", by=PERSON)
    assert "letter, order" in error.next_step
    assert desk.read(lambda tx: tx.question(question_id)).state is QuestionState.OPEN


def test_rule_6_n41_a_decision_counts_in_its_own_task_only(desk: Desk) -> None:
    one = desk.kernel.submit("ticket", {"kind": "odd", "entry": "a"})
    other = desk.kernel.submit("ticket", {"kind": "odd", "entry": "a"})
    desk.kernel.judge(one.questions()[0].question_id, "letter", by=PERSON)
    assert [question.reason.value for question in other.questions()] == ["judgment"]
    assert desk.read(lambda tx: tx.decisions(other.turn_id)) == []
    third = desk.kernel.submit("ticket", {"kind": "odd", "entry": "a"})
    assert len(third.questions()) == 1


def test_n41_a_confirm_of_one_task_does_not_let_the_same_effect_of_another_run(desk: Desk) -> None:
    one, other = desk.append("a"), desk.append("a")
    rows = desk.kernel.confirm(one.question_ids(), by=PERSON)
    grant = _grant_of(desk, rows[0]).grant
    assert grant.task == desk.read(lambda tx: tx.turn(one.turn_id)).work_item_id
    desk.kernel.run()
    assert desk.ledger.entries() == ["a"]
    assert (len(other.question_ids()), other.state) == (1, "queued")


@pytest.mark.parametrize("wrong", ["confirm", "refuse"])
def test_a_question_is_answered_only_in_the_way_it_asks_for(desk: Desk, wrong: str) -> None:
    odd = desk.kernel.submit("ticket", {"kind": "odd"})
    question_id = odd.questions()[0].question_id
    error = _refused("other_question", getattr(desk.kernel, wrong), question_id, by=PERSON)
    assert "actum judge" in error.next_step
    confirm_id = desk.append("a").question_ids()[0]
    error = _refused("other_question", desk.kernel.judge, confirm_id, "letter", by=PERSON)
    assert "actum confirm" in error.next_step
    with pytest.raises(UsageError) as caught:
        desk.kernel.confirm("01NOSUCHQUESTION", by=PERSON)
    assert caught.value.code == "not_found"


def test_a_confirm_of_something_else_than_was_shown_is_refused(desk: Desk) -> None:
    turn = desk.append("a")
    question = turn.questions()[0]
    for shown in ("sha256:" + "0" * 64, {question.question_id: "sha256:" + "0" * 64}, {}):
        _refused("shown_other", desk.kernel.confirm, turn.question_ids(), by=PERSON, shown_digest=shown)
    shown = {question.question_id: question.shown_digest}
    assert len(desk.kernel.confirm(turn.question_ids(), by=PERSON, shown_digest=shown)) == 1


def test_an_effect_that_could_not_be_rehearsed_needs_a_confirm_that_accepts_it(desk: Desk) -> None:
    @desk.kernel.action("bank.burn", reversibility="irreversible", externality="external_mutation")
    def burn(what: str) -> None:
        desk.ledger.append(what)

    burn.verifier(expect={"lines": 1})(lambda what: {"lines": desk.ledger.count(what)})
    turn = burn("x")
    _refused("not_qualified", desk.kernel.confirm, turn.question_ids(), by=PERSON)
    rows = desk.kernel.confirm(turn.question_ids(), by=PERSON, accept_unqualified=True)
    assert _grant_of(desk, rows[0]).grant.accepts_unqualified
    desk.kernel.run()
    assert desk.ledger.entries() == ["x"]
