# SPDX-License-Identifier: Apache-2.0
"""A signed note is text that stands alone, and a checkpoint is the note that fixes a log's size and root.

C2SP signed-note and tlog-checkpoint, so that any tool of that family reads what we write. Two kinds of
signature are known: 0x01, Ed25519 over the text, and 0x04, a witness's cosignature, which also carries the
time the witness saw it. A line of any other kind or key is ignored, as the format demands.

A checkpoint says what its signer claims the log to hold; two of them show growth only with the leaves or a
consistency proof between them.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re

import msgspec

from actum.evidence.keys import PublicKey, Signer
from actum.model.errors import CorruptRecordError, UsageError

ED25519 = 1
COSIGNATURE = 4
MAX_NOTE_BYTES = 65_536
MAX_SIGNATURES = 64

_name_form = re.compile(r"[^\s+\x00-\x1f]+")
_size_form = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)


class NoteSignature(msgspec.Struct, frozen=True, kw_only=True):
    """One signature line: the signer's name, the 4-byte key hash, and what follows it."""

    name: str
    key_hash: bytes
    body: bytes


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """A note taken apart; `text` ends with its newline and is what the signatures cover."""

    text: str
    signatures: tuple[NoteSignature, ...]


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """The log `origin` had `size` leaves under `root` (32 bytes) when this was signed."""

    origin: str
    size: int
    root: bytes


class VerifierKey(msgspec.Struct, frozen=True, kw_only=True):
    """A note key in its public form: name and key, with the algorithm byte."""

    name: str
    key: PublicKey
    algorithm: int = ED25519

    def text(self) -> str:
        """Return `name+hash+base64`, the form other tools are given."""
        material = bytes([self.algorithm]) + self.key.raw
        shown = key_hash(self.name, self.key.raw, algorithm=self.algorithm).hex()
        return f"{self.name}+{shown}+{base64.b64encode(material).decode()}"


def key_hash(name: str, public: bytes, *, algorithm: int = ED25519) -> bytes:
    """Return the four bytes that point a signature line at its key."""
    return hashlib.sha256(name.encode() + b"\n" + bytes([algorithm]) + public).digest()[:4]


def parse_verifier_key(text: str) -> VerifierKey:
    """Return the key behind `name+hash+base64`; raise UsageError `verifier_key` where it does not hold."""
    name, _, rest = text.partition("+")
    shown, _, encoded = rest.partition("+")
    material = _base64(encoded)
    if not _name_form.fullmatch(name) or material is None or len(material) != 33:
        raise _bad_key("it is not name+hash+key")
    algorithm, public = material[0], material[1:]
    if algorithm not in (ED25519, COSIGNATURE):
        raise _bad_key(f"its algorithm {algorithm} is unknown")
    if key_hash(name, public, algorithm=algorithm).hex() != shown:
        raise _bad_key("its hash is not that of its name and key")
    return VerifierKey(name=name, key=PublicKey(public), algorithm=algorithm)


def open_note(data: bytes) -> Note:
    """Take a note apart; raise CorruptRecordError `note` where it has not the form. Nothing is verified."""
    if len(data) > MAX_NOTE_BYTES:
        raise _corrupt("it is longer than a note may be")
    try:
        whole = data.decode()
    except UnicodeDecodeError as error:
        raise _corrupt("it is not UTF-8") from error
    if any(character < " " and character != "\n" for character in whole):
        raise _corrupt("it holds a control character")
    text, gap, tail = whole.rpartition("\n\n")
    lines = tail.split("\n")
    if not gap or len(lines) < 2 or lines.pop() != "":
        raise _corrupt("text and signatures are not separated as a note's are")
    if len(lines) > MAX_SIGNATURES:
        raise _corrupt("it carries too many signatures")
    return Note(text=text + "\n", signatures=tuple(_signature(line) for line in lines))


def _signature(line: str) -> NoteSignature:
    mark, _, rest = line.partition(" ")
    name, _, encoded = rest.partition(" ")
    raw = _base64(encoded)
    if mark != "—" or not _name_form.fullmatch(name) or raw is None or len(raw) < 5:
        raise _corrupt("a signature line has not the form of one")
    return NoteSignature(name=name, key_hash=raw[:4], body=raw[4:])


def sign_note(text: str, *, name: str, signer: Signer) -> bytes:
    """Return the note: `text`, which must end with a newline, under one Ed25519 signature by `name`."""
    if not _name_form.fullmatch(name) or not text.endswith("\n"):
        raise ValueError("a note's text ends with a newline and its signer's name has no space or plus")
    body = key_hash(name, signer.public) + signer.sign(text.encode())
    return f"{text}\n— {name} {base64.b64encode(body).decode()}\n".encode()


def cosign(note: bytes, *, name: str, signer: Signer, at_s: int) -> bytes:
    """Return the note with a witness's cosignature added; `at_s` is unix seconds, the witness's word."""
    seen = f"cosignature/v1\ntime {at_s}\n{open_note(note).text}".encode()
    body = key_hash(name, signer.public, algorithm=COSIGNATURE) + at_s.to_bytes(8, "big") + signer.sign(seen)
    return note + f"— {name} {base64.b64encode(body).decode()}\n".encode()


def points_at(signature: NoteSignature, key: PublicKey, *, algorithm: int = ED25519) -> bool:
    """Tell whether a signature line names this key under this algorithm; four bytes decide, nothing more."""
    return signature.key_hash == key_hash(signature.name, key.raw, algorithm=algorithm)


def signature_holds(note: Note, signature: NoteSignature, key: PublicKey) -> bool:
    """Tell whether a line holds as an Ed25519 signature of `key` over the note's text."""
    return points_at(signature, key) and key.verifies(signature.body, note.text.encode())


def cosigned_at_s(note: Note, signature: NoteSignature, key: PublicKey) -> int | None:
    """Return the unix second at which the witness `key` says it saw the note; None where its line fails."""
    if not points_at(signature, key, algorithm=COSIGNATURE) or len(signature.body) != 72:
        return None
    at_s = int.from_bytes(signature.body[:8], "big")
    seen = f"cosignature/v1\ntime {at_s}\n{note.text}".encode()
    return at_s if key.verifies(signature.body[8:], seen) else None


def checkpoint_text(checkpoint: Checkpoint) -> str:
    """Return the three lines a log signs."""
    root = base64.b64encode(checkpoint.root).decode()
    return f"{checkpoint.origin}\n{checkpoint.size}\n{root}\n"


def parse_checkpoint(text: str) -> Checkpoint:
    """Return origin, size and root of a note's text; extension lines are refused, ours have none."""
    lines = text.split("\n")
    if len(lines) != 4 or lines[3] != "":
        raise _corrupt("a checkpoint is origin, size and root, one line each")
    root = _base64(lines[2])
    if not lines[0] or not _size_form.fullmatch(lines[1]) or root is None or len(root) != 32:
        raise _corrupt("a checkpoint's size or root has not the form of one")
    return Checkpoint(origin=lines[0], size=int(lines[1]), root=root)


def _base64(text: str) -> bytes | None:
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    # Bits behind the last byte would let two texts stand for the same bytes.
    return raw if base64.b64encode(raw).decode() == text else None


def _bad_key(why: str) -> UsageError:
    return UsageError(
        "verifier_key",
        failed=f"A note's verifier key cannot be read: {why}",
        state="Nothing was checked against it",
        next_step="Copy the whole key text from whoever keeps the log",
    )


def _corrupt(why: str) -> CorruptRecordError:
    return CorruptRecordError(
        "note",
        failed=f"A signed note does not hold: {why}",
        state="Nothing it says was used",
        next_step="Get the note again from where it was kept",
    )
