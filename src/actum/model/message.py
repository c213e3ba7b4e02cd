# SPDX-License-Identifier: Apache-2.0
"""Messages of a turn and where they came from; a row without evidence carries no attribution."""

from __future__ import annotations

import enum

import msgspec


class Role(enum.Enum):
    """Who speaks."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class RoutingMode(enum.Enum):
    """How the reply was routed."""

    LADDER = "ladder"
    DIRECT = "direct"
    IMPORTED = "imported"


class ExecutionMode(enum.Enum):
    """What produced the reply: our own code, a model on this machine, or a cloud model."""

    NATIVE = "native"
    LOCAL_MODEL = "local_model"
    CLOUD_MODEL = "cloud_model"


class Provenance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Routing mode, execution kind, provider, runtime and model of one reply."""

    routing_mode: RoutingMode
    execution_kind: ExecutionMode
    provider: str
    runtime: str
    model: str | None


LOCAL_PROVIDER = "actum"
"""The provider of every reply that native code made."""


class Message(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One message; ``receipt_id`` is the execution receipt a native reply stands on."""

    message_id: str
    tenant: str
    turn_id: str
    role: Role
    content_digest: str
    provenance: Provenance | None
    receipt_id: str | None
    said_at_ms: int
