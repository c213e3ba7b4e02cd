# SPDX-License-Identifier: Apache-2.0
"""An envelope carries bytes and signatures over exactly those bytes and their type; nothing is re-serialised.

DSSE 1.0.2. `seal` writes the one form we write: members sorted, no white space, padded standard base64.
`open_envelope` reads what the specification allows, URL-safe base64 included. The keyid is a hint: it decides
which key is tried first and never whether a signature holds.

A signature that holds says that the key's holder signed these bytes. Whose key it is and what that person or
program may sign are questions for the trust file.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable
from typing import Any

import msgspec

from actum.evidence.keys import PublicKey, Signer
from actum.model.errors import CorruptRecordError

STATEMENT_TYPE = "application/vnd.in-toto+json"
MAX_ENVELOPE_BYTES = 1 << 20

_url_safe = bytes.maketrans(b"-_", b"+/")


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """One signature; `keyid` is a hint and may be empty."""

    keyid: str
    sig: bytes


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of an envelope, decoded; `payload` are the bytes that were signed."""

    payload_type: str
    payload: bytes
    signatures: tuple[Signature, ...]


def pae(payload_type: str, payload: bytes) -> bytes:
    """Return the bytes that are signed: type and payload, each behind its length in bytes."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def seal(payload: bytes, *, payload_type: str = STATEMENT_TYPE, signer: Signer) -> bytes:
    """Return the canonical bytes of an envelope over `payload` with one signature."""
    return envelope_bytes(
        payload, payload_type=payload_type, keyid=signer.keyid, sig=signer.sign(pae(payload_type, payload))
    )


def envelope_bytes(payload: bytes, *, payload_type: str, keyid: str, sig: bytes) -> bytes:
    """Return the one written form of an envelope with one signature."""
    return b'{"payload":"%b","payloadType":%b,"signatures":[{"keyid":%b,"sig":"%b"}]}' % (
        binascii.b2a_base64(payload, newline=False),
        msgspec.json.encode(payload_type),
        msgspec.json.encode(keyid),
        binascii.b2a_base64(sig, newline=False),
    )


def open_envelope(data: bytes) -> Envelope:
    """Take an envelope apart; raise CorruptRecordError `envelope` where it is not one. Nothing is verified.

    Standard and URL-safe base64 are both read, members this version does not know are ignored, duplicate
    members are refused.
    """
    if len(data) > MAX_ENVELOPE_BYTES:
        raise corrupt_envelope("it is longer than an envelope may be")
    try:
        whole = msgspec.convert(json.loads(data, object_pairs_hook=_once), type=_Wire)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise corrupt_envelope("it is no JSON object with payload, payloadType and signatures") from error
    if not whole.signatures:
        raise corrupt_envelope("it carries no signature")
    return Envelope(
        payload_type=whole.payloadType,
        payload=_decode(whole.payload),
        signatures=tuple(Signature(keyid=s.keyid or "", sig=_decode(s.sig)) for s in whole.signatures),
    )


def signer_of(envelope: Envelope, keys: Iterable[PublicKey]) -> PublicKey | None:
    """Return the key of `keys` under which one of the signatures holds, or None.

    Every key is tried, those that a keyid points at first; a wrong or missing keyid changes nothing but the
    order.
    """
    message = pae(envelope.payload_type, envelope.payload)
    hinted = {signature.keyid for signature in envelope.signatures}
    for key in sorted(keys, key=lambda key: key.keyid not in hinted):
        if any(key.verifies(signature.sig, message) for signature in envelope.signatures):
            return key
    return None


class _WireSignature(msgspec.Struct):
    sig: str
    keyid: str | None = None


class _Wire(msgspec.Struct):
    payload: str
    payloadType: str  # noqa: N815 (the specification's spelling)
    signatures: list[_WireSignature]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Decoders keep the last of two equal members, and two readers could each take another one.
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member stands twice")
    return members


def _decode(text: str) -> bytes:
    try:
        raw = text.encode("ascii").translate(_url_safe)
        return base64.b64decode(raw + b"=" * (-len(raw) % 4), validate=True)
    except (UnicodeEncodeError, binascii.Error, ValueError) as error:
        raise corrupt_envelope("a member that should be base64 is not") from error


def corrupt_envelope(why: str) -> CorruptRecordError:
    """Return the error for an envelope that has not the form of one."""
    return CorruptRecordError(
        "envelope",
        failed=f"A signed envelope does not hold: {why}",
        state="Nothing it carries was used",
        next_step="Get the envelope again from where it was kept",
    )
