# SPDX-License-Identifier: Apache-2.0
"""A model is asked through one method, and whatever happens comes back as a value."""

from __future__ import annotations

from typing import Protocol

from actum.model.model_call import (
    ModelAnswer,
    ModelFault,
    ModelFaultKind,
    ModelOutcome,
    ModelRequest,
    ModelTier,
)


class ModelPort(Protocol):
    """Something that completes a request: one tier's adapter, or all tiers as configured."""

    def complete(self, request: ModelRequest, *, deadline_s: float) -> ModelOutcome:
        """Return the answer or the fault, within about `deadline_s` seconds of real time.

        It may be called from any thread. It raises nothing for what the world does; it has no handle on an
        executor, a store or a grant, so nothing it returns has happened anywhere.
        """
        ...


__all__ = [
    "ModelAnswer",
    "ModelFault",
    "ModelFaultKind",
    "ModelOutcome",
    "ModelPort",
    "ModelRequest",
    "ModelTier",
]
