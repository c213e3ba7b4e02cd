# SPDX-License-Identifier: Apache-2.0
"""A look is what a component that did not act saw; its digests are salted, so nothing short can be guessed."""

from __future__ import annotations

import enum

import msgspec

from actum.model import canonical, foreign
from actum.model.grading import LookOutcome


class Level(enum.Enum):
    """How far from the actor a look was made: same process, other process, other uid, other host."""

    L0 = "L0"
    L1 = "L1"
    L2 = "L2"
    L3 = "L3"


class Channel(enum.Enum):
    """Whether the look went through the sink that was written to, or another way."""

    SAME_SINK = "same_sink"
    OTHER = "other"


class Independence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a look shared with the actor. L0 and L1 guard against error and lying tools, not against your uid."""

    level: Level
    process: bool
    uid: bool
    host: bool
    credential: bool
    channel: Channel


class Observation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a verifier saw: the projected value (null: nothing could be seen), and private detail.

    ``control_held`` tells whether a positive control showed that absence would have been noticed.
    """

    value: object
    outcome: LookOutcome
    detail: dict[str, object]
    control_held: bool = False
    channel: Channel = Channel.SAME_SINK


class SeenLook(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A signed look with what the kernel needs beside the wire form.

    ``wire`` is the effect line's look object; ``detail`` is private.
    """

    before: str | None
    observed: str | None
    outcome: LookOutcome
    verifier_id: str
    verifier_version: str
    at: str
    keyid: str
    sig: str
    control_held: bool
    detail: dict[str, object]
    independence: Independence


def projection_digest(value: object, *, projection: str, salt: str) -> str:
    """Return the salted digest of a projected value; ``projection`` is ``id@version``.

    Expected and observed values go through this one function, so equality of digests is equality of
    projection and value.
    """
    return foreign.digest_foreign({"salt": salt, "value": {"projection": projection, "value": value}})


def private_digest(value: object, *, salt: str) -> str:
    """Return the digest under which a private content object {salt, value} is published."""
    return foreign.digest_foreign({"salt": salt, "value": value})


def private_digest_of(body: bytes, *, salt: str) -> str:
    """Return the same digest for a value at hand as its canonical foreign bytes."""
    return canonical.digest_bytes(b'{"salt":"' + salt.encode("ascii") + b'","value":' + body + b"}")
