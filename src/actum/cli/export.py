# SPDX-License-Identifier: Apache-2.0
"""`actum export` writes the whole record as one signed file of digests; nobody's content is in it."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import click
import msgspec

from actum.cli.opened import opened, store_options
from actum.cli.render import count_of, emit
from actum.evidence.bundle import FORMAT, MAX_LINE_BYTES
from actum.model.errors import EnvironmentFault, UsageError
from actum.model.visible import visible
from actum.service.own_key import why_not_in_force

if TYPE_CHECKING:
    from actum.bootstrap import Kernel


@click.command("export")
@click.option("-o", "--output", metavar="FILE", help="Write here; else to standard output.")
@store_options
def export(*, output: str | None, store: str | None, who: str | None, as_json: bool) -> int:
    """Write the record as one signed file of digests, for `actum verify` anywhere.

    No argument, result, message or file content is in it. Give the trust file beside the store along by another
    way: keys inside a bundle prove nothing.
    """
    with opened(store, who) as kernel:
        if output in (None, "-"):
            kernel.export(_standard_output())
            return 0
        target = Path(output)
        _require_target(output, target, kernel=kernel)
        # Under a name of this process, and never over a file that is somebody else's.
        waiting = target.with_name(f".{target.name}.{os.getpid()}.part")
        ours = False
        try:
            with open(waiting, "xb") as stream:
                ours = True
                header = kernel.export(stream)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(waiting, output)
        except OSError as error:
            raise EnvironmentFault(
                "export_unwritable",
                failed=f"the bundle could not be written to {visible(output)}: {error.strerror}",
                state="No file of that name was made or changed; the store is as it was",
                next_step="Free some space or give another place with -o",
            ) from error
        finally:
            if ours:
                waiting.unlink(missing_ok=True)
        why = why_not_in_force(kernel.line, at_ms=kernel.line.now())
        if as_json:
            emit({"file": output, **header, "signing_key_fault": why})
        else:
            size = header["tree_size"]
            click.echo(f"{count_of(size, 'record')} written to {visible(output)}.")
            if why is not None:
                click.echo(
                    f"The key that signed its checkpoint {why}: who trusts that file will not accept it."
                )
            if size:
                named = shlex.join([output, "--trust", str(kernel.place.trust_file)])
                click.echo(f"Next: actum verify {visible(named)} --min-size {size}")
            else:
                click.echo("There is nothing in it to verify yet.")
    return 0


def _standard_output() -> BinaryIO:
    if sys.stdout is None:  # Python has none where it was closed.
        raise UsageError(
            "output_closed",
            failed="standard output is closed",
            state="Nothing was written; the store is as it was",
            next_step="Name a file with -o",
        )
    return sys.stdout.buffer


def _require_target(output: str, target: Path, *, kernel: Kernel) -> None:
    """Raise UsageError for a name that no bundle may be written to."""
    shown = visible(output)
    if not output:
        raise _unfit(
            "output_missing", "-o names no file", "Name a file, or leave out -o to write to standard output"
        )
    if target.is_dir():
        inside = visible(str(target / "record.jsonl"))
        raise _unfit(
            "output_is_folder",
            f"{shown} is a folder, and a bundle is one file",
            f"Name the file in it: actum export -o {inside}",
        )
    if not target.parent.is_dir():
        raise _unfit(
            "output_folder_missing",
            f"there is no folder {visible(str(target.parent))}",
            "Make the folder, or name a file in one that is there",
        )
    if target.resolve().is_relative_to(kernel.place.folder.resolve()):
        raise _unfit(
            "output_in_store",
            f"{shown} lies in the store's own folder, whose files are not replaced",
            "Name a file outside of it",
        )
    if os.path.lexists(target) and (target.is_symlink() or not target.is_file()):
        raise _unfit(
            "output_is_no_file",
            f"{shown} is there and is no ordinary file",
            "Name a new file, or leave out -o to write to standard output",
        )
    if target.exists() and not _is_bundle(target):
        raise _unfit(
            "output_is_no_bundle",
            f"{shown} is there already and is no bundle",
            "Name a new file, or remove that one first",
        )


def _unfit(code: str, failed: str, next_step: str) -> UsageError:
    return UsageError(
        code,
        failed=failed,
        state="Nothing was written; it and the store are as they were",
        next_step=next_step,
    )


def _is_bundle(path: Path) -> bool:
    """Tell whether a file may be replaced by a bundle: it is an older one, or has nothing in it."""
    try:
        # A pipe that took the file's place meanwhile must not keep us waiting.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW), "rb") as stream:
            begins = stream.readline(MAX_LINE_BYTES)
        header = msgspec.json.decode(begins) if begins else {"format": FORMAT}
    except (OSError, msgspec.DecodeError):
        return False
    return isinstance(header, dict) and cast("dict[str, Any]", header).get("format") == FORMAT
