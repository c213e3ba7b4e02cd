# SPDX-License-Identifier: Apache-2.0
"""Ids sort in the order they were made, large content is on the disk before it is named, and a copy is noticed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from actum.adapters.machine import host
from actum.adapters.machine.clock import HELD_MS, SystemClock, SystemIds
from actum.adapters.machine.content_files import FolderContent
from actum.model.errors import EnvironmentFault
from actum.testing.records import digest


def test_rule_1_time_never_steps_back_and_a_clock_far_behind_the_store_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wall = [100_000]
    monkeypatch.setattr("actum.adapters.machine.clock.time.monotonic_ns", lambda: 7)
    monkeypatch.setattr("actum.adapters.machine.clock.time.time_ns", lambda: wall[0] * 1_000_000)
    clock = SystemClock()
    clock.not_before(100_000 + HELD_MS)
    assert clock.now_ms() == 100_000 + HELD_MS
    assert clock.stepped_back_ms() == HELD_MS
    wall[0] = 99_999
    with pytest.raises(EnvironmentFault) as caught:
        clock.now_ms()
    assert caught.value.code == "clock_behind"


def test_rule_1_a_clock_that_was_set_back_goes_on_by_the_time_that_passes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wall, passed = [100_000_000], [0]
    monkeypatch.setattr("actum.adapters.machine.clock.time.time_ns", lambda: wall[0] * 1_000_000)
    monkeypatch.setattr("actum.adapters.machine.clock.time.monotonic_ns", lambda: passed[0])
    clock = SystemClock()
    assert clock.now_ms() == 100_000_000
    wall[0] = 10_000_000
    # Calls that follow each other within a millisecond lose nothing of it.
    given = [clock.now_ms() for passed[0] in range(0, 5_000_001, 400_000)]
    assert (given[0], given[-1], given) == (100_000_000, 100_000_004, sorted(given))
    passed[0] = 3_600_000 * 1_000_000
    assert clock.now_ms() == 103_600_000
    assert clock.stepped_back_ms() == 93_600_000
    wall[0] = 200_000_000
    assert (clock.now_ms(), clock.stepped_back_ms()) == (200_000_000, 0)


def test_rule_2_ids_of_one_millisecond_and_of_a_clock_that_stepped_back_still_sort() -> None:
    ids = SystemIds()
    made = [ids.ulid(now) for now in (5, 5, 5, 4, 5, 6, 6)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)
    assert {len(one) for one in made} == {26}


def test_rule_2_threads_never_draw_the_same_id() -> None:
    ids, made = SystemIds(), list[str]()
    threads = [
        threading.Thread(target=lambda: made.extend([ids.ulid(7) for _ in range(500)])) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 2_000


def test_a_salt_is_128_bits_of_chance() -> None:
    salts = {SystemIds().salt() for _ in range(50)}
    assert len(salts) == 50
    assert all(len(bytes.fromhex(salt)) == 16 for salt in salts)


def test_large_content_lies_under_its_digest_for_its_owner_alone(tmp_path: Path) -> None:
    kept = FolderContent(tmp_path)
    name = kept.put(digest("a"), b"whole")
    path = tmp_path / name
    assert digest("a")[7:] in name
    assert kept.get(name) == b"whole"
    assert path.stat().st_mode & 0o777 == 0o600
    before = path.stat()
    kept.put(digest("a"), b"whole")
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert [one for one in tmp_path.rglob("*") if one.is_file()] == [path]


def test_content_that_cannot_be_written_or_read_is_an_environment_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(EnvironmentFault) as caught:
        FolderContent(tmp_path / "file").put(digest("a"), b"x")
    assert caught.value.code == "content_unwritable"
    with pytest.raises(EnvironmentFault) as caught:
        FolderContent(tmp_path).get("00/none")
    assert caught.value.code == "content_unreadable"


def test_a_process_that_ended_is_known_to_have_ended_also_before_it_was_waited_for() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    assert host.is_alive(child.pid)
    assert child.stdin is not None
    child.stdin.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not host.is_alive(child.pid)
    child.wait()
    assert not host.is_alive(child.pid)


@pytest.fixture
def sleeper() -> Iterator[int]:
    child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    yield child.pid
    child.communicate()


def _life_of(pid: int) -> list[str]:
    stat = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return [host.boot_id(), str(os.stat(f"/proc/{pid}/ns/pid").st_ino), stat[19]]


def test_a_process_that_runs_has_not_ended_and_one_that_is_no_more_has(sleeper: int) -> None:
    assert not host.has_ended("/".join(_life_of(sleeper)), sleeper)
    assert not host.has_ended(host.life(), os.getpid())
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert host.has_ended(host.life(), child.pid)


def test_rule_1_a_pid_of_another_namespace_is_not_known_to_have_ended() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    boot, _, start = host.life().split("/")
    assert not host.has_ended(f"{boot}/1/{start}", child.pid)
    assert not host.has_ended(boot, child.pid)


def test_rule_1_the_life_of_a_process_names_its_pid_namespace() -> None:
    assert host.life().split("/") == _life_of(os.getpid())


def test_rule_2_a_pid_that_another_process_has_now_ended_with_its_first(sleeper: int) -> None:
    boot, namespace, start = _life_of(sleeper)
    assert host.has_ended(f"{boot}/{namespace}/{int(start) - 1}", sleeper)


def test_rule_3_what_cannot_be_read_is_not_known_to_have_ended(
    sleeper: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    boot, namespace, start = _life_of(sleeper)
    assert host.has_ended(f"another/{namespace}/{start}", sleeper)
    assert not host.has_ended(f"unknown/{namespace}/{start}", sleeper)
    assert not host.has_ended(f"{boot}/{namespace}/unknown", sleeper)
    monkeypatch.setattr("actum.adapters.machine.host.os.readlink", lambda _path: "1")
    assert not host.has_ended(f"{boot}/{namespace}/{int(start) - 1}", sleeper)


def test_a_copy_lies_elsewhere_and_a_move_does_not(tmp_path: Path) -> None:
    one = tmp_path / "one"
    one.write_text("x")
    place = host.place_of(one)
    shutil.copy(one, tmp_path / "two")
    assert host.place_of(tmp_path / "two") != place
    one.rename(tmp_path / "three")
    assert host.place_of(tmp_path / "three") == place


def test_this_machine_and_its_boot_have_names() -> None:
    assert host.host_name() == host.host_name() != ""
    assert host.boot_id() == host.boot_id() != ""
    assert host.user_name()
