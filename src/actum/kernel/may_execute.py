# SPDX-License-Identifier: Apache-2.0
"""Whether anything may run without a confirm is one predicate, and its answer for a staged action is no.

Rules
1. Only what changes nothing, stays on this machine or reads what is public, and is of class inform may run
   without a grant.
2. The definition and the envelope must both allow it; either can narrow, neither can widen rule 1.
3. ``auto_confirm`` is no input: what a definition says about confirming has no power.
4. Money and legal effects need a person who is neither the submitter nor the one acted for.
"""

from __future__ import annotations

from actum.model.effect import EffectClass, EffectDescriptor, Externality, Reversibility

ALONE = frozenset({Externality.LOCAL_ONLY, Externality.PUBLIC_READ})


def may_execute_alone(
    descriptor: EffectDescriptor, *, definition_class: EffectClass, envelope_allows: bool = True
) -> bool:
    """Tell whether an effect may leave without a grant.

    ``definition_class`` is the class its action definition declares; the stricter of both classes counts.
    """
    # Rule 1
    harmless = (
        descriptor.reversibility is Reversibility.NO_MUTATION
        and descriptor.externality in ALONE
        and descriptor.effect_class is EffectClass.INFORM
    )
    # Rule 2
    return harmless and definition_class is EffectClass.INFORM and envelope_allows


def may_confirm(effect_class: EffectClass, *, person: str, submitter: str, on_behalf_of: str | None) -> bool:
    """Tell whether this person may confirm an effect of this class; the role is checked elsewhere."""
    # Rule 4
    if effect_class is EffectClass.MONEY_LEGAL:
        return person not in (submitter, on_behalf_of)
    return True
