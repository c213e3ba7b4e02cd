# SPDX-License-Identifier: Apache-2.0
"""A trust file is read whole or not at all, and every problem in it is named.

Reading it does not say that its author is to be believed: that is decided by whoever hands it over.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from actum.evidence import wire_schema as schema
from actum.evidence.keys import PublicKey, keyid_of, public_key_fault
from actum.evidence.wire_schema import Fault
from actum.model.errors import UsageError
from actum.model.rfc3339 import Instant, parse_instant
from actum.model.strict_json import JsonRefused, parse_foreign, pointer
from actum.model.trust import KeyRole, TrustedKey, TrustFile

KEYID = schema.formed(r"[0-9a-f]{16}", "16 lower-case hex digits")

_FILE = schema.record(
    {
        "keys": schema.each(
            schema.record(
                {
                    "keyid": KEYID,
                    "public": schema.text,
                    "roles": schema.each(schema.one_of(KeyRole)),
                    "principal": schema.text,
                    "not_before": schema.instant,
                    "not_after": schema.instant,
                    "revoked_at": schema.instant,
                },
                required=("keyid", "public", "roles"),
            )
        )
    },
    required=("keys",),
)


class TrustEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A pinned key, ready to be asked; a bound of None is open, a principal of None is nobody known."""

    key: PublicKey
    roles: frozenset[KeyRole]
    principal: str | None
    not_before: Instant | None
    not_after: Instant | None
    revoked_at: Instant | None


class Trust(msgspec.Struct, frozen=True, kw_only=True):
    """The pinned keys by keyid."""

    entries: Mapping[str, TrustEntry]

    def find(self, keyid: str | None) -> TrustEntry | None:
        """Return the entry of a keyid, or None where it is not pinned."""
        return None if keyid is None else self.entries.get(keyid)


NO_TRUST = Trust(entries={})


def read_trust(data: bytes) -> Trust:
    """Return the pinned keys; raise UsageError `trust_file_invalid` with every problem in its facts."""
    try:
        value = parse_foreign(data)
    except JsonRefused as refused:
        raise _invalid([Fault(refused.code, refused.path, refused.message)]) from refused
    problems = list(_FILE(value, ""))
    if problems:
        raise _invalid(problems)
    return trust_of(msgspec.convert(_without_nulls(value), TrustFile))


def trust_of(file: TrustFile) -> Trust:
    """Return the pinned keys of an already typed file; raise UsageError `trust_file_invalid`."""
    problems: list[Fault] = []
    entries: dict[str, TrustEntry] = {}
    for index, key in enumerate(file.keys):
        path = pointer("/keys", index)
        faults = list(_key_faults(key, path))
        if key.keyid in entries:
            faults.append(Fault("duplicate_keyid", f"{path}/keyid", "this key is listed already"))
        problems += faults
        if not faults:
            entries[key.keyid] = _entry(key)
    if problems:
        raise _invalid(problems)
    return Trust(entries=entries)


def decode_base64(text: str, *, size: int) -> bytes | None:
    """Return the bytes of canonical padded standard base64 if they are `size` many, else None."""
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    # Python lets stray bits in the last character pass; only the form it would write itself is canonical.
    return raw if len(raw) == size and base64.b64encode(raw).decode("ascii") == text else None


def _key_faults(key: TrustedKey, path: str) -> Iterator[Fault]:
    raw = decode_base64(key.public, size=32)
    if raw is None:
        yield Fault("format", f"{path}/public", "this must be standard base64 of 32 bytes")
        return
    fault = public_key_fault(raw)
    if fault is not None:
        yield Fault("key_refused", f"{path}/public", f"the key cannot be pinned: {fault}")
    if keyid_of(raw) != key.keyid:
        yield Fault("keyid_mismatch", f"{path}/keyid", f"the keyid of this public key is {keyid_of(raw)}")
    for name in ("not_before", "not_after", "revoked_at"):
        bound: str | None = getattr(key, name)
        if bound is not None:
            yield from schema.instant(bound, f"{path}/{name}")


def _entry(key: TrustedKey) -> TrustEntry:
    return TrustEntry(
        key=PublicKey(base64.b64decode(key.public)),
        roles=frozenset(key.roles),
        principal=key.principal,
        not_before=_bound(key.not_before),
        not_after=_bound(key.not_after),
        revoked_at=_bound(key.revoked_at),
    )


def _bound(text: str | None) -> Instant | None:
    return None if text is None else parse_instant(text)


def _without_nulls(value: Any) -> Any:
    keys = [{name: member for name, member in key.items() if member is not None} for key in value["keys"]]
    return {"keys": keys}


def _invalid(problems: list[Fault]) -> UsageError:
    listed = {f"problem_{n}": f"{p.path or '/'}: {p.code}: {p.message}" for n, p in enumerate(problems, 1)}
    return UsageError(
        "trust_file_invalid",
        failed=f"The trust file has {len(problems)} problem(s): " + "; ".join(listed.values()),
        state="No key was pinned and nothing was answered",
        next_step="Correct the file, or ask its author for a valid one",
        **listed,
    )
