# SPDX-License-Identifier: Apache-2.0
"""Every error says what failed, what state one is in now and what to do next, and the state is looked up."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from actum.adapters.store.sqlite import SqliteStore
from actum.capabilities.files.execute import WriteExecutor
from actum.cli.render import error_of
from actum.model.errors import CorruptRecordError, EnvironmentFault, InvariantViolation
from tests.cli.desk import Answer, Desk, me

ITEM = {"work_type": "order", "subject": {"colour": "red"}, "key": "k"}
FAILING = {
    "unknown verb": ("bogus",),
    "unknown option": ("inbox", "--nope"),
    "unknown record": ("show", "01NOPE"),
    "unknown question": ("confirm", "01NOPE", "--yes"),
    "unknown turn": ("explain", "01NOPE"),
    "unknown effect": ("settle", "01NOPE"),
    "unreadable file": ("submit", "absent.jsonl"),
    "no maildir": ("submit", "."),
    "store there": ("init",),
    "not moved": ("adopt",),
    "no bundle": ("project", "delete", "--yes", "--bundle", "absent"),
    "no process": ("project", "add", "absent.yaml"),
    "somebody else": ("refuse", "01NOPE", "--as", "nobody-here"),
}


@pytest.mark.parametrize("name", FAILING)
def test_o88_every_error_says_what_failed_and_what_state_one_is_in(name: str, desk: Desk) -> None:
    answer = desk(*FAILING[name])
    assert answer.code in (1, 2)
    assert answer.out == ""
    failed, state, next_step = answer.three()
    assert all(len(part.split()) >= 3 and part.endswith((".", "?")) for part in (failed, state, next_step))
    told = desk(*FAILING[name], "--json")
    assert told.code == answer.code
    assert told.err == ""
    error = told.json()["error"]
    assert (error["failed"], error["state"], error["next_step"]) == (failed, state, next_step)
    assert error["code"]


def failing_write(self: SqliteStore, work: object) -> object:
    raise EnvironmentFault("disk_full", failed="the disk is full", state="-", next_step="Free some space")


def saving_fails(desk: Desk, monkeypatch: pytest.MonkeyPatch, *, drafts_vanish: bool = False) -> Answer:
    desk.good("activity", "--rungs")
    desk.process()
    desk.submit({**ITEM, "key": "first"})

    def fail(self: SqliteStore, work: object) -> object:
        for path in (desk.place / "drafts").iterdir() if drafts_vanish else ():
            path.unlink()
        return failing_write(self, work)

    with monkeypatch.context() as patch:
        patch.setattr(SqliteStore, "write", fail)
        return desk("submit", "-", stdin=json.dumps(ITEM).encode())


def test_o90_an_unsaved_turn_says_that_the_draft_is_there_and_it_is(desk: Desk, monkeypatch) -> None:
    answer = saving_fails(desk, monkeypatch)
    failed, state, next_step = answer.three()
    assert answer.code == 5
    assert failed.startswith("the turn was not safely saved")
    (draft,) = (desk.place / "drafts").iterdir()
    assert state == f"The draft is still there, whole: {draft}."
    assert json.loads(draft.read_bytes()) == ITEM
    assert draft.stat().st_mode & 0o777 == 0o600
    assert desk.count("work_item") == 1
    # The draft is good for what the message says of it, and is gone once it was used.
    assert f"actum submit {draft}" in next_step
    desk.good("submit", str(draft))
    assert desk.count("work_item") == 2
    assert list((desk.place / "drafts").iterdir()) == []


def test_o93_where_the_draft_is_gone_the_message_does_not_say_that_it_is_there(
    desk: Desk, monkeypatch
) -> None:
    answer = saving_fails(desk, monkeypatch, drafts_vanish=True)
    _, state, _ = answer.three()
    assert answer.code == 5
    assert "still there" not in state
    assert "only your own copy" in state


def test_a_saved_turn_leaves_no_draft(desk: Desk) -> None:
    desk.process()
    desk.submit(ITEM, {**ITEM, "key": "k2"})
    assert list((desk.place / "drafts").iterdir()) == []


def exported(desk: Desk) -> str:
    desk.process()
    desk.submit(ITEM)
    desk.good("run")
    desk.good("export", "-o", "record.jsonl")
    return "record.jsonl"


def everything(folder: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix not in (".db-wal", ".db-shm")
    }


def test_o91_a_failed_removal_says_that_nothing_was_removed_and_nothing_was(desk: Desk) -> None:
    bundle = exported(desk)
    desk.submit({**ITEM, "key": "later"})
    desk.good("run")
    before = everything(desk.place)
    answer = desk("project", "delete", "--yes", "--bundle", bundle)
    failed, state, _ = answer.three()
    assert answer.code == 1
    assert failed.startswith("the project was not removed")
    assert state.startswith("Nothing unverified was removed")
    assert set(before) <= set(everything(desk.place))
    assert len(desk.good("activity", "--json").lines()) == 2
    # With the whole record outside it goes, and the record outside verifies without it.
    desk.good("export", "-o", bundle)
    desk.good("project", "delete", "--yes", "--bundle", bundle)
    assert not desk.place.exists()
    desk.good("verify", bundle, "--trust", f"{bundle}.trust.json", "--min-size", "2")


def test_o91_a_store_with_something_open_is_not_removed(desk: Desk) -> None:
    bundle = exported(desk)
    desk.propose()
    desk.good("export", "-o", bundle)
    answer = desk("project", "delete", "--yes", "--bundle", bundle)
    assert answer.code == 1
    assert "something is open" in answer.three()[0]
    assert desk.place.exists()


def test_o93_a_store_that_is_gone_is_not_said_to_be_there(desk: Desk, monkeypatch) -> None:
    bundle = exported(desk)

    def lose(source: Path, target: Path) -> None:
        (desk.place / "trust.json").unlink()
        raise OSError(5, "input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("actum.bootstrap.project.os.rename", lose)
        answer = desk("project", "delete", "--yes", "--bundle", bundle)
    assert answer.code == 5
    assert "Nothing unverified was removed" not in answer.three()[1]
    assert "does not hold a whole store" in answer.three()[1]


def test_o92_a_file_that_does_not_load_is_not_added_and_says_so(desk: Desk) -> None:
    desk.process()
    bad = desk.folder / "bad.yaml"
    bad.write_text("process: x\nwork_types: [other]\nsteps: [{id: a, kind: nonsense}]\n")
    answer = desk("project", "add", str(bad))
    failed, state, _ = answer.three()
    assert answer.code == 2
    assert failed.startswith("the file was not added")
    assert state.startswith("Nothing unverified was added")
    assert [path.name for path in (desk.place / "processes").iterdir()] == ["orders.yaml"]
    good = desk.folder / "good.yaml"
    # A file that clashes with one that is there does not load either.
    good.write_text("process: y\nwork_types: [order]\nsteps: [{id: a, kind: judgment}]\n")
    assert desk("project", "add", str(good)).code == 2
    good.write_text("process: y\nwork_types: [other]\nsteps: [{id: a, kind: judgment}]\n")
    desk.good("project", "add", str(good))
    assert (desk.place / "processes" / "good.yaml").read_text() == good.read_text()


def test_o92_why_a_file_is_not_added_is_said_of_this_file(desk: Desk) -> None:
    desk.process()
    (desk.folder / "rules.txt").write_text("process: x\n")
    (desk.folder / "orders.yaml").write_text("process: x\n")
    whys = {".": "'.' is a folder", "rules.txt": "does not end with .yaml", "orders.yaml": "is there already"}
    for given, why in whys.items():
        answer = desk("project", "add", str(desk.folder / given) if given != "." else given)
        assert (answer.code, why in answer.three()[0]) == (2, True), answer


def test_every_problem_of_a_process_file_is_told_where_it_stops_a_submit(desk: Desk) -> None:
    desk.process(
        "process: p\nwork_types: [p]\nfields: {a: integer, b: number}\nsteps: [{id: s, kind: judgement}]\n"
    )
    told = desk("submit", '{"work_type": "p", "subject": {}}')
    assert told.code == 2
    places = [line.split()[0] for line in told.err.splitlines() if line.startswith("  ")]
    assert len(places) == len(set(places)) >= 3
    error = desk("submit", '{"work_type": "p", "subject": {}}', "--json").json()["error"]
    assert (error["code"], len(error["problems"])) == ("turn_not_saved", len(places))
    findings = [
        one for one in desk("doctor", "--json").json()["findings"] if one["code"] == "process_file_refused"
    ]
    assert len(findings) == len(places)


@pytest.mark.parametrize("verb", [("verify", ""), ("submit", ""), ("effect", "verify", "")])
def test_an_empty_argument_is_shown_as_one(verb: tuple[str, ...], desk: Desk) -> None:
    answer = desk(*verb)
    assert (answer.code, "''" in answer.three()[0]) == (2, True)


def test_o93_a_folder_that_holds_a_bad_file_is_not_said_to_be_whole(desk: Desk) -> None:
    desk.process("process: [", name="broken.yaml")
    bad = desk.folder / "bad.yaml"
    bad.write_text("also: [broken")
    answer = desk("project", "add", str(bad))
    assert answer.code == 2
    assert "Nothing unverified was added" not in answer.three()[1]
    assert "does not load" in answer.three()[1]


BLIND = """
from actum import Kernel

kernel = Kernel.open(".actum")


@kernel.action("bell.ring", reversibility="reversible", externality="local_only")
def ring(times: int) -> dict:
    return {"rung": times}


@ring.verifier(expect=lambda times: {"rung": times})
def look(times: int) -> None:
    raise RuntimeError("nobody can hear it")


if __name__ == "__main__":
    kernel.confirm(ring(2).question_ids())
    kernel.run()
    kernel.close()
"""


def unknown_outcome(desk: Desk) -> str:
    (desk.folder / "bell.py").write_text(BLIND)
    subprocess.run([sys.executable, "bell.py"], cwd=desk.folder, check=True)
    return desk.good("activity", "--json").lines()[0]["turn_id"]


def test_o89_work_whose_completion_cannot_be_verified_is_told_with_what_was_reported(desk: Desk) -> None:
    from actum.service.unverifiable import unverifiable

    turn = unknown_outcome(desk)
    with desk.kernel() as kernel:
        told = unverifiable(kernel.line, [turn])
        assert told is not None
        failed, state, _ = told.sentences()
        assert failed.startswith("verification as completed failed")
        assert state == "Nothing unverified was reported as done."
        assert kernel.turn(turn).state == "recovery_required"
        # The state half follows the rows: a person's word completes the turn, and then it is named.
        (row,) = kernel.line.store.read(lambda tx: tx.outbox_of_turn(turn))
        kernel.settle(row.outbox_id, "happened", by=me())
        told = unverifiable(kernel.line, [turn])
        assert told is not None
        assert "Nothing unverified" not in told.state
        assert turn in told.state
        assert "says it happened" in told.state
        assert unverifiable(kernel.line, []) is None


def test_o89_the_run_that_ends_in_an_unknown_outcome_says_so_and_ends_with_3(desk: Desk, monkeypatch) -> None:
    (desk.folder / "sub").mkdir()
    question = desk.propose("sub/hello.txt")
    desk.good("confirm", question, "--yes")

    def swap_folder(self: object, *_: object, **__: object) -> None:
        # What acts breaks, and the folder that was looked at is another one now: nobody can tell what happened.
        os.rename(desk.folder / "sub", desk.folder / "gone")
        (desk.folder / "sub").mkdir()
        raise OSError(5, "input/output error")

    monkeypatch.setattr(WriteExecutor, "execute", swap_folder)
    answer = desk("run")
    assert answer.code == 3
    failed, state, _ = answer.three()
    assert failed == "verification as completed failed for the work of 1 turn."
    assert state == "Nothing unverified was reported as done."
    assert desk.good("activity", "--filter", "finished").out == "No turns under Finished.\n"
    assert "recovery required" in desk.good("activity", "--filter", "needs-attention").out
    assert desk("settle", *desk.ids()).code == 3


def test_a_defect_is_told_without_a_traceback_and_ends_with_70(desk: Desk, monkeypatch) -> None:
    def broken(self: object, *_: object, **__: object) -> None:
        raise InvariantViolation("two is one", seen=2)

    monkeypatch.setattr(SqliteStore, "read", broken)
    answer = desk("inbox")
    assert answer.code == 70
    assert "two is one" in answer.three()[0]
    assert "report" in answer.three()[2]
    assert "seen: 2" in answer.err
    assert desk("inbox", "--json").json()["error"]["code"] == "defect"


@pytest.mark.parametrize(
    "error, code",
    [
        (RecursionError(), 70),
        (ValueError("x"), 70),
        (MemoryError(), 5),
        (PermissionError(13, "denied", "f"), 5),
        (CorruptRecordError("c", failed="a", state="b", next_step="c"), 4),
    ],
)
def test_any_exception_becomes_an_error_with_an_exit_code(error: Exception, code: int) -> None:
    told, found = error_of(error)
    assert found == code
    assert told["failed"]
    assert told["state"]
    assert told["next_step"]


def command(desk: Desk, *arguments: str, **options: object) -> subprocess.Popen[bytes]:
    code = "import sys; from actum.cli.main import main; main()"
    return subprocess.Popen([sys.executable, "-c", code, *arguments], cwd=desk.folder, **options)  # type: ignore[call-overload]


def test_a_reader_who_goes_away_makes_no_noise(desk: Desk) -> None:
    desk.process()
    desk.submit(*({**ITEM, "key": f"k{n}", "subject": {}} for n in range(40)))
    read, write = os.pipe()
    os.close(read)
    process = command(desk, "inbox", stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    _, err = process.communicate()
    assert err == b""
    assert process.returncode == 5


def test_a_full_device_behind_the_output_is_an_error_and_no_defect(desk: Desk) -> None:
    with open("/dev/full", "wb") as full:
        process = command(desk, "activity", stdout=full, stderr=subprocess.PIPE)
        _, err = process.communicate()
    assert process.returncode == 5
    assert b"What failed:" in err
    assert b"Traceback" not in err


def test_an_interrupt_ends_with_130_and_says_what_is_kept(desk: Desk, monkeypatch) -> None:
    def interrupt(self: object, *_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(SqliteStore, "read", interrupt)
    answer = desk("inbox")
    assert answer.code == 130
    assert "interrupted" in answer.three()[0]
