# SPDX-License-Identifier: Apache-2.0
"""What may run without a confirm is one predicate over every combination, and it says no to whatever changes."""

from __future__ import annotations

import inspect
import itertools

from actum.kernel.may_execute import may_confirm, may_execute_alone
from actum.model.effect import EffectClass, EffectDescriptor, Externality, PrivilegeLevel, Reversibility
from actum.testing.records import descriptor

EVERY = list(itertools.product(Reversibility, Externality, EffectClass))


def _descriptor(
    reversibility: Reversibility, externality: Externality, effect_class: EffectClass
) -> EffectDescriptor:
    return descriptor(reversibility=reversibility, externality=externality, effect_class=effect_class)


def test_rule_1_only_what_changes_nothing_and_stays_here_or_reads_in_public_may_run_alone() -> None:
    alone = [
        each for each in EVERY if may_execute_alone(_descriptor(*each), definition_class=EffectClass.INFORM)
    ]
    assert alone == [
        (Reversibility.NO_MUTATION, Externality.LOCAL_ONLY, EffectClass.INFORM),
        (Reversibility.NO_MUTATION, Externality.PUBLIC_READ, EffectClass.INFORM),
    ]


def test_rule_2_definition_and_envelope_narrow_and_never_widen() -> None:
    for each in EVERY:
        made = _descriptor(*each)
        widest = may_execute_alone(made, definition_class=EffectClass.INFORM, envelope_allows=True)
        for declared, envelope in itertools.product(EffectClass, [True, False]):
            found = may_execute_alone(made, definition_class=declared, envelope_allows=envelope)
            assert found <= widest
            if declared is not EffectClass.INFORM or not envelope:
                assert not found


def test_rule_3_no_input_of_the_predicate_says_that_confirming_can_be_skipped() -> None:
    names = set(inspect.signature(may_execute_alone).parameters)
    assert names == {"descriptor", "definition_class", "envelope_allows"}
    fields = [name for name in EffectDescriptor.__struct_fields__ if "confirm" in name or "auto" in name]
    assert fields == []


def test_nothing_that_privilege_or_code_flag_says_makes_a_change_run_alone() -> None:
    for each, level, code in itertools.product(EVERY, PrivilegeLevel, [True, False]):
        made = descriptor(
            reversibility=each[0], externality=each[1], effect_class=each[2], privilege_level=level,
            executable_code=code,
        )  # fmt: skip
        if each[0] is not Reversibility.NO_MUTATION or each[2] is not EffectClass.INFORM:
            assert not may_execute_alone(made, definition_class=EffectClass.INFORM)


def test_rule_4_money_and_law_need_a_person_who_is_neither_submitter_nor_acted_for() -> None:
    for person, submitter, other in itertools.product(["ann", "bob"], ["ann", "cy"], ["ann", "cy", None]):
        found = may_confirm(EffectClass.MONEY_LEGAL, person=person, submitter=submitter, on_behalf_of=other)
        assert found == (person not in (submitter, other))
        for other_class in (EffectClass.INFORM, EffectClass.ACTION):
            assert may_confirm(other_class, person=person, submitter=submitter, on_behalf_of=other)
