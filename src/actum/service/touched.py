# SPDX-License-Identifier: Apache-2.0
"""What a run came to is read from the log: the receipts that were sealed while it ran.

Where another process seals at the same time, its receipts are counted too; they are of the same store. An effect
counts once, by its newest receipt: an attempt that was followed by one that took hold is no failure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from actum.evidence.log import parse_entry
from actum.evidence.published import RECEIPT
from actum.model.activity import ActivityFilter, ActivityState
from actum.model.delivery import OutboxKind, OutboxRow, OutboxState
from actum.model.grading import EffectStatus
from actum.ports.store import ReceiptRow, Tx
from actum.service.line import Line
from actum.service.standing import left_to

KEPT = 50
KEPT_TURNS = 1000
UNKNOWN = EffectStatus.UNKNOWN_OUTCOME.value


class Touched(msgspec.Struct, kw_only=True):
    """The newest receipts by (kind, finality, confidence, status), the first of them whole, and turns nobody knows
    the end of."""

    counts: Counter[tuple[str, str, str, str]]
    first: list[ReceiptRow]
    unknown_turns: list[str]


def log_size(line: Line) -> int:
    """Return how many records the log has."""
    return line.store.read(lambda tx: tx.log_state()[0])


def sealed_since(line: Line, size: int) -> Touched:
    """Return what was sealed after the log had this size."""

    def work(tx: Tx) -> Touched:
        newest: dict[str, tuple[str, tuple[str, str, str, str]]] = {}
        first: dict[str, ReceiptRow] = {}
        for row in _receipts(tx, size):
            key = (row.kind, row.graded_finality, row.graded_confidence, row.status or "open")
            newest[row.outbox_id] = (row.turn_id, key)
            if len(first) < KEPT or row.outbox_id in first:
                first[row.outbox_id] = row
        return Touched(
            counts=Counter(key for _, key in newest.values()),
            first=list(first.values()),
            unknown_turns=list(dict.fromkeys(turn for turn, key in newest.values() if key[3] == UNKNOWN)),
        )

    return line.store.read(work)


def _receipts(tx: Tx, size: int) -> Iterator[ReceiptRow]:
    for leaf in tx.each_leaf(start=size):
        entry = parse_entry(leaf.entry)
        if entry is not None and entry.t == RECEIPT:
            yield from (row for row in tx.receipts(entry.c) if row.payload_digest == entry.p)


def rows_left(line: Line) -> list[OutboxRow]:
    """Return the effects that are still to be carried out: ready, or waiting to be tried again."""
    found = line.store.read(lambda tx: tx.outbox_in(OutboxState.READY, OutboxState.RETRY_WAIT))
    return [row for row in found if row.kind is OutboxKind.EFFECT]


def turns_left(line: Line, turn_ids: Iterable[str] | None = None) -> dict[str, str]:
    """Return the turns (of those in progress, or those given) that are left to another program, with its capability."""

    def work(tx: Tx) -> dict[str, str]:
        found = (
            tx.activities(ActivityFilter.IN_PROGRESS, limit=KEPT_TURNS)
            if turn_ids is None
            else [one for one in map(tx.activity, turn_ids) if one is not None]
        )
        # A turn that is being routed has a label only where a step of it is left to somebody else.
        left = [one.turn_id for one in found if one.state is ActivityState.ROUTING and one.label is not None]
        return {turn_id: left_to(tx, turn_id) or "" for turn_id in left}

    return line.store.read(work)
