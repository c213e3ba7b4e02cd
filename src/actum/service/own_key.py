# SPDX-License-Identifier: Apache-2.0
"""The kernel's own key signs what no person signs; while it is not in force, nothing begins that it would have to seal.

Rules
1. It is asked where work begins that ends in a seal: a run, a session's confirm, a settlement, an adoption. It is not
   asked between an effect and its receipt: what happened is recorded whatever became of the key meanwhile.
2. The key is in force if it is pinned as the kernel's, and now lies within its bounds and before its revocation.
"""

from __future__ import annotations

from actum.evidence.signers import KeyFault, key_fault
from actum.model.errors import EnvironmentFault
from actum.model.trust import KeyRole
from actum.service.line import Line

_HOW = {
    None: "is not in the trust file",
    KeyFault.ROLE: "does not have its role in the trust file",
    KeyFault.EXPIRED: "is not within its time in the trust file",
    KeyFault.REVOKED: "is revoked in the trust file",
}
NEXT = (
    "If that is a mistake, correct its entry in trust.json; if the key was stolen or retired, leave it so and "
    "make a new store: what was exported from this one before the key ended still verifies"
)


def why_not_in_force(line: Line, *, at_ms: int) -> str | None:
    """Return what keeps the kernel's key from sealing anything at a time, or None (rule 2)."""
    return why_key_not_in_force(line, line.kernel_key.keyid, role=KeyRole.KERNEL, at_ms=at_ms)


def why_key_not_in_force(line: Line, keyid: str, *, role: KeyRole, at_ms: int) -> str | None:
    """Return what keeps a key of this store from signing in its role at a time, or None."""
    entry = line.trust.find(keyid)
    if entry is None:
        return _HOW[None]
    fault = key_fault(entry, roles=frozenset({role}), at_ms=at_ms)
    return None if fault is None else _HOW[fault]


def require_own_key(line: Line) -> None:
    """Raise EnvironmentFault ``kernel_key_not_in_force`` where nobody would accept what is sealed now (rule 1)."""
    why = why_not_in_force(line, at_ms=line.now())
    if why is not None:
        raise EnvironmentFault(
            "kernel_key_not_in_force",
            failed=f"the key this store signs with ({line.kernel_key.keyid}) {why}",
            state="Nothing was allowed, dispatched or sealed",
            next_step=NEXT,
            keyid=line.kernel_key.keyid,
        )
