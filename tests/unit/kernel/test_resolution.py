# SPDX-License-Identifier: Apache-2.0
"""A deadline is judged on the graded finality, at the instant that is given, and on exact instants."""

import itertools

import pytest

from actum.kernel.grading import verify_effect
from actum.kernel.resolution import check_resolution, follow_inherit, policies_above
from actum.model.grading import (
    Claim,
    DeadlinePolicy,
    EffectFinality,
    EffectStatus,
    Graded,
    GradePair,
    ReasonCode,
    Resolution,
    ResolutionOutcome,
    Resolved,
    Situation,
)
from actum.model.rfc3339 import parse_instant

F, OUT, P = EffectFinality, ResolutionOutcome, DeadlinePolicy
NOON = "2026-05-04T12:00:00Z"


def grade(finality=F.INITIATED, *reasons) -> Graded:
    return Graded(pair=GradePair(finality=finality), status=None, situation=Situation.NONE, reasons=reasons)


def at(text):
    instant = parse_instant(text)
    assert instant is not None
    return instant


def check(deadline=NOON, *, now=NOON, graded=None, policy=None, ancestors=()) -> Resolved:
    return check_resolution(
        Resolution(deadline=deadline, on_deadline=policy),
        graded=graded or grade(),
        now=at(now),
        ancestors=ancestors,
    )


@pytest.mark.parametrize("finality", [F.FINALIZED, F.FAILED, F.NOT_ATTEMPTED])
def test_rule_1_t49_a_terminal_grade_is_resolved_whatever_the_deadline(finality) -> None:
    for deadline in (None, "never", NOON):
        answer = check(deadline, graded=grade(finality), now="2030-01-01T00:00:00Z")
        assert answer == Resolved(outcome=OUT.RESOLVED)


@pytest.mark.parametrize("finality", [F.FAILED, F.NOT_ATTEMPTED])
def test_rule_1_a_negative_claim_that_nothing_backs_is_still_open(finality) -> None:
    graded = verify_effect(Claim(finality=finality), looks=[])
    assert ReasonCode.UNBACKED in graded.reasons
    assert check(graded=graded).outcome is OUT.PENDING


@pytest.mark.parametrize("finality", [F.INITIATED, F.INDETERMINATE])
def test_t41_an_open_effect_with_a_deadline_cannot_stay_open_unnoticed(finality) -> None:
    assert check(graded=grade(finality), now="2026-05-04T12:00:01Z").outcome is OUT.BREACHED


def test_t40_a_deadline_and_a_policy_are_attached_to_an_effect() -> None:
    held = Resolution(deadline=NOON, on_deadline=P.TOMBSTONE)
    answer = check_resolution(held, graded=grade(), now=at("2026-05-04T13:00:00Z"))
    assert (answer.outcome, answer.on_deadline, answer.seconds) == (OUT.BREACHED, P.TOMBSTONE, 3600)


def test_rule_2_t49_no_deadline_is_indefinite() -> None:
    assert check(None) == Resolved(outcome=OUT.INDEFINITE)
    assert check_resolution(None, graded=grade(), now=at(NOON)) == Resolved(outcome=OUT.INDEFINITE)


@pytest.mark.parametrize(
    "deadline", ["", "tomorrow", "2026-05-04", "2026-05-04T12:00:00", "2026-02-30T00:00:00Z"]
)
def test_rule_3_t49_an_unreadable_or_impossible_deadline_is_bad(deadline) -> None:
    assert check(deadline) == Resolved(outcome=OUT.BAD_DEADLINE)


def test_rule_4_t49_a_deadline_ahead_is_pending_and_its_own_instant_still_is() -> None:
    assert check(now="2026-05-04T11:00:00Z") == Resolved(outcome=OUT.PENDING, seconds=3600)
    assert check(now="2026-05-04T14:00:00+02:00") == Resolved(outcome=OUT.PENDING, seconds=0)


def test_rule_4_t50_past_its_deadline_an_effect_is_breached_by_the_smallest_fraction() -> None:
    answer = check(now="2026-05-04T12:00:00.0000000000000000001Z")
    assert (answer.outcome, answer.seconds) == (OUT.BREACHED, 0)


def test_t47_the_answer_depends_on_the_time_that_is_given() -> None:
    days = [check(now=f"2026-05-{day:02d}T12:00:00Z").outcome for day in (3, 4, 5)]
    assert days == [OUT.PENDING, OUT.PENDING, OUT.BREACHED]


def test_t48_each_of_the_five_answers_is_given_and_there_is_no_sixth() -> None:
    deadlines = (None, "bad", NOON)
    answers = {
        check(deadline, now=now, graded=grade(finality)).outcome
        for deadline, now, finality in itertools.product(
            deadlines, ("2026-05-04T11:00:00Z", "2026-05-04T13:00:00Z"), F
        )
    }
    assert answers == set(OUT)
    assert {outcome.value for outcome in OUT} == {
        "resolved", "indefinite", "pending", "breached", "bad_deadline",
    }  # fmt: skip


def test_t46_exactly_four_policies_exist() -> None:
    assert {policy.value for policy in P} == {"timeout", "escalate", "tombstone", "inherit"}


def test_rule_5_seconds_are_rounded_down_on_both_sides() -> None:
    assert check(now="2026-05-04T11:59:58.1Z").seconds == 1
    assert check(now="2026-05-04T12:00:01.9Z").seconds == 1


@pytest.mark.parametrize("policy", [P.TIMEOUT, P.ESCALATE, P.TOMBSTONE])
def test_rule_6_an_own_policy_is_not_inherited_over(policy) -> None:
    late = check(now="2026-05-05T00:00:00Z", policy=policy, ancestors=[P.TIMEOUT, P.TOMBSTONE])
    assert late.on_deadline is policy


@pytest.mark.parametrize("own", [None, P.INHERIT])
def test_rule_6_t45_inherit_goes_up_to_the_first_policy_of_its_own(own) -> None:
    assert follow_inherit(own, ancestors=[None, P.INHERIT, P.TOMBSTONE, P.TIMEOUT]) is P.TOMBSTONE


@pytest.mark.parametrize("ancestors", [[], [None], [P.INHERIT, None]])
def test_rule_6_nothing_at_the_top_is_escalate(ancestors) -> None:
    assert follow_inherit(P.INHERIT, ancestors=ancestors) is P.ESCALATE


def test_rule_6_a_cycle_ends_and_is_escalate() -> None:
    class Kin:
        def __init__(self, parent: str) -> None:
            self.parent, self.on_deadline = parent, P.INHERIT

    family = {"a": Kin("b"), "b": Kin("a"), "c": Kin("c")}
    for start in family:
        assert follow_inherit(P.INHERIT, ancestors=policies_above(start, find=family.get)) is P.ESCALATE
    assert list(policies_above("absent", find=family.get)) == []


def test_rule_6_a_policy_is_named_only_for_a_breach() -> None:
    assert check(policy=P.TIMEOUT).on_deadline is None


def test_rule_7_a_breach_leaves_the_graded_pair_as_it_is() -> None:
    graded = verify_effect(Claim(finality=F.INITIATED), looks=[])
    late = check(graded=graded, now="2030-01-01T00:00:00Z", policy=P.TIMEOUT)
    assert late.outcome is OUT.BREACHED
    assert (graded.pair, graded.status) == (GradePair(finality=F.INITIATED), None)
    assert graded.status is not EffectStatus.FAILED
