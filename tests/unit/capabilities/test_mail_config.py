# SPDX-License-Identifier: Apache-2.0
"""The [mail] section is refused whole with every problem named, and passwords stay where they are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from actum.capabilities.mail import mail_capabilities, read_mail_config, reader_section, verifiers
from actum.capabilities.mail.config import read_password
from actum.model.errors import EnvironmentFault, UsageError

from .mail_drive import section


def problems(**members: object) -> dict[str, str]:
    with pytest.raises(UsageError) as caught:
        read_mail_config(section(**members))
    assert caught.value.code == "bad_mail_config"
    return caught.value.facts


def test_every_problem_is_named_at_once() -> None:
    found = problems(
        smtp_host="mail.example.test",
        smtp_port=0,
        smtp_user="alice",
        starttls="yes",
        drafts="Drafts",
        colour="blue",
        allowed_senders=["nobody"],
    )
    assert found == {
        "/mail/smtp_port": "must be between 1 and 65535",
        "/mail/smtp_password_env": "is missing for smtp_user",
        "/mail/starttls": "Expected `bool`, got `str`",
        "/mail/drafts": "must be an absolute path",
        "/mail/colour": "no such setting",
        "/mail/allowed_senders/0": "is no address",
        "/mail/reader": "is missing: what is sent must be read back",
    }


def test_sending_without_a_mailbox_to_read_back_is_refused() -> None:
    assert problems(smtp_host="127.0.0.1") == {"/mail/reader": "is missing: what is sent must be read back"}


def test_a_password_over_the_network_in_clear_is_refused_and_on_this_machine_is_not() -> None:
    remote = {
        "reader": "imap",
        "imap_host": "mail.example.test",
        "imap_user": "alice",
        "imap_password_env": "MAIL_PASSWORD",
    }
    assert list(problems(**remote)) == ["/mail/imap_tls"]
    read_mail_config(section(**{**remote, "imap_tls": True}))
    read_mail_config(section(**{**remote, "imap_host": "127.0.0.1"}))


def test_a_password_itself_is_no_setting() -> None:
    assert problems(smtp_password="hunter2") == {"/mail/smtp_password": "no such setting"}


def test_only_what_is_configured_is_registered(tmp_path: Path) -> None:
    assert mail_capabilities(read_mail_config({})) == []
    drafts = read_mail_config(section(drafts=str(tmp_path)))
    assert [made.info.id for made in mail_capabilities(drafts)] == ["mail.draft"]
    assert list(verifiers(section(drafts=str(tmp_path)))) == ["mail.draft"]


def test_the_verifier_process_is_told_nothing_about_sending() -> None:
    told = reader_section(
        section(smtp_host="127.0.0.1", smtp_user="a", smtp_password_env="P", reader="maildir", maildir="/m")
    )
    assert set(told) == {"from", "domain", "reader", "maildir"}
    assert list(verifiers(told)) == ["mail.send"]


def test_the_verifier_process_never_loads_the_code_that_acts() -> None:
    code = (
        "import sys; from actum.capabilities.mail import verifiers\n"
        "made = verifiers({'reader': 'maildir', 'maildir': '/m'})\n"
        "print(' '.join(sorted(m.rpartition('.')[2] for m in sys.modules if '.mail.' in m)))\n"
        "print('smtplib' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == [
        "addresses",
        "config",
        "content",
        "message",
        "readers",
        "verify",
        "False",
    ]


def test_a_password_comes_from_the_environment_or_a_private_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACTUM_TEST_PASSWORD", "hunter2")
    assert read_password(env="ACTUM_TEST_PASSWORD", file=None, purpose="a test") == "hunter2"
    file = tmp_path / "password"
    file.write_text("hunter3\n")
    file.chmod(0o600)
    assert read_password(env=None, file=str(file), purpose="a test") == "hunter3"


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_password_file_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "password"
    file.write_text("hunter3\n")
    file.chmod(mode)
    with pytest.raises(EnvironmentFault) as caught:
        read_password(env=None, file=str(file), purpose="a test")
    assert caught.value.code == "password_file_open_to_others"
    assert "hunter3" not in str(caught.value)


def test_a_password_that_is_not_there_is_an_error_that_says_where_it_was_looked_for(tmp_path: Path) -> None:
    link = tmp_path / "link"
    os.symlink(tmp_path / "elsewhere", link)
    for env, file in (("ACTUM_TEST_ABSENT", None), (None, str(tmp_path / "absent")), (None, str(link))):
        with pytest.raises(EnvironmentFault) as caught:
            read_password(env=env, file=file, purpose="a test")
        assert caught.value.code == "password_absent"
        assert (env or str(file)) in str(caught.value)
