# SPDX-License-Identifier: Apache-2.0
"""Before anything is dispatched everything it stands on is checked again, in the handler, in this order.

Rules
1. A cancelled or declined proposal is not dispatched.
2. The stored descriptor still has the effect's digest, and the arguments the digest it names.
3. A row of another incarnation is not dispatched.
4. Without a grant only what may execute alone is dispatched.
5. The grant is a signed confirm of this exact effect, of this incarnation, not void.
6. The grant is in force: issued at or before now, not expired; there is no tolerance.
7. The grant is unused, or used by this very row.
8. Money and legal effects were confirmed by somebody who is neither the submitter nor the one acted for.
9. A flagged effect has the qualification its grant names: passed, or not possible under a grant that accepts it.
"""

from __future__ import annotations

import msgspec

from actum.kernel.may_execute import may_confirm, may_execute_alone
from actum.model.delivery import OutboxRow
from actum.model.effect import Effect, effect_digest, needs_qualification
from actum.model.errors import Refused
from actum.model.evidence import Qualification, QualificationResult
from actum.model.grant import GrantPurpose, GrantRow
from actum.model.proposal import ProposalState


class DispatchFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the handler loaded for one claimed row.

    ``arguments_digest`` was recomputed from the stored arguments; ``grant_signed`` tells whether the grant's
    signature holds under a key pinned for its principal.
    """

    row: OutboxRow
    effect: Effect
    arguments_digest: str
    proposal_state: ProposalState
    grant: GrantRow | None
    grant_signed: bool
    qualification: Qualification | None
    submitter: str
    on_behalf_of: str | None
    incarnation: str


def refuse_dispatch(facts: DispatchFacts, *, now_ms: int) -> Refused | None:
    """Return why a claimed row must not be dispatched, or None."""
    # Rule 1
    if facts.proposal_state not in (ProposalState.GRANTED, ProposalState.STAGED):
        return Refused(reason="proposal_" + facts.proposal_state.value)
    # Rule 2
    effect = facts.effect
    if (
        effect_digest(effect.descriptor, salt=effect.salt) != effect.effect_digest
        or effect.effect_digest != facts.row.effect_digest
    ):
        return Refused(reason="effect_changed", facts={"effect_digest": effect.effect_digest})
    if facts.arguments_digest != effect.descriptor.resolved_argument_digest:
        return Refused(reason="arguments_changed", facts={"effect_digest": effect.effect_digest})
    # Rule 3
    if facts.row.incarnation != facts.incarnation:
        return Refused(reason="other_incarnation", facts={"row": facts.row.incarnation})
    # Rule 4
    if facts.row.grant_id is None:
        if may_execute_alone(effect.descriptor, definition_class=effect.descriptor.effect_class):
            return None
        return Refused(reason="no_grant")
    return _refuse_grant(facts, now_ms=now_ms) or _refuse_unqualified(facts)


def _refuse_grant(facts: DispatchFacts, *, now_ms: int) -> Refused | None:
    row = facts.grant
    # Rule 5
    if row is None or not facts.grant_signed:
        return Refused(reason="grant_signature")
    grant = row.grant
    if grant.purpose is not GrantPurpose.CONFIRM or grant.subject_digest != facts.effect.effect_digest:
        return Refused(reason="grant_other_effect", facts={"granted": grant.subject_digest})
    if grant.incarnation != facts.incarnation or row.voided_at_ms is not None:
        return Refused(reason="grant_void")
    # Rule 6
    if now_ms < grant.issued_at_ms:
        return Refused(reason="grant_future", facts={"issued_at_ms": str(grant.issued_at_ms)})
    if now_ms >= grant.expires_at_ms:
        return Refused(reason="grant_expired", facts={"expires_at_ms": str(grant.expires_at_ms)})
    # Rule 7
    if row.used_by not in (None, facts.row.outbox_id):
        return Refused(reason="grant_used", facts={"used_by": str(row.used_by)})
    # Rule 8
    if not may_confirm(
        facts.effect.descriptor.effect_class,
        person=grant.principal,
        submitter=facts.submitter,
        on_behalf_of=facts.on_behalf_of,
    ):
        return Refused(reason="grant_not_independent", facts={"person": grant.principal})
    return None


def _refuse_unqualified(facts: DispatchFacts) -> Refused | None:
    # Rule 9
    if not needs_qualification(facts.effect.descriptor):
        return None
    found, row = facts.qualification, facts.grant
    if found is None or row is None:
        return Refused(reason="not_qualified")
    if row.grant.qualification_digest != found.digest():
        return Refused(reason="qualification_other")
    if found.result is QualificationResult.PASSED:
        return None
    if found.result is QualificationResult.NOT_POSSIBLE and row.grant.accepts_unqualified:
        return None
    return Refused(reason="qualification_" + found.result.value, facts={"reason": found.reason})
