# SPDX-License-Identifier: Apache-2.0
"""An activity row whose state and evidence disagree cannot be made, and each is listed in exactly one view."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest

from actum.model.activity import Activity, ActivityFilter, ActivityState, FailureCategory, view_of
from actum.model.errors import InvariantViolation
from actum.testing.records import NOW_MS, digest

A, F = ActivityState, FailureCategory


def activity(state: ActivityState, **fields: Any) -> Activity:
    return Activity(
        **{
            "turn_id": "T1", "tenant": "local", "title": "a letter", "state": state, "receipt_count": 0,
            "evidence_digest": None, "failure_category": None, "failure_reason": None, "label": None,
            "open_questions": 0, "acknowledged_by": None, "acknowledged_at_ms": None, "updated_at_ms": NOW_MS,
            **fields,
        }
    )  # fmt: skip


def made(state: ActivityState, **fields: Any) -> Activity:
    """Return a row with the evidence its state needs."""
    needed: dict[str, Any] = {}
    if state is A.COMPLETED:
        needed = {"receipt_count": 1, "evidence_digest": digest("e")}
    elif state is A.FAILED:
        needed = {"failure_category": F.UNKNOWN}
    return activity(state, **needed, **fields)


def _allowed(state: ActivityState, evidence: dict[str, Any]) -> bool:
    try:
        activity(state, **evidence)
    except InvariantViolation:
        return False
    return True


def test_o65_a_state_is_one_of_seven() -> None:
    assert [state.value for state in A] == [
        "queued", "routing", "running", "verifying", "completed", "failed", "recovery_required",
    ]  # fmt: skip
    for other in ("cancelled", "done", "COMPLETED", ""):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert({**msgspec.to_builtins(made(A.QUEUED)), "state": other}, Activity)


def test_o71_a_failure_category_is_one_of_seven() -> None:
    assert [category.value for category in F] == [
        "routing", "local_model", "cloud_service", "native_execution", "persistence", "setup", "unknown",
    ]  # fmt: skip
    for other in ("network", "user", "Routing", ""):
        as_json = {**msgspec.to_builtins(made(A.FAILED)), "failure_category": other}
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(as_json, Activity)


EVIDENCE = [
    {"receipt_count": count, "evidence_digest": found, "failure_category": category}
    for count, found, category in itertools.product(
        [0, 1, 2, -1], [None, digest("e")], [None, F.NATIVE_EXECUTION]
    )
]


def test_rule_1_o66_completed_needs_a_receipt_a_digest_and_no_category() -> None:
    allowed = [evidence for evidence in EVIDENCE if _allowed(A.COMPLETED, evidence)]
    assert allowed == [
        {"receipt_count": count, "evidence_digest": digest("e"), "failure_category": None} for count in (1, 2)
    ]


def test_rule_2_o67_failed_needs_a_category_and_nothing_else() -> None:
    allowed = [evidence for evidence in EVIDENCE if _allowed(A.FAILED, evidence)]
    assert allowed == [{"receipt_count": 0, "evidence_digest": None, "failure_category": F.NATIVE_EXECUTION}]


@pytest.mark.parametrize("state", [state for state in A if state not in (A.COMPLETED, A.FAILED)])
def test_rule_3_o68_every_other_state_has_none_of_the_three(state: ActivityState) -> None:
    allowed = [evidence for evidence in EVIDENCE if _allowed(state, evidence)]
    assert allowed == [{"receipt_count": 0, "evidence_digest": None, "failure_category": None}]


def test_a_row_that_was_changed_on_its_way_is_refused_when_it_is_read() -> None:
    as_json = {**msgspec.to_builtins(made(A.QUEUED)), "state": "completed"}
    with pytest.raises(InvariantViolation):
        msgspec.convert(as_json, Activity)


def test_o64_every_row_is_under_all_and_under_exactly_one_other_view() -> None:
    found: dict[tuple[str, int, bool], ActivityFilter] = {}
    for state, questions, seen in itertools.product(A, [0, 2], [False, True]):
        acknowledged = {"acknowledged_by": "ann", "acknowledged_at_ms": NOW_MS} if seen else {}
        row = made(state, open_questions=questions, **acknowledged)
        found[state.value, questions, seen] = view_of(row)
    assert ActivityFilter.ALL not in found.values()
    assert [view.value for view in ActivityFilter] == ["in_progress", "needs_attention", "finished", "all"]
    assert all(view is ActivityFilter.NEEDS_ATTENTION for (_, asked, _), view in found.items() if asked)
    assert found["failed", 0, False] is ActivityFilter.NEEDS_ATTENTION
    assert found["failed", 0, True] is ActivityFilter.FINISHED
    assert found["completed", 0, False] is ActivityFilter.FINISHED
    assert found["recovery_required", 0, True] is ActivityFilter.NEEDS_ATTENTION
    for state in ("queued", "routing", "running", "verifying"):
        assert found[state, 0, False] is ActivityFilter.IN_PROGRESS
