# SPDX-License-Identifier: Apache-2.0
"""An authored pattern stages only after a named operator confirmed its exact digest."""

from __future__ import annotations

from pathlib import Path

import pytest

from actum.bootstrap import Kernel
from actum.model.errors import RefusedError
from actum.model.grant import GrantPurpose
from actum.testing.kernels import PERSON, open_kernel

PROCESS = """\
process: notes
work_types: [note]
fields:
  kind: string
skills:
  keep:
    actions: [write]
actions:
  write:
    capability: files.write
    class: action
    arguments:
      path: {pointer: /path}
      content: hello
patterns:
  - id: greeting
    step: file
    when: {kind: hello}
    then: {stage: [write]}
steps:
  - id: file
    kind: plumbing
    skill: keep
"""


def notes(folder: Path, *, text: str = PROCESS) -> Kernel:
    place = folder / ".actum" / "processes"
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    (place / "notes.yaml").write_text(text)
    return open_kernel(folder)


def proposed(kernel: Kernel, folder: Path, name: str) -> list[str]:
    turn = kernel.submit("note", {"kind": "hello", "path": str(folder / name)})
    return [one["capability"] for one in kernel.show(turn.turn_id)["proposals"]]


def test_rule_1_only_an_operator_gives_a_pattern_the_right(tmp_path: Path) -> None:
    kernel = notes(tmp_path)
    (pattern,) = kernel.patterns()
    with pytest.raises(RefusedError) as refused:
        kernel.confirm_pattern(pattern.digest, by="agent:a")
    assert refused.value.code == "not_a_person"
    assert [one.confirmed for one in kernel.patterns()] == [False]
    kernel.close()


def test_rule_2_the_right_is_a_grant_over_one_digest_and_a_changed_pattern_has_none(tmp_path: Path) -> None:
    kernel = notes(tmp_path)
    (pattern,) = kernel.patterns()
    kernel.confirm_pattern(pattern.digest, by=PERSON)
    grants = kernel.line.store.read(lambda tx: [leaf.envelope for leaf in tx.each_leaf()])
    assert len(grants) == 1
    assert [one.confirmed for one in kernel.patterns()] == [True]
    kernel.confirm_pattern(pattern.digest, by=PERSON)
    assert kernel.line.store.read(lambda tx: tx.log_state()[0]) == 1
    with pytest.raises(RefusedError) as refused:
        kernel.confirm_pattern("sha256:" + "0" * 64, by=PERSON)
    assert refused.value.code == "pattern_unknown"
    kernel.close()
    changed = notes(tmp_path, text=PROCESS.replace("kind: hello", "kind: goodbye"))
    assert [one.confirmed for one in changed.patterns()] == [False]
    changed.close()


def test_rule_3_a_confirmed_pattern_stages_and_what_it_stages_still_waits(tmp_path: Path) -> None:
    kernel = notes(tmp_path)
    assert "files.write" not in proposed(kernel, tmp_path, "before.txt")
    (pattern,) = kernel.patterns()
    kernel.confirm_pattern(pattern.digest, by=PERSON)
    assert proposed(kernel, tmp_path, "after.txt") == ["files.write"]
    assert [question.reason.value for question in kernel.inbox()] == [GrantPurpose.CONFIRM.value]
    kernel.run()
    assert not (tmp_path / "after.txt").exists()
    kernel.close()


def test_the_right_outlives_the_process_that_was_given_it(tmp_path: Path) -> None:
    kernel = notes(tmp_path)
    (pattern,) = kernel.patterns()
    kernel.confirm_pattern(pattern.digest, by=PERSON)
    kernel.close()
    again = notes(tmp_path)
    assert [one.confirmed for one in again.patterns()] == [True]
    again.close()
