# SPDX-License-Identifier: Apache-2.0
"""An effect was allowed if a person's grant for exactly its digest stands before it in the log.

Rules
1. A grant is signed by a pinned approver or operator, or by the kernel where it says `authn: session`.
2. The principal it names is the one the key is pinned to; a session's principal is the kernel's word.
3. It covers one digest: the receipt's effect, or for a settlement the receipt that is settled.
4. A confirm covers effects, a settlement grant settlements; no purpose stands for another.
5. The execution started in the grant's time: issued_at <= started_at < expires_at.
6. It serves one outbox row, however often that row was attempted.
7. It stands before the receipt that names it.

That an effect was allowed does not say that the person understood it, nor that an effect without a grant
needed one: what may run without is decided by the descriptor, which a bundle does not hold.
"""

from __future__ import annotations

import msgspec

from actum.evidence.keys import PublicKey
from actum.evidence.published import PublishedGrant, PublishedReceipt
from actum.evidence.signers import KeyFault, Signers, key_fault, shown
from actum.evidence.trust_file import TrustEntry
from actum.evidence.verdict import Aspect, Finding, Problems, State, count_of, few
from actum.model.delivery import ExecutionKind
from actum.model.grading import EffectFinality
from actum.model.grant import Authn, GrantPurpose
from actum.model.trust import KeyRole

APPROVING_ROLES = frozenset({KeyRole.APPROVER, KeyRole.OPERATOR})


class _Grant(msgspec.Struct, kw_only=True):
    subject: str
    purpose: GrantPurpose
    issued_at_ms: int
    expires_at_ms: int
    by: str | None
    used_by: str | None = None


class Permission:
    """Answers `allowed`: one small entry is kept for each grant, none for a receipt."""

    def __init__(self, *, signers: Signers, problems: Problems) -> None:
        self._signers = signers
        self._problems = problems
        self._grants: dict[str, _Grant] = {}
        self._withheld: set[str] = set()
        self._people: set[str] = set()
        self._covered = self._unknown = self._ungranted = self._hidden = 0

    def withhold(self, payload_digest: str) -> None:
        """Remember a grant that stands in the log and is not shown."""
        self._withheld.add(payload_digest)

    def grant(self, grant: PublishedGrant, *, key: PublicKey, payload_digest: str, line: int) -> None:
        """Take a grant in, with the name of who gave it where that is known."""
        entry = self._signers.know(key)
        self._grants[payload_digest] = _Grant(
            subject=grant.subject_digest,
            purpose=grant.purpose,
            issued_at_ms=grant.issued_at_ms,
            expires_at_ms=grant.expires_at_ms,
            by=None if entry is None else self._given_by(grant, entry=entry, line=line),
        )

    def _given_by(self, grant: PublishedGrant, *, entry: TrustEntry, line: int) -> str | None:
        # Rule 1
        session = grant.authn is Authn.SESSION
        roles = APPROVING_ROLES | {KeyRole.KERNEL} if session else APPROVING_ROLES
        fault = key_fault(entry, roles=roles, at_ms=grant.issued_at_ms)
        if fault is not None:
            code = "grant_role" if fault is KeyFault.ROLE else fault.value.replace("signer", "grant")
            self._contradict(code, line, f"the grant's key {shown(entry)} may not grant, or not at that time")
            return None
        # Rule 2
        if entry.roles.isdisjoint(APPROVING_ROLES):
            return f"{grant.principal} (session, by word of {entry.key.keyid})"
        if entry.principal is None:
            return None
        if entry.principal != grant.principal:
            self._contradict("grant_principal", line, f"the grant's key is not pinned to {grant.principal}")
            return None
        return shown(entry)

    def receipt(self, receipt: PublishedReceipt, *, line: int) -> None:
        """Check one receipt against the grant it names."""
        idle = receipt.claim.finality is receipt.graded.finality is EffectFinality.NOT_ATTEMPTED
        effect = receipt.identity.kind is ExecutionKind.EFFECT
        if receipt.grant_digest is None:
            self._ungranted += effect and not idle
            return
        grant = self._grants.get(receipt.grant_digest)
        if grant is None:
            self._absent(receipt.grant_digest, line=line)
        elif self._covers(grant, receipt=receipt, idle=idle, line=line):
            self._covered += 1
            if grant.by is None:
                self._unknown += 1
            else:
                self._people.add(grant.by)

    def _absent(self, digest: str, *, line: int) -> None:
        if digest in self._withheld:
            self._hidden += 1
            return
        # Rule 7
        self._contradict("grant_missing", line, "the grant it names does not stand before it in the log")

    def _covers(self, grant: _Grant, *, receipt: PublishedReceipt, idle: bool, line: int) -> bool:
        settles = receipt.identity.kind is ExecutionKind.SETTLEMENT
        # Rule 4: a settlement may also name the confirm under which its effect ran.
        closing = settles and grant.purpose is GrantPurpose.SETTLEMENT
        if grant.purpose is not GrantPurpose.CONFIRM and not closing:
            return self._contradict("grant_purpose", line, f"a {grant.purpose.value} grant is none for this")
        # Rule 3
        subjects = {receipt.effect_digest, receipt.settles} if closing else {receipt.effect_digest}
        if grant.subject not in subjects:
            return self._contradict("grant_subject", line, "the grant it names is for another digest")
        if idle:
            return True
        # Rule 5: a later look under the confirm of its effect is no new execution of that effect.
        looking = settles and not closing
        if not looking and not grant.issued_at_ms <= receipt.started_at_ms < grant.expires_at_ms:
            return self._contradict("grant_time", line, "it started outside the time of its grant")
        # Rule 6
        if grant.used_by not in (None, receipt.identity.outbox_id):
            return self._contradict("grant_reused", line, "its grant had been used by another outbox row")
        grant.used_by = receipt.identity.outbox_id
        return True

    def _contradict(self, code: str, line: int, sentence: str) -> bool:
        self._problems.add(Aspect.ALLOWED, code=code, line=line, sentence=sentence)
        return False

    def finding(self) -> Finding:
        """Return the answer."""
        contradicted = self._problems.finding(Aspect.ALLOWED)
        if contradicted is not None:
            return contradicted
        open_points = [
            (self._unknown, "under a grant whose signer is not known"),
            (self._ungranted, "without a grant, which only a read needs none of"),
            (self._hidden, "under a grant that is withheld"),
        ]
        left = [f"{count_of(number, 'execution')} {what}" for number, what in open_points if number]
        state = State.NOT_ESTABLISHED if left or not self._covered else State.ESTABLISHED
        known = self._covered - self._unknown
        sentence = f"{count_of(known, 'execution')} under a named person's grant for that exact digest"
        return Finding(
            aspect=Aspect.ALLOWED, state=state, sentence="; ".join([sentence, *left]), by=few(self._people)
        )
