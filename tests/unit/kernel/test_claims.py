# SPDX-License-Identifier: Apache-2.0
"""What the kernel claims when it seals follows from what happened, on two axes."""

import itertools

import pytest

from actum.kernel.claims import claim_after
from actum.model.grading import EffectConfidence, EffectFinality, ExecutorSaid, GradePair, Situation

F, C, S, E = EffectFinality, EffectConfidence, Situation, ExecutorSaid


def claimed(said, situation=S.NONE, **facts) -> GradePair:
    return claim_after(dispatched=facts.pop("dispatched", True), said=said, situation=situation, **facts)


def pair(finality, confidence) -> GradePair:
    return GradePair(finality=finality, confidence=confidence)


def test_rule_1_t5_what_was_never_dispatched_is_not_attempted_whatever_was_said() -> None:
    for said, situation in itertools.product([*E, None], S):
        assert claimed(said, situation, dispatched=False).finality is F.NOT_ATTEMPTED
        assert claimed(said, situation).finality is not F.NOT_ATTEMPTED
    assert claimed(None, dispatched=False) == pair(F.NOT_ATTEMPTED, C.NOT_VERIFIED)


def test_rule_3_t6_t21_an_accepted_write_is_initiated_even_with_an_acknowledgement() -> None:
    assert claimed(E.ACCEPTED) == pair(F.INITIATED, C.NOT_VERIFIED)
    assert claimed(E.ACCEPTED, acknowledged=True).finality is F.INITIATED


def test_t6_a_look_at_the_pending_state_is_initiated_and_not_finalized() -> None:
    assert claimed(E.ACCEPTED, S.MATCH, projects_pending=True) == pair(F.INITIATED, C.VERIFIED)


def test_rule_2_t7_a_matching_look_at_the_durable_state_is_finalized() -> None:
    assert claimed(E.ACCEPTED, S.MATCH) == pair(F.FINALIZED, C.VERIFIED)


def test_t8_a_look_that_found_the_state_before_is_failed_although_the_executor_said_ok() -> None:
    assert claimed(E.OK, S.CONTRARY) == pair(F.FAILED, C.VERIFIED)
    assert claimed(E.REJECTED) == pair(F.FAILED, C.NOT_VERIFIED)


@pytest.mark.parametrize("situation", [S.UNCLEAR, S.CLASHING])
def test_t9_t15_looks_that_fit_several_outcomes_are_indeterminate_and_ambiguous(situation) -> None:
    for said in [*E, None]:
        assert claimed(said, situation) == pair(F.INDETERMINATE, C.AMBIGUOUS)


def test_rule_4_t14_the_sinks_acknowledgement_without_a_look_is_partial() -> None:
    assert claimed(E.ACCEPTED, acknowledged=True).confidence is C.PARTIAL
    assert claimed(E.OK, acknowledged=True).confidence is C.PARTIAL


@pytest.mark.parametrize("said", [E.RAISED, E.NO_ANSWER, None])
def test_t9_t16_t24_a_network_death_in_mid_write_is_indeterminate_and_unknown(said) -> None:
    assert claimed(said) == pair(F.INDETERMINATE, C.UNKNOWN)
    assert claimed(said, acknowledged=True).confidence is C.UNKNOWN


def test_t17_t19_t22_an_ok_that_nobody_read_back_is_claimed_finalized_and_not_verified() -> None:
    assert claimed(E.OK) == pair(F.FINALIZED, C.NOT_VERIFIED)
