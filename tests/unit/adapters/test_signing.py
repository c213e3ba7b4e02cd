# SPDX-License-Identifier: Apache-2.0
"""Keys are written once, readable by their owner only, and a person's key only with the passphrase."""

import base64
import hashlib
import os
import pickle
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from actum.adapters.signing import Ed25519Signer, FileKeyStore
from actum.model import canonical
from actum.model.errors import ActumError, CorruptRecordError, EnvironmentFault, RefusedError, UsageError


@pytest.fixture
def keys(tmp_path: Path) -> FileKeyStore:
    return FileKeyStore(tmp_path / "keys")


def test_a_loaded_key_signs_as_the_created_one_did(keys: FileKeyStore) -> None:
    made = keys.create("kernel")
    loaded = keys.load("kernel")
    assert loaded.sign(b"message") == made.sign(b"message")
    Ed25519PublicKey.from_public_bytes(made.public).verify(loaded.sign(b"message"), b"message")


def test_the_keyid_is_the_first_16_hex_digits_of_the_public_keys_sha256(keys: FileKeyStore) -> None:
    signer = keys.create("kernel")
    assert signer.keyid == hashlib.sha256(signer.public).hexdigest()[:16]
    assert keys.public("kernel").keyid == signer.keyid
    assert base64.b64decode(keys.public("kernel").public) == signer.public


@pytest.mark.parametrize("passphrase", [None, b"correct horse"])
def test_a_key_file_is_readable_by_its_owner_only(tmp_path: Path, passphrase: bytes | None) -> None:
    before = os.umask(0)
    try:
        FileKeyStore(tmp_path / "keys").create("k", passphrase=passphrase)
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "keys").iterdir()}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700


def test_a_key_file_that_others_can_read_is_not_used(keys: FileKeyStore, tmp_path: Path) -> None:
    keys.create("kernel")
    (tmp_path / "keys" / "kernel.key.json").chmod(0o640)
    with pytest.raises(EnvironmentFault) as caught:
        keys.load("kernel")
    assert caught.value.code == "key_file_open_to_others"


def test_a_key_file_behind_a_link_is_not_followed(keys: FileKeyStore, tmp_path: Path) -> None:
    keys.create("kernel")
    (tmp_path / "keys" / "other.key.json").symlink_to(tmp_path / "keys" / "kernel.key.json")
    with pytest.raises(EnvironmentFault) as caught:
        keys.load("other")
    assert caught.value.code == "key_file_unreachable"


def test_a_persons_key_opens_with_its_passphrase_only(keys: FileKeyStore) -> None:
    made = keys.create("ada", passphrase=b"correct horse")
    assert keys.load("ada", passphrase=b"correct horse").keyid == made.keyid
    with pytest.raises(RefusedError) as wrong:
        keys.load("ada", passphrase=b"wrong horse")
    assert wrong.value.code == "passphrase_wrong"
    with pytest.raises(UsageError) as missing:
        keys.load("ada")
    assert missing.value.code == "passphrase_needed"


def test_a_persons_key_file_holds_neither_seed_nor_passphrase(keys: FileKeyStore, tmp_path: Path) -> None:
    seed = keys.create("ada", passphrase=b"correct horse").seed()
    for path in (tmp_path / "keys").iterdir():
        data = path.read_bytes()
        assert not any(form in data for form in (seed, base64.b64encode(seed), b"correct horse"))
        assert all(seed not in base64.b64decode(part + b"===") for part in data.split(b'"') if len(part) > 40)


def test_an_empty_passphrase_is_refused(keys: FileKeyStore) -> None:
    with pytest.raises(UsageError) as caught:
        keys.create("ada", passphrase=b"")
    assert caught.value.code == "passphrase_empty"
    assert keys.names() == []


@pytest.mark.parametrize("first", [None, b"p"])
@pytest.mark.parametrize("second", [None, b"p"])
def test_a_name_is_given_once(keys: FileKeyStore, first: bytes | None, second: bytes | None) -> None:
    made = keys.create("ada", passphrase=first)
    with pytest.raises(UsageError) as caught:
        keys.create("ada", passphrase=second)
    assert caught.value.code == "key_exists"
    assert keys.load("ada", passphrase=first).keyid == made.keyid


def test_names_lists_both_kinds_sorted(keys: FileKeyStore) -> None:
    keys.create("verifier")
    keys.create("ada", passphrase=b"p")
    assert keys.names() == ["ada", "verifier"]
    assert [keys.is_encrypted(name) for name in keys.names()] == [True, False]


@pytest.mark.parametrize("name", ["", "..", "../kernel", "a/b", ".hidden", "a\n", "ä", "x" * 101])
def test_a_name_cannot_leave_the_folder(keys: FileKeyStore, name: str) -> None:
    for use in (keys.load, keys.create, keys.public):
        with pytest.raises(UsageError) as caught:
            use(name)
        assert caught.value.code == "key_name"


def test_an_unknown_name_is_a_usage_error(keys: FileKeyStore) -> None:
    for use in (keys.load, keys.public):
        with pytest.raises(UsageError) as caught:
            use("nobody")
        assert caught.value.code == "key_unknown"


@pytest.mark.parametrize("passphrase", [None, b"p"])
def test_any_changed_byte_of_a_key_file_is_noticed(
    keys: FileKeyStore, tmp_path: Path, passphrase: bytes | None
) -> None:
    keys.create("k", passphrase=passphrase)
    path = tmp_path / "keys" / ("k.key.json" if passphrase is None else "k.sealed.json")
    whole = path.read_bytes()
    # Stretching makes each try of a sealed file slow, so only some of its bytes are tried.
    for index in range(0, len(whole) - 1, 1 if passphrase is None else 16):
        path.write_bytes(whole[:index] + bytes([whole[index] ^ 1]) + whole[index + 1 :])
        with pytest.raises(ActumError) as caught:
            keys.load("k", passphrase=passphrase)
        assert isinstance(caught.value, CorruptRecordError | RefusedError)


def test_a_signer_shows_and_pickles_no_private_half() -> None:
    signer = Ed25519Signer.generate()
    assert base64.b64encode(signer.seed()).decode() not in repr(signer)
    assert signer.seed().hex() not in repr(signer)
    with pytest.raises(TypeError):
        pickle.dumps(signer)


def test_the_key_file_is_canonical_json_with_the_seed(keys: FileKeyStore, tmp_path: Path) -> None:
    signer = keys.create("kernel")
    data = (tmp_path / "keys" / "kernel.key.json").read_bytes().removesuffix(b"\n")
    whole = canonical.decode_strict(data)
    assert base64.b64decode(whole["seed"]) == signer.seed()
