# SPDX-License-Identifier: Apache-2.0
"""What becomes of a row after its look, and after a holder that stopped: one test for each rule."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from actum.kernel.delivery import BACKOFF_MS_MAX, backoff_ms, row_after_look, row_after_lost_claim
from actum.kernel.recovery import BECOMES, IN_FLIGHT, Reconciliation
from actum.model.activity import ActivityState
from actum.model.delivery import OutboxState
from actum.model.grading import EffectConfidence, EffectFinality, Graded, GradePair, Situation
from actum.model.work import StepState


def after(finality: str, situation: Situation = Situation.MATCH, **changes: Any) -> OutboxState:
    pair = GradePair(finality=EffectFinality(finality), confidence=EffectConfidence.VERIFIED)
    graded = Graded(pair=pair, status=None, situation=situation)
    return row_after_look(graded, **{"absence_is_proof": True, "attempts": 1, "attempts_max": 3, **changes})


@pytest.mark.parametrize("finality", ["finalized", "not_attempted", "initiated"])
def test_rule_1_a_known_end_settles_the_row(finality: str) -> None:
    assert after(finality) is OutboxState.SETTLED


def test_rule_2_only_a_proven_absence_is_tried_again() -> None:
    contrary = Situation.CONTRARY
    assert after("failed", contrary) is OutboxState.RETRY_WAIT
    assert after("failed", contrary, absence_is_proof=False) is OutboxState.SETTLED
    assert after("failed", contrary, attempts_max=1) is OutboxState.SETTLED
    # Without a look `failed` is the sink's own no, and nobody saw that nothing happened.
    assert after("failed", Situation.NONE) is OutboxState.SETTLED


def test_rule_3_a_proven_absence_without_attempts_left_is_a_dead_letter() -> None:
    assert after("failed", Situation.CONTRARY, attempts=3) is OutboxState.DEAD


@pytest.mark.parametrize("situation", list(Situation))
def test_rule_4_what_nobody_knows_is_left_to_be_checked(situation: Situation) -> None:
    assert after("indeterminate", situation) is OutboxState.CHECK_REQUIRED


def test_rule_5_a_row_that_stops_its_process_again_and_again_is_a_dead_letter() -> None:
    states = [row_after_lost_claim(attempts=number, attempts_max=1) for number in range(1, 8)]
    assert states[:5] == [OutboxState.READY] * 5
    assert states[5:] == [OutboxState.DEAD] * 2


def test_rule_6_each_wait_is_longer_and_none_endless() -> None:
    waits = [backoff_ms("row", attempts=number) for number in range(1, 20)]
    assert waits[0] >= 1_000
    assert all(later >= earlier for earlier, later in itertools.pairwise(waits[:9]))
    assert max(waits) <= BACKOFF_MS_MAX * 5 // 4
    assert backoff_ms("row", attempts=3) == backoff_ms("row", attempts=3)
    assert len({backoff_ms(f"row {number}", attempts=1) for number in range(20)}) > 10


def test_rule_1_and_2_of_recovery_only_reserved_and_running_steps_are_moved() -> None:
    assert BECOMES == {
        StepState.RESERVED: StepState.PENDING,
        StepState.RUNNING: StepState.CHECK_REQUIRED,
    }


def test_rule_4_of_recovery_in_flight_is_running_or_verifying() -> None:
    assert set(IN_FLIGHT) == {ActivityState.RUNNING, ActivityState.VERIFYING}


def test_rule_6_of_recovery_every_count_is_there_and_zero_where_nothing_was_changed() -> None:
    nothing = Reconciliation(
        steps_reset=(), steps_check_required=(), routine_leases_released=(), activities_recovery_required=(),
        rows_ready=(), rows_check_required=(),
    )  # fmt: skip
    assert set(nothing.counts().values()) == {0}
    assert len(nothing.counts()) == 6
    assert not nothing.changed()
