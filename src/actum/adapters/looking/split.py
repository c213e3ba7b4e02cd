# SPDX-License-Identifier: Apache-2.0
"""Each look goes to the verifier process, or stays in this process where the verifier exists nowhere else."""

from __future__ import annotations

from collections.abc import Callable

from actum.model.look import SeenLook
from actum.ports.verifier import Looker, LookRequest


class SplitLooker:
    """Sends looks of capabilities that ``is_local`` names to ``local``, all others to ``apart``."""

    def __init__(self, *, apart: Looker, local: Looker, is_local: Callable[[str], bool]) -> None:
        self._apart = apart
        self._local = local
        self._is_local = is_local

    def look(self, request: LookRequest) -> SeenLook:
        """Return one signed look."""
        return (self._local if self._is_local(request.capability) else self._apart).look(request)

    def look_many(self, requests: list[LookRequest]) -> list[SeenLook]:
        """Return the looks in the order asked."""
        local = [request for request in requests if self._is_local(request.capability)]
        apart = [request for request in requests if not self._is_local(request.capability)]
        seen = dict(zip(map(id, apart), self._apart.look_many(apart), strict=True))
        seen |= dict(zip(map(id, local), self._local.look_many(local), strict=True))
        return [seen[id(request)] for request in requests]

    def close(self) -> None:
        """End both."""
        self._apart.close()
        self._local.close()
