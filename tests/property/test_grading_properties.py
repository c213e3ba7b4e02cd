# SPDX-License-Identifier: Apache-2.0
"""Whatever is claimed and looked at, grading only lowers, and order and refused looks change nothing."""

import random

from hypothesis import given
from hypothesis import strategies as st

from actum.kernel.grading import grade_batch, verify_effect, weigh_looks
from actum.kernel.resolution import check_resolution
from actum.model.grading import (
    LOOK_REFUSALS,
    Claim,
    EffectConfidence,
    EffectFinality,
    EffectStatus,
    GradePair,
    JudgedLook,
    LookOutcome,
    ReasonCode,
    Resolution,
    ResolutionOutcome,
    Situation,
)
from actum.model.rfc3339 import Instant

F, C = EffectFinality, EffectConfidence
DIGESTS = st.sampled_from([None, "a", "b", "c"])
LOOKS = st.builds(
    JudgedLook,
    outcome=st.sampled_from(LookOutcome),
    before=DIGESTS,
    observed=DIGESTS,
    refused_for=st.none() | st.sampled_from(sorted(LOOK_REFUSALS, key=lambda reason: reason.value)),
)
CLAIMS = st.builds(
    Claim,
    finality=st.sampled_from(F),
    confidence=st.none() | st.sampled_from(C),
    expected=DIGESTS,
    output_hash=DIGESTS,
)
MANY = st.lists(LOOKS, max_size=5)
PAIRS = st.builds(GradePair, finality=st.sampled_from(F), confidence=st.sampled_from(C))
RANK = {C.VERIFIED: 2, C.PARTIAL: 1, C.AMBIGUOUS: 1, C.UNKNOWN: 1, C.NOT_VERIFIED: 0}
# What each claimed finality may become; only contraries turn a positive claim into failed.
BELOW = {
    F.FINALIZED: {F.FINALIZED, F.FAILED, F.INDETERMINATE},
    F.INITIATED: {F.INITIATED, F.FAILED, F.INDETERMINATE},
    F.FAILED: {F.FAILED, F.INDETERMINATE},
    F.NOT_ATTEMPTED: {F.NOT_ATTEMPTED, F.INDETERMINATE},
    F.INDETERMINATE: {F.INDETERMINATE},
}


@given(CLAIMS, MANY)
def test_t31_no_claim_and_no_looks_make_grading_raise_either_word(claim, looks) -> None:
    graded = verify_effect(claim, looks=looks)
    assert graded.pair.finality in BELOW[claim.finality]
    assert RANK[graded.pair.confidence] <= RANK[claim.confidence or C.NOT_VERIFIED]
    assert (graded.status is EffectStatus.SUCCESS) <= (
        (claim.finality, claim.confidence) == (F.FINALIZED, C.VERIFIED)
    )


@given(CLAIMS, MANY)
def test_t11_verified_is_left_only_by_an_accepted_definite_look_that_supports_it(claim, looks) -> None:
    graded = verify_effect(claim, looks=looks)
    if graded.pair.confidence is C.VERIFIED:
        wanted = claim.expected if graded.pair.finality in (F.FINALIZED, F.INITIATED) else None
        support = [
            look
            for look in looks
            if look.refused_for is None
            and look.outcome is LookOutcome.DEFINITE
            and look.observed is not None
            and (look.observed == wanted if wanted else look.observed == look.before)
        ]
        assert support
        assert graded.pair.finality is not F.INDETERMINATE


@given(CLAIMS, MANY, st.integers())
def test_the_order_of_the_looks_and_repeating_them_change_nothing(claim, looks, seed) -> None:
    mixed = [*looks, *looks]
    random.Random(seed).shuffle(mixed)
    assert verify_effect(claim, looks=mixed) == verify_effect(claim, looks=looks)


@given(CLAIMS, MANY)
def test_t12_refused_looks_change_the_reasons_and_never_the_grade(claim, looks) -> None:
    accepted = [look for look in looks if look.refused_for is None]
    whole, bare = verify_effect(claim, looks=looks), verify_effect(claim, looks=accepted)
    assert (whole.pair, whole.status, whole.situation) == (bare.pair, bare.status, bare.situation)
    assert set(whole.reasons) - LOOK_REFUSALS == set(bare.reasons)


@given(CLAIMS, MANY)
def test_every_lowering_has_a_reason_and_reasons_are_ordered_and_single(claim, looks) -> None:
    graded = verify_effect(claim, looks=looks)
    given_pair = GradePair(finality=claim.finality, confidence=claim.confidence or C.NOT_VERIFIED)
    if graded.pair != given_pair:
        assert set(graded.reasons) - LOOK_REFUSALS
    order = list(ReasonCode)
    assert list(graded.reasons) == sorted(set(graded.reasons), key=order.index)
    assert graded.situation is weigh_looks(looks, expected=claim.expected)[0]
    assert (ReasonCode.CLASHING_LOOKS in graded.reasons) == (graded.situation is Situation.CLASHING)


@given(st.lists(PAIRS, min_size=1, max_size=6), st.integers())
def test_a_batch_is_no_better_than_its_worst_object_in_any_order(pairs, seed) -> None:
    batch = grade_batch(pairs)
    mixed = list(pairs)
    random.Random(seed).shuffle(mixed)
    assert grade_batch(mixed) == batch
    assert batch.pair.finality in {pair.finality for pair in pairs}
    observed = [pair == GradePair(finality=F.FINALIZED, confidence=C.VERIFIED) for pair in pairs]
    assert (batch.status is EffectStatus.SUCCESS) == all(observed)
    if batch.status is EffectStatus.PARTIAL:
        assert any(observed)
        assert not all(observed)
    if any(pair.finality is F.INITIATED for pair in pairs):
        assert batch.status is None


INSTANTS = st.builds(
    Instant,
    st.integers(-(10**9), 10**9),
    st.text("0123456789", max_size=4).map(lambda text: text.rstrip("0")),
)


@given(CLAIMS, MANY, INSTANTS, st.integers(0, 2 * 10**9))
def test_t48_t50_an_open_effect_is_pending_before_and_breached_after_its_deadline(
    claim, looks, now, deadline_s
) -> None:
    from actum.model.rfc3339 import format_ms, parse_instant

    text = format_ms(deadline_s * 1000)
    graded = verify_effect(claim, looks=looks)
    answer = check_resolution(Resolution(deadline=text), graded=graded, now=now)
    deadline = parse_instant(text)
    assert deadline is not None
    if answer.outcome is ResolutionOutcome.RESOLVED:
        assert graded.pair.finality in (F.FINALIZED, F.FAILED, F.NOT_ATTEMPTED)
        assert answer.seconds is None
    else:
        late = now > deadline
        assert answer.outcome is (ResolutionOutcome.BREACHED if late else ResolutionOutcome.PENDING)
        exact = abs(deadline.seconds * 10**4 - now.seconds * 10**4 - int(now.fraction.ljust(4, "0")))
        assert answer.seconds == exact // 10**4
        assert (answer.on_deadline is not None) is late
