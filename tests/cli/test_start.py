# SPDX-License-Identifier: Apache-2.0
"""The command line starts light, names every verb, and each verb's short help is the one its module gives."""

from __future__ import annotations

import subprocess
import sys

import pytest

from actum.cli.main import VERBS, actum
from actum.cli.render import WORST_FIRST, worst
from tests.cli.desk import Desk

DESIGNED = (
    "init", "demo", "submit", "run", "inbox", "confirm", "refuse", "judge", "settle", "activity", "show", "explain",
    "effect", "export", "verify", "adopt", "doctor",
)  # fmt: skip


def test_help_loads_click_and_the_standard_library_only() -> None:
    code = (
        "import sys\n"
        "from actum.cli.main import run\n"
        "run(['--help'])\n"
        "print([m for m in sys.modules if m.split('.')[0] in "
        "('msgspec', 'apsw', 'rich', 'cryptography', 'yaml', 'asyncio', 'cel_expr_python', 're2')"
        " or (m.startswith('actum.') and m not in ('actum.cli', 'actum.cli.main'))], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert "Commands:" in done.stdout


def test_the_package_is_the_command_line_too() -> None:
    done = subprocess.run([sys.executable, "-m", "actum", "--help"], capture_output=True, text=True)
    assert (done.returncode, done.stdout.startswith("Usage: actum ")) == (0, True)


def test_the_package_lists_its_public_names_without_loading_them() -> None:
    code = "import actum, sys; print(dir(actum) == actum.__all__, 'actum.bootstrap' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]


def test_every_verb_of_the_design_is_there() -> None:
    assert set(DESIGNED) <= set(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_the_short_help_of_a_verb_stands_in_its_own_help(verb: str, bare: Desk) -> None:
    command = actum.get_command(None, verb)  # type: ignore[arg-type]
    assert command is not None
    assert command.name == verb
    assert (command.help or "").split()[:2] == VERBS[verb][2].split()[:2]
    assert bare.good(verb, "--help").out.startswith(f"Usage: actum {verb}")


@pytest.mark.parametrize("verb", [v for v in VERBS if v not in ("effect", "verify", "demo", "project")])
def test_every_verb_of_a_store_takes_the_three_options(verb: str, bare: Desk) -> None:
    text = bare.good(verb, "--help").out
    assert all(option in text for option in ("--store PATH", "--as NAME", "--json"))


def test_the_worst_of_several_exit_codes_counts() -> None:
    assert worst([]) == 0
    for place, code in enumerate(WORST_FIRST):
        assert worst(WORST_FIRST[place:]) == code
        assert worst(reversed(WORST_FIRST[place:])) == code
    assert WORST_FIRST == (4, 70, 5, 2, 1, 3, 0)


def test_the_store_is_found_upwards_from_the_environment_or_as_named(desk: Desk, monkeypatch) -> None:
    below = desk.folder / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert desk.good("inbox").out == "Nothing waits for a person.\n"
    monkeypatch.chdir("/")
    assert desk("inbox").code == 2
    assert desk.good("inbox", "--store", str(desk.place)).code == 0
    monkeypatch.setenv("ACTUM_STORE", str(desk.place))
    assert desk.good("inbox").code == 0


def test_without_a_verb_the_help_is_printed_and_nothing_is_an_error_text(bare: Desk) -> None:
    for arguments in ((), ("project",), ("effect",)):
        answer = bare(*arguments)
        assert answer.code == 2
        assert answer.err == ""
        assert answer.out.startswith("Usage: actum")
