# SPDX-License-Identifier: Apache-2.0
"""A long history slows no query of the line: each is answered by an index on more than the tenant."""

from __future__ import annotations

import re
from typing import Any

import pytest

from actum.adapters.store import activity_rows, evidence_rows, human_rows, outbox_rows, work_rows
from actum.adapters.store.mapping import Mapping
from actum.adapters.store.sqlite import SqliteTx
from actum.model.delivery import OutboxState
from actum.testing.store_exercises import tenants
from actum.testing.store_exercises.samples import Samples
from tests.store.benches import SqliteBench

READS_ALL = {
    "active_rulebook": "a store has few rulebooks",
    "rulebook": "a store has few rulebooks",
    "activities": "newest first from a key, and stops at its limit",
    "activity_counts": "counts everything",
    "decisions_per_rung": "counts everything",
    "each_assertion": "is meant to read everything",
    "each_decision": "is meant to read everything",
    "events": "without a kind or a turn it is meant to read everything",
    "log_state": "one row a tenant",
    "outbox_counts": "counts everything",
    "runner": "one row a tenant",
    "holds_runner": "one row a tenant",
    "renew_runner": "one row a tenant",
    "outbox_unsealed": "the index holds only rows settled without an attempt",
    "outbox_in": "asked for settled rows too it reads everything; the test below asks for the others",
    "move_visits": "runs once, at start",
    "void_unused_grants": "runs once, when a store is adopted",
}
"""Calls that read all rows of a tenant, and why they may."""
PARTIAL = {"outbox_ready", "outbox_open", "outbox_unattempted", "question_open", "activity_needs_attention",
           "activity_in_progress"}  # fmt: skip
"""Indexes that hold only what is open, so that reading all of one is reading little."""


@pytest.fixture
def statements(bench: SqliteBench, monkeypatch: pytest.MonkeyPatch) -> dict[str, set[str]]:
    """Every statement that the calls of the tenants' exercise run, by call."""
    found: dict[str, set[str]] = {}
    now = [""]
    for name in ("rows", "each", "run"):
        real = getattr(SqliteTx, name)

        def spy(self: Any, sql: str, *values: object, real: Any = real) -> Any:
            found.setdefault(now[0], set()).add(sql)
            return real(self, sql, *values)

        monkeypatch.setattr(SqliteTx, name, spy)
    store = bench.store()
    made = store.write(lambda tx: tenants._everything(tx, Samples()))
    found.clear()
    for name, call in {**tenants._views(made), **tenants._moves(made)}.items():
        now[0] = name.split(" ")[0]
        store.write(call)
    return found


def test_every_query_of_the_line_is_answered_by_an_index(
    statements: dict[str, set[str]], bench: SqliteBench
) -> None:
    assert len(statements) > 50
    slow: list[str] = []
    for call, found in statements.items():
        for sql in found:
            if call in READS_ALL or sql.startswith("INSERT"):
                continue
            plan = bench.raw(f"EXPLAIN QUERY PLAN {sql}", *[None] * sql.count("?"))
            slow += [f"{call}: {row[3]}" for row in plan if _reads_a_history(str(row[3]))]
    assert not slow, "\n".join(["", *slow])


def _reads_a_history(step: str) -> bool:
    if step.startswith("SCAN"):
        return "CONSTANT ROW" not in step and not re.match(r"SCAN (due|\(subquery)", step)
    searched = re.match(r"SEARCH .*? USING (?:COVERING )?(?:INDEX (\S+)|PRIMARY KEY) \((.*)\)$", step)
    if searched is None:
        return False
    index, columns = searched.groups()
    return columns == "tenant=?" and index not in PARTIAL


def test_a_history_read_by_the_tenant_alone_would_be_found() -> None:
    assert _reads_a_history("SCAN receipt")
    assert _reads_a_history("SEARCH receipt USING INDEX sqlite_autoindex_receipt_1 (tenant=?)")
    assert not _reads_a_history("SEARCH receipt USING INDEX receipt_of_turn (tenant=? AND turn_id=?)")
    assert not _reads_a_history("SEARCH outbox USING INDEX outbox_open (tenant=?)")


def test_unsettled_rows_are_found_without_the_settled_ones(
    bench: SqliteBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    real = SqliteTx.rows

    def spy(self: Any, sql: str, *values: object) -> Any:
        asked.append(sql)
        return real(self, sql, *values)

    monkeypatch.setattr(SqliteTx, "rows", spy)
    bench.store().read(lambda tx: tx.outbox_in(OutboxState.CLAIMED, OutboxState.DISPATCHED))
    assert len(asked) == 2
    for sql in asked:
        plan = bench.raw(f"EXPLAIN QUERY PLAN {sql}", *[None] * sql.count("?"))
        assert [row[3] for row in plan] == ["SEARCH outbox USING INDEX outbox_open (tenant=? AND state=?)"]


def test_no_rule_has_a_table_built_at_every_row(statements: dict[str, set[str]], bench: SqliteBench) -> None:
    """IN with more than two words would do that, and a CHECK or a trigger asks it at each row that is written."""
    writes = {sql for found in statements.values() for sql in found if sql.startswith("INSERT")}
    writes |= {mapping.insert for mapping in _mappings()}
    assert len(writes) > 15
    built = [
        sql
        for sql in sorted(writes)
        for step in bench.raw(f"EXPLAIN {sql}", *[None] * sql.count("?"))
        if step[1] == "OpenEphemeral"
    ]
    assert not built, "\n".join(["", *built])
    rules = bench.raw("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")
    assert not [rule for (rule,) in rules if re.search(r"IN \('[^']*'(, '[^']*'){2,}\)", str(rule))]


def _mappings() -> list[Mapping[Any]]:
    modules = (activity_rows, evidence_rows, human_rows, outbox_rows, work_rows)
    return [found for module in modules for found in vars(module).values() if isinstance(found, Mapping)]
