# SPDX-License-Identifier: Apache-2.0
"""The database itself keeps every named rule, whichever way somebody writes around the store."""

from __future__ import annotations

from actum.adapters.store import constraints
from actum.model.errors import RefusedError
from actum.testing.store_exercises.bench import Bench, raised, refused, told_by
from actum.testing.store_exercises.breaks import BESIDE, BREAKS, UNIQUE, Break
from actum.testing.store_exercises.raw_rows import APPEND_ONLY, FIXED_WORDS, KEPT, KEYS, RawRows


def every_rule_has_an_exercise(bench: Bench) -> None:
    """No rule of the schema is without a way to break it here, and none is named that does not exist."""
    del bench
    shown = {one.rule for one in BREAKS} | set(UNIQUE) | BESIDE
    assert shown == set(constraints.RULES), shown ^ set(constraints.RULES)


def every_rule_is_kept_on_insert_and_update(bench: Bench) -> None:
    """A row that breaks a rule is refused with the rule's name, and the valid row beside it is taken."""
    rows = RawRows(bench)
    for one in BREAKS:
        for way in bench.ways:
            keeps_rule(rows, one, way=way)


def keeps_rule(rows: RawRows, one: Break, *, way: str) -> None:
    """Break one rule in one way and see it refused, on INSERT and on UPDATE."""
    if one.insert is not None:
        rows.insert(one.table, rows.fresh(one.table), way=way)
        broken = {**rows.fresh(one.table), **one.insert}
        told = told_by(lambda: rows.insert(one.table, broken, way=way))
        assert told == one.rule, f"{one.rule} by {way} on INSERT: {told}"
    if one.update is not None:
        base = {**rows.fresh(one.table), **one.base}
        rows.insert(one.table, base)
        for changes in one.through:
            rows.update(one.table, base, changes)
        changes = one.update
        told = told_by(lambda: rows.update(one.table, base, changes, way=way))
        assert told == one.rule, f"{one.rule} by {way} on UPDATE: {told}"


def what_stands_once_is_not_written_again(bench: Bench) -> None:
    """A second row under the same key or unique columns is refused by name, and the first stays as it was."""
    rows = RawRows(bench)
    keys = {f"{table}_once": (table, KEYS[table]) for table in KEPT}
    for rule, (table, columns) in {**keys, **UNIQUE}.items():
        for way in bench.ways:
            first = rows.fresh(table)
            rows.insert(table, first)
            second = {**rows.fresh(table), **{column: first[column] for column in columns}}
            told = refused(lambda t=table, s=second, w=way: rows.insert(t, s, way=w))
            # A second row under a leaf's number also breaks the rule against gaps.
            assert told == rule or (table == "log_leaf" and told == "log_leaf_next"), (
                f"{rule} by {way}: {told}"
            )
            assert rows.stored(table, first) == first, f"{rule} by {way}: the first row was changed"


def what_is_written_stays_written(bench: Bench) -> None:
    """Append-only rows are never changed, kept rows never deleted, and the words of a moving row never change."""
    rows = RawRows(bench)
    for table in KEPT:
        row = rows.fresh(table)
        rows.insert(table, row)
        assert refused(lambda t=table, r=row: rows.delete(t, r)) == f"{table}_never_deleted"
        for way in bench.ways:
            if table in APPEND_ONLY:
                column = next(name for name in row if name not in KEYS[table])
                told = refused(lambda t=table, r=row, c=column, w=way: rows.update(t, r, {c: r[c]}, way=w))
                assert told == f"{table}_append_only", f"{table} by {way}: {told}"
            else:
                column = FIXED_WORDS[table]
                told = refused(lambda t=table, r=row, c=column, w=way: rows.update(t, r, {c: None}, way=w))
                assert told == f"{table}_words_fixed", f"{table} by {way}: {told}"
        assert rows.stored(table, row) == row
    for table in ("activity", "log_state", "chain", "runner"):
        row = rows.fresh(table)
        rows.insert(table, row)
        assert refused(lambda t=table, r=row: rows.delete(t, r)) == f"{table}_never_deleted"


def a_refusal_is_three_sentences_with_the_rule_s_name(bench: Bench) -> None:
    """What the database refuses reads as what was broken, what is now, and what to do."""
    store = bench.store()
    rows = RawRows(bench)
    broken = rows.samples.question(rows.turn_id, subject_ref="x")
    store.write(lambda tx: tx.add_question(broken))
    again = rows.samples.question(rows.turn_id, subject_ref="x")
    error = raised(lambda: store.write(lambda tx: tx.add_question(again)))
    assert isinstance(error, RefusedError), error
    assert error.code == "store_rule"
    assert constraints.RULES["question_open_once"] in str(error)
    assert len(error.sentences()) == 3


EXERCISES = (
    every_rule_has_an_exercise,
    every_rule_is_kept_on_insert_and_update,
    what_stands_once_is_not_written_again,
    what_is_written_stays_written,
    a_refusal_is_three_sentences_with_the_rule_s_name,
)
