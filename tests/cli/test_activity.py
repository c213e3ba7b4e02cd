# SPDX-License-Identifier: Apache-2.0
"""The activity list has four views; every turn is in All and in exactly one other, in one of seven states."""

from __future__ import annotations

import re
from typing import Any

import click

from actum.cli.activity import TITLES, activity
from actum.model.activity import ActivityFilter, ActivityState
from tests.cli.desk import Desk

VIEWS = ("in-progress", "needs-attention", "finished", "all")


def ids(desk: Desk, view: str) -> list[str]:
    return [one["turn_id"] for one in desk.good("activity", "--filter", view, "--json").lines()]


def some_of_each(desk: Desk) -> dict[str, str]:
    """Turns that run, wait, ended well, ended badly, and ended badly with somebody having seen it."""
    desk.process()
    made: dict[str, str] = {}

    def take(name: str, item: dict[str, Any]) -> str:
        made[name] = desk.submit(item)[0]["turn_id"]
        return made[name]

    take("recorded", {"work_type": "order", "subject": {"colour": "red"}})
    desk.good("confirm", desk.propose("a.txt"), "--yes")
    made["observed"] = ids(desk, "all")[0]
    desk.good("run")
    take("failed", {"work_type": "unknown_work", "subject": {}})
    desk.good("settle", take("seen", {"work_type": "unknown_work", "subject": {"n": 2}}), "--acknowledge")
    take("judged", {"work_type": "order", "subject": {}})
    desk.good("confirm", desk.propose("b.txt"), "--yes")
    made["queued"] = ids(desk, "all")[0]
    return made


def test_o63_the_list_shows_what_goes_on_what_needs_the_user_and_what_ended(desk: Desk) -> None:
    made = some_of_each(desk)
    text = desk.good("activity").out
    sections = dict(
        re.findall(r"^(In progress|Needs attention|Finished) \(\d+\)\n((?:.+\n)+)", text, re.MULTILINE)
    )
    assert list(sections) == ["In progress", "Needs attention", "Finished"]
    where = {name: [title for title, body in sections.items() if turn in body] for name, turn in made.items()}
    assert where == {
        "recorded": ["Finished"],
        "observed": ["Finished"],
        "failed": ["Needs attention"],
        "seen": ["Finished"],
        "judged": ["Needs attention"],
        "queued": ["In progress"],
    }


def test_o64_there_are_exactly_four_filters_and_each_turn_is_in_all_and_one_other(desk: Desk) -> None:
    (option,) = [one for one in activity.params if one.name == "view"]
    assert isinstance(option.type, click.Choice)
    assert tuple(option.type.choices) == VIEWS
    assert list(TITLES.values()) == ["In progress", "Needs attention", "Finished", "All"]
    assert set(TITLES) == set(ActivityFilter)
    assert desk("activity", "--filter", "archived").code == 2
    made = some_of_each(desk)
    listed = {view: ids(desk, view) for view in VIEWS}
    assert sorted(listed["all"]) == sorted(made.values())
    assert sorted(turn for view in VIEWS[:3] for turn in listed[view]) == sorted(made.values())


def test_o65_every_state_shown_is_one_of_seven(desk: Desk) -> None:
    some_of_each(desk)
    states = [one["state"] for one in desk.good("activity", "--json").lines()]
    assert len(ActivityState) == 7
    assert set(states) <= {state.value for state in ActivityState}
    assert {"queued", "routing", "completed", "failed"} <= set(states)
    drawn = desk.good("activity").out
    assert all(state.replace("_", " ") in drawn for state in states)


def test_a_page_leads_to_the_older_ones(desk: Desk) -> None:
    desk.process()
    desk.submit(*({"work_type": "order", "subject": {"colour": "red", "n": n}} for n in range(7)))
    seen: list[str] = []
    before: tuple[str, ...] = ()
    while page := desk.good("activity", "--json", "--limit", "3", *before).lines():
        seen += [one["turn_id"] for one in page]
        before = ("--before", seen[-1])
    assert seen == sorted(seen, reverse=True)
    assert len(seen) == 7
    text = desk.good("activity", "--limit", "3").out
    assert "(3+)" in text
    assert "--before" in text


def test_r149_the_share_of_decisions_and_tokens_of_each_rung_is_reported(desk: Desk) -> None:
    desk.process()
    desk.submit(*({"work_type": "order", "subject": {"colour": "red", "n": n}} for n in range(3)))
    desk.submit({"work_type": "order", "subject": {}})
    desk.good("judge", desk.ids()[0], "--choice", "act")
    found = desk.good("activity", "--rungs", "--json").json()
    assert list(found) == ["structured", "pattern", "learned", "reasoning", "judgment"]
    assert {name: row["decisions"] for name, row in found.items() if row["decisions"]} == {
        "structured": 3,
        "judgment": 1,
    }
    assert (found["structured"]["share_per_mille"], found["judgment"]["share_per_mille"]) == (750, 250)
    text = desk.good("activity", "--rungs").out
    assert re.search(r"^structured +3 +75\.0 % +0$", text, re.MULTILINE)
    assert re.search(r"^judgment +1 +25\.0 % +0$", text, re.MULTILINE)


def test_r149_no_decisions_are_no_shares(desk: Desk) -> None:
    found = desk.good("activity", "--rungs", "--json").json()
    assert all(row == {"decisions": 0, "tokens": 0, "share_per_mille": 0} for row in found.values())


def test_a_key_from_elsewhere_cannot_move_the_table(desk: Desk) -> None:
    desk.process()
    desk.submit({"work_type": "order", "subject": {"colour": "red"}, "key": "a\u202eb"})
    text = desk.good("activity").out
    assert "a⟨U+202E⟩b" in text
    assert "\u202e" not in text
