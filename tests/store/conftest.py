# SPDX-License-Identifier: Apache-2.0
"""Benches as fixtures."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from actum.testing.postgres_cluster import PostgresCluster
from tests.store.benches import PostgresBench, SqliteBench

MEMORY = Path("/dev/shm")


@pytest.fixture
def bench() -> Iterator[SqliteBench]:
    """A store in memory where there is such a file system: the exercises make thousands of commits."""
    with tempfile.TemporaryDirectory(prefix="actum-", dir=MEMORY if MEMORY.is_dir() else None) as folder:
        made = SqliteBench(Path(folder))
        yield made
        made.close()


@pytest.fixture(scope="session")
def cluster() -> Iterator[PostgresCluster]:
    made = PostgresCluster()
    yield made
    made.stop()


@pytest.fixture
def postgres(cluster: PostgresCluster) -> Iterator[PostgresBench]:
    made = PostgresBench(cluster)
    yield made
    made.close()
