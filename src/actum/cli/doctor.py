# SPDX-License-Identifier: Apache-2.0
"""`actum doctor` examines the store and its place, changes nothing, and says what it found.

Exit codes: 0 nothing to act upon was found; 1 findings; 2 the settings or the trust file are refused, or there is
no store; 4 a record does not hold; 5 the store cannot be opened.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from actum.cli.opened import store_options
from actum.cli.render import count_of, emit
from actum.model.visible import visible

if TYPE_CHECKING:
    from actum.service.doctor import Finding


@click.command("doctor")
@store_options
def doctor(*, store: str | None, who: str | None, as_json: bool) -> int:
    """Examine the store and say what is wrong with it. Nothing is changed.

    Exit code 0 where nothing to act upon was found, 1 findings, 2 settings or trust file refused or no store, 4 a
    record that does not hold, 5 the store cannot be opened.
    """
    from actum.bootstrap.condition import examine_place
    from actum.bootstrap.place import Place, find_place
    from actum.model.errors import UsageError

    place = find_place(None) if store is None else Place(Path(store))
    if not place.folder.is_dir():
        raise UsageError(
            "no_store",
            failed=f"there is no store at {place.folder}",
            state="Nothing was examined",
            next_step=f"Run `actum init --store {place.folder}`",
        )
    examined = examine_place(place, principal=who)
    if as_json:
        emit({"store": str(place.folder), "engine": examined.engine, "exit_code": examined.code,
              "findings": msgspec.to_builtins(examined.findings)})  # fmt: skip
        return examined.code
    acted = [one for one in examined.findings if one.severity.value != "note"]
    for one in examined.findings:
        _tell(one)
    click.echo()
    click.echo(f"Store {place.folder}, SQLite {examined.engine}.")
    if acted:
        click.echo(f"{count_of(len(acted), 'finding')} to act upon.")
    elif examined.code == 0:
        click.echo(
            "Nothing to act upon was found: engine, schema, database, log, keys, clock, disk, rows, processes."
        )
    return examined.code


def _tell(one: Finding) -> None:
    click.echo(f"{one.severity.value:<8} {one.code}: {visible(one.sentence)}")
    if one.next_step:
        click.echo(f"         {visible(one.next_step)}")
