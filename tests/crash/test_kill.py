# SPDX-License-Identifier: Apache-2.0
"""A process killed at any point loses nothing, repeats nothing, and leaves records that agree once others went on."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from actum.service.points import CALLS
from tests.crash.points import ROOT, all_points, commits, writes_without_a_point

PAGE = ROOT / "docs" / "explanation" / "delivery.md"
SOAK = ROOT / "tools" / "soak.py"


def soak(*arguments: str) -> tuple[dict[str, dict[str, object]], dict[str, object]]:
    """Run the soak in processes of its own; return each point's result, and the counts."""
    done = subprocess.run(
        [sys.executable, SOAK, "--seeds", "1", "--results", *arguments],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.stdout, done.stderr
    *lines, last = done.stdout.splitlines()
    return {json.loads(line)["point"]: json.loads(line) for line in lines}, json.loads(last)


@pytest.fixture(scope="module")
def days() -> dict[str, dict[str, object]]:
    return soak()[0]


def test_no_commit_of_the_service_is_without_a_point() -> None:
    assert writes_without_a_point() == []
    assert {"claim", "dispatch", "seal", "reconcile", "settle"} <= set(commits())


def test_every_crash_point_is_explained_with_its_module() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \|", PAGE.read_text(), flags=re.MULTILINE)
    assert dict(rows) == commits()
    assert len(rows) == len(commits())
    assert all(f"`{point}`" in PAGE.read_text() for point in CALLS)


@pytest.mark.parametrize("point", all_points())
def test_o26_o28_a_process_killed_at_a_point_leaves_a_day_that_ends_whole(
    point: str, days: dict[str, dict[str, object]]
) -> None:
    day = days[point]
    assert day["reached"], f"nothing was killed at {point}"
    wrong = {name: day[name] for name in ("lost", "repeated", "wrongly_called_verified", "disagreements")}
    assert wrong == {name: [] for name in wrong}


def test_r126_an_effect_whose_process_was_killed_around_it_is_done_once() -> None:
    results, counts = soak("--points", "before_execute,after_execute,before_seal,after_seal", "--jobs", "1")
    assert (counts["kills"], counts["repeated"], counts["lost"]) == (4, 0, 0)
    assert [day["repeated"] for day in results.values()] == [[], [], [], []]


def test_o79_r123_work_cut_off_by_a_kill_is_taken_up_by_the_next_process() -> None:
    _, counts = soak(
        "--points", "after_confirm,after_claim,after_dispatch", "--jobs", "1", "--first-seed", "3"
    )
    assert {name: counts[name] for name in ("lost", "repeated", "disagreements", "not_reached")} == {
        "lost": 0, "repeated": 0, "disagreements": 0, "not_reached": 0,
    }  # fmt: skip


def test_r145_a_turn_that_asked_a_model_ends() -> None:
    _, counts = soak("--points", "after_keep_answer", "--jobs", "1")
    assert {name: counts[name] for name in ("lost", "disagreements", "not_reached")} == {
        "lost": 0, "disagreements": 0, "not_reached": 0,
    }  # fmt: skip
