# SPDX-License-Identifier: Apache-2.0
"""Work is taken in line by line: each is accepted or reported, memory stays flat, the same key is the same work."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.desk import Desk

MESSAGE = (
    b"From: Ann <ann@example.test>\r\nTo: b@example.test\r\nSubject: =?utf-8?q?caf=C3=A9?=\r\n\r\nhello\r\n"
)


def line(n: int, **more: object) -> bytes:
    return json.dumps({"work_type": "order", "subject": {"colour": "red", "n": n}, **more}).encode() + b"\n"


def test_an_object_a_list_a_file_and_standard_input_are_taken(desk: Desk) -> None:
    desk.process()
    desk.good("submit", line(1).decode())
    desk.good("submit", "-", stdin=line(2) + b"\n" + line(3))
    (desk.folder / "work.jsonl").write_bytes(line(4) + line(5).rstrip())
    desk.good("submit", "work.jsonl")
    (desk.folder / "work.json").write_bytes(b"[\n" + line(6) + b"," + line(7) + b"]")
    desk.good("submit", "work.json")
    assert desk.count("work_item") == 7


def test_every_line_is_accepted_or_reported_with_its_number_and_place(desk: Desk) -> None:
    desk.process()
    body = line(1) + b"\n{\n" + line(2, kez=1) + line(3, key="k") + line(4, key="k") + b"[]\n" + line(5)
    answer = desk("submit", "-", stdin=body)
    assert answer.code == 2
    assert desk.count("work_item") == 3
    reported = answer.err.splitlines()
    assert [one.split(":")[0] for one in sorted(reported)] == ["line 3", "line 4", "line 6", "line 7"]
    assert any("line 4: unknown_field at /kez" in one for one in reported)
    assert any("line 6: key_conflict" in one for one in reported)
    assert "3 items stored, 1 refused, 3 not readable." in answer.out
    told = desk("submit", "-", "--json", stdin=body).lines()
    assert {one["at"]: one.get("known") for one in told if "error" not in one}["line 5"] is True


def test_a_refused_line_alone_ends_with_1_and_disturbs_no_other(desk: Desk) -> None:
    desk.process()
    desk.submit({"work_type": "order", "subject": {"n": 0}, "key": "k"})
    body = b"".join(line(n, key="k" if n == 250 else f"k{n}") for n in range(500))
    answer = desk("submit", "-", stdin=body)
    assert answer.code == 1
    assert answer.err.startswith("line 251: key_conflict")
    assert desk.count("work_item") == 500
    assert list((desk.place / "drafts").iterdir()) == []


def test_the_same_file_twice_stores_nothing_twice(desk: Desk) -> None:
    desk.process()
    body = b"".join(line(n, key=f"k{n}") for n in range(300))
    desk.good("submit", "-", stdin=body)
    assert "0 items stored, 300 known already." in desk.good("submit", "-", stdin=body).out
    assert desk.count("work_item") == 300


def test_a_maildir_is_taken_in_once_with_what_cannot_be_read_reported(desk: Desk) -> None:
    for name in ("new", "cur", "tmp"):
        (desk.folder / "mail" / name).mkdir(parents=True)
    (desk.folder / "mail" / "new" / "1.a").write_bytes(MESSAGE)
    (desk.folder / "mail" / "cur" / "2.b:2,S").write_bytes(MESSAGE)
    (desk.folder / "mail" / "new" / "3.c").write_bytes(b"")
    (desk.folder / "mail" / "new" / "4.d").symlink_to("/etc/hostname")
    answer = desk("submit", "mail")
    assert answer.code == 2
    assert "2 items stored, 2 not readable." in answer.out
    assert len(answer.err.splitlines()) == 2
    again = desk("submit", "mail")
    assert "0 items stored, 2 known already, 2 not readable." in again.out


def test_with_wait_the_exit_code_says_how_the_turns_stand(desk: Desk) -> None:
    desk.process()
    done = desk("submit", "--wait", line(1).decode())
    assert done.code == 0
    assert "completed (decision recorded)" in done.out
    waits = desk("submit", "--wait", '{"work_type": "order", "subject": {}}')
    assert waits.code == 3
    assert "waits for a person" in waits.out
    failed = desk("submit", "--wait", "--json", '{"work_type": "unknown_work", "subject": {}}')
    assert failed.code == 1
    assert failed.lines()[-1]["state"] == "failed"


def test_numbers_reach_the_store_and_the_draft_as_they_were_written() -> None:
    from actum.model.foreign import parse_foreign
    from actum.model.work import Submission
    from actum.service.drafts import line_of

    text = b'{"a":1.50,"b":1e3,"c":123456789012345678901234567890,"d":{"$num":"1"}}'
    written = line_of(Submission(work_type="order", subject=parse_foreign(text), key="k"))
    assert written == b'{"work_type":"order","subject":' + text + b',"key":"k"}\n'


PEAK = """
import resource, sys
from actum.cli.main import run
code = run(["submit", sys.argv[1], "--store", sys.argv[2]])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


def peak_kib(desk: Desk, rows: int) -> int:
    path = desk.folder / f"{rows}.jsonl"
    path.write_bytes(b"".join(line(n, key=f"{rows}-{n}") for n in range(rows)))
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(path), str(desk.place)], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(f"{rows:,} items stored.")
    return int(done.stderr)


@pytest.mark.slow
def test_ten_times_the_lines_need_no_more_memory(desk: Desk) -> None:
    desk.process()
    few, many = peak_kib(desk, 1_000), peak_kib(desk, 10_000)
    assert many <= few * 1.2, (few, many)
    assert desk.count("work_item") == 11_000


def test_a_path_is_no_secret_way_into_the_drafts_folder(desk: Desk, tmp_path: Path) -> None:
    desk.process()
    source = tmp_path / "mine.jsonl"
    source.write_bytes(line(1))
    desk.good("submit", str(source))
    assert source.exists()


def test_a_capability_that_does_not_exist_is_named_with_the_nearest(desk: Desk) -> None:
    subject = {"capability": "files.writ", "arguments": {}}
    answer = desk("submit", json.dumps({"work_type": "agent.action", "subject": subject}))
    assert "There is no capability files.writ here; the nearest: files.write" in answer.err
    assert "There is no capability" not in desk("submit", '{"work_type": "order", "subject": {}}').err


def test_a_list_is_taken_as_an_argument_and_an_empty_one_is_told_in_short(desk: Desk) -> None:
    answer = desk("submit", "[]")
    assert answer.code == 2
    assert answer.three()[0] == "the list is empty."
    assert "2 items stored" in desk.good("submit", f"[{line(1).decode()}, {line(2).decode()}]").out


def test_a_binary_file_is_told_in_a_few_lines_and_a_count(desk: Desk) -> None:
    (desk.folder / "binary").write_bytes(b"\xff\xfe\n" * 500)
    answer = desk("submit", "binary")
    assert answer.code == 2
    assert len(answer.err.splitlines()) == 21
    assert "500 items could not be read" in answer.err


def test_a_table_without_a_row_has_no_head(desk: Desk) -> None:
    answer = desk("submit", "-", "--wait", stdin=b"{}\n")
    assert (answer.code, "TURN" in answer.out) == (2, False)
