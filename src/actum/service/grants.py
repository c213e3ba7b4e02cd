# SPDX-License-Identifier: Apache-2.0
"""A stored grant holds if its signed bytes say what its row says, under a key that may grant for that person.

Rules
1. The signature is checked over the stored bytes, and these bytes must carry exactly the words of the row.
2. What this process signed or checked itself is remembered by the digest of its bytes, with the words they carry and
   the key; one changed byte or word is not remembered and is checked in full. Trust is asked anew each time.
"""

from __future__ import annotations

from actum.evidence.dsse import open_envelope, signer_of
from actum.evidence.statements import grant_statement
from actum.evidence.trust_file import TrustEntry
from actum.model import canonical
from actum.model.errors import ActumError
from actum.model.grant import Authn, GrantRow
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


def _entries(line: Line, row: GrantRow) -> list[TrustEntry]:
    session = row.grant.authn is Authn.SESSION
    found: list[TrustEntry] = []
    for entry in line.trust.entries.values():
        if (session and KeyRole.KERNEL in entry.roles) or (
            not session and KeyRole.APPROVER in entry.roles and entry.principal == row.grant.principal
        ):
            found.append(entry)
    return found
