# SPDX-License-Identifier: Apache-2.0
"""Notes and checkpoints are C2SP's: foreign notes decide, then what must be refused."""

import base64
from typing import Any

import pytest

from actum.adapters.signing import Ed25519Signer
from actum.evidence import merkle, notes
from actum.evidence.keys import PublicKey
from actum.model.errors import CorruptRecordError, UsageError
from tests.unit.evidence.vectors import vector_json, vectors

signer = Ed25519Signer.from_seed(b"\x07" * 32)
witness = Ed25519Signer.from_seed(b"\x08" * 32)


def foreign_notes() -> dict[str, Any]:
    return vector_json("c2sp-signed-note", "signed_notes.json")


def test_every_foreign_note_is_judged_as_its_authors_do() -> None:
    for case in foreign_notes()["cases"]:
        if case["expect"] == "reject-key":
            with pytest.raises(UsageError):
                notes.parse_verifier_key(case["vkey"])
            continue
        note = notes.open_note(case["note"].encode())
        for text in case.get("vkeys", [case["vkey"]]):
            key = notes.parse_verifier_key(text)
            assert key.text() == text
            held = [
                s for s in note.signatures if s.name == key.name and notes.signature_holds(note, s, key.key)
            ]
            assert len(held) == 1, case["name"]


def test_a_foreign_text_gets_the_foreign_signature() -> None:
    case = foreign_notes()["signing"]
    seed = base64.b64decode(case["skey"].split("+", 4)[4])[1:]
    note = notes.sign_note(case["text"], name="PeterNeumann", signer=Ed25519Signer.from_seed(seed))
    assert note.decode() == f"{case['text']}\n— PeterNeumann {case['want_sig']}\n"


def test_a_foreign_checkpoint_is_read_and_written_the_same() -> None:
    data = vectors("c2sp-signed-note", "checkpoint_example.txt").read_bytes()
    note = notes.open_note(data)
    checkpoint = notes.parse_checkpoint(note.text)
    assert (checkpoint.origin, checkpoint.size) == ("example.com/behind-the-sofa", 20852163)
    assert notes.checkpoint_text(checkpoint) == note.text


def test_every_checkpoint_of_a_foreign_log_holds_under_its_key() -> None:
    key = notes.parse_verifier_key(
        "example.com/log/testdata+33d7b496+AeHTu4Q3hEIMHNqc6fASMsq3rKNx280NI+oO5xCFkkSx"
    )
    log = vectors("tessera-tlog-tiles", "testdata", "log")
    for size in range(16):
        note = notes.open_note((log / f"checkpoint.{size}").read_bytes())
        assert notes.parse_checkpoint(note.text).size == size
        assert any(notes.signature_holds(note, s, key.key) for s in note.signatures)


def small_checkpoint() -> bytes:
    checkpoint = notes.Checkpoint(origin="actum.example", size=3, root=merkle.EMPTY_ROOT)
    return notes.sign_note(notes.checkpoint_text(checkpoint), name="actum.example", signer=signer)


def test_no_changed_bit_of_a_note_goes_unnoticed() -> None:
    whole, key = small_checkpoint(), PublicKey(signer.public)
    for place in range(len(whole) * 8):
        changed = bytearray(whole)
        changed[place // 8] ^= 1 << place % 8
        try:
            note = notes.open_note(bytes(changed))
        except CorruptRecordError:
            continue
        assert not any(notes.signature_holds(note, s, key) for s in note.signatures), place


def test_a_cosignature_holds_for_its_witness_and_time_only() -> None:
    whole = notes.cosign(small_checkpoint(), name="witness", signer=witness, at_s=1_700_000_000)
    note = notes.open_note(whole)
    ours, theirs = note.signatures
    assert notes.signature_holds(note, ours, PublicKey(signer.public))
    assert notes.cosigned_at_s(note, theirs, PublicKey(witness.public)) == 1_700_000_000
    assert notes.cosigned_at_s(note, theirs, PublicKey(signer.public)) is None
    assert not notes.signature_holds(note, theirs, PublicKey(witness.public))
    later = notes.NoteSignature(
        name=theirs.name,
        key_hash=theirs.key_hash,
        body=(1_700_000_001).to_bytes(8, "big") + theirs.body[8:],
    )
    assert notes.cosigned_at_s(note, later, PublicKey(witness.public)) is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"text\n",
        b"text\n\n",
        b"text\n\n- name AAAAAAA=\n",
        "text\n\n— name AAAAAAA=".encode(),
        "text\n\n— name AAAAAAB=\n".encode(),
        "text\n\n— na+me AAAAAAA=\n".encode(),
        "text\n\n— name AAAA\n".encode(),
        "te\txt\n\n— name AAAAAAA=\n".encode(),
        b"\xff\n\n",
        b"x" * (notes.MAX_NOTE_BYTES + 1),
        b"text\n\n" + "— name AAAAAAA=\n".encode() * (notes.MAX_SIGNATURES + 1),
    ],
)
def test_what_is_no_note_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(CorruptRecordError) as caught:
        notes.open_note(data)
    assert caught.value.code == "note"


@pytest.mark.parametrize(
    "text",
    [
        "o\n1\n",
        "o\n01\nAAAA\n",
        "o\n-1\nAAAA\n",
        "o\n1\nAAAA\n",
        "\n1\n" + "A" * 43 + "=\n",
        "o\n1\n" + "A" * 43 + "=\nmore\n",
    ],
)
def test_what_is_no_checkpoint_is_refused_by_name(text: str) -> None:
    with pytest.raises(CorruptRecordError) as caught:
        notes.parse_checkpoint(text)
    assert caught.value.code == "note"


def test_a_name_that_would_break_the_line_cannot_sign() -> None:
    for name in ("", "a b", "a+b", "a\nb"):
        with pytest.raises(ValueError):
            notes.sign_note("text\n", name=name, signer=signer)
    with pytest.raises(ValueError):
        notes.sign_note("text", name="name", signer=signer)
