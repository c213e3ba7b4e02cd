# SPDX-License-Identifier: Apache-2.0
"""Kernels for tests: opened in a folder, looking in this process, with a ledger whose lines count executions.

A look made here says L0. Where the verifier process is the subject, open a `Kernel` as users do.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from actum.adapters.looking.in_process import InProcessLooker
from actum.adapters.machine.clock import SystemIds
from actum.bootstrap import Kernel
from actum.bootstrap.action import Action
from actum.bootstrap.place import VERIFIER
from actum.bootstrap.turn import Turn
from actum.capabilities.functions import Expect
from actum.capabilities.subject import MARK, RECORD, MarkVerifier, RecordExecutor
from actum.model.errors import Refused
from actum.model.question import QuestionReason
from actum.ports.clock import Clock
from actum.ports.verifier import Verifier

PERSON = "ann"
OTHER_PERSON = "bob"


class Everything(dict[str, Verifier]):
    """All verifiers of a kernel's registry, asked when needed."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__({MARK: MarkVerifier(kernel.line.store)})
        self._registry = kernel.line.registry

    def get(self, key: str, default: Any = None) -> Any:
        """Return a registered verifier, or the one of the dispatched mark."""
        found = self._registry.find(key)
        return super().get(key, default) if isinstance(found, Refused) else found.verifier


def open_kernel(folder: Path, *, clock: Clock | None = None, principal: str = "agent:tester") -> Kernel:
    """Open the store ``folder/.actum`` for an agent, with two people who may approve and a looker in this process."""
    kernel = Kernel.open(folder / ".actum", principal=principal)
    if clock is not None:
        kernel.line.clock = clock
        # The ids of the opening began at the machine's own time, and never go back.
        kernel.line.ids = SystemIds()
        record: Any = kernel.line.registry.find(RECORD)
        record.executor = RecordExecutor(kernel.line.store, clock=clock, ids=kernel.line.ids)
    kernel.line.looker.close()
    kernel.line.looker = InProcessLooker(
        Everything(kernel), signer=kernel.place.keys.load(VERIFIER), clock=kernel.line.clock
    )
    give_roles(kernel)
    return kernel


def give_roles(kernel: Kernel) -> None:
    """Give two people the roles of an approver and an operator."""
    now = kernel.line.now()
    for person in (PERSON, OTHER_PERSON):
        if not kernel.line.store.read(lambda tx, person=person: tx.roles(person)):
            kernel.line.store.write(
                lambda tx, person=person: [
                    tx.add_role(person, role, by="test", now_ms=now) for role in ("approver", "operator")
                ]
            )


class Ledger:
    """An append-only file: one line for each time somebody acted, so that nothing can happen twice unseen."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, entry: str) -> None:
        """Add one line with one write."""
        fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(fd, f"{entry}\n".encode())
        finally:
            os.close(fd)

    def entries(self) -> list[str]:
        """Return all lines."""
        return self.path.read_text().splitlines() if self.path.exists() else []

    def count(self, entry: str) -> int:
        """Return how often an entry was written."""
        return self.entries().count(entry)


def append_action(
    kernel: Kernel,
    ledger: Ledger,
    *,
    capability: str = "ledger.append",
    acting: Any = None,
    seeing: Any = None,
    expect: Expect | None = None,
    **declared: Any,
) -> Action:
    """Register an action that appends ``entry`` to a ledger and is seen by counting the lines.

    ``acting`` and ``seeing`` replace what the executor and the verifier do; both are called with the entry.
    """
    settings: dict[str, Any] = {
        "reversibility": "reversible",
        "externality": "local_only",
        "absence_is_proof": True,
        "attempts_max": 3,
        **declared,
    }

    @kernel.action(capability, **settings)
    def act(entry: str) -> Any:
        if acting is not None:
            return acting(entry)
        ledger.append(entry)
        return {"appended": entry}

    def see(entry: str) -> Any:
        if seeing is not None:
            return seeing(entry)
        return {"lines": ledger.count(entry)}

    act.verifier(expect=expect or {"lines": 1})(see)
    return act


def confirm_all(kernel: Kernel, turn: Turn, *, by: str = PERSON, **options: Any) -> list[str]:
    """Confirm everything the turn asks to confirm; return the outbox ids."""
    return kernel.confirm(turn.question_ids(), by=by, **options)


def perform(kernel: Kernel, turn: Turn, *, by: str = PERSON, **options: Any) -> list[str]:
    """Confirm and run a turn; return the outbox ids."""
    rows = confirm_all(kernel, turn, by=by, **options)
    kernel.run()
    return rows


def open_reasons(turn: Turn) -> list[QuestionReason]:
    """Return why a turn waits for a person."""
    return [question.reason for question in turn.questions()]
