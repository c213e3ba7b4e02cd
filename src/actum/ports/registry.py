# SPDX-License-Identifier: Apache-2.0
"""What use cases ask of the registry of capabilities."""

from __future__ import annotations

from typing import Protocol

from actum.model.errors import Refused
from actum.ports.capability import Capability, CapabilityInfo


class CapabilityRegistry(Protocol):
    """The registered capabilities by id."""

    def find(self, capability_id: str) -> Capability | Refused:
        """Return the capability, or a refusal that names the nearest ids."""
        ...

    def infos(self) -> tuple[CapabilityInfo, ...]:
        """Return what the capabilities declare, ordered by id."""
        ...
