# SPDX-License-Identifier: Apache-2.0
"""`actum judge` decides a waiting step by a person's choice, and keeps the choice as that person's judgment."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from actum.cli import waiting
from actum.cli.opened import answering_person, opened, passphrase_option, store_options
from actum.cli.questions import displayed, question_lines
from actum.cli.render import emit
from actum.model.errors import UsageError
from actum.model.plan import FieldType
from actum.model.question import QuestionReason
from actum.service.view import find_process

if TYPE_CHECKING:
    from actum.bootstrap import Kernel

AS_JSON = (FieldType.INT, FieldType.BOOL, FieldType.STRINGS, FieldType.ANY)
"""A value for a field of one of these types is JSON; every other value is the text as it is written."""


@click.command("judge")
@click.argument("question_id", metavar="ID")
@click.option("--choice", metavar="X", help="One of the question's choices.")
@click.option(
    "--set", "sets", multiple=True, metavar="FIELD=VALUE", help="Also write a field; may be repeated."
)
@click.option("--reason", default="", metavar="WHY", help="Kept with your judgment.")
@passphrase_option
@store_options
def judge(
    question_id: str,
    *,
    choice: str | None,
    sets: Sequence[str],
    reason: str,
    passphrase_file: str | None,
    store: str | None,
    who: str | None,
    as_json: bool,
) -> int:
    """Decide a step that no rule could decide, by one of the choices its question names.

    Without --choice the question is shown. What the choice proposes still has to be confirmed.
    """
    with opened(store, who) as kernel:
        shown = displayed(kernel, question_id)
        if choice is None:
            for text in question_lines(shown):
                click.echo(text, err=as_json)
            raise UsageError(
                "choice_missing",
                failed="no choice was given",
                state="The question is as it was",
                next_step="Repeat the command with one of the choices above",
            )
        writes: dict[str, object] | None = None
        if sets and shown.question.reason is QuestionReason.JUDGMENT:
            writes = _writes(kernel, shown.question.turn_id, str(shown.shown["process"]), sets)
        person = answering_person(kernel, who, passphrase_file=passphrase_file)
        turn = kernel.judge(question_id, choice, by=person, reason=reason, writes=writes)
        if as_json:
            emit({"question_id": question_id, "turn_id": turn.turn_id, "choice": choice, "by": person.name,
                  "state": turn.state})  # fmt: skip
        else:
            click.echo(f"Decided by {person.name}: {choice}.")
            waiting.show_turns(kernel, [turn.turn_id])
        return 0


def _writes(kernel: Kernel, turn_id: str, process: str, sets: Sequence[str]) -> dict[str, object]:
    turn = kernel.line.store.read(lambda tx: tx.turn(turn_id))
    assert turn is not None
    rulebook, _ = kernel.line.rules.by_digest(turn.rulebook_digest)
    types = {field.name: field.type for field in find_process(rulebook, process).fields}
    return dict(_one(text, types) for text in sets)


def _one(text: str, types: dict[str, FieldType]) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals or name not in types:
        raise UsageError(
            "bad_set",
            failed=f"--set {text!r} is not FIELD=VALUE with a field of this process",
            state="The question is as it was",
            next_step=f"Use one of the fields: {', '.join(sorted(types)) or 'this process declares none'}",
        )
    if types[name] not in AS_JSON:
        return name, value
    try:
        return name, json.loads(value)
    except ValueError as error:
        if types[name] is FieldType.ANY:
            return name, value
        raise UsageError(
            "bad_set",
            failed=f"--set {text!r}: a field of type {types[name].value} needs a JSON value",
            state="The question is as it was",
            next_step='Write for example count=3, urgent=true or tags=["a","b"]',
        ) from error
