# SPDX-License-Identifier: Apache-2.0
"""Every test of the command line has a folder of its own, with a store in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.desk import Desk


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A folder without a store."""
    return Desk(tmp_path, monkeypatch)


@pytest.fixture
def desk(bare: Desk) -> Desk:
    """A folder with a store."""
    bare.init()
    return bare
