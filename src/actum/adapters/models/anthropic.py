# SPDX-License-Identifier: Apache-2.0
"""The Anthropic Messages API answers through one forced tool whose input schema is the answer's schema.

The tool exists only to give the answer its shape: nothing runs it. A forced tool works on every model and on
endpoints that imitate this API, where the newer output format does not. No temperature is sent, because newer
models refuse one; replay never needs it, for the answer itself is kept.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from actum.adapters.models.admission import Heard, Origin, admit, answered_name, is_immutable_name
from actum.adapters.models.http_call import Endpoint, ExchangeFault, count, member, post_json
from actum.adapters.models.secret_key import read_key
from actum.model.foreign import dump_foreign
from actum.model.message import ExecutionMode
from actum.model.model_call import ModelFault, ModelFaultKind, ModelOutcome, ModelRequest

API_VERSION = "2023-06-01"
TOOL_NAME = "give_answer"


class Anthropic(msgspec.Struct, frozen=True, kw_only=True):
    """The adapter for `POST {base}/v1/messages`; `key_env` names the environment variable of the key."""

    endpoint: Endpoint
    model: str
    key_env: str

    def complete(self, request: ModelRequest, *, deadline_s: float) -> ModelOutcome:
        """Return the answer or the fault; see `actum.ports.model.ModelPort`."""
        if request.json_schema.get("type") != "object":
            return self._origin().fault(ModelFaultKind.UNAVAILABLE, "schema_not_object")
        key = read_key(self.key_env)
        if key is None:
            return self._origin().fault(ModelFaultKind.UNAUTHORISED, "key_absent")
        answer = post_json(
            self.endpoint,
            "/v1/messages",
            headers={"x-api-key": key, "anthropic-version": API_VERSION},
            body=self._body(request),
            deadline_s=deadline_s,
        )
        if isinstance(answer, ExchangeFault):
            return self._origin().fault(answer.kind, answer.detail, retry_after_s=answer.retry_after_s)
        return self._read(answer.members, request, key)

    def _body(self, request: ModelRequest) -> dict[str, object]:
        return {
            "model": self.model,
            "max_tokens": request.max_output_tokens,
            "system": request.system_text,
            "messages": [{"role": "user", "content": request.user_text}],
            "tools": [
                {
                    "name": TOOL_NAME,
                    "description": "Give the answer. Calling this does nothing else.",
                    "input_schema": request.json_schema,
                }
            ],
            "tool_choice": {"type": "tool", "name": TOOL_NAME, "disable_parallel_tool_use": True},
        }

    def _read(self, members: dict[str, Any], request: ModelRequest, key: str | None) -> ModelOutcome:
        origin = self._origin(member(members, "model"), key)
        stopped = member(members, "stop_reason")
        calls = _tool_calls(members)
        heard = Heard(
            text=dump_foreign(member(calls[0], "input")).decode("utf-8") if len(calls) == 1 else None,
            finish_reason=stopped if isinstance(stopped, str) else "",
            input_tokens=_input_tokens(member(members, "usage")),
            output_tokens=count(member(members, "usage", "output_tokens")),
        )
        fault = _fault_in(calls, heard, origin)
        return fault if fault is not None else admit(heard, request=request, origin=origin, key=key)

    def _origin(self, answered: object = None, key: str | None = None) -> Origin:
        named = answered_name(answered, asked=self.model, key=key)
        return Origin(
            provider=f"anthropic:{self.endpoint.host}",
            runtime=f"messages/{API_VERSION}",
            model_id=named,
            execution_kind=ExecutionMode.CLOUD_MODEL,
            immutable=is_immutable_name(self.model) and named == self.model,
        )


def _fault_in(calls: list[object], heard: Heard, origin: Origin) -> ModelFault | None:
    def fault(kind: ModelFaultKind, detail: str) -> ModelFault:
        return origin.fault(kind, detail, input_tokens=heard.input_tokens, output_tokens=heard.output_tokens)

    match heard.finish_reason:
        case "tool_use":
            pass
        case "max_tokens":
            return fault(ModelFaultKind.TRUNCATED, "token_limit")
        case "model_context_window_exceeded":
            return fault(ModelFaultKind.TOO_LONG, "prompt_over_context")
        case "refusal":
            return fault(ModelFaultKind.DECLINED, "refusal")
        case _:
            return fault(ModelFaultKind.GARBAGE, "stop_reason_unknown")
    if len(calls) > 1:
        return fault(ModelFaultKind.GARBAGE, "several_answers")
    if calls and member(calls[0], "name") != TOOL_NAME:
        return fault(ModelFaultKind.GARBAGE, "tool_call_not_offered")
    return None


def _tool_calls(members: dict[str, Any]) -> list[object]:
    blocks = member(members, "content")
    if not isinstance(blocks, list):
        return []
    return [block for block in cast("list[object]", blocks) if member(block, "type") == "tool_use"]


def _input_tokens(usage: object) -> int | None:
    plain = count(member(usage, "input_tokens"))
    if plain is None:
        return None
    # Tokens that went through the provider's cache were read too, and are counted beside the plain ones.
    cached = (count(member(usage, f"cache_{word}_input_tokens")) for word in ("creation", "read"))
    return plain + sum(tokens or 0 for tokens in cached)
