# SPDX-License-Identifier: Apache-2.0
"""Messages in = items + failures one can see, and reading a maildir changes nothing in it."""

from __future__ import annotations

import base64
import os
from collections import Counter
from pathlib import Path

import pytest

from actum.adapters.intake import maildir, mime
from actum.adapters.intake.maildir import IntakeFailure, is_maildir, read_maildir
from actum.model.errors import UsageError
from actum.model.work import Submission
from actum.testing.mail_servers import make_maildir
from actum.testing.require import require_part

RAW = b"From: alice@example.test\r\nSubject: Hi\r\n\r\nText\r\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_maildir(str(tmp_path / "Inbox"))
    return tmp_path / "Inbox"


def codes(folder: Path) -> dict[str, str]:
    answers = [answer for answer in read_maildir(str(folder)) if isinstance(answer, IntakeFailure)]
    return {os.path.basename(answer.path): answer.code for answer in answers}


def test_every_entry_of_new_and_cur_is_answered_once(folder: Path, tmp_path: Path) -> None:
    (folder / "new" / "1.a").write_bytes(RAW)
    (folder / "cur" / "2.a:2,S").write_bytes(RAW)
    (folder / "new" / "3.empty").write_bytes(b"")
    (folder / "new" / "4.folder").mkdir()
    os.mkfifo(folder / "cur" / "5.pipe")
    os.symlink(tmp_path / "elsewhere", folder / "cur" / "6.link")
    (folder / "new" / ".7.hidden").write_bytes(RAW)
    os.rename(folder / "new" / "1.a", os.fsencode(folder / "new") + b"/1.\xff")
    (folder / "tmp" / "8.unfinished").write_bytes(RAW)
    answers = list(read_maildir(str(folder)))
    entries = len(os.listdir(folder / "new")) + len(os.listdir(folder / "cur"))
    assert entries == len(answers) == 7
    assert Counter(type(answer).__name__ for answer in answers) == {"Submission": 3, "IntakeFailure": 4}
    assert codes(folder) == {
        "3.empty": "empty",
        "4.folder": "not_regular",
        "5.pipe": "not_regular",
        "6.link": "not_regular",
    }


def test_reading_changes_nothing(folder: Path) -> None:
    (folder / "new" / "1.a").write_bytes(RAW)
    before = sorted(str(path) for path in folder.rglob("*"))
    list(read_maildir(str(folder)))
    assert sorted(str(path) for path in folder.rglob("*")) == before


def test_a_message_keeps_its_key_when_a_mail_program_has_read_it(folder: Path) -> None:
    (folder / "new" / "1.a").write_bytes(RAW)
    (folder / "new" / "2.a").write_bytes(RAW)
    first = [answer.key for answer in read_maildir(str(folder)) if isinstance(answer, Submission)]
    os.rename(folder / "new" / "1.a", folder / "cur" / "1.a:2,S")
    second = [answer.key for answer in read_maildir(str(folder)) if isinstance(answer, Submission)]
    assert sorted(map(str, first)) == sorted(map(str, second))
    assert len(set(first)) == 2


def test_a_message_that_goes_away_while_the_folder_is_read_is_told(folder: Path) -> None:
    (folder / "new" / "1.a").write_bytes(RAW)
    (folder / "new" / "2.a").write_bytes(RAW)
    answers = read_maildir(str(folder))
    next(answers)
    os.unlink(folder / "new" / "2.a")
    last = next(answers)
    assert isinstance(last, IntakeFailure)
    assert last.code == "gone"


def test_a_message_that_is_too_large_is_told_and_the_others_are_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mime, "MAX_MESSAGE", 100)
    monkeypatch.setattr(maildir, "MAX_MESSAGE", 100)
    (folder / "new" / "1.big").write_bytes(RAW + b"x" * 100)
    (folder / "new" / "2.a").write_bytes(RAW)
    assert codes(folder) == {"1.big": "too_large"}


def test_what_is_no_maildir_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    assert not is_maildir(str(tmp_path))
    with pytest.raises(UsageError) as caught:
        read_maildir(str(tmp_path))
    assert caught.value.code == "not_a_maildir"


def test_half_a_maildir_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "1.a").write_bytes(RAW)
    assert [type(answer) for answer in read_maildir(str(tmp_path))] == [Submission]


def _python_messages() -> list[Path]:
    try:
        import test.test_email
    except ImportError:
        return []
    data = Path(test.test_email.__file__).parent / "data"
    return sorted(data.glob("msg_*.txt"))


def test_the_messages_of_pythons_own_tests_are_all_answered(folder: Path) -> None:
    messages = _python_messages()
    require_part(bool(messages), "interpreter lacks test.test_email data")
    for path in messages:
        (folder / "new" / path.name).write_bytes(path.read_bytes())
    answers = list(read_maildir(str(folder)))
    assert len(answers) == len(messages) >= 48
    kept = {(answer.attachments or {})["message.eml"] for answer in answers if isinstance(answer, Submission)}
    # Python's messages are odd and none is beyond the bounds: each becomes an item with all its bytes.
    assert kept == {base64.b64encode(path.read_bytes()).decode() for path in messages}
