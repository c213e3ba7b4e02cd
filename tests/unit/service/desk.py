# SPDX-License-Identifier: Apache-2.0
"""A desk with one process: it sorts tickets, asks a person about odd ones, and appends to a ledger when told so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from actum import Kernel
from actum.ports.store import Tx
from actum.testing.clock import SimulatedClock
from actum.testing.kernels import Ledger, append_action, open_kernel

DESK = """
process: desk
work_types: [ticket]
fields:
  kind: {type: string, values: [letter, order, both, odd, model]}
  entry: string
  topic: {type: string, values: [yes, no]}
actions:
  append: {capability: ledger.append, auto_confirm: true, arguments: {entry: {field: entry}}}
  again: {capability: ledger.append, arguments: {entry: {cel: 'entry + "-2"'}}}
skills:
  sort:
    actions: [append, again]
    rules:
      - {id: letter, when: {kind: letter}}
      - {id: order, when: {kind: order}, then: {stage: [append]}}
      - {id: both, when: {kind: both}, then: {stage: [append, again]}}
      - {id: model, when: {kind: model}}
  file:
    rules:
      - {id: filed, when: 'kind == "letter" || kind == "order" || kind == "both"'}
steps:
  - id: sort
    kind: plumbing
    skill: sort
    choices: [{id: letter, then: {set: {kind: letter}}}, {id: order, then: {set: {kind: order}, stage: [append]}}]
  - {id: file, kind: plumbing, skill: file, residual: fail}
"""


class Desk:
    """A kernel over the desk process with its ledger and clock."""

    def __init__(self, folder: Path, **declared: Any) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.clock = SimulatedClock()
        self.ledger = Ledger(folder / "ledger")
        self.kernel: Kernel = open_kernel(folder, clock=self.clock)
        (self.kernel.place.processes / "desk.yaml").write_text(DESK)
        self.append = append_action(self.kernel, self.ledger, **declared)

    def count(self, table: str) -> int:
        """Return how many rows a table has."""
        store: Any = self.kernel.line.store
        return store.read(lambda tx: tx.value(f"SELECT count(*) FROM {table} WHERE tenant = ?", tx.tenant))

    def read(self, work: Any) -> Any:
        """Read the store."""
        return self.kernel.line.store.read(work)

    def events(self, kind: str) -> list[str]:
        """Return the bodies of the events of a kind."""

        def work(tx: Tx) -> list[str]:
            return [event.body for event in tx.events(kind=kind)]

        return self.read(work)

    def __enter__(self) -> Desk:
        return self

    def __exit__(self, *_: object) -> None:
        self.kernel.close()
