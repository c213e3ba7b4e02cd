# SPDX-License-Identifier: Apache-2.0
"""What a command tells to do next can be done, and is told of the state that was looked up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from actum.model.errors import EnvironmentFault
from actum.testing.clock import SimulatedClock
from actum.testing.kernels import Ledger, append_action, open_kernel, perform
from tests.cli.desk import Desk, me

HOUR_MS = 3600 * 1000


def _proposed_elsewhere(desk: Desk, entry: str = "a") -> str:
    """Propose an action of another program; return the question."""
    with open_kernel(desk.folder) as kernel:
        turn = append_action(kernel, Ledger(desk.folder / "ledger"))(entry)
        return turn.question_ids()[0]


def _dead(folder: Path, *, dispatched: bool) -> str:
    """Make a store with one dead letter that was dispatched or not; return its row."""
    clock = SimulatedClock()
    with open_kernel(folder, clock=clock, principal=me()) as kernel:
        action = append_action(
            kernel, Ledger(folder / "ledger"), acting=_nothing if dispatched else None, attempts_max=2
        )
        if not dispatched:
            found: Any = kernel.line.registry.find("ledger.append")
            found.executor.hold = _down
        [row] = perform(kernel, action("a"))
        for _ in range(20):
            clock.step(HOUR_MS)
            kernel.run()
        return row


def _open(desk: Desk) -> list[str]:
    return [one["question_id"] for one in desk.good("inbox", "--json").lines()]


def _nothing(entry: str) -> str:
    return entry


def _down(effect: object) -> object:
    raise EnvironmentFault("down", failed="it is down", state="nothing was done", next_step="wait")


def test_a_dead_letter_that_never_left_is_offered_what_works_and_nothing_else(bare: Desk) -> None:
    row = _dead(bare.folder, dispatched=False)
    [question] = _open(bare)
    inbox = bare.good("inbox").out
    assert "look again" not in inbox
    assert f"actum settle {question} --stop" in inbox
    looked = bare("settle", question)
    assert (looked.code, "was never dispatched" in looked.three()[0]) == (1, True)
    assert "dead letter" in looked.three()[1]
    assert "--stop" in looked.three()[2]
    bare.good("settle", question, "--stop")
    assert _open(bare) == []
    assert "not_attempted" in bare.good("show", row).out.replace(" ", "_")


def test_a_dead_letter_at_which_a_look_could_not_tell_is_not_said_to_have_been_seen(bare: Desk) -> None:
    row = _dead(bare.folder, dispatched=True)
    [question] = _open(bare)
    assert f"look again: actum settle {question}" in bare.good("inbox").out
    told = bare("settle", row)  # The program that knows the action is not this one, so nobody looks.
    assert "could not tell" in told.out
    assert "seen not to have happened" not in told.out
    assert f"actum settle {row} --stop" in told.out


def test_settling_an_answered_confirm_is_about_the_effect_it_allowed(desk: Desk) -> None:
    question = desk.propose()
    waiting = desk.good("confirm", question, "--yes", "--json").json()["outbox_id"]
    early = desk("settle", question)
    assert (early.code, waiting in early.three()[0]) == (1, True)
    assert "It is ready" in early.three()[1]
    desk.good("run")
    late = desk("settle", question)
    assert (late.code, late.err.count("actum confirm")) == (1, 0)
    assert f"actum show {waiting}" in late.three()[2]


def test_settling_an_answered_judgment_says_that_it_was_answered(desk: Desk) -> None:
    desk.process("process: j\nwork_types: [j]\nsteps: [{id: a, kind: judgment, choices: [{id: 'yes'}]}]\n")
    desk.submit({"work_type": "j", "subject": {}})
    [question] = _open(desk)
    desk.good("judge", question, "--choice", "yes")
    told = desk("settle", question)
    assert (told.code, "was answered (yes)" in told.three()[0]) == (2, True)
    assert "actum show" in told.three()[2]


def test_an_action_of_another_program_is_not_waited_for(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    question = _proposed_elsewhere(desk)
    monkeypatch.setattr("actum.cli.waiting.time.sleep", _never)
    told = desk("confirm", question, "--yes", "--wait")
    assert told.code == 3
    assert "Next: run the program that registers ledger.append" in told.out
    assert "actum run" not in told.out


def test_work_of_another_program_is_stored_and_said_to_be_left_to_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    _proposed_elsewhere(desk)
    desk.process(
        "process: p\nwork_types: [p]\nfields: {entry: string}\n"
        "actions: {append: {capability: ledger.append, arguments: {entry: {field: entry}}}}\n"
        "skills: {s: {actions: [append], rules: [{id: r, when: 'entry != \"\"', then: {stage: [append]}}]}}\n"
        "steps: [{id: s, kind: plumbing, skill: s}]\n"
    )
    [told] = desk.submit({"work_type": "p", "subject": {"entry": "b"}})
    assert "waits for the program that registers ledger.append" in " ".join(desk.good("activity").out.split())
    assert "1 turn left to the program that registers ledger.append." in desk.good("run").out
    assert desk.good("run", "--json").json()["turns_elsewhere"] == {"ledger.append": 1}
    with open_kernel(desk.folder) as kernel:
        append_action(kernel, Ledger(desk.folder / "ledger"))
        kernel.run()
        assert len(kernel.turn(told["turn_id"]).question_ids()) == 1


def _never(_: float) -> None:
    raise AssertionError("it waited")


def test_a_confirm_counts_what_it_allowed_and_names_what_it_did_not(desk: Desk) -> None:
    def subject(content: str) -> dict[str, object]:
        arguments = {"path": "a.txt", "content": content}
        return {"capability": "files.write", "arguments": arguments, "idempotency_key": "k"}

    items = [subject("one"), subject("one"), subject("two")]
    desk.submit(*({"work_type": "agent.action", "subject": item} for item in items))
    first, same, other = desk.ids()
    told = desk.good("confirm", first, same, other, "--yes").out
    assert "1 effect allowed" in told
    [allowed] = [line for line in told.splitlines() if line.startswith(f"    {same}: it repeats")]
    assert "answers for it" in allowed
    assert f"    {other}: its idempotency key already names another effect" in told


def test_a_name_within_a_reason_is_shown_as_it_is_written(desk: Desk) -> None:
    [told] = desk.submit({"work_type": "ea_inbox", "subject": {}})
    for text in (desk.good("activity").out, desk.good("show", told["turn_id"]).out):
        assert "no process takes work type ea_inbox" in " ".join(text.split())


def test_the_refusals_of_a_confirm_are_in_its_json(desk: Desk) -> None:
    arguments = {"path": "a.txt", "content": "one"}
    subject = {"capability": "files.write", "arguments": arguments, "idempotency_key": "k"}
    desk.submit(*[{"work_type": "agent.action", "subject": subject}] * 2)
    first, second = desk.good("confirm", *desk.ids(), "--yes", "--json").lines()
    assert (first["refusal"], second["refusal"]) == (None, f"duplicate_of:{first['outbox_id']}")


def test_an_id_that_is_not_there_is_told_before_anything_is_settled(bare: Desk) -> None:
    row = _dead(bare.folder, dispatched=True)
    assert "no question, effect or turn nope" in bare("settle", row, "nope", "--stop").three()[0]
    assert len(_open(bare)) == 1
    assert bare("settle", "nope", "--acknowledge").code == 1


def test_what_was_settled_before_an_error_is_told_with_it(bare: Desk) -> None:
    dead = _dead(bare.folder, dispatched=True)
    bare.good("confirm", bare.propose(), "--yes", "--wait")
    ended = bare.good("show", bare.good("activity", "--json").lines()[0]["turn_id"], "--json").json()
    answer = bare("settle", dead, ended["rows"][0]["outbox_id"], "--stop")
    assert answer.code == 1
    assert "1 effect given before it stand" in answer.three()[1]
    assert _open(bare) == []


def test_a_word_is_no_look_that_could_tell(bare: Desk) -> None:
    row = _dead(bare.folder, dispatched=True)
    assert bare.good("settle", row, "--stop", "--json").json()["could_tell"] is None


def test_what_waits_is_stopped_before_it_leaves(desk: Desk) -> None:
    question = desk.propose()
    desk.good("confirm", question, "--yes")
    looked = desk("settle", question)
    assert "--stop" in looked.three()[2]
    assert desk("settle", question, "--did-not").code == 1
    turn = desk.good("activity", "--json").lines()[0]["turn_id"]
    assert desk("settle", turn).code == 2
    assert "not_attempted" in desk.good("settle", turn, "--stop").out
    desk.good("run")
    assert not (desk.folder / "hello.txt").exists()
    assert "given up" in desk.good("activity").out


def test_a_refusal_in_a_store_whose_own_key_ended_promises_no_receipt(desk: Desk) -> None:
    question = desk.propose()
    with desk.kernel() as kernel:
        place = kernel.place
        place.write_trust(
            [
                msgspec.structs.replace(key, revoked_at="2020-01-01T00:00:00Z")
                if key.principal == "kernel"
                else key
                for key in place.trust_keys()
            ]
        )
    said = desk.good("refuse", question).out
    assert "actum run" not in said
    assert "is revoked in the trust file" in said


def test_a_confirm_of_another_programs_action_names_that_program(desk: Desk) -> None:
    told = desk.good("confirm", _proposed_elsewhere(desk), "--yes").out
    assert "Next: run the program that registers ledger.append" in told
    assert "actum run" not in told
    assert "Next: actum run" in desk.good("confirm", desk.propose(), "--yes").out


def test_what_changed_in_a_declaration_is_named_where_it_kept_an_effect_from_running(desk: Desk) -> None:
    desk.good("confirm", _proposed_elsewhere(desk), "--yes")
    with open_kernel(desk.folder) as kernel:
        append_action(kernel, Ledger(desk.folder / "ledger"), destinations=["elsewhere"], claims="state")
        kernel.run()
    turn = desk.good("activity", "--json").lines()[0]["turn_id"]
    assert "not carried out: capability changed (claims, destinations)" in desk.good("explain", turn).out
