# SPDX-License-Identifier: Apache-2.0
"""Private content is kept under its digest, and read back only if it still has it."""

from __future__ import annotations

from typing import Any

from actum.kernel.redaction import Finding, redact
from actum.model import canonical, foreign
from actum.model.errors import CorruptRecordError, InvariantViolation
from actum.ports.store import Tx
from actum.service.line import INLINE_MAX, Line


def without_secrets(value: object) -> tuple[Any, tuple[Finding, ...]]:
    """Return a value with its secrets taken out; JsonRefused names the place where it is no JSON value at all."""
    try:
        return redact(value)
    except InvariantViolation:
        foreign.from_plain(value)
        raise


def keep(line: Line, tx: Tx, body: bytes) -> str:
    """Keep bytes and return their digest; large ones are on the disk before this returns."""
    digest = canonical.digest_bytes(body)
    if len(body) <= INLINE_MAX:
        tx.put_content(digest, body, now_ms=line.now())
    else:
        name = line.content_files.put(digest, body)
        tx.put_content_file(digest, name, size=len(body), now_ms=line.now())
    return digest


def keep_json(line: Line, tx: Tx, value: object) -> str:
    """Keep a foreign JSON value as its canonical bytes."""
    return keep(line, tx, foreign.encode_foreign(value))


def load(line: Line, tx: Tx, digest: str) -> bytes:
    """Return the bytes of a digest; CorruptRecordError where they are gone or are not the ones kept."""
    found = tx.content(digest)
    body = None
    if found is not None:
        body = found[0] if found[1] is None else line.content_files.get(found[1])
    if body is None or canonical.digest_bytes(body) != digest:
        raise CorruptRecordError(
            "content_missing" if body is None else "content_altered",
            failed=f"the content {digest} is {'not there' if body is None else 'not what was kept'}",
            state="Nothing was derived from it",
            next_step="Restore the store and the files beside it from one backup",
            digest=digest,
        )
    return body


def load_json(line: Line, tx: Tx, digest: str) -> Any:
    """Return the foreign JSON value of a digest."""
    return foreign.decode_foreign(load(line, tx, digest))
