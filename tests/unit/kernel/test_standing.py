# SPDX-License-Identifier: Apache-2.0
"""Where a turn stands follows from its rows, and no arrangement of rows completes what nobody saw."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from actum.kernel.standing import ChainEnd, Standing, stand
from actum.model import canonical
from actum.model.activity import ActivityState, FailureCategory
from actum.model.delivery import OutboxState
from actum.model.grading import EffectConfidence, EffectFinality, EffectStatus
from actum.model.proposal import ProposalState
from actum.model.work import StepState
from actum.testing.records import chain_end, digest, turn_facts

A, R, V = ActivityState, OutboxState, StepState
DECLINED = {
    "status": EffectStatus.CANCELLED,
    "finality": EffectFinality.NOT_ATTEMPTED,
}
FAILED = {"status": EffectStatus.FAILED, "finality": EffectFinality.FAILED}
UNKNOWN = {
    "status": EffectStatus.UNKNOWN_OUTCOME,
    "finality": EffectFinality.INDETERMINATE,
    "confidence": EffectConfidence.UNKNOWN,
}


def standing(*chains: ChainEnd, **fields: Any) -> Standing:
    if chains:
        fields = {"chains": chains, "receipts": tuple(digest(str(n)) for n in range(len(chains))), **fields}
    return stand(turn_facts(**fields))


def test_rule_1_the_layer_of_a_failed_step_is_named() -> None:
    for category in FailureCategory:
        found = standing(failure=(category, "why"), visits=(V.FAILED,))
        assert found == Standing(state=A.FAILED, failure_category=category, failure_reason="why")


@pytest.mark.parametrize(
    "end, reason",
    [
        (chain_end(**FAILED), "effect failed"),
        (chain_end(**DECLINED, refused="grant_expired"), "grant_expired"),
        (chain_end(**FAILED, person_says="did_not", said_by="ann"), "ann says it did not happen"),
    ],
)
def test_rule_1_a_definite_failure_and_a_refusal_are_failures_of_the_execution(
    end: ChainEnd, reason: str
) -> None:
    found = standing(end)
    assert (found.state, found.failure_category) == (A.FAILED, FailureCategory.NATIVE_EXECUTION)
    assert found.failure_reason == reason


def test_rule_1_a_dead_letter_fails_its_turn() -> None:
    found = standing(rows=(R.DEAD,), chains=(), receipts=())
    assert (found.state, found.failure_reason) == (A.FAILED, "dead letter")


def test_rule_1_a_wait_that_a_person_stopped_is_a_failure_of_nobody_known() -> None:
    found = standing(chain_end(**UNKNOWN, person_says="stop", said_by="ann"))
    assert (found.state, found.failure_category) == (A.FAILED, FailureCategory.UNKNOWN)


def test_rule_2_an_unknown_outcome_is_not_hidden_behind_a_failure_that_is_known() -> None:
    known = (FailureCategory.ROUTING, "no rule")
    for facts in ({"rows": (R.CHECK_REQUIRED, R.DEAD)}, {"visits": (V.FAILED, V.CHECK_REQUIRED)}):
        assert standing(failure=known, **facts).state is A.RECOVERY_REQUIRED
    assert standing(chain_end(**UNKNOWN)).state is A.RECOVERY_REQUIRED


@pytest.mark.parametrize("looking, state", [(False, A.RUNNING), (True, A.VERIFYING)])
def test_rule_3_a_dispatched_row_is_running_until_it_is_looked_at(looking: bool, state: A) -> None:
    assert standing(rows=(R.DISPATCHED,), looking=looking).state is state


def test_rule_3_what_its_sink_has_not_made_durable_is_still_being_verified() -> None:
    for confidence in EffectConfidence:
        end = chain_end(status=None, finality=EffectFinality.INITIATED, confidence=confidence)
        assert standing(end).state is A.VERIFYING


@pytest.mark.parametrize("row", [R.READY, R.CLAIMED, R.RETRY_WAIT])
def test_rule_4_a_row_that_waits_to_leave_is_queued(row: OutboxState) -> None:
    assert standing(rows=(row,)).state is A.QUEUED


def test_rule_4_a_row_that_waits_to_be_tried_again_says_why() -> None:
    found = standing(rows=(R.RETRY_WAIT,), waits="nobody could look")
    assert (found.state, found.label) == (A.QUEUED, "to be tried again: nobody could look")


def test_rule_4_a_refusal_that_is_not_sealed_yet_says_so() -> None:
    found = standing(chains=(), receipts=(), proposals=(ProposalState.DECLINED,))
    assert (found.state, found.label) == (A.QUEUED, "refused, to be sealed by the next run")


def test_rule_4_a_proposal_that_waits_for_its_confirm_is_queued() -> None:
    found = standing(chains=(), receipts=(), open_confirms=1, undecided=True, visits=(V.PENDING,))
    assert found == Standing(state=A.QUEUED)


@pytest.mark.parametrize("facts", [{"undecided": True}, {"open_judgments": 1}])
def test_rule_5_what_is_not_decided_is_being_routed(facts: dict[str, Any]) -> None:
    assert standing(**facts) == Standing(state=A.ROUTING)


def test_rule_6_one_observed_effect_completes_a_turn() -> None:
    found = standing(chain_end())
    assert (found.state, found.receipt_count, found.label) == (A.COMPLETED, 1, "observed")


@pytest.mark.parametrize(
    "end",
    [
        chain_end(**DECLINED),
        chain_end(status=EffectStatus.PARTIAL, finality=EffectFinality.FINALIZED),
        chain_end(kind="record"),
        chain_end(**{**UNKNOWN, "person_says": "happened", "said_by": "ann"}),
    ],
    ids=["cancelled", "partial", "record", "a person's word"],
)
def test_rule_6_what_else_completes_a_turn_says_so_in_its_label(end: ChainEnd) -> None:
    found = standing(end)
    assert found.state is A.COMPLETED
    assert found.label not in (None, "observed")


def test_rule_6_a_persons_word_is_labelled_as_one() -> None:
    end = chain_end(**{**UNKNOWN, "person_says": "happened", "said_by": "ann"})
    assert standing(end).label == "not verified, ann says it happened"


def test_rule_6_a_cancellation_nobody_saw_does_not_complete() -> None:
    for confidence in EffectConfidence:
        end = chain_end(**DECLINED, confidence=confidence)
        observed = confidence is EffectConfidence.VERIFIED
        assert standing(end).state is (A.COMPLETED if observed else A.RECOVERY_REQUIRED)


def test_rule_6_every_chain_must_end_not_only_one() -> None:
    for other in (chain_end(**UNKNOWN), chain_end(**DECLINED, confidence=EffectConfidence.NOT_VERIFIED)):
        for ends in ((chain_end(), other), (other, chain_end())):
            assert standing(*ends).state is A.RECOVERY_REQUIRED


def test_rule_6_nothing_completes_without_a_receipt() -> None:
    assert standing(chains=(), receipts=()).state is A.QUEUED
    assert standing(chains=(chain_end(),), receipts=()).state is A.QUEUED


@pytest.mark.parametrize("count", [1, 2, 100])
def test_rule_6_o11_assertions_alone_in_any_number_complete_nothing(count: int) -> None:
    found = standing(chains=(), receipts=(), decisions=1, unbacked_assertions=count)
    assert found.state is A.RECOVERY_REQUIRED
    assert (found.receipt_count, found.evidence_digest) == (0, None)


def test_rule_7_o11_a_record_completes_no_turn_in_which_something_was_said_to_be_done() -> None:
    record = chain_end(kind="record")
    assert standing(record).state is A.COMPLETED
    assert standing(record, unbacked_assertions=1).state is A.RECOVERY_REQUIRED
    assert standing(record, decisions=0).state is A.RECOVERY_REQUIRED
    failed = chain_end(kind="record", **{**FAILED, "status": EffectStatus.UNKNOWN_OUTCOME})
    assert standing(failed).state is A.RECOVERY_REQUIRED


def test_rule_8_the_evidence_digest_covers_every_receipt_in_order() -> None:
    receipts = (digest("1"), digest("2"), digest("3"))
    found = standing(chains=(chain_end(),), receipts=receipts)
    assert (found.receipt_count, found.evidence_digest) == (3, canonical.digest(list(receipts)))
    fewer = standing(chains=(chain_end(),), receipts=receipts[:2])
    turned = standing(chains=(chain_end(),), receipts=receipts[::-1])
    assert len({found.evidence_digest, fewer.evidence_digest, turned.evidence_digest}) == 3


def test_only_a_completed_turn_carries_evidence_and_only_a_failed_one_a_category() -> None:
    ends = [(), (chain_end(),), (chain_end(**FAILED),), (chain_end(**UNKNOWN),), (chain_end(kind="record"),)]
    checked = 0
    for row, visit, chains, asked, failed in itertools.product(
        [None, *R], V, ends, [0, 1], [None, (FailureCategory.SETUP, "why")]
    ):
        found = standing(
            visits=(visit,), undecided=visit is V.PENDING, rows=() if row is None else (row,), chains=chains,
            receipts=tuple(digest(str(n)) for n in range(len(chains))), open_confirms=asked, failure=failed,
            proposals=(ProposalState.SETTLED,),
        )  # fmt: skip
        assert (
            (found.state is A.COMPLETED) == (found.receipt_count > 0) == (found.evidence_digest is not None)
        )
        assert (found.state is A.FAILED) == (found.failure_category is not None)
        if found.state is A.COMPLETED:
            assert not asked
            assert row in (None, R.SETTLED)
        checked += 1
    assert checked == 8 * 6 * 5 * 2 * 2
