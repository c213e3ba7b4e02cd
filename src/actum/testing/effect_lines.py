# SPDX-License-Identifier: Apache-2.0
"""Effect lines and signed looks are built from seeds, so that a test says what it changes and nothing else.

The keys are derived from small numbers and protect nothing.
"""

from __future__ import annotations

import base64
from typing import Any

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from actum.evidence.keys import keyid_of
from actum.evidence.looks import look_signing_bytes
from actum.evidence.trust_file import Trust, trust_of
from actum.model.action_v2 import Actor, Effect, RecordVersion, Verifier, WireLook
from actum.model.grading import EffectConfidence, EffectFinality, LookOutcome
from actum.model.trust import KeyRole, TrustedKey, TrustFile


def digest_of(letter: str) -> str:
    """Return a well-formed digest made of one hex digit."""
    return "sha256:" + letter * 64


BEFORE, AFTER, OTHER, EFFECT = (digest_of(letter) for letter in "abc1")
ACTOR_KEYID = "00000000000000aa"


class SeededKey:
    """An Ed25519 key made from one byte."""

    def __init__(self, seed: int) -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
        self.public = self._private.public_key().public_bytes_raw()
        self.keyid = keyid_of(self.public)

    def sign(self, message: bytes) -> bytes:
        """Return the signature over a message."""
        return self._private.sign(message)

    def pinned(self, *, roles: tuple[KeyRole, ...] = (KeyRole.VERIFIER,), **members: Any) -> TrustedKey:
        """Return the key's entry in a trust file; the principal is `verifier:` and the keyid if not given."""
        members.setdefault("principal", f"verifier:{self.keyid}")
        public = base64.b64encode(self.public).decode("ascii")
        return TrustedKey(keyid=self.keyid, public=public, roles=roles, **members)


VERIFIER, WITNESS, STRANGER = SeededKey(1), SeededKey(2), SeededKey(3)


def trusting(*keys: TrustedKey) -> Trust:
    """Return the trust in these keys; in the verifier and the witness if none is given."""
    return trust_of(TrustFile(keys=keys or (VERIFIER.pinned(), WITNESS.pinned(roles=(KeyRole.WITNESS,)))))


def look(
    *,
    key: SeededKey = VERIFIER,
    effect_digest: str = EFFECT,
    expected: str | None = AFTER,
    before: str | None = BEFORE,
    observed: str | None = AFTER,
    outcome: LookOutcome | None = LookOutcome.DEFINITE,
    at: str | None = "2026-05-04T12:00:00Z",
) -> WireLook:
    """Return a signed look; by default one that matches the effect of `effect()`."""
    unsigned = WireLook(
        before=before,
        observed=observed,
        outcome=outcome,
        verifier=Verifier(id="files.reader", version="1"),
        at=at,
        keyid=key.keyid,
    )
    message = look_signing_bytes(unsigned, effect_digest=effect_digest, expected=expected)
    return msgspec.structs.replace(unsigned, sig=base64.b64encode(key.sign(message)).decode("ascii"))


def effect(**members: Any) -> Effect:
    """Return an effect claimed finalized + verified without any look, changed by `members`."""
    given: dict[str, Any] = {
        "id": "effect-1",
        "version": RecordVersion.ACTION_V2,
        "effect_digest": EFFECT,
        "finality": EffectFinality.FINALIZED,
        "confidence": EffectConfidence.VERIFIED,
        "actor": Actor(id="agent:mailer", keyid=ACTOR_KEYID),
        "input_hash": digest_of("2"),
        "output_hash": digest_of("3"),
        "expected": AFTER,
        "context_snapshot": digest_of("4"),
    }
    return Effect(**(given | members))


def line(record: Effect) -> bytes:
    """Return the effect as one line of JSON, without the line feed."""
    return msgspec.json.encode(record)
