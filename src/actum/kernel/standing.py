# SPDX-License-Identifier: Apache-2.0
"""Where a turn stands follows from its rows; nobody sets it.

Rules
1. A failed step, a refused effect, a dead letter or a definite failure makes the turn failed, with the layer named.
2. A step or row that needs checking, or an unknown outcome nobody has answered, is recovery_required.
3. A dispatched row is running, one that is being looked at or is still pending at its sink is verifying.
4. A row that waits to leave is queued, and so is a proposal that waits for its confirm. A row that waits to be tried
   again says why.
5. A step that waits for a judgment or is not decided yet is routing. One that is left to another program says to which.
6. A turn is completed when nothing is left to do and its receipts hold at least one success, partial, verified
   cancellation, recorded decision, or a person's answer about what could not be seen.
7. A recorded decision completes only a turn in which nothing was said to be done without an execution.
8. The evidence digest covers every receipt of the turn.
9. What repeats an effect under its key stands as that effect does: failed where it failed, queued until its end is
   known, and completed only where it completes.
"""

from __future__ import annotations

import msgspec

from actum.model import canonical
from actum.model.activity import ActivityState, FailureCategory
from actum.model.delivery import OutboxState
from actum.model.grading import EffectConfidence, EffectFinality, EffectStatus
from actum.model.proposal import ProposalState
from actum.model.work import StepState


class ChainEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The newest receipt of one chain: its grade, and a person's word where one was given."""

    kind: str
    status: EffectStatus | None
    finality: EffectFinality
    confidence: EffectConfidence
    refused: str | None
    person_says: str | None
    said_by: str | None


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What the rows of one turn say. ``receipts`` are the payload digests of all receipts, in order.

    ``repeated`` are the ends of the effects of other turns that this one repeats; None is one whose end is open.
    """

    visits: tuple[StepState, ...]
    undecided: bool
    failure: tuple[FailureCategory, str] | None
    open_judgments: int
    open_confirms: int
    open_checks: int
    proposals: tuple[ProposalState, ...]
    rows: tuple[OutboxState, ...]
    looking: bool
    chains: tuple[ChainEnd, ...]
    receipts: tuple[str, ...]
    decisions: int
    unbacked_assertions: int
    repeated: tuple[ChainEnd | None, ...] = ()
    waits: str | None = None
    """Why a row of the turn waits to be tried again."""
    elsewhere: str | None = None
    """The capability for whose program an undecided step is left."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a turn with exactly the columns that state may carry."""

    state: ActivityState
    receipt_count: int = 0
    evidence_digest: str | None = None
    failure_category: FailureCategory | None = None
    failure_reason: str | None = None
    label: str | None = None


def stand(facts: Facts) -> Standing:
    """Return where the turn stands."""
    # Rule 2 comes before rule 1: an outcome nobody knows must not be hidden behind a failure that is known.
    if OutboxState.CHECK_REQUIRED in facts.rows or StepState.CHECK_REQUIRED in facts.visits:
        return Standing(state=ActivityState.RECOVERY_REQUIRED, label="outcome unknown")
    if OutboxState.DISPATCHED in facts.rows:
        # Rule 3
        return Standing(state=ActivityState.VERIFYING if facts.looking else ActivityState.RUNNING)
    if {OutboxState.READY, OutboxState.CLAIMED, OutboxState.RETRY_WAIT} & set(facts.rows):
        # Rule 4
        label = None if facts.waits is None else f"to be tried again: {facts.waits}"
        return Standing(state=ActivityState.QUEUED, label=label)
    failure = _failure(facts)
    if failure is not None:
        return failure
    if facts.open_confirms:
        return Standing(state=ActivityState.QUEUED)
    # Rule 5
    if facts.undecided or facts.open_judgments:
        label = None if facts.elsewhere is None else f"waits for the program that registers {facts.elsewhere}"
        return Standing(state=ActivityState.ROUTING, label=label)
    return _ended(facts)


def _failure(facts: Facts) -> Standing | None:
    # Rule 1
    found = facts.failure
    for chain in (*facts.chains, *(end for end in facts.repeated if end is not None)):  # Rules 1 and 9
        if chain.refused is not None:
            found = found or (FailureCategory.NATIVE_EXECUTION, chain.refused)
        elif chain.status is EffectStatus.FAILED:
            reason = f"{chain.said_by} says it did not happen" if chain.person_says else "effect failed"
            found = found or (FailureCategory.NATIVE_EXECUTION, reason)
        elif chain.person_says == "stop":
            found = found or (FailureCategory.UNKNOWN, f"stopped by {chain.said_by}, outcome unknown")
    if found is None and OutboxState.DEAD in facts.rows:
        found = (FailureCategory.NATIVE_EXECUTION, "dead letter")
    if found is None:
        return None
    return Standing(state=ActivityState.FAILED, failure_category=found[0], failure_reason=found[1])


def _ended(facts: Facts) -> Standing:
    # Rule 9
    if any(end is None or _completes(end, facts) is None for end in facts.repeated):
        return Standing(state=ActivityState.QUEUED, label="waits for the first of its key")
    labels: list[str] = []
    earned = False
    for chain in facts.chains:
        if chain.finality is EffectFinality.INITIATED:
            return Standing(state=ActivityState.VERIFYING, label="pending at the sink")  # Rule 3
        word = _completes(chain, facts)
        if word is None:
            return Standing(state=ActivityState.RECOVERY_REQUIRED, label="outcome unknown")  # Rule 2
        earned = True
        labels.append(word)
    # Rule 6
    if not earned or not facts.receipts:
        if facts.unbacked_assertions:
            return Standing(state=ActivityState.RECOVERY_REQUIRED, label="said to be done, nothing executed")
        refused = ProposalState.DECLINED in facts.proposals
        return Standing(
            state=ActivityState.QUEUED, label="refused, to be sealed by the next run" if refused else None
        )
    return Standing(
        state=ActivityState.COMPLETED,
        receipt_count=len(facts.receipts),
        evidence_digest=canonical.digest(list(facts.receipts)),  # Rule 8
        label="; ".join(dict.fromkeys(labels)),
    )


def _completes(chain: ChainEnd, facts: Facts) -> str | None:
    """Return how the end of a chain completes the turn, or None where it does not."""
    if chain.kind == "record":
        # Rule 7
        if chain.status is not EffectStatus.SUCCESS or not facts.decisions or facts.unbacked_assertions:
            return None
        return "decision recorded"
    if chain.status in (EffectStatus.SUCCESS, EffectStatus.PARTIAL):
        return "observed" if chain.status is EffectStatus.SUCCESS else "observed in part"
    if chain.status is EffectStatus.CANCELLED and chain.confidence is EffectConfidence.VERIFIED:
        return "cancelled"
    if chain.person_says == "happened":
        return f"not verified, {chain.said_by} says it happened"
    return None
