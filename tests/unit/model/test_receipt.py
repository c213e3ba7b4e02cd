# SPDX-License-Identifier: Apache-2.0
"""A receipt answers how far and how well known in two fields, and never in one boolean."""

from __future__ import annotations

import itertools
import typing

import msgspec

from actum.evidence.published import PublishedReceipt
from actum.model.action_v2 import Effect
from actum.model.grading import EffectConfidence, EffectFinality, GradePair
from actum.model.receipt import Receipt
from actum.testing.records import receipt

# Whether Actum itself declined to dispatch, and whether a look saw what was expected: neither is an outcome.
NOT_OUTCOMES = {"refused", "verified", "process", "uid", "host", "credential", "control_held"}


def _booleans(kind: object, seen: set[object]) -> set[str]:
    found: set[str] = set()
    for part in typing.get_args(kind):
        found |= _booleans(part, seen)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind not in seen:
        seen.add(kind)
        for name, annotation in typing.get_type_hints(kind).items():
            if annotation is bool or bool in typing.get_args(annotation):
                found.add(name)
            found |= _booleans(annotation, seen)
    return found


def test_t1_no_receipt_has_a_boolean_for_its_outcome() -> None:
    for kind in (Receipt, PublishedReceipt, Effect):
        assert _booleans(kind, set()) <= NOT_OUTCOMES, kind


def test_t2_how_far_and_how_well_known_are_two_fields_that_move_apart() -> None:
    pairs = list(itertools.product(EffectFinality, EffectConfidence))
    for finality, confidence in pairs:
        graded = GradePair(finality=finality, confidence=confidence)
        body = msgspec.json.encode(receipt(graded=graded))
        back = msgspec.json.decode(body, type=Receipt)
        assert (back.graded.finality, back.graded.confidence) == (finality, confidence)
        as_json = msgspec.json.decode(body)["graded"]
        assert as_json == {"finality": finality.value, "confidence": confidence.value}
    assert len(pairs) == 25
    assert GradePair.__struct_fields__ == ("finality", "confidence")
