# SPDX-License-Identifier: Apache-2.0
"""A store's place is one folder: the database, keys, trust file, configuration, processes, and what is kept.

Rules
1. The folder is made with mode 0700 and its keys with 0600.
2. ``actum.toml`` is read whole; every problem in it is reported at once.
3. A place is found from ``--store``, else $ACTUM_STORE, else the nearest ``.actum`` upwards.
4. A folder that holds a database, a key or a trust file is a store. Where one of them is missing it is incomplete:
   nothing new is made in its stead, except while the store is being made for the first time.
5. A lost trust file is made anew from the public halves beside the keys, people included, by `actum init` only.
6. What broke off while a key was made or pinned is finished by the next try; no key takes the place of another.
7. A store is being made until its first person has their roles. If that broke off after a key was made for them,
   the roles are theirs whoever opens it next.
"""

from __future__ import annotations

import base64
import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, cast

import msgspec

from actum.adapters.signing.key_store import FileKeyStore
from actum.evidence.trust_file import Trust, read_trust
from actum.model.errors import EnvironmentFault, UsageError
from actum.model.trust import KeyRole, TrustedKey, TrustFile
from actum.service.whole_file import replace

FOLDER = ".actum"
KERNEL, VERIFIER = "kernel", "verifier"
PERSON = "person-"
SECTIONS = ("store", "files", "mail", "models", "processes")
# The members of the sections that are read here; mail and models read their own.
MEMBERS: dict[str, dict[str, Any]] = {
    "store": {"url": Annotated[str, msgspec.Meta(min_length=1)]},
    "files": {"roots": list[Annotated[str, msgspec.Meta(min_length=1)]]},
    "processes": {},
}


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
        self._begun = folder / "begun"

    def exists(self) -> bool:
        """Tell whether a store was made here, whole or not (rule 4)."""
        return not self.is_new() and self.holds_something()

    def is_new(self) -> bool:
        """Tell whether making this store was begun and not ended: its first person has no roles in it yet."""
        return self._begun.exists()

    def holds_something(self) -> bool:
        """Tell whether any part of a store lies here."""
        parts = (self.trust_file, self.database, self._begun)
        return any(part.exists() for part in parts) or any(self.folder.glob("keys/*.json"))

    def missing(self) -> list[str]:
        """Return the parts of this store that are not there; a database at a configured address is not one."""
        parts = [self.trust_file, *(self.folder / "keys" / f"{name}.key.json" for name in (KERNEL, VERIFIER))]
        lost = [str(part.relative_to(self.folder)) for part in parts if not part.exists()]
        configured = "url" in self.config().get("store", {})
        if not configured and not _has_bytes(self.database) and not self.is_new():
            lost.append(self.database.name)
        return lost

    def require_whole(self) -> None:
        """Raise EnvironmentFault ``place_incomplete`` where a part of the store is missing (rule 4)."""
        lost = self.missing()
        if lost:
            raise EnvironmentFault(
                "place_incomplete",
                failed=f"the store at {self.folder} is not whole: {', '.join(lost)} is missing or empty",
                state="Nothing was opened, and nothing was made in its stead",
                next_step=f"Run `actum init --store {self.folder}`: it makes the trust file anew from the keys"
                if lost == [self.trust_file.name]
                else "Restore it from a backup; only with another --store is a new store made",
                missing=", ".join(lost),
            )

    def first_person(self) -> str | None:
        """Return whose key was made with this store, as long as it is being made: the roles in it are theirs."""
        return self._read(self._begun).decode() or None if self.is_new() else None

    def finish(self) -> None:
        """Note that the store was made whole."""
        self._begun.unlink(missing_ok=True)

    def create(self) -> None:
        """Make the folder with its keys and trust file; what is there already is left as it is."""
        try:
            # Rule 1
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for folder in (self.keep, self.content, self.drafts, self.processes):
                folder.mkdir(mode=0o700, exist_ok=True)
            # Only where nothing lies here: whoever comes while a store is being made must not begin it anew.
            if not self.holds_something():
                self._begun.touch(mode=0o600)
        except OSError as error:
            raise EnvironmentFault(
                "place_unwritable",
                failed=f"the folder {self.folder} cannot be made or written: {error.strerror}",
                state="No store was made",
                next_step="Give another --store, or mend the owner and mode of the folder above it",
            ) from error
        for name in (KERNEL, VERIFIER):
            if not self.keys.is_whole(name):
                self.keys.create(name)
        if not self.trust_file.exists():
            self.rebuild_trust()

    def rebuild_trust(self) -> list[str]:
        """Write a trust file from the public halves beside the keys; return the people in it (rule 5)."""
        people = sorted(
            path.name.removesuffix(".pub.json").removeprefix(PERSON)
            for path in self.folder.glob(f"keys/{PERSON}*.pub.json")
        )
        self.write_trust(
            [
                self._entry(KERNEL, (KeyRole.KERNEL, KeyRole.LOG), principal=KERNEL),
                self._entry(VERIFIER, (KeyRole.VERIFIER,), principal=VERIFIER),
                *(self._entry(PERSON + person, (KeyRole.APPROVER,), principal=person) for person in people),
            ]
        )
        return people

    def public_keys(self) -> list[bytes]:
        """Return the raw public halves that lie beside the keys, also of keys that are pinned no more."""
        names = [path.name.removesuffix(".pub.json") for path in sorted(self.folder.glob("keys/*.pub.json"))]
        return [base64.b64decode(self.keys.public(name).public) for name in names]

    def enrol(self, person: str, *, passphrase: bytes) -> str:
        """Make a person's own key, pin it as approver, and return its keyid.

        A key that is there and not pinned is pinned, if the passphrase opens it: its enrolment was cut off. So is
        one of a store that is being made; the person is its first.
        """
        name = PERSON + person
        whole = self.keys.is_whole(name)
        pinned = whole and self.trust().find(self.keys.public(name).keyid) is not None
        if whole and (not pinned or self.is_new()):
            signer = self.keys.load(name, passphrase=passphrase)
        else:
            signer = self.keys.create(name, passphrase=passphrase)
        if not pinned:
            self.write_trust([*self.trust_keys(), self._entry(name, (KeyRole.APPROVER,), principal=person)])
        if self.is_new():
            replace(self._begun, person.encode())
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
        try:
            replace(self.trust_file, body + b"\n")
        except OSError as error:
            raise EnvironmentFault(
                "trust_file_unwritable",
                failed=f"{self.trust_file} cannot be written: {error.strerror}",
                state="It is as it was; a key that was made for it lies in the keys folder and is trusted for nothing",
                next_step="Free some space, or mend the owner and mode of the folder, then repeat the command",
            ) from error

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
        for name, members in MEMBERS.items():
            problems += _section_problems(name, found.get(name, {}), members)
        if problems:
            raise UsageError(
                "bad_config",
                failed=f"{self.config_file}: " + "; ".join(problems),
                state="Nothing was opened",
                next_step=f"Correct them all; the sections are {', '.join(SECTIONS)}",
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
                next_step="Mend its owner and mode, or restore the file from a backup",
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


def _has_bytes(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except OSError:
        return False


def _section_problems(name: str, section: object, members: dict[str, Any]) -> list[str]:
    """Return what is wrong with the members of a section, each named by its place."""
    problems: list[str] = []
    for member, value in cast("dict[str, object]", section).items() if isinstance(section, dict) else ():
        if member not in members:
            problems.append(f"[{name}] has no member {member}")
            continue
        try:
            msgspec.convert(value, members[member])
        except msgspec.ValidationError as error:
            problems.append(f"[{name}] {member}: {error}")
    return problems


def find_place(given: str | None, *, start: Path | None = None) -> Place:
    """Return the place a command means (rule 3); UsageError where there is none."""
    named = given or os.environ.get("ACTUM_STORE")
    if named:
        return Place(Path(named))
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        place = Place(folder / FOLDER)
        if place.holds_something():
            return place
    raise UsageError(
        "no_store",
        failed=f"there is no store in {here} or any folder above it",
        state="Nothing was read or changed",
        next_step="Run `actum init` here, or give --store PATH or $ACTUM_STORE",
    )


def seed_of(place: Place, name: str) -> bytes:
    """Return the raw seed of a key, for the one process that is handed it."""
    return place.keys.load(name).seed()
