# SPDX-License-Identifier: Apache-2.0
"""An effect descriptor says what is about to happen, and has a digest only once it is valid.

It does not say that the effect is wanted, allowed or has happened.

Rules
1. The object count never exceeds the blast radius; both are at least one unless nothing is mutated.
2. Every digest field is ``sha256:`` and 64 lower hex digits.
3. A descriptor is digested only after rules 1 and 2 hold.
4. Irreversible, above standard privilege, or executable content: flagged for isolated qualification.
"""

from __future__ import annotations

import enum

import msgspec

from actum.model import canonical
from actum.model.errors import Refused


class Reversibility(enum.Enum):
    """Whether the world can be put back."""

    NO_MUTATION = "no_mutation"
    REVERSIBLE = "reversible"
    IRREVERSIBLE = "irreversible"


class Externality(enum.Enum):
    """How far out of this machine the effect reaches."""

    LOCAL_ONLY = "local_only"
    PUBLIC_READ = "public_read"
    PRIVATE_EGRESS = "private_egress"
    EXTERNAL_MUTATION = "external_mutation"


class PrivilegeLevel(enum.Enum):
    """What rights the executor needs."""

    STANDARD = "standard"
    ELEVATED = "elevated"
    SYSTEM_CRITICAL = "system_critical"


class EffectClass(enum.Enum):
    """Who may decide: ``inform`` may run alone where nothing mutates, the others need a person."""

    INFORM = "inform"
    ACTION = "action"
    MONEY_LEGAL = "money_legal"


STRICTNESS = (EffectClass.INFORM, EffectClass.ACTION, EffectClass.MONEY_LEGAL)
"""The classes from the one that asks least to the one that asks most."""


class Claims(enum.Enum):
    """Whether a capability claims that the world changed, or only that it is in a state."""

    CHANGE = "change"
    STATE = "state"


class FileIdentity(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The identity of an existing file: exact path, device, inode, size in bytes, mtime in nanoseconds.

    Device, inode and mtime are decimal text because they exceed 2**53 on real file systems.
    """

    path: str
    device: str
    inode: str
    size: int
    mtime_ns: str


class AbsenceIdentity(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The identity of a place where nothing is yet: the parent folder and the missing name."""

    path: str
    parent_device: str
    parent_inode: str
    name: str


class Resource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One resolved thing that the effect touches.

    ``digest`` is the content's digest when resolved (null where there is no content yet), ``version`` an
    ETag or version for things that have no file identity.
    """

    kind: str
    id: str
    digest: str | None = None
    file: FileIdentity | None = None
    absence: AbsenceIdentity | None = None
    version: str | None = None


class Expected(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The projection a verifier will use, and the digest of the value it must see."""

    projection: str
    digest: str


class EffectDescriptor(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is about to happen, in full, before it happens."""

    capability: str
    capability_version: str
    effect_class: EffectClass
    reversibility: Reversibility
    externality: Externality
    privilege_level: PrivilegeLevel
    canonical_resources: tuple[Resource, ...]
    destinations: tuple[str, ...]
    recipients: tuple[str, ...]
    data_classes: tuple[str, ...]
    object_count: int
    blast_radius: int
    executable_code: bool
    origin_turn_id: str
    proposed_action_id: str
    resolved_argument_digest: str
    idempotency_key: str
    claims: Claims
    expected: Expected | None


class Effect(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A validated descriptor with its salt; the digest covers both."""

    effect_digest: str
    salt: str
    descriptor: EffectDescriptor


def validate(descriptor: EffectDescriptor) -> Refused | None:
    """Return why the descriptor may not be digested, or None."""
    # Rule 1
    if descriptor.object_count > descriptor.blast_radius:
        return Refused(
            reason="object_count_exceeds_blast_radius",
            facts={
                "object_count": str(descriptor.object_count),
                "blast_radius": str(descriptor.blast_radius),
            },
        )
    mutates = descriptor.reversibility is not Reversibility.NO_MUTATION
    if descriptor.object_count < (1 if mutates else 0):
        return Refused(reason="object_count_too_small", facts={"object_count": str(descriptor.object_count)})
    # Rule 2
    digests = {"/resolved_argument_digest": descriptor.resolved_argument_digest}
    for index, resource in enumerate(descriptor.canonical_resources):
        if resource.digest is not None:
            digests[f"/canonical_resources/{index}/digest"] = resource.digest
    if descriptor.expected is not None:
        digests["/expected/digest"] = descriptor.expected.digest
    for path, value in digests.items():
        if not canonical.is_digest(value):
            return Refused(reason="malformed_digest", facts={"path": path, "got": value})
    return None


def seal_effect(descriptor: EffectDescriptor, *, salt: str) -> Effect | Refused:
    """Digest a descriptor with its salt; an invalid one never gets a digest.

    ``salt`` is 32 lower hex digits, one for each effect.
    """
    # Rule 3
    refused = validate(descriptor)
    if refused is not None:
        return refused
    return Effect(effect_digest=effect_digest(descriptor, salt=salt), salt=salt, descriptor=descriptor)


def effect_digest(descriptor: EffectDescriptor, *, salt: str) -> str:
    """Return the published digest of a descriptor: SHA-256 over the salted object's canonical bytes."""
    return canonical.digest({"salt": salt, "value": descriptor})


def needs_qualification(descriptor: EffectDescriptor) -> bool:
    """Tell whether the effect must be qualified in isolation before it runs."""
    # Rule 4
    return (
        descriptor.reversibility is Reversibility.IRREVERSIBLE
        or descriptor.privilege_level is not PrivilegeLevel.STANDARD
        or descriptor.executable_code
    )


def intent_digest(descriptor: EffectDescriptor, *, principal: str) -> str:
    """Return the private digest an idempotency key is bound to.

    It covers capability, arguments, destinations, recipients and principal, and neither the turn nor the
    salt, so that the same wish made twice is the same intent.
    """
    return canonical.digest(
        {
            "capability": descriptor.capability,
            "resolved_argument_digest": descriptor.resolved_argument_digest,
            "destinations": list(descriptor.destinations),
            "recipients": list(descriptor.recipients),
            "principal": principal,
        }
    )
