# SPDX-License-Identifier: Apache-2.0
"""One run of a kernel is at work at a time, and nothing that it calls can make it wait for itself."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from actum.bootstrap import AsyncKernel, running
from actum.model.errors import ActumError
from actum.testing.kernels import Ledger, append_action, confirm_all, open_kernel

WAIT_S = 10.0


@pytest.mark.parametrize("call", ["run", "close"])
def test_rule_5_an_action_neither_runs_nor_closes_the_kernel_that_calls_it(tmp_path: Path, call: str) -> None:
    kernel = open_kernel(tmp_path)
    codes: list[str] = []

    def act(entry: str) -> str:
        try:
            getattr(kernel, call)()
        except ActumError as error:
            codes.append(error.code)
        ledger.append(entry)
        return entry

    ledger = Ledger(tmp_path / "ledger")
    turn = append_action(kernel, ledger, acting=act)("a")
    confirm_all(kernel, turn)
    beside = threading.Thread(target=kernel.run, daemon=True)  # Where it hangs, the test must not.
    beside.start()
    beside.join(WAIT_S)
    assert not beside.is_alive()
    assert (codes, ledger.entries(), turn.state) == (["within_a_run"], ["a"], "completed")
    kernel.close()


def test_rule_5_what_an_action_confirms_is_taken_up_by_the_run_at_work(tmp_path: Path) -> None:
    with open_kernel(tmp_path) as kernel:
        ledger = Ledger(tmp_path / "ledger")

        def act(entry: str) -> str:
            if entry == "a":
                confirm_all(kernel, append("b"))
            ledger.append(entry)
            return entry

        append = append_action(kernel, ledger, acting=act)
        confirm_all(kernel, append("a"))
        assert kernel.run().effects == 2
        assert sorted(ledger.entries()) == ["a", "b"]


def test_rule_5_closing_waits_for_the_run_at_work_and_its_result_is_kept(tmp_path: Path) -> None:
    kernel = open_kernel(tmp_path)
    begun, go_on = threading.Event(), threading.Event()

    def act(entry: str) -> str:
        begun.set()
        go_on.wait(WAIT_S)
        ledger.append(entry)
        return entry

    ledger = Ledger(tmp_path / "ledger")
    turn = append_action(kernel, ledger, acting=act)("a")
    confirm_all(kernel, turn)
    ran: list[Any] = []
    at_work = threading.Thread(target=lambda: ran.append(kernel.run()), daemon=True)
    at_work.start()
    assert begun.wait(WAIT_S)
    closing = threading.Thread(target=kernel.close, daemon=True)
    closing.start()
    closing.join(0.2)
    assert closing.is_alive()
    go_on.set()
    at_work.join(WAIT_S)
    closing.join(WAIT_S)
    assert [one.effects for one in ran] == [1]
    with open_kernel(tmp_path) as again:
        receipt = again.turn(turn.turn_id).receipt()
        assert receipt is not None
        assert receipt.graded.confidence.value == "verified"


def test_rule_5_what_an_action_awaits_in_another_thread_does_not_wait_for_the_run(tmp_path: Path) -> None:
    kernel = open_kernel(tmp_path)
    codes: list[str] = []

    async def again() -> None:
        await AsyncKernel(kernel).run()

    def act(entry: str) -> str:
        try:
            asyncio.run(again())
        except ActumError as error:
            codes.append(error.code)
        ledger.append(entry)
        return entry

    ledger = Ledger(tmp_path / "ledger")
    turn = append_action(kernel, ledger, acting=act)("a")
    confirm_all(kernel, turn)
    beside = threading.Thread(target=kernel.run, daemon=True)
    beside.start()
    beside.join(WAIT_S)
    assert not beside.is_alive()
    assert (codes, ledger.entries(), turn.state) == (["within_a_run"], ["a"], "completed")
    kernel.close()


def test_rule_5_a_thread_that_an_action_waits_for_is_told_so_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "WAIT_S", 0.2)
    kernel = open_kernel(tmp_path)
    codes: list[str] = []

    def again() -> None:
        try:
            kernel.run()
        except ActumError as error:
            codes.append(error.code)

    def act(entry: str) -> str:
        helper = threading.Thread(target=again, daemon=True)
        helper.start()
        helper.join(WAIT_S)
        ledger.append(entry)
        return entry

    ledger = Ledger(tmp_path / "ledger")
    confirm_all(kernel, append_action(kernel, ledger, acting=act)("a"))
    assert kernel.run().effects == 1
    assert (codes, ledger.entries()) == (["run_at_work"], ["a"])
    assert kernel.run().effects == 0
    kernel.close()
