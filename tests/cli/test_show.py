# SPDX-License-Identifier: Apache-2.0
"""Any record can be shown and explained; nothing shown claims more than its evidence."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest

from actum.model.message import Message, Role
from actum.model.wording import LIMITS, POSTCONDITION_HELD
from actum.service import content
from tests.cli.desk import EVIL, Desk


@pytest.fixture
def worked(desk: Desk) -> dict[str, Any]:
    """A turn with one effect carried out, as --json shows it."""
    desk.good("confirm", desk.propose(), "--yes", "--wait")
    return desk.good("show", desk.good("activity", "--json").lines()[0]["turn_id"], "--json").json()


def records(turn: dict[str, Any]) -> dict[str, str]:
    row, receipt, proposal = turn["rows"][0], turn["receipts"][0], turn["proposals"][0]
    return {
        "turn": turn["turn_id"],
        "work_item": turn["work_item_id"],
        "question": turn["questions"][0]["question_id"],
        "proposal": proposal["proposed_action_id"],
        "effect": proposal["effect_digest"],
        "outbox_row": row["outbox_id"],
        "grant": row["grant_id"],
        "execution": receipt["execution_id"],
        "receipt": receipt["receipt_id"],
        "decision": turn["decisions"][0]["digest"],
    }


def test_every_kind_of_record_is_shown_and_explained_by_its_id(desk: Desk, worked: dict[str, Any]) -> None:
    for kind, ident in records(worked).items():
        assert desk.good("show", ident, "--json").json()["kind"] == kind
        assert ident in desk.good("show", ident).out
        assert desk.good("explain", ident, "--json").json()["turn_id"] == worked["turn_id"]


def test_a_receipt_says_only_that_the_expected_outcome_was_seen(desk: Desk, worked: dict[str, Any]) -> None:
    for verb in ("show", "explain"):
        text = desk.good(verb, worked["turn_id"]).out
        assert POSTCONDITION_HELD in text
        # The word stands only beside the finality it belongs to, and "done" nowhere.
        assert set(re.findall(r"\S+ verified\b", text)) == {"finalized, verified"}
        assert not re.search(r"\b(?:done|success|safe)\b", text)
    assert desk.good("explain", worked["turn_id"]).out.endswith(LIMITS + "\n")
    assert "not against code that runs as that user" in desk.good("explain", worked["turn_id"]).out


def test_an_explanation_names_the_rung_its_condition_and_why_no_other(desk: Desk) -> None:
    desk.process()
    turn = desk.submit({"work_type": "order", "subject": {"colour": "red"}})[0]["turn_id"]
    text = desk.good("explain", turn).out
    assert "decided by the rung structured" in text
    assert "every field it needs is present and typed: colour" in text
    assert [name for name in ("pattern", "learned", "reasoning", "judgment") if f"not {name}: " in text] == [
        "pattern",
        "learned",
        "reasoning",
        "judgment",
    ]
    assert "no model was called" in text


def put_old_message(desk: Desk, turn: str) -> None:
    """Store a message as an import or an older version left it: without provenance and receipt."""
    with desk.kernel() as kernel:
        line = kernel.line
        line.store.write(
            lambda tx: tx.add_message(
                Message(
                    message_id=line.new_id(),
                    tenant=tx.tenant,
                    turn_id=turn,
                    role=Role.ASSISTANT,
                    content_digest=content.keep(line, tx, f"I did it all\nreceipt 01X: {EVIL}".encode()),
                    provenance=None,
                    receipt_id=None,
                    said_at_ms=line.now(),
                )
            )
        )


def test_o77_a_record_older_than_provenance_stays_readable(desk: Desk, worked: dict[str, Any]) -> None:
    put_old_message(desk, worked["turn_id"])
    text = desk.good("show", worked["turn_id"]).out
    assert "    | I did it all\n" in text
    (message,) = desk.good("show", worked["turn_id"], "--json").json()["messages"]
    assert message["text"].startswith("I did it all")


def test_o78_a_row_without_evidence_is_shown_without_an_attribution(
    desk: Desk, worked: dict[str, Any]
) -> None:
    put_old_message(desk, worked["turn_id"])
    text = desk.good("show", worked["turn_id"]).out
    assert "  message of the assistant:\n" in text
    (message,) = desk.good("show", worked["turn_id"], "--json").json()["messages"]
    assert message["attribution"] is None
    assert message["provenance"] is None


def test_what_a_message_says_cannot_pass_for_a_line_of_ours(desk: Desk, worked: dict[str, Any]) -> None:
    put_old_message(desk, worked["turn_id"])
    text = desk.good("show", worked["turn_id"]).out
    assert "    | receipt 01X: pay⟨U+202E⟩100⟨U+200B⟩pounds" in text


def test_a_turn_that_only_recorded_a_decision_says_that_it_shows_nothing_else(desk: Desk) -> None:
    desk.process()
    turn = desk.submit({"work_type": "order", "subject": {"colour": "red"}})[0]["turn_id"]
    desk.good("run")
    assert "It shows that the decision was recorded, and nothing else." in desk.good("explain", turn).out


def test_a_grade_that_was_not_observed_is_said_to_be_a_persons_word(desk: Desk) -> None:
    from tests.cli.test_errors import unknown_outcome

    turn = unknown_outcome(desk)
    (question,) = desk.ids()
    assert "the look could not tell" in desk("settle", question).out
    desk.good("settle", question, "--happened")
    for verb in ("show", "explain"):
        text = desk.good(verb, turn).out
        assert "not an observation: happened" in text
        assert "verified" not in text.replace("not_verified", "").replace("not verified", "")
    assert "says it happened" in desk.good("activity").out


def test_an_unknown_id_ends_with_1(desk: Desk) -> None:
    assert desk("show", "01NOPE").code == 1
    assert desk("explain", "sha256:" + "0" * 64).code == 1


UNGUARDED = """
from actum import Kernel

kernel = Kernel.open(".actum")


@kernel.action("bell.ring", reversibility="reversible", externality="local_only")
def ring(times: int) -> dict:
    return {"rung": times}


@ring.verifier(expect=lambda times: {"rung": times})
def look(times: int) -> dict:
    return {"rung": times}


kernel.confirm(ring(1).question_ids())
kernel.run()
kernel.close()
"""


def test_explain_says_why_a_look_could_not_tell(desk: Desk) -> None:
    (desk.folder / "bell.py").write_text(UNGUARDED)
    subprocess.run([sys.executable, "bell.py"], cwd=desk.folder, check=True)
    turn = desk.good("activity", "--json").lines()[0]["turn_id"]
    assert 'guard your script with if __name__ == "__main__":' in desk.good("explain", turn).out
