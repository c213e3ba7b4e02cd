# SPDX-License-Identifier: Apache-2.0
"""What is staged is described, sealed and rehearsed before anybody is asked; what cannot be is refused visibly."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from actum.model import canonical, foreign
from actum.model.effect import EffectDescriptor, effect_digest
from actum.model.errors import EnvironmentFault
from actum.testing.kernels import perform
from tests.unit.service.desk import Desk


def _effect(desk: Desk, turn: Any) -> Any:
    proposal = desk.read(lambda tx: tx.proposals(turn.turn_id))[-1]
    return desk.read(lambda tx: tx.effect(proposal.effect_digest))


def test_rule_1_only_resolved_arguments_are_digested_shown_and_executed(desk: Desk) -> None:
    received: list[tuple[str, int]] = []

    @desk.kernel.action("mail.note", reversibility="reversible", externality="local_only")
    def note(text: str, copies: int = 2) -> None:
        received.append((text, copies))

    note.verifier(expect={"n": 1})(lambda text, copies: {"n": 1})
    turn = note("hello")
    row = _effect(desk, turn)
    assert foreign.to_plain(foreign.decode_foreign(row.arguments)) == {"text": "hello", "copies": 2}
    assert row.descriptor.resolved_argument_digest == canonical.digest_bytes(row.arguments)
    assert "copies = 2" in "\n".join(json.loads(row.shown)["lines"])
    perform(desk.kernel, turn)
    assert received == [("hello", 2)]


def test_rule_2_o44_a_descriptor_that_does_not_validate_gets_no_digest_and_is_refused_visibly(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    capability: Any = desk.kernel.line.registry.find("ledger.append")
    described = capability.describe

    def too_many(*args: Any, **more: Any) -> Any:
        return msgspec.structs.replace(described(*args, **more), object_count=5)

    monkeypatch.setattr(capability, "describe", too_many)
    turn = desk.append("a")
    proposal = desk.read(lambda tx: tx.proposals(turn.turn_id))[0]
    assert (proposal.state.value, proposal.effect_digest) == ("refused", None)
    assert turn.activity().failure_reason == "ledger.append: object_count_exceeds_blast_radius"
    assert (desk.count("effect"), desk.count("question")) == (0, 0)


@pytest.mark.parametrize(
    "error, reason",
    [
        (ZeroDivisionError(), "describe_raised"),
        (EnvironmentFault("disk_gone", failed="a", state="b", next_step="c"), "disk_gone"),
    ],
)
def test_rule_2_a_describer_that_raises_is_a_refusal_and_no_crash(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(desk.kernel.line.registry.find("ledger.append"), "describe", broken)
    turn = desk.append("a")
    assert (turn.state, turn.activity().failure_reason) == ("failed", f"ledger.append: {reason}")


@pytest.mark.parametrize(
    "rehearse, result, asked",
    [
        (lambda **_: True, "passed", True),
        (lambda **_: None, "not_possible", True),
        (None, "not_possible", True),
        (lambda **_: False, "failed", False),
        (lambda **_: 1 / 0, "failed", False),
    ],
    ids=["passed", "could not", "none", "failed", "raised"],
)
def test_rule_3_a_flagged_effect_is_rehearsed_first_and_a_failed_rehearsal_is_not_asked_about(
    desk: Desk, rehearse: Callable[..., Any] | None, result: str, asked: bool
) -> None:
    ran: list[str] = []

    @desk.kernel.action(
        "bank.burn", reversibility="irreversible", externality="external_mutation", rehearse=rehearse
    )
    def burn(what: str) -> None:
        ran.append(what)

    burn.verifier(expect={"gone": True})(lambda what: {"gone": True})
    turn = burn("x")
    row = _effect(desk, turn)
    stored = desk.read(lambda tx: tx.qualification(row.effect_digest))
    assert stored.result == result
    assert bool(turn.question_ids()) is asked
    if not asked:
        assert turn.activity().failure_reason == "bank.burn: qualification_failed"
    assert ran == []


def test_rule_3_an_effect_with_none_of_the_three_is_not_rehearsed(desk: Desk) -> None:
    turn = desk.append("a")
    assert desk.count("qualification") == 0
    assert len(turn.question_ids()) == 1


def test_rule_4_a_derived_key_is_of_item_step_and_intent(desk: Desk) -> None:
    keys = {_effect(desk, desk.append(entry)).descriptor.idempotency_key for entry in ("a", "a", "b")}
    assert len(keys) == 3  # Each proposal is a work item of its own.
    both = desk.kernel.submit("ticket", {"kind": "both", "entry": "a"})
    proposals = desk.read(lambda tx: tx.proposals(both.turn_id))
    stored = [desk.read(lambda tx, one=one: tx.effect(one.effect_digest)) for one in proposals]
    assert len({row.descriptor.idempotency_key for row in stored}) == 2


def test_rule_4_a_given_key_leads_to_the_first_receipt_or_to_a_conflict(desk: Desk) -> None:
    first = desk.kernel.propose("ledger.append", {"entry": "a"}, idempotency_key="k")
    perform(desk.kernel, first)
    again = desk.kernel.propose("ledger.append", {"entry": "a"}, idempotency_key="k")
    desk.kernel.run()
    assert again.receipt() == first.receipt()
    other = desk.kernel.propose("ledger.append", {"entry": "b"}, idempotency_key="k")
    assert other.activity().failure_reason == "ledger.append: idempotency_conflict"
    elsewhere = desk.kernel.propose(
        "ledger.append", {"entry": "a"}, idempotency_key="k", principal="agent:other"
    )
    assert elsewhere.activity().failure_reason == "ledger.append: idempotency_conflict"
    assert desk.ledger.entries() == ["a"]


def test_rule_5_what_a_person_will_be_shown_is_frozen_with_the_question(desk: Desk) -> None:
    turn = desk.append("a")
    question = turn.questions()[0]
    row = _effect(desk, turn)
    assert question.shown_digest == canonical.digest_bytes(row.shown)
    assert json.loads(row.shown)["effect_digest"] == row.effect_digest == question.subject_ref
    assert desk.read(lambda tx: tx.content(question.shown_digest))[0] == row.shown


def test_o33_o39_o45_a_stored_descriptor_names_resource_turn_and_proposal_and_is_the_one_digested(
    desk: Desk,
) -> None:
    turn = desk.append("a")
    row = _effect(desk, turn)
    descriptor: EffectDescriptor = row.descriptor
    proposal = desk.read(lambda tx: tx.proposals(turn.turn_id))[0]
    assert descriptor.origin_turn_id == turn.turn_id
    assert descriptor.proposed_action_id == proposal.proposed_action_id
    assert [resource.digest for resource in descriptor.canonical_resources] == [
        canonical.digest_bytes(row.arguments)
    ]
    assert effect_digest(descriptor, salt=row.salt) == row.effect_digest
    perform(desk.kernel, turn)
    receipt = turn.receipt()
    assert receipt is not None
    assert receipt.effect_digest == row.effect_digest


def test_a_secret_in_an_agents_arguments_is_taken_out_before_it_is_described(desk: Desk) -> None:
    secret = "ghp_" + "a1B2" * 9
    turn = desk.append(f"use {secret}")
    assert secret not in json.dumps(desk.kernel.show(turn.turn_id))
    perform(desk.kernel, turn)
    assert all(secret not in entry for entry in desk.ledger.entries())
