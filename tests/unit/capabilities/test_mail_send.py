# SPDX-License-Identifier: Apache-2.0
"""A message is sent once, through a real server that misbehaves, and only the mailbox says it arrived."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from actum.capabilities.mail.describe import rebuild_message
from actum.capabilities.mail.smtp import SmtpHeld
from actum.model.effect import needs_qualification
from actum.model.errors import EnvironmentFault, InvariantViolation, Refused
from actum.model.evidence import QualificationResult
from actum.model.grading import ExecutorSaid, LookOutcome
from actum.model.look import Channel, Observation
from actum.ports.capability import Capability
from actum.ports.executor import EffectView
from actum.ports.verifier import Phase
from actum.testing.capability_cases import forge_dispatch
from actum.testing.mail_servers import SmtpFault, SmtpSink

from .drive import execute, is_contrary, look, matches
from .mail_drive import BOB, CAROL, effect_of, no_server, over_sink, sending
from .mail_drive import capability as capability_of


@pytest.fixture
def sink(tmp_path: Path) -> Iterator[SmtpSink]:
    with SmtpSink(str(tmp_path / "mail"), mailboxes={BOB, CAROL}) as server:
        yield server


def raw_of(effect: EffectView) -> bytes:
    rebuilt = rebuild_message(effect.arguments)
    assert not isinstance(rebuilt, Refused)
    return rebuilt[1]


def before_and(made: Capability, effect: EffectView) -> Observation:
    return look(made, effect, phase=Phase.BEFORE)


def test_sending_is_flagged_attempted_once_and_its_absence_proves_nothing(sink: SmtpSink) -> None:
    made = sending(sink)
    assert needs_qualification(effect_of(made).descriptor)
    assert made.info.attempts_max == 1
    assert not made.info.absence_is_proof
    assert made.info.consistency_window_ms == 5_000


def test_a_sent_message_is_accepted_by_the_server_and_seen_in_each_mailbox(sink: SmtpSink) -> None:
    made = sending(sink)
    effect = effect_of(made, cc=[CAROL], text="first\n.\n.leading dot\n")
    before = before_and(made, effect)
    report = execute(made, effect)
    assert report.said is ExecutorSaid.ACCEPTED
    assert report.acknowledged
    assert report.result["code"] == 250
    after = look(made, effect, phase=Phase.AFTER, before=before)
    assert matches(effect, after)
    assert after.channel is Channel.OTHER
    assert after.detail["places"] == {BOB: {"messages": 1}, CAROL: {"messages": 1}}


def test_s222_a_message_that_was_accepted_and_lost_is_neither_a_match_nor_a_contrary(sink: SmtpSink) -> None:
    made = sending(sink)
    effect = effect_of(made)
    before = before_and(made, effect)
    sink.fault = SmtpFault.ACCEPT_THEN_LOSE
    report = execute(made, effect)
    assert (report.said, report.acknowledged) == (ExecutorSaid.ACCEPTED, True)
    after = look(made, effect, phase=Phase.AFTER, before=before)
    assert not matches(effect, after)
    assert not is_contrary(effect, before, after)
    assert after.outcome is LookOutcome.UNCLEAR
    assert after.detail["reason"] == "absence_proves_nothing"
    assert after.control_held


def test_s222_a_message_that_arrives_later_is_a_match_from_then_on(sink: SmtpSink) -> None:
    made = sending(sink)
    effect = effect_of(made)
    before = before_and(made, effect)
    assert not matches(effect, look(made, effect, phase=Phase.AFTER, before=before))
    sink.deliver(BOB, raw_of(effect))
    assert matches(effect, look(made, effect, phase=Phase.LATER, before=before))


def test_d048_a_reply_lost_after_the_message_was_stored_is_no_answer_and_a_look_finds_it(
    sink: SmtpSink,
) -> None:
    made = sending(sink)
    effect = effect_of(made)
    before = before_and(made, effect)
    sink.fault = SmtpFault.DROP_REPLY_AFTER_STORING
    report = execute(made, effect)
    assert (report.said, report.acknowledged) == (ExecutorSaid.NO_ANSWER, False)
    assert matches(effect, look(made, effect, phase=Phase.AFTER, before=before))
    assert sink.commands.count("DATA") == 1


def test_d048_a_connection_lost_before_the_data_is_no_doubt(sink: SmtpSink) -> None:
    made = sending(sink)
    effect = effect_of(made)
    sink.fault = SmtpFault.DROP_BEFORE_DATA
    report = execute(made, effect)
    assert report.said is ExecutorSaid.RAISED
    assert report.result["stage"] == "before_data"
    assert "DATA" not in sink.commands


@pytest.mark.parametrize("fault", [SmtpFault.REJECT_RCPT, SmtpFault.DEFER_RCPT])
def test_a_refused_recipient_is_a_rejection_and_nothing_is_sent(sink: SmtpSink, fault: SmtpFault) -> None:
    made = sending(sink)
    effect = effect_of(made)
    sink.fault = fault
    report = execute(made, effect)
    assert (report.said, report.acknowledged) == (ExecutorSaid.REJECTED, False)
    assert report.result["stage"] == "rcpt"
    assert "DATA" not in sink.commands


def test_if_one_recipient_is_refused_nobody_receives_anything(sink: SmtpSink) -> None:
    made = sending(sink)
    effect = effect_of(made, to=[BOB], cc=["nobody@example.test", CAROL])
    report = execute(made, effect)
    assert report.said is ExecutorSaid.REJECTED
    assert report.result["recipient"] == "nobody@example.test"
    assert sink.commands[-2:] == ["RSET", "QUIT"]
    assert not any(files for _, _, files in os.walk(sink.root))


def test_a_message_refused_after_its_data_is_a_rejection(sink: SmtpSink) -> None:
    made = sending(sink)
    sink.fault = SmtpFault.REJECT_DATA
    report = execute(made, effect_of(made))
    assert report.said is ExecutorSaid.REJECTED
    assert report.result["stage"] == "end_of_data"


def test_d048_a_server_that_goes_away_instead_of_answering_the_data_leaves_doubt(sink: SmtpSink) -> None:
    made = sending(sink)
    sink.fault = SmtpFault.GO_AWAY_AFTER_DATA
    report = execute(made, effect_of(made))
    assert (report.said, report.result["code"]) == (ExecutorSaid.NO_ANSWER, 421)


def test_two_copies_are_not_the_one_that_was_expected(sink: SmtpSink) -> None:
    made = sending(sink)
    effect = effect_of(made)
    before = before_and(made, effect)
    sink.fault = SmtpFault.STORE_TWICE
    execute(made, effect)
    after = look(made, effect, phase=Phase.AFTER, before=before)
    assert isinstance(after.value, dict)
    assert after.value["copies"] == 2
    assert not matches(effect, after)


def test_a_message_whose_text_was_changed_on_the_way_is_not_the_message(sink: SmtpSink) -> None:
    made = sending(sink)
    effect = effect_of(made)
    before = before_and(made, effect)
    sink.fault = SmtpFault.CHANGE_TEXT
    execute(made, effect)
    after = look(made, effect, phase=Phase.AFTER, before=before)
    assert isinstance(after.value, dict)
    assert after.value["copies"] == 1
    assert not matches(effect, after)


def test_a_message_that_reached_some_recipients_is_not_the_expected_state(sink: SmtpSink) -> None:
    made = sending(sink)
    effect = effect_of(made, cc=[CAROL])
    before = before_and(made, effect)
    sink.deliver(BOB, raw_of(effect))
    after = look(made, effect, phase=Phase.AFTER, before=before)
    assert isinstance(after.value, dict)
    assert after.value["recipients"] == [BOB]
    assert not matches(effect, after)


def test_a_message_id_that_only_contains_the_wanted_one_is_another_message(sink: SmtpSink) -> None:
    made = sending(sink)
    effect = effect_of(made)
    before = before_and(made, effect)
    wanted = str(effect.arguments["message_id"]).encode()
    for twin in (b"<x" + wanted[1:], wanted[:-1] + b".org>", wanted + b" " + wanted):
        sink.deliver(BOB, raw_of(effect).replace(wanted, twin))
    sink.deliver(BOB, raw_of(effect).replace(b"Message-ID: ", b"References: "))
    after = look(made, effect, phase=Phase.AFTER, before=before)
    assert isinstance(after.value, dict)
    assert after.value["copies"] == 0
    assert after.detail["places"] == {BOB: {"messages": 4}}


def test_holding_says_nothing_that_could_have_an_effect(sink: SmtpSink) -> None:
    made = sending(sink)
    held = made.executor.hold(effect_of(made))
    assert isinstance(held, SmtpHeld)
    held.close()
    held.close()
    assert sink.commands == ["QUIT"]


def test_arguments_server_or_recipients_other_than_those_confirmed_are_not_held(sink: SmtpSink) -> None:
    import msgspec

    made = sending(sink)
    effect = effect_of(made)
    changed = {
        "message_differs": msgspec.structs.replace(effect, arguments={**effect.arguments, "text": "Other"}),
        "destination_changed": msgspec.structs.replace(
            effect,
            descriptor=msgspec.structs.replace(effect.descriptor, destinations=("smtp://elsewhere:25",)),
        ),
        "recipients_differ": msgspec.structs.replace(
            effect, descriptor=msgspec.structs.replace(effect.descriptor, recipients=(CAROL,))
        ),
    }
    for reason, view in changed.items():
        held = made.executor.hold(view)
        assert isinstance(held, Refused)
        assert held.reason == reason
    assert sink.commands == []


def test_a_session_held_for_one_message_does_not_send_another(sink: SmtpSink) -> None:
    made = sending(sink)
    effect = effect_of(made)
    held = made.executor.hold(effect)
    assert isinstance(held, SmtpHeld)
    other = effect_of(made)
    other.arguments["message_id"] = "<other@example.test>"
    try:
        with pytest.raises(InvariantViolation):
            made.executor.execute(forge_dispatch(other), held)
    finally:
        held.close()
    assert "DATA" not in sink.commands


def test_a_server_too_slow_for_the_time_allowed_gets_no_data(sink: SmtpSink) -> None:
    made = sending(sink, timeout_ms=150)
    effect = effect_of(made, cc=[CAROL])
    sink.fault, sink.delay_s = SmtpFault.SLOW, 0.1
    report = execute(made, effect)
    assert report.said is ExecutorSaid.RAISED
    assert "DATA" not in sink.commands


def test_a_server_that_is_not_there_is_told_before_anything_is_sent() -> None:
    made = capability_of(no_server(), "mail.send")
    with pytest.raises(EnvironmentFault) as caught:
        made.executor.hold(effect_of(made))
    assert caught.value.code == "smtp_unreachable"


def test_a_server_without_starttls_is_not_spoken_to_in_clear(sink: SmtpSink) -> None:
    made = sending(sink, starttls=True)
    with pytest.raises(EnvironmentFault) as caught:
        made.executor.hold(effect_of(made))
    assert caught.value.code == "smtp_unreachable"
    assert sink.commands == []


def test_a_login_works_and_a_wrong_password_is_in_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SmtpSink(str(tmp_path / "mail"), mailboxes={BOB}, login=("alice", "hunter2")) as sink:
        made = sending(sink, smtp_user="alice", smtp_password_env="ACTUM_TEST_SMTP")
        effect = effect_of(made)
        monkeypatch.setenv("ACTUM_TEST_SMTP", "hunter2")
        assert execute(made, effect).said is ExecutorSaid.ACCEPTED
        monkeypatch.setenv("ACTUM_TEST_SMTP", "hunter3")
        with pytest.raises(EnvironmentFault) as caught:
            made.executor.hold(effect)
    shown = repr(caught.value.to_json()) + repr(caught.value.__cause__)
    assert "hunter3" not in shown
    assert "hunter" not in repr(effect)


def test_a_rehearsal_speaks_up_to_the_recipients_and_takes_it_back(sink: SmtpSink) -> None:
    made = sending(sink)
    effect = effect_of(made, cc=[CAROL])
    rehearsal = made.rehearse(effect)
    assert rehearsal.result is QualificationResult.PASSED
    assert rehearsal.detail["answers"] == {BOB: 250, CAROL: 250}
    assert sink.commands[:3] == ["MAIL alice@example.test", f"RCPT {BOB}", f"RCPT {CAROL}"]
    assert sink.commands[3].startswith("RCPT no-mailbox-")
    assert sink.commands[4:] == ["RSET", "QUIT"]
    assert not any(files for _, _, files in os.walk(sink.root))


def test_a_rehearsal_with_a_refused_recipient_fails(sink: SmtpSink) -> None:
    made = sending(sink)
    rehearsal = made.rehearse(effect_of(made, to=[BOB, "nobody@example.test"]))
    assert rehearsal.result is QualificationResult.FAILED
    assert rehearsal.reason == "recipient_refused"
    assert sink.commands[-2:] == ["RSET", "QUIT"]


def test_a_rehearsal_that_shows_nothing_says_so(sink: SmtpSink, tmp_path: Path) -> None:
    made = sending(sink)
    sink.fault = SmtpFault.DEFER_RCPT
    deferred = made.rehearse(effect_of(made))
    assert (deferred.result, deferred.reason) == (QualificationResult.NOT_POSSIBLE, "recipient_refused")
    sink.fault = SmtpFault.DROP_BEFORE_DATA
    lost = made.rehearse(effect_of(made))
    assert lost.result is QualificationResult.NOT_POSSIBLE
    nowhere = capability_of(no_server(), "mail.send")
    absent = nowhere.rehearse(effect_of(nowhere))
    assert (absent.result, absent.reason) == (QualificationResult.NOT_POSSIBLE, "smtp_unreachable")


def test_a_server_that_accepts_everybody_has_shown_nothing(tmp_path: Path) -> None:
    with SmtpSink(str(tmp_path / "mail"), mailboxes=None) as everybody:
        made = sending(everybody)
        rehearsal = made.rehearse(effect_of(made))
    assert rehearsal.result is QualificationResult.NOT_POSSIBLE
    assert rehearsal.reason == "server_accepts_every_recipient"
    assert rehearsal.detail["domains"] == ["example.test"]


def test_one_mailbox_for_all_is_said_to_the_person_and_in_the_projection(sink: SmtpSink) -> None:
    journal = sink.maildir(BOB)
    made = sending(sink, maildir=journal)
    effect = effect_of(made)
    assert effect.descriptor.expected is not None
    assert effect.descriptor.expected.projection == made.verifier.projection == "mail.mailbox@1"
    before = before_and(made, effect)
    execute(made, effect)
    after = look(made, effect, phase=Phase.AFTER, before=before)
    assert matches(effect, after)
    assert isinstance(after.value, dict)
    assert after.value["mailbox"] == f"maildir:{journal}"
    assert "recipients" not in after.value


def test_a_mailbox_that_cannot_be_read_is_no_absence(sink: SmtpSink) -> None:
    made = sending(sink, maildir="/nowhere/{recipient}")
    seen = look(made, effect_of(made), phase=Phase.BEFORE)
    assert (seen.value, seen.outcome, seen.control_held) == (None, LookOutcome.UNCLEAR, False)


def test_no_recipient_leads_the_reader_out_of_its_folder(sink: SmtpSink, tmp_path: Path) -> None:
    made = capability_of(over_sink(sink), "mail.send")
    effect = effect_of(made, to=["../../x/y@example.test"[6:]])
    assert look(made, effect, phase=Phase.BEFORE).detail["place"] == f"{sink.root}/x%2Fy@example.test/new"
