# SPDX-License-Identifier: Apache-2.0
"""A grant is a named person's signed word for one exact digest, for one task, for a time, once."""

from __future__ import annotations

import enum

import msgspec


class GrantPurpose(enum.Enum):
    """What a grant is for; a grant for one purpose is none for another."""

    CONFIRM = "confirm"
    PROMOTION = "promotion"
    PATTERN_ACTIVATION = "pattern_activation"
    SETTLEMENT = "settlement"
    POLICY = "policy"


class Authn(enum.Enum):
    """How the person was known: by a key only they can open, or by a session whose grant the kernel signs."""

    PASSPHRASE = "passphrase"
    SESSION = "session"


class Grant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who allowed which exact digest, for which task, from when to when.

    Times are unix milliseconds; ``subject_digest`` is an effect digest for confirms, a pattern's digest for
    activations. ``shown_digest`` is the digest of what was displayed to the person.
    """

    grant_id: str
    purpose: GrantPurpose
    incarnation: str
    tenant: str
    principal: str
    authn: Authn
    subject_digest: str
    qualification_digest: str | None
    shown_digest: str
    task: str
    issued_at_ms: int
    expires_at_ms: int
    nonce: str
    accepts_unqualified: bool


class GrantRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A stored grant: the record, its signed envelope, and what became of it."""

    grant: Grant
    payload_digest: str
    envelope: bytes
    used_by: str | None
    voided_at_ms: int | None
