# SPDX-License-Identifier: Apache-2.0
"""Work is stored before anybody is told, once for each key, and without its secrets."""

from __future__ import annotations

import base64
import datetime
import json

import pytest

from actum.model.errors import RefusedError, UsageError
from actum.model.work import Submission
from actum.service.submit import submit, submit_many
from tests.unit.service.desk import Desk

SECRET = "sk-ant-api03-" + "A1b2C3d4" * 11 + "-abcdefAA"


def test_rule_1_a_secret_of_a_subject_is_nowhere_in_the_store(desk: Desk) -> None:
    turn = desk.kernel.submit("ticket", {"kind": "letter", "entry": f"my key is {SECRET}", "token": SECRET})
    shown = json.dumps(desk.kernel.show(turn.turn_id))
    assert SECRET not in shown
    assert json.loads(desk.events("redacted")[0])["count"] >= 1
    desk.kernel.close()
    for path in desk.folder.rglob("*"):
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes(), path.name


def test_rule_1_a_secret_of_an_attachment_is_taken_out_before_it_is_kept(desk: Desk) -> None:
    raw = f"Subject: hi\r\n\r\nkey {SECRET}\r\n".encode()
    turn = desk.kernel.submit(
        "ticket", {"kind": "letter"}, attachments={"message.eml": base64.b64encode(raw).decode()}
    )
    kept = next(e for e in desk.kernel.show(turn.turn_id)["events"] if e["kind"] == "attached")
    body = desk.read(lambda tx: tx.content(kept["attachments"]["message.eml"]))[0]
    assert body.startswith(b"Subject: hi")
    assert SECRET.encode() not in body


def test_rule_2_the_same_key_of_the_same_principal_is_the_same_work(desk: Desk) -> None:
    first = submit(desk.kernel.line, Submission(work_type="ticket", subject={"kind": "letter"}, key="k"))
    again = submit(desk.kernel.line, Submission(work_type="ticket", subject={"kind": "letter"}, key="k"))
    assert (first.known, again.known) == (False, True)
    assert (again.work_item_id, again.turn_id) == (first.work_item_id, first.turn_id)
    assert desk.count("work_item") == 1
    other = submit(
        desk.kernel.line, Submission(work_type="ticket", subject={"kind": "letter"}, key="k"), principal="cy"
    )
    assert (other.known, desk.count("work_item")) == (False, 2)


@pytest.mark.parametrize(
    "work_type, subject", [("ticket", {"kind": "odd"}), ("other", {"kind": "letter"}), ("ticket", {})]
)
def test_rule_2_another_subject_under_a_known_key_is_a_conflict(
    desk: Desk, work_type: str, subject: dict
) -> None:
    desk.kernel.submit("ticket", {"kind": "letter"}, key="k")
    with pytest.raises(RefusedError) as caught:
        desk.kernel.submit(work_type, subject, key="k")
    assert caught.value.code == "key_conflict"
    assert desk.count("work_item") == 1


def test_rule_2_a_number_with_another_spelling_is_another_subject(desk: Desk) -> None:
    desk.kernel.submit("ticket", {"kind": "letter", "n": 1}, key="k")
    with pytest.raises(RefusedError):
        desk.kernel.submit("ticket", {"kind": "letter", "n": 1.0}, key="k")


def test_rule_2_the_same_key_twice_in_one_batch_is_stored_once(desk: Desk) -> None:
    one = Submission(work_type="ticket", subject={"kind": "order", "entry": "a"}, key="k")
    answers = submit_many(desk.kernel.line, [one, one])
    assert [answer.known for answer in answers] == [False, True]
    assert answers[0].turn_id == answers[1].turn_id
    assert len(desk.kernel.inbox()) == 1


def test_rule_3_work_that_no_process_takes_is_stored_and_fails_visibly(desk: Desk) -> None:
    turn = desk.kernel.submit("nothing.takes.this", {"a": 1}, key="k7")
    activity = turn.activity()
    assert (activity.state.value, activity.failure_category.value) == ("failed", "routing")
    assert "nothing.takes.this" in activity.failure_reason
    assert activity.title == "nothing.takes.this k7"
    assert desk.kernel.show(turn.turn_id)["subject"] == {"a": 1}
    assert [row.turn_id for row in desk.kernel.activity("needs_attention")] == [turn.turn_id]


@pytest.mark.parametrize("text", ["a", "====", "YQ", "YQ==\n", "Y Q=="])
def test_an_attachment_that_is_no_base64_stores_nothing_of_its_batch(desk: Desk, text: str) -> None:
    whole = Submission(work_type="ticket", subject={"kind": "letter"})
    broken = Submission(work_type="ticket", subject={"kind": "letter"}, attachments={"a": text})
    with pytest.raises(UsageError) as caught:
        submit_many(desk.kernel.line, [whole, broken])
    assert caught.value.code == "attachment_not_base64"
    assert desk.count("work_item") == 0


def test_work_that_is_known_already_walks_nothing_again(desk: Desk) -> None:
    turn = desk.kernel.submit("ticket", {"kind": "order", "entry": "a"}, key="k")
    before = {table: desk.count(table) for table in ("decision", "proposal", "question", "effect", "turn")}
    assert desk.kernel.submit("ticket", {"kind": "order", "entry": "a"}, key="k").turn_id == turn.turn_id
    assert {table: desk.count(table) for table in before} == before


@pytest.mark.parametrize(
    "subject, path",
    [
        ({"when": datetime.date(2026, 1, 1)}, "/when"),
        ({"a": {"b": {1, 2}}}, "/a/b"),
        ({"a": [float("nan")]}, "/a/0"),
        ({"a": "\ud800"}, "/a"),
        ({1: 2}, ""),
        ({"a": b"bytes"}, "/a"),
    ],
    ids=["date", "set", "nan", "surrogate", "key", "bytes"],
)
def test_a_subject_that_is_no_json_is_told_with_its_place_and_stores_nothing(
    desk: Desk, subject: dict, path: str
) -> None:
    with pytest.raises(UsageError) as caught:
        desk.kernel.submit("ticket", subject)
    assert caught.value.facts["path"] == path
    assert (desk.count("work_item"), desk.count("content")) == (0, 0)


def test_an_attachment_whose_name_is_no_text_is_told(desk: Desk) -> None:
    with pytest.raises(UsageError) as caught:
        desk.kernel.submit("ticket", {"kind": "letter"}, attachments={"\ud800": "YQ=="})
    assert caught.value.code == "lone_surrogate"
    assert desk.count("work_item") == 0
