# SPDX-License-Identifier: Apache-2.0
"""`actum demo` plays the whole line on this machine in a folder of its own, and says what held.

Exit 0: all nine expectations held. 1: one did not. 5: something it needs is not installed.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import tempfile
import time
from pathlib import Path

import click

from actum.model.errors import UsageError


@click.command("demo")
@click.option("--quick", is_flag=True, help="The same story with files only: no model, no mail server.")
@click.option("--keep", metavar="DIR", help="Make it in this folder, which must be empty or not exist.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def demo(*, quick: bool, keep: str | None, as_json: bool) -> int:
    """Show the whole line, end to end, in a folder of its own.

    An assistant works through a small inbox while an agent makes claims, some of them false. The demo's store is
    kept, so that every other verb can be tried on it. Nothing leaves this machine.
    """
    from actum.demo import expectations, scenario, told
    from actum.demo import quick as quick_story
    from actum.demo.world import World

    started = time.monotonic()
    world = World(_folder(keep))
    play = quick_story.play if quick else scenario.play
    setting = play(world, _progress)
    try:
        outcome = expectations.judge(setting)
    finally:
        setting.close()
        _progress("")
    seconds = time.monotonic() - started
    if as_json:
        click.echo(json.dumps(outcome.to_json(), ensure_ascii=False))
    else:
        tell = told.tell_quickly if quick else told.tell_whole
        for line in tell(outcome, seconds=seconds, program=_program()):
            click.echo(line)
    return 0 if outcome.held else 1


def _folder(keep: str | None) -> Path:
    if keep is None:
        return Path(tempfile.mkdtemp(prefix="actum-demo-")).resolve()
    folder = Path(keep)
    if folder.exists() and (not folder.is_dir() or os.listdir(folder)):
        raise UsageError(
            "demo_folder_taken",
            failed=f"{keep} is there already and is no empty folder",
            state="Nothing was made or changed",
            next_step="Give a folder that is empty or does not exist yet",
        )
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


def _program() -> str:
    """Return how to call the command line from here, also where it is not on the search path."""
    called = Path(sys.argv[0])
    return shlex.quote(str(called)) if called.name == "actum" and shutil.which("actum") is None else "actum"


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{text + ' ...' if text else ''}", nl=False, err=True)
