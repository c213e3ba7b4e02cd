# SPDX-License-Identifier: Apache-2.0
"""A signature tells which key signed; only a pinned key, in its role and its time, tells who.

The time is the one the signed record states, so a stolen key can be used with an older date. What stops that
is a checkpoint that left the machine before.
"""

from __future__ import annotations

import enum

from actum.evidence.keys import PublicKey
from actum.evidence.trust_file import Trust, TrustEntry
from actum.evidence.verdict import Aspect, Finding, Problems, State, count_of, few
from actum.model.rfc3339 import instant_of_ms
from actum.model.trust import KeyRole

CHECKPOINT_ROLES = frozenset({KeyRole.LOG, KeyRole.KERNEL})
RECEIPT_ROLES = frozenset({KeyRole.KERNEL})
# Statements of other kinds are nobody's grant and nobody's receipt; an actor's word is none of them.
OTHER_ROLES = frozenset(KeyRole) - {KeyRole.ACTOR}


class KeyFault(enum.Enum):
    """Why a pinned key may not have signed what it signed."""

    ROLE = "signer_role"
    EXPIRED = "signer_key_expired"
    REVOKED = "signer_key_revoked"


_SENTENCES = {
    KeyFault.ROLE: "has no role that may sign this",
    KeyFault.EXPIRED: "was not valid at the time the record states",
    KeyFault.REVOKED: "was revoked at the time the record states",
}


def pinned(key: PublicKey, trust: Trust) -> TrustEntry | None:
    """Return the trust entry of exactly this key; the whole key decides, not its id."""
    entry = trust.find(key.keyid)
    return entry if entry is not None and entry.key.raw == key.raw else None


def key_fault(entry: TrustEntry, *, roles: frozenset[KeyRole], at_ms: int) -> KeyFault | None:
    """Return why this key may not have signed in one of `roles` at that time, or None."""
    if entry.roles.isdisjoint(roles):
        return KeyFault.ROLE
    at = instant_of_ms(at_ms)
    if (entry.not_before is not None and at < entry.not_before) or (
        entry.not_after is not None and at >= entry.not_after
    ):
        return KeyFault.EXPIRED
    if entry.revoked_at is not None and at >= entry.revoked_at:
        return KeyFault.REVOKED
    return None


def shown(entry: TrustEntry) -> str:
    """Return how a pinned key is named to a person."""
    return f"{entry.principal} ({entry.key.keyid})" if entry.principal else entry.key.keyid


class Signers:
    """Answers `signer`: is every record and the checkpoint signed by a key that is pinned for it?"""

    def __init__(self, trust: Trust | None, *, problems: Problems) -> None:
        self._trust = trust
        self._problems = problems
        self._unknown: set[str] = set()
        self._known: set[str] = set()

    def judge(self, key: PublicKey, *, roles: frozenset[KeyRole], at_ms: int, line: int) -> TrustEntry | None:
        """Return the entry of a key that may have signed this line, or None; keep what speaks against."""
        entry = self.know(key)
        if entry is None:
            return None
        fault = key_fault(entry, roles=roles, at_ms=at_ms)
        if fault is not None:
            sentence = f"the key {shown(entry)} {_SENTENCES[fault]}"
            self._problems.add(Aspect.SIGNER, code=fault.value, line=line, sentence=sentence)
            return None
        return entry

    def know(self, key: PublicKey) -> TrustEntry | None:
        """Return the entry of a key whatever it may sign, and count it as known or unknown."""
        entry = None if self._trust is None else pinned(key, self._trust)
        if entry is None:
            self._unknown.add(key.keyid)
        else:
            self._known.add(shown(entry))
        return entry

    def finding(self) -> Finding:
        """Return the answer."""
        contradicted = self._problems.finding(Aspect.SIGNER)
        if contradicted is not None:
            return contradicted
        if self._trust is None:
            sentence = "no trust file was given, so nobody is known to stand behind the keys"
            return Finding(aspect=Aspect.SIGNER, state=State.NOT_ESTABLISHED, sentence=sentence)
        if self._unknown:
            sentence = f"{count_of(len(self._unknown), 'key')} that signed here stand in no trust file"
            return Finding(
                aspect=Aspect.SIGNER, state=State.NOT_ESTABLISHED, sentence=sentence, by=few(self._unknown)
            )
        sentence = "every record and the checkpoint is signed by a trusted key in its role"
        return Finding(aspect=Aspect.SIGNER, state=State.ESTABLISHED, sentence=sentence, by=few(self._known))
