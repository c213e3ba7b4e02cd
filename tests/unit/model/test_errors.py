# SPDX-License-Identifier: Apache-2.0
"""An error has a code for programs and three sentences for a person."""

import pytest

from actum.model.errors import (
    ActumError,
    CorruptRecordError,
    EnvironmentFault,
    InvariantViolation,
    Refused,
    RefusedError,
    UsageError,
)


@pytest.mark.parametrize(
    ("branch", "exit_code"),
    [(UsageError, 2), (RefusedError, 1), (EnvironmentFault, 5), (CorruptRecordError, 4)],
)
def test_each_branch_has_its_exit_code_and_three_sentences(branch, exit_code) -> None:
    error = branch("code_1", failed="It failed", state="Nothing changed.", next_step="Try again", size=3)
    assert str(error) == "It failed. Nothing changed. Try again."
    assert (error.exit_code, error.code, error.facts) == (exit_code, "code_1", {"size": "3"})
    assert isinstance(error, ActumError)
    shown = error.to_json()
    assert (shown["code"], shown["failed"], shown["facts"]) == ("code_1", "It failed.", {"size": "3"})


def test_a_refusal_of_the_kernel_keeps_its_reason_and_facts() -> None:
    refused = Refused(reason="grant_expired", facts={"grant": "g"})
    error = RefusedError.from_refused(refused, failed="f", state="s", next_step="n")
    assert (error.code, error.facts) == ("grant_expired", {"grant": "g"})


def test_a_defect_of_actum_is_not_among_the_errors_a_person_can_act_on() -> None:
    defect = InvariantViolation("one receipt for each execution", execution="e")
    assert not isinstance(defect, ActumError)
    assert str(defect) == "invariant broken: one receipt for each execution (execution=e)"
