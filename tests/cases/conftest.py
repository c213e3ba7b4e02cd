# SPDX-License-Identifier: Apache-2.0
"""Places for the cases: a shop whose process can be stopped, and a folder an assistant may write in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from actum.bootstrap import Kernel
from actum.testing.kernels import append_action, open_kernel
from tests.unit.service.shop import Shop


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    """A kernel with a ledger; its process can be stopped at a point and taken up by another one."""
    made = Shop(tmp_path)
    yield made
    made.kernel.close()


@pytest.fixture
def other(shop: Shop) -> Iterator[Kernel]:
    """The same place, open in another process as far as anything can tell."""
    kernel = open_kernel(shop.folder, clock=shop.clock)
    append_action(kernel, shop.ledger)
    yield kernel
    kernel.close()


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    """A kernel whose assistant may write below ``tmp_path``."""
    made = open_kernel(tmp_path)
    yield made
    made.close()
