# SPDX-License-Identifier: Apache-2.0
"""A verifier looks and never acts; it answers what it saw, not what was expected."""

from __future__ import annotations

import enum
from typing import Protocol

import msgspec

from actum.model.effect import EffectDescriptor
from actum.model.look import Observation, SeenLook


class Phase(enum.Enum):
    """Whether the look is made before the dispatch, after it, or later by a settlement."""

    BEFORE = "before"
    AFTER = "after"
    LATER = "later"


class LookRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a verifier is asked: look at this effect's world.

    ``before`` is the observation's private detail from the BEFORE phase (null there); ``result`` is what the
    executor returned, a hint such as a created id, never a proof. The expected value is absent on purpose;
    ``expected``, its digest, ``absence_is_proof`` and ``window_over`` are for the looker, which decides whether
    a look is definite.
    """

    capability: str
    effect_digest: str
    salt: str
    descriptor: EffectDescriptor
    arguments: dict[str, object]
    phase: Phase
    before: dict[str, object] | None
    before_digest: str | None
    result: dict[str, object] | None
    expected: str | None = None
    absence_is_proof: bool = False
    window_over: bool = True


class Verifier(Protocol):
    """The component that looks. ``id`` and ``version`` are stable across processes."""

    id: str
    version: str
    projection: str

    def observe(self, request: LookRequest) -> Observation:
        """Project the world as it is now. Raising is recorded as a look that failed (unclear)."""
        ...


class Looker(Protocol):
    """Whoever runs verifiers and signs what they saw, with a key that is not the actor's."""

    def look(self, request: LookRequest) -> SeenLook:
        """Return a signed look; a verifier that raises yields outcome unclear with the reason in detail."""
        ...

    def look_many(self, requests: list[LookRequest]) -> list[SeenLook]:
        """Return the signed looks in the order asked; one exchange for all of them."""
        ...

    def close(self) -> None:
        """End the verifier process."""
        ...
