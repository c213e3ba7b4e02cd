# SPDX-License-Identifier: Apache-2.0
"""`actum verify` keeps its exit codes, tells little and exactly; no foreign text steers the terminal."""

import json
import os
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from actum.cli.verify import verify
from actum.model.errors import ActumError, EnvironmentFault, UsageError
from actum.model.look import private_digest
from tests.unit.evidence import samples

SALT = "00112233445566778899aabbccddeeff"


class Desk:
    """A folder with a bundle, a trust file and a checkpoint, as an auditor has them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ledger = samples.small_ledger()
        self.ledger.receipt(3, input_hash=private_digest({"to": "Jane"}, salt=SALT))
        self.bundle = self.put("log.bundle", self.ledger.bundle())
        keys = [msgspec.to_builtins(samples.trusted(name)) for name in samples.ROLES]
        self.trust = self.put("trust.json", msgspec.json.encode({"keys": keys}))
        self.checkpoint = self.put("checkpoint", self.ledger.checkpoint())

    def put(self, name: str, data: bytes) -> str:
        path = self.folder / name
        path.write_bytes(data)
        return str(path)

    def run(self, *arguments: str, data: bytes | None = None) -> Result:
        return CliRunner().invoke(verify, arguments, input=data)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_exit_0_where_all_that_is_required_is_established(desk: Desk) -> None:
    result = desk.run(desk.bundle, "--trust", desk.trust, "--checkpoint", desk.checkpoint)
    assert result.exit_code == 0
    assert "required: intact, signer, complete: met" in result.stdout


def test_exit_3_where_the_signer_is_unknown_or_completeness_asserted(desk: Desk) -> None:
    unknown = desk.run(desk.bundle, "--checkpoint", desk.checkpoint)
    asserted = desk.run(desk.bundle, "--trust", desk.trust)
    assert (unknown.exit_code, asserted.exit_code) == (3, 3)
    assert "signer    not established" in unknown.stdout
    assert "complete  not established" in asserted.stdout
    assert "rollback" in asserted.stdout


def test_exit_3_where_something_required_by_name_is_not_established(desk: Desk) -> None:
    assert desk.run(desk.bundle, "--trust", desk.trust, "--require", "intact,allowed").exit_code == 3
    assert desk.run(desk.bundle, "--trust", desk.trust, "--require", "intact, signer").exit_code == 0


def test_exit_4_where_the_bundle_does_not_hold(desk: Desk) -> None:
    data = desk.ledger.bundle()
    changed = desk.put("changed", data.replace(b"turn-1", b"turn-2", 1))
    result = desk.run(changed, "--trust", desk.trust, "--require", "intact")
    assert result.exit_code == 4
    assert "intact    contradicted" in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("--require", "certain"),
        ("--require", ""),
        ("--min-size", "0"),
        ("--max-age", "a while"),
        ("--max-age", "0s"),
        ("--unknown",),
    ],
)
def test_exit_2_for_what_cannot_be_asked(desk: Desk, arguments: tuple[str, ...]) -> None:
    assert desk.run(desk.bundle, *arguments).exit_code == 2


def refused(desk: Desk, *arguments: str) -> ActumError:
    result = desk.run(*arguments)
    assert isinstance(result.exception, ActumError)
    assert result.stdout == ""
    return result.exception


def test_a_file_that_is_not_there_is_a_usage_error(desk: Desk) -> None:
    for arguments in (
        ("/nowhere",),
        (desk.bundle, "--trust", "/nowhere"),
        (desk.bundle, "--checkpoint", "/nowhere"),
        (desk.bundle, "--disclosed", "/nowhere"),
    ):
        error = refused(desk, *arguments)
        assert isinstance(error, UsageError)
        assert error.code == "no_such_file"


def test_a_file_that_cannot_be_read_is_a_fault_of_the_environment(desk: Desk) -> None:
    if os.geteuid() == 0:
        loop = desk.folder / "loop"
        loop.symlink_to(loop)
        path = str(loop)
    else:
        path = desk.put("closed", b"")
        Path(path).chmod(0)
    error = refused(desk, path)
    assert isinstance(error, EnvironmentFault)
    assert error.exit_code == 5


def test_json_is_one_object_with_the_same_answers(desk: Desk) -> None:
    result = desk.run(desk.bundle, "--trust", desk.trust, "--min-size", "5", "--json")
    whole = json.loads(result.stdout)
    assert result.stdout.count("\n") == 1
    assert whole["exit_code"] == result.exit_code == 0
    assert [finding["aspect"] for finding in whole["findings"]] == [
        *("intact", "signer", "allowed", "observed", "complete", "anchored")
    ]
    assert whole["receipts"] == 3


def test_a_bundle_is_read_from_standard_input(desk: Desk) -> None:
    result = desk.run("-", "--trust", desk.trust, "--require", "intact", data=desk.ledger.bundle())
    assert result.exit_code == 0


def test_disclosed_content_is_compared_with_its_receipt(desk: Desk) -> None:
    def shown(to: str) -> str:
        whole = {"receipt_id": "rcp-3", "salt": SALT, "input": {"to": to}}
        return desk.put("shown.json", json.dumps(whole).encode())

    same = desk.run(desk.bundle, "--require", "intact", "--disclosed", shown("Jane"))
    other = desk.run(desk.bundle, "--require", "intact", "--disclosed", shown("Jame"))
    assert same.exit_code == 0
    assert "input: exactly what the receipt is for" in same.stdout
    assert other.exit_code == 4
    assert "input: not what the receipt is for" in other.stdout


def test_content_for_a_receipt_that_is_not_shown_is_compared_with_nothing(desk: Desk) -> None:
    path = desk.put("shown.json", json.dumps({"receipt_id": "rcp-9", "salt": SALT, "input": 1}).encode())
    assert refused(desk, desk.bundle, "--disclosed", path).code == "receipt_not_here"


def test_a_name_in_a_bundle_cannot_steer_the_terminal(desk: Desk) -> None:
    escape = "\x9b31mada\u202e"
    ledger = samples.Ledger()
    ledger.receipt(1, grant_digest=ledger.grant(1, principal=escape, authn="session", signer=samples.KERNEL))
    result = desk.run(desk.put("evil", ledger.bundle()), "--trust", desk.trust)
    assert escape not in result.stdout
    assert "\\u009b31mada\\u202e" in result.stdout
