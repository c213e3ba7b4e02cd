# SPDX-License-Identifier: Apache-2.0
"""The log holds one small entry for each signed record and a checkpoint fixes all of them at once.

An entry names the payload's digest and not the envelope's: a second signature over the same statement makes
no second record, and a payload can be erased without breaking the tree. A checkpoint is a signed note whose
signer's name is the log's origin.

The log shows order and completeness up to a checkpoint. It does not show that a record was put into it: what
was never appended is not missing.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from actum.evidence import notes
from actum.evidence.keys import Signer
from actum.evidence.merkle import Frontier, leaf_hash
from actum.evidence.notes import Checkpoint
from actum.evidence.published import Digest, Id, KeyId, Uri
from actum.model.canonical import MAX_SAFE_INTEGER

ENTRY_VERSION = 1
Seq = Annotated[int, msgspec.Meta(ge=0, le=MAX_SAFE_INTEGER)]


class LogEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a leaf is the hash of, members in canonical order.

    `c` chain (a turn's id), `k` keyid of the signer, `p` payload digest, `s` place in the chain from 0,
    `t` predicate type, `v` version.
    """

    c: Id
    k: KeyId
    p: Digest
    s: Seq
    t: Uri
    v: int = ENTRY_VERSION


def log_entry(*, predicate_type: str, payload_digest: str, keyid: str, chain: str, seq: int) -> bytes:
    """Return the canonical bytes of an entry. The members are written as they are: see `entry_holds`."""
    return _encoder.encode(LogEntry(c=chain, k=keyid, p=payload_digest, s=seq, t=predicate_type))


def parse_entry(data: bytes) -> LogEntry | None:
    """Return the entry whose canonical bytes are exactly `data`, or None."""
    try:
        entry = _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return entry if entry.v == ENTRY_VERSION and _encoder.encode(entry) == data else None


def entry_holds(data: bytes) -> bool:
    """Tell whether bytes are an entry every reader reads the same; a writer asks before appending."""
    return parse_entry(data) is not None


def sign_checkpoint(frontier: Frontier, *, origin: str, signer: Signer) -> bytes:
    """Return the signed note that fixes the log's size and root; `origin` is also the signer's name."""
    checkpoint = Checkpoint(origin=origin, size=frontier.size, root=frontier.root())
    return notes.sign_note(notes.checkpoint_text(checkpoint), name=origin, signer=signer)


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(LogEntry)

__all__ = [
    "Checkpoint",
    "Frontier",
    "LogEntry",
    "entry_holds",
    "leaf_hash",
    "log_entry",
    "parse_entry",
    "sign_checkpoint",
]
