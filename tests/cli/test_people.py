# SPDX-License-Identifier: Apache-2.0
"""What a person is asked is shown whole, what they confirm is what was shown, and they answer as themselves."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from actum.bootstrap import Kernel
from actum.bootstrap.place import Place
from actum.cli.questions import Displayed, displayed
from actum.model.grant import Authn
from tests.cli.desk import EVIL, Desk, me

JUDGED = """\
process: orders
work_types: [order]
fields:
  colour: string
  count: int
steps:
  - {id: take, kind: judgment, choices: [ship, drop]}
"""


def grant_of(desk: Desk, turn_json: dict[str, object]) -> dict[str, object]:
    (effect,) = turn_json["effects"]  # type: ignore[misc]
    return effect["grant"]  # type: ignore[no-any-return,index]


def newest(desk: Desk) -> str:
    return desk.good("activity", "--json").lines()[0]["turn_id"]


def test_the_inbox_shows_every_line_and_spells_out_what_could_hide(desk: Desk) -> None:
    long = "\n".join(f"line {n} {'x' * 200}" for n in range(30)) + f"\n{EVIL}\x1b[2J"
    desk.propose("a.txt", long)
    text = desk.good("inbox").out
    assert all(f"line {n} {'x' * 200}" in text for n in range(30))
    assert "pay⟨U+202E⟩100⟨U+200B⟩pounds" in text
    assert "\u202e" not in text
    assert "\x1b" not in text
    desk.good("inbox", "--json")


def test_a_judgment_is_shown_with_its_whole_subject(desk: Desk) -> None:
    desk.process(JUDGED)
    desk.submit(
        {"work_type": "order", "subject": {"note": EVIL, "price": 1.50, "lines": ["a\nb", {"c": None}]}}
    )
    text = desk.good("inbox").out
    assert "pay⟨U+202E⟩100⟨U+200B⟩pounds" in text
    assert "price: 1.5" in text
    assert text.count("| a") == 1
    assert "--choice ship" in text
    assert "--choice drop" in text


def test_a_confirm_names_the_digest_of_what_was_shown_and_other_bytes_are_refused(
    desk: Desk, monkeypatch
) -> None:
    question = desk.propose()

    def displayed_otherwise(kernel: Kernel, ident: str) -> Displayed:
        return displayed(kernel, ident)._replace(digest="sha256:" + "0" * 64)

    with monkeypatch.context() as patch:
        patch.setattr("actum.cli.answer.displayed", displayed_otherwise)
        answer = desk("confirm", question, "--yes")
    assert answer.code == 1
    assert "not what this question asks" in answer.three()[0]
    assert desk.ids() == [question]
    shown = desk.good("inbox", "--json").lines()[0]["shown_digest"]
    desk.good("confirm", question, "--yes")
    grant = grant_of(desk, desk.good("explain", newest(desk), "--json").json())
    assert grant["shown_digest"] == shown


def test_without_a_terminal_a_confirm_needs_yes_and_still_prints_what_it_allows(desk: Desk) -> None:
    question = desk.propose()
    answer = desk("confirm", question)
    assert answer.code == 2
    assert "Write " in answer.out
    assert desk.ids() == [question]
    assert desk("confirm", question, "--json").code == 2
    assert "Write " in desk.good("confirm", question, "--yes").out
    assert desk.ids() == []


@pytest.mark.parametrize("said, code, left", [(b"n\n", 1, 1), (b"\n", 1, 1), (b"y\n", 0, 0)])
def test_on_a_terminal_it_asks_after_it_has_shown_everything(
    said: bytes, code: int, left: int, desk: Desk
) -> None:
    question = desk.propose(content="the very last line")
    master, slave = pty.openpty()
    run = "import sys; from actum.cli.main import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", run, "confirm", question],
        cwd=desk.folder, stdin=slave, stdout=slave, stderr=slave, close_fds=True,
    )  # fmt: skip
    os.close(slave)
    seen = b""
    end = time.monotonic() + 30
    while b"[y/N]" not in seen and time.monotonic() < end:
        seen += os.read(master, 4096)
    assert seen.index(b"the very last line") < seen.index(b"Allow 1 effect?")
    os.write(master, said)
    assert process.wait(timeout=30) == code
    os.close(master)
    assert len(desk.ids()) == left


def test_confirm_and_wait_runs_it_and_says_how_it_ended(desk: Desk) -> None:
    answer = desk.good("confirm", desk.propose(), "--yes", "--wait")
    assert "completed (observed)" in answer.out
    assert (desk.folder / "hello.txt").read_text() == "hello"


def test_several_are_confirmed_together_or_none(desk: Desk) -> None:
    first, second = desk.propose("a.txt"), desk.propose("b.txt")
    assert desk("confirm", first, "01NOPE", "--yes").code == 1
    assert desk.ids() == [first, second]
    desk.good("confirm", first, second, "--yes")
    assert desk("confirm", first, "--yes").code == 1


def test_a_refused_effect_does_not_run_and_is_sealed_as_not_tried(desk: Desk) -> None:
    desk.good("refuse", desk.propose(), "--reason", "not today")
    desk.good("run")
    assert not (desk.folder / "hello.txt").exists()
    text = desk.good("explain", newest(desk)).out
    assert "not_attempted, verified" in text
    assert "completed (cancelled)" in text


def test_a_judgment_decides_with_typed_fields_and_is_kept_as_evidence(desk: Desk) -> None:
    desk.process(JUDGED)
    desk.submit({"work_type": "order", "subject": {"a": 1}})
    (question,) = desk.ids()
    shown = desk("judge", question)
    assert shown.code == 2
    assert "--choice ship" in shown.out
    assert desk("judge", question, "--choice", "ship", "--set", "count=many").code == 2
    assert desk("judge", question, "--choice", "ship", "--set", "weight=3").code == 2
    assert desk("judge", question, "--choice", "sell").code == 1
    assert desk.ids() == [question]
    desk.good(
        "judge",
        question,
        "--choice",
        "ship",
        "--set",
        "count=3",
        "--set",
        "colour=7",
        "--reason",
        "known buyer",
    )
    why = desk.good("explain", newest(desk), "--json").json()
    (decision,) = why["decisions"]
    assert (decision["rung"], decision["judgment"]["choice"]) == ("judgment", "ship")
    assert (decision["judgment"]["person"], decision["judgment"]["reason"]) == (me(), "known buyer")
    assert [write["field"] for write in decision["writes"]] == ["colour", "count"]
    assert "because: known buyer" in desk.good("explain", newest(desk)).out
    assert desk("judge", question, "--choice", "drop").code == 1


@pytest.fixture
def secret(tmp_path: Path) -> str:
    path = tmp_path / "secret"
    path.write_bytes(b"correct horse\n")
    return str(path)


def test_a_person_with_a_key_signs_with_it_and_nobody_answers_without_the_passphrase(
    bare: Desk, secret: str
) -> None:
    said = bare.init("--passphrase-file", secret).out
    assert "only the passphrase opens it" in said
    question = bare.propose()
    wrong = bare.folder / "wrong"
    wrong.write_bytes(b"guess\n")
    for verb in (("confirm", question, "--yes"), ("refuse", question)):
        assert bare(*verb).code == 2
        assert bare(*verb, "--passphrase-file", str(wrong)).code == 1
    assert bare.ids() == [question]
    assert "by your own key" in bare.good("confirm", question, "--yes", "--passphrase-file", secret).out
    grant = grant_of(bare, bare.good("explain", newest(bare), "--json").json())
    assert grant["authn"] == Authn.PASSPHRASE.value
    bare.good("run")
    bare.good("export", "-o", "b.jsonl")
    verdict = bare("verify", "b.jsonl", "--trust", ".actum/trust.json", "--min-size", "2", "--json").json()
    allowed = next(one for one in verdict["findings"] if one["aspect"] == "allowed")
    assert allowed["state"] == "established"
    assert "session" not in json.dumps(allowed)


def test_nobody_answers_under_another_name_without_that_persons_key(desk: Desk, secret: str) -> None:
    question = desk.propose()
    for verb in (("confirm", question, "--yes"), ("refuse", question), ("adopt", "--anyway")):
        answer = desk(*verb, "--as", "bob")
        assert answer.code == 1
        assert "bob has no key" in answer.three()[0]
    desk.good("init", "--person", "bob", "--new-passphrase-file", secret)
    assert desk("confirm", question, "--yes", "--as", "bob").code == 2
    desk.good("confirm", question, "--yes", "--as", "bob", "--passphrase-file", secret)
    assert "allowed by bob" in desk.good("explain", newest(desk)).out


@pytest.mark.parametrize("name", ["agent:planner", "model:x", "tool:y"])
def test_an_agent_is_never_enrolled_as_a_person(name: str, desk: Desk, secret: str) -> None:
    answer = desk("init", "--person", name, "--new-passphrase-file", secret)
    assert answer.code == 1
    assert [path.name for path in (desk.place / "keys").glob("person-*")] == []


def test_init_under_another_name_needs_a_key(bare: Desk) -> None:
    assert bare("init", "--as", "somebody").code == 2
    assert not bare.place.exists()


def test_a_failure_is_acknowledged_by_name_and_moves_to_finished(desk: Desk) -> None:
    desk.submit({"work_type": "nobody_takes_this", "subject": {}})
    turn = newest(desk)
    assert turn in desk.good("activity", "--filter", "needs-attention").out
    desk.good("settle", turn, "--acknowledge")
    text = desk.good("activity", "--filter", "finished").out
    assert turn in text
    assert f"seen by {me()}" in text
    assert desk("settle", turn, "--acknowledge", "--stop").code == 2


def test_the_passphrase_file_must_hold_one(bare: Desk) -> None:
    (bare.folder / "empty").write_bytes(b"\n")
    assert bare("init", "--passphrase-file", "empty").code == 2
    assert bare("init", "--passphrase-file", "absent").code == 5
    assert not bare.place.exists()


def test_what_init_tells_to_do_next_can_be_done(bare: Desk) -> None:
    for arguments in ((), ("--example",)):
        store = str(bare.folder / f"s{len(arguments)}")
        said = bare.good("init", "--store", store, *arguments).out
        item = said.split("Next: actum submit '", 1)[1].split("'\n")[0]
        assert msgspec.json.decode(item)
        bare.good("submit", item, "--store", store)
        assert len(bare.good("inbox", "--ids", "--store", store).out.split()) == 1


def test_a_lost_trust_file_is_made_anew_with_the_people_in_it_and_nothing_else_is(
    desk: Desk, secret: str
) -> None:
    desk.good("init", "--person", "bob", "--new-passphrase-file", secret)
    trust = desk.place / "trust.json"
    before = json.loads(trust.read_text())
    trust.unlink()
    assert desk("activity").code == 5
    said = desk.good("init").out
    assert "made anew" in said
    assert "bob" in said
    assert json.loads(trust.read_text()) == before
    trust.unlink()
    (desk.place / "store.db").unlink()
    answer = desk("init")
    assert answer.code == 5
    assert "store.db" in answer.three()[0]
    assert not trust.exists()
    assert desk("submit", "-", stdin=b"{}\n").code == 5
    assert not (desk.place / "store.db").exists()


def forget(desk: Desk, person: str) -> None:
    """Take a person's key out of the trust file."""
    path = desk.place / "trust.json"
    trust = json.loads(path.read_text())
    kept = [key for key in trust["keys"] if key["principal"] != person]
    assert len(kept) == len(trust["keys"]) - 1
    path.write_text(json.dumps({"keys": kept}))


def test_a_key_that_left_the_trust_file_answers_nothing_and_its_records_still_leave_whole(
    desk: Desk, secret: str
) -> None:
    desk.good("init", "--person", "bob", "--new-passphrase-file", secret)
    bob = ("--as", "bob", "--passphrase-file", secret)
    desk.good("confirm", desk.propose(), "--yes", "--wait", *bob)
    assert desk.good("doctor")
    forget(desk, "bob")
    question = desk.propose("b.txt")
    for verb in (("confirm", question, "--yes"), ("refuse", question)):
        answer = desk(*verb, *bob, "--json")
        assert (answer.code, json.loads(answer.out.splitlines()[-1])["error"]["code"]) == (
            1,
            "key_not_pinned",
        )
    assert desk.ids() == [question]
    assert "signer_not_pinned" in desk("doctor").out
    desk.good("export", "-o", "b.jsonl")
    verdict = desk("verify", "b.jsonl", "--trust", ".actum/trust.json", "--min-size", "2", "--json").json()
    assert verdict["problems"] == []
    assert verdict["exit_code"] == 3


def test_a_signer_that_nobody_knows_any_more_stops_the_export_and_no_file_is_made(
    desk: Desk, secret: str
) -> None:
    desk.good("init", "--person", "bob", "--new-passphrase-file", secret)
    desk.good("confirm", desk.propose(), "--yes", "--as", "bob", "--passphrase-file", secret)
    forget(desk, "bob")
    (desk.place / "keys" / "person-bob.pub.json").unlink()
    answer = desk("export", "-o", "b.jsonl")
    assert answer.code == 5
    assert "public half is not here" in answer.three()[0]
    assert not (desk.folder / "b.jsonl").exists()


@pytest.mark.parametrize(
    "flags", [("--happened", "--did-not"), ("--happened", "--stop"), ("--did-not", "--stop")]
)
def test_two_words_about_one_effect_are_none(flags: tuple[str, ...], desk: Desk) -> None:
    question = desk.propose()
    answer = desk("settle", question, *flags, "--json")
    assert (answer.code, answer.json()["error"]["code"]) == (2, "two_words")


def test_settling_a_question_that_asks_something_else_names_the_verb_that_answers_it(desk: Desk) -> None:
    question = desk.propose()
    answer = desk("settle", question, "--happened")
    assert answer.code == 2
    assert "may something run" in answer.three()[0]
    assert f"actum confirm {question}" in answer.three()[2]


def test_a_copied_store_takes_no_confirm_before_it_is_adopted(desk: Desk) -> None:
    question = desk.propose()
    shutil.copytree(desk.place, desk.folder / "copy")
    copy = ("--store", str(desk.folder / "copy"))
    answer = desk("confirm", question, "--yes", "--json", *copy)
    assert (answer.code, json.loads(answer.out.splitlines()[-1])["error"]["code"]) == (5, "store_moved")
    assert desk.good("inbox", "--ids", *copy).out.split() == [question]
    desk.good("adopt", *copy)
    desk.good("confirm", question, "--yes", *copy)


def test_an_agent_that_answers_is_told_that_people_do(desk: Desk) -> None:
    answer = desk("confirm", desk.propose(), "--yes", "--as", "agent:x")
    assert answer.code == 1
    assert "is no person" in answer.three()[0]
    assert "init --person" not in answer.three()[2]


def test_a_confirm_in_json_without_yes_names_the_command_that_shows_it(desk: Desk) -> None:
    answer = desk("confirm", desk.propose(), "--json")
    assert answer.code == 2
    assert "actum inbox" in json.loads(answer.out)["error"]["next_step"]


def test_the_ids_of_confirms_are_listed_apart(desk: Desk) -> None:
    desk.process(JUDGED)
    desk.submit({"work_type": "order", "subject": {"a": 1}})
    confirm = desk.propose()
    assert len(desk.ids()) == 2
    assert desk.good("inbox", "--ids", "--reason", "confirm").out.split() == [confirm]
    assert desk.good("inbox", "--ids", "--reason", "judgment").out.split() == [desk.ids()[0]]


def test_an_export_into_a_folder_says_to_name_a_file(desk: Desk) -> None:
    answer = desk("export", "-o", ".")
    assert answer.code == 2
    assert "actum export -o record.jsonl" in answer.three()[2]


@pytest.mark.parametrize("made", ["fifo", "link"])
def test_an_export_leaves_what_is_no_ordinary_file_as_it_is(desk: Desk, made: str) -> None:
    place = desk.folder / "out"
    if made == "fifo":
        os.mkfifo(place)
    else:
        place.symlink_to(desk.folder / "elsewhere")
    answer = desk("export", "-o", "out")
    assert answer.code == 2
    assert "no ordinary file" in answer.three()[0]
    assert (place.is_fifo(), place.is_symlink()) == (made == "fifo", made == "link")


@pytest.mark.parametrize("name", ["store.db", "trust.json", "keys/kernel.key.json", "new.jsonl"])
def test_an_export_replaces_nothing_in_the_store_s_own_folder(desk: Desk, name: str) -> None:
    path = desk.place / name
    before = path.read_bytes() if path.exists() else None
    answer = desk("export", "-o", str(path), "--json")
    assert (answer.code, answer.json()["error"]["code"]) == (2, "output_in_store")
    assert (path.read_bytes() if path.exists() else None) == before


def test_an_export_touches_no_other_file(desk: Desk) -> None:
    (desk.folder / "out.part").write_text("mine")
    desk.good("export", "-o", "out")
    assert (desk.folder / "out.part").read_text() == "mine"
    assert not [path for path in desk.folder.iterdir() if path.name.startswith(".out")]


@pytest.mark.parametrize(
    "name, code",
    [
        ("notes.txt", "output_is_no_bundle"),
        ("", "output_missing"),
        ("absent/b.jsonl", "output_folder_missing"),
    ],
)
def test_an_export_replaces_older_bundles_only(desk: Desk, name: str, code: str) -> None:
    notes = desk.folder / "notes.txt"
    notes.write_text('{"mine": 1}\n')
    answer = desk("export", "-o", name, "--json")
    assert (answer.code, answer.json()["error"]["code"]) == (2, code)
    assert notes.read_text() == '{"mine": 1}\n'
    desk.good("export", "-o", "b.jsonl")
    desk.propose()
    desk.good("export", "-o", "b.jsonl")
    (desk.folder / "empty").touch()
    desk.good("export", "-o", "empty")


def test_an_export_to_a_dash_goes_to_standard_output(desk: Desk) -> None:
    assert desk.good("export", "-o", "-").lines()[0]["format"] == "actum-bundle"
    assert not (desk.folder / "-").exists()


def test_an_export_of_nothing_gives_no_advice_that_would_fail(desk: Desk) -> None:
    said = desk.good("export", "-o", "a b.jsonl").out
    assert "actum verify" not in said
    desk.good("confirm", desk.propose(), "--yes", "--wait")
    said = desk.good("export", "-o", "a b.jsonl").out
    assert "actum verify 'a b.jsonl' --trust" in said


def test_an_export_with_standard_output_closed_says_so(desk: Desk) -> None:
    script = "import sys; from actum.cli.main import run; sys.stdout = None; sys.exit(run(['export']))"
    ended = subprocess.run(
        [sys.executable, "-c", script], stderr=subprocess.PIPE, cwd=desk.folder, check=False
    )
    assert ended.returncode == 2
    assert b"standard output is closed" in ended.stderr


def test_a_store_is_removed_only_where_that_was_asked_for(desk: Desk) -> None:
    desk.good("confirm", desk.propose(), "--yes", "--wait")
    desk.good("export", "-o", "b.jsonl")
    answer = desk("project", "delete", "--bundle", "b.jsonl", "--json")
    assert (answer.code, answer.json()["error"]["code"]) == (2, "delete_needs_yes")
    assert desk.place.exists()
    assert not (desk.folder / "b.jsonl.trust.json").exists()
    desk.good("project", "delete", "--bundle", "b.jsonl", "--yes")
    assert not desk.place.exists()


def test_a_page_of_activity_goes_on_from_a_turn_that_is_there(desk: Desk) -> None:
    desk.propose()
    assert desk("activity", "--before", "nope").code == 1
    assert desk.good("activity", "--before", newest(desk)).out.strip() == "No turns."


def test_a_confirm_says_in_json_who_answered(desk: Desk) -> None:
    [told] = desk.good("confirm", desk.propose(), "--yes", "--json").lines()
    assert (told["state"], told["answered_by"]) == ("answered", me())


def test_a_store_that_was_begun_for_somebody_is_finished_for_them_only(bare: Desk, secret: str) -> None:
    place = Place(bare.place)
    place.create()
    place.enrol("ann", passphrase=Path(secret).read_bytes().splitlines()[0])
    assert bare("activity").code == 2
    for other in ((), ("--as", "bob", "--passphrase-file", secret)):
        answer = bare("init", *other)
        assert answer.code == 2
        assert "being made for ann" in answer.three()[0]
    bare.good("init", "--as", "ann", "--passphrase-file", secret)
    bare.good("confirm", bare.propose(), "--yes", "--as", "ann", "--passphrase-file", secret)


def test_a_store_that_is_whole_is_not_begun_anew(desk: Desk) -> None:
    Place(desk.place).create()
    assert Place(desk.place).exists()
    desk.good("activity")
