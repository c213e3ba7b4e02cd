# SPDX-License-Identifier: Apache-2.0
"""A signer turns a message into an Ed25519 signature and never shows its private half."""

from __future__ import annotations

from typing import Protocol

from actum.model.errors import UsageError


class Signer(Protocol):
    """One private key, wherever it is kept: a file, another uid, a hardware module."""

    @property
    def keyid(self) -> str:
        """Return the first 16 lower hex digits of the SHA-256 of `public`."""
        ...

    @property
    def public(self) -> bytes:
        """Return the raw public key, 32 bytes."""
        ...

    def sign(self, message: bytes, /) -> bytes:
        """Return the 64-byte signature over `message`."""
        ...


class KeyStore(Protocol):
    """A place with named keys. Loading may need the passphrase of the person whose key it is."""

    def names(self) -> list[str]:
        """Return the names of all keys, sorted."""
        ...

    def create(self, name: str, *, passphrase: bytes | None = None) -> Signer:
        """Make a key under a name that is still free; with a passphrase it is kept encrypted."""
        ...

    def load(self, name: str, *, passphrase: bytes | None = None) -> Signer:
        """Return the signer of that name."""
        ...


def unknown_key(name: str) -> UsageError:
    """Return the error for a name under which no key stands."""
    return UsageError(
        "key_unknown",
        failed=f"No key is named {name!r}",
        state="Nothing was signed",
        next_step="Restore its files in the store's keys folder from a backup, or enrol another person instead",
    )
