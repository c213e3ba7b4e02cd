# SPDX-License-Identifier: Apache-2.0
"""Every verb that needs a store opens it here, with the same three options, and answers as one person.

Rules
1. A store is made by `actum init` only; every other verb needs one that exists.
2. Somebody with a key of their own opens it with their passphrase before they answer.
3. Nobody answers under another name than their user's without that person's key.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from actum.model.errors import EnvironmentFault, RefusedError, UsageError

if TYPE_CHECKING:
    from actum.bootstrap import Kernel
    from actum.service.answer import Person

F = TypeVar("F", bound=Callable[..., Any])


def store_options(command: F) -> F:
    """Give a verb --store, --as and --json."""
    command = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")(command)
    command = click.option("--as", "who", metavar="NAME", help="Who you are; your user's name by default.")(
        command
    )
    return click.option(
        "--store",
        metavar="PATH",
        help="The store's folder; else $ACTUM_STORE, else the nearest .actum upwards.",
    )(command)


def passphrase_option(command: F) -> F:
    """Give a verb --passphrase-file."""
    return click.option(
        "--passphrase-file", metavar="FILE", help="The passphrase of your key; else it is asked for."
    )(command)


@contextmanager
def opened(store: str | None, who: str | None) -> Generator[Kernel]:
    """Open the store for one command and give it back afterwards (rule 1)."""
    from actum.bootstrap.kernel import Kernel

    kernel = Kernel.open(None if store is None else Path(store), create=False, principal=who)
    try:
        yield kernel
    finally:
        kernel.close()


def answering_person(kernel: Kernel, who: str | None, *, passphrase_file: str | None) -> Person:
    """Return who answers, with their key where they have one (rules 2 and 3)."""
    from actum.adapters.machine.host import user_name
    from actum.service.answer import NOT_PERSONS, Person

    name = who or user_name()
    if name.startswith(NOT_PERSONS):
        raise RefusedError(
            "not_a_person",
            failed=f"{name} is no person: agents, models and tools propose, and only people answer",
            state="Nothing was answered",
            next_step="Answer under your own name, or let somebody answer who has the role",
            person=name,
        )
    if kernel.place.has_key(name):
        # Rule 2
        given = read_passphrase(passphrase_file, prompt=f"Passphrase of {name}")
        return kernel.person(name, passphrase=given)
    if name != user_name():
        # Rule 3
        raise RefusedError(
            "no_key_of_that_name",
            failed=f"{name} has no key in this store, and you run as {user_name()}",
            state="Nothing was answered",
            next_step=f"Let an operator run `actum init --person {name}`, or answer under your own name",
            person=name,
        )
    return Person(name=name)


def read_passphrase(path: str | None, *, prompt: str) -> bytes | None:
    """Return the passphrase from a file or the terminal; None where there is neither."""
    if path is not None:
        return passphrase_of(path)
    if not sys.stdin.isatty():
        return None
    text: str = click.prompt(prompt, hide_input=True, err=True)
    return text.encode()


def passphrase_of(path: str) -> bytes:
    """Return the passphrase in a file: its first line."""
    try:
        lines = Path(path).read_bytes().splitlines()
    except OSError as error:
        raise EnvironmentFault(
            "passphrase_file_unreadable",
            failed=f"the passphrase file {path} cannot be read: {error.strerror}",
            state="No key was opened and nothing was answered",
            next_step="Give the path of a file that you can read",
        ) from error
    if not lines or not lines[0]:
        raise UsageError(
            "passphrase_file_empty",
            failed=f"the first line of the passphrase file {path} is empty",
            state="No key was opened and nothing was answered",
            next_step="Write the passphrase on its first line",
        )
    return lines[0]
