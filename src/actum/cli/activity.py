# SPDX-License-Identifier: Apache-2.0
"""`actum activity` lists turns under four views: In progress, Needs attention, Finished, All.

Every turn is listed under All and under exactly one of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from actum.cli.opened import opened, store_options
from actum.cli.render import Described, emit, table, when
from actum.cli.waiting import stand_of
from actum.model.activity import Activity, ActivityFilter
from actum.service.view import unknown

if TYPE_CHECKING:
    from actum.bootstrap import Kernel

TITLES = {
    ActivityFilter.IN_PROGRESS: "In progress",
    ActivityFilter.NEEDS_ATTENTION: "Needs attention",
    ActivityFilter.FINISHED: "Finished",
    ActivityFilter.ALL: "All",
}
_NAMES = {title.lower().replace(" ", "-"): view for view, title in TITLES.items()}


@click.command("activity")
@click.option(
    "--filter", "view", type=click.Choice(list(_NAMES)), default="all", show_default=True, help="Which turns."
)
@click.option(
    "--limit", type=click.IntRange(min=1), default=50, show_default=True, help="At most this many of each."
)
@click.option("--before", metavar="TURN", help="Only turns older than this one.")
@click.option("--rungs", is_flag=True, help="Show instead which rung decided how often, and its tokens.")
@store_options
def activity(
    *,
    view: str,
    limit: int,
    before: str | None,
    rungs: bool,
    store: str | None,
    who: str | None,
    as_json: bool,
) -> int:
    """List what is going on, what needs you, and what ended; the newest first.

    A turn's state is one of queued, routing, running, verifying, completed, failed, recovery required. What a
    completed turn rests on stands beside it.
    """
    with opened(store, who) as kernel:
        if before is not None and kernel.line.store.read(lambda tx: tx.turn(before)) is None:
            raise unknown("turn", before)
        if rungs:
            _rungs(kernel, as_json=as_json)
            return 0
        wanted = _NAMES[view]
        if as_json:
            for one in _page(kernel, wanted, before=before, limit=limit):
                emit(msgspec.to_builtins(one))
            return 0
        views = [one for one in TITLES if one is not ActivityFilter.ALL] if view == "all" else [wanted]
        shown = 0
        for one in views:
            shown += _section(kernel, one, before=before, limit=limit)
        if not shown:
            click.echo("No turns." if view == "all" else f"No turns under {TITLES[wanted]}.")
    return 0


def _section(kernel: Kernel, view: ActivityFilter, *, before: str | None, limit: int) -> int:
    found = _page(kernel, view, before=before, limit=limit + 1)
    page, more = found[:limit], len(found) > limit
    if page:
        click.echo(f"{TITLES[view]} ({len(page)}{'+' if more else ''})")
        _table(page)
        if more:
            name = next(name for name, one in _NAMES.items() if one is view)
            click.echo(f"older ones: actum activity --filter {name} --before {page[-1].turn_id}")
        click.echo()
    return len(page)


def _table(page: Sequence[Activity]) -> None:
    table(
        ("ID", "WORK", "STATE", "RECEIPTS", "SINCE"),
        [
            (
                one.turn_id,
                Described(one.title),
                stand_of(one),
                str(one.receipt_count or "-"),
                when(one.updated_at_ms),
            )
            for one in page
        ],
    )


def _page(kernel: Kernel, view: ActivityFilter, *, before: str | None, limit: int) -> list[Activity]:
    return kernel.line.store.read(lambda tx: tx.activities(view, before=before or "~", limit=limit))


def _rungs(kernel: Kernel, *, as_json: bool) -> None:
    found = kernel.rungs()
    if as_json:
        emit(found)
        return
    table(
        ("RUNG", "DECISIONS", "SHARE", "TOKENS"),
        [
            (rung, f"{row['decisions']:,}", f"{row['share_per_mille'] / 10:.1f} %", f"{row['tokens']:,}")
            for rung, row in found.items()
        ],
    )
