# SPDX-License-Identifier: Apache-2.0
"""A look counts only if somebody other than the actor signed it, for this effect, with a key pinned to look.

A look gets the first refusal that applies, in this order:

1. look_untrusted: it names no key, or one that is not pinned.
2. look_role: the key is pinned neither as verifier nor as witness.
3. look_self: the key or its principal is the actor's, or the actor is not named well enough to tell.
4. look_signature: the signature is absent, not canonical base64 of 64 bytes, or does not hold for this look,
   this effect digest and this expected value.
5. look_key_expired: the look names no time, or one outside the key's validity.
6. look_key_revoked: the look's time is not before the revocation.

`at` is the look's own signed time. An accepted look says what a component that did not act reports to have
seen; it does not say that this component was right.
"""

from __future__ import annotations

import msgspec

from actum.evidence.dsse import pae
from actum.evidence.trust_file import Trust, TrustEntry, decode_base64
from actum.model import canonical
from actum.model.action_v2 import Actor, Effect, Verifier, WireLook
from actum.model.grading import JudgedLook, LookOutcome, ReasonCode
from actum.model.rfc3339 import parse_instant
from actum.model.trust import LOOKING_ROLES

LOOK_TYPE = "application/vnd.actum.look+json"


class _SignedLook(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    # Flat by design: a signature that left out effect_digest or expected could be moved to another effect.
    effect_digest: str
    expected: str | None = None
    before: str | None = None
    observed: str | None = None
    outcome: LookOutcome | None = None
    verifier: Verifier | None = None
    at: str | None = None
    keyid: str | None = None


def look_signing_bytes(look: WireLook, *, effect_digest: str, expected: str | None) -> bytes:
    """Return what a verifier signs: the DSSE PAE over the look without its sig, the effect and the expected.

    Null members are left out at every depth.
    """
    body = canonical.encode(
        _SignedLook(
            effect_digest=effect_digest,
            expected=expected,
            before=look.before,
            observed=look.observed,
            outcome=look.outcome,
            verifier=look.verifier,
            at=look.at,
            keyid=look.keyid,
        )
    )
    return pae(LOOK_TYPE, body)


def accept_look(
    look: WireLook, *, effect_digest: str, expected: str | None, actor: Actor | None, trust: Trust
) -> ReasonCode | None:
    """Return None if the look is accepted, else the first refusal that applies."""
    # Refusal 1
    entry = trust.find(look.keyid)
    if entry is None:
        return ReasonCode.LOOK_UNTRUSTED
    # Refusal 2
    if entry.roles.isdisjoint(LOOKING_ROLES):
        return ReasonCode.LOOK_ROLE
    # Refusal 3
    if not _is_independent(entry, actor=actor, trust=trust):
        return ReasonCode.LOOK_SELF
    # Refusal 4
    sig = None if look.sig is None else decode_base64(look.sig, size=64)
    if sig is None:
        return ReasonCode.LOOK_SIGNATURE
    message = look_signing_bytes(look, effect_digest=effect_digest, expected=expected)
    if not entry.key.verifies(sig, message):
        return ReasonCode.LOOK_SIGNATURE
    return _refused_at(look.at, entry)


def judge_looks(effect: Effect, *, trust: Trust) -> list[JudgedLook]:
    """Return every look of the effect with the refusal it got, for `verify_effect`."""
    return [
        JudgedLook(
            outcome=look.outcome or LookOutcome.UNCLEAR,
            before=look.before,
            observed=look.observed,
            refused_for=accept_look(
                look,
                effect_digest=effect.effect_digest,
                expected=effect.expected,
                actor=effect.actor,
                trust=trust,
            ),
        )
        for look in effect.looks()
    ]


def _is_independent(entry: TrustEntry, *, actor: Actor | None, trust: Trust) -> bool:
    if actor is None or actor.keyid is None:
        return False
    # A key pinned to nobody may well be the actor's own.
    if entry.principal is None:
        return False
    # Where the look's key is the actor's own, both entries are one and so are their principals.
    acting = trust.find(actor.keyid)
    return entry.principal != actor.id and (acting is None or entry.principal != acting.principal)


def _refused_at(at: str | None, entry: TrustEntry) -> ReasonCode | None:
    # Refusal 5
    when = None if at is None else parse_instant(at)
    if when is None:
        return ReasonCode.LOOK_KEY_EXPIRED
    if entry.not_before is not None and when < entry.not_before:
        return ReasonCode.LOOK_KEY_EXPIRED
    if entry.not_after is not None and when >= entry.not_after:
        return ReasonCode.LOOK_KEY_EXPIRED
    # Refusal 6
    if entry.revoked_at is not None and when >= entry.revoked_at:
        return ReasonCode.LOOK_KEY_REVOKED
    return None
