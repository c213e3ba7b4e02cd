# SPDX-License-Identifier: Apache-2.0
"""Nothing in a text that is shown to a person can hide or reorder it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.model.visible import BLANKS_MAX, mixed_script, visible


@pytest.mark.parametrize(
    "text, shown",
    [
        ("plain name.txt", "plain name.txt"),
        ("résumé.txt", "résumé.txt"),
        ("a\u202egpj.exe", "a⟨U+202E⟩gpj.exe"),
        ("a\u200bb", "a⟨U+200B⟩b"),
        ("a\x1b[2Kb", "a⟨U+001B⟩[2Kb"),
        ("a\nb\rc\x00", "a⟨U+000A⟩b⟨U+000D⟩c⟨U+0000⟩"),
        ("a\u00a0b\u3000", "a⟨U+00A0⟩b⟨U+3000⟩"),
        ("a\u3164b\u2800", "a⟨U+3164⟩b⟨U+2800⟩"),
        ("x\ufe0f\U000e0041", "x⟨U+FE0F⟩⟨U+E0041⟩"),
        ("\udcff", "⟨U+DCFF⟩"),
    ],
)
def test_rule_1_what_draws_nothing_or_moves_others_is_spelled_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_rule_1_an_escape_cannot_be_imitated() -> None:
    assert visible("⟨U+200B⟩") != visible("\u200b")


def test_rule_2_a_run_of_blanks_is_counted() -> None:
    assert visible("ls" + " " * BLANKS_MAX + "; rm") == f"ls⟨{BLANKS_MAX} blanks⟩; rm"
    assert visible("a" + " " * (BLANKS_MAX - 1) + "b").count(" ") == BLANKS_MAX - 1


def test_lines_stay_lines_where_asked() -> None:
    assert visible("a\n\tb\r", keep_lines=True) == "a\n\tb⟨U+000D⟩"


@given(st.text())
def test_rule_1_no_hidden_character_is_left(text: str) -> None:
    shown = visible(text)
    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")]
    assert visible(text) == shown


@given(st.text(alphabet="a ⟨⟩U+200B\u200b\n0bE"), st.text(alphabet="a ⟨⟩U+200B\u200b\n0bE"))
def test_two_texts_that_differ_are_shown_differently(one: str, other: str) -> None:
    assert (visible(one) == visible(other)) == (one == other)


@pytest.mark.parametrize("text", ["report.txt", "отчёт.txt", "日本語カタカナ.txt", "naïve café", "Ωmega"[1:]])
def test_rule_3_a_word_of_one_script_is_not_reported(text: str) -> None:
    assert mixed_script(text) == ()


def test_rule_3_a_word_that_mixes_scripts_names_the_odd_letters() -> None:
    assert mixed_script("/home/p\u0430ypal.txt") == ("а U+0430 CYRILLIC",)
    assert mixed_script("\u03bfutput") == ("ο U+03BF GREEK",)
