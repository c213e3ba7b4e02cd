# SPDX-License-Identifier: Apache-2.0
"""The story as a newcomer reads it: what the agent said, what is known of it, who allowed it, what was seen."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import click

from actum.demo.claims import Shown, newest_receipt
from actum.demo.expectations import PROMISES, Expectation, Outcome

QUICK_AIM_S = 3
_COLOURS = {"finalized": "green", "failed": "red", "not_attempted": "cyan", "indeterminate": "yellow"}


def tell_whole(outcome: Outcome, *, seconds: float) -> Iterator[str]:
    """Yield the lines of the full story; they fit one screen."""
    yield "An assistant works through an inbox and an agent claims things. Beside each claim: what is known."
    yield ""
    for one in outcome.expectations:
        turn = outcome.turns.get(one.id)
        if turn is not None:
            yield f"{_mark(one)} {_claimed(turn)}"
            yield f"     {_grade(turn)}: {_seen(turn)}"
        yield from _broken(one)
    yield f"{_mark(outcome.expectations[-1])} {_counted(outcome)}"
    yield f"     Effects executed: {outcome.executed}; found more than once in the world: {outcome.repeated}"
    yield ""
    yield from _ending(outcome, seconds=seconds)


def tell_quickly(outcome: Outcome, *, seconds: float) -> Iterator[str]:
    """Yield one line for each promise, then how to look for oneself."""
    for one in outcome.expectations:
        turn = outcome.turns.get(one.id)
        known = _counted(outcome) if turn is None else _grade(turn)
        yield f"{_mark(one)} {PROMISES[one.id]} [{known}]"
        yield from _broken(one)
    yield from _ending(outcome, seconds=seconds, aim=f" (aim: under {QUICK_AIM_S})")


def _mark(one: Expectation) -> str:
    return click.style(f"{one.id} ok" if one.held else f"{one.id} NO", fg="green" if one.held else "red")


def _broken(one: Expectation) -> Iterator[str]:
    for part in one.broken:
        yield click.style(f"     expected and not so: {part}", fg="red")


def _claimed(turn: Shown) -> str:
    said = [one["text"] for one in turn["assertions"] if one["asserts"] is not None]
    return f"The agent: “{said[-1] if said else 'nothing'}”"


def _newest(turn: Shown) -> Shown | None:
    about = [one["outbox_id"] for one in turn["assertions"] if one["asserts"] is not None]
    return newest_receipt(turn, about[-1]) if about else None


def _grade(turn: Shown) -> str:
    receipt = _newest(turn)
    if receipt is None:
        return click.style("no receipt", fg="yellow")
    graded = receipt["graded"]
    words = f"{graded['finality']}, {graded['confidence']}".replace("_", " ")
    return click.style(words, fg=_COLOURS.get(graded["finality"]))


def _seen(turn: Shown) -> str:
    receipt = _newest(turn)
    if receipt is None:
        waiting = any(one["open"] and one["reason"] == "confirm" for one in turn["questions"])
        return (
            "nobody has allowed it, so it waits" if waiting else "there was no call, and the turn stays open"
        )
    person = next((one["answered_by"] for one in turn["questions"] if one["answered_by"]), None)
    allowed = "nobody allowed this" if person is None else f"{person} allowed it"
    if receipt["refused"]:
        return f"{allowed}; refused before it ran, {receipt['failure_code']}"
    first = next(one for one in turn["receipts"] if one["outbox_id"] == receipt["outbox_id"])
    said = first["executor_said"] or "no_answer"
    tool = f"{allowed}; the tool said {said}; "
    if first is not receipt:
        tool += f"first {first['graded']['finality']}, then "
    return tool + _looked(receipt)


def _looked(receipt: Shown) -> str:
    look = receipt["looks"][-1] if receipt["looks"] else None
    if look is None:
        return "nobody looked"
    where = f"a look ({look['independence']['level']})"
    if look["observed"] == receipt["expected"] and look["outcome"] == "definite":
        return f"{where} saw what was expected"
    if look["outcome"] == "definite":
        return f"{where} saw the world as it was before"
    return f"{where} could not tell"


def _counted(outcome: Outcome) -> str:
    rungs = ", ".join(f"{name} {count}" for name, count in sorted(outcome.rungs.items()))
    return f"Decisions: {rungs}; model tokens {outcome.tokens}, of them in plumbing {outcome.plumbing_tokens}"


def _ending(outcome: Outcome, *, seconds: float, aim: str = "") -> Iterator[str]:
    held = sum(one.held for one in outcome.expectations)
    store = shlex.quote(outcome.store)
    bundle = shlex.quote(str(Path(outcome.store).parent / "bundle.jsonl"))
    signal_number, waited_ms = outcome.killed
    yield f"A process was killed with signal {signal_number}, {waited_ms} ms after it was let go."
    yield f"{held} of {len(outcome.expectations)} expectations held, in {seconds:.1f} s{aim}. Look for yourself:"
    yield f"  actum activity --store {store}"
    yield f"  actum show {outcome.expectations[0].record} --store {store}"
    yield f"  actum export --store {store} -o {bundle} && actum verify {bundle} --trust {store}/trust.json"
