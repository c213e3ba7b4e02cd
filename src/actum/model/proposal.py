# SPDX-License-Identifier: Apache-2.0
"""A proposal is a typed action that a decision staged; changed content is a new proposal."""

from __future__ import annotations

import enum

import msgspec


class ProposalState(enum.Enum):
    """Where a proposal stands; only ``granted`` ones have an outbox row that may be dispatched."""

    STAGED = "staged"
    GRANTED = "granted"
    REFUSED = "refused"
    DECLINED = "declined"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"
    SETTLED = "settled"


class Proposal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One proposed action with its resolved effect.

    ``arguments_digest`` names the content object with the arguments as proposed.
    """

    proposed_action_id: str
    tenant: str
    turn_id: str
    step_id: str
    decision_digest: str
    capability: str
    arguments_digest: str
    effect_digest: str | None
    state: ProposalState
    refusal: str | None
    proposed_at_ms: int
