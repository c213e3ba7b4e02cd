# SPDX-License-Identifier: Apache-2.0
"""There is one way out: nothing but the delivery service calls an executor, and only through an outbox row."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from actum.model.errors import EnvironmentFault, InvariantViolation
from actum.ports.effect_view import EffectView
from actum.ports.executor import Dispatch, Seal, take_seal
from actum.service import deliver
from actum.testing.kernels import PERSON, Ledger, append_action, open_kernel
from tests.invariants.tree import SRC, listing, parsed, python_files, shown

DELIVERY = SRC / "actum" / "service" / "deliver.py"
# What merely has the name: a database connection's method.
NOT_EXECUTORS = ("adapters/store/",)


def _calls(name: str) -> list[str]:
    return [
        f"{shown(path)}:{node.lineno}"
        for path in python_files("src")
        if not any(part in shown(path) for part in NOT_EXECUTORS)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name
    ]


def _mentions(word: str) -> set[str]:
    return {
        shown(path)
        for path in python_files("src")
        for node in ast.walk(parsed(path))
        if (isinstance(node, ast.Name) and node.id == word)
        or (isinstance(node, ast.Attribute) and node.attr == word)
    }


def test_r129_only_the_delivery_service_calls_an_executor() -> None:
    calls = _calls("execute")
    assert [call.rpartition(":")[0] for call in calls] == [shown(DELIVERY)], listing(calls)


def test_r144_only_the_delivery_service_makes_a_dispatch() -> None:
    made = [
        shown(path)
        for path in python_files("src")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Dispatch"
    ]
    assert made == [shown(DELIVERY)]
    assert _mentions("take_seal") == {shown(DELIVERY)}


def test_r144_the_seal_is_given_out_once() -> None:
    assert deliver.claim_due  # The delivery service took it when it was imported.
    with pytest.raises(InvariantViolation):
        take_seal()


@pytest.mark.parametrize("seal", [Seal(), None, object()], ids=["own", "none", "other"])
def test_r144_a_dispatch_cannot_be_made_without_the_seal(seal: object) -> None:
    effect: EffectView = None  # type: ignore[assignment]
    with pytest.raises(InvariantViolation):
        Dispatch(
            seal=seal,  # type: ignore[arg-type]
            effect=effect, outbox_id="o", epoch=1, execution_id="e", deadline_ms=0,
        )  # fmt: skip


def test_r144_whoever_comes_before_the_delivery_service_keeps_it_from_starting() -> None:
    code = "from actum.ports.executor import take_seal; take_seal(); import actum.service.deliver"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode != 0
    assert "seal was already taken" in done.stderr


def test_r120_r128_calling_runs_nothing_and_everything_leaves_by_the_outbox(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    kernel = open_kernel(tmp_path)
    act = append_action(kernel, ledger)
    turn = act("a")  # The decorated function is the proposal, not the act.
    kernel.confirm(turn.question_ids(), by=PERSON)
    assert ledger.entries() == []
    kernel.run()
    assert ledger.entries() == ["a"]
    rows = kernel.line.store.read(lambda tx: tx.outbox_of_turn(turn.turn_id))
    assert [row.state.value for row in rows] == ["settled"]
    kernel.close()


def test_r128_what_a_process_confirms_and_does_not_run_is_done_by_another_one(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    first = open_kernel(tmp_path)
    act = append_action(first, ledger)
    first.run()  # It has the lease, so that its confirm claims the row for itself.
    turn = act("a")
    first.confirm(turn.question_ids(), by=PERSON)
    first.close()
    second = open_kernel(tmp_path)
    append_action(second, ledger)
    second.run()
    assert ledger.entries() == ["a"]
    second.close()


def test_r121_a_row_and_the_confirm_that_caused_it_are_committed_together(tmp_path: Path) -> None:
    kernel = open_kernel(tmp_path)
    act = append_action(kernel, Ledger(tmp_path / "ledger"))
    turn = act("a")

    def full(point: str) -> None:
        if point == "within_confirm":
            raise EnvironmentFault("disk_full", failed="full", state="nothing", next_step="free some")

    kernel.line.at_point = full
    with pytest.raises(EnvironmentFault):
        kernel.confirm(turn.question_ids(), by=PERSON)
    kernel.line.at_point = None
    assert len(turn.question_ids()) == 1
    rows, leaves = kernel.line.store.read(lambda tx: (tx.outbox_of_turn(turn.turn_id), tx.log_state()[0]))
    assert (rows, leaves) == ([], 0)
    kernel.confirm(turn.question_ids(), by=PERSON)
    assert len(kernel.line.store.read(lambda tx: tx.outbox_of_turn(turn.turn_id))) == 1
    kernel.close()


JOB_LIBRARIES = (
    "huey",
    "celery",
    "rq",
    "apscheduler",
    "sched",
    "concurrent",
    "multiprocessing",
    "dbos",
    "arq",
)


def test_r130_there_is_one_job_mechanism() -> None:
    imported = {
        name.split(".")[0]
        for path in python_files("src")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        )
    }
    assert imported & set(JOB_LIBRARIES) == set()
    # In the service rows are claimed in two places: as they fall due, and as a confirm writes them.
    claims = [
        call.rpartition(":")[0] for call in [*_calls("claim"), *_calls("claim_row")] if "/service/" in call
    ]
    assert sorted(claims) == [shown(DELIVERY), "src/actum/service/enqueue.py"]
