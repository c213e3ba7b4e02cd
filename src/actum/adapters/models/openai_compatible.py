# SPDX-License-Identifier: Apache-2.0
"""Any endpoint that speaks the chat completions format answers here, under a JSON schema.

What the endpoint says of itself (model name, token counts) is its word; it is recorded as such. Tools are
never offered, so a tool call in the answer is garbage and not an action.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from actum.adapters.models.admission import Heard, Origin, admit, answered_name, is_immutable_name
from actum.adapters.models.http_call import Endpoint, ExchangeFault, count, member, post_json
from actum.adapters.models.secret_key import read_key
from actum.model.message import ExecutionMode
from actum.model.model_call import ModelFault, ModelFaultKind, ModelOutcome, ModelRequest


class OpenAICompatible(msgspec.Struct, frozen=True, kw_only=True):
    """The adapter for `POST {base}/chat/completions`.

    `key_env` names the environment variable of the key, None for an endpoint without one. `token_limit_name`
    is `max_tokens` or `max_completion_tokens`; `sends_temperature` is False for models that refuse it.
    `execution_kind` is what the operator declared: this adapter cannot see what stands behind a host.
    """

    endpoint: Endpoint
    model: str
    key_env: str | None = None
    token_limit_name: str = "max_tokens"
    sends_temperature: bool = True
    execution_kind: ExecutionMode = ExecutionMode.CLOUD_MODEL

    def complete(self, request: ModelRequest, *, deadline_s: float) -> ModelOutcome:
        """Return the answer or the fault; see `actum.ports.model.ModelPort`."""
        headers: dict[str, str] = {}
        key: str | None = None
        if self.key_env is not None:
            key = read_key(self.key_env)
            if key is None:
                return self._origin().fault(ModelFaultKind.UNAUTHORISED, "key_absent")
            headers["Authorization"] = f"Bearer {key}"
        answer = post_json(
            self.endpoint,
            "/chat/completions",
            headers=headers,
            body=self._body(request),
            deadline_s=deadline_s,
        )
        if isinstance(answer, ExchangeFault):
            return self._origin().fault(answer.kind, answer.detail, retry_after_s=answer.retry_after_s)
        return self._read(answer.members, request, key)

    def _body(self, request: ModelRequest) -> dict[str, object]:
        schema = request.json_schema
        body: dict[str, object] = {
            "model": self.model,
            "messages": [
                {"role": "system", "content": request.system_text},
                {"role": "user", "content": request.user_text},
            ],
            self.token_limit_name: request.max_output_tokens,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": is_closed(schema), "schema": schema},
            },
        }
        if self.sends_temperature:
            body |= {"temperature": 0, "seed": 1}
        return body

    def _read(self, members: dict[str, Any], request: ModelRequest, key: str | None) -> ModelOutcome:
        origin = self._origin(member(members, "model"), key)
        heard = Heard(
            text=_text_or_none(member(members, "choices", 0, "message", "content")),
            finish_reason=_text_or_none(member(members, "choices", 0, "finish_reason")) or "",
            input_tokens=count(member(members, "usage", "prompt_tokens")),
            output_tokens=count(member(members, "usage", "completion_tokens")),
        )
        fault = self._fault_in(members, heard, origin)
        return fault if fault is not None else admit(heard, request=request, origin=origin, key=key)

    def _fault_in(self, members: dict[str, Any], heard: Heard, origin: Origin) -> ModelFault | None:
        def fault(kind: ModelFaultKind, detail: str) -> ModelFault:
            return origin.fault(
                kind, detail, input_tokens=heard.input_tokens, output_tokens=heard.output_tokens
            )

        if not member(members, "choices"):
            return fault(ModelFaultKind.EMPTY, "no_choices")
        message = member(members, "choices", 0, "message")
        if member(message, "tool_calls") or member(message, "function_call"):
            return fault(ModelFaultKind.GARBAGE, "tool_call_not_offered")
        if member(message, "refusal"):
            return fault(ModelFaultKind.DECLINED, "refusal")
        match heard.finish_reason:
            case "stop":
                return None
            case "length":
                return fault(ModelFaultKind.TRUNCATED, "token_limit")
            case "content_filter":
                return fault(ModelFaultKind.DECLINED, "content_filter")
            case _:
                return fault(ModelFaultKind.GARBAGE, "finish_reason_unknown")

    def _origin(self, answered: object = None, key: str | None = None) -> Origin:
        named = answered_name(answered, asked=self.model, key=key)
        return Origin(
            provider=f"openai_compatible:{self.endpoint.host}",
            runtime="chat_completions",
            model_id=named,
            execution_kind=self.execution_kind,
            # The next call goes by the asked name, so that name decides; another answered name undoes it.
            immutable=is_immutable_name(self.model) and named == self.model,
        )


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def is_closed(schema: object) -> bool:
    """Every object in the schema declares all its members as required and allows no other.

    Endpoints refuse `strict` for any other schema; without it they only try, and the gate still checks.
    """
    if isinstance(schema, list):
        return all(is_closed(one) for one in cast("list[object]", schema))
    if not isinstance(schema, Mapping):
        return True
    keywords = cast("Mapping[str, Any]", schema)
    if "properties" in keywords or keywords.get("type") == "object":
        names: Mapping[str, Any] = keywords.get("properties", {})
        required: list[str] = keywords.get("required", [])
        if keywords.get("additionalProperties") is not False or set(names) != set(required):
            return False
        if not all(is_closed(one) for one in names.values()):
            return False
    return all(is_closed(keywords[name]) for name in ("items", "anyOf") if name in keywords)
