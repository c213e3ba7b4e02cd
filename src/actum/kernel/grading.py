# SPDX-License-Identifier: Apache-2.0
"""A claim is graded by what independent looks saw; a grade is never above its claim.

Rules
1.  An accepted look is a match where it is definite and observed what was expected.
2.  It is a contrary where it is definite and observed what stood before, and that was not expected.
3.  It is a third state where it is definite and observed something else although both were known; it is
    unclear where it says so itself or where `observed`, `expected` or the needed `before` is missing.
4.  Matches alone are a match, contraries alone a contrary, third states alone unclear; a match, a contrary
    or a third state beside another of the three clash. An unclear look undoes neither.
5.  Finality moves only by the cells of the table `_FINALITY`.
6.  Verified holds only where a match supports finalized or initiated, or a contrary supports failed or
    not_attempted; otherwise it becomes ambiguous if any look was accepted, else not_verified.
7.  Partial holds only with an output_hash, else it becomes not_verified. An absent confidence is
    not_verified. No other confidence moves.
8.  Each reason is given once, in the order of `ReasonCode`.
9.  Status is derived: finalized + verified is success, failed is failed, not_attempted is cancelled,
    initiated has none, everything else is unknown_outcome. A verified undo is cancelled.
10. A batch takes the first finality present of indeterminate, initiated, failed, not_attempted, finalized,
    with the lowest confidence of the objects that have it; status partial stands beside it where some objects
    are finalized + verified and some are not. An object that is still initiated keeps the batch open.

Grading weighs evidence about an effect. It does not say that the effect was the right one to want, nor that
nothing else happened.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import msgspec

from actum.model.errors import InvariantViolation
from actum.model.grading import (
    LOOK_REFUSALS,
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

_F, _C, _S = EffectFinality, EffectConfidence, Situation
_REASON_ORDER = {reason: place for place, reason in enumerate(ReasonCode)}

# Rule 5: claimed finality, then what the looks say together.
_FINALITY: dict[EffectFinality, dict[Situation, EffectFinality]] = {
    _F.FINALIZED: {
        _S.MATCH: _F.FINALIZED,
        _S.CONTRARY: _F.FAILED,
        _S.UNCLEAR: _F.INDETERMINATE,
        _S.CLASHING: _F.INDETERMINATE,
        _S.NONE: _F.INDETERMINATE,
    },
    _F.INITIATED: {
        _S.MATCH: _F.INITIATED,
        _S.CONTRARY: _F.FAILED,
        _S.UNCLEAR: _F.INDETERMINATE,
        _S.CLASHING: _F.INDETERMINATE,
        _S.NONE: _F.INITIATED,
    },
    _F.FAILED: {
        _S.MATCH: _F.INDETERMINATE,
        _S.CONTRARY: _F.FAILED,
        _S.UNCLEAR: _F.INDETERMINATE,
        _S.CLASHING: _F.INDETERMINATE,
        _S.NONE: _F.FAILED,
    },
    _F.NOT_ATTEMPTED: {
        _S.MATCH: _F.INDETERMINATE,
        _S.CONTRARY: _F.NOT_ATTEMPTED,
        _S.UNCLEAR: _F.INDETERMINATE,
        _S.CLASHING: _F.INDETERMINATE,
        _S.NONE: _F.NOT_ATTEMPTED,
    },
    _F.INDETERMINATE: dict.fromkeys(_S, _F.INDETERMINATE),
}

# Rule 6: the situations in which a definite look supports a graded finality.
_SUPPORTED = frozenset(
    {
        (_F.FINALIZED, _S.MATCH),
        (_F.INITIATED, _S.MATCH),
        (_F.FAILED, _S.CONTRARY),
        (_F.NOT_ATTEMPTED, _S.CONTRARY),
    }
)
_OPPOSED = frozenset(
    {
        (_F.FINALIZED, _S.CONTRARY),
        (_F.INITIATED, _S.CONTRARY),
        (_F.FAILED, _S.MATCH),
        (_F.NOT_ATTEMPTED, _S.MATCH),
    }
)

# Rule 10. Partial, ambiguous and unknown are equally low; their order here only makes the answer one answer.
_BATCH_ORDER = (_F.INDETERMINATE, _F.INITIATED, _F.FAILED, _F.NOT_ATTEMPTED, _F.FINALIZED)
_LOWEST_FIRST = (_C.NOT_VERIFIED, _C.UNKNOWN, _C.AMBIGUOUS, _C.PARTIAL, _C.VERIFIED)


class BatchGrade(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The own pair of a receipt over several objects, beside the objects' own grades."""

    pair: GradePair
    status: EffectStatus | None


def verify_effect(claim: Claim, *, looks: Sequence[JudgedLook]) -> Graded:
    """Return what the looks leave of `claim`; the claim itself is not changed.

    `looks` are all looks of the effect, readback and witnesses alike, each judged accepted or refused.
    """
    situation, reasons = weigh_looks(looks, expected=claim.expected)
    finality = _FINALITY[claim.finality][situation]
    confidence = _grade_confidence(claim, graded=finality, situation=situation)
    lowered = finality is not claim.finality or confidence is not (claim.confidence or _C.NOT_VERIFIED)
    if (claim.finality, situation) in _OPPOSED:
        reasons.add(ReasonCode.CONTRADICTED)
    if situation is _S.NONE:
        if claim.finality in (_F.FAILED, _F.NOT_ATTEMPTED):
            reasons.add(ReasonCode.UNBACKED)
        if lowered:
            reasons.add(ReasonCode.CAPPED_NO_LOOK)
    elif situation is _S.UNCLEAR and lowered:
        reasons.add(ReasonCode.CAPPED_UNCLEAR)
    if claim.confidence is _C.PARTIAL and claim.output_hash is None:
        reasons.add(ReasonCode.PARTIAL_UNBACKED)
    pair = GradePair(finality=finality, confidence=confidence)
    # Rule 8
    ordered = tuple(sorted(reasons, key=_REASON_ORDER.__getitem__)) if reasons else ()
    return Graded(pair=pair, status=status_of(pair), situation=situation, reasons=ordered)


def weigh_looks(looks: Sequence[JudgedLook], *, expected: str | None) -> tuple[Situation, set[ReasonCode]]:
    """Return the column of the table the looks stand for, and the reasons the looks themselves give."""
    reasons: set[ReasonCode] = set()
    accepted = matches = contraries = thirds = 0
    for look in looks:
        if look.refused_for is not None:
            if look.refused_for not in LOOK_REFUSALS:
                raise InvariantViolation("a look is refused only for a look_ reason", reason=look.refused_for)
            reasons.add(look.refused_for)
            continue
        accepted += 1
        if look.outcome is not LookOutcome.DEFINITE:
            continue
        if expected is None:
            reasons.add(ReasonCode.EXPECTED_MISSING)
        elif look.observed is None:
            continue
        # Rule 1
        elif look.observed == expected:
            matches += 1
        # Rule 3: without `before` nothing tells a contrary from a third state.
        elif look.before is None:
            continue
        # Rule 2
        elif look.observed == look.before:
            contraries += 1
        else:
            thirds += 1
            reasons.add(ReasonCode.OBSERVED_OTHER)
    # Rule 4
    if (matches and contraries) or (thirds and (matches or contraries)):
        reasons.add(ReasonCode.CLASHING_LOOKS)
        return _S.CLASHING, reasons
    if matches:
        return _S.MATCH, reasons
    if contraries:
        return _S.CONTRARY, reasons
    return (_S.UNCLEAR if accepted else _S.NONE), reasons


def status_of(pair: GradePair, *, undo: GradePair | None = None) -> EffectStatus | None:
    """Return the status of one graded effect; `undo` is the graded pair of the effect that undid it."""
    # Rule 9
    if undo is not None and _is_observed(undo):
        return EffectStatus.CANCELLED
    match pair.finality:
        case EffectFinality.FINALIZED:
            observed = pair.confidence is _C.VERIFIED
            return EffectStatus.SUCCESS if observed else EffectStatus.UNKNOWN_OUTCOME
        case EffectFinality.FAILED:
            return EffectStatus.FAILED
        case EffectFinality.NOT_ATTEMPTED:
            return EffectStatus.CANCELLED
        case EffectFinality.INITIATED:
            return None
        case EffectFinality.INDETERMINATE:
            return EffectStatus.UNKNOWN_OUTCOME
        case _:
            assert_never(pair.finality)


def grade_batch(objects: Sequence[GradePair], *, undo: GradePair | None = None) -> BatchGrade:
    """Return the own pair and status of a batch from the graded pairs of its objects (at least one)."""
    if not objects:
        raise InvariantViolation("a batch has at least one object")
    # Rule 10
    finality = next(each for each in _BATCH_ORDER if any(pair.finality is each for pair in objects))
    confidences = {pair.confidence for pair in objects if pair.finality is finality}
    confidence = next(each for each in _LOWEST_FIRST if each in confidences)
    own = GradePair(finality=finality, confidence=confidence)
    return BatchGrade(pair=own, status=_batch_status(objects, undo=undo))


def _batch_status(objects: Sequence[GradePair], *, undo: GradePair | None) -> EffectStatus | None:
    if undo is not None and _is_observed(undo):
        return EffectStatus.CANCELLED
    finalities = {pair.finality for pair in objects}
    if _F.INITIATED in finalities:
        return None
    observed = sum(map(_is_observed, objects))
    if observed == len(objects):
        return EffectStatus.SUCCESS
    if observed:
        return EffectStatus.PARTIAL
    if finalities == {_F.NOT_ATTEMPTED}:
        return EffectStatus.CANCELLED
    # A batch has failed only where none of its objects may have taken effect.
    if finalities <= {_F.FAILED, _F.NOT_ATTEMPTED}:
        return EffectStatus.FAILED
    return EffectStatus.UNKNOWN_OUTCOME


def _grade_confidence(claim: Claim, *, graded: EffectFinality, situation: Situation) -> EffectConfidence:
    claimed = claim.confidence or _C.NOT_VERIFIED
    # Rule 6
    if claimed is _C.VERIFIED and (graded, situation) not in _SUPPORTED:
        return _C.NOT_VERIFIED if situation is _S.NONE else _C.AMBIGUOUS
    # Rule 7
    if claimed is _C.PARTIAL and claim.output_hash is None:
        return _C.NOT_VERIFIED
    return claimed


def _is_observed(pair: GradePair) -> bool:
    return pair.finality is _F.FINALIZED and pair.confidence is _C.VERIFIED
