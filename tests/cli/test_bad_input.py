# SPDX-License-Identifier: Apache-2.0
"""Whatever comes in broken ends in an error with an exit code; nothing that was stored is lost by it."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import pytest

from tests.cli.desk import Answer, Desk

ITEM = b'{"work_type": "order", "subject": {"colour": "red"}}\n'
ASKING = "process: o\nwork_types: [order]\nsteps: [{id: a, kind: judgment}]\n"
LINES = {
    "not json": b"{nope}\n",
    "cut": b'{"work_type": "order", "subject": {"colour": ',
    "not utf-8": b'{"work_type": "order", "subject": {"colour": "\xff"}}\n',
    "NaN": b'{"work_type": "order", "subject": {"n": NaN}}\n',
    "twice": b'{"work_type": "order", "subject": {"n": 1, "n": 2}}\n',
    "half a pair": b'{"work_type": "order", "subject": {"n": "\\ud800"}}\n',
    "deep": b'{"work_type": "order", "subject": {"n": ' + b"[" * 5_000 + b"]" * 5_000 + b"}}\n",
    "byte order mark": b"\xef\xbb\xbf" + ITEM,
    "a list": b"[1, 2]\n",
    "nul bytes": b"\0" * 1000 + b"\n",
}


def stored(desk: Desk) -> int:
    return desk.count("work_item")


@pytest.mark.parametrize("name", LINES)
def test_a_malformed_line_is_reported_and_its_neighbours_are_stored(name: str, desk: Desk) -> None:
    desk.process()
    answer = desk("submit", "-", stdin=ITEM + LINES[name].rstrip(b"\n") + b"\n" + ITEM)
    assert answer.code == 2
    assert answer.err.startswith("line 2: ")
    assert stored(desk) == 2


PROCESSES = {
    "not yaml": "process: [",
    "not a mapping": "- 1\n",
    "unknown member": "process: x\nwork_types: [order]\nstep: []\n",
    "an alias bomb": "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nprocess: *c\n",
    "a tag that calls": "process: !!python/object/apply:os.system ['touch owned']\n",
    "binary": "\x00\x01",
}


@pytest.mark.parametrize("name", PROCESSES)
def test_a_malformed_process_file_is_told_with_its_place_and_stops_no_reader(name: str, desk: Desk) -> None:
    desk.process()
    desk.good("submit", "-", stdin=ITEM)
    desk.process(PROCESSES[name], name="bad.yaml")
    answer = desk("submit", "-", stdin=ITEM)
    assert answer.code == 2
    assert "bad.yaml" in answer.three()[0]
    assert "The draft is still there" in answer.three()[1]
    assert stored(desk) == 1
    assert not (desk.folder / "owned").exists()
    assert desk.good("activity").code == 0
    (desk.place / "processes" / "bad.yaml").unlink()
    (draft,) = (desk.place / "drafts").iterdir()
    desk.good("submit", str(draft))
    assert stored(desk) == 2


MESSAGES = {
    "empty": b"",
    "no header": b"\x00\xff\xfe garbage",
    "boundary lies": b'Content-Type: multipart/mixed; boundary="x"\n\n--x\n\n--y\n',
    "bad charset": b"Content-Type: text/plain; charset=unknown-8bit\n\n\xff\xff",
}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_malformed_message_is_an_item_or_a_report_and_never_a_crash(name: str, desk: Desk) -> None:
    (desk.folder / "mail" / "new").mkdir(parents=True)
    (desk.folder / "mail" / "new" / "1").write_bytes(MESSAGES[name])
    answer = desk("submit", "mail")
    assert answer.code in (0, 2)
    assert stored(desk) + len(answer.err.splitlines()) == 1


def truncate(desk: Desk) -> None:
    for name in ("store.db-wal", "store.db-shm"):
        (desk.place / name).unlink(missing_ok=True)
    with open(desk.place / "store.db", "r+b") as file:
        file.truncate(5_000)


def overwrite(desk: Desk) -> None:
    truncate(desk)
    (desk.place / "store.db").write_bytes(os.urandom(10_000))


def foreign(desk: Desk) -> None:
    import apsw

    truncate(desk)
    (desk.place / "store.db").unlink()
    connection = apsw.Connection(str(desk.place / "store.db"))
    connection.execute("CREATE TABLE theirs (a)")
    connection.close()


def no_key(desk: Desk) -> None:
    (desk.place / "keys" / "kernel.key.json").unlink()


def bad_key(desk: Desk) -> None:
    (desk.place / "keys" / "kernel.key.json").write_text("{}")


def bad_trust(desk: Desk) -> None:
    (desk.place / "trust.json").write_text('{"keys": 7}')


def bad_config(desk: Desk) -> None:
    (desk.place / "actum.toml").write_text("store = [[[")


DAMAGE: dict[str, tuple[Callable[[Desk], None], tuple[int, ...]]] = {
    "truncated database": (truncate, (4,)),
    "overwritten database": (overwrite, (4,)),
    "another program's database": (foreign, (5,)),
    "missing key": (no_key, (2, 5)),
    "key that is none": (bad_key, (4,)),
    "trust file of another form": (bad_trust, (2, 4)),
    "configuration that is none": (bad_config, (2,)),
}


@pytest.mark.parametrize("name", DAMAGE)
@pytest.mark.parametrize(
    "verb", [("activity",), ("inbox",), ("run",), ("submit", "-")], ids=lambda verb: verb[0]
)
def test_a_damaged_store_is_an_error_of_its_own_kind_and_is_left_as_it_is(
    name: str, verb: tuple[str, ...], desk: Desk
) -> None:
    damage, codes = DAMAGE[name]
    desk.process()
    desk.good("submit", "-", stdin=ITEM)
    damage(desk)
    before = {
        path.name: path.read_bytes() for path in desk.place.rglob("*") if path.suffix in (".db", ".json")
    }
    answer = desk(*verb, stdin=ITEM)
    assert answer.code in codes, answer
    assert all(answer.three())
    assert before == {
        path.name: path.read_bytes() for path in desk.place.rglob("*") if path.suffix in (".db", ".json")
    }
    assert desk("doctor").code in (*codes, 4)


def without_rights(desk: Desk, *arguments: str) -> Answer:
    """Run a command as a user who may not write, also where this test runs as root."""
    # Everything is imported before the rights are given up: the interpreter may lie where others cannot read.
    run = (
        "import os, sys\nimport actum.bootstrap.kernel, actum.cli.init\nfrom actum.cli.main import main\n"
        "if os.getuid() == 0: os.setgid(65534); os.setuid(65534)\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", run, *arguments], cwd="/", capture_output=True, text=True, check=False
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def test_a_folder_that_cannot_be_written_is_an_environment_fault(desk: Desk) -> None:
    # Others may not look into the folders of pytest at all, so this one lies elsewhere.
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o555)
        answer = without_rights(desk, "init", "--store", f"{folder}/.actum")
        assert os.listdir(folder) == []
    assert answer.code == 5
    assert "cannot be made or written" in answer.three()[0]
    assert answer.three()[1] == "No store was made."
    # Where the folder is out of reach altogether it is the same kind of fault.
    answer = without_rights(desk, "init", "--store", str(desk.folder / "deeper" / ".actum"))
    assert answer.code == (5 if os.getuid() == 0 else 0)


def limited(desk: Desk, *arguments: str, stdin: bytes, file_bytes: int) -> Answer:
    """Run a command in a process that may make no file longer than this: a disk that is full for the store."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))

    run = "import signal, sys\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nfrom actum.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", run, *arguments], cwd=desk.folder, input=stdin, capture_output=True, preexec_fn=limit,
        check=False,
    )  # fmt: skip
    return Answer(done.returncode, done.stdout.decode(), done.stderr.decode())


def many(count: int) -> bytes:
    return b"".join(
        json.dumps({"work_type": "order", "subject": {"colour": "x" * 200}, "key": f"k{n}"}).encode() + b"\n"
        for n in range(count)
    )


def test_a_store_that_may_not_grow_keeps_what_it_has_and_the_draft(desk: Desk) -> None:
    desk.process()
    desk.good("submit", "-", stdin=ITEM)
    answer = limited(desk, "submit", "-", stdin=many(2_000), file_bytes=700_000)
    assert answer.code == 5
    failed, state, _ = answer.three()
    assert failed.startswith("the turn was not safely saved")
    assert "The draft is still there, whole" in state
    kept = stored(desk)
    assert kept % 200 == 1
    (draft,) = (desk.place / "drafts").iterdir()
    desk.good("submit", str(draft))
    assert stored(desk) == kept + 200
    # What was never read is still with the caller, and the same input again stores the rest and nothing twice.
    desk.good("submit", "-", stdin=many(2_000))
    assert stored(desk) == 2_001
    assert desk.good("doctor").code == 0


def test_a_full_disk_loses_nothing_that_was_accepted(desk: Desk) -> None:
    small = desk.folder / "small"
    small.mkdir()
    mounted = os.getuid() == 0 and shutil.which("mount") is not None
    mounted = (
        mounted
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(small)], check=False, capture_output=True
        ).returncode
    )
    if not mounted:
        # Without the right to mount, the limit on a file's length stands for the full disk (the test above).
        test_a_store_that_may_not_grow_keeps_what_it_has_and_the_draft(desk)
        return
    try:
        store = str(small / ".actum")
        desk.good("init", "--store", store)
        (small / ".actum" / "processes" / "orders.yaml").write_text(ASKING)
        answer = desk("submit", "-", "--json", "--store", store, stdin=many(20_000))
        assert answer.code == 5
        told = answer.lines()
        accepted = [one["turn_id"] for one in told if "turn_id" in one]
        assert told[-1]["error"]["state"]
        assert 0 < len(accepted) < 20_000
        listed: list[str] = []
        before: tuple[str, ...] = ()
        while page := desk.good("activity", "--store", store, "--json", "--limit", "1000", *before).lines():
            listed += [one["turn_id"] for one in page]
            before = ("--before", listed[-1])
        assert sorted(listed) == sorted(accepted)
        assert desk("doctor", "--store", store, "--json").json()["exit_code"] == 1
    finally:
        subprocess.run(["umount", "-l", str(small)], check=False)


def test_a_clock_that_stepped_back_is_held_or_refused_and_readers_still_read(desk: Desk, monkeypatch) -> None:
    desk.process()
    desk.good("submit", "-", stdin=ITEM)
    newest = desk.good("activity", "--json").lines()[0]
    real = time.time_ns

    with monkeypatch.context() as patch:
        patch.setattr(time, "time_ns", lambda: real() - 3_600 * 10**9)
        for verb in (("submit", "-"), ("run",)):
            answer = desk(*verb, stdin=ITEM)
            assert answer.code == 5
            assert "clock" in answer.three()[0]
            assert "behind the newest record" in answer.three()[0]
        assert desk.good("activity", "--json").lines() == [newest]
        assert stored(desk) == 1
    with monkeypatch.context() as patch:
        # A small step is held: time does not go back in the record.
        patch.setattr(time, "time_ns", lambda: real() - 2 * 10**9)
        desk.good("submit", "-", stdin=ITEM)
    first, second = (one["updated_at_ms"] for one in reversed(desk.good("activity", "--json").lines()))
    assert first <= second


def test_a_store_that_somebody_holds_locked_is_waited_for_and_then_told(desk: Desk, monkeypatch) -> None:
    import apsw

    desk.process()
    monkeypatch.setattr("actum.adapters.store.sqlite.BUSY_MS", 50)
    holder = apsw.Connection(str(desk.place / "store.db"))
    holder.execute("BEGIN IMMEDIATE")
    answer = desk("submit", "-", stdin=ITEM)
    assert answer.code == 5
    assert "locked" in answer.three()[0]
    holder.execute("ROLLBACK")
    holder.close()
    assert stored(desk) == 0


def test_a_content_file_that_was_altered_is_a_corrupt_record(desk: Desk) -> None:
    desk.process(ASKING)
    desk.good(
        "submit", "-", stdin=json.dumps({"work_type": "order", "subject": {"x": "y" * 2_000_000}}).encode()
    )
    turn = desk.good("activity", "--json").lines()[0]["turn_id"]
    for path in (desk.place / "content").rglob("*"):
        if path.is_file():
            path.write_bytes(b"something else")
    answer = desk("show", turn)
    assert answer.code == 4
    assert desk.good("activity").code == 0
