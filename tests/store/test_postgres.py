# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL database does what a store must do."""

from collections.abc import Callable

import pytest

from actum.testing.store_exercises import EXERCISES
from tests.store.benches import PostgresBench, must_hold, named


@pytest.mark.parametrize("exercise", EXERCISES, ids=named)
def test_a_postgresql_database_is_a_store(
    exercise: Callable[[PostgresBench], None], postgres: PostgresBench
) -> None:
    must_hold(exercise, postgres)
