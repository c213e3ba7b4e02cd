# SPDX-License-Identifier: Apache-2.0
"""What a run came to is told by the newest receipt of each effect."""

from __future__ import annotations

from pathlib import Path

from actum.service.touched import log_size, sealed_since
from tests.unit.service.shop import Shop


def test_a_retry_that_took_hold_is_no_failure_and_one_effect(tmp_path: Path) -> None:
    tries: list[str] = []

    def acting(entry: str) -> None:
        tries.append(entry)
        if len(tries) == 2:
            shop.ledger.append(entry)

    shop = Shop(tmp_path, acting=acting)
    before = log_size(shop.kernel.line)
    turn = shop.done("a")
    assert [key[3] for key in sealed_since(shop.kernel.line, before).counts] == ["failed"]
    shop.run_later()
    assert len(shop.receipts(turn)) == 2
    touched = sealed_since(shop.kernel.line, before)
    assert [(key[3], count) for key, count in touched.counts.items()] == [("success", 1)]
    assert [row.status for row in touched.first] == ["success"]
    assert touched.unknown_turns == []
    shop.kernel.close()
