# SPDX-License-Identifier: Apache-2.0
"""Every adapter's answer passes the same gate: inside the token contract, one JSON value, of the schema."""

from __future__ import annotations

import re

import msgspec

from actum.kernel.answer import admit_answer
from actum.kernel.redaction import redact
from actum.model.errors import Refused
from actum.model.message import ExecutionMode
from actum.model.model_call import ModelAnswer, ModelFault, ModelFaultKind, ModelOutcome, ModelRequest


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where an answer came from, for its provenance."""

    provider: str
    runtime: str
    model_id: str
    execution_kind: ExecutionMode
    immutable: bool

    def fault(
        self,
        kind: ModelFaultKind,
        detail: str,
        *,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        retry_after_s: int | None = None,
    ) -> ModelFault:
        """Return the fault of this origin; `detail` is a code of ours."""
        return ModelFault(
            kind=kind,
            detail=detail,
            provider=self.provider,
            model_id=self.model_id,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            retry_after_s=retry_after_s,
        )


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """What an adapter heard from its model before anything was judged; None where nothing was said of it."""

    text: str | None
    finish_reason: str
    input_tokens: int | None
    output_tokens: int | None


def admit(heard: Heard, *, request: ModelRequest, origin: Origin, key: str | None = None) -> ModelOutcome:
    """Return the answer if it may be read as one, else the fault that says why not.

    The order matters: an answer without a token count cannot be metered, so it is no answer, and one over its
    contract is refused before its text is looked at. `key` is the secret that the other side was handed.
    """

    def fault(kind: ModelFaultKind, detail: str) -> ModelFault:
        return origin.fault(kind, detail, input_tokens=heard.input_tokens, output_tokens=heard.output_tokens)

    if heard.input_tokens is None or heard.output_tokens is None:
        return fault(ModelFaultKind.GARBAGE, "token_count_absent")
    if heard.output_tokens > request.max_output_tokens:
        return fault(ModelFaultKind.TOO_LONG, "tokens_over_contract")
    if heard.text is None or not heard.text.strip():
        return fault(ModelFaultKind.EMPTY, "no_text")
    if key and key in heard.text:
        return fault(ModelFaultKind.GARBAGE, "key_in_answer")
    admitted = admit_answer(heard.text, schema=request.json_schema)
    if isinstance(admitted, Refused):
        return fault(ModelFaultKind.GARBAGE, _detail_of(admitted))
    return ModelAnswer(
        text=heard.text,
        input_tokens=heard.input_tokens,
        output_tokens=heard.output_tokens,
        finish_reason=heard.finish_reason,
        model_id=origin.model_id,
        provider=origin.provider,
        runtime=origin.runtime,
        execution_kind=origin.execution_kind,
        immutable=origin.immutable,
    )


def _detail_of(refused: Refused) -> str:
    # The path of the place holds member names the model chose, so it stays out of the code.
    return code(f"{refused.reason}_{refused.facts.get('code') or refused.facts.get('keyword') or ''}")


def code(text: str) -> str:
    """Return `text` as a code of at most 64 lower-case letters, digits and underscores."""
    return re.sub(r"[^a-z0-9]{1,64}", "_", text[:64].lower()).strip("_") or "unknown"


_DATE = r"-20[0-9]{2}(-?)[01][0-9]\1[0-3][0-9](?:-v[0-9]{1,4})?"
_DIGEST = r"@(?:sha256:)?[0-9a-f]{40,64}"
_fixed_version = re.compile(rf"(?:{_DATE}|{_DIGEST})\Z", re.ASCII)


def is_immutable_name(name: str) -> bool:
    """A model name fixes its version only if it ends in a full date or a digest; all others are aliases.

    >>> [is_immutable_name(name) for name in ("m-2026-11-02", "m-20261102", "m-latest", "m-4")]
    [True, True, False, False]
    """
    return _fixed_version.search(name) is not None


_model_name = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,199}", re.ASCII)


def answered_name(answered: object, *, asked: str, key: str | None) -> str:
    """Return the model name the other side gave, or the asked one where it gave none that could be a name."""
    if not isinstance(answered, str) or _model_name.fullmatch(answered) is None:
        return asked
    # The other side holds our key and could put it here, where it would be kept in every record.
    return asked if redact(answered)[1] or (key and key in answered) else answered
