# SPDX-License-Identifier: Apache-2.0
"""`actum effect` answers what it reads, keeps its exit codes, and lets no foreign text steer the terminal."""

import json
import os
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from actum.cli.effect import effect as group
from actum.model.action_v2 import WireResolution
from actum.model.errors import ActumError, EnvironmentFault, UsageError
from actum.model.grading import EffectConfidence, EffectFinality
from actum.model.wording import LIMITS, POSTCONDITION_HELD
from actum.testing.effect_lines import VERIFIER, effect, line, look

NOW = "2026-05-05T00:00:00Z"


def run(*arguments: str, lines: list[bytes] | None = None) -> Result:
    return CliRunner().invoke(group, arguments, input=b"\n".join(lines or []))


def refused(*arguments: str, lines: list[bytes] | None = None) -> ActumError:
    result = run(*arguments, lines=lines)
    assert isinstance(result.exception, ActumError)
    assert result.stdout == ""
    return result.exception


@pytest.fixture
def trust(tmp_path: Path) -> str:
    path = tmp_path / "trust.json"
    path.write_bytes(msgspec.json.encode({"keys": [VERIFIER.pinned()]}))
    return str(path)


def child(id: str, parent: str | None, policy: str | None) -> bytes:
    wire = msgspec.convert({"deadline": "2026-05-04T00:00:00Z", "on_deadline": policy}, WireResolution)
    return line(effect(id=id, finality=EffectFinality.INITIATED, resolution=wire, parent=parent))


def test_standard_input_is_answered_line_by_line_as_json(trust) -> None:
    result = run("verify", "--trust", trust, "--json", lines=[line(effect(readback=look()))] * 2)
    assert result.exit_code == 0
    answers = [json.loads(each) for each in result.stdout.splitlines()]
    assert [answer["status"] for answer in answers] == ["success", "success"]


def test_a_grade_is_read_with_exit_code_0_whatever_it_is() -> None:
    result = run("verify", "-", "--json", lines=[line(effect(readback=look()))])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["reasons"] == ["capped_no_look", "look_untrusted"]


def test_a_malformed_line_is_answered_among_the_others_and_ends_with_2() -> None:
    result = run("verify", "--json", lines=[line(effect()), b"{", line(effect())])
    assert result.exit_code == 2
    answers = [json.loads(each) for each in result.stdout.splitlines()]
    assert ["error" in answer for answer in answers] == [False, True, False]
    assert answers[1]["line"] == 2


def test_an_invalid_trust_file_answers_nothing(tmp_path) -> None:
    path = tmp_path / "trust.json"
    path.write_bytes(b'{"keys":[{"keyid":"zz"}]}')
    error = refused("verify", "--trust", str(path), lines=[line(effect())])
    assert (error.code, error.exit_code) == ("trust_file_invalid", 2)


def test_an_invalid_time_answers_nothing() -> None:
    error = refused("verify", "--at", "yesterday", lines=[line(effect())])
    assert (error.code, error.exit_code) == ("bad_time", 2)


def test_resolution_needs_a_time() -> None:
    result = run("resolution", lines=[line(effect())])
    assert result.exit_code == 2
    assert result.stdout == ""


def test_a_file_that_does_not_exist_is_usage_and_an_unreadable_one_is_the_environment(
    tmp_path, monkeypatch
) -> None:
    assert isinstance(refused("verify", str(tmp_path / "absent")), UsageError)
    assert isinstance(refused("verify", str(tmp_path)), UsageError)

    def denied(*_arguments: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", denied)
    assert isinstance(refused("verify", str(tmp_path / "denied")), EnvironmentFault)


@pytest.mark.parametrize("source", ["stdin", "file", "pipe"])
def test_a_parent_that_stands_after_its_child_is_found_in_every_kind_of_input(tmp_path, source) -> None:
    lines = [child("a", "b", None), child("b", None, "tombstone")]
    path = tmp_path / "lines"
    if source == "stdin":
        result = run("resolution", "--at", NOW, "--json", lines=lines)
    elif source == "file":
        path.write_bytes(b"\n".join(lines))
        result = run("resolution", str(path), "--at", NOW, "--json")
    else:
        reading, writing = os.pipe()
        os.write(writing, b"\n".join(lines))
        os.close(writing)
        result = run("resolution", f"/dev/fd/{reading}", "--at", NOW, "--json")
        os.close(reading)
    answers = [json.loads(each)["resolution"]["on_deadline"] for each in result.stdout.splitlines()]
    assert answers == ["tombstone", "tombstone"]


def test_t30_the_table_shows_the_claim_beside_the_grade_and_why() -> None:
    text = run("verify", lines=[line(effect())]).stdout
    assert "finalized, verified" in text
    assert "indeterminate, not_verified" in text
    assert "unknown_outcome" in text
    assert "capped_no_look: lowered, because no look was accepted" in text


def test_t20_a_not_verified_effect_stays_in_the_table_like_any_other() -> None:
    record = effect(finality=EffectFinality.INITIATED, confidence=EffectConfidence.NOT_VERIFIED)
    result = run("verify", lines=[line(record)])
    assert result.exit_code == 0
    assert "initiated, not_verified" in result.stdout
    assert "error" not in result.stdout


def test_t22_an_unverified_finalized_is_not_shown_as_success() -> None:
    record = effect(confidence=EffectConfidence.NOT_VERIFIED)
    for arguments in (("verify",), ("verify", "--json")):
        assert "success" not in run(*arguments, lines=[line(record)]).stdout


def test_t51_o94_o95_the_table_ends_with_what_a_grade_does_not_say(trust) -> None:
    text = run("verify", "--trust", trust, lines=[line(effect(readback=look()))]).stdout
    assert POSTCONDITION_HELD in text
    assert text.rstrip().endswith(LIMITS)


def test_t52_the_best_grade_is_shown_as_an_independent_observation(trust) -> None:
    text = run("verify", "--trust", trust, lines=[line(effect(readback=look()))]).stdout
    assert "The intended post-state was independently observed" in text


def test_a_breach_is_shown_with_its_policy() -> None:
    text = run("resolution", "--at", NOW, lines=[child("a", None, "timeout")]).stdout
    assert "breached: open and past its deadline (86400 s)" in text
    assert "timeout: it is treated as failed; the grade stays as it is" in text


def test_foreign_text_cannot_steer_the_terminal() -> None:
    hostile = "\x1b[2J\u202eevil"
    malformed = json.dumps({"id": "e", hostile: 1}).encode()
    text = run("verify", lines=[line(effect(id=hostile)), malformed]).stdout
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\\x1b[2J\\u202eevil" in text
