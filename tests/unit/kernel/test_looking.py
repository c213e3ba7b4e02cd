# SPDX-License-Identifier: Apache-2.0
"""A look is definite only where it can tell, whatever its verifier believes."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from actum.kernel.looking import outcome_of
from actum.model.effect import Claims
from actum.model.grading import LookOutcome

D, U = LookOutcome.DEFINITE, LookOutcome.UNCLEAR
BEFORE, EXPECTED, THIRD = "before", "expected", "third"
PROOF = ("absence_is_proof", "window_over", "control_held")


def outcome(said: LookOutcome = D, **facts: Any) -> LookOutcome:
    given: dict[str, Any] = {
        "observed": EXPECTED, "before": BEFORE, "expected": EXPECTED, "claims": Claims.CHANGE,
        "absence_is_proof": True, "window_over": True, "control_held": True, **facts,
    }  # fmt: skip
    return outcome_of(said, **given)


def test_rule_1_what_a_verifier_calls_unclear_or_did_not_see_is_unclear() -> None:
    for claims, observed in itertools.product(Claims, [BEFORE, EXPECTED, THIRD, None]):
        assert outcome(U, claims=claims, observed=observed) is U
        assert outcome(claims=claims, observed=None) is U


def test_rule_2_a_world_that_was_as_expected_before_shows_no_change() -> None:
    same = {"before": EXPECTED, "observed": EXPECTED, "expected": EXPECTED}
    assert outcome(**same) is U
    assert outcome(**same, claims=Claims.STATE) is D


def test_rule_2_a_change_from_a_world_nobody_saw_is_unclear() -> None:
    assert outcome(before=None) is U
    assert outcome(before=None, observed=THIRD) is U
    assert outcome(before=None, claims=Claims.STATE) is D


@pytest.mark.parametrize("missing", PROOF)
@pytest.mark.parametrize("claims", Claims)
def test_rule_3_an_unchanged_world_proves_nothing_unless_absence_does(missing: str, claims: Claims) -> None:
    assert outcome(observed=BEFORE, claims=claims) is D
    assert outcome(observed=BEFORE, claims=claims, **{missing: False}) is U


def test_rule_4_what_was_seen_changed_is_definite_whether_expected_or_not() -> None:
    for observed, claims, proof in itertools.product([EXPECTED, THIRD], Claims, [True, False]):
        facts = dict.fromkeys(PROOF, proof)
        assert outcome(observed=observed, claims=claims, **facts) is D


@pytest.mark.parametrize("said", ["unclear", "definite", "maybe", None])
def test_a_word_that_is_not_the_one_for_definite_could_not_tell(said: Any) -> None:
    assert outcome(said) is LookOutcome.UNCLEAR
    assert outcome(LookOutcome.DEFINITE) is LookOutcome.DEFINITE
