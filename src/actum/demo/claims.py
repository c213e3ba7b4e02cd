# SPDX-License-Identifier: Apache-2.0
"""Every claim stands beside what is really known about it, and every count is taken from records anew.

All of it is read through the same function as `actum show`, so that anybody can repeat it from the kept store.
"""

from __future__ import annotations

from typing import Any

from actum.bootstrap import Kernel

TURNS_MAX = 10_000
Shown = dict[str, Any]


def all_turns(kernel: Kernel) -> list[Shown]:
    """Return every turn of the store as `actum show` shows it, oldest first."""
    return [kernel.show(found.turn_id) for found in reversed(kernel.activity(limit=TURNS_MAX))]


def claims_of(turns: list[Shown]) -> list[Shown]:
    """Return every assertion with the newest receipt of what it is about; members are null where there is none."""
    return [_claim(assertion, turn) for turn in turns for assertion in turn["assertions"]]


def _claim(assertion: Shown, turn: Shown) -> Shown:
    receipt = newest_receipt(turn, assertion["outbox_id"])
    known: Shown = {"receipt": None, "finality": None, "confidence": None, "status": None}
    if receipt is not None:
        known = {
            "receipt": receipt["receipt_id"],
            "finality": receipt["graded"]["finality"],
            "confidence": receipt["graded"]["confidence"],
            "status": receipt["status"],
        }
    return {"text": assertion["text"], **known}


def newest_receipt(turn: Shown, outbox_id: str | None) -> Shown | None:
    """Return the newest receipt of one outbox row of a turn, or None."""
    found = [receipt for receipt in turn["receipts"] if receipt["outbox_id"] == outbox_id]
    return found[-1] if found else None


def count_rungs(turns: list[Shown]) -> dict[str, int]:
    """Return decisions by rung, counted over the decision records themselves."""
    counted: dict[str, int] = {}
    for decision in _decisions(turns):
        counted[decision["rung"]] = counted.get(decision["rung"], 0) + 1
    return counted


def count_tokens(turns: list[Shown], *, kind: str | None = None) -> int:
    """Return the tokens in decision records, of all steps or of those of one kind."""
    return sum(
        decision["tokens"]["input"] + decision["tokens"]["output"]
        for decision in _decisions(turns)
        if kind in (None, decision["kind"])
    )


def count_metered(turns: list[Shown]) -> int:
    """Return the tokens that the calls themselves were metered with."""
    calls = [event for turn in turns for event in turn["events"] if event["kind"] == "model_call"]
    return sum(call["input_tokens"] + call["output_tokens"] for call in calls)


def count_executed(kernel: Kernel, turns: list[Shown]) -> int:
    """Return how many effects were dispatched to an executor; recorded decisions are no effects."""
    executed = 0
    for row in (row for turn in turns for row in turn["rows"]):
        if row["dispatched_at_ms"] is not None:
            executed += sum(one["kind"] == "effect" for one in kernel.show(row["outbox_id"])["executions"])
    return executed


def _decisions(turns: list[Shown]) -> list[Shown]:
    return [decision for turn in turns for decision in turn["decisions"]]
