# SPDX-License-Identifier: Apache-2.0
"""Nothing begins that a key which is not in force would have to seal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from actum.model.errors import EnvironmentFault
from actum.model.trust import KeyRole
from actum.testing.kernels import PERSON, confirm_all, perform

from .desk import Desk

REVOKED = {"revoked_at": "2020-01-01T00:00:00Z"}
BOUNDS: list[tuple[dict[str, Any], str]] = [
    (REVOKED, "is revoked"),
    ({"not_after": "2020-01-01T00:00:00Z"}, "is not within its time"),
    ({"roles": (KeyRole.LOG,)}, "does not have its role"),
]


def _pin(desk: Desk, **bounds: Any) -> None:
    place = desk.kernel.place
    keys = [
        msgspec.structs.replace(key, **bounds) if KeyRole.KERNEL in key.roles else key
        for key in place.trust_keys()
    ]
    place.write_trust(keys)


def _refused(work: Any) -> EnvironmentFault:
    with pytest.raises(EnvironmentFault) as caught:
        work()
    assert caught.value.code == "kernel_key_not_in_force"
    return caught.value


@pytest.mark.parametrize("bounds, told", BOUNDS)
def test_rule_2_a_key_that_is_not_in_force_begins_no_run(desk: Desk, bounds: Any, told: str) -> None:
    confirm_all(desk.kernel, desk.append("a"))
    _pin(desk, **bounds)
    assert told in str(_refused(desk.kernel.run))
    assert (desk.ledger.entries(), desk.count("receipt"), desk.count("execution")) == ([], 0, 0)


def test_rule_2_a_key_that_is_pinned_no_more_begins_no_run(desk: Desk) -> None:
    confirm_all(desk.kernel, desk.append("a"))
    place = desk.kernel.place
    place.write_trust([key for key in place.trust_keys() if KeyRole.KERNEL not in key.roles])
    assert "is not in the trust file" in str(_refused(desk.kernel.run))


def test_rule_1_it_signs_no_grant_for_a_session_while_a_person_s_own_key_may(desk: Desk) -> None:
    turn = desk.append("a")
    _pin(desk, **REVOKED)
    _refused(lambda: confirm_all(desk.kernel, turn))
    assert (desk.count('"grant"'), len(turn.question_ids())) == (0, 1)
    desk.kernel.place.enrol(PERSON, passphrase=b"long enough")
    confirm_all(desk.kernel, turn, passphrase=b"long enough")
    assert desk.count('"grant"') == 1


@pytest.mark.parametrize("word", [None, "happened"])
def test_rule_1_it_settles_nothing(tmp_path: Path, word: str | None) -> None:
    with Desk(tmp_path / "blind", seeing=_sees_nothing) as desk:
        [row] = perform(desk.kernel, desk.append("a"))
        assert desk.count("receipt") == 1
        desk.kernel.place.enrol(PERSON, passphrase=b"long enough")
        person = desk.kernel.person(PERSON, passphrase=b"long enough")
        _pin(desk, **REVOKED)
        _refused(lambda: desk.kernel.settle(row, word, by=person))
        assert (desk.count("receipt"), desk.count('"grant"')) == (1, 1)


def test_rule_1_it_adopts_nothing(desk: Desk) -> None:
    confirm_all(desk.kernel, desk.append("a"))
    _pin(desk, **REVOKED)
    _refused(lambda: desk.kernel.adopt(by=PERSON))
    assert (desk.count("receipt"), desk.count("execution")) == (0, 0)


def test_rule_1_what_happened_is_recorded_though_the_key_was_revoked_meanwhile(tmp_path: Path) -> None:
    def act(entry: str) -> str:
        desk.ledger.append(entry)
        _pin(desk, **REVOKED)
        return entry

    with Desk(tmp_path / "revoked", acting=act) as desk:
        perform(desk.kernel, desk.append("a"))
        assert (desk.ledger.entries(), desk.count("receipt")) == (["a"], 1)
        _refused(desk.kernel.run)


def _sees_nothing(entry: str) -> None:
    raise LookupError(entry)
