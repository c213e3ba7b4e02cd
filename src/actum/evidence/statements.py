# SPDX-License-Identifier: Apache-2.0
"""A statement binds a predicate to digests; its bytes are canonical and are what gets signed.

in-toto Statement v1. What a receipt or grant may hold is decided by `actum.evidence.published`, checked here
when one is built. A statement says what its signer claims; whether a grade follows from its looks is the
verifier's question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from actum.evidence.published import (
    GRANT,
    RECEIPT,
    STATEMENT_V1,
    GrantStatement,
    PublishedGrant,
    PublishedReceipt,
    ReceiptStatement,
    Sha256,
    Subject,
    Uri,
)
from actum.model import canonical
from actum.model.errors import CorruptRecordError, UsageError

T = TypeVar("T", bound=msgspec.Struct)
Decoded = TypeVar("Decoded")


def statement(predicate_type: str, *, subjects: Sequence[tuple[str, str]], predicate: object) -> bytes:
    """Return the canonical bytes of a statement; `subjects` are (name, `sha256:` digest) pairs.

    The predicate is taken as it is: what is private must have been left out by whoever built it.
    """
    return canonical.encode(
        {
            "_type": STATEMENT_V1,
            "predicate": predicate,
            "predicateType": predicate_type,
            "subject": [
                {"digest": {"sha256": canonical.check_digest(digest)[7:]}, "name": name}
                for name, digest in subjects
            ],
        }
    )


def receipt_statement(receipt: PublishedReceipt | Mapping[str, Any]) -> bytes:
    """Return the canonical bytes of a receipt's statement; its subject is the effect's digest.

    Raises UsageError `not_publishable` where a member is unknown, missing, or holds anything but what its
    place is for.
    """
    published = as_published(receipt, PublishedReceipt)
    subject = _subject(f"effect:{published.identity.receipt_id}", published.effect_digest)
    return _encoder.encode(
        ReceiptStatement(kind=STATEMENT_V1, subject=subject, predicate_type=RECEIPT, predicate=published)
    )


def grant_statement(grant: PublishedGrant | Mapping[str, Any] | msgspec.Struct) -> bytes:
    """Return the canonical bytes of a grant's statement; its subject is what was allowed."""
    published = as_published(grant, PublishedGrant)
    subject = _subject(f"grant:{published.grant_id}", published.subject_digest)
    return _encoder.encode(
        GrantStatement(kind=STATEMENT_V1, subject=subject, predicate_type=GRANT, predicate=published)
    )


def as_published(value: object, kind: type[T]) -> T:
    """Return `value` as a published record, checked member for member even where it has that type already."""
    try:
        return msgspec.convert(msgspec.to_builtins(value), type=kind)
    except msgspec.ValidationError as error:
        raise UsageError(
            "not_publishable",
            failed=f"A record cannot be published: {error}",
            state="Nothing was signed",
            next_step="Publish digests, ids and closed words only; keep content behind its digest",
        ) from error


def predicate_type_of(payload: bytes) -> str:
    """Return what kind of statement this is; CorruptRecordError `statement` where it is none."""
    try:
        return _head.decode(payload).predicate_type
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _corrupt("statement", why="its payload is no statement") from error


def read_receipt(payload: bytes) -> PublishedReceipt:
    """Return the receipt in a statement whose bytes are canonical and whose subject is its effect.

    Raises CorruptRecordError `statement` or `subject`, with the reason in the fact `why`.
    """
    whole = _decode(payload, _receipt)
    receipt = whole.predicate
    _check_subject(whole, name=f"effect:{receipt.identity.receipt_id}", digest=receipt.effect_digest)
    return receipt


def read_grant(payload: bytes) -> PublishedGrant:
    """Return the grant in a statement whose bytes are canonical and whose subject is what it allows."""
    whole = _decode(payload, _grant)
    grant = whole.predicate
    _check_subject(whole, name=f"grant:{grant.grant_id}", digest=grant.subject_digest)
    return grant


def check_statement(payload: bytes) -> None:
    """Check a statement of a kind this version does not know: canonical bytes, and an in-toto shape."""
    try:
        whole = canonical.decode_strict(payload, dict[str, object])
    except CorruptRecordError as error:
        raise _corrupt("statement", why="its bytes are not those of a canonical statement") from error
    if whole.get("_type") != STATEMENT_V1 or not isinstance(whole.get("subject"), list):
        raise _corrupt("statement", why="its payload is no in-toto statement")


class _Head(msgspec.Struct, frozen=True, rename={"predicate_type": "predicateType"}):
    predicate_type: Uri


def _decode(payload: bytes, decoder: msgspec.json.Decoder[Decoded]) -> Decoded:
    # A published record is closed and its numbers are bounded where they stand, so that what decodes has
    # canonical bytes, and the sorted encoder writes them without asking member for member again.
    try:
        whole = decoder.decode(payload)
        again = _encoder.encode(whole)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise _corrupt("statement", why="its statement has not the form its type asks for") from error
    if again != payload:
        raise _corrupt("statement", why="its bytes are not the canonical ones of the statement they hold")
    return whole


def _subject(name: str, digest: str) -> tuple[Subject, ...]:
    return (Subject(name=name, digest=Sha256(sha256=digest[7:])),)


def _check_subject(whole: ReceiptStatement | GrantStatement, *, name: str, digest: str) -> None:
    subjects = [(subject.name, "sha256:" + subject.digest.sha256) for subject in whole.subject]
    if whole.kind != STATEMENT_V1 or subjects != [(name, digest)]:
        raise _corrupt("subject", why="its subject is not what its predicate is about")


def _corrupt(code: str, *, why: str) -> CorruptRecordError:
    return CorruptRecordError(
        code,
        failed=f"A signed statement does not hold: {why}",
        state="Nothing it says was used",
        next_step="Get the record again from where it was kept",
        why=why,
    )


_head = msgspec.json.Decoder(_Head)
_receipt = msgspec.json.Decoder(ReceiptStatement)
_grant = msgspec.json.Decoder(GrantStatement)
_encoder = msgspec.json.Encoder(order="sorted")
