# SPDX-License-Identifier: Apache-2.0
"""`actum run` carries out what people confirmed, looks at the world, and seals a receipt for each execution.

Exit codes: 0 everything that was due ended as claimed; 1 something failed or was refused; 3 an outcome is
unknown, or with --wait something still waits; 5 another process is this store's runner.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from actum.cli.opened import opened, store_options
from actum.cli.render import count_of, emit, error_text, table, worst
from actum.model.grading import EffectConfidence, EffectFinality, GradePair
from actum.model.visible import visible
from actum.model.wording import explain_grade
from actum.service.touched import Touched, log_size, rows_left, sealed_since, turns_left
from actum.service.unverifiable import unverifiable

if TYPE_CHECKING:
    from actum.bootstrap import Kernel
    from actum.service.runner import Ran

POLL_S = 0.2
Counts = Counter[tuple[str, str, str, str]]


@click.command("run")
@click.option("--wait", is_flag=True, help="Go on until nothing is due later either.")
@click.option("--no-look", is_flag=True, help="Do not look again at what nobody knows the end of.")
@store_options
def run(*, wait: bool, no_look: bool, store: str | None, who: str | None, as_json: bool) -> int:
    """Carry out what people confirmed, look at the world, and seal a receipt for each execution.

    One process dispatches at a time. What a stop left behind is put in order first, and counted.
    """
    with opened(store, who) as kernel:
        before = log_size(kernel.line)
        ran = kernel.run(look=not no_look)
        while wait and _due_later(kernel):
            time.sleep(POLL_S)
            more = kernel.run(look=False)
            ran.effects += more.effects
            ran.model_calls += more.model_calls
            ran.walked += more.walked
        touched = sealed_since(kernel.line, before)
        unknown = unverifiable(kernel.line, touched.unknown_turns)
        questions = len(kernel.inbox(limit=1001))
        left = _left(kernel)
        if as_json:
            told = None if unknown is None else unknown.to_json()
            emit(
                {
                    **_json(ran, touched, left, questions=questions),
                    "unverified": told,
                }
            )
        else:
            _tell(ran, touched, left, questions=questions, has_model=kernel.line.models is not None)
            if unknown is not None:
                click.echo(error_text(unknown.to_json()), err=True)
        waits = wait and (questions > 0 or bool(left.strangers) or bool(left.turns))
        return worst([_code(touched.counts), 3 if waits else 0])


def _due_later(kernel: Kernel) -> bool:
    return any(_is_known(kernel, row.capability) for row in rows_left(kernel.line))


class Left(NamedTuple):
    """What a run leaves: effects put off, and effects and turns by the capability that another program registers."""

    waiting: int
    strangers: dict[str, int]
    turns: dict[str, int]


def _left(kernel: Kernel) -> Left:
    left = Counter(row.capability for row in rows_left(kernel.line))
    strangers = {name: count for name, count in left.items() if not _is_known(kernel, name)}
    turns = Counter(turns_left(kernel.line).values())
    return Left(left.total() - sum(strangers.values()), strangers, dict(turns))


def _is_known(kernel: Kernel, capability: str) -> bool:
    return any(info.id == capability for info in kernel.line.registry.infos())


def _code(counts: Counts) -> int:
    """Return what the receipts come to; a declined effect is as it was asked for."""
    codes = {_code_of(status, finality) for _, finality, _, status in counts}
    return worst(codes)


def _code_of(status: str, finality: str) -> int:
    if status in ("success", "cancelled"):
        return 0
    if status == "failed":
        return 1
    # An unbacked "not attempted" is a refusal; every other rest is unknown.
    return 1 if finality == EffectFinality.NOT_ATTEMPTED.value else 3


def _json(ran: Ran, touched: Touched, left: Left, *, questions: int) -> dict[str, Any]:
    return {
        "effects": ran.effects,
        "model_calls": ran.model_calls,
        "walked": ran.walked,
        "looked_again": ran.looked,
        "reconciled": ran.reconciled.counts(),
        "receipts": [
            {"kind": kind, "finality": finality, "confidence": confidence, "status": status, "count": count}
            for (kind, finality, confidence, status), count in sorted(touched.counts.items())
        ],
        "open_questions": questions,
        "put_off": left.waiting,
        "capability_missing": left.strangers,
        "turns_elsewhere": left.turns,
    }


def _tell(ran: Ran, touched: Touched, left: Left, *, questions: int, has_model: bool) -> None:
    if ran.reconciled.changed():
        changed = [f"{name.replace('_', ' ')} {n}" for name, n in ran.reconciled.counts().items() if n]
        click.echo(f"Put in order first: {', '.join(changed)}.")
    effects: Counts = Counter({key: n for key, n in touched.counts.items() if key[0] != "record"})
    recorded = sum(n for key, n in touched.counts.items() if key[0] == "record")
    if not touched.counts and not ran.model_calls and not ran.effects:
        click.echo("Nothing was due.")
    for (_, finality, confidence, _), count in sorted(effects.items()):
        pair = GradePair(finality=EffectFinality(finality), confidence=EffectConfidence(confidence))
        click.echo(f"{count_of(count, 'effect')} {finality}, {confidence}: {explain_grade(pair)}")
    shown = [row for row in touched.first if row.kind != "record"][:20]
    if shown:
        table(
            ("RECEIPT", "TURN", "GRADE", "STATUS"),
            [
                (
                    row.receipt_id,
                    row.turn_id,
                    f"{row.graded_finality}, {row.graded_confidence}",
                    row.status or "open",
                )
                for row in shown
            ],
        )
    if recorded:
        click.echo(f"{count_of(recorded, 'decision')} recorded, without an effect.")
    if ran.model_calls:
        asked = "made" if has_model else "due, and no model is configured: a person is asked instead"
        click.echo(f"{count_of(ran.model_calls, 'model call')} {asked}.")
    if left.waiting:
        click.echo(f"{count_of(left.waiting, 'effect')} put off, to be tried again: actum activity says why.")
    for capability, count in left.strangers.items():
        click.echo(
            f"{count_of(count, 'effect')} of {capability} left: run the program that registers that action."
        )
    for capability, count in left.turns.items():
        click.echo(f"{count_of(count, 'turn')} left to the program that registers {visible(capability)}.")
    if questions:
        click.echo(
            f"{'more than 1,000 questions' if questions > 1000 else count_of(questions, 'question')} open: actum inbox"
        )
