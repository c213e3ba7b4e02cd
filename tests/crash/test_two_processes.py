# SPDX-License-Identifier: Apache-2.0
"""A process that was stopped past its lease and wakes again neither acts nor writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.points import ROOT

# What stands in the ledger in the end, and what the receipts say.
AFTER = {
    "after_claim": (1, ["success"]),
    "before_dispatch": (1, ["success"]),
    # The mark was set, so nobody may take it for undone while the first process lives.
    "before_execute": (0, ["unknown_outcome"]),
    "after_execute": (1, ["unknown_outcome", "success"]),
    "before_seal": (1, ["unknown_outcome", "success"]),
}


@pytest.mark.parametrize("point", AFTER)
def test_r124_r126_a_process_that_wakes_after_its_lease_neither_acts_nor_writes(
    point: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash.two_processes", tmp_path, point],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["was_stopped"], found["ended"]) == (True, [0, 0])
    assert found["acted"] == found["acted_meanwhile"]
    assert (found["acted"], found["statuses"]) == AFTER[point]
    assert found["disagreements"] == []
