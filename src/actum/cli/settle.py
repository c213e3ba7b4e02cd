# SPDX-License-Identifier: Apache-2.0
"""`actum settle` looks again at what nobody knows, or keeps a person's word about it as a person's word.

Exit codes: 0 it is known now, or your word was kept; 1 it failed or was refused; 3 it is still unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from actum.cli.opened import answering_person, opened, passphrase_option, store_options
from actum.cli.render import count_of, emit, worst
from actum.model.delivery import OutboxState
from actum.model.errors import ActumError, UsageError
from actum.model.grading import EffectConfidence, EffectFinality, GradePair
from actum.model.question import Question, QuestionReason, QuestionState
from actum.model.wording import explain_grade
from actum.service.settle import WAITING
from actum.service.view import unknown

if TYPE_CHECKING:
    from actum.bootstrap import Kernel
    from actum.ports.store import Tx
    from actum.service.answer import Person
    from actum.service.settle import Settled

UNSETTLED = (OutboxState.CHECK_REQUIRED, OutboxState.DEAD)


@click.command("settle")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("--happened", is_flag=True, help="Your word: it happened. Never an observation.")
@click.option("--did-not", is_flag=True, help="Your word: it did not happen.")
@click.option(
    "--stop", is_flag=True, help="Stop waiting: what did not leave never will, what did is left unknown."
)
@click.option("--acknowledge", is_flag=True, help="You saw that the turn failed.")
@passphrase_option
@store_options
def settle(
    ids: Sequence[str],
    *,
    happened: bool,
    did_not: bool,
    stop: bool,
    acknowledge: bool,
    passphrase_file: str | None,
    store: str | None,
    who: str | None,
    as_json: bool,
) -> int:
    """Look again at what nobody knows the end of; or, with a flag, say what you know.

    ID is a question of the inbox, an effect's row or a turn. Nothing is repeated by this command.
    """
    given = {"happened": happened, "did_not": did_not, "stop": stop}
    words = [name for name, is_given in given.items() if is_given]
    if len(words) + acknowledge > 1:
        raise UsageError(
            "two_words",
            failed="--happened, --did-not, --stop and --acknowledge say different things, and more than one was given",
            state="Nothing was settled",
            next_step="Give one of the flags",
        )
    word = words[0] if words else None
    with opened(store, who) as kernel:
        person: Person | None = None
        if word is not None or acknowledge:
            person = answering_person(kernel, who, passphrase_file=passphrase_file)
        if acknowledge:
            return _acknowledge(kernel, ids, person=person, as_json=as_json)
        # Every id is looked up before anything is settled.
        rows = list(dict.fromkeys(row for ident in ids for row in _rows(kernel, ident, stops=stop)))
        codes: list[int] = []
        for row in rows:
            try:
                settled = kernel.settle(row, word, by=person)
            except ActumError as error:
                if codes:
                    error.state = (
                        f"{count_of(len(codes), 'effect')} given before it stand as told above. {error.state}"
                    )
                raise
            codes.append(_code(settled, word))
            if as_json:
                told = settled.told if word is None else None
                emit({"outbox_id": row, "state": settled.state.value, "finality": settled.finality.value,
                      "confidence": settled.confidence, "could_tell": told, "word": word})  # fmt: skip
            else:
                _tell(settled, word, by=None if person is None else person.name)
        return worst(codes)


def _acknowledge(kernel: Kernel, ids: Sequence[str], *, person: Person | None, as_json: bool) -> int:
    turns = kernel.line.store.read(lambda tx: list(dict.fromkeys(_turn_of(tx, ident) for ident in ids)))
    for turn_id in turns:
        kernel.acknowledge(turn_id, by=person)
        name = "" if person is None else person.name
        if as_json:
            emit({"turn_id": turn_id, "acknowledged_by": name})
        else:
            click.echo(f"Turn {turn_id}: its failure was seen by {name}, and is listed under Finished.")
    return 0


def _turn_of(tx: Tx, ident: str) -> str:
    row, question = tx.outbox(ident), tx.question(ident)
    if row is not None:
        return row.turn_id
    if question is not None:
        return question.turn_id
    if tx.turn(ident) is None:
        raise unknown("question, effect or turn", ident)
    return ident


def _rows(kernel: Kernel, ident: str, *, stops: bool) -> list[str]:
    """Return the rows an id means: itself, a question's, or those of a turn that are unsettled or can be stopped."""
    open_states = (*UNSETTLED, *WAITING) if stops else UNSETTLED

    def work(tx: Tx) -> list[str]:
        if tx.outbox(ident) is not None:
            return [ident]
        question = tx.question(ident)
        if question is not None and tx.outbox(question.subject_ref) is not None:
            return [question.subject_ref]
        if question is not None:
            rows = _allowed(tx, question)
            if rows:
                return rows
            raise _asks_other(question)
        if tx.turn(ident) is None:
            raise unknown("question, effect or turn", ident)
        rows = [row.outbox_id for row in tx.outbox_of_turn(ident) if row.state in open_states]
        if not rows:
            raise UsageError(
                "nothing_to_settle",
                failed=f"turn {ident} has no effect whose outcome is unknown",
                state="It is as it was",
                next_step=f"See how it stands with `actum show {ident}`",
            )
        return rows

    return kernel.line.store.read(work)


def _allowed(tx: Tx, question: Question) -> list[str]:
    """Return the row that an answered confirm let go: whoever names the question means that effect."""
    rows = tx.outbox_of_turn(question.turn_id) if question.reason is QuestionReason.CONFIRM else []
    return [row.outbox_id for row in rows if row.effect_digest == question.subject_ref]


def _asks_other(question: Question) -> UsageError:
    ident = question.question_id
    if question.state is not QuestionState.OPEN:
        return UsageError(
            "nothing_to_settle",
            failed=f"question {ident} was answered ({question.answer or 'void'}), and no effect of it is unknown",
            state="It is as it was",
            next_step=f"See what came of it with `actum show {question.turn_id}`",
        )
    what, verb = {
        QuestionReason.CONFIRM: ("may something run", f"`actum confirm {ident}` or `actum refuse {ident}`"),
        QuestionReason.JUDGMENT: ("how is a step decided", f"`actum judge {ident} --choice CHOICE`"),
    }.get(question.reason, ("something else", f"`actum show {ident}`"))
    return UsageError(
        "nothing_to_settle",
        failed=f"question {ident} asks: {what}? No effect of it is unknown",
        state="It is as it was",
        next_step=f"Use {verb}",
    )


def _code(settled: Settled, word: str | None) -> int:
    if word is not None:
        return 0
    if not settled.told:
        return 3
    if settled.finality is EffectFinality.FINALIZED:
        return 0 if settled.confidence == EffectConfidence.VERIFIED.value else 3
    return 1 if settled.finality is EffectFinality.FAILED and settled.state is OutboxState.SETTLED else 3


def _tell(settled: Settled, word: str | None, *, by: str | None) -> None:
    grade = GradePair(finality=settled.finality, confidence=EffectConfidence(settled.confidence))
    if word is not None:
        said = {"happened": "it happened", "did_not": "it did not happen", "stop": "leave it unknown"}[word]
        click.echo(f"{settled.outbox_id}: kept as the word of {by}: {said}. That is no observation.")
    elif not settled.told:
        click.echo(f"{settled.outbox_id}: the look could not tell; it is as it was.")
    click.echo(f"    {settled.finality.value}, {settled.confidence}: {explain_grade(grade)}")
    if settled.state is OutboxState.RETRY_WAIT:
        click.echo("    It was seen not to have happened, so it is tried again: actum run")
    elif settled.state is OutboxState.DEAD:
        seen = "It was seen not to have happened and" if settled.told else "It"
        click.echo(f"    {seen} is not tried again; to close it: actum settle {settled.outbox_id} --stop")
