# SPDX-License-Identifier: Apache-2.0
"""What is said is stored with the evidence behind it or not at all, and a model's words stay words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from actum.model.delivery import ExecutionKind
from actum.model.errors import RefusedError, UsageError
from actum.model.message import ExecutionMode, Role
from actum.service import say as module
from actum.testing.kernels import PERSON, perform
from actum.testing.records import cloud, native
from tests.unit.service.desk import Desk


def _said(desk: Desk, turn: Any, **more: Any) -> Any:
    return desk.kernel.say(turn.turn_id, "it is there", **more)


def _expect_refused(code: str, desk: Desk, turn: Any, **more: Any) -> None:
    with pytest.raises(RefusedError) as caught:
        _said(desk, turn, **more)
    assert caught.value.code == code
    assert desk.kernel.show(turn.turn_id)["messages"] == []


def test_rule_1_a_secret_in_a_message_is_taken_out_before_it_is_kept(desk: Desk) -> None:
    turn = desk.append("a")
    secret = "AKIA" + "ABCDEFGH234567QW"
    desk.kernel.say(turn.turn_id, f"the key is {secret}", role="user")
    assert secret not in json.dumps(desk.kernel.show(turn.turn_id))


def test_rule_2_o73_each_assistant_message_keeps_its_five_words_of_provenance(desk: Desk) -> None:
    turn = desk.append("a")
    perform(desk.kernel, turn)
    receipt = turn.receipt()
    assert receipt is not None
    _said(desk, turn, provenance=native(), receipt=receipt.receipt_id)
    _said(desk, turn, provenance=cloud())
    stored = desk.kernel.show(turn.turn_id)["messages"]
    assert [message["provenance"] for message in stored] == [
        {"routing_mode": "ladder", "execution_kind": "native", "provider": "actum", "runtime": "actum",
         "model": None},
        {"routing_mode": "ladder", "execution_kind": "cloud_model", "provider": "anthropic",
         "runtime": "https", "model": "m-1"},
    ]  # fmt: skip
    assert [message["attribution"] for message in stored] == [
        "native by actum (actum)",
        "cloud_model by anthropic (https, model m-1)",
    ]


def test_rule_2_o74_a_native_reply_with_a_cloud_provider_is_refused_at_the_write(desk: Desk) -> None:
    turn = desk.append("a")
    perform(desk.kernel, turn)
    receipt = turn.receipt()
    assert receipt is not None
    source = native(provider="anthropic")
    _expect_refused("native_cloud_provider", desk, turn, provenance=source, receipt=receipt.receipt_id)


def test_rule_2_o75_a_native_reply_needs_the_receipt_of_an_effect_of_its_turn_that_was_seen(
    desk: Desk,
) -> None:
    turn, elsewhere = desk.append("a"), desk.append("b")
    _expect_refused("native_without_receipt", desk, turn, provenance=native())
    _expect_refused("native_without_receipt", desk, turn, provenance=native(), receipt="01NOSUCHRECEIPT")
    perform(desk.kernel, elsewhere)
    other = elsewhere.receipt()
    assert other is not None
    _expect_refused("native_without_receipt", desk, turn, provenance=native(), receipt=other.receipt_id)
    desk.kernel.refuse(turn.question_ids(), by=PERSON)
    desk.kernel.run()
    cancelled = turn.receipt()
    assert cancelled is not None
    _expect_refused(
        "native_receipt_not_earned", desk, turn, provenance=native(), receipt=cancelled.receipt_id
    )


def test_rule_2_o75_a_recorded_decision_is_no_execution_to_speak_of(desk: Desk) -> None:
    turn = desk.kernel.submit("ticket", {"kind": "letter"})
    desk.kernel.run()
    receipt = turn.receipt()
    assert receipt is not None
    assert receipt.kind is ExecutionKind.RECORD
    _expect_refused("native_receipt_not_earned", desk, turn, provenance=native(), receipt=receipt.receipt_id)


@pytest.mark.parametrize("kind", [mode for mode in ExecutionMode if mode is not ExecutionMode.NATIVE])
def test_rule_2_a_models_reply_needs_no_receipt(desk: Desk, kind: ExecutionMode) -> None:
    turn = desk.append("a")
    assert _said(desk, turn, provenance=cloud(execution_kind=kind)).provenance.execution_kind is kind


def test_rule_2_o76_the_write_refuses_also_where_the_callers_check_is_gone(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "refuse_message", lambda *_, **__: None)
    turn = desk.append("a")
    for source in (native(), native(provider="anthropic")):
        _expect_refused("store_rule", desk, turn, provenance=source)


def test_rule_3_o1_o3_a_models_reply_is_an_assertion_and_changes_no_evidence(desk: Desk) -> None:
    turn = desk.append("a")
    perform(desk.kernel, turn)
    before = turn.activity()
    _said(desk, turn, provenance=cloud(), asserts=["ledger.append"])
    shown = desk.kernel.show(turn.turn_id)
    assert [row["text"] for row in shown["assertions"]] == ["it is there"]
    assert shown["assertions"][0]["model_id"] == "m-1"
    assert turn.activity().evidence_digest == before.evidence_digest
    assert len(turn.receipts()) == 1


def test_rule_3_o3_no_assertion_is_recorded_where_no_model_produced_text(desk: Desk) -> None:
    turn = desk.append("a")
    perform(desk.kernel, turn)
    receipt = turn.receipt()
    assert receipt is not None
    _said(desk, turn, role=Role.USER)
    _said(desk, turn, role=Role.TOOL)
    _said(desk, turn, provenance=native(), receipt=receipt.receipt_id)
    assert desk.kernel.show(turn.turn_id)["assertions"] == []


def test_rule_3_o11_a_claimed_effect_that_was_not_executed_keeps_its_turn_from_completing(desk: Desk) -> None:
    for count in (1, 3):
        turn = desk.kernel.submit("ticket", {"kind": "letter", "entry": str(count)})
        for _ in range(count):
            _said(desk, turn, provenance=cloud(), asserts=["payments.refund"])
        desk.kernel.run()
        assert turn.state == "recovery_required"
        assert turn.activity().receipt_count == 0


def test_rule_3_what_a_text_names_is_bound_to_the_row_it_names(desk: Desk) -> None:
    turn = desk.append("a")
    rows = perform(desk.kernel, turn)
    _said(desk, turn, asserts=["ledger.append", rows[0], "payments.refund"])
    found = desk.kernel.show(turn.turn_id)["assertions"]
    assert sorted((row["asserts"], row["outbox_id"]) for row in found) == sorted(
        [("ledger.append", rows[0]), (rows[0], rows[0]), ("payments.refund", None)]
    )


def test_a_message_of_an_unknown_turn_is_an_error(desk: Desk) -> None:
    with pytest.raises(UsageError) as caught:
        desk.kernel.say("01NOSUCHTURN", "hello")
    assert caught.value.code == "not_found"
    assert desk.count("message") == 0
