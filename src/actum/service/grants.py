# SPDX-License-Identifier: Apache-2.0
"""A stored grant holds if its signed bytes say what its row says, under a key that may grant for that person."""

from __future__ import annotations

from actum.evidence.dsse import open_envelope, signer_of
from actum.evidence.statements import grant_statement
from actum.evidence.trust_file import TrustEntry
from actum.model.errors import ActumError
from actum.model.grant import Authn, GrantRow
from actum.model.trust import KeyRole
from actum.service.line import Line


def grant_holds(line: Line, row: GrantRow) -> bool:
    """Tell whether a grant's envelope is signed for its principal and carries exactly the row's words."""
    try:
        envelope = open_envelope(row.envelope)
        if envelope.payload != grant_statement(row.grant):
            return False
    except ActumError:
        return False
    key = signer_of(envelope, [entry.key for entry in _entries(line, row)])
    return key is not None


def _entries(line: Line, row: GrantRow) -> list[TrustEntry]:
    session = row.grant.authn is Authn.SESSION
    found: list[TrustEntry] = []
    for entry in line.trust.entries.values():
        if (session and KeyRole.KERNEL in entry.roles) or (
            not session and KeyRole.APPROVER in entry.roles and entry.principal == row.grant.principal
        ):
            found.append(entry)
    return found
