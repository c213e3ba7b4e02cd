# SPDX-License-Identifier: Apache-2.0
"""Whatever has an id can be shown by it, with what belongs to it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from actum.model.errors import CorruptRecordError, UsageError
from actum.service import content
from actum.testing.kernels import perform
from actum.testing.records import cloud
from tests.unit.service.desk import Desk


def _found(desk: Desk) -> dict[str, str]:
    """Return one id of every kind of record of a turn that did something."""
    turn = desk.kernel.submit("ticket", {"kind": "order", "entry": "a"})
    rows = perform(desk.kernel, turn)
    receipt = turn.receipt()
    assert receipt is not None
    row = desk.read(lambda tx: tx.outbox(rows[0]))
    stored: Any = desk.kernel.show(turn.turn_id)
    return {
        "turn": turn.turn_id,
        "work_item": stored["work_item_id"],
        "question": stored["questions"][0]["question_id"],
        "proposal": stored["proposals"][0]["proposed_action_id"],
        "outbox_row": rows[0],
        "receipt": receipt.receipt_id,
        "execution": receipt.execution_id,
        "grant": row.grant_id,
        "decision": stored["decisions"][0]["digest"],
        "effect": receipt.effect_digest,
    }


def test_every_kind_of_record_is_shown_by_its_id_as_plain_json(desk: Desk) -> None:
    ids = _found(desk)
    shown = {kind: desk.kernel.show(record_id) for kind, record_id in ids.items()}
    assert {kind: found["kind"] for kind, found in shown.items()} == {kind: kind for kind in ids}
    json.dumps(shown)
    assert shown["turn"]["subject"] == {"kind": "order", "entry": "a"}
    assert shown["turn"]["receipts"][0]["receipt_id"] == ids["receipt"]
    assert shown["receipt"]["turn_id"] == ids["turn"]
    assert shown["outbox_row"]["executions"][0]["execution_id"] == ids["execution"]
    assert shown["effect"]["arguments"] == {"entry": "a"}
    assert shown["grant"]["used_by"] == ids["outbox_row"]


def test_a_receipt_is_shown_by_its_payload_digest_too(desk: Desk) -> None:
    ids = _found(desk)
    digest = desk.kernel.show(ids["receipt"])["payload_digest"]
    assert desk.kernel.show(digest)["receipt_id"] == ids["receipt"]


@pytest.mark.parametrize("nothing", ["", "01NOSUCHRECORD", "sha256:" + "0" * 64, "' OR 1=1 --"])
def test_an_id_that_is_not_there_is_not_found(desk: Desk, nothing: str) -> None:
    with pytest.raises(UsageError) as caught:
        desk.kernel.show(nothing)
    assert caught.value.code == "not_found"


def test_o78_a_message_without_evidence_is_shown_without_an_attribution(desk: Desk) -> None:
    turn = desk.append("a")
    desk.kernel.say(turn.turn_id, "imported long ago")
    desk.kernel.say(turn.turn_id, "said now", provenance=cloud())
    shown = desk.kernel.show(turn.turn_id)["messages"]
    assert [message["text"] for message in shown] == ["imported long ago", "said now"]
    assert [message["attribution"] for message in shown] == [
        None,
        "cloud_model by anthropic (https, model m-1)",
    ]


def test_content_that_is_gone_or_altered_is_an_error_and_nothing_is_derived_from_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = desk.kernel.line
    digest = line.store.write(lambda tx: content.keep(line, tx, b"whole"))
    monkeypatch.setattr(content.canonical, "digest_bytes", lambda body: "sha256:" + "1" * 64)
    with pytest.raises(CorruptRecordError) as caught:
        desk.read(lambda tx: content.load(line, tx, digest))
    assert caught.value.code == "content_altered"
    with pytest.raises(CorruptRecordError) as caught:
        desk.read(lambda tx: content.load(line, tx, "sha256:" + "0" * 64))
    assert caught.value.code == "content_missing"


def test_content_over_a_mebibyte_lies_in_a_file_beside_the_store_and_is_checked_when_read(desk: Desk) -> None:
    large = "x" * (1 << 20)
    turn = desk.kernel.submit("ticket", {"kind": "letter", "entry": large})
    assert desk.kernel.show(turn.turn_id)["subject"]["entry"] == large
    files = [path for path in desk.kernel.place.content.rglob("*") if path.is_file()]
    assert len(files) == 1
    assert files[0].stat().st_mode & 0o777 == 0o600
    files[0].write_bytes(files[0].read_bytes().replace(b"xx", b"yy", 1))
    with pytest.raises(CorruptRecordError) as caught:
        desk.kernel.show(turn.turn_id)
    assert caught.value.code == "content_altered"


def test_the_share_of_each_rung_is_counted_from_the_rows(desk: Desk) -> None:
    desk.kernel.submit("ticket", {"kind": "letter"})
    odd = desk.kernel.submit("ticket", {"kind": "odd"})
    assert desk.kernel.rungs()["structured"] == {"decisions": 2, "tokens": 0, "share_per_mille": 1000}
    desk.kernel.judge(odd.questions()[0].question_id, "letter", by="ann")
    found = desk.kernel.rungs()
    assert (found["judgment"]["decisions"], found["reasoning"]["decisions"]) == (1, 0)
    assert found["judgment"]["share_per_mille"] == 250
