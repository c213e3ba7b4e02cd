# SPDX-License-Identifier: Apache-2.0
"""Hostile YAML is refused in bounded space and time, with a place."""

from __future__ import annotations

import pytest

from actum.model.foreign import ForeignNumber
from actum.process.load import load_process
from actum.process.problems import Report
from actum.process.yaml_nodes import DEPTH_MAX, TEXT_BYTES_MAX, read_yaml, to_foreign
from tests.unit.process.process_case import STEPS, codes, problems


def read(text: str) -> tuple[object, set[str]]:
    report = Report("p.yaml")
    node = read_yaml(text, report=report)
    return (None if node is None else to_foreign(node)), {one.code for one in report.problems}


@pytest.mark.parametrize(
    "text, code",
    [
        ("", "file_empty"),
        ("a: [", "yaml_syntax"),
        ("a: b\n c: d", "yaml_syntax"),
        ("a: \x00", "yaml_syntax"),
        ("a: !!python/object/apply:os.system [ls]", "tag_refused"),
        ("a: !!str 5", "tag_refused"),
        ("a: !x 5", "tag_refused"),
        ("a: 1\n---\nb: 2", "several_documents"),
        ("<<: {a: 1}", "key_refused"),
        ("? [a]\n: b", "key_refused"),
        ("a: *nobody", "alias_unknown"),
        ("a: &x [*x]", "alias_unknown"),
        ("[" * (DEPTH_MAX + 2), "too_deep"),
        ("{a: " * (DEPTH_MAX + 2), "too_deep"),
        ("[" * 100_000, "yaml_syntax"),
        ("a: \ud800", "not_utf8"),
    ],
)
def test_hostile_yaml_is_refused(text: str, code: str) -> None:
    assert read(text) == (None, {code})


def test_a_duplicate_key_is_refused_where_it_stands() -> None:
    found = problems(f"process: p\nprocess: q\nwork_types: [w]\n{STEPS}")
    assert [(one.code, one.line) for one in found] == [("duplicate_key", 2)]


def test_an_alias_bomb_is_refused_by_what_it_stands_for() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for level in range(1, 10):
        lines.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]")
    assert read("\n".join(lines)) == (None, {"file_too_large"})


def test_aliases_that_go_deep_are_refused() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 40)]
    assert read("\n".join(lines)) == (None, {"too_deep"})


def test_a_plain_alias_stands_for_its_value() -> None:
    assert read("a: &x [1]\nb: *x")[0] == {"a": [ForeignNumber("1")], "b": [ForeignNumber("1")]}


def test_a_file_over_the_bound_is_refused_unread() -> None:
    assert read("#" * (TEXT_BYTES_MAX + 1)) == (None, {"file_too_large"})


def test_scalars_are_the_plain_core_and_nothing_is_guessed() -> None:
    text = "[null, ~, true, false, yes, no, on, 2020-01-01, 1_000, 0x10, 1.50, -0, '1', .5, 1e3, NULL, True]"
    assert read(text)[0] == [
        None, None, True, False, "yes", "no", "on", "2020-01-01", "1_000", "0x10",
        ForeignNumber("1.50"), ForeignNumber("-0"), "1", ".5", ForeignNumber("1e3"), "NULL", "True",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["- a", "just text", "5", "null"])
def test_a_file_that_is_no_mapping_is_refused(text: str) -> None:
    assert codes(text) == {"wrong_shape"}


@pytest.mark.parametrize("name", ["", "a b", "a/b", "-a", "a..b", "é", "x" * 101, "a\\n"])
def test_a_name_of_another_form_is_refused(name: str) -> None:
    text = f'process: "{name}"\nwork_types: [w]\n{STEPS}'
    assert codes(text) == {"name_refused"}


@pytest.mark.parametrize(
    "when",
    [
        "(" * 5000 + "true" + ")" * 5000,
        " && ".join(["owner == 'x'"] * 5000),
        "owner.matches('(a{1000}){1000}')",
        "-(" * 300 + "1" + ")" * 300 + " == 1",
        "!" * 500 + "flag",
    ],
)
def test_a_hostile_when_is_refused_and_does_not_hang(when: str) -> None:
    text = (
        "process: p\nwork_types: [w]\nfields: {owner: string, flag: bool}\n"
        f"patterns:\n  - {{id: x, step: s, when: {when!r}}}\n{STEPS}".replace("\\'", "''")
    )
    if when.startswith("!"):
        load_process(text, path="p")
    else:
        found = problems(text)
        assert found
        assert all(one.line == 5 for one in found)
