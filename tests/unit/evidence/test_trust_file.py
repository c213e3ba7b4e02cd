# SPDX-License-Identifier: Apache-2.0
"""A trust file is taken whole or refused whole, with every problem named."""

import json

import pytest

from actum.evidence.trust_file import read_trust
from actum.model.errors import UsageError
from actum.model.trust import KeyRole
from actum.testing.effect_lines import VERIFIER, WITNESS


def entry(key=VERIFIER, **members):
    pinned = key.pinned()
    whole = {
        "keyid": pinned.keyid,
        "public": pinned.public,
        "roles": ["verifier"],
        "principal": "ada",
        "not_before": None,
        "not_after": "2030-01-01T00:00:00Z",
    }
    return whole | members


def written(*keys) -> bytes:
    return json.dumps({"keys": list(keys)}).encode()


def problems(data: bytes) -> list[str]:
    with pytest.raises(UsageError) as caught:
        read_trust(data)
    assert caught.value.code == "trust_file_invalid"
    assert caught.value.exit_code == 2
    return list(caught.value.facts.values())


def test_a_valid_file_pins_its_keys_with_open_bounds_where_null() -> None:
    trust = read_trust(written(entry(roles=["verifier", "kernel"]), entry(WITNESS, roles=[])))
    pinned = trust.find(VERIFIER.keyid)
    assert pinned is not None
    assert pinned.roles == {KeyRole.VERIFIER, KeyRole.KERNEL}
    assert pinned.not_before is None
    assert pinned.not_after is not None
    assert trust.find("f" * 16) is None
    assert trust.find(None) is None


@pytest.mark.parametrize("role", [role.value for role in KeyRole])
def test_each_of_the_seven_roles_is_known(role) -> None:
    assert len(KeyRole) == 7
    pinned = read_trust(written(entry(roles=[role]))).find(VERIFIER.keyid)
    assert pinned is not None
    assert pinned.roles == {KeyRole(role)}


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ([entry(roles=["owner"])], "/keys/0/roles/0: enum"),
        ([entry(keyid="f" * 16)], "/keys/0/keyid: keyid_mismatch"),
        ([entry(), entry()], "/keys/1/keyid: duplicate_keyid"),
        ([entry(public="AAAA")], "/keys/0/public: format"),
        ([entry(public="A" * 43 + "=", keyid="66687aadf862bd77")], "/keys/0/public: key_refused"),
        ([entry(not_before="2026-02-30T00:00:00Z")], "/keys/0/not_before: format"),
        ([entry(revoked_at="yesterday")], "/keys/0/revoked_at: format"),
        ([entry(not_after=7)], "/keys/0/not_after: type"),
        ([entry(owner="ada")], "/keys/0/owner: unknown_field"),
        ([entry(roles=None)], "/keys/0/roles: missing"),
        ([7], "/keys/0: type"),
    ],
)
def test_a_faulty_entry_makes_the_file_invalid(keys, problem) -> None:
    found = problems(written(*keys))
    assert any(each.startswith(problem) for each in found), found


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "not_json"),
        (b"[]", "type"),
        (b"{}", "missing"),
        (b'{"keys":[],"keys":[]}', "duplicate_key"),
        (b"\xff", "not_utf8"),
        (b'{"keys":[NaN]}', "bad_number"),
    ],
)
def test_what_is_no_trust_file_is_refused(data, code) -> None:
    assert f": {code}: " in problems(data)[0]


def test_every_problem_is_named_at_once() -> None:
    found = problems(written(entry(keyid="f" * 16), entry(WITNESS, keyid="e" * 16)))
    assert len(found) == 2
