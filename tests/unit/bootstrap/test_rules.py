# SPDX-License-Identifier: Apache-2.0
"""The rulebook in force comes from files and capabilities, and an older one stays readable by its digest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from actum.bootstrap.rules import direct_process
from actum.model.errors import CorruptRecordError
from actum.model.process import StepKind
from actum.process.problems import ProcessFileError
from actum.testing.kernels import Ledger, append_action, open_kernel

ONE = """
process: desk
work_types: [ticket]
fields:
  kind: {type: string, values: [a, b]}
skills:
  s: {rules: [{id: a, when: {kind: a}}]}
steps:
  - {id: s, kind: plumbing, skill: s}
"""
TWO = ONE.replace("{id: a, when: {kind: a}}", "{id: b, when: {kind: b}}")


def _rulebooks(kernel: Any) -> int:
    return kernel.line.store.read(
        lambda tx: tx.value("SELECT count(*) FROM rulebook WHERE tenant = ?", tx.tenant)
    )


def test_rule_1_other_files_make_another_rulebook_and_the_old_one_stays_readable(tmp_path: Path) -> None:
    with open_kernel(tmp_path) as kernel:
        path = kernel.place.processes / "desk.yaml"
        path.write_text(ONE)
        waiting = kernel.submit("ticket", {"kind": "b"})
        first = kernel.line.rules.active()[1].rulebook_digest
    path.write_text(TWO)
    with open_kernel(tmp_path) as kernel:
        decided = kernel.submit("ticket", {"kind": "b"})
        second = kernel.line.rules.active()[1].rulebook_digest
        assert first != second
        assert len(decided.questions()) == 0
        # The turn that began under the old rules goes on under them.
        question = kernel.turn(waiting.turn_id).questions()[0]
        stored = kernel.line.store.read(lambda tx: tx.turn(waiting.turn_id))
        assert stored is not None
        assert stored.rulebook_digest == first
        assert kernel.line.rules.by_digest(first)[1].rulebook_digest == first
        assert question.reason.value == "judgment"


def test_rule_1_the_same_files_make_no_second_rulebook(tmp_path: Path) -> None:
    for _ in range(3):
        with open_kernel(tmp_path) as kernel:
            (kernel.place.processes / "desk.yaml").write_text(ONE)
            kernel.submit("ticket", {"kind": "a"})
            assert _rulebooks(kernel) == 1


def test_rule_2_the_built_in_process_stages_one_named_action_and_decides_nothing_else(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    with open_kernel(tmp_path) as kernel:
        append_action(kernel, ledger)
        process = direct_process(kernel.line.registry.infos())  # type: ignore[attr-defined]
        assert [step.kind for step in process.steps] == [StepKind.PLUMBING]
        assert all(len(rule.then.stage) == 1 and not rule.then.writes for rule in process.skills[0].rules)
        assert "subject.record" not in process.skills[0].actions
        for capability in ("subject.record", "files.wrote", "", "ledger.append ", "agent.stage"):
            turn = kernel.propose(capability, {"entry": "a"})
            assert (turn.state, turn.activity().failure_category.value) == ("failed", "routing")
            assert kernel.line.store.read(lambda tx, t=turn: tx.proposals(t.turn_id)) == []


def test_rule_3_a_stored_rulebook_is_rebuilt_without_its_files(tmp_path: Path) -> None:
    with open_kernel(tmp_path) as kernel:
        (kernel.place.processes / "desk.yaml").write_text(ONE)
        turn = kernel.submit("ticket", {"kind": "b"})
        question_id = turn.questions()[0].question_id
    (tmp_path / ".actum" / "processes" / "desk.yaml").unlink()
    with open_kernel(tmp_path) as kernel:
        assert kernel.show(question_id)["shown"]["process"] == "desk"
        kernel.run()
        stored = kernel.line.store.read(lambda tx: tx.turn(turn.turn_id))
        assert stored is not None
        rulebook, _ = kernel.line.rules.by_digest(stored.rulebook_digest)
        assert "desk" in {process.name for process in rulebook.processes}


def test_rule_3_a_rulebook_that_is_not_there_decides_nothing(tmp_path: Path) -> None:
    with open_kernel(tmp_path) as kernel:
        with pytest.raises(CorruptRecordError) as caught:
            kernel.line.rules.by_digest("sha256:" + "0" * 64)
        assert caught.value.code == "rulebook_missing"


def test_files_with_problems_leave_the_rules_in_force_as_they_were(tmp_path: Path) -> None:
    with open_kernel(tmp_path) as kernel:
        path = kernel.place.processes / "desk.yaml"
        path.write_text(ONE)
        kernel.submit("ticket", {"kind": "a"})
    path.write_text(ONE.replace("plumbing", "magic"))
    with open_kernel(tmp_path) as kernel:
        with pytest.raises(ProcessFileError):
            kernel.submit("ticket", {"kind": "a"})
        assert _rulebooks(kernel) == 1
        assert len(kernel.activity()) == 1
