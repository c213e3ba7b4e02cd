# SPDX-License-Identifier: Apache-2.0
"""What was changed beside or behind a store is found when it is opened, and nothing is dispatched from it."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

from actum import Kernel
from actum.bootstrap.opening import Opened
from actum.bootstrap.place import KERNEL, VERIFIER, Place, find_place
from actum.model.errors import ActumError, CorruptRecordError, EnvironmentFault, RefusedError, UsageError
from actum.testing.kernels import PERSON, Ledger, append_action, open_kernel, perform


def _did(kernel: Kernel, ledger: Ledger, entry: str) -> None:
    perform(kernel, append_action(kernel, ledger, capability=f"ledger.{entry}")(entry))


def _code(kernel: Kernel) -> str | None:
    try:
        kernel.run()
    except ActumError as error:
        return error.code
    return None


def test_rule_1_a_copy_does_not_dispatch_and_a_move_does(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    here, moved, copied = (tmp_path / name for name in ("here", "moved", "copied"))
    here.mkdir()
    with open_kernel(here) as kernel:
        _did(kernel, ledger, "a")
    shutil.copytree(here, copied)
    here.rename(moved)
    with open_kernel(moved) as kernel:
        assert _code(kernel) is None
    with open_kernel(copied) as kernel:
        assert _code(kernel) == "store_moved"
        kernel.adopt(by=PERSON)
        assert _code(kernel) is None
    with open_kernel(copied) as kernel:
        assert _code(kernel) is None


def test_rule_2_a_log_that_lost_its_tail_is_found_at_open_and_nothing_is_dispatched(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    with open_kernel(tmp_path) as kernel:
        _did(kernel, ledger, "a")
    place = Place(tmp_path / ".actum")
    older = place.database.read_bytes()
    with open_kernel(tmp_path) as kernel:
        _did(kernel, ledger, "b")
    longer = place.checkpoint.read_bytes()
    for leftover in place.folder.glob("store.db-*"):
        leftover.unlink()
    place.database.write_bytes(older)  # The same file with older bytes: no copy, no move.
    with open_kernel(tmp_path) as kernel:
        with pytest.raises(CorruptRecordError) as caught:
            kernel.run()
        assert caught.value.code == "log_cut_short"
        assert any("its last checkpoint says" in problem for problem in kernel.check_log())
        kernel.write_checkpoint()
    assert place.checkpoint.read_bytes() == longer
    with open_kernel(tmp_path) as kernel:
        assert _code(kernel) == "log_cut_short"
        kernel.adopt(by=PERSON)
        assert _code(kernel) is None
        assert kernel.check_log() == []
    kept = [path for path in place.folder.glob("checkpoint.*") if path.read_bytes() == longer]
    assert len(kept) == 1


def test_rule_2_a_log_rewritten_to_the_same_length_is_found_at_open(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        with open_kernel(folder) as kernel:
            _did(kernel, Ledger(folder / "ledger"), "a")
    shutil.copy(other / ".actum" / "checkpoint", one / ".actum" / "checkpoint")
    with open_kernel(one) as kernel:
        assert _code(kernel) == "log_cut_short"


def test_a_folder_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    Kernel.open(tmp_path / ".actum").close()
    for path in (tmp_path / ".actum").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
    assert (tmp_path / ".actum").stat().st_mode & 0o777 == 0o700


def test_a_store_that_is_not_there_is_not_made_where_none_was_asked_for(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        Kernel.open(tmp_path / ".actum", create=False)
    assert caught.value.code == "no_store"
    assert list(tmp_path.iterdir()) == []


def test_a_place_is_the_one_given_else_the_environments_else_the_nearest_upwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ACTUM_STORE", raising=False)
    Kernel.open(tmp_path / ".actum").close()
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    assert find_place(None, start=deep).folder == tmp_path.resolve() / ".actum"
    monkeypatch.setenv("ACTUM_STORE", str(tmp_path / "env"))
    assert find_place(None, start=deep).folder == tmp_path / "env"
    assert find_place(str(tmp_path / "given"), start=deep).folder == tmp_path / "given"


@pytest.mark.parametrize(
    "text, said",
    [
        ("nonsense", "no TOML"),
        ("[stroe]\n[fiels]\n", "unknown section [stroe]; unknown section [fiels]"),
        ("store = 1\n", "store is not a section"),
        ("\udcff", "no TOML"),
    ],
)
def test_rule_2_every_problem_of_the_configuration_is_reported_at_once(
    tmp_path: Path, text: str, said: str
) -> None:
    Kernel.open(tmp_path / ".actum").close()
    (tmp_path / ".actum" / "actum.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UsageError) as caught:
        Kernel.open(tmp_path / ".actum")
    assert caught.value.code == "bad_config"
    assert said in caught.value.failed


def test_a_process_file_that_is_no_text_stops_new_work_and_says_which(tmp_path: Path) -> None:
    with open_kernel(tmp_path) as kernel:
        (kernel.place.processes / "odd.yaml").write_bytes(b"\xff\xfe")
        with pytest.raises(UsageError) as caught:
            kernel.submit("ticket", {})
        assert caught.value.code == "process_file_unreadable"
        assert "odd.yaml" in caught.value.failed


def test_a_lost_trust_file_or_key_is_an_environment_fault_or_a_new_place(tmp_path: Path) -> None:
    Kernel.open(tmp_path / ".actum").close()
    (tmp_path / ".actum" / "actum.toml").mkdir()
    with pytest.raises(EnvironmentFault) as caught:
        Kernel.open(tmp_path / ".actum")
    assert caught.value.code == "place_unreadable"


def test_a_runner_elsewhere_keeps_this_one_from_dispatching_and_its_work_is_stored(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    with open_kernel(tmp_path) as first, open_kernel(tmp_path) as second:
        first.run()
        append_action(first, ledger)
        turn = append_action(second, ledger)("a")
        second.confirm(turn.question_ids(), by=PERSON)
        assert _code(second) == "runner_elsewhere"
        first.run()
        assert (ledger.entries(), turn.state) == (["a"], "completed")


def test_closing_twice_is_harmless(tmp_path: Path) -> None:
    kernel = open_kernel(tmp_path)
    kernel.run()
    kernel.close()
    kernel.close()
    with open_kernel(tmp_path) as again:
        assert _code(again) is None


@pytest.mark.parametrize("lost", ["trust.json", "store.db", "keys/kernel.key.json", "keys/verifier.key.json"])
def test_rule_4_a_store_that_lost_a_part_is_incomplete_and_nothing_is_made_in_its_stead(
    lost: str, tmp_path: Path
) -> None:
    Kernel.open(tmp_path / ".actum").close()
    (tmp_path / ".actum" / lost).unlink()
    for create in (True, False):
        with pytest.raises(EnvironmentFault) as caught:
            Kernel.open(tmp_path / ".actum", create=create)
        assert caught.value.code == "place_incomplete"
        assert lost in caught.value.failed
    assert not (tmp_path / ".actum" / lost).exists()


def test_rule_4_an_emptied_database_is_not_filled_anew(tmp_path: Path) -> None:
    Kernel.open(tmp_path / ".actum").close()
    (tmp_path / ".actum" / "store.db").write_bytes(b"")
    with pytest.raises(EnvironmentFault) as caught:
        Kernel.open(tmp_path / ".actum")
    assert caught.value.code == "place_incomplete"
    assert (tmp_path / ".actum" / "store.db").read_bytes() == b""


def test_rule_4_making_a_store_that_broke_off_is_taken_up_again(tmp_path: Path) -> None:
    place = Place(tmp_path / ".actum")
    place.create()
    place.trust_file.unlink()  # As if the process had ended between its keys and its trust file.
    Kernel.open(tmp_path / ".actum").close()
    assert place.missing() == []
    assert not place.is_new()


class FullDisk:
    """A disk on which the nth small file from now cannot be written, and any other can."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, at: int) -> None:
        self._left = at
        self._fsync = os.fsync
        monkeypatch.setattr(os, "fsync", self._maybe)

    def _maybe(self, fd: int) -> None:
        if stat.S_ISREG(os.fstat(fd).st_mode):
            self._left -= 1
            if self._left == 0:
                raise OSError(errno.ENOSPC, "No space left on device")
        self._fsync(fd)


@pytest.mark.parametrize(
    "at, code", [*[(n, "key_file_unwritable") for n in (1, 2, 3, 4)], (5, "trust_file_unwritable")]
)
def test_rule_4_a_store_is_made_at_the_second_try_wherever_the_disk_was_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int, code: str
) -> None:
    place = Place(tmp_path / ".actum")
    FullDisk(monkeypatch, at=at)
    with pytest.raises(EnvironmentFault) as caught:
        place.create()
    assert caught.value.code == code
    assert all(path.stat().st_size for path in place.folder.glob("keys/*"))
    with Kernel.open(place.folder) as kernel:
        pinned = set(kernel.line.trust.entries)
    assert place.missing() == []
    assert pinned == {place.keys.load(name).keyid for name in (KERNEL, VERIFIER)}


@pytest.mark.parametrize("at", [1, 2, 3], ids=["sealed half", "public half", "trust file"])
def test_rule_6_an_enrolment_that_was_cut_off_is_finished_by_the_next_with_the_same_passphrase(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    place = Place(tmp_path / ".actum")
    place.create()
    place.finish()
    FullDisk(monkeypatch, at=at)
    with pytest.raises(EnvironmentFault):
        place.enrol("ann", passphrase=b"long enough")
    assert len(place.trust_keys()) == 2
    if at > 1:
        with pytest.raises(RefusedError) as caught:
            place.enrol("ann", passphrase=b"another one")
        assert caught.value.code == "passphrase_wrong"
    keyid = place.enrol("ann", passphrase=b"long enough")
    assert place.keys.load("person-ann", passphrase=b"long enough").keyid == keyid
    assert place.trust().find(keyid) is not None
    with pytest.raises(UsageError) as again:
        place.enrol("ann", passphrase=b"long enough")
    assert again.value.code == "key_exists"


@pytest.mark.parametrize("cut", ["before the database", "before the roles", "before the end"])
def test_rule_7_the_roles_are_those_of_the_first_person_whoever_opens_the_store_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: str
) -> None:
    place = Place(tmp_path / ".actum")
    place.create()
    keyid = place.enrol("ann", passphrase=b"long enough")
    if cut != "before the database":
        with monkeypatch.context() as patched:
            patched.setattr(Place if cut == "before the end" else Opened, *cutting(cut))
            with pytest.raises(RuntimeError):
                Kernel.open(place.folder, principal="ann")
    assert not place.exists()
    # Another program opens it before the command is repeated.
    Kernel.open(place.folder, principal="bob").close()
    assert place.exists()
    with Kernel.open(place.folder) as kernel:
        found = kernel.line.store.read(lambda tx: (tx.roles("ann"), tx.roles("bob")))
        assert found == ({"submitter", "approver", "operator"}, set())
        assert kernel.person("ann", passphrase=b"long enough").name == "ann"
    assert place.trust().find(keyid) is not None


def cutting(cut: str) -> tuple[str, Any]:
    def stop(_: object) -> None:
        raise RuntimeError(cut)

    return ("finish" if cut == "before the end" else "_incarnation"), stop


def test_rule_7_making_a_store_again_for_its_first_person_needs_the_same_passphrase(tmp_path: Path) -> None:
    place = Place(tmp_path / ".actum")
    place.create()
    keyid = place.enrol("ann", passphrase=b"long enough")
    with pytest.raises(RefusedError) as caught:
        place.enrol("ann", passphrase=b"another one")
    assert caught.value.code == "passphrase_wrong"
    assert place.enrol("ann", passphrase=b"long enough") == keyid
    assert [key.keyid for key in place.trust_keys()].count(keyid) == 1


def test_rule_4_the_search_for_a_store_stops_at_one_that_is_not_whole(tmp_path: Path) -> None:
    Kernel.open(tmp_path / ".actum").close()
    below = tmp_path / "below"
    Kernel.open(below / ".actum").close()
    (below / ".actum" / "trust.json").unlink()
    assert find_place(None, start=below).folder == below / ".actum"


@pytest.mark.parametrize(
    "text, said",
    [
        ("[files]\nroots = 5\n", "[files] roots: "),
        ('[files]\nroots = "docs"\n', "[files] roots: "),
        ("[files]\nroots = [1]\n", "[files] roots: "),
        ("[files]\nroot = []\n", "[files] has no member root"),
        ("[store]\nurl = 5\n", "[store] url: "),
        ("[processes]\nfolder = 'x'\n", "[processes] has no member folder"),
    ],
)
def test_rule_2_a_member_of_the_wrong_form_is_named_beside_every_other_problem(
    tmp_path: Path, text: str, said: str
) -> None:
    Kernel.open(tmp_path / ".actum").close()
    (tmp_path / ".actum" / "actum.toml").write_text(text + "[odd]\n")
    with pytest.raises(UsageError) as caught:
        Kernel.open(tmp_path / ".actum")
    assert caught.value.code == "bad_config"
    assert said in caught.value.failed
    assert "unknown section [odd]" in caught.value.failed


def test_rule_2_a_checkpoint_that_cannot_be_read_is_kept_and_nothing_is_dispatched(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    with open_kernel(tmp_path) as kernel:
        _did(kernel, ledger, "a")
    checkpoint = Place(tmp_path / ".actum").checkpoint
    checkpoint.write_bytes(b"garbage")
    with open_kernel(tmp_path) as kernel:
        assert _code(kernel) == "log_cut_short"
        kernel.write_checkpoint()
        assert checkpoint.read_bytes() == b"garbage"
        kernel.adopt(by=PERSON)
        assert _code(kernel) is None
    assert checkpoint.with_name("checkpoint.unreadable").read_bytes() == b"garbage"
    assert b"garbage" not in checkpoint.read_bytes()
