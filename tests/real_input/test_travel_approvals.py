# SPDX-License-Identifier: Apache-2.0
"""Ten thousand real requests go through `actum submit` in one run, in memory that does not grow with them.

Each run is a process of its own. Its peak memory is the high-water mark that it reads of itself at its end: what
`getrusage` says of a child includes what its parent held when it was forked.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from actum.bootstrap import Kernel
from actum.model.activity import Activity, ActivityFilter
from actum.testing.kernels import PERSON, open_kernel
from actum.testing.require import require_part

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "travel_approvals"
SHARED = Path(os.environ.get("ACTUM_SHARED") or ROOT.parent / "shared")
HISTORY = SHARED / "datasets" / "travel_approvals" / "judgments.csv.gz"
FEW, MANY = 1_000, 10_000
GROWTH_MAX = 1.2
ACTUM = """
import sys
from pathlib import Path
from actum.cli.main import main
try:
    main()
finally:
    Path(sys.argv.pop()).write_text(Path("/proc/self/status").read_text())
"""
DECIDED = """
process: travel_routing
work_types: [travel_approval]
fields:
  step: string
skills:
  route:
    rules:
      - {id: later, when: 'step != "supervisor"'}
steps:
  - {id: route, kind: plumbing, skill: route}
"""


@pytest.fixture(scope="module")
def rows() -> dict[int, bytes]:
    """The first rows of the history as work item lines."""
    require_part(HISTORY.is_file(), "shared vectors absent: datasets/travel_approvals")
    made: dict[int, bytes] = {}
    for count in (FEW, MANY):
        script = [sys.executable, str(EXAMPLE / "rows.py"), "--limit", str(count), "--data", str(HISTORY)]
        made[count] = subprocess.run(script, capture_output=True, check=True).stdout
    return made


def _place(folder: Path, *, process: str | None = None) -> None:
    folder.mkdir()
    Kernel.open(folder / ".actum").close()
    target = folder / ".actum" / "processes" / "travel.yaml"
    if process is None:
        shutil.copy(EXAMPLE / "process.yaml", target)
    else:
        target.write_text(process)


def _actum(folder: Path, *arguments: str, given: bytes = b"") -> tuple[int, int]:
    """Run the command line in a process of its own; return its exit code and its peak memory in KiB."""
    code = ACTUM.replace("sys.argv.pop()", repr(str(folder / "status")))
    command = [sys.executable, "-c", code, arguments[0], "--store", str(folder / ".actum"), *arguments[1:]]
    with (folder / "told").open("wb") as told:
        ran = subprocess.run(command, input=given, stdout=told, check=False)
    peak = next(line for line in (folder / "status").read_text().splitlines() if line.startswith("VmHWM"))
    return ran.returncode, int(peak.split()[1])


def _all(kernel: Kernel) -> Iterator[Activity]:
    before = "~"
    while page := kernel.line.store.read(lambda tx, b=before: tx.activities(ActivityFilter.ALL, before=b)):
        before = page[-1].turn_id
        yield from page


def test_ten_thousand_real_rows_need_no_more_memory_than_a_thousand(
    rows: dict[int, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    peak: dict[int, int] = {}
    for count in (FEW, MANY):
        _place(tmp_path / str(count))
        code, peak[count] = _actum(tmp_path / str(count), "submit", "-", given=rows[count])
        assert code == 0, (tmp_path / str(count) / "told").read_text()[-2000:]
    with capsys.disabled():
        print(f"\npeak memory: {peak[FEW]} KiB at {FEW} rows, {peak[MANY]} KiB at {MANY} rows")
    assert peak[MANY] <= GROWTH_MAX * peak[FEW]
    with open_kernel(tmp_path / str(MANY)) as kernel:
        turns = list(_all(kernel))
        assert len(turns) == len({turn.turn_id for turn in turns}) == MANY
        assert {(turn.state.value, turn.open_questions) for turn in turns} == {("routing", 1)}
        for turn in turns[:20]:
            question = kernel.turn(turn.turn_id).questions()[0]
            kernel.judge(question.question_id, "approve", by=PERSON)
        kernel.run()
        states = Counter(kernel.turn(turn.turn_id).state for turn in turns[:20])
        assert states == {"completed": 20}


def test_each_real_row_ends_on_its_receipt_or_waits_on_a_question(
    rows: dict[int, bytes], tmp_path: Path
) -> None:
    folder = tmp_path / "place"
    _place(folder, process=DECIDED)
    assert _actum(folder, "submit", "-", given=rows[FEW])[0] == 0
    assert _actum(folder, "run")[0] == 0
    with open_kernel(folder) as kernel:
        found = Counter[str]()
        for turn in _all(kernel):
            receipts = kernel.turn(turn.turn_id).receipts()
            if turn.state.value == "completed":
                assert turn.receipt_count == len(receipts) == 1
                assert receipts[0].status is not None
                assert receipts[0].status.value == "success"
            else:
                assert (turn.open_questions, receipts) == (1, [])
            found[turn.state.value] += 1
        assert found.total() == FEW
        assert set(found) == {"completed", "routing"}
        assert kernel.check_log() == []


def test_the_same_rows_given_twice_are_the_same_work(rows: dict[int, bytes], tmp_path: Path) -> None:
    folder = tmp_path / "place"
    _place(folder)
    lines = b"".join(rows[FEW].splitlines(keepends=True)[:300])
    for _ in range(2):
        assert _actum(folder, "submit", "-", given=lines)[0] == 0
    assert "300 known already" in (folder / "told").read_text()
    with open_kernel(folder) as kernel:
        assert len(list(_all(kernel))) == 300
