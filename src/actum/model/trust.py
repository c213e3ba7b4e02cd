# SPDX-License-Identifier: Apache-2.0
"""A trust file pins keys: which key is whose, for which roles, from when to when.

A key that is not pinned proves nothing, whatever a bundle says about it.
"""

from __future__ import annotations

import enum

import msgspec


class KeyRole(enum.Enum):
    """What a key may sign for; one key may hold several roles."""

    ACTOR = "actor"
    KERNEL = "kernel"
    VERIFIER = "verifier"
    WITNESS = "witness"
    APPROVER = "approver"
    OPERATOR = "operator"
    LOG = "log"


LOOKING_ROLES = frozenset({KeyRole.VERIFIER, KeyRole.WITNESS})


class TrustedKey(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry as written: `public` is base64 of 32 raw bytes, the bounds RFC 3339; a null bound is open.

    It is valid where not_before <= at < not_after, and at < revoked_at.
    """

    keyid: str
    public: str
    roles: tuple[KeyRole, ...]
    principal: str | None = None
    not_before: str | None = None
    not_after: str | None = None
    revoked_at: str | None = None


class TrustFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file."""

    keys: tuple[TrustedKey, ...]
