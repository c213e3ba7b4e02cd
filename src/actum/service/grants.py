# SPDX-License-Identifier: Apache-2.0
"""A stored grant holds if its signed bytes say what its row says, under a key that may grant for that person.

Rules
1. The signature is checked over the stored bytes, and these bytes must carry exactly the words of the row.
2. What this process signed or checked itself is remembered by the digest of its bytes, with the words they carry and
   the key; one changed byte or word is not remembered and is checked in full. Trust is asked anew each time.
3. The key must have been in force when the grant was issued, and must not be revoked now: whoever revokes a key
   takes back what it allowed and is not dispatched yet. With such a key no new grant is made either.
"""

from __future__ import annotations

from actum.evidence.dsse import open_envelope, signer_of
from actum.evidence.keys import Signer
from actum.evidence.signers import KeyFault, key_fault
from actum.evidence.statements import grant_statement
from actum.evidence.trust_file import TrustEntry
from actum.model import canonical
from actum.model.errors import ActumError, RefusedError
from actum.model.grant import Authn, Grant, GrantRow
from actum.model.rfc3339 import instant_of_ms
from actum.model.trust import KeyRole
from actum.service.line import Line

KNOWN_MAX = 10_000


def remember(line: Line, row: GrantRow, *, keyid: str) -> None:
    """Remember a grant whose signature this process made or checked (rule 2)."""
    if len(line.known_grants) >= KNOWN_MAX:
        line.known_grants.clear()
    line.known_grants[canonical.digest_bytes(row.envelope)] = (keyid, row.grant)


def grant_holds(line: Line, row: GrantRow) -> bool:
    """Tell whether a grant's envelope is signed for its principal and carries exactly the row's words."""
    entries = _entries(line, row)
    known = line.known_grants.get(canonical.digest_bytes(row.envelope))
    if known is not None and known[1] == row.grant:
        # Rule 2
        return any(entry.key.keyid == known[0] for entry in entries)
    try:
        envelope = open_envelope(row.envelope)
        # Rule 1
        if envelope.payload != grant_statement(row.grant):
            return False
    except ActumError:
        return False
    key = signer_of(envelope, [entry.key for entry in entries])
    if key is None:
        return False
    remember(line, row, keyid=key.keyid)
    return True


def require_key(line: Line, grant: Grant, signer: Signer) -> None:
    """Raise RefusedError where a person's key may no longer sign a grant (rule 3)."""
    entry = line.trust.find(signer.keyid)
    fault = None if entry is None else _fault(line, entry, grant)
    if fault in (KeyFault.REVOKED, KeyFault.EXPIRED):
        how = "was revoked" if fault is KeyFault.REVOKED else "is not in force now"
        raise RefusedError(
            "key_not_in_force",
            failed=f"the key of {grant.principal} {how}",
            state="Nothing was allowed with it",
            next_step="Answer with a key that is in force, or let somebody else answer",
            person=grant.principal,
            keyid=signer.keyid,
        )


def _entries(line: Line, row: GrantRow) -> list[TrustEntry]:
    grant = row.grant
    session = grant.authn is Authn.SESSION
    return [
        entry
        for entry in line.trust.entries.values()
        if (session or entry.principal == grant.principal) and _fault(line, entry, grant) is None
    ]


def _fault(line: Line, entry: TrustEntry, grant: Grant) -> KeyFault | None:
    # Rule 3
    role = KeyRole.KERNEL if grant.authn is Authn.SESSION else KeyRole.APPROVER
    fault = key_fault(entry, roles=frozenset({role}), at_ms=grant.issued_at_ms)
    if fault is None and entry.revoked_at is not None and instant_of_ms(line.now()) >= entry.revoked_at:
        return KeyFault.REVOKED
    return fault
