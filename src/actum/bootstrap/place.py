# SPDX-License-Identifier: Apache-2.0
"""A store's place is one folder: the database, keys, trust file, configuration, processes, and what is kept.

Rules
1. The folder is made with mode 0700 and its keys with 0600.
2. ``actum.toml`` is read whole; every problem in it is reported at once.
3. A place is found from ``--store``, else $ACTUM_STORE, else the nearest ``.actum`` upwards.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from actum.adapters.signing.key_store import FileKeyStore
from actum.evidence.trust_file import Trust, read_trust
from actum.model.errors import EnvironmentFault, UsageError
from actum.model.trust import KeyRole, TrustedKey, TrustFile

FOLDER = ".actum"
KERNEL, VERIFIER = "kernel", "verifier"
SECTIONS = ("store", "files", "mail", "models", "processes")


class Place:
    """The folder of one store and the files in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = folder / "store.db"
        self.trust_file = folder / "trust.json"
        self.config_file = folder / "actum.toml"
        self.checkpoint = folder / "checkpoint"
        self.keep = folder / "keep"
        self.content = folder / "content"
        self.drafts = folder / "drafts"
        self.processes = folder / "processes"
        self.keys = FileKeyStore(folder / "keys")

    def exists(self) -> bool:
        """Tell whether a store was made here."""
        return self.trust_file.exists()

    def create(self) -> None:
        """Make the folder with its keys and trust file; what is there already is left as it is."""
        try:
            # Rule 1
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for folder in (self.keep, self.content, self.drafts, self.processes):
                folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise EnvironmentFault(
                "place_unwritable",
                failed=f"the folder {self.folder} cannot be made or written: {error.strerror}",
                state="No store was made",
                next_step="Give another --store, or mend the owner and mode of the folder above it",
            ) from error
        names = self.keys.names()
        for name in (KERNEL, VERIFIER):
            if name not in names:
                self.keys.create(name)
        if not self.trust_file.exists():
            self.write_trust(
                [
                    self._entry(KERNEL, (KeyRole.KERNEL, KeyRole.LOG), principal=KERNEL),
                    self._entry(VERIFIER, (KeyRole.VERIFIER,), principal=VERIFIER),
                ]
            )

    def enrol(self, person: str, *, passphrase: bytes) -> str:
        """Make a person's own key, pin it as approver, and return its keyid."""
        signer = self.keys.create(f"person-{person}", passphrase=passphrase)
        self.write_trust(
            [*self.trust_keys(), self._entry(f"person-{person}", (KeyRole.APPROVER,), principal=person)]
        )
        return signer.keyid

    def has_key(self, person: str) -> bool:
        """Tell whether a person has a key of their own here."""
        return (self.folder / "keys" / f"person-{person}.pub.json").exists()

    def _entry(self, name: str, roles: tuple[KeyRole, ...], *, principal: str) -> TrustedKey:
        half = self.keys.public(name)
        return TrustedKey(keyid=half.keyid, public=half.public, roles=roles, principal=principal)

    def trust_keys(self) -> list[TrustedKey]:
        """Return the entries of the trust file as written."""
        return list(msgspec.json.decode(self._read(self.trust_file), type=TrustFile).keys)

    def trust(self) -> Trust:
        """Return the pinned keys."""
        return read_trust(self._read(self.trust_file))

    def write_trust(self, keys: list[TrustedKey]) -> None:
        """Replace the trust file in one step."""
        body = msgspec.json.format(msgspec.json.encode(TrustFile(keys=tuple(keys))), indent=2)
        waiting = self.trust_file.with_suffix(".new")
        fd = os.open(waiting, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(fd, "wb") as file:
            file.write(body + b"\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(waiting, self.trust_file)

    def config(self) -> dict[str, dict[str, Any]]:
        """Return actum.toml by section; an absent file is an empty one (rule 2)."""
        if not self.config_file.exists():
            return {}
        try:
            found = tomllib.loads(self._read(self.config_file).decode())
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UsageError(
                "bad_config",
                failed=f"{self.config_file} is no TOML: {error}",
                state="Nothing was opened",
                next_step="Mend the file at the line it names, or remove it to use the defaults",
            ) from error
        problems = [f"unknown section [{name}]" for name in found if name not in SECTIONS]
        problems += [
            f"{name} is not a section" for name, value in found.items() if not isinstance(value, dict)
        ]
        if problems:
            raise UsageError(
                "bad_config",
                failed=f"{self.config_file}: " + "; ".join(problems),
                state="Nothing was opened",
                next_step=f"Use the sections {', '.join(SECTIONS)}",
            )
        return found

    def process_files(self) -> dict[str, str]:
        """Return the process files by path."""
        files: dict[str, str] = {}
        for path in sorted([*self.processes.glob("*.yaml"), *self.processes.glob("*.yml")]):
            try:
                files[str(path)] = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise UsageError(
                    "process_file_unreadable",
                    failed=f"{path} cannot be read as UTF-8 text: {error}",
                    state="The rules in force are as they were",
                    next_step="Save the file as UTF-8, or move it out of the folder",
                ) from error
        return files

    def _read(self, path: Path) -> bytes:
        try:
            return path.read_bytes()
        except OSError as error:
            raise EnvironmentFault(
                "place_unreadable",
                failed=f"{path} cannot be read: {error.strerror}",
                state="Nothing was opened",
                next_step="Run `actum init` for a new store, or restore the file from a backup",
            ) from error


class CurrentTrust:
    """The pinned keys of a place as the trust file is now: read again when the file is another one or was written."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._read = self._stamp(), place.trust()

    def __call__(self) -> Trust:
        """Return the pinned keys; EnvironmentFault or UsageError where the changed file cannot be read."""
        stamp = self._stamp()
        if stamp != self._read[0]:
            self._read = stamp, self._place.trust()
        return self._read[1]

    def _stamp(self) -> tuple[int, ...] | None:
        try:
            found = self._place.trust_file.stat()
        except OSError:
            return None  # Reading it says what is wrong.
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def find_place(given: str | None, *, start: Path | None = None) -> Place:
    """Return the place a command means (rule 3); UsageError where there is none."""
    named = given or os.environ.get("ACTUM_STORE")
    if named:
        return Place(Path(named))
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / FOLDER / "trust.json").exists():
            return Place(folder / FOLDER)
    raise UsageError(
        "no_store",
        failed=f"there is no store in {here} or any folder above it",
        state="Nothing was read or changed",
        next_step="Run `actum init` here, or give --store PATH or $ACTUM_STORE",
    )


def seed_of(place: Place, name: str) -> bytes:
    """Return the raw seed of a key, for the one process that is handed it."""
    return place.keys.load(name).seed()
