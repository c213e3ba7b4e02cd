# SPDX-License-Identifier: Apache-2.0
"""A process may stage what only another program registers: its work is stored by any program and left to that one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actum import Kernel
from actum.model.errors import RefusedError
from actum.process.problems import ProcessFileError
from actum.testing.kernels import PERSON, Ledger, append_action, confirm_all, open_kernel, perform

from .desk import Desk

WAITS = "waits for the program that registers ledger.append"
THINKS = """
process: thinker
work_types: [letter]
fields:
  text: string
  kind: {type: string, values: [a, b]}
actions:
  append: {capability: ledger.append, arguments: {entry: {field: text}}}
steps:
  - {id: label, kind: reasoning, contract: {tier: fast, max_tokens: 100, output: [kind]}}
"""


@pytest.fixture
def other(desk: Desk) -> Iterator[Kernel]:
    """Another program on the desk's store, which does not register the ledger."""
    desk.kernel.line.rules.active()
    with open_kernel(desk.folder, clock=desk.clock) as kernel:
        yield kernel


def test_rule_7_work_that_another_program_can_describe_is_stored_and_left_to_it(
    desk: Desk, other: Kernel
) -> None:
    turn = other.submit("ticket", {"kind": "order", "entry": "a"})
    assert (turn.state, turn.activity().label, turn.questions()) == ("routing", WAITS, [])
    other.run()
    assert (turn.activity().label, desk.count("decision"), desk.count("proposal")) == (WAITS, 0, 0)
    assert len(desk.events("step.elsewhere")) == 1
    other.close()
    desk.kernel.run()
    mine = desk.kernel.turn(turn.turn_id)
    assert (mine.state, mine.activity().label) == ("queued", None)
    confirm_all(desk.kernel, mine)
    desk.kernel.run()
    assert (desk.ledger.entries(), mine.state) == (["a"], "completed")


def test_rule_7_an_action_that_an_agent_names_is_left_to_its_program_too(desk: Desk, other: Kernel) -> None:
    turn = other.propose("ledger.append", {"entry": "a"})
    assert (turn.state, turn.activity().label) == ("routing", WAITS)
    other.close()
    desk.kernel.run()
    perform(desk.kernel, desk.kernel.turn(turn.turn_id))
    assert desk.ledger.entries() == ["a"]


def test_programs_with_other_actions_have_one_rulebook(desk: Desk, other: Kernel) -> None:
    assert other.line.rules.active()[1].rulebook_digest == desk.kernel.line.rules.active()[1].rulebook_digest


def test_rule_7_other_work_of_the_same_process_goes_on(desk: Desk, other: Kernel) -> None:
    turn = other.submit("ticket", {"kind": "letter", "entry": "a"})
    other.run()
    assert turn.state == "completed"


def test_rule_7_no_model_is_asked_by_a_program_that_could_not_use_its_answer(
    desk: Desk, other: Kernel
) -> None:
    (other.place.processes / "thinks.yaml").write_text(THINKS)
    other.line.rules.forget()  # type: ignore[attr-defined]
    turn = other.submit("letter", {"text": "hello"})
    assert (turn.activity().label, desk.count("outbox")) == (WAITS, 0)
    desk.kernel.line.rules.forget()  # type: ignore[attr-defined]
    desk.kernel.run()
    assert desk.kernel.turn(turn.turn_id).activity().label is None


def test_rule_7_a_choice_that_nobody_here_can_describe_is_kept_for_the_program_that_can(
    desk: Desk, other: Kernel
) -> None:
    turn = desk.kernel.submit("ticket", {"kind": "odd", "entry": "a"})
    [question] = turn.questions()
    desk.clock.step(60_000)
    other.judge(question.question_id, "order", by=PERSON, reason="it is one")
    given_at = desk.clock.now_ms()
    assert (turn.questions(), turn.activity().label, desk.count("decision")) == ([], WAITS, 0)
    with pytest.raises(RefusedError) as caught:
        other.judge(question.question_id, "letter", by=PERSON)
    assert caught.value.code == "question_resolved"
    other.run()
    other.close()
    assert desk.count("decision") == 0
    desk.clock.step(60_000)
    desk.kernel.run()
    [decision] = desk.read(lambda tx: tx.decisions(turn.turn_id))
    assert (decision.rung, decision.decided_at_ms) == ("judgment", given_at)
    assert b"it is one" in decision.body
    assert PERSON.encode() in decision.body
    confirm_all(desk.kernel, turn)
    desk.kernel.run()
    assert (desk.ledger.entries(), turn.state) == (["a"], "completed")


def test_rule_7_values_given_with_a_choice_are_kept_with_it(desk: Desk, other: Kernel) -> None:
    turn = desk.kernel.submit("ticket", {"kind": "odd"})
    [question] = turn.questions()
    other.judge(question.question_id, "order", by=PERSON, writes={"entry": "from the person"})
    other.close()
    desk.kernel.run()
    perform(desk.kernel, turn)
    assert desk.ledger.entries() == ["from the person"]


def test_a_choice_that_this_program_can_carry_out_is_decided_at_once(desk: Desk, other: Kernel) -> None:
    turn = desk.kernel.submit("ticket", {"kind": "odd", "entry": "a"})
    other.judge(turn.questions()[0].question_id, "letter", by=PERSON)
    assert desk.count("decision") == 2


def test_rule_4_a_name_that_no_program_ever_registered_is_a_problem_of_the_file(tmp_path: Path) -> None:
    with open_kernel(tmp_path) as kernel:
        (kernel.place.processes / "thinks.yaml").write_text(THINKS)
        with pytest.raises(ProcessFileError) as caught:
            kernel.submit("letter", {"text": "hello"})
        assert [problem.code for problem in caught.value.problems] == ["capability_unknown"]
        append_action(kernel, Ledger(tmp_path / "ledger"))
        assert kernel.submit("letter", {"text": "hello"}).state


def test_rule_4_a_class_that_only_the_store_knows_cannot_be_lowered(tmp_path: Path) -> None:
    with open_kernel(tmp_path) as kernel:
        append_action(kernel, Ledger(tmp_path / "ledger"), effect_class="money_legal")
        kernel.line.rules.active()
    with open_kernel(tmp_path) as kernel:
        lower = THINKS.replace("{capability: ledger.append,", "{capability: ledger.append, class: action,")
        (kernel.place.processes / "thinks.yaml").write_text(lower)
        with pytest.raises(ProcessFileError) as caught:
            kernel.submit("letter", {"text": "hello"})
        assert [problem.code for problem in caught.value.problems] == ["class_lower_than_capability"]


def test_rule_4_a_program_that_only_runs_is_known_by_it(tmp_path: Path) -> None:
    with open_kernel(tmp_path) as kernel:
        append_action(kernel, Ledger(tmp_path / "ledger"))
        kernel.run()
    with open_kernel(tmp_path) as kernel:
        (kernel.place.processes / "thinks.yaml").write_text(THINKS)
        assert kernel.submit("letter", {"text": "hello"}).activity().label == WAITS


def test_rule_4_which_were_ever_registered_is_kept_once_and_grows(desk: Desk, other: Kernel) -> None:
    other.line.rules.active()
    kept: dict[str, Any] = msgspec.json.decode(desk.read(lambda tx: tx.meta("capabilities")))
    assert kept["ledger.append"] == "action"
    assert "files.write" in kept
