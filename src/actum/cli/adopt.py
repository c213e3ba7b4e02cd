# SPDX-License-Identifier: Apache-2.0
"""`actum adopt` takes over a store that was copied, moved or restored: nothing that was open runs by itself."""

from __future__ import annotations

import click

from actum.cli.opened import answering_person, opened, passphrase_option, store_options
from actum.cli.render import count_of, emit
from actum.model.errors import RefusedError


@click.command("adopt")
@click.option("--anyway", is_flag=True, help="Also where the store looks as if it had not moved.")
@passphrase_option
@store_options
def adopt(
    *, anyway: bool, passphrase_file: str | None, store: str | None, who: str | None, as_json: bool
) -> int:
    """Take over a store that was copied, moved to another machine, or restored from a backup.

    Every effect that was open becomes one to check, because it may have happened where the store came from, and
    every unused confirm is void. It needs the operator.
    """
    with opened(store, who) as kernel:
        if not kernel.moved and not anyway:
            raise RefusedError(
                "not_moved",
                failed="this store lies where it did, as far as its file shows",
                state="Nothing was changed: adopting it would make every unused confirm void",
                next_step="If it was restored from a backup all the same, repeat the command with --anyway",
            )
        person = answering_person(kernel, who, passphrase_file=passphrase_file)
        counts = kernel.adopt(by=person)
        if as_json:
            emit({**counts, "incarnation": kernel.line.incarnation, "by": person.name})
            return 0
        click.echo(f"This store is a new incarnation, taken over by {person.name}.")
        click.echo(f"{count_of(counts['rows_check_required'], 'open effect')} to be checked, "
                   f"{count_of(counts['grants_void'], 'unused confirm')} void.")  # fmt: skip
        click.echo("Next: actum inbox" if counts["rows_check_required"] else "Next: actum run")
    return 0
