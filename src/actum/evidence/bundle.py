# SPDX-License-Identifier: Apache-2.0
"""A bundle is one file that carries a log's records in order and can be read once, line by line.

First line the header, then one line for each leaf, last line the signed checkpoint. A record's line is its
DSSE envelope with two members more, `chain` and `seq`; a withheld record's line is its log entry alone, which
keeps the tree whole and shows that something stands there. Every line is canonical JSON and ends with a
newline, so no byte of a bundle can be written another way.

The keys in the header let anybody check that the file agrees with itself. They prove nothing about who
signed: that is asked of a trust file from elsewhere.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from typing import Annotated, BinaryIO, TypeVar

import msgspec

from actum.evidence import log
from actum.evidence.keys import keyid_of
from actum.evidence.log import Frontier, LogEntry, Seq
from actum.evidence.published import Digest, Id, KeyId
from actum.model import canonical
from actum.model.errors import CorruptRecordError, InvariantViolation

T = TypeVar("T")

FORMAT = "actum-bundle"
VERSION = 1
MAX_LINE_BYTES = 1 << 20
MAX_KEYS = 1024


class BundleKey(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key that signed something in this bundle: raw public key in base64, informative only."""

    keyid: KeyId
    public: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9+/]{43}=\Z")]


class Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the file says it holds; the checkpoint at its end must say the same."""

    format: str
    keys: Annotated[tuple[BundleKey, ...], msgspec.Meta(max_length=MAX_KEYS)]
    origin: Annotated[str, msgspec.Meta(pattern=r"^[^\s+\x00-\x1f]{1,200}\Z")]
    root: Digest
    tree_size: Seq
    version: int


class RecordSignature(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The one signature of a record; more of them would be bytes that no leaf speaks for."""

    keyid: KeyId
    sig: bytes


class Record(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename={"payload_type": "payloadType"},
):
    """One envelope of the log, taken apart but not verified; members in canonical order."""

    chain: Id
    payload: bytes
    payload_type: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9.+/-]{1,200}\Z")]
    seq: Seq
    signatures: Annotated[tuple[RecordSignature, ...], msgspec.Meta(min_length=1, max_length=1)]

    @property
    def keyid(self) -> str:
        """Return which key is said to have signed."""
        return self.signatures[0].keyid

    @property
    def sig(self) -> bytes:
        """Return the signature's bytes."""
        return self.signatures[0].sig


class _WithheldLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    entry: LogEntry


class _CheckpointLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    checkpoint: Annotated[str, msgspec.Meta(max_length=65_536)]


class BundleFault(CorruptRecordError):
    """A bundle does not hold; `code` names why and `line` where, counted from 1."""

    def __init__(self, code: str, *, line: int, why: str) -> None:
        self.line = line
        self.why = why
        super().__init__(
            code,
            failed=f"Line {line} of the bundle does not hold: {why}",
            state="Nothing the bundle says can be relied on",
            next_step="Ask for the bundle again and compare the two files",
            line=line,
        )


class BundleWriter:
    """Writes a bundle to a binary stream, in log order, and refuses to finish one that would not verify."""

    def __init__(self, stream: BinaryIO, *, header: Header) -> None:
        self._stream = stream
        self._header = header
        self._frontier = Frontier()
        stream.write(canonical.encode(header) + b"\n")

    def add(self, envelope: bytes, *, entry: bytes) -> None:
        """Write one sealed envelope (the bytes `dsse.seal` returned) with its log entry's chain and place."""
        parsed = self._append(entry)
        head, cut, tail = envelope.rpartition(b',"signatures":')
        if not cut or not head.startswith(b'{"payload":'):
            raise InvariantViolation("a bundle takes envelopes in the form they are sealed in")
        self._stream.write(
            b'{"chain":"%b",%b,"seq":%d,"signatures":%b\n' % (parsed.c.encode(), head[1:], parsed.s, tail)
        )

    def withhold(self, entry: bytes) -> None:
        """Write a leaf whose record is not shown."""
        self._append(entry)
        self._stream.write(b'{"entry":%b}\n' % entry)

    def finish(self, checkpoint: bytes) -> None:
        """Write the signed checkpoint; InvariantViolation if what was written is not what the header says."""
        root = "sha256:" + self._frontier.root().hex()
        if (self._frontier.size, root) != (self._header.tree_size, self._header.root):
            raise InvariantViolation("a bundle holds the leaves its header names", size=self._frontier.size)
        self._stream.write(canonical.encode(_CheckpointLine(checkpoint=checkpoint.decode())) + b"\n")

    def _append(self, entry: bytes) -> LogEntry:
        parsed = log.parse_entry(entry)
        if parsed is None:
            raise InvariantViolation("a log entry is canonical and closed")
        self._frontier.append(log.leaf_hash(entry))
        return parsed


def header_for(frontier: Frontier, *, origin: str, keys: Iterable[bytes]) -> Header:
    """Return the header of a bundle over the whole log at `frontier`; `keys` are raw public keys."""
    listed = {keyid_of(raw): base64.b64encode(raw).decode() for raw in keys}
    return Header(
        format=FORMAT,
        keys=tuple(BundleKey(keyid=keyid, public=listed[keyid]) for keyid in sorted(listed)),
        origin=origin,
        root="sha256:" + frontier.root().hex(),
        tree_size=frontier.size,
        version=VERSION,
    )


def read_lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield (number from 1, line without its newline); no line is held longer than it is looked at."""
    number = 0
    while line := stream.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise BundleFault("line_too_long", line=number, why=f"it is longer than {MAX_LINE_BYTES} bytes")
        if not line.endswith(b"\n"):
            raise BundleFault("truncated", line=number, why="it does not end, so the file was cut")
        yield number, line[:-1]


def read_header(line: bytes) -> Header:
    """Return the header in the first line; BundleFault `header` or `version` where it is none."""
    header = _decode(line, Header, number=1)
    if header.format != FORMAT or header.version != VERSION:
        raise BundleFault("version", line=1, why=f"this reader knows {FORMAT} version {VERSION} only")
    keyids = [key.keyid for key in header.keys]
    if keyids != sorted(set(keyids)):
        raise BundleFault("header", line=1, why="its keys are not sorted, or one stands twice")
    return header


def read_record(line: bytes, *, number: int) -> Record | LogEntry | str:
    """Return a record, a withheld record's entry, or the checkpoint text, as the first member says."""
    if line.startswith(b'{"chain"'):
        return _record(line, number=number)
    if line.startswith(b'{"entry"'):
        return _decode(line, _WithheldLine, number=number).entry
    if line.startswith(b'{"checkpoint"'):
        return _decode(line, _CheckpointLine, number=number).checkpoint
    raise BundleFault("line_kind", line=number, why="it is neither a record nor the checkpoint")


def _record(line: bytes, *, number: int) -> Record:
    # The record's members are declared in canonical order and their text is plain ASCII, so that the encoder
    # writes the only form there is, padded base64 included.
    try:
        record = _record_decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BundleFault("line_form", line=number, why="it has not the form of a record") from error
    if _record_encoder.encode(record) != line:
        raise BundleFault("not_canonical", line=number, why="its bytes are not the canonical ones")
    return record


def _decode(line: bytes, kind: type[T], *, number: int) -> T:
    try:
        return canonical.decode_strict(line, kind)
    except CorruptRecordError as error:
        raise BundleFault("line_form", line=number, why="it has not the form its place asks for") from error


_record_decoder = msgspec.json.Decoder(Record)
_record_encoder = msgspec.json.Encoder()
