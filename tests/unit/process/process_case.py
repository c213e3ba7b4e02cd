# SPDX-License-Identifier: Apache-2.0
"""Small process files, and the codes of the problems they have."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from actum.process.actions import CapabilityFacts
from actum.process.load import load_process
from actum.process.problems import Problem, ProcessFileError

HEAD = """
process: p
work_types: [w]
fields:
  owner: string
  kind: {type: string, values: [a, b]}
  n: int
  flag: bool
  tags: strings
  sent: time
  sender: email
  weight: decimal
  amount: {type: int, class: money_legal}
  party: {type: string, class: identity}
  learned: {type: string, learnable: true}
"""
STEPS = "steps:\n  - {id: s, kind: plumbing}\n"


def problems(text: str, *, capabilities: Mapping[str, CapabilityFacts] | None = None) -> list[Problem]:
    """Return the problems of a file that must be refused."""
    with pytest.raises(ProcessFileError) as caught:
        load_process(text, path="p.yaml", capabilities=capabilities)
    return list(caught.value.problems)


def codes(text: str, *, capabilities: Mapping[str, CapabilityFacts] | None = None) -> set[str]:
    """Return the codes of the problems of a file."""
    return {problem.code for problem in problems(text, capabilities=capabilities)}


def with_when(when: str) -> str:
    """Return a file with one pattern of that WHEN (YAML text)."""
    return f"{HEAD}patterns:\n  - id: x\n    step: s\n    when: {when}\n{STEPS}"
