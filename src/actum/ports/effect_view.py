# SPDX-License-Identifier: Apache-2.0
"""What a component outside the kernel may know of an effect, whether it acts, looks or rehearses."""

from __future__ import annotations

import msgspec

from actum.model.effect import EffectDescriptor


class EffectView(msgspec.Struct, frozen=True, kw_only=True):
    """What an executor or verifier may know of an effect: the descriptor and its resolved arguments."""

    effect_digest: str
    salt: str
    descriptor: EffectDescriptor
    arguments: dict[str, object]
