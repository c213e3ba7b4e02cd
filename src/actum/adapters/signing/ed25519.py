# SPDX-License-Identifier: Apache-2.0
"""An Ed25519 private key in this process's memory signs what it is given."""

from __future__ import annotations

import hashlib

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


class Ed25519Signer:
    """A `Signer` over a private key held in memory; its text form never shows the private half."""

    __slots__ = ("keyid", "public", "sign", "_key")

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.public: bytes = key.public_key().public_bytes_raw()
        self.keyid: str = hashlib.sha256(self.public).hexdigest()[:16]
        self.sign = key.sign

    @classmethod
    def generate(cls) -> Ed25519Signer:
        """Return a signer over a fresh key from the operating system's randomness."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def from_seed(cls, seed: bytes) -> Ed25519Signer:
        """Return the signer of a raw 32-byte seed; ValueError for another length."""
        return cls(Ed25519PrivateKey.from_private_bytes(seed))

    def seed(self) -> bytes:
        """Return the raw 32-byte seed, to be written to the key file and nowhere else."""
        return self._key.private_bytes_raw()

    @property
    def private_key(self) -> Ed25519PrivateKey:
        """Return the key itself, which the key store encrypts."""
        return self._key

    def __repr__(self) -> str:
        return f"Ed25519Signer(keyid={self.keyid!r})"

    def __reduce__(self) -> str:
        raise TypeError("a private key is not pickled")
