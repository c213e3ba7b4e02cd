# SPDX-License-Identifier: Apache-2.0
"""Whatever executors, verifiers, worlds and stops do: the records agree, and nothing is verified that is not there."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from actum.model.delivery import OutboxState
from actum.testing.kernels import PERSON
from tests.crash.agreement import disagreements
from tests.crash.points import all_points
from tests.unit.service.shop import Shop, Stopped

ACTING = ("act", "lie", "raise_before", "raise_after", "twice", "other")
MEDDLING = ("nothing", "remove", "add", "replace")
SEEING = ("count", "nothing", "raise", "always_one", "always_none")
POINTS = (None, *(point for point in all_points() if "adopt" not in point))


class Unruly:
    """A ledger whose executor and verifier behave as they are told, and which somebody else may change meanwhile."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.acting: dict[str, str] = {}
        self.meddling: dict[str, str] = {}
        self.seeing: dict[str, str] = {}
        self.acted: Counter[str] = Counter()

    def act(self, entry: str) -> dict[str, int]:
        how = self.acting[entry]
        if how == "raise_before":
            raise RuntimeError
        times = {"act": 1, "raise_after": 1, "twice": 2}.get(how, 0)
        for _ in range(times):
            self.acted[entry] += 1
            self.shop.ledger.append(entry)
        if how == "other":
            self.shop.ledger.append("something else")
        self.meddle(entry)
        if how == "raise_after":
            raise RuntimeError
        return {"ok": 1}

    def meddle(self, entry: str) -> None:
        lines = self.shop.ledger.entries()
        match self.meddling[entry]:
            case "remove":
                lines = [line for line in lines if line != entry]
            case "add":
                lines.append(entry)
            case "replace":
                lines = [line.replace(entry, "x") if line == entry else line for line in lines]
            case _:
                return
        self.shop.ledger.path.write_text("".join(f"{line}\n" for line in lines))

    def see(self, entry: str) -> dict[str, int] | None:
        match self.seeing[entry]:
            case "nothing" | "always_none":
                return None
            case "raise":
                raise RuntimeError
            case _:
                return {"lines": self.shop.ledger.count(entry)}


effects = st.lists(
    st.tuples(st.sampled_from(ACTING), st.sampled_from(MEDDLING), st.sampled_from(SEEING[:3])),
    min_size=1,
    max_size=4,
)


def work_on(
    shop: Shop, unruly: Unruly, wanted: list[tuple[str, str, str]], *, declared: dict[str, Any]
) -> None:
    for number, how in enumerate(wanted):
        entry = f"e{number}"
        unruly.acting[entry], unruly.meddling[entry], unruly.seeing[entry] = how
        subject = {"capability": "ledger.append", "arguments": {"entry": entry}}
        shop.kernel.submit("agent.action", subject, key=entry)
    questions = [one.question_id for one in shop.kernel.inbox() if one.reason.value == "confirm"]
    if questions:
        shop.kernel.confirm(questions, by=PERSON)
    for _ in range(3):
        shop.run_later()


def true_ends(shop: Shop) -> list[tuple[str, str, str, int]]:
    """Return entry, finality, confidence and how often the entry stands in the world, for each effect."""
    found: list[tuple[str, str, str, int]] = []
    for activity in shop.kernel.activity("all"):
        rows = shop.read(lambda tx, turn=activity.turn_id: tx.outbox_of_turn(turn))
        for row in rows:
            receipts = shop.read(lambda tx, row=row: tx.receipts_of_row(row.outbox_id))
            effect = shop.read(lambda tx, row=row: tx.effect(row.effect_digest or ""))
            if effect is None or not receipts or b"entry" not in effect.arguments:
                continue
            entry = effect.arguments.decode().split('"')[3]
            end = receipts[-1]
            found.append((entry, end.graded_finality, end.graded_confidence, shop.ledger.count(entry)))
    return found


@settings(max_examples=60)
@given(wanted=effects, absence=st.booleans(), point=st.sampled_from(POINTS), at=st.integers(1, 3))
def test_o57_r145_whatever_happens_the_records_agree_and_no_world_is_verified_that_is_not_as_expected(
    wanted: list[tuple[str, str, str]], absence: bool, point: str | None, at: int
) -> None:
    folder = Path(tempfile.mkdtemp(prefix="actum-line-"))
    declared: dict[str, Any] = {"absence_is_proof": absence, "attempts_max": 2}
    try:
        shop = Shop(folder, **declared)
        unruly = Unruly(shop)
        shop.declared = {**declared, "acting": unruly.act, "seeing": unruly.see}
        shop.restart()
        if point is not None:
            shop.stop_at(point, at=at)
        try:
            work_on(shop, unruly, wanted, declared=declared)
        except Stopped:
            shop.restart()
        work_on(shop, unruly, wanted, declared=declared)
        shop.kernel.line.at_point = None
        assert disagreements(shop.kernel, at_rest=False) == []
        ends = true_ends(shop)
        for entry, finality, confidence, count in ends:
            if (finality, confidence) == ("finalized", "verified"):
                assert count == 1, entry
            if (finality, confidence) == ("failed", "verified"):
                assert absence, entry
        if not absence:
            most = {entry: 2 if how == "twice" else 1 for entry, how in unruly.acting.items()}
            assert all(count <= most[entry] for entry, count in unruly.acted.items())
        # Work in = decided + waiting for somebody + visible failures.
        for activity in shop.kernel.activity("all"):
            waits = activity.open_questions > 0
            due = any(
                row.state is OutboxState.RETRY_WAIT
                for row in shop.read(lambda tx, turn=activity.turn_id: tx.outbox_of_turn(turn))
            )
            assert activity.state.value in ("completed", "failed") or waits or due, activity
        shop.kernel.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
