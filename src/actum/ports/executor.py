# SPDX-License-Identifier: Apache-2.0
"""An executor acts, and can only be reached with a Dispatch, which only the delivery service can make.

Rules
1. ``hold`` opens and checks what will be acted upon, and changes nothing.
2. ``execute`` acts through the handle that was checked.
3. A Dispatch is made with a seal that is given out once in a process.
"""

from __future__ import annotations

from typing import Protocol

from actum.model.errors import InvariantViolation, Refused
from actum.ports.effect_view import EffectView
from actum.ports.execution import ExecutorReport, Held


class Seal:
    """Proof of being the delivery service; there is one in a process."""

    __slots__ = ()


_seal: Seal | None = None


def take_seal() -> Seal:
    """Give the one seal to the first caller, which is the delivery service at import."""
    global _seal
    # Rule 3
    if _seal is not None:
        raise InvariantViolation("the dispatch seal was already taken: only service.deliver may dispatch")
    _seal = Seal()
    return _seal


class Dispatch:
    """Permission to act once: this effect, this row, this epoch, after the dispatched mark was committed."""

    __slots__ = ("effect", "outbox_id", "epoch", "execution_id", "deadline_ms")

    def __init__(
        self,
        *,
        seal: Seal,
        effect: EffectView,
        outbox_id: str,
        epoch: int,
        execution_id: str,
        deadline_ms: int,
    ) -> None:
        # Rule 3
        if _seal is None or seal is not _seal:
            raise InvariantViolation("a Dispatch was constructed outside service.deliver")
        self.effect = effect
        self.outbox_id = outbox_id
        self.epoch = epoch
        self.execution_id = execution_id
        self.deadline_ms = deadline_ms


class Executor(Protocol):
    """The component that acts. It cannot write evidence: it returns its word and nothing else."""

    def hold(self, effect: EffectView) -> Held | Refused:
        """Open and check the resource; refuse where its identity differs from the one resolved."""
        ...

    def execute(self, dispatch: Dispatch, held: Held) -> ExecutorReport:
        """Act once through the held handle. Anything raised is recorded as ``raised``."""
        ...


__all__ = ["Dispatch", "EffectView", "Executor", "ExecutorReport", "Held", "Seal", "take_seal"]
