# SPDX-License-Identifier: Apache-2.0
"""Files become one rulebook, and a rulebook becomes the index that decides; a person confirms what may stage.

Activation gives an authored pattern the right to decide. The right to stage an action is given for one exact
digest by a named person, and is kept in the rulebook; recording who gave it is the caller's grant.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from importlib import metadata
from typing import TYPE_CHECKING, NamedTuple

from actum.kernel.index import RulebookIndex, build_index
from actum.model.errors import Refused
from actum.model.plan import render
from actum.model.process import Process, Rulebook, Semantics, pattern_digest
from actum.process.problems import Problem, ProcessFileError
from actum.process.regex import compile_regex

if TYPE_CHECKING:
    from actum.process.actions import CapabilityFacts

# Changes when the meaning of a plan, a parser or the walk changes, not with each release.
KERNEL_SEMANTICS = "actum.ladder/1"


class Activated(NamedTuple):
    """A rulebook and the findings of all its files."""

    rulebook: Rulebook
    findings: tuple[Problem, ...]


class PendingPattern(NamedTuple):
    """An authored pattern that asks to stage actions: what a person would confirm."""

    process: str
    pattern: str
    digest: str
    when: str
    actions: tuple[str, ...]
    confirmed: bool


def compile_rulebook(
    files: Mapping[str, str],
    *,
    capabilities: Mapping[str, CapabilityFacts] | None = None,
    confirmed: Iterable[str] = (),
) -> Activated:
    """Return the rulebook of all files (path to text); raises ProcessFileError with the problems of all.

    ``confirmed`` are digests that a person confirmed before; those that no pattern of these files has are
    left out, so that a changed pattern starts unconfirmed.
    """
    # A stored rulebook is indexed without reading a file, so the YAML reader is loaded only here.
    from actum.process.load import read_process

    processes: list[Process] = []
    problems: list[Problem] = []
    findings: list[Problem] = []
    for path in sorted(files):
        try:
            loaded = read_process(files[path], path=path, capabilities=capabilities)
        except ProcessFileError as error:
            problems.extend(error.problems)
            continue
        problems.extend(_clashes(loaded.process, processes, path))
        processes.append(loaded.process)
        findings.extend(loaded.findings)
    if problems:
        raise ProcessFileError(problems)
    rulebook = Rulebook(processes=tuple(sorted(processes, key=lambda process: process.name)))
    known = {pending.digest for pending in staging_patterns(rulebook)}
    return Activated(
        Rulebook(processes=rulebook.processes, confirmed=tuple(sorted(known & set(confirmed)))),
        tuple(findings),
    )


def staging_patterns(rulebook: Rulebook) -> tuple[PendingPattern, ...]:
    """Return every authored pattern that stages an action, confirmed or not."""
    return tuple(
        PendingPattern(
            process=process.name,
            pattern=pattern.id,
            digest=(digest := pattern_digest(process, pattern)),
            when=render(pattern.when),
            actions=pattern.then.stage,
            confirmed=digest in rulebook.confirmed,
        )
        for process in rulebook.processes
        for pattern in process.patterns
        if pattern.then.stage
    )


def confirm_pattern(rulebook: Rulebook, *, digest: str, person: str) -> Rulebook | Refused:
    """Return the rulebook in which the pattern of that exact digest may stage; it records no grant itself."""
    if not person.strip():
        return Refused(reason="person_unnamed", facts={"digest": digest})
    if digest not in {pending.digest for pending in staging_patterns(rulebook)}:
        return Refused(reason="pattern_unknown", facts={"digest": digest})
    confirmed = tuple(sorted({*rulebook.confirmed, digest}))
    return Rulebook(processes=rulebook.processes, confirmed=confirmed)


def index_of(rulebook: Rulebook) -> RulebookIndex:
    """Return the index of a rulebook under the semantics of this installation."""
    return build_index(rulebook, regex=compile_regex, semantics=semantics())


@functools.cache
def semantics() -> Semantics:
    """Return the versions that decisions taken here depend on. No zone data is read by any rule."""
    return Semantics(
        kernel=KERNEL_SEMANTICS,
        cel=metadata.version("cel-expr-python"),
        re2=metadata.version("google-re2"),
        tzdata="not used",
    )


def _clashes(process: Process, others: list[Process], path: str) -> list[Problem]:
    found: list[Problem] = []
    for other in others:
        shared = sorted(set(process.work_types) & set(other.work_types))
        if process.name == other.name:
            found.append(_clash(path, "process_twice", f"process {process.name!r} is in two files"))
        elif shared:
            found.append(
                _clash(path, "work_type_twice", f"{', '.join(shared)}: also taken by {other.name!r}")
            )
    return found


def _clash(path: str, code: str, message: str) -> Problem:
    return Problem(path=path, line=1, column=1, pointer="", code=code, message=message)
