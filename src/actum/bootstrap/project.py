# SPDX-License-Identifier: Apache-2.0
"""A project is a store with its process files: files come in once they load, and a store goes once its record left.

Rules
1. A process file is added only if it loads beside the others and their capabilities; it appears whole or not at all.
2. A store is removed only where nothing is open in it and a bundle of its whole log verifies under its trust file.
3. It is first renamed in one step, so that it is never half there under its name.
4. What is said of the state after a failure is looked up, not assumed.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

from actum.bootstrap.kernel import Kernel
from actum.bootstrap.place import Place
from actum.evidence.verdict import DEFAULT_REQUIRE
from actum.evidence.verify import verify_bundle
from actum.model.activity import ActivityFilter
from actum.model.errors import ActumError, EnvironmentFault, RefusedError, UsageError
from actum.process.activate import compile_rulebook
from actum.process.problems import ProcessFileError
from actum.service.touched import rows_left


def _why_not(source: Path, target: Path) -> str | None:
    """Return why a file cannot be added under its name, or None."""
    if source.is_dir():
        return f"{str(source)!r} is a folder"
    if source.suffix not in (".yaml", ".yml"):
        return f"the name {source.name!r} does not end with .yaml or .yml"
    return f"a process file named {source.name!r} is there already" if target.exists() else None


def add_file(kernel: Kernel, source: Path) -> Path:
    """Add a process file and return where it lies now (rule 1); ProcessFileError with all its problems."""
    place = kernel.place
    target = place.processes / source.name
    why = _why_not(source, target)
    if why is not None:
        raise UsageError(
            "process_file_name",
            failed=f"the file was not added: {why}",
            state=_files_state(place, target),
            next_step="Give one process file (.yaml or .yml) with a free name; one in use is changed where it lies",
        )
    try:
        text = _text_of(source, place, target)
        infos = {info.id: info for info in kernel.line.registry.infos()}
        compile_rulebook({**place.process_files(), str(source): text}, capabilities=infos)
        _put(target, text)
    except ProcessFileError as error:
        error.failed = f"the file was not added: {error.failed}"
        error.state = _files_state(place, target)
        raise
    except OSError as error:
        raise EnvironmentFault(
            "process_file_unwritable",
            failed=f"the file was not added: {error.strerror} ({error.filename})",
            state=_files_state(place, target),
            next_step="Mend the path, owner, mode or space, and add it again",
        ) from error
    kernel.line.rules.active()
    return target


def _text_of(source: Path, place: Place, target: Path) -> str:
    try:
        return source.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(
            "process_file_unreadable",
            failed=f"the file was not added: {source} cannot be read: {why}",
            state=_files_state(place, target),
            next_step="Give the path of a UTF-8 text file that you can read",
        ) from error


def _put(target: Path, text: str) -> None:
    waiting = target.with_suffix(".part")
    try:
        fd = os.open(waiting, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with open(fd, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.rename(waiting, target)
    finally:
        waiting.unlink(missing_ok=True)


def _files_state(place: Place, target: Path) -> str:
    # Rule 4
    try:
        compile_rulebook(place.process_files())
    except ActumError as error:
        return f"The process folder does not load as it is now: {error.failed}"
    there = [path.name for path in place.processes.glob("*.y*ml")]
    count = f"the project has {len(there)} process file(s), and all of them load"
    if target.name in there:
        return f"A file {target.name} is there; {count}"
    return f"Nothing unverified was added; {count}"


def remove_store(kernel: Kernel, *, bundle: Path, now_ms: int) -> int:
    """Remove the open store, and return how many log records its bundle holds (rules 2 and 3)."""
    place = kernel.place
    try:
        size = _check_removable(kernel, bundle, now_ms=now_ms)
        kernel.close()
        gone = place.folder.resolve().with_name(f".removed-{time.time_ns()}")
        os.rename(place.folder, gone)
    except ActumError as error:
        raise _not_removed(error, place) from error
    except OSError as error:
        fault = EnvironmentFault(
            "store_not_renamed",
            failed=f"the folder cannot be moved: {error.strerror}",
            state="",
            next_step="Mend the owner and mode of the folder above it",
        )
        raise _not_removed(fault, place) from error
    try:
        shutil.rmtree(gone)
    except OSError as error:
        raise EnvironmentFault(
            "store_partly_removed",
            failed=f"the project was not removed whole: {error.strerror}",
            state=f"Its whole record, which verifies, is in {bundle}; {_left_in(gone)}",
            next_step=f"Remove {gone} by hand",
        ) from error
    return size


def _left_in(folder: Path) -> str:
    return f"{sum(path.is_file() for path in folder.rglob('*'))} file(s) of it are left in {folder}"


def _check_removable(kernel: Kernel, bundle: Path, *, now_ms: int) -> int:
    size = kernel.line.store.read(lambda tx: tx.log_state()[0])
    if rows_left(kernel.line) or kernel.activity(ActivityFilter.NEEDS_ATTENTION, limit=1):
        raise RefusedError(
            "store_in_use",
            failed="something is open in it: an effect to carry out, or something that needs a person",
            state="",
            next_step="See `actum activity`, and finish what is open",
        )
    try:
        with open(bundle, "rb") as stream:
            verdict = verify_bundle(
                stream,
                trust=kernel.place.trust(),
                now_ms=now_ms,
                min_size=max(size, 1),
                require=DEFAULT_REQUIRE,
            )
    except OSError as error:
        raise UsageError(
            "bundle_unreadable",
            failed=f"the bundle {bundle} cannot be read: {error.strerror}",
            state="",
            next_step="Write one with `actum export -o FILE`",
        ) from error
    if verdict.exit_code != 0 or verdict.tree_size != size:
        raise RefusedError(
            "bundle_not_whole",
            failed=f"the bundle {bundle} is not the whole record of this store",
            state="",
            next_step="Write a new one with `actum export -o FILE`, and see `actum verify` for what it lacks",
        )
    return size


def _not_removed(error: ActumError, place: Place) -> ActumError:
    # Rule 4
    if place.exists() and not place.missing():
        state = f"Nothing unverified was removed; the store is at {place.folder}, with its database and keys"
    else:
        state = f"The folder {place.folder} does not hold a whole store any more"
    error.failed = f"the project was not removed: {error.failed}"
    error.state = state
    return error
