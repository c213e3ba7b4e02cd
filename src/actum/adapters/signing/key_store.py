# SPDX-License-Identifier: Apache-2.0
"""A folder of key files holds one key for each name, readable by its owner only.

Two kinds of file, told apart by their ending. `NAME.key.json` (mode 0600) is canonical JSON with the raw seed
in base64: kernel, verifier and log keys, which a process must use without a person. `NAME.sealed.json` is
PKCS#8 under a passphrase: a person's key. PKCS#8 as written here stretches a passphrase by 2048 rounds only,
so the passphrase goes through scrypt first and its result is what PKCS#8 is given. Beside both stands
`NAME.pub.json` with the public half.

File modes protect against other uids, not against code that runs under this one.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
import stat
from pathlib import Path

import msgspec
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from actum.adapters.signing.ed25519 import Ed25519Signer
from actum.model import canonical
from actum.model.errors import CorruptRecordError, EnvironmentFault, RefusedError, UsageError
from actum.ports.signer import unknown_key
from actum.service.whole_file import write_new

_SEED_FORMAT = "ed25519-seed/v1"
_SEALED_FORMAT = "ed25519-pkcs8-scrypt/v1"
# 32 MiB and about a tenth of a second for each guess.
_SCRYPT_N, _SCRYPT_R, _SCRYPT_P = 2**15, 8, 1
_name_form = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,99}", re.ASCII)


class _SeedFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    format: str
    keyid: str
    seed: str


class _SealedFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    format: str
    keyid: str
    salt: str
    pkcs8: str


class PublicHalf(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The public half of a key: what a trust file is given."""

    keyid: str
    public: str


class FileKeyStore:
    """Keys in one folder, which is made with mode 0700 when the first key is."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> list[str]:
        """Return the names of all keys, sorted."""
        found = {path.name.removesuffix(".key.json") for path in self._folder.glob("*.key.json")}
        found |= {path.name.removesuffix(".sealed.json") for path in self._folder.glob("*.sealed.json")}
        return sorted(found)

    def is_encrypted(self, name: str) -> bool:
        """Tell whether loading this key needs a passphrase."""
        return self._sealed_path(name).exists()

    def is_whole(self, name: str) -> bool:
        """Tell whether both halves of a key are there."""
        return name in self.names() and self._public_path(name).exists()

    def create(self, name: str, *, passphrase: bytes | None = None) -> Ed25519Signer:
        """Make a key under a free name; UsageError `key_exists` where the name is taken.

        A key whose making was cut off before its public half was there is finished, and opened for it as by `load`.
        """
        if name in self.names() and not self._public_path(name).exists():
            signer = self.load(name, passphrase=passphrase)
            self._write_public(name, signer)
            return signer
        return self.put(name, Ed25519Signer.generate(), passphrase=passphrase)

    def put(self, name: str, signer: Ed25519Signer, *, passphrase: bytes | None = None) -> Ed25519Signer:
        """Write an existing key under a free name."""
        plain, sealed = self._plain_path(name), self._sealed_path(name)
        if plain.exists() or sealed.exists():
            raise UsageError(
                "key_exists",
                failed=f"A key named {name!r} exists already",
                state="It was left as it is",
                next_step="Choose another name, or retire the old key in the trust file first",
            )
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if passphrase is None:
            _write(plain, _seed_file(signer))
        else:
            _write(sealed, _sealed_file(signer, passphrase=passphrase))
        self._write_public(name, signer)
        return signer

    def _write_public(self, name: str, signer: Ed25519Signer) -> None:
        _write(self._public_path(name), canonical.encode(_public_half(signer)) + b"\n")

    def load(self, name: str, *, passphrase: bytes | None = None) -> Ed25519Signer:
        """Return the signer of that name.

        Raises UsageError `key_unknown` or `passphrase_needed`, RefusedError `passphrase_wrong`,
        EnvironmentFault `key_file_open_to_others`, CorruptRecordError `key_file`.
        """
        plain, sealed = self._plain_path(name), self._sealed_path(name)
        if sealed.exists():
            return _load_sealed(sealed, passphrase=passphrase)
        if not plain.exists():
            raise unknown_key(name)
        return _load_plain(plain)

    def public(self, name: str) -> PublicHalf:
        """Return the public half without touching the private one."""
        path = self._public_path(name)
        if not path.exists():
            raise unknown_key(name)
        try:
            return canonical.decode_strict(path.read_bytes().removesuffix(b"\n"), PublicHalf)
        except CorruptRecordError as error:
            raise _corrupt(path) from error

    def _plain_path(self, name: str) -> Path:
        return self._folder / f"{_checked(name)}.key.json"

    def _sealed_path(self, name: str) -> Path:
        return self._folder / f"{_checked(name)}.sealed.json"

    def _public_path(self, name: str) -> Path:
        return self._folder / f"{_checked(name)}.pub.json"


def _checked(name: str) -> str:
    if not _name_form.fullmatch(name):
        raise UsageError(
            "key_name",
            failed=f"{name!r} cannot be the name of a key",
            state="Nothing was read or written",
            next_step="Use letters, digits and . _ @ - only, beginning with a letter or digit",
        )
    return name


def _public_half(signer: Ed25519Signer) -> PublicHalf:
    return PublicHalf(keyid=signer.keyid, public=base64.b64encode(signer.public).decode())


def _seed_file(signer: Ed25519Signer) -> bytes:
    seed = base64.b64encode(signer.seed()).decode()
    return canonical.encode(_SeedFile(format=_SEED_FORMAT, keyid=signer.keyid, seed=seed)) + b"\n"


def _sealed_file(signer: Ed25519Signer, *, passphrase: bytes) -> bytes:
    if not passphrase:
        raise UsageError(
            "passphrase_empty",
            failed="An empty passphrase protects nothing",
            state="No key was written",
            next_step="Give a passphrase that only its owner knows",
        )
    salt = os.urandom(16)
    stretched = serialization.BestAvailableEncryption(_stretch(passphrase, salt=salt))
    der = signer.private_key.private_bytes(
        serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, stretched
    )
    sealed = _SealedFile(
        format=_SEALED_FORMAT,
        keyid=signer.keyid,
        salt=base64.b64encode(salt).decode(),
        pkcs8=base64.b64encode(der).decode(),
    )
    return canonical.encode(sealed) + b"\n"


def _stretch(passphrase: bytes, *, salt: bytes) -> bytes:
    room = 64 * 1024 * 1024
    key = hashlib.scrypt(passphrase, salt=salt, n=_SCRYPT_N, r=_SCRYPT_R, p=_SCRYPT_P, maxmem=room, dklen=32)
    return key.hex().encode()


def _write(path: Path, data: bytes) -> None:
    try:
        write_new(path, data)
    except OSError as error:
        raise EnvironmentFault(
            "key_file_unwritable",
            failed=f"The key file {path} cannot be written: {error.strerror}",
            state="No part of the file was left, and nothing was replaced",
            next_step="Free some space, or mend the owner and mode of its folder, then repeat the command",
        ) from error


def _read_private(path: Path) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        with open(fd, "rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & 0o077:
                raise EnvironmentFault(
                    "key_file_open_to_others",
                    failed=f"The key file {path.name} can be reached by other users (mode {mode:04o})",
                    state="The key was not used",
                    next_step="Set its mode to 0600; unless nobody read it, have a new key enrolled",
                )
            return file.read(1 << 16)
    except OSError as error:
        raise _fault(path, f"it cannot be read ({error.strerror})") from error


def _load_plain(path: Path) -> Ed25519Signer:
    try:
        whole = canonical.decode_strict(_read_private(path).removesuffix(b"\n"), _SeedFile)
        signer = Ed25519Signer.from_seed(_decoded(whole.seed))
    except (CorruptRecordError, binascii.Error, ValueError) as error:
        raise _corrupt(path) from error
    if whole.format != _SEED_FORMAT or whole.keyid != signer.keyid:
        raise _corrupt(path)
    return signer


def _decoded(text: str) -> bytes:
    raw = base64.b64decode(text, validate=True)
    # The last character has bits that decode to nothing: one text for the same bytes, or it was altered.
    if base64.b64encode(raw).decode() != text:
        raise ValueError("the base64 is not the one that was written")
    return raw


def _load_sealed(path: Path, *, passphrase: bytes | None) -> Ed25519Signer:
    if passphrase is None:
        raise UsageError(
            "passphrase_needed",
            failed=f"The key file {path.name} is encrypted and no passphrase was given",
            state="Nothing was signed",
            next_step="Run in a terminal, or give --passphrase-file",
        )
    try:
        whole = canonical.decode_strict(_read_private(path).removesuffix(b"\n"), _SealedFile)
        salt = _decoded(whole.salt)
        der = _decoded(whole.pkcs8)
    except (CorruptRecordError, binascii.Error, ValueError) as error:
        raise _corrupt(path) from error
    if whole.format != _SEALED_FORMAT:
        raise _corrupt(path)
    try:
        key = serialization.load_der_private_key(der, _stretch(passphrase, salt=salt))
    except ValueError as error:
        raise RefusedError(
            "passphrase_wrong",
            failed=f"The passphrase does not open the key file {path.name}",
            state="Nothing was signed",
            next_step="Try the passphrase again; if it is lost, have a new key enrolled",
        ) from error
    except TypeError as error:
        raise _corrupt(path) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise _corrupt(path)
    signer = Ed25519Signer(key)
    if signer.keyid != whole.keyid:
        raise _corrupt(path)
    return signer


def _fault(path: Path, why: str) -> EnvironmentFault:
    return EnvironmentFault(
        "key_file_unreachable",
        failed=f"The key file {path.name} was not used: {why}",
        state="Nothing was signed",
        next_step="Look at the folder's owner and free space",
    )


def _corrupt(path: Path) -> CorruptRecordError:
    return CorruptRecordError(
        "key_file",
        failed=f"The key file {path.name} does not hold: it is no key that was written here",
        state="Nothing was signed",
        next_step="Restore the file from a copy",
    )
