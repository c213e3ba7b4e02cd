# SPDX-License-Identifier: Apache-2.0
"""`actum` starts with click and the standard library only; a verb's module is loaded when it is called.

This is the one place that ends the process. No error leaves it as a traceback: each becomes three sentences
on standard error, or `{"error": {...}}` on standard output with --json, and an exit code.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

# Verb: (module, attribute, what `actum --help` says of it). The text stands here so that help loads no verb.
VERBS: dict[str, tuple[str, str, str]] = {
    "init": ("actum.cli.init", "init", "Make a store here, with a key of your own."),
    "demo": ("actum.cli.demo", "demo", "Show the whole line, end to end, in a folder of its own."),
    "submit": ("actum.cli.submit", "submit", "Store work and decide it as far as the rules can."),
    "run": ("actum.cli.run", "run", "Carry out what people confirmed, look at it, and seal receipts."),
    "inbox": ("actum.cli.inbox", "inbox", "List what waits for a person, with everything it is about."),
    "confirm": ("actum.cli.answer", "confirm", "Allow exactly the effects that are shown."),
    "refuse": ("actum.cli.answer", "refuse", "Say no to proposed effects; they will not run."),
    "judge": ("actum.cli.judge", "judge", "Decide a step that no rule could decide."),
    "settle": ("actum.cli.settle", "settle", "Look again at what nobody knows, or say what you know."),
    "activity": ("actum.cli.activity", "activity", "List what is going on, what needs you, what ended."),
    "show": ("actum.cli.show", "show", "Show any record by its id."),
    "explain": ("actum.cli.explain", "explain", "Say why: who decided, who allowed, how well it is known."),
    "effect": ("actum.cli.effect", "effect", "Grade effect records by the evidence they carry, offline."),
    "export": ("actum.cli.export", "export", "Write the record as one signed file of digests."),
    "verify": ("actum.cli.verify", "verify", "Judge an exported BUNDLE offline, without a store."),
    "adopt": ("actum.cli.adopt", "adopt", "Take over a store that was copied, moved or restored."),
    "project": ("actum.cli.project", "project", "Add process files; remove a store whose record left whole."),
    "doctor": ("actum.cli.doctor", "doctor", "Examine the store and say what is wrong with it."),
}


class Verbs(click.Group):
    """The verbs, each loaded when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order in which somebody meets them."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a verb's command, or None where there is no such verb."""
        if cmd_name not in VERBS:
            return None
        module, attribute, _ = VERBS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of verbs without loading any of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in VERBS.items()])


def _version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted:
        from actum import __version__

        click.echo(f"actum {__version__}")
        ctx.exit()


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print the version."
)
def actum() -> None:
    """The model said it did it. Actum shows what happened, who allowed it, and how well that is known.

    \b
    New here:   actum init, then what it tells you; or actum demo
    Every day:  actum inbox, actum confirm ID, actum run, actum activity
    """


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; everything that can go wrong is told, not raised."""
    as_json = "--json" in arguments
    try:
        code = _invoke(arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        return _pipe_went_away()
    except (KeyboardInterrupt, EOFError, click.Abort):
        from actum.cli.render import interrupted

        return interrupted()
    except Exception as error:
        from actum.cli.render import tell

        try:
            return tell(error, as_json=as_json)
        except BrokenPipeError:
            return _pipe_went_away()


def _invoke(arguments: Sequence[str]) -> int:
    try:
        with actum.make_context("actum", list(arguments)) as ctx:
            result: object = actum.invoke(ctx)
    except click.exceptions.Exit as asked:
        return asked.exit_code
    except click.exceptions.NoArgsIsHelpError as asked:
        click.echo(asked.format_message())
        return 2
    return result if isinstance(result, int) else 0


def _pipe_went_away() -> int:
    # Nobody reads any more; what is still in the buffer must not be written at the end of the process.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 5


def main() -> NoReturn:
    """Run the command line of this process and end the process with its exit code."""
    if "_ACTUM_COMPLETE" in os.environ:
        actum.main(prog_name="actum")
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
