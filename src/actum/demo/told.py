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
_TOLD_TWICE = ("c",)
_COLOURS = {"finalized": "green", "failed": "red", "not_attempted": "cyan", "indeterminate": "yellow"}


def tell_whole(outcome: Outcome, *, seconds: float, program: str) -> Iterator[str]:
    """Yield the lines of the full story; they fit one screen."""
    yield "An assistant works through an inbox, and an agent makes claims. Below each claim stands what is known."
    yield "A look marked L1 was made by another process than the one that acted."
    yield ""
    for one in outcome.expectations:
        turn = outcome.turns.get(one.id)
        mark = _mark(one)
        for shown in (turn, outcome.also.get(one.id) if one.id in _TOLD_TWICE else None):
            if shown is not None:
                yield f"{mark} {_claimed(shown)}"
                yield f"         {_grade(shown)}: {_seen(shown)}"
                mark = "        "
        if one.id != "i":
            yield from _broken(one)
    yield f"{_mark(outcome.expectations[-1])} {_counted(outcome)}"
    yield from _broken(outcome.expectations[-1])
    yield f"         Effects executed: {outcome.executed}; found more than once in the world: {outcome.repeated}"
    yield ""
    yield from _ending(outcome, seconds=seconds, program=program)


def tell_quickly(outcome: Outcome, *, seconds: float, program: str) -> Iterator[str]:
    """Yield one line for each promise, then how to look for oneself."""
    for one in outcome.expectations:
        turn = outcome.turns.get(one.id)
        known = _counted(outcome) if turn is None else _grade(turn)
        yield f"{_mark(one)} {PROMISES[one.id]} [{known}]"
        yield from _broken(one)
    yield from _ending(outcome, seconds=seconds, program=program, aim=f" (aim: under {QUICK_AIM_S})")


def _mark(one: Expectation) -> str:
    return click.style(
        f"{one.id} kept  " if one.held else f"{one.id} BROKEN", fg="green" if one.held else "red"
    )


def _broken(one: Expectation) -> Iterator[str]:
    for part in one.broken:
        yield click.style(f"         expected and not so: {part}", fg="red")


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
    said = first["executor_said"]
    word = "no answer came" if said in (None, "no_answer") else f"its tool said {said}"
    if first is not receipt:
        word += f", {first['graded']['finality']}"
        return f"{allowed}; {word}; later {_looked(receipt)}"
    return f"{allowed}; {word}; {_looked(receipt)}"


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


def _ending(outcome: Outcome, *, seconds: float, program: str, aim: str = "") -> Iterator[str]:
    held = sum(one.held for one in outcome.expectations)
    store = shlex.quote(outcome.store)
    bundle = shlex.quote(str(Path(outcome.store).parent / "bundle.jsonl"))
    signal_number, waited_ms = outcome.killed
    yield f"A process was killed with signal {signal_number}, {waited_ms} ms after it was let go."
    yield f"{held} of {len(outcome.expectations)} expectations held, in {seconds:.1f} s{aim}. Look for yourself:"
    yield f"  {program} activity --store {store}"
    yield f"  {program} show {outcome.expectations[0].record} --store {store}"
    yield f"  {program} export --store {store} -o {bundle}"
    yield f"  {program} verify {bundle} --trust {store}/trust.json --checkpoint {store}/checkpoint"
