# SPDX-License-Identifier: Apache-2.0
"""What the machine says of a store's place is gathered here, also where the store cannot be opened.

Rules
1. Key files are for their owner only, and nobody else may write the trust file or the folder.
2. A store that cannot be opened is a finding like any other, and the rest is examined as far as it can be.
3. Nothing is changed, and no passphrase is needed.
4. A key that signed something and is pinned no more is told: a key is retired by a bound, not by leaving it out.
"""

from __future__ import annotations

import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from actum.adapters.machine.host import user_name
from actum.adapters.store.engine import sqlite_in_use
from actum.bootstrap.kernel import Kernel
from actum.bootstrap.opening import newest_ms
from actum.bootstrap.place import PERSON, VERIFIER, Place
from actum.model.errors import ActumError
from actum.model.trust import KeyRole
from actum.service.doctor import Finding, Machine, Severity, examine, of_error, problem, worst_first
from actum.service.drafts import left_behind
from actum.service.export import signers
from actum.service.own_key import NEXT, why_key_not_in_force, why_not_in_force


class Examined(NamedTuple):
    """What was found, and the exit code it comes to: 4 corrupt, 1 something to act upon, 0 neither, else the code of
    the error that kept the store closed."""

    findings: list[Finding]
    code: int
    engine: str


def examine_place(place: Place, *, principal: str | None) -> Examined:
    """Return everything found at a place."""
    findings = list(_files(place))
    code = 0
    engine, _ = sqlite_in_use()
    try:
        with Kernel.open(place.folder, create=False, principal=principal) as kernel:
            findings += examine(kernel.line, machine_of(kernel))
            findings += _signers(kernel)
    except ActumError as error:
        # Rule 2
        if all(found.code != error.code for found in findings):
            findings.append(of_error(error))
        code = error.exit_code
    findings = worst_first(findings)
    severities = {found.severity for found in findings}
    if Severity.CORRUPT in severities or code == 4:
        return Examined(findings, 4, engine)
    return Examined(findings, code or int(Severity.PROBLEM in severities), engine)


def machine_of(kernel: Kernel) -> Machine:
    """Return what the machine says of an open store."""
    engine, is_new = sqlite_in_use()
    place = kernel.place
    newest = kernel.line.store.read(newest_ms)
    return Machine(
        engine=engine,
        engine_ok=is_new,
        disk_free=shutil.disk_usage(place.folder).free,
        behind_ms=max(0, newest - _wall_ms()),
        moved=kernel.moved,
        drafts=tuple(path.name for path in left_behind(place.drafts)),
        people_with_key=tuple(
            name.removeprefix("person-") for name in place.keys.names() if name.startswith("person-")
        ),
        user=user_name(),
        log_problems=tuple(kernel.check_log()),
    )


def _signers(kernel: Kernel) -> Iterator[Finding]:
    # Rule 4
    why = why_not_in_force(kernel.line, at_ms=_wall_ms())
    if why is not None:
        keyid = kernel.line.kernel_key.keyid
        yield problem("kernel_key_not_in_force", f"the key this store signs with ({keyid}) {why}", NEXT)
    half = kernel.place.keys.public(VERIFIER)
    why = why_key_not_in_force(kernel.line, half.keyid, role=KeyRole.VERIFIER, at_ms=_wall_ms())
    if why is not None:
        yield problem(
            "verifier_key_not_in_force",
            f"the key that looks are signed with ({half.keyid}) {why}: no look counts, so nothing is observed",
            "If that is a mistake, correct its entry in trust.json; if the key was stolen, make a new store",
        )
    pinned = kernel.line.trust.entries
    for keyid in sorted(signers(kernel.line) - set(pinned)):
        yield problem(
            "signer_not_pinned",
            f"the key {keyid} signed records of this store and is not in its trust file any more",
            "Put it back into trust.json, with revoked_at where it was retired: else nobody can say whose it was",
        )
    for name in kernel.place.keys.names():
        if name.startswith(PERSON) and kernel.place.keys.public(name).keyid not in pinned:
            yield problem(
                "person_not_pinned",
                f"{name.removeprefix(PERSON)} has a key here that is not in the trust file, and cannot answer",
                "Put it back into trust.json, or remove the key's files",
            )


def _files(place: Place) -> Iterator[Finding]:
    # Rule 1
    for path in sorted([*place.folder.glob("keys/*.key.json"), *place.folder.glob("keys/*.sealed.json")]):
        if _mode(path) & 0o077:
            yield problem(
                "key_file_open_to_others",
                f"the key file {path.name} can be reached by other users (mode {_mode(path):04o})",
                "Set its mode to 0600; unless nobody read it, make a new key",
            )
    for path in (place.folder, place.trust_file, place.config_file, place.processes):
        if path.exists() and _mode(path) & 0o022:
            yield problem(
                "writable_by_others",
                f"{path} can be written by other users (mode {_mode(path):04o})",
                f"Run `chmod go-w {path}`: who can write it can decide what is trusted",
            )


def _wall_ms() -> int:
    # The kernel's own clock says nothing while the wall clock is behind, which is itself a finding.
    return time.time_ns() // 1_000_000


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
