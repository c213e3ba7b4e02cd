# SPDX-License-Identifier: Apache-2.0
"""What a store must do: the only definition of one, for our databases and for yours.

Each exercise is a function of a `Bench` (one fresh store, and a way to write around it) and asserts; no
test framework is needed. With pytest::

    @pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.__name__)
    def test_my_database_is_a_store(exercise, bench):
        exercise(bench)

They do not show that a commit survives a loss of power: no test on one machine can.
"""

from __future__ import annotations

from collections.abc import Callable

from actum.testing.store_exercises import (
    activity,
    commits,
    evidence,
    outbox,
    people,
    processes,
    rules,
    tenants,
    work,
)
from actum.testing.store_exercises.bench import Bench

EXERCISES: tuple[Callable[[Bench], None], ...] = (
    *work.EXERCISES,
    *people.EXERCISES,
    *outbox.EXERCISES,
    *evidence.EXERCISES,
    *activity.EXERCISES,
    *commits.EXERCISES,
    *rules.EXERCISES,
    *tenants.EXERCISES,
    *processes.EXERCISES,
)
"""Every exercise, in the order of the line."""

__all__ = ["EXERCISES", "Bench"]
