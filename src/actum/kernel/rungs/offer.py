# SPDX-License-Identifier: Apache-2.0
"""A deterministic rung either offers one outcome or says why it has none; two hits are never one outcome.

Rules
1. Hit policy unique: two or more hits are a conflict that names them all, and offer nothing.
2. An offer that touches money_legal is marked; it decides nothing without a person.
3. A rung never answers for another: its entry carries its own name and what it looked at.
"""

from __future__ import annotations

import msgspec

from actum.kernel.facts import Facts
from actum.kernel.index import IndexedRule, RuleIndex, StepIndex
from actum.kernel.parsers import Unusable
from actum.kernel.staging import Outcome, resolve_then
from actum.model.decision import Condition, ConditionKind, Rung, RungEntry, RungOutcome, Skip


class Offer(msgspec.Struct, frozen=True):
    """What a rung would decide. ``withheld`` are the actions that an unconfirmed pattern may not stage."""

    id: str
    condition: Condition
    outcome: Outcome
    needs_person: bool
    withheld: tuple[str, ...] = ()


class RungAnswer(msgspec.Struct, frozen=True):
    """One rung's entry and its offers: one where it can decide, several where hits conflict, else none."""

    entry: RungEntry
    offers: tuple[Offer, ...]


def from_rules(
    rung: Rung, *, index: RuleIndex, kind: ConditionKind, at: StepIndex, facts: Facts
) -> RungAnswer | None:
    """Return the answer that the rules of an index give, or None where no rule hit and none was skipped."""
    if index.count == 0:
        return None
    found = index.look_up(facts)
    if not found.hits:
        if not found.skipped:
            return None
        return RungAnswer(_entry(rung, RungOutcome.NO_MATCH, index, skipped=found.skipped), ())
    hits = tuple([rule.id for rule in found.hits])
    offers: list[Offer] = []
    for rule in found.hits:
        offer = _offer(rule, kind=kind, at=at, facts=facts)
        if isinstance(offer, Unusable):
            reason = f"{offer.reason}: {offer.detail}"
            if len(hits) == 1:
                unresolved = _entry(rung, RungOutcome.UNRESOLVED, index, reason, hits, found.skipped)
                return RungAnswer(unresolved, ())
            continue
        offers.append(offer)
    if len(hits) > 1:  # Rule 1
        return RungAnswer(
            _entry(rung, RungOutcome.CONFLICT, index, "more than one hit", hits, found.skipped), tuple(offers)
        )
    outcome = RungOutcome.NEEDS_PERSON if offers[0].needs_person else RungOutcome.WON  # Rule 2
    return RungAnswer(_entry(rung, outcome, index, "", hits, found.skipped), tuple(offers))


def _entry(
    rung: Rung,
    outcome: RungOutcome,
    index: RuleIndex,
    reason: str = "",
    hits: tuple[str, ...] = (),
    skipped: tuple[Skip, ...] = (),
) -> RungEntry:
    return RungEntry(  # Rule 3
        rung=rung,
        ran=True,
        outcome=outcome,
        reason=reason,
        hits=hits,
        skipped=skipped,
        considered=index.count,
    )


def _offer(rule: IndexedRule, *, kind: ConditionKind, at: StepIndex, facts: Facts) -> Offer | Unusable:
    then, withheld = rule.then, ()
    if rule.fixed is not None:
        outcome = Outcome(rule.fixed, ())
    else:
        outcome = resolve_then(then, at=at, facts=facts)
        if isinstance(outcome, Unusable):
            return outcome
    if rule.digest is not None and not rule.confirmed:
        withheld = then.stage
        outcome = Outcome(outcome.writes, ())
    condition = Condition(kind=kind, id=rule.id, digest=rule.digest)
    return Offer(rule.id, condition, outcome, rule.needs_person, withheld)
