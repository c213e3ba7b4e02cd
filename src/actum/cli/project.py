# SPDX-License-Identifier: Apache-2.0
"""`actum project` adds process files that load, and removes a store whose whole record left it and verifies."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from actum.cli.opened import opened, store_options
from actum.cli.render import count_of, emit
from actum.model.errors import RefusedError, UsageError


@click.group("project")
def project() -> None:
    """Add process files; remove a store whose record left whole."""


@project.command("add")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@store_options
def add(files: tuple[str, ...], *, store: str | None, who: str | None, as_json: bool) -> int:
    """Add process files, each only if it loads beside the others. New work is decided by them at once."""
    from actum.bootstrap.project import add_file

    with opened(store, who) as kernel:
        for name in files:
            target = add_file(kernel, Path(name))
            if as_json:
                emit({"file": str(target)})
            else:
                click.echo(f"{name} was added as {target}.")
    if not as_json:
        click.echo("Next: actum doctor (it lists what the files assume)")
    return 0


@project.command("delete")
@click.option(
    "--bundle", required=True, metavar="FILE", help="The whole record, from `actum export -o FILE`."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@store_options
def delete(*, bundle: str, yes: bool, store: str | None, who: str | None, as_json: bool) -> int:
    """Remove the store with its keys and content, once its record is whole in a bundle and nothing is open.

    A bundle holds digests: what was asked, done and seen is readable in the store only, and is gone with it.
    """
    from actum.bootstrap.project import remove_store

    with opened(store, who) as kernel:
        folder = kernel.place.folder
        if not yes:
            _ask(folder, as_json=as_json)
        # Written first: without the pinned keys nobody could tell afterwards whose record the bundle is.
        kept = Path(f"{bundle}.trust.json")
        kept.write_bytes(kernel.place.trust_file.read_bytes())
        size = remove_store(kernel, bundle=Path(bundle), now_ms=time.time_ns() // 1_000_000)
    if as_json:
        emit({"removed": str(folder), "bundle": bundle, "trust": str(kept), "records": size})
    else:
        click.echo(f"The store {folder} was removed; its {count_of(size, 'record')} are in {bundle}.")
        click.echo(f"Next: actum verify {bundle} --trust {kept} --min-size {max(size, 1)}")
    return 0


def _ask(folder: Path, *, as_json: bool) -> None:
    state = f"Nothing was removed; the store is at {folder}"
    if as_json or not sys.stdin.isatty():
        raise UsageError(
            "delete_needs_yes",
            failed="removing a store outside a terminal was not asked for with --yes",
            state=state,
            next_step="Repeat the command with --yes; its content and keys cannot be brought back from a bundle",
        )
    if not click.confirm(
        f"Remove {folder} with its keys and all content? A bundle does not bring them back.", err=True
    ):
        raise RefusedError(
            "not_removed", failed="you said no", state=state, next_step="Keep it, or repeat the command"
        )
