# SPDX-License-Identifier: Apache-2.0
"""`actum export` writes the whole record as one signed file of digests; nobody's content is in it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from actum.cli.opened import opened, store_options
from actum.cli.render import count_of, emit
from actum.model.errors import EnvironmentFault, UsageError
from actum.service.own_key import why_not_in_force


@click.command("export")
@click.option("-o", "--output", metavar="FILE", help="Write here; else to standard output.")
@store_options
def export(*, output: str | None, store: str | None, who: str | None, as_json: bool) -> int:
    """Write the record as one signed file of digests, for `actum verify` anywhere.

    No argument, result, message or file content is in it. Give the trust file beside the store along by another
    way: keys inside a bundle prove nothing.
    """
    with opened(store, who) as kernel:
        if output is None:
            kernel.export(sys.stdout.buffer)
            return 0
        if Path(output).is_dir():
            raise UsageError(
                "output_is_folder",
                failed=f"{output} is a folder, and a bundle is one file",
                state="Nothing was written; the store is as it was",
                next_step=f"Name the file in it: actum export -o {Path(output) / 'record.jsonl'}",
            )
        target = Path(output)
        if os.path.lexists(target) and (target.is_symlink() or not target.is_file()):
            raise UsageError(
                "output_is_no_file",
                failed=f"{output} is there and is no ordinary file",
                state="Nothing was written; it and the store are as they were",
                next_step="Name a new file, or leave out -o to write to standard output",
            )
        if target.resolve().is_relative_to(kernel.place.folder.resolve()):
            raise UsageError(
                "output_in_store",
                failed=f"{output} lies in the store's own folder, whose files are not replaced",
                state="Nothing was written; the store is as it was",
                next_step="Name a file outside of it",
            )
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
                failed=f"the bundle could not be written to {output}: {error.strerror}",
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
            click.echo(f"{count_of(size, 'record')} written to {output}.")
            if why is not None:
                click.echo(
                    f"The key that signed its checkpoint {why}: who trusts that file will not accept it."
                )
            click.echo(f"Next: actum verify {output} --trust {kernel.place.trust_file} --min-size {size}")
    return 0
