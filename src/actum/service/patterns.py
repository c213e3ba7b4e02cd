# SPDX-License-Identifier: Apache-2.0
"""An authored pattern may stage once a named person confirmed its exact digest; unconfirmed it only decides.

Rules
1. Only a person with the role operator gives a pattern the right to stage.
2. The right is a signed grant over one exact digest. A changed pattern has another digest, and starts without it.
3. A confirmed pattern still only stages: what it stages waits for its own confirm like everything else.
"""

from __future__ import annotations

from actum.model import foreign
from actum.model.errors import Refused, RefusedError
from actum.model.grant import Authn, Grant, GrantPurpose
from actum.model.process import Rulebook
from actum.ports.store import Tx
from actum.process.activate import PendingPattern, confirm_pattern, staging_patterns
from actum.service.answer import CONFIRM_MS, Person, require_role
from actum.service.line import Line
from actum.service.points import commit
from actum.service.seal import seal_grant


def patterns(line: Line) -> tuple[PendingPattern, ...]:
    """Return every authored pattern that stages an action, confirmed or not."""
    return staging_patterns(line.rules.active()[0])


def confirm(line: Line, digest: str, *, person: Person) -> Rulebook:
    """Give the pattern of that exact digest the right to stage; return the rulebook that has it."""
    rulebook, _ = line.rules.active()
    found = confirm_pattern(rulebook, digest=digest, person=person.name)
    if isinstance(found, Refused):
        raise RefusedError.from_refused(
            found,
            failed=f"no pattern of the rules in force has the digest {digest}",
            state="No pattern was given a right",
            next_step="See the digests with `actum doctor`; a pattern that was edited has a new one",
        )
    if digest in rulebook.confirmed:
        return rulebook

    def work(tx: Tx) -> None:
        require_role(tx, person.name, role="operator")  # Rule 1
        now = line.now()
        # Rule 2
        grant = Grant(
            grant_id=line.ids.ulid(now),
            purpose=GrantPurpose.PATTERN_ACTIVATION,
            incarnation=line.incarnation,
            tenant=tx.tenant,
            principal=person.name,
            authn=Authn.SESSION if person.signer is None else Authn.PASSPHRASE,
            subject_digest=digest,
            qualification_digest=None,
            shown_digest=foreign.digest_foreign({"pattern": digest}),
            task="pattern",
            issued_at_ms=now,
            expires_at_ms=now + CONFIRM_MS,
            nonce=line.ids.salt(),
            accepts_unqualified=False,
        )
        row = seal_grant(line, tx, grant, signer=person.signer, chain=grant.grant_id)
        body: dict[str, object] = {"digest": digest, "by": person.name, "grant": row.payload_digest}
        line.event(tx, "pattern.confirmed", body=body)

    commit(line, "confirm_pattern", work)
    return found
