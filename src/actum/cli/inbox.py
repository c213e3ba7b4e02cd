# SPDX-License-Identifier: Apache-2.0
"""`actum inbox` lists what waits for a person, oldest first, with everything each question is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from actum.cli.opened import opened, store_options
from actum.cli.questions import Displayed, display, question_json, question_lines
from actum.cli.render import count_of, emit
from actum.model.question import QuestionReason

if TYPE_CHECKING:
    from actum.ports.store import Tx

EVERY = 1_000_000
"""More open questions than a store that people answer can have."""


@click.command("inbox")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="At most this many.")
@click.option(
    "--reason",
    type=click.Choice([one.value.replace("_", "-") for one in QuestionReason]),
    help="Only questions of this kind.",
)
@click.option("--ids", is_flag=True, help="Print the ids only, one a line.")
@store_options
def inbox(
    *, limit: int, reason: str | None, ids: bool, store: str | None, who: str | None, as_json: bool
) -> int:
    """List what waits for a person, oldest first, with everything it is about.

    Nothing is shortened, and characters that could hide text are spelled out, as ⟨U+202E⟩. What `actum confirm`
    takes is listed by --ids --reason confirm.
    """
    with opened(store, who) as kernel:
        line = kernel.line

        def load(tx: Tx) -> list[Displayed]:
            if reason is None:
                asked = tx.open_questions(limit=limit + 1)
            else:
                wanted = reason.replace("-", "_")
                every = tx.open_questions(limit=EVERY)
                asked = [one for one in every if one.reason.value == wanted][: limit + 1]
            return [display(line, tx, one) for one in asked]

        found = line.store.read(load)
    more = len(found) > limit
    for one in found[:limit]:
        if as_json:
            emit(question_json(one))
        elif ids:
            click.echo(one.question.question_id)
        else:
            for text in question_lines(one):
                click.echo(text)
            click.echo()
    if as_json or ids:
        return 0
    if not found:
        click.echo("Nothing waits for a person.")
    elif more:
        click.echo(f"These are the {limit} oldest; there are more: actum inbox --limit {limit * 4}")
    else:
        click.echo(count_of(len(found), "question") + " open.")
    return 0
