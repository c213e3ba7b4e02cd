# SPDX-License-Identifier: Apache-2.0
"""The rows of the travel history become work items without their verdict."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from actum.process.load import load_process

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "examples" / "travel_approvals" / "rows.py"
SHARED = Path(os.environ.get("ACTUM_SHARED") or ROOT.parent / "shared")
HISTORY = SHARED / "datasets" / "travel_approvals" / "judgments.csv.gz"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False
    )


def test_a_row_is_a_work_item_and_its_verdict_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv.gz"
    with gzip.open(path, "wt") as out:
        out.write("at,case,step,submission,prior_rejections,amount_eur,verdict\n")
        out.write("2017-01-09T08:48:00.000+01:00,c1,supervisor,2,0,709.70,reject\n")
    found = json.loads(run("--data", str(path)).stdout)
    assert set(found) == {"work_type", "subject", "key"}
    assert found["subject"] == {
        "at": "2017-01-09T08:48:00.000+01:00",
        "case": "c1",
        "step": "supervisor",
        "submission": 2,
        "prior_rejections": 0,
        "amount_eur": "709.70",
    }
    assert "reject" not in found["subject"].values()


def test_an_absent_history_is_an_error_and_prints_nothing() -> None:
    found = run("--data", "/nowhere/rows.csv.gz")
    assert (found.returncode, found.stdout) == (5, "")


def test_every_member_of_a_real_row_is_declared_and_keys_differ() -> None:
    if not HISTORY.is_file():
        pytest.skip("shared vectors absent: datasets/travel_approvals")
    process = load_process((SCRIPT.parent / "process.yaml").read_text(), path="process.yaml")
    declared = {field.name for field in process.fields}
    items = [json.loads(line) for line in run("--limit", "500", "--data", str(HISTORY)).stdout.splitlines()]
    assert len(items) == 500
    assert all(set(item["subject"]) <= declared - {"verdict"} for item in items)
    assert len({item["key"] for item in items}) == 500
