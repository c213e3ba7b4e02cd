# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the file, the folder or the disk is told in three sentences, and nothing is lost by it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from actum.adapters.store import group, sqlite
from actum.adapters.store.opening import open_store
from actum.adapters.store.sqlite import WAL_LIMIT, SqliteStore
from actum.adapters.store.sqlite_faults import translate
from actum.model.errors import (
    ActumError,
    CorruptRecordError,
    EnvironmentFault,
    InvariantViolation,
    RefusedError,
    UsageError,
)
from actum.testing.store_exercises.samples import NOW, digest
from tests.store.benches import SqliteBench


def fault(path: Path) -> ActumError:
    """Open a store that cannot be opened and return the error."""
    with pytest.raises(ActumError) as caught:
        SqliteStore(path)
    assert all(caught.value.sentences())
    return caught.value


def edit(path: Path, *statements: str) -> None:
    """Change a store's file by hand."""
    connection = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement)
    connection.close()


@pytest.fixture
def made(bench: SqliteBench) -> Path:
    """The path of a store that was made and closed."""
    bench.store().write(lambda tx: tx.set_meta("k", "v"))
    bench.close()
    return bench.path


# -- files that are no store ---------------------------------------------------------------------------------


def test_a_database_of_another_program_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    edit(path, "CREATE TABLE invoice (id INTEGER)")
    before = path.read_bytes()
    assert fault(path).code == "store_foreign"
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_bytes(b"Dear Bob, " * 500)
    error = fault(path)
    assert (error.code, error.exit_code) == ("store_malformed", 4)
    assert path.read_bytes() == b"Dear Bob, " * 500


def test_a_truncated_file_is_never_read_as_if_it_were_whole(bench: SqliteBench) -> None:
    store = bench.store()
    for number in range(300):
        name = digest(str(number))
        store.write(lambda tx, name=name: tx.put_content(name, os.urandom(900), now_ms=NOW))
    bench.close()
    with bench.path.open("r+b") as file:
        file.truncate(bench.path.stat().st_size // 2)
    with pytest.raises(CorruptRecordError) as caught:
        _read_everything(bench.path)
    assert caught.value.code == "store_malformed"


def _read_everything(path: Path) -> None:
    damaged = SqliteStore(path)
    try:
        damaged.read(lambda tx: [tx.content(digest(str(number))) for number in range(300)])
    finally:
        damaged.close()


def test_check_tells_what_a_flipped_page_broke(bench: SqliteBench) -> None:
    store = bench.store()
    for number in range(200):
        name = digest(str(number))
        store.write(lambda tx, name=name: tx.put_content(name, b"x" * 900, now_ms=NOW))
    assert store.check() == []
    bench.close()
    size = bench.path.stat().st_size
    with bench.path.open("r+b") as file:
        file.seek(size - 3 * 4096)
        file.write(b"\xff" * 4096)
    damaged = SqliteStore(bench.path)
    try:
        found = damaged.check()
    except CorruptRecordError as error:
        found = [str(error)]
    damaged.close()
    assert found


# -- folders and disks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("below", ["missing/store.db", "file/store.db"])
def test_a_path_that_cannot_be_is_said_so(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    error = fault(tmp_path / below)
    assert (error.code, error.exit_code) == ("store_unreachable", 5)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path | None]:
    """A file system of one MiB where the test may mount one; else None."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        yield None
        return
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def _write_until_full(store: SqliteStore) -> tuple[int, str]:
    for number in range(1000):
        name = digest(str(number))
        try:
            store.write(lambda tx, name=name: tx.put_content(name, os.urandom(20_000), now_ms=NOW))
        except EnvironmentFault as error:
            return number, error.code
    return 1000, "never full"


def test_a_full_disk_takes_back_the_write_and_keeps_what_was_committed(
    small_disk: Path | None, tmp_path: Path
) -> None:
    path = (small_disk or tmp_path) / "store.db"
    store = SqliteStore(path)
    if small_disk is None:
        # Without the right to mount, the same error comes from a limit on the file's pages.
        pages = store._writer.execute("PRAGMA page_count").fetchall()[0][0]
        store._writer.execute(f"PRAGMA max_page_count = {pages + 60}")
    kept, told = _write_until_full(store)
    assert told == "disk_full"
    assert kept > 3
    assert store.read(lambda tx: tx.content(digest(str(kept)))) is None
    assert all(store.read(lambda tx, n=n: tx.content(digest(str(n)))) for n in range(kept))
    assert store.check() == []
    store.close()


def test_a_disk_without_room_for_a_read_is_said_to_be_full(small_disk: Path | None, tmp_path: Path) -> None:
    path = (small_disk or tmp_path) / "store.db"
    if small_disk is None:
        told = translate(apsw.IOError("disk I/O error"), path, state="Nothing was written")
        assert told.code == "store_fault"
        return
    SqliteStore(path).close()
    with pytest.raises(OSError, match="No space left"):
        (small_disk / "rest").write_bytes(bytes(2 << 20))
    told = fault(path)
    assert (told.code, told.state) == ("disk_full", "Nothing was written")
    (small_disk / "rest").unlink()
    SqliteStore(path).close()


def test_a_disk_that_fails_and_has_room_is_not_said_to_be_full(tmp_path: Path) -> None:
    told = translate(apsw.IOError("disk I/O error"), tmp_path / "store.db")
    assert told.code == "store_fault"
    assert "the system's log" in told.sentences()[2]


def test_a_folder_that_cannot_be_written_is_said_so(small_disk: Path | None, tmp_path: Path) -> None:
    folder = small_disk or tmp_path
    path = folder / "store.db"
    SqliteStore(path).close()
    if small_disk is not None:
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
    else:
        path.chmod(0o400)
        folder.chmod(0o500)
    try:
        assert fault(path).code == "store_unwritable"
        assert fault(folder / "new.db").code in ("store_unreachable", "store_unwritable")
    finally:
        if small_disk is None:
            folder.chmod(0o700)


def test_only_the_owner_may_read_a_store(bench: SqliteBench) -> None:
    bench.store().write(lambda tx: tx.set_meta("k", "v"))
    modes = {path.name: path.stat().st_mode & 0o777 for path in bench.path.parent.iterdir()}
    assert modes == {"store.db": 0o600, "store.db-wal": 0o600, "store.db-shm": 0o600}


# -- schemas -------------------------------------------------------------------------------------------------


def test_a_store_of_a_newer_version_is_left_as_it_is(made: Path) -> None:
    edit(made, "INSERT INTO migration VALUES (99, 'later', 'x', 'y')")
    error = fault(made)
    assert (error.code, error.exit_code) == ("store_newer", 5)


def test_a_store_made_by_another_migration_is_left_as_it_is(made: Path) -> None:
    edit(made, "UPDATE migration SET checksum = 'other'")
    assert fault(made).code == "store_schema_foreign"


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TRIGGER activity_completed_has_evidence_insert",
        "CREATE TRIGGER mine AFTER INSERT ON receipt BEGIN SELECT 1; END",
        "DROP INDEX outbox_ready",
        "ALTER TABLE receipt ADD COLUMN more TEXT",
    ],
)
def test_rule_3_an_edited_schema_is_not_opened(made: Path, statement: str) -> None:
    edit(made, statement)
    assert fault(made).code == "store_schema_edited"


def test_check_sees_an_edited_schema_whose_digest_was_edited_too(made: Path) -> None:
    edit(made, "DROP TRIGGER activity_completed_has_evidence_insert")
    connection = apsw.Connection(str(made))
    edit(made, f"UPDATE migration SET schema_digest = '{sqlite._digest(connection)}'")
    connection.close()
    store = SqliteStore(made)
    assert store.check() == ["the schema is not the one this version makes; a rule may be missing"]
    store.close()


def test_rule_4_an_old_sqlite_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "OLDEST_SQLITE", 99_000_000)
    assert fault(tmp_path / "store.db").code == "sqlite_too_old"
    assert not (tmp_path / "store.db").exists()


# -- others that write ---------------------------------------------------------------------------------------


def test_a_lock_held_too_long_is_told_and_nothing_is_written(
    bench: SqliteBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "BUSY_MS", 20)
    store = bench.store()
    other = apsw.Connection(str(bench.path))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(EnvironmentFault) as caught:
        store.write(lambda tx: tx.set_meta("k", "v"))
    assert caught.value.code == "store_busy"
    assert store.read(lambda tx: tx.meta("k")) is None
    other.execute("ROLLBACK")
    other.close()
    store.write(lambda tx: tx.set_meta("k", "v"))
    assert store.read(lambda tx: tx.meta("k")) == "v"


def test_rule_1_a_write_that_reads_first_is_never_told_that_the_database_is_locked(
    bench: SqliteBench,
) -> None:
    one, two = bench.store(), bench.open()

    def count(tx: Any) -> None:
        tx.set_meta("n", str(int(tx.meta("n") or 0) + 1))

    other = threading.Thread(target=lambda: two.write(count))

    def work(tx: Any) -> None:
        assert tx.meta("n") is None
        other.start()
        # The other write waits for this one; if it did not, what was read above would be old now.
        other.join(0.2)
        count(tx)

    one.write(work)
    other.join()
    assert one.read(lambda tx: tx.meta("n")) == "2"


def test_a_writer_behind_a_full_group_commits_it_and_then_its_own(
    bench: SqliteBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group, "GROUP_MAX", 1)
    store = bench.store()
    first = group._Waiting(lambda tx: tx.set_meta("first", "x"))
    store._queue.append(first)
    assert store.write(lambda tx: [tx.set_meta("second", "x"), tx.meta("first")]) == [None, "x"]
    assert first.state is group._State.ENDED
    assert store.commits() == 2


def _wal(bench: SqliteBench) -> int:
    return Path(f"{bench.path}-wal").stat().st_size


def test_the_wal_stays_bounded_while_others_read(bench: SqliteBench, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sqlite.CHECKPOINT_PAGES * 4096 < WAL_LIMIT
    monkeypatch.setattr(sqlite, "CHECKPOINT_PAGES", 1000)
    store = bench.store()
    for number in range(800):
        name = digest(str(number))
        store.write(lambda tx, name=name: tx.put_content(name, b"x" * 40_000, now_ms=NOW))
        store.read(lambda tx: tx.outbox_counts())
    assert bench.path.stat().st_size + _wal(bench) > 30_000_000
    assert _wal(bench) <= 2 * 1000 * 4096


def test_a_wal_that_a_reader_kept_growing_is_told_and_cut_back_afterwards(
    bench: SqliteBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "WAL_LIMIT", 1 << 20)
    monkeypatch.setattr(sqlite, "CHECKPOINT_PAGES", 200)
    store = bench.store()

    def write(number: int) -> None:
        name = digest(str(number))
        store.write(lambda tx: tx.put_content(name, b"x" * 400_000, now_ms=NOW))

    def look(tx: Any) -> list[str]:
        tx.meta("k")
        for number in range(20):
            write(number)
        return store.check()

    found = store.read(look)
    assert any("reader keeps it" in line for line in found), found
    assert _wal(bench) > 4 << 20
    for number in range(100, 104):
        write(number)
    assert _wal(bench) <= 2 << 20
    assert store.check() == []


# -- misuse --------------------------------------------------------------------------------------------------


def test_a_store_is_not_used_in_a_forked_process(bench: SqliteBench) -> None:
    store = bench.store()
    pid = os.fork()
    if pid == 0:  # pragma: no cover
        code = 0
        for call in (store.write, store.read):
            try:
                call(lambda tx: tx.meta("k"))
            except InvariantViolation:
                code += 1
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 2
    store.write(lambda tx: tx.set_meta("k", "v"))


@pytest.mark.parametrize("others", [0, 3])
def test_an_interrupt_takes_back_the_shared_commit_and_the_next_write_is_made(
    bench: SqliteBench, others: int
) -> None:
    store = bench.store()
    begun, go = threading.Event(), threading.Event()
    ended: list[object] = []

    def hold(tx: Any) -> None:
        begun.set()
        go.wait(30)

    def interrupted(tx: Any) -> None:
        tx.set_meta("interrupted", "x")
        raise KeyboardInterrupt

    def run(work: Any) -> None:
        try:
            ended.append(store.write(work))
        except BaseException as error:
            ended.append(error)

    works = [interrupted, *[lambda tx, n=n: tx.set_meta(f"n{n}", "x") for n in range(others)]]
    threads = [threading.Thread(target=run, args=(work,)) for work in (hold, *works)]
    threads[0].start()
    begun.wait(30)
    for thread in threads[1:]:
        thread.start()
    while len(store._queue) < len(works):
        threading.Event().wait(0.001)
    go.set()
    for thread in threads:
        thread.join()
    told = [error for error in ended if error is not None]
    assert len(told) == len(works)
    assert sum(isinstance(error, KeyboardInterrupt) for error in told) == 1
    assert all(error.code == "write_interrupted" for error in told if isinstance(error, ActumError))
    assert store.read(lambda tx: tx.meta("interrupted")) is None
    store.write(lambda tx: tx.set_meta("after", "x"))
    assert store.read(lambda tx: tx.meta("after")) == "x"


class _Interrupt:
    """Raises KeyboardInterrupt once, at the n-th line that some functions run."""

    def __init__(self, functions: list[Any], *, at: int) -> None:
        self._codes = {function.__code__ for function in functions}
        self._left = at
        self.raised = False

    def __enter__(self) -> _Interrupt:
        sys.settrace(lambda frame, *_: self._line if frame.f_code in self._codes else None)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _line(self, frame: Any, event: str, _: Any) -> Any:
        if event == "line" and not self.raised:
            self._left -= 1
            if self._left < 0:
                self.raised = True
                raise KeyboardInterrupt
        return self._line


def _count(tx: Any) -> None:
    tx.set_meta("n", str(int(tx.meta("n") or 0) + 1))


def _follow(store: SqliteStore, *, at: int) -> tuple[bool, str]:
    """Make a shared commit whose leader is interrupted; return whether it was, and what the follower is told."""
    follower = group._Waiting(_count)
    store._queue.append(follower)
    led = group.GroupCommit
    # Not where a lock is let go: there a tracer comes between, and an interrupt does not.
    steps = [led._commit_all, led._answer, SqliteStore._end, SqliteStore._undo]
    with _Interrupt(steps, at=at) as interrupt, contextlib.suppress(KeyboardInterrupt):
        store.write(lambda tx: tx.meta("n"))
    try:
        store._until_ended(follower)
    except EnvironmentFault as error:
        return interrupt.raised, error.code
    return interrupt.raised, "kept" if follower.error is None else str(getattr(follower.error, "code", ""))


def test_rule_3_a_write_whose_leader_was_interrupted_anywhere_is_never_made_twice(tmp_path: Path) -> None:
    told_of: dict[str, set[int]] = {}
    for at in range(100):
        store = SqliteStore(tmp_path / f"{at}.db")
        interrupted, told = _follow(store, at=at)
        kept = int(store.read(lambda tx: tx.meta("n")) or 0)
        told_of.setdefault(told, set()).add(kept)
        store.write(lambda tx: tx.set_meta("after", "x"))
        assert store.read(lambda tx: tx.meta("after")) == "x"
        assert int(store.read(lambda tx: tx.meta("n")) or 0) == kept
        store.close()
        if not interrupted:
            break
    assert told_of == {"kept": {1}, "write_interrupted": {0}, "commit_unknown": {0, 1}}
    assert 20 < at < 99


def test_a_glance_that_is_interrupted_anywhere_gives_the_writer_back(bench: SqliteBench) -> None:
    store = bench.store()
    for at in range(100):
        steps = [SqliteStore._glance, SqliteStore._take_back, SqliteStore._control]
        with _Interrupt(steps, at=at) as interrupt, contextlib.suppress(KeyboardInterrupt):
            store.glance(lambda tx: tx.meta("n"))
        if not interrupt.raised:
            break
        held = store._writing.locked()
        if held:
            store._writing.release()
        assert not held, at
        store.write(_count)
        assert store.read(lambda tx: tx.meta("n")) == str(at + 1)
    assert 10 < at < 99


def test_a_rollback_that_fails_keeps_nobody_from_writing(
    bench: SqliteBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = bench.store()

    def fail(self: SqliteStore) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(SqliteStore, "_take_back", fail)
    with pytest.raises(KeyboardInterrupt):
        store.glance(lambda tx: tx.meta("n"))
    monkeypatch.undo()
    assert not store._writing.locked()

    def work(tx: Any) -> None:
        tx.set_meta("half", "x")
        raise FileNotFoundError

    monkeypatch.setattr(SqliteStore, "_undo", fail)
    with pytest.raises(KeyboardInterrupt):
        store.write(work)
    monkeypatch.undo()
    store.write(_count)
    assert store.read(lambda tx: (tx.meta("n"), tx.meta("half"))) == ("1", None)


def test_an_error_of_the_caller_s_own_is_handed_back_as_it_is(bench: SqliteBench) -> None:
    store = bench.store()

    def work(tx: Any) -> None:
        tx.set_meta("k", "v")
        raise FileNotFoundError("mine")

    with pytest.raises(FileNotFoundError, match="mine"):
        store.write(work)
    with pytest.raises(FileNotFoundError, match="mine"):
        store.read(lambda tx: (_ for _ in ()).throw(FileNotFoundError("mine")))
    assert store.read(lambda tx: tx.meta("k")) is None


def test_a_row_edited_by_hand_into_nonsense_is_a_corrupt_record(bench: SqliteBench) -> None:
    store = bench.store()
    bench.raw("DROP TRIGGER role_known_insert")
    turn = store.write(lambda tx: _turn(tx))
    for statement in ("activity_state_known_update", "activity_open_is_bare_update"):
        bench.raw(f"DROP TRIGGER {statement}")
    bench.raw("UPDATE activity SET state = 'asleep'", way="checks_ignored")
    with pytest.raises(CorruptRecordError) as caught:
        store.read(lambda tx: tx.activity(turn))
    assert caught.value.code == "row_unreadable"


def _turn(tx: Any) -> str:
    from actum.testing.store_exercises.samples import Samples

    s = Samples()
    turn_id = s.begun(tx)
    tx.put_activity(s.activity(turn_id))
    return turn_id


def test_text_that_is_no_unicode_is_refused_in_words(bench: SqliteBench) -> None:
    with pytest.raises(RefusedError) as caught:
        bench.store().write(lambda tx: tx.set_meta("k", "\ud800"))
    assert caught.value.code == "store_value"
    with pytest.raises(RefusedError):
        bench.store().write(lambda tx: tx.put_content(digest("x"), b"x", now_ms=1 << 70))


def test_an_address_says_which_database_it_means(tmp_path: Path) -> None:
    for address in (tmp_path / "a.db", str(tmp_path / "a.db"), f"sqlite:{tmp_path / 'a.db'}"):
        store = open_store(address)
        assert store.url == f"sqlite:{tmp_path / 'a.db'}"
        store.close()
    for address in ("mysql://host/db", ""):
        with pytest.raises(UsageError) as caught:
            open_store(address)
        assert caught.value.code == "store_address"
