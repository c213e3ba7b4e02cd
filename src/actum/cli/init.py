# SPDX-License-Identifier: Apache-2.0
"""`actum init` makes a store with its keys, and enrols a person with a key that only they can open.

Rules
1. A store that exists is left as it is; with --person one more person is enrolled in it, by its operator. Where
   only its trust file was lost, that is made anew from its keys.
2. A person's key is encrypted with their passphrase; without one no key is made, and what that means is said.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from actum.cli.first_files import CONFIG, EXAMPLE, EXAMPLE_NAME
from actum.cli.opened import answering_person, opened, passphrase_of, passphrase_option, store_options
from actum.cli.render import emit
from actum.model.errors import EnvironmentFault, UsageError

if TYPE_CHECKING:
    from actum.bootstrap.place import Place


@click.command("init")
@click.option("--example", is_flag=True, help="Also write the example process inbox_triage.")
@click.option("--person", metavar="NAME", help="Enrol one more person in a store that exists.")
@click.option(
    "--new-passphrase-file", metavar="FILE", help="With --person: the passphrase of the person enrolled."
)
@passphrase_option
@store_options
def init(
    *,
    example: bool,
    person: str | None,
    new_passphrase_file: str | None,
    passphrase_file: str | None,
    store: str | None,
    who: str | None,
    as_json: bool,
) -> int:
    """Make a store here (in .actum, or where --store says), with a key of your own.

    The passphrase of your key is asked for on a terminal, or read from --passphrase-file. Without one you answer
    under your user's name, and the store's own key signs for you.
    """
    if person is not None:
        return _enrol(person, new_passphrase_file, passphrase_file, store=store, who=who, as_json=as_json)
    from actum.adapters.machine.host import user_name
    from actum.bootstrap.kernel import Kernel
    from actum.bootstrap.place import FOLDER, Place

    place = Place(Path(store or os.environ.get("ACTUM_STORE") or FOLDER))
    if place.exists():
        # Rule 1
        if place.missing() == [place.trust_file.name]:
            return _mend(place, as_json=as_json)
        place.require_whole()
        raise UsageError(
            "store_exists",
            failed=f"there is a store at {place.folder} already",
            state="It was left as it is",
            next_step="Use it, give another --store, or enrol one more person with --person NAME",
        )
    name = who or user_name()
    first = place.first_person()
    if first not in (None, name):
        raise UsageError(
            "store_begun_for_another",
            failed=f"the store at {place.folder} is being made for {first}, and that broke off",
            state=f"It is not usable yet, and the key in it opens with the passphrase of {first}",
            next_step=f"Finish it with `actum init --as {first}`, or remove the folder and begin anew",
        )
    passphrase = _new_passphrase(passphrase_file, name)
    if passphrase is None and name != user_name():
        raise UsageError(
            "passphrase_needed",
            failed=f"{name} is not the user you run as, and another name needs a key of its own",
            state="No store was made",
            next_step="Give --passphrase-file, run in a terminal, or leave --as out",
        )
    place.create()
    _write(place.config_file, CONFIG)
    if example:
        _write(place.processes / EXAMPLE_NAME, EXAMPLE)
    # Rule 2
    keyid = None if passphrase is None else place.enrol(name, passphrase=passphrase)
    Kernel.open(place.folder, principal=name).close()
    if as_json:
        emit({"store": str(place.folder), "person": name, "keyid": keyid, "example": example})
    else:
        _tell(place, name, keyid=keyid, example=example)
    return 0


def _mend(place: Place, *, as_json: bool) -> int:
    people = place.rebuild_trust()
    if as_json:
        emit(
            {
                "store": str(place.folder),
                "trust_file": str(place.trust_file),
                "people": people,
                "rebuilt": True,
            }
        )
        return 0
    who = f"{', '.join(people)} included" if people else "nobody has a key of their own here"
    click.echo(f"The store at {place.folder} had lost its trust file; it was made anew from the keys, {who}.")
    click.echo(
        "A key that was revoked or had expired counts again: look at the file before you run anything."
    )
    return 0


def _tell(place: Place, name: str, *, keyid: str | None, example: bool) -> None:
    click.echo(f"A store was made at {place.folder}. Its settings: {place.config_file}")
    if keyid is None:
        click.echo(f"{name} has no key of their own: the store's key signs what {name} answers.")
    else:
        click.echo(f"{name} answers with a key of their own ({keyid}); only the passphrase opens it.")
    if example:
        click.echo(f"Example process: {place.processes / EXAMPLE_NAME}")
        item = '\'{"work_type": "ea_brief", "subject": {"text": "Call Ann"}}\''
        click.echo(f"Next: actum submit {item}")
    else:
        item = '{"capability": "files.write", "arguments": {"path": "hello.txt", "content": "hello"}}'
        click.echo(f'Next: actum submit \'{{"work_type": "agent.action", "subject": {item}}}\'')
    click.echo("Then: actum inbox")


def _enrol(
    person: str,
    new_file: str | None,
    operator_file: str | None,
    *,
    store: str | None,
    who: str | None,
    as_json: bool,
) -> int:
    from actum.service.roles import give_role

    with opened(store, who) as kernel:
        operator = answering_person(kernel, who, passphrase_file=operator_file)
        passphrase = _new_passphrase(new_file, person)
        if passphrase is None:
            raise UsageError(
                "passphrase_needed",
                failed=f"{person} needs a passphrase for a key of their own",
                state="Nobody was enrolled",
                next_step="Give --new-passphrase-file, or run in a terminal",
            )
        give_role(kernel.line, person, role="approver", by=operator)
        keyid = kernel.place.enrol(person, passphrase=passphrase)
    if as_json:
        emit({"person": person, "keyid": keyid, "role": "approver", "by": operator.name})
    else:
        click.echo(
            f"{person} may answer questions, with a key of their own ({keyid}); enrolled by {operator.name}."
        )
    return 0


def _new_passphrase(path: str | None, name: str) -> bytes | None:
    if path is not None:
        return passphrase_of(path)
    if not sys.stdin.isatty():
        return None
    text: str = click.prompt(
        f"New passphrase for {name} (empty: no key)",
        default="",
        show_default=False,
        hide_input=True,
        confirmation_prompt=True,
        err=True,
    )
    return text.encode() or None


def _write(path: Path, text: str) -> None:
    from actum.service.whole_file import write_new

    try:
        write_new(path, text.encode())
    except FileExistsError:
        return
    except OSError as error:
        raise EnvironmentFault(
            "place_unwritable",
            failed=f"{path} cannot be written: {error.strerror}",
            state="The store's folder and keys were made; the store itself was not",
            next_step="Free some space, or mend the folder's owner and mode, then run `actum init` again",
        ) from error
