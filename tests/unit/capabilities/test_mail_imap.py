# SPDX-License-Identifier: Apache-2.0
"""A sent message is read back over IMAP from a real dovecot, by its exact Message-ID and nothing less."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from actum.capabilities.mail.describe import rebuild_message
from actum.model.errors import Refused
from actum.model.grading import ExecutorSaid, LookOutcome
from actum.model.look import Channel
from actum.ports.capability import Capability
from actum.ports.executor import EffectView
from actum.ports.verifier import Phase
from actum.testing.mail_servers import DovecotServer, SmtpFault, SmtpSink, dovecot_binary
from actum.testing.require import require_part

from .drive import execute, look, matches
from .mail_drive import effect_of as effect_with
from .mail_drive import sending

PASSWORD_ENV = "ACTUM_TEST_IMAP"


@pytest.fixture(scope="module")
def dovecot() -> Iterator[DovecotServer]:
    require_part(dovecot_binary() is not None, "dovecot-imapd is not installed")
    with DovecotServer(password="hunter2") as server:
        yield server


@pytest.fixture
def address(request: pytest.FixtureRequest) -> str:
    """A mailbox of its own for each test, because the server lives for the whole module."""
    return f"{request.node.name.replace('_', '-')[:60]}@example.test"


@pytest.fixture
def sink(dovecot: DovecotServer, address: str) -> Iterator[SmtpSink]:
    with SmtpSink(dovecot.mail_root, mailboxes={address}, owner=dovecot.owner) as server:
        yield server


@pytest.fixture
def made(dovecot: DovecotServer, sink: SmtpSink, monkeypatch: pytest.MonkeyPatch) -> Capability:
    monkeypatch.setenv(PASSWORD_ENV, dovecot.password)
    return sending(sink, **imap(dovecot))


def imap(dovecot: DovecotServer) -> dict[str, object]:
    return {
        "reader": "imap",
        "imap_host": dovecot.host,
        "imap_port": dovecot.port,
        "imap_user": "{recipient}",
        "imap_password_env": PASSWORD_ENV,
    }


def effect_of(made: Capability, address: str) -> EffectView:
    return effect_with(made, to=[address], text="Grüße,\nFrom here to there \n")


def raw_of(effect: EffectView) -> bytes:
    rebuilt = rebuild_message(effect.arguments)
    assert not isinstance(rebuilt, Refused)
    return rebuilt[1]


def test_a_sent_message_is_seen_over_imap(made: Capability, address: str) -> None:
    effect = effect_of(made, address)
    before = look(made, effect, phase=Phase.BEFORE)
    assert before.detail["places"] == {address: {"messages": 0}}
    assert execute(made, effect).said is ExecutorSaid.ACCEPTED
    after = look(made, effect, phase=Phase.AFTER, before=before)
    assert matches(effect, after)
    assert after.control_held
    assert after.channel is Channel.OTHER


def test_s222_accepted_and_lost_is_unclear_over_imap(made: Capability, sink: SmtpSink, address: str) -> None:
    effect = effect_of(made, address)
    before = look(made, effect, phase=Phase.BEFORE)
    sink.fault = SmtpFault.ACCEPT_THEN_LOSE
    assert execute(made, effect).said is ExecutorSaid.ACCEPTED
    after = look(made, effect, phase=Phase.AFTER, before=before)
    assert (after.outcome, after.control_held) == (LookOutcome.UNCLEAR, True)


def test_d048_a_lost_reply_is_settled_by_a_look_over_imap(
    made: Capability, sink: SmtpSink, address: str
) -> None:
    effect = effect_of(made, address)
    before = look(made, effect, phase=Phase.BEFORE)
    sink.fault = SmtpFault.DROP_REPLY_AFTER_STORING
    assert execute(made, effect).said is ExecutorSaid.NO_ANSWER
    assert matches(effect, look(made, effect, phase=Phase.LATER, before=before))


def test_the_servers_search_finds_substrings_and_the_reader_does_not(
    made: Capability, sink: SmtpSink, address: str
) -> None:
    effect = effect_of(made, address)
    before = look(made, effect, phase=Phase.BEFORE)
    wanted = str(effect.arguments["message_id"]).encode()
    # The header holds the wanted id as a part, so that the server's own search proposes this message.
    sink.deliver(address, raw_of(effect).replace(wanted, b"<first@example.test> " + wanted))
    after = look(made, effect, phase=Phase.AFTER, before=before)
    assert isinstance(after.value, dict)
    assert after.value["copies"] == 0
    assert after.detail["places"] == {address: {"messages": 1}}
    sink.deliver(address, raw_of(effect))
    assert matches(effect, look(made, effect, phase=Phase.LATER, before=before))


def test_a_message_that_was_there_before_is_unclear_over_imap(
    made: Capability, sink: SmtpSink, address: str
) -> None:
    effect = effect_of(made, address)
    sink.deliver(address, raw_of(effect))
    before = look(made, effect, phase=Phase.BEFORE)
    execute(made, effect)
    after = look(made, effect, phase=Phase.AFTER, before=before)
    assert (after.outcome, after.detail["reason"]) == (LookOutcome.UNCLEAR, "already_so_before")
    assert isinstance(after.value, dict)
    assert after.value["copies"] == 2


def test_looking_changes_nothing_in_the_mailbox(made: Capability, sink: SmtpSink, address: str) -> None:
    effect = effect_of(made, address)
    path = sink.deliver(address, raw_of(effect))
    for _ in range(2):
        look(made, effect, phase=Phase.AFTER)
    # A mailbox opened for writing would have moved the message from new/ to cur/.
    with open(path, "rb") as handle:
        assert handle.read() == raw_of(effect)


def test_a_mailbox_that_cannot_be_opened_is_unclear_and_tells_no_password(
    made: Capability, dovecot: DovecotServer, sink: SmtpSink, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    effect = effect_of(made, address)
    monkeypatch.setenv(PASSWORD_ENV, "hunter3")
    refused = look(made, effect, phase=Phase.AFTER)
    assert (refused.value, refused.outcome, refused.control_held) == (None, LookOutcome.UNCLEAR, False)
    assert "hunter" not in repr(refused)
    monkeypatch.delenv(PASSWORD_ENV)
    assert look(made, effect, phase=Phase.AFTER).detail["reason"] == "password_absent"
    monkeypatch.setenv(PASSWORD_ENV, dovecot.password)
    absent = sending(sink, **imap(dovecot), imap_mailbox="Absent")
    assert look(absent, effect, phase=Phase.AFTER).detail["reason"] == "mailbox_unreadable"


def test_the_server_ends_with_its_processes_and_its_folder() -> None:
    import os

    require_part(dovecot_binary() is not None, "dovecot-imapd is not installed")
    server = DovecotServer()
    server.start()
    pid = server.pid
    assert pid is not None
    server.stop()
    server.stop()
    assert not os.path.exists(server.folder)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
