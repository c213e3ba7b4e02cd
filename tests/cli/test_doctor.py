# SPDX-License-Identifier: Apache-2.0
"""`actum doctor` finds what was broken on purpose, changes nothing, and is clean where nothing is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import apsw
import pytest

from tests.cli.desk import Desk


def findings(desk: Desk) -> tuple[int, dict[str, str]]:
    answer = desk("doctor", "--json")
    return answer.code, {one["code"]: one["severity"] for one in answer.json()["findings"]}


def test_a_new_store_has_nothing_to_act_upon_and_says_what_its_looks_are_worth(desk: Desk) -> None:
    code, found = findings(desk)
    assert code == 0
    assert set(found.values()) == {"note"}
    assert {"independence", "session_only"} <= set(found)
    text = desk.good("doctor").out
    assert "can read the keys and answer for you" in text
    assert "level L1" in text


def open_key(desk: Desk) -> None:
    os.chmod(desk.place / "keys" / "kernel.key.json", 0o644)


def writable_trust(desk: Desk) -> None:
    os.chmod(desk.place / "trust.json", 0o666)


def leave_draft(desk: Desk) -> None:
    (desk.place / "drafts" / "01X.jsonl").write_text("{}\n")


def copy_store(desk: Desk) -> None:
    shutil.copytree(desk.place, desk.folder / "copy")
    shutil.rmtree(desk.place)
    (desk.folder / "copy").rename(desk.place)


def break_process(desk: Desk) -> None:
    desk.process("process: [", name="broken.yaml")


def break_config(desk: Desk) -> None:
    (desk.place / "actum.toml").write_text("[fils]\nroots = []\n")


def leave_unknown(desk: Desk) -> None:
    from tests.cli.test_errors import unknown_outcome

    unknown_outcome(desk)


def drop_key(desk: Desk) -> None:
    (desk.place / "keys" / "kernel.key.json").unlink()


def edited(desk: Desk, *statements: str) -> None:
    connection = apsw.Connection(str(desk.place / "store.db"))
    for statement in statements:
        connection.execute(statement)
    connection.close()


def drop_trigger(desk: Desk) -> None:
    connection = apsw.Connection(str(desk.place / "store.db"))
    (name,) = next(iter(connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'")))
    connection.close()
    edited(desk, f"DROP TRIGGER {name}")


def cut_log(desk: Desk) -> None:
    """Put the store back to what it was before its last effect, with the newer checkpoint left beside it."""
    shutil.copy(desk.place / "store.db", desk.folder / "old.db")
    desk.good("confirm", desk.propose(), "--yes", "--wait")
    with open(desk.folder / "old.db", "rb") as old, open(desk.place / "store.db", "r+b") as store:
        store.truncate()
        store.write(old.read())


def revoke_own_key(desk: Desk, role: str = "kernel") -> None:
    """Revoke the key that the store signs with, or another of its own."""
    trust = json.loads((desk.place / "trust.json").read_text())
    for key in trust["keys"]:
        if role in key["roles"]:
            key["revoked_at"] = "2020-01-01T00:00:00Z"
    (desk.place / "trust.json").write_text(json.dumps(trust))


BROKEN: dict[str, tuple[Callable[[Desk], None], int, str]] = {
    "key_file_open_to_others": (open_key, 5, "problem"),
    "writable_by_others": (writable_trust, 1, "problem"),
    "kernel_key_not_in_force": (revoke_own_key, 1, "problem"),
    "verifier_key_not_in_force": (lambda desk: revoke_own_key(desk, "verifier"), 1, "problem"),
    "drafts_left": (leave_draft, 1, "problem"),
    "store_moved": (copy_store, 1, "problem"),
    "process_file_refused": (break_process, 1, "problem"),
    "bad_config": (break_config, 2, "problem"),
    "check_required": (leave_unknown, 1, "problem"),
    "place_incomplete": (drop_key, 5, "problem"),
    "store_schema_edited": (drop_trigger, 5, "problem"),
    "log_differs": (cut_log, 4, "corrupt"),
}


@pytest.mark.parametrize("code", BROKEN)
def test_what_was_broken_is_found_with_its_exit_code(code: str, desk: Desk) -> None:
    damage, exit_code, severity = BROKEN[code]
    damage(desk)
    found_code, found = findings(desk)
    assert found.get(code) == severity, found
    assert found_code == exit_code
    assert code in desk("doctor").out


def test_the_worst_findings_come_first_wherever_they_were_found(desk: Desk) -> None:
    revoke_own_key(desk)
    order = [
        line.split()[0] for line in desk("doctor").out.splitlines() if line[:1] in "cpn" and "  " in line
    ]
    assert order == sorted(order, key=["corrupt", "problem", "note"].index)
    assert order[0] == "problem"


def test_an_export_says_that_the_key_that_signed_it_is_revoked(desk: Desk) -> None:
    desk.good("confirm", desk.propose(), "--yes", "--wait")
    early = desk.good("export", "-o", "early.jsonl")
    assert "will not accept" not in early.out
    revoke_own_key(desk)
    late = desk.good("export", "-o", "late.jsonl")
    assert "is revoked in the trust file: who trusts that file will not accept it" in late.out
    assert desk("verify", "late.jsonl", "--trust", str(desk.place / "trust.json")).code == 4
    told = desk.good("export", "-o", "late.jsonl", "--json").json()
    assert told["signing_key_fault"] == "is revoked in the trust file"


def test_what_a_database_says_in_several_lines_is_one_finding_on_one_line(desk: Desk) -> None:
    desk.good("confirm", desk.propose(), "--yes", "--wait")
    with apsw.Connection(str(desk.place / "store.db")) as store:
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        [(page,)] = store.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'assertion_of_turn'")
    store.close()
    with open(desk.place / "store.db", "r+b") as file:
        file.seek((page - 1) * 4096 + 1)
        file.write(b"\x0f\xf0")  # Where the page's free space is said to begin.
    text = desk("doctor").out
    assert "database_damaged" in text
    assert "U+000A" not in text


def test_examining_changes_nothing(desk: Desk) -> None:
    desk.good("confirm", desk.propose(), "--yes", "--wait")
    before = {
        path.name: path.read_bytes() for path in desk.place.rglob("*") if path.suffix in (".json", ".toml")
    }
    rows = [desk.count(table) for table in ("turn", "receipt", "rulebook", "meta")]
    desk.good("doctor")
    assert rows == [desk.count(table) for table in ("turn", "receipt", "rulebook", "meta")]
    assert before == {
        path.name: path.read_bytes() for path in desk.place.rglob("*") if path.suffix in (".json", ".toml")
    }


def test_a_clock_behind_the_newest_record_is_found(desk: Desk, monkeypatch) -> None:
    desk.good("confirm", desk.propose(), "--yes", "--wait")
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now - 3_600 * 10**9)
    code, found = findings(desk)
    assert (code, found.get("clock_behind")) == (1, "problem")


def test_a_runner_elsewhere_and_one_that_stopped_are_told_apart(desk: Desk) -> None:
    hold = (
        "import sys\nfrom actum import Kernel\nk = Kernel.open('.actum')\nk.run()\nprint('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", hold], cwd=desk.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    assert findings(desk)[1].get("runner_elsewhere") == "note"
    answer = desk("run")
    assert answer.code == 5
    assert "another runner" in answer.three()[0]
    assert "stored and will be run there" in answer.three()[1]
    holder.kill()
    holder.communicate()
    assert findings(desk)[1].get("runner_gone") == "note"
    assert desk.good("run").code == 0


def test_the_facts_of_the_machine_are_judged_where_they_are_bad() -> None:
    from actum.service.doctor import Machine, of_machine

    good: dict[str, Any] = {
        "engine": "3.60.0",
        "engine_ok": True,
        "disk_free": 1 << 40,
        "behind_ms": 0,
        "moved": False,
        "drafts": (),
        "people_with_key": ("ann",),
        "user": "ann",
        "log_problems": (),
    }
    assert list(of_machine(Machine(**good))) == []
    bad = {
        "engine_ok": False,
        "disk_free": 1 << 20,
        "behind_ms": 1,
        "moved": True,
        "drafts": ("a",),
        "user": "bob",
    }
    for name, value in bad.items():
        (found,) = of_machine(Machine(**{**good, name: value}))
        assert found.severity.value in ("problem", "note")
        assert found.next_step
