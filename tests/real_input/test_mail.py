# SPDX-License-Identifier: Apache-2.0
"""Whole, odd and broken mail goes in as a maildir: messages in are items and visible failures, and none is lost."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actum.adapters.intake.maildir import read_maildir
from actum.bootstrap import Kernel
from actum.model.activity import ActivityFilter
from actum.model.work import Submission
from actum.service.drafts import submit_spooled
from actum.service.submit import Accepted
from actum.testing.kernels import open_kernel
from actum.testing.require import require_part
from tests.property.test_mime_generator import ANY

ROOT = Path(__file__).resolve().parents[2]
TRIAGE = ROOT / "examples" / "executive_assistant" / "inbox_triage.yaml"
ENDED = ("completed", "failed", "recovery_required")
ACTUM = "import sys; from actum.cli.main import main; sys.exit(main())"


def _maildir(folder: Path, messages: Sequence[bytes]) -> Path:
    (folder / "mail" / "new").mkdir(parents=True)
    for number, raw in enumerate(messages):
        (folder / "mail" / "new" / f"{number:04}.m").write_bytes(raw)
    return folder / "mail"


def _standing(kernel: Kernel) -> dict[str, str]:
    """Return for each turn how it can be seen to stand; what stands nowhere is missing."""
    turns = kernel.line.store.read(lambda tx: tx.activities(ActivityFilter.ALL, limit=10_000))
    found: dict[str, str] = {}
    for turn in turns:
        rows = kernel.line.store.read(lambda tx, turn_id=turn.turn_id: tx.outbox_of_turn(turn_id))
        if turn.open_questions or rows or turn.state.value in ENDED:
            found[turn.turn_id] = turn.state.value
    assert len(found) == len(turns)
    return found


@pytest.fixture
def sample() -> list[bytes]:
    """The messages that CPython's own tests of its mail package read."""
    spec = importlib.util.find_spec("test")
    homes = [] if spec is None else list(spec.submodule_search_locations or [])
    paths = sorted(path for home in homes for path in (Path(home) / "test_email" / "data").glob("msg_*.txt"))
    require_part(len(paths) >= 40, "interpreter lacks the messages of its own mail tests")
    return [path.read_bytes() for path in paths]


def test_the_messages_of_cpythons_own_tests_are_items_or_visible_failures(
    tmp_path: Path, sample: list[bytes]
) -> None:
    Kernel.open(tmp_path / ".actum").close()
    shutil.copy(TRIAGE, tmp_path / ".actum" / "processes")
    mail = _maildir(tmp_path, sample)
    command = [
        sys.executable,
        "-c",
        ACTUM,
        "submit",
        "--store",
        str(tmp_path / ".actum"),
        "--json",
        str(mail),
    ]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    items = [answer for answer in answers if "turn_id" in answer]
    failures = [answer for answer in answers if "error" in answer]
    assert len(items) + len(failures) == len(sample) == len(answers)
    assert ran.returncode == (2 if failures else 0)
    assert all(failure["error"]["faults"][0]["code"] for failure in failures)
    with open_kernel(tmp_path) as kernel:
        assert set(_standing(kernel)) == {item["turn_id"] for item in items}
        for item in items:
            events = kernel.show(item["turn_id"])["events"]
            kept = next(event for event in events if event["kind"] == "attached")["attachments"][
                "message.eml"
            ]
            body = kernel.line.store.read(lambda tx, digest=kept: tx.content(digest))
            assert body is not None
            assert body[0] in sample or b"[redacted" in (body[0] or b"").lower()


@settings(max_examples=8)
@given(st.lists(ANY, min_size=1, max_size=12))
def test_generated_messages_in_are_items_and_visible_failures(messages: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with open_kernel(folder) as kernel:
            shutil.copy(TRIAGE, kernel.place.processes)
            answers = list(read_maildir(str(_maildir(folder, messages))))
            given_in = [answer for answer in answers if isinstance(answer, Submission)]
            stored = submit_spooled(kernel.line, given_in, drafts=kernel.place.drafts)
            assert len(answers) == len(messages)
            assert all(isinstance(answer, Accepted) for answer in stored)
            turns = {answer.turn_id for answer in stored if isinstance(answer, Accepted)}
            kernel.run()
            assert set(_standing(kernel)) == turns
            assert list(kernel.place.drafts.iterdir()) == []
