# SPDX-License-Identifier: Apache-2.0
"""`actum confirm` and `actum refuse` answer what was proposed, after showing all of it.

Rules
1. What is confirmed is printed before anything is asked; the digest of what was printed goes into the grant.
2. Without a terminal a confirm needs --yes: silence is no consent.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from actum.cli import waiting
from actum.cli.opened import answering_person, opened, passphrase_option, store_options
from actum.cli.questions import Displayed, displayed, question_json, question_lines
from actum.cli.render import count_of, emit
from actum.model.errors import RefusedError, UsageError
from actum.model.visible import visible
from actum.service.own_key import why_not_in_force

if TYPE_CHECKING:
    from actum.bootstrap import Kernel
    from actum.model.question import Question
    from actum.ports.store import Tx
    from actum.service.answer import Person


@click.command("confirm")
@click.argument("question_ids", nargs=-1, required=True, metavar="ID...")
@click.option("--yes", is_flag=True, help="Do not ask; what is confirmed is still printed.")
@click.option(
    "--accept-unqualified", is_flag=True, help="Also where the effect could not be rehearsed beforehand."
)
@click.option("--wait", is_flag=True, help="Then run it here, and tell how it ended.")
@passphrase_option
@store_options
def confirm(
    question_ids: Sequence[str],
    *,
    yes: bool,
    accept_unqualified: bool,
    wait: bool,
    passphrase_file: str | None,
    store: str | None,
    who: str | None,
    as_json: bool,
) -> int:
    """Allow exactly the effects that are shown, once, as yourself.

    All the questions given are confirmed together or none is; money and legal effects one at a time. Nothing runs
    before `actum run`, unless --wait is given. An ID that is the digest of an authored pattern (`actum doctor`
    lists them) gives that pattern the right to propose; what it proposes is still asked for. Exit codes: 0 allowed
    (with --wait: and observed), 1 refused or failed, 3 with --wait: waiting, or the outcome is unknown.
    """
    wanted = list(dict.fromkeys(question_ids))
    with opened(store, who) as kernel:
        if all(ident.startswith("sha256:") for ident in wanted):
            person = answering_person(kernel, who, passphrase_file=passphrase_file)
            return _confirm_patterns(kernel, wanted, person=person, yes=yes, as_json=as_json)
        shown = [displayed(kernel, ident) for ident in wanted]
        # Rule 1
        if not as_json:
            _print(shown)
        if not yes:
            _ask(len(shown), as_json=as_json)
        person = answering_person(kernel, who, passphrase_file=passphrase_file)
        rows = kernel.confirm(
            wanted,
            by=person,
            accept_unqualified=accept_unqualified,
            shown_digest={one.question.question_id: one.digest for one in shown},
        )
        refusals = kernel.line.store.read(lambda tx: [_refusal(tx, one.question) for one in shown])
        if as_json:
            for one, row, refusal in zip(shown, rows, refusals, strict=True):
                emit({**question_json(one), "state": "answered", "answered_by": person.name, "outbox_id": row,
                      "by": person.name, "refusal": refusal})  # fmt: skip
        else:
            _tell(shown, refusals, person=person)
        turns = list(dict.fromkeys(one.question.turn_id for one in shown))
        if wait:
            return waiting.tell(kernel, waiting.wait_for(kernel, turns), as_json=as_json)
        if not as_json:
            waiting.tell_next(kernel, waiting.activities(kernel, turns))
        return 0


@click.command("refuse")
@click.argument("question_ids", nargs=-1, required=True, metavar="ID...")
@click.option("--reason", default="", metavar="WHY", help="Kept with your answer.")
@passphrase_option
@store_options
def refuse(
    question_ids: Sequence[str],
    *,
    reason: str,
    passphrase_file: str | None,
    store: str | None,
    who: str | None,
    as_json: bool,
) -> int:
    """Say no to proposed effects; they will not run. The next `actum run` seals that nothing was tried."""
    wanted = list(dict.fromkeys(question_ids))
    with opened(store, who) as kernel:
        person = answering_person(kernel, who, passphrase_file=passphrase_file)
        rows = kernel.refuse(wanted, by=person, reason=reason)
        ended = why_not_in_force(kernel.line, at_ms=kernel.line.now())
    if as_json:
        for ident, row in zip(wanted, rows, strict=True):
            emit({"question_id": ident, "outbox_id": row, "by": person.name, "reason": reason or None})
    else:
        click.echo(f"{count_of(len(rows), 'effect')} refused by {person.name}; nothing of it will run.")
        if ended is None:
            click.echo("Next: actum run (it seals that nothing was tried)")
        else:
            click.echo(f"No receipt can say so: the key this store signs with {ended}. See `actum doctor`.")
    return 0


def _confirm_patterns(
    kernel: Kernel, digests: Sequence[str], *, person: Person, yes: bool, as_json: bool
) -> int:
    known = {pattern.digest: pattern for pattern in kernel.patterns()}
    for digest in digests:
        found = known.get(digest)
        if found is not None and not as_json:
            click.echo(
                f"{visible(found.process)}: pattern {visible(found.pattern)} may propose {', '.join(found.actions)}"
            )
            click.echo(f"  when {visible(found.when)}")
    if not yes:
        _ask(len(digests), as_json=as_json)
    for digest in digests:
        kernel.confirm_pattern(digest, by=person)
        if as_json:
            emit({"pattern": digest, "state": "confirmed", "by": person.name})
    if not as_json:
        click.echo(f"{count_of(len(digests), 'pattern')} may propose, allowed by {person.name}.")
    return 0


def _refusal(tx: Tx, question: Question) -> str | None:
    """Return why an effect that was just confirmed does not run after all: its key was taken meanwhile."""
    origin = tx.effect_origin(question.subject_ref)
    return None if origin is None else origin.proposal.refusal


def _tell(shown: Sequence[Displayed], refusals: Sequence[str | None], *, person: Person) -> None:
    signed = "by your own key" if person.signer is not None else "by the store's key, for this session"
    click.echo(f"{count_of(refusals.count(None), 'effect')} allowed by {person.name}, signed {signed}.")
    for one, refusal in zip(shown, refusals, strict=True):
        if refusal is None:
            continue
        first = refusal.removeprefix("duplicate_of:")
        why = (
            "its idempotency key already names another effect, so it was refused"
            if first == refusal
            else f"it repeats {first} under the same idempotency key, which answers for it"
        )
        click.echo(f"    {one.question.question_id}: {why}")


def _print(shown: Sequence[Displayed]) -> None:
    for one in shown:
        for text in question_lines(one):
            if not text.startswith(("    yes:", "    no:")):
                click.echo(text)
        click.echo()


def _ask(count: int, *, as_json: bool) -> None:
    # Rule 2
    if as_json or not sys.stdin.isatty():
        raise UsageError(
            "confirm_needs_yes",
            failed="a confirm outside a terminal was not asked for with --yes",
            state="Nothing was confirmed",
            next_step="Read it with `actum inbox`, then repeat the command with --yes"
            if as_json
            else "Read what is shown, then repeat the command with --yes",
        )
    if not click.confirm(f"Allow {count_of(count, 'effect')}?", default=False, err=True):
        raise RefusedError(
            "not_confirmed",
            failed="you said no",
            state="Nothing was confirmed and the question is still open",
            next_step="Use `actum refuse` to close it, or confirm it later",
        )
