# SPDX-License-Identifier: Apache-2.0
"""Five levels of evidence are five record types, and no road leads from a model's words to a fact."""

from __future__ import annotations

import inspect
import itertools
import random
import typing

import msgspec
import pytest

from actum.model import evidence as module
from actum.model.evidence import (
    EvidenceLevel,
    ExecutedEffect,
    ModelAssertion,
    ReceiptEvidence,
    ResolvedArgument,
    VerifiedPostcondition,
)
from actum.testing.records import digest, evidence

ORDER = [
    "model_assertion",
    "resolved_argument",
    "executed_effect",
    "verified_postcondition",
    "receipt",
]
FACTS = (ResolvedArgument, ExecutedEffect, VerifiedPostcondition)


def _mentions(annotation: object, kind: type) -> bool:
    return annotation is kind or any(_mentions(part, kind) for part in typing.get_args(annotation))


def test_o2_five_levels_exist_in_one_ascending_order() -> None:
    assert [level.value for level in EvidenceLevel] == ORDER
    shuffled = list(EvidenceLevel)
    random.Random(1).shuffle(shuffled)
    assert [level.value for level in sorted(shuffled)] == ORDER
    for lower, higher in itertools.combinations(EvidenceLevel, 2):
        assert lower < higher
        assert not higher < lower
    with pytest.raises(TypeError):
        assert EvidenceLevel.RECEIPT < "receipt"  # type: ignore[operator]


def test_o10_a_models_assertion_is_below_everything_else() -> None:
    weakest = EvidenceLevel.MODEL_ASSERTION
    assert min(EvidenceLevel) is weakest
    assert all(weakest < level for level in EvidenceLevel if level is not weakest)


def test_rule_1_o1_no_record_of_a_fact_accepts_a_models_assertion() -> None:
    for kind in FACTS:
        for annotation in typing.get_type_hints(kind).values():
            assert not _mentions(annotation, ModelAssertion), kind
        as_json = msgspec.to_builtins(evidence().assertions[0])
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(as_json, kind)
    functions = [
        member
        for holder in (module, *FACTS, ModelAssertion, ReceiptEvidence)
        for _, member in inspect.getmembers(holder, inspect.isfunction)
        if member.__module__ == module.__name__
    ]
    makers = [
        found.__qualname__
        for found in functions
        if typing.get_type_hints(found).get("return") in (*FACTS, ReceiptEvidence)
    ]
    assert makers == []


def test_rule_1_o3_the_weakest_level_holds_a_models_text_and_nothing_about_the_world() -> None:
    assert ModelAssertion.__struct_fields__ == ("turn_id", "text_digest", "model_id")
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(
            {"turn_id": "T", "text_digest": digest("x"), "model_id": "m", "executed": True}, ModelAssertion
        )


def test_rule_2_a_resolved_argument_carries_the_resources_it_was_resolved_to() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"resolved_argument_digest": digest("a")}, ResolvedArgument)
    assert evidence().resolved.resources[0].digest == digest("content")


def test_rule_3_rule_4_an_execution_names_its_descriptor_and_a_look_what_it_saw() -> None:
    as_json = msgspec.to_builtins(evidence())
    for field in ("capability", "effect_digest", "execution_id"):
        lacking = {name: value for name, value in as_json["executed"].items() if name != field}
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(lacking, ExecutedEffect)
    for field in ("verifier_id", "observed", "outcome", "observation"):
        lacking = {name: value for name, value in as_json["observed"][0].items() if name != field}
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(lacking, VerifiedPostcondition)


def test_rule_5_o9_a_receipts_evidence_holds_all_lower_levels_and_digests_each() -> None:
    whole = evidence()
    for field in ReceiptEvidence.__struct_fields__:
        lacking = {name: value for name, value in msgspec.to_builtins(whole).items() if name != field}
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(lacking, ReceiptEvidence)
    executed, seen = whole.executed, whole.observed[0]
    assert executed is not None
    changed = [
        evidence(assertions=()),
        evidence(resolved=msgspec.structs.replace(whole.resolved, resources=())),
        evidence(executed=msgspec.structs.replace(executed, finished_at_ms=executed.finished_at_ms + 1)),
        evidence(observed=(msgspec.structs.replace(seen, observation={"size": 2}),)),
    ]
    assert len({whole.digest(), *(one.digest() for one in changed)}) == 5
    assert evidence().digest() == whole.digest()
