# SPDX-License-Identifier: Apache-2.0
"""A batch leaves in waves, so that no effect acts between the two looks of another one at the same thing.

Rules
1. Effects share a wave only where each capability declares that its resources are all it touches, and no two of
   them touch the same thing; every other effect is a wave of its own.
2. Two things are the same where they have one id, where one path lies below the other, or where they are one file
   on the disk.
3. A row that was tried before is a wave of its own: what stopped it must not stop its neighbours again.
4. The order of the batch is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from actum.model.effect import Resource
from actum.service.job import Job


def waves_of(jobs: Sequence[Job]) -> list[list[Job]]:
    """Return the jobs in order, in groups that may be looked at, marked and executed together."""
    waves: list[list[Job]] = []
    taken: set[str] | None = None
    for job in jobs:
        touched = _touched(job)
        if touched is None or taken is None or _overlap(touched, taken):
            waves.append([])
            taken = set()
        waves[-1].append(job)
        taken = (
            None if touched is None else (taken or set()) | touched
        )  # Rule 4: only the last wave still grows.
    return waves


def _touched(job: Job) -> set[str] | None:
    """Return the names of everything a job touches, or None where that is not known."""
    resources = job.effect.descriptor.canonical_resources
    # Rules 1 and 3
    if not job.capability.info.resources_are_all or not resources or job.row.attempts > 1:
        return None
    return {name for resource in resources for name in _names(resource)}


def _names(resource: Resource) -> list[str]:
    # Rule 2
    file = resource.file
    return [resource.id] if file is None else [resource.id, f"file {file.device} {file.inode}"]


def _overlap(names: set[str], taken: set[str]) -> bool:
    return bool(names & taken) or any(_below(one, other) for one in names for other in taken)


def _below(one: str, other: str) -> bool:
    if not (one.startswith("/") and other.startswith("/")):
        return False
    # Rule 2
    one, other = one.rstrip("/") + "/", other.rstrip("/") + "/"
    return one.startswith(other) or other.startswith(one)
