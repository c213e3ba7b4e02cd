# SPDX-License-Identifier: Apache-2.0
"""The published form of a receipt and a grant has no place where content could stand.

Closed records: digests, ids, closed enums, times in unix milliseconds. A member that is not listed here is
refused when a statement is built and when one is read, so "hashes, never content" does not depend on
anybody's care. Null is written, never left out: a record has one sequence of bytes.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from actum.model import canonical
from actum.model.delivery import ExecutionKind
from actum.model.grading import (
    EffectConfidence,
    EffectFinality,
    EffectStatus,
    ExecutorSaid,
    LookOutcome,
    ReasonCode,
)
from actum.model.grant import Authn, GrantPurpose
from actum.model.look import Independence

# The one place that names our predicates. A tag URI (RFC 4151) names them without a web site behind it.
PREDICATE_PREFIX = "tag:actum,2026:"
RECEIPT = PREDICATE_PREFIX + "effect-receipt/v1"
GRANT = PREDICATE_PREFIX + "grant/v1"
STATEMENT_V1 = "https://in-toto.io/Statement/v1"

Digest = Annotated[str, msgspec.Meta(pattern=r"^sha256:[0-9a-f]{64}\Z")]
# An id has no white space: a sentence of somebody's mail cannot stand where an id is asked for.
Id = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_.:@/+~#-]{1,200}\Z")]
KeyId = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{16}\Z")]
Name = Annotated[str, msgspec.Meta(pattern=r"^[^\x00-\x1f]{1,200}\Z")]
Sig = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9+/]{86}==\Z")]
Instant = Annotated[str, msgspec.Meta(pattern=r"^[0-9TtZz:.+-]{20,40}\Z")]
Uri = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9_.:@/+~#?=&,;%-]{1,300}\Z")]
Millis = Annotated[int, msgspec.Meta(ge=0, le=canonical.MAX_SAFE_INTEGER)]
Count = Annotated[int, msgspec.Meta(ge=0, le=canonical.MAX_SAFE_INTEGER)]


class Identity(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which execution of which turn this receipt is about."""

    receipt_id: Id
    execution_id: Id
    turn_id: Id
    outbox_id: Id
    epoch: Count
    kind: ExecutionKind


class Versioned(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An id with its version: a capability or a verifier."""

    id: Id
    version: Id | None


class Actor(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who acted; a look under this key or by this principal shows nothing."""

    id: Id
    keyid: KeyId


class PublishedClaim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the kernel sealed, and what the executor had said."""

    finality: EffectFinality
    confidence: EffectConfidence | None
    executor_said: ExecutorSaid | None


class PublishedGrade(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The grade the signer stored; a verifier computes its own and compares."""

    finality: EffectFinality
    confidence: EffectConfidence
    status: EffectStatus | None
    reasons: tuple[ReasonCode, ...]


class PublishedLook(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A signed look in the wire form of the effect line."""

    before: Digest | None
    observed: Digest | None
    outcome: LookOutcome | None
    verifier: Versioned | None
    at: Instant | None
    keyid: KeyId | None
    sig: Sig | None


class PublishedObject(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One object of a batch: its own claim, looks and grade; `object_digest` is salted."""

    object_digest: Digest
    claim: PublishedClaim
    graded: PublishedGrade
    expected: Digest | None
    output_hash: Digest | None
    looks: tuple[PublishedLook, ...]


class PublishedReceipt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The predicate of a receipt statement. `grant_digest` and `settles` are payload digests."""

    identity: Identity
    capability: Versioned
    actor: Actor
    effect_digest: Digest
    decision_digest: Digest
    grant_digest: Digest | None
    claim: PublishedClaim
    graded: PublishedGrade
    expected: Digest | None
    input_hash: Digest
    output_hash: Digest | None
    context_snapshot: Digest | None
    looks: tuple[PublishedLook, ...]
    independence: Independence | tuple[Independence, ...] | None
    started_at_ms: Millis
    finished_at_ms: Millis
    settles: Digest | None
    objects: tuple[PublishedObject, ...]


class PublishedGrant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The predicate of a grant statement: who allowed which digest, for what, from when to when."""

    grant_id: Id
    purpose: GrantPurpose
    incarnation: Id
    tenant: Id
    principal: Name
    authn: Authn
    subject_digest: Digest
    qualification_digest: Digest | None
    shown_digest: Digest
    task: Id
    issued_at_ms: Millis
    expires_at_ms: Millis
    nonce: Id
    accepts_unqualified: bool


class Sha256(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A digest as in-toto writes one."""

    sha256: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]


class Subject(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a statement is about."""

    name: Name
    digest: Sha256


class ReceiptStatement(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename={"kind": "_type", "predicate_type": "predicateType"},
):
    """A receipt as it is signed."""

    kind: str
    subject: tuple[Subject, ...]
    predicate_type: str
    predicate: PublishedReceipt


class GrantStatement(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename={"kind": "_type", "predicate_type": "predicateType"},
):
    """A grant as it is signed."""

    kind: str
    subject: tuple[Subject, ...]
    predicate_type: str
    predicate: PublishedGrant
