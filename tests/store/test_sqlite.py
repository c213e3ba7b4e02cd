# SPDX-License-Identifier: Apache-2.0
"""A SQLite file does what a store must do, and keeps the rules that the requirements name."""

from collections.abc import Callable

import pytest

from actum.testing.store_exercises import EXERCISES, activity, commits, outbox, people
from tests.store.benches import SqliteBench, must_hold, named

# These run below, each under the id it shows, for the status page and the mutants.
UNDER_THEIR_ID = (
    activity.each_turn_is_listed_under_all_and_one_other_view,
    activity.completed_needs_receipt_digest_and_no_category,
    activity.failed_has_a_category_and_nothing_else,
    activity.every_other_state_has_none_of_the_three,
    activity.a_completed_turn_counts_exactly_its_receipts,
    activity.a_turn_is_not_completed_on_failures_alone,
    people.a_native_reply_is_no_cloud_s,
    people.a_native_reply_stands_on_a_seen_effect,
    people.messages_come_back_with_what_is_known_of_them,
    commits.a_write_that_raises_leaves_nothing,
    outbox.an_expired_claim_is_taken_over_and_a_dispatched_row_is_not,
    outbox.a_lease_that_ran_out_is_not_renewed_and_sets_no_mark,
    outbox.a_stale_epoch_writes_nothing,
    outbox.a_key_is_bound_to_one_intent_for_ever,
    outbox.nothing_that_changes_the_world_waits_without_a_grant,
    outbox.no_mark_without_a_live_confirm_of_this_effect,
)


@pytest.mark.parametrize("exercise", [one for one in EXERCISES if one not in UNDER_THEIR_ID], ids=named)
def test_a_sqlite_file_is_a_store(exercise: Callable[[SqliteBench], None], bench: SqliteBench) -> None:
    must_hold(exercise, bench)


def test_o64_each_turn_is_listed_under_all_and_exactly_one_other_view(bench: SqliteBench) -> None:
    must_hold(activity.each_turn_is_listed_under_all_and_one_other_view, bench)


def test_o66_the_database_refuses_completed_without_receipt_and_digest(bench: SqliteBench) -> None:
    must_hold(activity.completed_needs_receipt_digest_and_no_category, bench)


def test_o67_the_database_refuses_failed_with_evidence_or_without_category(bench: SqliteBench) -> None:
    must_hold(activity.failed_has_a_category_and_nothing_else, bench)


def test_o68_the_database_refuses_evidence_in_every_other_state(bench: SqliteBench) -> None:
    must_hold(activity.every_other_state_has_none_of_the_three, bench)


def test_o69_raw_sql_with_checks_switched_off_is_still_refused(bench: SqliteBench) -> None:
    assert bench.ways == ("plain", "checks_ignored", "or_ignore", "or_replace")
    assert bench.raw("PRAGMA ignore_check_constraints", way="checks_ignored") == [(1,)]
    must_hold(activity.no_state_disagrees_with_its_evidence, bench)


def test_o70_no_turn_is_completed_on_another_count_than_its_receipts(bench: SqliteBench) -> None:
    must_hold(activity.a_completed_turn_counts_exactly_its_receipts, bench)


def test_o70_no_turn_is_completed_on_failures_alone(bench: SqliteBench) -> None:
    must_hold(activity.a_turn_is_not_completed_on_failures_alone, bench)


def test_o74_o76_a_native_reply_with_a_cloud_provider_is_refused_at_the_write(bench: SqliteBench) -> None:
    must_hold(people.a_native_reply_is_no_cloud_s, bench)


def test_o75_a_native_reply_without_a_success_of_its_turn_is_refused(bench: SqliteBench) -> None:
    must_hold(people.a_native_reply_stands_on_a_seen_effect, bench)


def test_o77_messages_without_evidence_stay_readable(bench: SqliteBench) -> None:
    must_hold(people.messages_come_back_with_what_is_known_of_them, bench)


def test_r121_a_rolled_back_write_leaves_neither_state_change_nor_outbox_row(bench: SqliteBench) -> None:
    must_hold(commits.a_write_that_raises_leaves_nothing, bench)


def test_r124_an_expired_lease_is_taken_over_and_fenced(bench: SqliteBench) -> None:
    must_hold(outbox.an_expired_claim_is_taken_over_and_a_dispatched_row_is_not, bench)


def test_r124_a_lease_that_ran_out_is_not_renewed_and_sets_no_mark(bench: SqliteBench) -> None:
    must_hold(outbox.a_lease_that_ran_out_is_not_renewed_and_sets_no_mark, bench)


def test_r124_a_stale_epoch_writes_nothing(bench: SqliteBench) -> None:
    must_hold(outbox.a_stale_epoch_writes_nothing, bench)


def test_r126_a_key_is_bound_once_and_an_effect_has_one_row(bench: SqliteBench) -> None:
    must_hold(outbox.a_key_is_bound_to_one_intent_for_ever, bench)


def test_r137_nothing_that_changes_the_world_waits_without_a_grant(bench: SqliteBench) -> None:
    must_hold(outbox.nothing_that_changes_the_world_waits_without_a_grant, bench)


def test_r137_r138_no_dispatched_mark_without_a_live_confirm(bench: SqliteBench) -> None:
    must_hold(outbox.no_mark_without_a_live_confirm_of_this_effect, bench)
