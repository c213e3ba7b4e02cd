# SPDX-License-Identifier: Apache-2.0
"""Grading is held to a table typed by hand, cell for cell, and to the rules of its module."""

import ast
import inspect
import itertools

import msgspec
import pytest

from actum.kernel import claims, grading
from actum.kernel.grading import BatchGrade, grade_batch, status_of, verify_effect, weigh_looks
from actum.model.errors import InvariantViolation
from actum.model.grading import (
    Claim,
    EffectConfidence,
    EffectFinality,
    EffectStatus,
    Graded,
    GradePair,
    JudgedLook,
    LookOutcome,
    ReasonCode,
    Situation,
)

F, C, S, R = EffectFinality, EffectConfidence, Situation, ReasonCode
EXPECTED, BEFORE, THIRD = "sha256:e", "sha256:b", "sha256:t"

MATCH = JudgedLook(outcome=LookOutcome.DEFINITE, before=BEFORE, observed=EXPECTED)
CONTRARY = JudgedLook(outcome=LookOutcome.DEFINITE, before=BEFORE, observed=BEFORE)
OTHER = JudgedLook(outcome=LookOutcome.DEFINITE, before=BEFORE, observed=THIRD)
UNCLEAR = JudgedLook(outcome=LookOutcome.UNCLEAR, before=BEFORE, observed=EXPECTED)
REFUSED = JudgedLook(outcome=LookOutcome.DEFINITE, before=BEFORE, observed=EXPECTED, refused_for=R.LOOK_SELF)

LOOKS = {
    S.MATCH: [MATCH],
    S.CONTRARY: [CONTRARY],
    S.UNCLEAR: [UNCLEAR],
    S.CLASHING: [MATCH, CONTRARY],
    S.NONE: [],
}

# The published table, typed by hand: match, contrary, unclear, clashing, none.
TABLE = {
    F.FINALIZED: (F.FINALIZED, F.FAILED, F.INDETERMINATE, F.INDETERMINATE, F.INDETERMINATE),
    F.INITIATED: (F.INITIATED, F.FAILED, F.INDETERMINATE, F.INDETERMINATE, F.INITIATED),
    F.FAILED: (F.INDETERMINATE, F.FAILED, F.INDETERMINATE, F.INDETERMINATE, F.FAILED),
    F.NOT_ATTEMPTED: (
        F.INDETERMINATE,
        F.NOT_ATTEMPTED,
        F.INDETERMINATE,
        F.INDETERMINATE,
        F.NOT_ATTEMPTED,
    ),
    F.INDETERMINATE: (F.INDETERMINATE,) * 5,
}
ORDER = (S.MATCH, S.CONTRARY, S.UNCLEAR, S.CLASHING, S.NONE)
CELLS = [(claimed, column, TABLE[claimed][ORDER.index(column)]) for claimed in F for column in ORDER]
RANK = {C.VERIFIED: 2, C.PARTIAL: 1, C.AMBIGUOUS: 1, C.UNKNOWN: 1, C.NOT_VERIFIED: 0}


def graded(finality, confidence=C.VERIFIED, *, looks=(), expected=EXPECTED, output_hash=None) -> Graded:
    claim = Claim(finality=finality, confidence=confidence, expected=expected, output_hash=output_hash)
    return verify_effect(claim, looks=looks)


def pair(finality, confidence=C.NOT_VERIFIED) -> GradePair:
    return GradePair(finality=finality, confidence=confidence)


@pytest.mark.parametrize(("claimed", "column", "left"), CELLS)
@pytest.mark.parametrize("confidence", [*C, None])
def test_rule_5_t31_finality_moves_only_by_the_cells_of_the_table(claimed, column, left, confidence) -> None:
    answer = graded(claimed, confidence, looks=LOOKS[column])
    assert answer.situation is column
    assert answer.pair.finality is left


def test_t26_grading_compares_the_claim_with_the_looks_that_are_there() -> None:
    answers = {column: graded(F.FINALIZED, looks=LOOKS[column]).pair for column in S}
    assert answers[S.MATCH] == pair(F.FINALIZED, C.VERIFIED)
    assert answers[S.CONTRARY] == pair(F.FAILED, C.VERIFIED)
    assert answers[S.UNCLEAR] == pair(F.INDETERMINATE, C.AMBIGUOUS)
    assert answers[S.CLASHING] == pair(F.INDETERMINATE, C.AMBIGUOUS)
    assert answers[S.NONE] == pair(F.INDETERMINATE, C.NOT_VERIFIED)


def test_t27_a_finalized_claim_with_no_look_is_graded_indeterminate() -> None:
    answer = graded(F.FINALIZED)
    assert answer.pair == pair(F.INDETERMINATE)
    assert answer.status is EffectStatus.UNKNOWN_OUTCOME
    assert answer.reasons == (R.CAPPED_NO_LOOK,)


def test_t27_an_unclear_look_does_not_keep_finalized() -> None:
    assert graded(F.FINALIZED, looks=[UNCLEAR]).pair.finality is F.INDETERMINATE


def test_t27_clashing_looks_do_not_keep_finalized() -> None:
    assert graded(F.FINALIZED, looks=[MATCH, CONTRARY]).pair.finality is F.INDETERMINATE


def test_t28_a_finalized_claim_with_a_matching_look_keeps_finalized() -> None:
    answer = graded(F.FINALIZED, looks=[MATCH])
    assert (answer.pair, answer.status, answer.reasons) == (
        pair(F.FINALIZED, C.VERIFIED),
        EffectStatus.SUCCESS,
        (),
    )


@pytest.mark.parametrize("confidence", [C.NOT_VERIFIED, C.UNKNOWN, C.AMBIGUOUS, None])
def test_t31_a_matching_look_never_raises_a_confidence(confidence) -> None:
    assert graded(F.FINALIZED, confidence, looks=[MATCH]).pair.confidence is (confidence or C.NOT_VERIFIED)


def test_t31_nothing_that_was_claimed_indeterminate_becomes_anything_else() -> None:
    for looks in LOOKS.values():
        assert graded(F.INDETERMINATE, looks=looks).pair.finality is F.INDETERMINATE


def test_t31_an_initiated_claim_is_never_read_as_finalized() -> None:
    for looks in LOOKS.values():
        assert graded(F.INITIATED, looks=looks).pair.finality is not F.FINALIZED


@pytest.mark.parametrize("output_hash", [None, "sha256:o"])
def test_t31_confidence_is_equal_or_lower_for_every_claim_and_column(output_hash) -> None:
    for finality, confidence, column in itertools.product(F, C, S):
        answer = graded(finality, confidence, looks=LOOKS[column], output_hash=output_hash)
        assert RANK[answer.pair.confidence] <= RANK[confidence]
        assert answer.pair.confidence in (confidence, C.AMBIGUOUS, C.NOT_VERIFIED)


def test_t12_a_refused_look_earns_nothing() -> None:
    answer = graded(F.FINALIZED, looks=[REFUSED])
    assert answer.pair == pair(F.INDETERMINATE)
    assert answer.reasons == (R.CAPPED_NO_LOOK, R.LOOK_SELF)


def test_t13_a_look_at_another_state_does_not_earn_verified() -> None:
    answer = graded(F.FINALIZED, looks=[OTHER])
    assert answer.pair == pair(F.INDETERMINATE, C.AMBIGUOUS)
    assert answer.reasons == (R.CAPPED_UNCLEAR, R.OBSERVED_OTHER)


def test_t13_a_third_state_takes_verified_from_a_match() -> None:
    answer = graded(F.FINALIZED, looks=[MATCH, OTHER])
    assert answer.pair == pair(F.INDETERMINATE, C.AMBIGUOUS)
    assert answer.reasons == (R.CLASHING_LOOKS, R.OBSERVED_OTHER)


@pytest.mark.parametrize("claimed", [F.FAILED, F.NOT_ATTEMPTED])
def test_t13_a_claim_that_a_match_opposes_is_not_verified_by_it(claimed) -> None:
    answer = graded(claimed, looks=[MATCH])
    assert answer.pair == pair(F.INDETERMINATE, C.AMBIGUOUS)
    assert answer.reasons == (R.CONTRADICTED,)


@pytest.mark.parametrize("claimed", [F.FINALIZED, F.INITIATED])
def test_t8_an_attempt_whose_look_found_the_state_before_is_failed(claimed) -> None:
    answer = graded(claimed, looks=[CONTRARY])
    assert (answer.pair, answer.status) == (pair(F.FAILED, C.VERIFIED), EffectStatus.FAILED)
    assert answer.reasons == (R.CONTRADICTED,)


def test_t14_partial_holds_only_beside_the_sinks_own_acknowledgement() -> None:
    kept = graded(F.INITIATED, C.PARTIAL, output_hash="sha256:o")
    lost = graded(F.INITIATED, C.PARTIAL)
    assert (kept.pair, kept.reasons) == (pair(F.INITIATED, C.PARTIAL), ())
    assert (lost.pair, lost.reasons) == (pair(F.INITIATED), (R.CAPPED_NO_LOOK, R.PARTIAL_UNBACKED))


def test_t15_verified_becomes_ambiguous_where_the_accepted_looks_fit_several_outcomes() -> None:
    for looks in ([UNCLEAR], [OTHER], [MATCH, CONTRARY]):
        assert graded(F.FINALIZED, looks=looks).pair.confidence is C.AMBIGUOUS


@pytest.mark.parametrize("confidence", [C.AMBIGUOUS, C.UNKNOWN, C.NOT_VERIFIED])
@pytest.mark.parametrize("column", list(S))
def test_t16_t17_a_weak_confidence_stays_the_word_it_was(confidence, column) -> None:
    assert graded(F.FINALIZED, confidence, looks=LOOKS[column]).pair.confidence is confidence


def test_t17_t19_an_absent_confidence_is_not_verified() -> None:
    answer = graded(F.INITIATED, None)
    assert answer.pair == pair(F.INITIATED, C.NOT_VERIFIED)
    assert answer.reasons == ()


def test_t20_not_verified_is_graded_without_a_failure_and_without_a_reason() -> None:
    answer = graded(F.FINALIZED, C.NOT_VERIFIED, looks=[MATCH])
    assert answer.pair == pair(F.FINALIZED, C.NOT_VERIFIED)
    assert answer.status is EffectStatus.UNKNOWN_OUTCOME
    assert answer.reasons == ()


def test_t22_finalized_and_not_verified_can_be_claimed_and_is_no_proof() -> None:
    answer = graded(F.FINALIZED, C.NOT_VERIFIED)
    assert answer.pair == pair(F.INDETERMINATE)
    assert answer.status is not EffectStatus.SUCCESS
    assert graded(F.FINALIZED, C.NOT_VERIFIED, looks=[MATCH]).status is not EffectStatus.SUCCESS


def test_t23_surely_pending_stays_initiated_and_verified_and_has_no_status() -> None:
    answer = graded(F.INITIATED, looks=[MATCH])
    assert (answer.pair, answer.status) == (pair(F.INITIATED, C.VERIFIED), None)


def test_t30_t32_grading_reads_the_claim_and_leaves_it_as_it_was() -> None:
    claim = Claim(finality=F.FINALIZED, confidence=C.VERIFIED, expected=EXPECTED)
    copy = msgspec.structs.replace(claim)
    assert verify_effect(claim, looks=[]).pair == pair(F.INDETERMINATE)
    assert claim == copy


@pytest.mark.parametrize("claimed", [F.FAILED, F.NOT_ATTEMPTED])
def test_a_negative_claim_without_a_look_is_kept_and_called_unbacked(claimed) -> None:
    answer = graded(claimed)
    assert answer.pair == pair(claimed)
    assert answer.reasons == (R.UNBACKED, R.CAPPED_NO_LOOK)
    assert graded(claimed, C.NOT_VERIFIED).reasons == (R.UNBACKED,)


def test_rule_1_a_state_that_was_there_before_is_a_match() -> None:
    already = JudgedLook(outcome=LookOutcome.DEFINITE, before=EXPECTED, observed=EXPECTED)
    assert graded(F.FINALIZED, looks=[already]).situation is S.MATCH


def test_rule_2_what_was_not_expected_and_stood_before_is_a_contrary() -> None:
    assert weigh_looks([CONTRARY], expected=EXPECTED) == (S.CONTRARY, set())


@pytest.mark.parametrize(
    ("look", "expected", "reasons"),
    [
        (UNCLEAR, EXPECTED, set()),
        (JudgedLook(outcome=LookOutcome.DEFINITE, before=BEFORE), EXPECTED, set()),
        (JudgedLook(outcome=LookOutcome.DEFINITE, observed=THIRD), EXPECTED, set()),
        (CONTRARY, None, {R.EXPECTED_MISSING}),
        (OTHER, EXPECTED, {R.OBSERVED_OTHER}),
    ],
)
def test_rule_3_t13_a_look_with_a_missing_counterpart_is_unclear(look, expected, reasons) -> None:
    assert weigh_looks([look], expected=expected) == (S.UNCLEAR, reasons)


def test_rule_3_nothing_equals_nothing() -> None:
    blank = JudgedLook(outcome=LookOutcome.DEFINITE)
    assert weigh_looks([blank], expected=None) == (S.UNCLEAR, {R.EXPECTED_MISSING})
    assert weigh_looks([blank], expected=EXPECTED) == (S.UNCLEAR, set())


@pytest.mark.parametrize("firm", [MATCH, CONTRARY])
def test_rule_4_an_unclear_look_undoes_neither_a_match_nor_a_contrary(firm) -> None:
    alone = weigh_looks([firm], expected=EXPECTED)
    blank = JudgedLook(outcome=LookOutcome.DEFINITE, before=BEFORE)
    no_before = JudgedLook(outcome=LookOutcome.DEFINITE, observed=THIRD)
    for weak in (UNCLEAR, blank, no_before, REFUSED):
        assert weigh_looks([weak, firm, weak], expected=EXPECTED)[0] is alone[0]


@pytest.mark.parametrize("looks", [[MATCH, CONTRARY], [MATCH, OTHER], [CONTRARY, OTHER]])
def test_rule_4_t13_definite_looks_of_two_kinds_clash_in_either_order(looks) -> None:
    for order in (looks, looks[::-1]):
        situation, reasons = weigh_looks(order, expected=EXPECTED)
        assert situation is S.CLASHING
        assert R.CLASHING_LOOKS in reasons


@pytest.mark.parametrize(
    ("finality", "column"),
    [(F.FINALIZED, S.MATCH), (F.INITIATED, S.MATCH), (F.FAILED, S.CONTRARY), (F.NOT_ATTEMPTED, S.CONTRARY)],
)
def test_rule_6_t11_verified_holds_where_a_definite_look_supports_the_finality(finality, column) -> None:
    assert graded(finality, looks=LOOKS[column]).pair == pair(finality, C.VERIFIED)


def test_rule_7_t14_partial_is_lowered_in_every_column_without_an_output_hash() -> None:
    for finality, column in itertools.product(F, S):
        answer = graded(finality, C.PARTIAL, looks=LOOKS[column])
        assert answer.pair.confidence is C.NOT_VERIFIED
        assert R.PARTIAL_UNBACKED in answer.reasons


def test_rule_8_reasons_are_a_set_in_the_order_of_the_list() -> None:
    untrusted = msgspec.structs.replace(REFUSED, refused_for=R.LOOK_UNTRUSTED)
    answer = graded(F.FAILED, looks=[REFUSED, untrusted, REFUSED])
    assert answer.reasons == (R.UNBACKED, R.CAPPED_NO_LOOK, R.LOOK_UNTRUSTED, R.LOOK_SELF)


def test_rule_9_the_status_of_a_single_pair_is_derived() -> None:
    expected = {
        F.FAILED: EffectStatus.FAILED,
        F.NOT_ATTEMPTED: EffectStatus.CANCELLED,
        F.INITIATED: None,
        F.INDETERMINATE: EffectStatus.UNKNOWN_OUTCOME,
    }
    for finality, confidence in itertools.product(expected, C):
        assert status_of(pair(finality, confidence)) is expected[finality]
    for confidence in C:
        success = status_of(pair(F.FINALIZED, confidence)) is EffectStatus.SUCCESS
        assert success is (confidence is C.VERIFIED)


def test_rule_9_only_an_observed_undo_cancels() -> None:
    undone = pair(F.FINALIZED, C.VERIFIED)
    assert status_of(undone, undo=undone) is EffectStatus.CANCELLED
    assert status_of(undone, undo=pair(F.FINALIZED, C.PARTIAL)) is EffectStatus.SUCCESS
    assert grade_batch([undone], undo=undone).status is EffectStatus.CANCELLED


@pytest.mark.parametrize(
    ("objects", "own", "status"),
    [
        ([pair(F.FINALIZED, C.VERIFIED)] * 2, pair(F.FINALIZED, C.VERIFIED), EffectStatus.SUCCESS),
        (
            [pair(F.FINALIZED, C.VERIFIED), pair(F.FAILED, C.VERIFIED), pair(F.FAILED)],
            pair(F.FAILED),
            EffectStatus.PARTIAL,
        ),
        (
            [pair(F.FINALIZED, C.VERIFIED), pair(F.INDETERMINATE, C.UNKNOWN)],
            pair(F.INDETERMINATE, C.UNKNOWN),
            EffectStatus.PARTIAL,
        ),
        ([pair(F.FINALIZED, C.VERIFIED), pair(F.INITIATED)], pair(F.INITIATED), None),
        ([pair(F.FAILED), pair(F.NOT_ATTEMPTED)], pair(F.FAILED), EffectStatus.FAILED),
        ([pair(F.NOT_ATTEMPTED)], pair(F.NOT_ATTEMPTED), EffectStatus.CANCELLED),
        ([pair(F.FAILED), pair(F.FINALIZED)], pair(F.FAILED), EffectStatus.UNKNOWN_OUTCOME),
        (
            [pair(F.FINALIZED, C.VERIFIED), pair(F.FINALIZED, C.AMBIGUOUS)],
            pair(F.FINALIZED, C.AMBIGUOUS),
            EffectStatus.PARTIAL,
        ),
    ],
)
def test_rule_10_a_batch_takes_its_worst_finality_and_lowest_confidence(objects, own, status) -> None:
    assert grade_batch(objects) == BatchGrade(pair=own, status=status)
    assert grade_batch(objects[::-1]) == BatchGrade(pair=own, status=status)


def test_rule_10_a_batch_of_nothing_is_a_defect() -> None:
    with pytest.raises(InvariantViolation):
        grade_batch([])


def test_a_look_refused_for_no_look_reason_is_a_defect() -> None:
    with pytest.raises(InvariantViolation):
        weigh_looks([JudgedLook(refused_for=R.UNBACKED)], expected=None)


def _names_read(function) -> set[str]:
    tree = ast.parse(inspect.getsource(function))
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)} | {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name)
    }


def test_t25_finality_is_computed_from_nothing_that_knows_the_confidence() -> None:
    for finality, column in itertools.product(F, S):
        left = {graded(finality, c, looks=LOOKS[column], output_hash="o").pair.finality for c in [*C, None]}
        assert len(left) == 1
    assert not _names_read(claims.claimed_finality) & {"EffectConfidence", "claimed_confidence", "confidence"}
    assert not _names_read(claims._finality_said) & {"EffectConfidence", "claimed_confidence", "confidence"}


def test_t25_a_claimed_confidence_is_computed_without_the_finality() -> None:
    assert not _names_read(claims.claimed_confidence) & {"EffectFinality", "claimed_finality", "finality"}
    # Grading may only ask which finality a look supports; it may not give a confidence to a finality.
    for confidence in (C.AMBIGUOUS, C.UNKNOWN, C.NOT_VERIFIED):
        left = {
            graded(f, confidence, looks=LOOKS[column]).pair.confidence
            for f, column in itertools.product(F, S)
        }
        assert left == {confidence}


def test_the_rules_of_the_module_are_numbered_and_each_has_its_block() -> None:
    source = inspect.getsource(grading)
    for number in range(1, 11):
        assert f"# Rule {number}" in source
