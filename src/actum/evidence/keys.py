# SPDX-License-Identifier: Apache-2.0
"""An Ed25519 key is pinned only if every verifier would agree about its signatures.

Implementations differ on crafted keys and signatures: OpenSSL accepts 165 of the 914 edge signatures of the
CCTV collection that libsodium refuses. One promise, "the same verdict everywhere", therefore needs one rule,
and this is it: the public key A and the signature's point R are both canonically encoded (y below 2^255-19)
and neither is one of the eight points of small order. Keys that an honest generator made never meet it.

A pinned key says nothing about who holds it; that is the trust file's word.
"""

from __future__ import annotations

import hashlib
from typing import Protocol

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from actum.model.errors import UsageError

PRIME = 2**255 - 19
_SIGN_BIT = 1 << 255

# The points of order 1, 2, 4 and 8: y = 1, -1, 0 and the two y with d*y^4 + 2*y^2 - 1 = 0 (a test solves it).
_ORDER_EIGHT_Y = 2707385501144840649318225287225658788936804267575313519463743609750303402022
SMALL_ORDER_Y = frozenset({0, 1, PRIME - 1, _ORDER_EIGHT_Y, PRIME - _ORDER_EIGHT_Y})
_SMALL_ORDER_ENCODINGS = frozenset(
    (y | sign).to_bytes(32, "little") for y in SMALL_ORDER_Y for sign in (0, _SIGN_BIT)
)


class Signer(Protocol):
    """What sealing needs of a key: its id, its raw public half, and one signature at a time."""

    @property
    def keyid(self) -> str: ...
    @property
    def public(self) -> bytes: ...
    def sign(self, message: bytes, /) -> bytes: ...


class PublicKey:
    """A pinned Ed25519 public key: `raw` is 32 bytes, `keyid` the first 16 hex digits of their SHA-256."""

    __slots__ = ("raw", "keyid", "_key")

    def __init__(self, raw: bytes) -> None:
        fault = public_key_fault(raw)
        if fault is not None:
            raise UsageError(
                "public_key_refused",
                failed=f"A public key cannot be pinned: {fault}",
                state="Nothing was checked against it",
                next_step="Ask the key's holder for 32 bytes that an ordinary Ed25519 generator made",
            )
        self.raw = raw
        self.keyid = keyid_of(raw)
        self._key = Ed25519PublicKey.from_public_bytes(raw)

    def verifies(self, signature: bytes, message: bytes) -> bool:
        """Tell whether `signature` (64 bytes) over `message` holds under this key and the module's rule."""
        if len(signature) != 64 or signature[:32] in _SMALL_ORDER_ENCODINGS:
            return False
        try:
            # OpenSSL re-encodes the point it computed, so an R with y >= p never compares equal here.
            self._key.verify(signature, message)
        except InvalidSignature:
            return False
        return True


def keyid_of(raw: bytes) -> str:
    """Return the first 16 lower hex digits of the SHA-256 of a raw public key."""
    return hashlib.sha256(raw).hexdigest()[:16]


def public_key_fault(raw: bytes) -> str | None:
    """Return why a raw public key may not be pinned, or None."""
    if len(raw) != 32:
        return f"it has {len(raw)} bytes instead of 32"
    if int.from_bytes(raw, "little") & ~_SIGN_BIT >= PRIME:
        return "its encoding is not the canonical one of its point"
    if raw in _SMALL_ORDER_ENCODINGS:
        return "it is a point of small order, under which anybody can sign"
    return None
