# SPDX-License-Identifier: Apache-2.0
"""The structured rung reads subject fields, work type and status, and costs no tokens.

Rules
1. A hit of one rule of the step's skill wins; it wins over the fields, and the condition says which it was.
2. Otherwise the step wins where all its fields are present, typed and not empty.
3. A plumbing step that requires no fields and has neither rules nor patterns has nothing to decide and is
   won by that; a step with rules waits for one of them, and a reasoning step has something to interpret.
4. It stages only actions bound to the resolving skill; anything else is our defect, not a stage.
"""

from __future__ import annotations

from actum.kernel.facts import Facts
from actum.kernel.index import StepIndex
from actum.kernel.parsers import Unusable
from actum.kernel.rungs.offer import Offer, RungAnswer, from_rules
from actum.kernel.staging import resolve_then
from actum.model.decision import Condition, ConditionKind, Rung, RungEntry, RungOutcome, Skip
from actum.model.errors import InvariantViolation
from actum.model.process import StepKind


def answer(at: StepIndex, facts: Facts) -> RungAnswer:
    """Return what the structured rung makes of one subject at one step."""
    ruled = from_rules(Rung.STRUCTURED, index=at.rules, kind=ConditionKind.RULE, at=at, facts=facts)
    if ruled is not None and ruled.entry.hits:  # Rule 1
        _check_bound(ruled, at)
        return ruled
    skipped = ruled.entry.skipped if ruled is not None else ()
    return _by_fields(at, facts, skipped)


def _by_fields(at: StepIndex, facts: Facts, skipped: tuple[Skip, ...]) -> RungAnswer:
    step = at.step
    if not step.fields and (step.kind is not StepKind.PLUMBING or at.has_rules):  # Rule 3
        return _no(at, RungOutcome.NO_MATCH, "no field is required and no rule hit", skipped)
    missing = facts.missing_from(step.fields)
    if missing:  # Rule 2
        reason = "; ".join(f"{why.reason}: {why.detail}" for why in missing)
        return _no(at, RungOutcome.NO_MATCH, reason, skipped)
    outcome = resolve_then(at.skill.then, at=at, facts=facts)
    if isinstance(outcome, Unusable):
        return _no(at, RungOutcome.UNRESOLVED, f"{outcome.reason}: {outcome.detail}", skipped)
    kind = ConditionKind.FIELDS_PRESENT if step.fields else ConditionKind.NO_FIELDS_REQUIRED
    offer = Offer("fields", Condition(kind=kind, fields=step.fields), outcome, at.skill_needs_person)
    won = RungOutcome.NEEDS_PERSON if offer.needs_person else RungOutcome.WON
    found = RungAnswer(_no(at, won, "", skipped).entry, (offer,))
    _check_bound(found, at)
    return found


def _no(at: StepIndex, outcome: RungOutcome, reason: str, skipped: tuple[Skip, ...]) -> RungAnswer:
    entry = RungEntry(
        rung=Rung.STRUCTURED,
        ran=True,
        outcome=outcome,
        reason=reason,
        skipped=skipped,
        considered=at.rules.count,
    )
    return RungAnswer(entry, ())


def _check_bound(found: RungAnswer, at: StepIndex) -> None:
    for offer in found.offers:
        for stage in offer.outcome.stages:
            if stage.action not in at.skill.actions:  # Rule 4
                raise InvariantViolation("structured stages only bound actions", action=stage.action)
