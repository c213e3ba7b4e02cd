# SPDX-License-Identifier: Apache-2.0
"""Ids sort in the order they were made, large content is on the disk before it is named, and a copy is noticed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
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
    monkeypatch.setattr("actum.adapters.machine.clock.time.time_ns", lambda: wall[0] * 1_000_000)
    clock = SystemClock()
    clock.not_before(100_000 + HELD_MS)
    assert clock.now_ms() == 100_000 + HELD_MS
    assert clock.stepped_back_ms() == HELD_MS
    wall[0] = 99_999
    with pytest.raises(EnvironmentFault) as caught:
        clock.now_ms()
    assert caught.value.code == "clock_behind"


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
