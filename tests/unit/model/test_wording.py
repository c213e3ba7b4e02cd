# SPDX-License-Identifier: Apache-2.0
"""What a person reads about a grade says what was observed and never more."""

import itertools
import re

import pytest

from actum.model.grading import (
    DeadlinePolicy,
    EffectConfidence,
    EffectFinality,
    GradePair,
    ReasonCode,
    ResolutionOutcome,
)
from actum.model.wording import (
    LIMITS,
    POSTCONDITION_HELD,
    explain_deadline,
    explain_grade,
    explain_policy,
    explain_reason,
)

F, C = EffectFinality, EffectConfidence


def said(finality, confidence) -> str:
    return explain_grade(GradePair(finality=finality, confidence=confidence))


GRADES = [said(finality, confidence) for finality, confidence in itertools.product(F, C)]
CLAUSES = (
    [explain_reason(reason) for reason in ReasonCode]
    + [explain_deadline(outcome) for outcome in ResolutionOutcome]
    + [explain_policy(policy) for policy in DeadlinePolicy]
)


def test_every_pair_has_its_own_single_sentence() -> None:
    assert len(set(GRADES)) == 25
    for sentence in GRADES:
        assert re.fullmatch(r"[A-Z][^.]*\.", sentence)


def test_t52_o95_the_best_grade_is_an_independent_observation_of_one_expected_outcome() -> None:
    best = said(F.FINALIZED, C.VERIFIED)
    assert best == POSTCONDITION_HELD
    assert "the intended post-state was independently observed" in best.lower()
    assert "confirms this expected outcome only" in best


def test_o95_no_grade_says_that_nothing_else_happened() -> None:
    for sentence in GRADES + CLAUSES:
        assert not re.search(r"nothing else|only change|no other", sentence.lower())
    assert "nothing else happened" in LIMITS.split("does not say")[1]


def test_o94_no_sentence_claims_that_the_verifiers_see_everything() -> None:
    for sentence in GRADES + CLAUSES:
        assert not re.search(
            r"\b(all|every|everything|always|fully|exhaustive\w*|guarantee\w*|proven?|proof)\b", sentence
        )
    assert "the verifiers saw everything" in LIMITS.split("does not say")[1]


def test_t51_no_sentence_says_that_the_effect_was_the_right_one() -> None:
    for sentence in GRADES + CLAUSES:
        assert not re.search(r"\b(right|correct\w*|good|success\w*|safe\w*|done|desired|wanted)\b", sentence)
    assert "the right one to want" in LIMITS.split("does not say")[1]


def test_t22_finalized_without_verification_is_worded_as_a_claim() -> None:
    for confidence in (C.NOT_VERIFIED, C.PARTIAL, C.AMBIGUOUS, C.UNKNOWN):
        assert said(F.FINALIZED, confidence).startswith("The change is said to be")
    assert "nothing was independently checked" in said(F.FINALIZED, C.NOT_VERIFIED)


def test_t23_surely_pending_is_worded_as_pending() -> None:
    sentence = said(F.INITIATED, C.VERIFIED)
    assert "surely pending" in sentence
    assert "surely not finalized" in sentence


@pytest.mark.parametrize(
    ("finality", "words"),
    [
        (F.NOT_ATTEMPTED, "never tried"),
        (F.INITIATED, "not durable yet"),
        (F.FINALIZED, "complete and durable"),
        (F.FAILED, "did not take hold"),
        (F.INDETERMINATE, "not known"),
    ],
)
def test_t5_t6_t7_each_finality_is_explained_by_its_own_meaning(finality, words) -> None:
    assert words in said(finality, C.NOT_VERIFIED)


@pytest.mark.parametrize(
    ("confidence", "words"),
    [
        (C.PARTIAL, "the sink acknowledged it and nothing read the post-state back"),
        (C.AMBIGUOUS, "more than one outcome"),
        (C.UNKNOWN, "the actor could not determine"),
    ],
)
def test_t14_t15_t16_each_confidence_is_explained_by_its_own_meaning(confidence, words) -> None:
    assert words in said(F.INDETERMINATE, confidence)
