# SPDX-License-Identifier: Apache-2.0
"""How turns stand after a command, told in one line each, with an exit code that says no more than is known.

Rules
1. A completed turn is 0, a failed one 1; one that waits for a person or whose outcome nobody knows is 3.
2. Where another process is the runner, its work is waited for; nothing is dispatched from here.
3. Where this process is the runner, an action that it does not know is not waited for: another program has to run it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from actum.cli.render import Described, emit, in_words, table, worst
from actum.model.activity import Activity, ActivityFilter, ActivityState, view_of
from actum.model.errors import EnvironmentFault
from actum.model.visible import visible
from actum.service.touched import rows_left, turns_left
from actum.service.view import unknown

if TYPE_CHECKING:
    from actum.bootstrap import Kernel

POLL_S = 0.1
PATIENCE_S = 60.0


def wait_for(kernel: Kernel, turn_ids: Sequence[str], *, patience_s: float = PATIENCE_S) -> list[Activity]:
    """Run what is due until nothing of these turns moves by itself any more; return how each stands."""
    end = time.monotonic() + patience_s
    while True:
        ours = True
        try:
            kernel.run()
        except EnvironmentFault as fault:
            # Rule 2
            if fault.code != "runner_elsewhere":
                raise
            ours = False
        found = activities(kernel, turn_ids)
        moving = {one.turn_id for one in found if moves(one)}
        # Rule 3
        if ours:
            moving -= strangers(kernel, moving).keys()
        if not moving or time.monotonic() >= end:
            return found
        time.sleep(POLL_S)


def strangers(kernel: Kernel, turn_ids: Iterable[str]) -> dict[str, str]:
    """Return those of some turns that wait for an action which this program does not register, with its name."""
    wanted = set(turn_ids)
    if not wanted:
        return {}
    known = {info.id for info in kernel.line.registry.infos()}
    left = [row for row in rows_left(kernel.line) if row.turn_id in wanted and row.capability not in known]
    return {**turns_left(kernel.line, wanted), **{row.turn_id: row.capability for row in left}}


def moves(activity: Activity) -> bool:
    """Tell whether a turn can still go on without a person."""
    return view_of(activity) is ActivityFilter.IN_PROGRESS


def code_of(activity: Activity) -> int:
    """Return the exit code of a turn (rule 1)."""
    if activity.state is ActivityState.COMPLETED:
        return 0
    return 1 if activity.state is ActivityState.FAILED else 3


def tell(kernel: Kernel, found: Sequence[Activity], *, as_json: bool) -> int:
    """Print how turns stand and return the exit code of all of them together."""
    if as_json:
        for one in found:
            emit({"turn_id": one.turn_id, "state": one.state.value, "label": one.label,
                  "failure_reason": one.failure_reason, "open_questions": one.open_questions})  # fmt: skip
    else:
        show(found)
        tell_next(kernel, found)
    return worst(map(code_of, found))


def activities(kernel: Kernel, turn_ids: Iterable[str]) -> list[Activity]:
    """Return how some turns stand now."""
    return [_activity(kernel, turn_id) for turn_id in turn_ids]


def show_turns(kernel: Kernel, turn_ids: Sequence[str]) -> None:
    """Print how some turns stand now, and what to do next."""
    found = activities(kernel, turn_ids)
    show(found)
    tell_next(kernel, found)


def show(found: Sequence[Activity]) -> None:
    """Print one line for each turn."""
    if not found:
        return
    table(("TURN", "WORK", "STATE"), [(one.turn_id, Described(one.title), stand_of(one)) for one in found])


def stand_of(activity: Activity) -> str:
    """Return where a turn stands, in words, with the evidence a completed one rests on."""
    state = activity.state.value.replace("_", " ")
    notes = [activity.label] if activity.label else []
    if activity.failure_reason:
        notes.append(in_words(activity.failure_reason))
    if activity.acknowledged_by:
        notes.append(f"seen by {activity.acknowledged_by}")
    if activity.open_questions and activity.state is not ActivityState.RECOVERY_REQUIRED:
        notes.append("waits for a person")
    return f"{state} ({'; '.join(notes)})" if notes else state


def tell_next(kernel: Kernel, found: Sequence[Activity]) -> None:
    """Print what to do next, as some turns stand now."""
    moving = [one.turn_id for one in found if moves(one)]
    elsewhere = strangers(kernel, moving)
    if any(one.open_questions for one in found):
        click.echo("Next: actum inbox")
    elif len(elsewhere) < len(moving):
        click.echo("Next: actum run")
    for capability in sorted(set(elsewhere.values())):
        click.echo(f"Next: run the program that registers {visible(capability)}")


def _activity(kernel: Kernel, turn_id: str) -> Activity:
    found = kernel.line.store.read(lambda tx: tx.activity(turn_id))
    if found is None:
        raise unknown("turn", turn_id)
    return found
