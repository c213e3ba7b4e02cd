# SPDX-License-Identifier: Apache-2.0
"""The action/v2 wire record: one effect, its claimed grade on two axes, and the looks that may support it.

It carries digests and never content. What stands in it is a claim; only `verify_effect` says what is left
of it. A null member and an absent one mean the same.
"""

from __future__ import annotations

import enum
from typing import Annotated

import msgspec

from actum.model.grading import DeadlinePolicy, EffectConfidence, EffectFinality, LookOutcome

Digest = Annotated[str, msgspec.Meta(pattern=r"^sha256:[0-9a-f]{64}\Z")]
KeyId = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{16}\Z")]


class RecordVersion(enum.Enum):
    """The one version of the action record that is read and written."""

    ACTION_V2 = "action/v2"


class Actor(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Who acted, and with which key; without both no look can be shown to be independent."""

    id: str | None = None
    keyid: KeyId | None = None


class Verifier(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which verifier looked, in which version."""

    id: str | None = None
    version: str | None = None


class WireLook(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A look at the world: digests of what stood before and what was observed, under one projection.

    `at` is RFC 3339, `sig` standard base64 of 64 bytes over `actum.evidence.looks.look_signing_bytes`.
    """

    before: Digest | None = None
    observed: Digest | None = None
    outcome: LookOutcome | None = None
    verifier: Verifier | None = None
    at: str | None = None
    keyid: KeyId | None = None
    sig: str | None = None


class WireResolution(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A deadline as written, readable or not, and the policy for when it passes."""

    deadline: str | None = None
    on_deadline: DeadlinePolicy | None = None


class Effect(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One effect as one line of `actum effect verify`."""

    id: Annotated[str, msgspec.Meta(min_length=1)]
    version: RecordVersion
    effect_digest: Digest
    finality: EffectFinality
    confidence: EffectConfidence | None = None
    actor: Actor | None = None
    input_hash: Digest | None = None
    output_hash: Digest | None = None
    expected: Digest | None = None
    context_snapshot: Digest | None = None
    readback: WireLook | None = None
    witnesses: tuple[WireLook, ...] | None = None
    resolution: WireResolution | None = None
    parent: str | None = None

    def looks(self) -> tuple[WireLook, ...]:
        """Return the readback and the witnesses; either kind of look serves in either place."""
        readback = () if self.readback is None else (self.readback,)
        return readback + (self.witnesses or ())
