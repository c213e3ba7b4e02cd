# SPDX-License-Identifier: Apache-2.0
"""A model call is a request that names what it may cost and show, and an outcome that is always a value.

An answer carries everything its meter and its provenance need; a fault says which kind of failure was seen
and what it cost. Neither decides anything: an answer is text that the reasoning rung judges.
"""

from __future__ import annotations

import enum
from typing import Any

import msgspec

from actum.model.message import ExecutionMode


class ModelTier(enum.Enum):
    """The only two names a process file has for a model; configuration says what stands behind them."""

    FAST = "fast"
    CAPABLE = "capable"


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One call: what is shown, the shape the answer must have, and the contract it runs under.

    `json_schema` is plain JSON Schema (see `actum.kernel.answer` for the keywords). `max_output_tokens` is
    the token contract. `data_classes` names every class of data in the two texts; naming none is a claim that
    nobody can check, so a tier that does not allow everything refuses it.
    """

    packet_digest: str
    system_text: str
    user_text: str
    json_schema: dict[str, Any]
    max_output_tokens: int
    tier: ModelTier
    data_classes: tuple[str, ...]


class ModelAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model answered within its contract; that the text is right, or allowed, is not said here.

    `text` is one JSON value. `immutable` is False for a mutable alias: a model name without an immutable
    version or digest. `execution_kind` says where the model runs, as far as configuration knows.
    """

    text: str
    input_tokens: int
    output_tokens: int
    finish_reason: str
    model_id: str
    provider: str
    runtime: str
    execution_kind: ExecutionMode
    immutable: bool


class ModelFaultKind(enum.Enum):
    """Why a call gave no answer.

    `too_long`: the prompt is over the context, or the answer over its bound or token contract.
    `truncated`: the answer was cut off, by the token limit or by the wire. `not_allowed`: refused here,
    before any call. `declined`: the model or its provider would not answer. `garbage`: something came that
    is no answer: no JSON, not the schema, an unreadable envelope, no token count.
    """

    UNAVAILABLE = "unavailable"
    TIMEOUT = "timeout"
    TOO_LONG = "too_long"
    EMPTY = "empty"
    TRUNCATED = "truncated"
    RATE_LIMITED = "rate_limited"
    UNAUTHORISED = "unauthorised"
    GARBAGE = "garbage"
    NOT_ALLOWED = "not_allowed"
    DECLINED = "declined"


class ModelFault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A call gave no answer: a visible outcome that never decides.

    `detail` is a code of lower-case letters, digits and underscores, never text from the other side. Token
    counts are what was reported, None where nobody reported them. `retry_after_s` is the provider's wish.
    """

    kind: ModelFaultKind
    detail: str
    provider: str
    model_id: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    retry_after_s: int | None = None


ModelOutcome = ModelAnswer | ModelFault
