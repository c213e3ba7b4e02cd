# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a PostgreSQL server is told in three sentences, and a lost connection comes back."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest

from actum.adapters.store import postgres as module
from actum.adapters.store.opening import open_store
from actum.model.errors import ActumError, EnvironmentFault
from actum.testing.postgres_cluster import PostgresCluster
from tests.store.benches import PostgresBench

END_OTHERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
EMPTIED = (
    "CREATE OR REPLACE FUNCTION log_leaf_next() RETURNS trigger LANGUAGE plpgsql"
    " AS $$ BEGIN RETURN NEW; END $$"
)


def fault(address: str) -> ActumError:
    with pytest.raises(ActumError) as caught:
        open_store(address)
    return caught.value


def test_the_address_opens_a_store_again_and_the_url_is_without_its_password(
    postgres: PostgresBench,
) -> None:
    # The private cluster asks for no password; one in the address is ignored by it.
    store = open_store(postgres.address.replace("postgres@", "postgres:s3cret@"))
    again = open_store(store.address)
    assert "s3cret" in store.address
    assert "s3cret" not in store.url
    again.close()
    store.close()


def test_without_the_driver_the_way_to_install_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    error = fault("postgresql://db.example/actum")
    assert (error.code, error.exit_code) == ("postgres_driver_missing", 5)
    assert "pip install 'actum[postgres]'" in error.next_step


@pytest.mark.parametrize(
    "address", ["postgresql://ann:s3cret@127.0.0.1:1/x", "postgresql://ann@127.0.0.1:1/x?password=s3cret"]
)
def test_a_server_that_is_not_there_is_told_without_the_password(address: str) -> None:
    error = fault(address)
    assert (error.code, error.exit_code) == ("store_unreachable", 5)
    assert "s3cret" not in str(error)
    assert "ann" in str(error)


def test_a_database_of_another_program_is_left_as_it_is(cluster: PostgresCluster) -> None:
    import psycopg

    address = cluster.url("invoices")
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE TABLE invoice (id BIGINT)")
        assert fault(address).code == "store_foreign"
        found = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
    assert found == (1,)


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TRIGGER outbox_dispatch_granted ON outbox",
        "ALTER TABLE receipt DISABLE TRIGGER receipt_append_only",
        "ALTER TABLE activity DROP CONSTRAINT activity_completed_has_evidence",
        EMPTIED,
    ],
)
def test_rule_4_an_edited_schema_is_not_opened(postgres: PostgresBench, statement: str) -> None:
    store = postgres.store()
    postgres.raw(statement)
    assert store.check() == ["the schema is not the one its migrations made; a rule may be missing"]
    assert fault(postgres.address).code == "store_schema_edited"


def test_a_store_of_a_newer_version_is_left_as_it_is(postgres: PostgresBench) -> None:
    postgres.store()
    postgres.raw("INSERT INTO migration VALUES (99, 'later', 'x', 'y')")
    assert fault(postgres.address).code == "store_newer"


def test_truncate_does_not_go_around_append_only(postgres: PostgresBench) -> None:
    postgres.store()
    with pytest.raises(ActumError) as caught:
        postgres.raw("TRUNCATE receipt CASCADE")
    assert caught.value.facts["rule"].endswith("_never_deleted")


def test_rule_5_a_lost_connection_is_opened_again_for_the_next_write(postgres: PostgresBench) -> None:
    store = postgres.store()
    store.write(lambda tx: tx.set_meta("k", "one"))
    store.read(lambda tx: tx.meta("k"))
    postgres.raw(END_OTHERS)
    with pytest.raises(EnvironmentFault) as caught:
        store.write(lambda tx: tx.set_meta("k", "two"))
    assert caught.value.code == "store_unreachable"
    # The pooled reader is found dead once, and then replaced.
    with pytest.raises(EnvironmentFault):
        store.read(lambda tx: tx.meta("k"))
    assert store.read(lambda tx: tx.meta("k")) == "one"
    store.write(lambda tx: tx.set_meta("k", "three"))
    assert store.read(lambda tx: tx.meta("k")) == "three"


def test_rule_5_a_connection_lost_inside_a_write_takes_the_write_back(postgres: PostgresBench) -> None:
    store = postgres.store()

    def work(tx: Any) -> None:
        tx.set_meta("k", "half")
        postgres.raw(END_OTHERS)
        tx.set_meta("k", "whole")

    with pytest.raises(EnvironmentFault):
        store.write(work)
    assert postgres.open().read(lambda tx: tx.meta("k")) is None
    store.write(lambda tx: tx.set_meta("k", "after"))


def test_rule_5_a_transaction_left_open_by_an_interrupt_is_not_gone_on_with(postgres: PostgresBench) -> None:
    store = postgres.store()
    # An interrupt that meets the rollback leaves the server in the midst of a write that was taken back.
    store._writer.execute("BEGIN")
    store._writer.execute("INSERT INTO meta VALUES ('local', 'half', 'a')")
    store.write(lambda tx: tx.set_meta("whole", "b"))
    assert store.read(lambda tx: (tx.meta("half"), tx.meta("whole"))) == (None, "b")


def test_rule_5_a_connection_lost_during_the_commit_leaves_its_outcome_unknown(
    postgres: PostgresBench,
) -> None:
    store = postgres.store()

    def work(tx: Any) -> None:
        tx.set_meta("k", "v")
        postgres.raw(END_OTHERS)

    with pytest.raises(EnvironmentFault) as caught:
        store.write(work)
    assert caught.value.code == "commit_unknown"
    assert "not known" in caught.value.state


def test_rule_1_a_tenant_s_lock_held_too_long_is_told(
    postgres: PostgresBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(module._SETTINGS, "lock_timeout", "50")
    holder, waiter, other = postgres.store(), postgres.open(), postgres.open("other")
    begun, go = threading.Event(), threading.Event()

    def hold(tx: Any) -> None:
        begun.set()
        go.wait(30)

    thread = threading.Thread(target=lambda: holder.write(hold))
    thread.start()
    begun.wait(30)
    with pytest.raises(EnvironmentFault) as caught:
        waiter.write(lambda tx: tx.set_meta("k", "v"))
    assert caught.value.code == "store_busy"
    other.write(lambda tx: tx.set_meta("k", "another tenant does not wait"))
    go.set()
    thread.join()
    waiter.write(lambda tx: tx.set_meta("k", "v"))


def test_rule_2_every_commit_waits_for_the_disk(postgres: PostgresBench) -> None:
    store = postgres.store()
    found = store.write(lambda tx: tx.rows("SHOW synchronous_commit"))
    assert found == [("on",)]


def test_both_databases_have_the_same_tables_columns_and_rules(postgres: PostgresBench) -> None:
    import apsw

    from actum.adapters.store.migrations import migrations

    postgres.store()
    fresh = apsw.Connection(":memory:")
    for migration in migrations("sqlite"):
        fresh.execute(migration.sql)
    lite = {
        (table, column)
        for (table,) in fresh.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        for (column,) in fresh.execute("SELECT name FROM pragma_table_info(?)", (table,))
    }
    rows = postgres.raw(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
    )
    assert {(str(a), str(b)) for a, b in rows if a != "migration"} == lite
    triggers = {str(row[0]) for row in fresh.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'")}
    lite_rules = {name.removesuffix("_insert").removesuffix("_update") for name in triggers}
    names = postgres.raw(
        "SELECT conname FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype <> 'f'"
        " UNION SELECT tgname FROM pg_trigger WHERE NOT tgisinternal"
        " UNION SELECT indexname FROM pg_indexes WHERE schemaname = 'public'"
    )
    known = {str(row[0]).removesuffix("_truncate") for row in names}
    assert lite_rules - known == set()
