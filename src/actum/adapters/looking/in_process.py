# SPDX-License-Identifier: Apache-2.0
"""Looks made in the acting process (L0): honest about it, for verifiers that exist nowhere else."""

from __future__ import annotations

from collections.abc import Mapping

from actum.adapters.looking.signed import make_look
from actum.evidence.keys import Signer
from actum.model.look import Level, SeenLook
from actum.ports.clock import Clock
from actum.ports.verifier import LookRequest, Verifier


class InProcessLooker:
    """Runs verifiers in this process. Every look it makes says level L0."""

    def __init__(self, verifiers: Mapping[str, Verifier], *, signer: Signer, clock: Clock) -> None:
        self._verifiers = verifiers
        self._signer = signer
        self._clock = clock

    def look(self, request: LookRequest) -> SeenLook:
        """Return a signed look at level L0."""
        return make_look(
            request,
            verifiers=self._verifiers,
            signer=self._signer,
            now_ms=self._clock.now_ms(),
            level=Level.L0,
        )

    def look_many(self, requests: list[LookRequest]) -> list[SeenLook]:
        """Return the looks in the order asked."""
        return [self.look(request) for request in requests]

    def close(self) -> None:
        """There is nothing to end."""
