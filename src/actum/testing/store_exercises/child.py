# SPDX-License-Identifier: Apache-2.0
"""What another process does to a store under test: ``python -m actum.testing.store_exercises.child``.

Arguments: opener, address, verb, name, count. It prints ``ready`` when the store is open, begins at a line
on its standard input, and prints its answer as JSON.
"""

from __future__ import annotations

import importlib
import json
import sys

from actum.model.delivery import OutboxState
from actum.ports.store import Store, Tx
from actum.testing.store_exercises.samples import CAPABILITY, LATER, NOW, Samples


def main(arguments: list[str]) -> None:
    """Do one verb and print what came of it."""
    opener, address, verb, name, count = arguments
    module, function = opener.split(":")
    store: Store = getattr(importlib.import_module(module), function)(address, tenant="local")
    print("ready", flush=True)
    sys.stdin.readline()
    verbs = {"claim": _claim, "write": _write, "log": _log, "take": _take}
    print(json.dumps(verbs[verb](store, name, int(count))), flush=True)
    store.close()


def _claim(store: Store, name: str, count: int) -> list[str]:
    """Claim one row at a time until nothing was due; settle each, so that only a double claim repeats one."""
    del count
    mine: list[str] = []
    while True:
        found = store.write(
            lambda tx: tx.claim(
                holder=name, now_ms=NOW, lease_until_ms=LATER, limit=1, capabilities=[CAPABILITY]
            )
        )
        if not found:
            return mine
        mine += [row.outbox_id for row in found]
        row = found[0]
        store.write(
            lambda tx, row=row: tx.move_outbox(
                row.outbox_id, epoch=row.epoch, state=OutboxState.CLAIMED, to=OutboxState.SETTLED
            )
        )


def _write(store: Store, name: str, count: int) -> int:
    """Write two rows in each of many commits; both or neither must be there afterwards."""
    for number in range(count):

        def work(tx: Tx, number: int = number) -> None:
            tx.set_meta(f"{name}-{number}-a", "x" * 200)
            tx.set_meta(f"{name}-{number}-b", "x" * 200)

        store.write(work)
        if number % 10 == 0:
            print(number, flush=True)
    return count


def _log(store: Store, name: str, count: int) -> int:
    """Append leaves by reading the size and writing the next, as the service does."""
    s = Samples(mark=name)
    for _ in range(count):

        def work(tx: Tx) -> None:
            size, _ = tx.log_state()
            tx.add_leaf(s.leaf(size))
            tx.set_log_state(size + 1, b"f")

        store.write(work)
    return count


def _take(store: Store, name: str, count: int) -> bool:
    """Take the runner's lease over an absent one."""
    return store.write(lambda tx: tx.take_runner(Samples().runner(name, count), over_epoch=None))


if __name__ == "__main__":
    main(sys.argv[1:])
