# SPDX-License-Identifier: Apache-2.0
"""Both HTTP adapters meet every kind of endpoint, real servers on loopback each, and answer with a value."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from actum.adapters.models import http_call
from actum.adapters.models.anthropic import TOOL_NAME, Anthropic
from actum.adapters.models.http_call import Endpoint, read_endpoint
from actum.adapters.models.openai_compatible import OpenAICompatible, is_closed
from actum.model.message import ExecutionMode
from actum.model.model_call import ModelAnswer, ModelFault, ModelFaultKind, ModelOutcome, ModelRequest
from tests.unit.adapters.model_endpoint import (
    KEY,
    KEY_ENV,
    SCHEMA,
    Behaviour,
    Seen,
    dripping,
    endless,
    giving,
    request_of,
    serving,
    silent,
)

FAULT = ModelFaultKind
MODEL = "careful-2026-11-02"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_ENV, KEY)


def _openai(base: str, model: str = MODEL) -> OpenAICompatible:
    endpoint = read_endpoint(base + "/v1")
    assert isinstance(endpoint, Endpoint)
    return OpenAICompatible(endpoint=endpoint, model=model, key_env=KEY_ENV)


def _anthropic(base: str, model: str = MODEL) -> Anthropic:
    endpoint = read_endpoint(base)
    assert isinstance(endpoint, Endpoint)
    return Anthropic(endpoint=endpoint, model=model, key_env=KEY_ENV)


def _openai_says(text: object, **changes: Any) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "model": MODEL,
        "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 30, "completion_tokens": 7},
    }
    return {**answer, **changes}


def _anthropic_says(text: str, **changes: Any) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "model": MODEL,
        "stop_reason": "tool_use",
        "content": [{"type": "tool_use", "name": TOOL_NAME, "input": json.loads(text)}],
        "usage": {"input_tokens": 30, "output_tokens": 7},
    }
    return {**answer, **changes}


ADAPTERS: list[Any] = [
    pytest.param(_openai, _openai_says, id="openai_compatible"),
    pytest.param(_anthropic, _anthropic_says, id="anthropic"),
]


def _ask(
    make: Callable[[str], Any],
    behaviour: Behaviour,
    *,
    request: ModelRequest | None = None,
    deadline_s: float = 10,
) -> tuple[ModelOutcome, Seen]:
    with serving(behaviour) as (base, seen):
        return make(base).complete(request or request_of(), deadline_s=deadline_s), seen


def _fault(outcome: ModelOutcome) -> tuple[ModelFaultKind, str]:
    assert isinstance(outcome, ModelFault), outcome
    return outcome.kind, outcome.detail


@pytest.mark.parametrize("make, says", ADAPTERS)
def test_a_good_answer_carries_its_meter_and_its_origin(make: Any, says: Any) -> None:
    outcome, seen = _ask(make, giving(says('{"category": "invoice"}')))
    assert isinstance(outcome, ModelAnswer)
    assert json.loads(outcome.text) == {"category": "invoice"}
    assert (outcome.input_tokens, outcome.output_tokens, outcome.model_id) == (30, 7, MODEL)
    assert outcome.execution_kind is ExecutionMode.CLOUD_MODEL
    assert outcome.immutable
    assert len(seen.bodies) == 1


def test_the_chat_completions_request_states_schema_contract_and_key() -> None:
    _, seen = _ask(_openai, giving(_openai_says('{"category": "invoice"}')))
    body = seen.bodies[0]
    assert seen.paths == ["/v1/chat/completions"]
    assert seen.headers[0]["authorization"] == f"Bearer {KEY}"
    assert body["max_tokens"] == 50
    assert (body["temperature"], body["seed"]) == (0, 1)
    assert body["response_format"]["json_schema"] == {"name": "answer", "strict": True, "schema": SCHEMA}
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert "tools" not in body


def test_the_messages_request_forces_the_one_tool_that_is_the_answer() -> None:
    _, seen = _ask(_anthropic, giving(_anthropic_says('{"category": "invoice"}')))
    body = seen.bodies[0]
    assert seen.paths == ["/v1/messages"]
    assert (seen.headers[0]["x-api-key"], seen.headers[0]["anthropic-version"]) == (KEY, "2023-06-01")
    assert body["max_tokens"] == 50
    assert body["tool_choice"] == {"type": "tool", "name": TOOL_NAME, "disable_parallel_tool_use": True}
    assert [tool["input_schema"] for tool in body["tools"]] == [SCHEMA]
    assert "temperature" not in body


BAD_WIRE: list[Any] = [
    pytest.param(giving(b"<html>hello"), (FAULT.GARBAGE, "body_not_json"), id="garbage"),
    pytest.param(giving(b""), (FAULT.EMPTY, "no_body"), id="empty body"),
    pytest.param(giving(b"  \n"), (FAULT.EMPTY, "no_body"), id="blank body"),
    pytest.param(giving(b"[]"), (FAULT.GARBAGE, "body_no_object"), id="no object"),
    pytest.param(giving(b'{"model": "a", "mod'), (FAULT.GARBAGE, "body_not_json"), id="truncated envelope"),
    pytest.param(
        giving(b'{"model":"a","model":"b"}'), (FAULT.GARBAGE, "body_duplicate_key"), id="duplicate key"
    ),
    pytest.param(giving(b'{"a": NaN}'), (FAULT.GARBAGE, "body_bad_number"), id="NaN"),
    pytest.param(giving(b"\xff\xfe{}"), (FAULT.GARBAGE, "body_not_utf8"), id="not UTF-8"),
    pytest.param(giving(b'{"a":' * 5000), (FAULT.GARBAGE, "body_too_deep"), id="too deep"),
    pytest.param(
        giving(b"{}", content_type="text/html"), (FAULT.GARBAGE, "content_type"), id="wrong content type"
    ),
    pytest.param(
        giving(b"{}", headers={"Content-Encoding": "gzip"}), (FAULT.GARBAGE, "content_type"), id="compressed"
    ),
    pytest.param(giving(b'{"a":1}', announced=999), (FAULT.TRUNCATED, "body_cut_off"), id="cut off"),
    pytest.param(giving({}, status=401), (FAULT.UNAUTHORISED, "http_401"), id="401"),
    pytest.param(giving({}, status=403), (FAULT.UNAUTHORISED, "http_403"), id="403"),
    pytest.param(giving({}, status=404), (FAULT.UNAVAILABLE, "http_404"), id="404"),
    pytest.param(giving({}, status=500), (FAULT.UNAVAILABLE, "http_500"), id="500"),
    pytest.param(giving({}, status=529), (FAULT.UNAVAILABLE, "http_529"), id="overloaded"),
    pytest.param(giving({}, status=413), (FAULT.TOO_LONG, "prompt_over_context"), id="413"),
    pytest.param(
        giving({"error": {"message": "prompt is too long: 9 > 8"}}, status=400),
        (FAULT.TOO_LONG, "prompt_over_context"),
        id="over context",
    ),
    pytest.param(
        giving({"error": {"message": "unknown member"}}, status=400),
        (FAULT.UNAVAILABLE, "http_400"),
        id="400",
    ),
    pytest.param(
        lambda handler: handler.wfile.write(b"SSH-2.0-x\r\n"), (FAULT.GARBAGE, "not_http"), id="no HTTP"
    ),
    pytest.param(lambda handler: None, (FAULT.UNAVAILABLE, "not_reached"), id="hangs up"),
]


@pytest.mark.parametrize("make, says", ADAPTERS)
@pytest.mark.parametrize("behaviour, expected", BAD_WIRE)
def test_r33_r34_what_the_wire_gets_wrong_is_a_fault(
    make: Any, says: Any, behaviour: Behaviour, expected: tuple[ModelFaultKind, str]
) -> None:
    del says
    outcome, seen = _ask(make, behaviour)
    assert _fault(outcome) == expected
    assert len(seen.bodies) == 1, "nothing is retried here"


@pytest.mark.parametrize("make, says", ADAPTERS)
def test_a_rate_limit_carries_the_wish_to_wait(make: Any, says: Any) -> None:
    del says
    outcome, _ = _ask(make, giving({}, status=429, headers={"Retry-After": "17"}))
    assert _fault(outcome) == (FAULT.RATE_LIMITED, "http_429")
    assert isinstance(outcome, ModelFault)
    assert outcome.retry_after_s == 17


@pytest.mark.parametrize("make, says", ADAPTERS)
@pytest.mark.parametrize("behaviour", [silent, dripping], ids=["silent", "dripping"])
def test_r33_a_slow_endpoint_is_cut_at_the_deadline(make: Any, says: Any, behaviour: Behaviour) -> None:
    del says
    started = time.monotonic()
    outcome, _ = _ask(make, behaviour, deadline_s=0.3)
    assert _fault(outcome) == (FAULT.TIMEOUT, "deadline_passed")
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("make, says", ADAPTERS)
def test_r33_an_endless_body_is_cut_at_its_bound(make: Any, says: Any) -> None:
    del says
    outcome, _ = _ask(make, endless, deadline_s=30)
    assert _fault(outcome) == (FAULT.TOO_LONG, "body_over_bound")


@pytest.mark.parametrize("make, says", ADAPTERS)
def test_r33_more_tokens_than_the_contract_do_not_decide(make: Any, says: Any) -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 51, "input_tokens": 1, "output_tokens": 51}
    outcome, _ = _ask(make, giving(says('{"category": "invoice"}', usage=usage)))
    assert _fault(outcome) == (FAULT.TOO_LONG, "tokens_over_contract")
    assert isinstance(outcome, ModelFault)
    assert outcome.output_tokens == 51, "what it cost is metered all the same"


@pytest.mark.parametrize("make, says", ADAPTERS)
@pytest.mark.parametrize("usage", [{}, None, {"prompt_tokens": -1, "input_tokens": "7"}])
def test_r30_r34_an_answer_nobody_counted_does_not_decide(make: Any, says: Any, usage: object) -> None:
    outcome, _ = _ask(make, giving(says('{"category": "invoice"}', usage=usage)))
    assert _fault(outcome) == (FAULT.GARBAGE, "token_count_absent")


@pytest.mark.parametrize("make, says", ADAPTERS)
@pytest.mark.parametrize(
    "text, detail",
    [
        ('{"category": "refund"}', "answer_not_of_schema_enum"),
        ("{}", "answer_not_of_schema_required"),
        (
            '{"category": "invoice", "execute": "payments.refund"}',
            "answer_not_of_schema_additionalproperties",
        ),
    ],
)
def test_r34_json_outside_the_schema_does_not_decide(make: Any, says: Any, text: str, detail: str) -> None:
    outcome, _ = _ask(make, giving(says(text)))
    assert _fault(outcome) == (FAULT.GARBAGE, detail)


@pytest.mark.parametrize(
    "text, expected",
    [
        ('{"category": "inv', (FAULT.GARBAGE, "answer_not_json_not_json")),
        ('{"category": "meeting", "category": "invoice"}', (FAULT.GARBAGE, "answer_not_json_duplicate_key")),
        ('Sure! {"category": "invoice"}', (FAULT.GARBAGE, "answer_not_json_not_json")),
        ("", (FAULT.EMPTY, "no_text")),
        (None, (FAULT.EMPTY, "no_text")),
        (["invoice"], (FAULT.EMPTY, "no_text")),
    ],
)
def test_r34_text_that_is_no_json_does_not_decide(text: object, expected: tuple[ModelFaultKind, str]) -> None:
    outcome, _ = _ask(_openai, giving(_openai_says(text)))
    assert _fault(outcome) == expected


def _finished(reason: object, **message: Any) -> dict[str, Any]:
    told = {"content": '{"category": "invoice"}', **message}
    return _openai_says("", choices=[{"finish_reason": reason, "message": told}])


@pytest.mark.parametrize(
    "answer, expected",
    [
        (_finished("length"), (FAULT.TRUNCATED, "token_limit")),
        (_finished("content_filter"), (FAULT.DECLINED, "content_filter")),
        (_finished(None), (FAULT.GARBAGE, "finish_reason_unknown")),
        (_finished(KEY), (FAULT.GARBAGE, "finish_reason_unknown")),
        (_finished("stop", refusal="I would rather not"), (FAULT.DECLINED, "refusal")),
        (_finished("stop", tool_calls=[{"id": "1"}]), (FAULT.GARBAGE, "tool_call_not_offered")),
        (_openai_says("", choices=[]), (FAULT.EMPTY, "no_choices")),
    ],
)
def test_r33_r34_a_chat_answer_that_did_not_end_well_does_not_decide(
    answer: object, expected: tuple[ModelFaultKind, str]
) -> None:
    outcome, _ = _ask(_openai, giving(answer))
    assert _fault(outcome) == expected


_GOOD_CALL = {"type": "tool_use", "name": TOOL_NAME, "input": {"category": "invoice"}}


@pytest.mark.parametrize(
    "changes, expected",
    [
        ({"stop_reason": "max_tokens"}, (FAULT.TRUNCATED, "token_limit")),
        ({"stop_reason": "model_context_window_exceeded"}, (FAULT.TOO_LONG, "prompt_over_context")),
        ({"stop_reason": "refusal"}, (FAULT.DECLINED, "refusal")),
        ({"stop_reason": "end_turn"}, (FAULT.GARBAGE, "stop_reason_unknown")),
        ({"content": [_GOOD_CALL, _GOOD_CALL]}, (FAULT.GARBAGE, "several_answers")),
        ({"content": [{**_GOOD_CALL, "name": "shell"}]}, (FAULT.GARBAGE, "tool_call_not_offered")),
        ({"content": [{"type": "text", "text": "Done, I have paid it."}]}, (FAULT.EMPTY, "no_text")),
        ({"content": "Done"}, (FAULT.EMPTY, "no_text")),
    ],
)
def test_r33_r34_a_message_that_did_not_end_well_does_not_decide(
    changes: dict[str, Any], expected: tuple[ModelFaultKind, str]
) -> None:
    outcome, _ = _ask(_anthropic, giving(_anthropic_says("{}", **changes)))
    assert _fault(outcome) == expected


def test_cached_input_tokens_are_metered_too() -> None:
    usage = {
        "input_tokens": 3,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 20,
        "output_tokens": 7,
    }
    outcome, _ = _ask(_anthropic, giving(_anthropic_says('{"category": "invoice"}', usage=usage)))
    assert isinstance(outcome, ModelAnswer)
    assert outcome.input_tokens == 123


@pytest.mark.parametrize("make, says", ADAPTERS)
def test_r36_valid_json_that_proposes_a_forbidden_action_stays_text(
    make: Any, says: Any, tmp_path: Path
) -> None:
    target = tmp_path / "kept.txt"
    target.write_text("kept")
    schema = {"type": "object", "properties": {"action": {"type": "string"}, "path": {"type": "string"}}}
    proposal = {"action": "files.delete_permanently", "path": str(target)}
    outcome, _ = _ask(make, giving(says(json.dumps(proposal))), request=request_of(json_schema=schema))
    assert isinstance(outcome, ModelAnswer)
    assert json.loads(outcome.text) == proposal
    assert target.read_text() == "kept"


@pytest.mark.parametrize("make, says", ADAPTERS)
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_refused_and_nothing_is_sent_there(make: Any, says: Any, status: int) -> None:
    with serving(giving(says('{"category": "invoice"}'))) as (elsewhere, seen_elsewhere):
        outcome, _ = _ask(make, giving({}, status=status, headers={"Location": elsewhere}))
    assert _fault(outcome) == (FAULT.UNAVAILABLE, "redirect_refused")
    assert seen_elsewhere.paths == []


@pytest.mark.parametrize("make, says", ADAPTERS)
@pytest.mark.parametrize("key", ["", "two words", "line\r\nX-Evil: 1", "ключ"])
def test_an_absent_or_unusable_key_is_refused_before_any_call(
    make: Any, says: Any, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_ENV, key)
    outcome, seen = _ask(make, giving(says('{"category": "invoice"}')))
    assert _fault(outcome) == (FAULT.UNAUTHORISED, "key_absent")
    assert seen.paths == []


@pytest.mark.parametrize("make, says", ADAPTERS)
@pytest.mark.parametrize("status", [200, 401, 500])
def test_the_key_is_in_no_outcome_even_if_the_endpoint_says_it_back(
    make: Any, says: Any, status: int
) -> None:
    echo = says('{"category": "invoice"}', model=KEY, stop_reason=KEY, error={"type": KEY, "message": KEY})
    outcome, _ = _ask(make, giving(echo, status=status))
    assert KEY not in repr(outcome)
    assert KEY not in repr(make("http://127.0.0.1:1"))


@pytest.mark.parametrize("make, says", ADAPTERS)
@pytest.mark.parametrize(
    "asked, answered, immutable",
    [
        ("careful-2026-11-02", "careful-2026-11-02", True),
        ("careful-20261102", "careful-20261102", True),
        ("careful-20261102", "other-20261102", False),
        ("careful", "careful-2026-11-02", False),
        ("careful-latest", "careful-latest", False),
        ("careful-4-1", "careful-4-1", False),
    ],
)
def test_n40_an_alias_is_a_name_without_a_fixed_version(
    make: Any, says: Any, asked: str, answered: str, immutable: bool
) -> None:
    outcome, _ = _ask(lambda base: make(base, asked), giving(says('{"category": "invoice"}', model=answered)))
    assert isinstance(outcome, ModelAnswer)
    assert (outcome.model_id, outcome.immutable) == (answered, immutable)


@pytest.mark.parametrize("make, says", ADAPTERS)
def test_an_endpoint_that_is_not_there_is_unavailable(make: Any, says: Any) -> None:
    del says
    with socket.socket() as bound:
        # The port is taken and nobody listens on it.
        bound.bind(("127.0.0.1", 0))
        outcome = make(f"http://127.0.0.1:{bound.getsockname()[1]}").complete(request_of(), deadline_s=5)
    assert _fault(outcome) == (FAULT.UNAVAILABLE, "not_reached")


def test_plain_http_to_a_name_that_is_not_this_machine_is_refused() -> None:
    assert isinstance(read_endpoint("http://models.example/v1"), str)
    assert isinstance(read_endpoint("http://127.0.0.1.example/v1"), str)
    assert isinstance(read_endpoint("ftp://localhost/v1"), str)
    assert isinstance(read_endpoint("https://user:pass@models.example/v1"), str)
    assert isinstance(read_endpoint("https://models.example/v1?key=1"), str)
    assert isinstance(read_endpoint("https://models.example\r\nX: 1"), str)
    assert isinstance(read_endpoint("https://models.example:99999"), str)
    endpoint = read_endpoint("https://models.example/v1/")
    assert endpoint == Endpoint(secure=True, host="models.example", port=443, path="/v1")


def test_a_loopback_name_that_leads_elsewhere_gets_no_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    class Abroad:
        def getpeername(self) -> tuple[str, int]:
            return ("192.0.2.7", 80)

        def close(self) -> None:
            pass

    monkeypatch.setattr(http_call.socket, "create_connection", lambda *_args, **_how: Abroad())
    outcome = _openai("http://localhost:8080").complete(request_of(), deadline_s=5)
    assert _fault(outcome) == (FAULT.NOT_ALLOWED, "plain_http_not_loopback")


def test_tls_is_not_skipped_for_an_endpoint_that_cannot_do_it() -> None:
    with serving(giving(_openai_says('{"category": "invoice"}'))) as (base, seen):
        outcome = _openai(base.replace("http:", "https:")).complete(request_of(), deadline_s=5)
    assert _fault(outcome) == (FAULT.UNAVAILABLE, "tls_failed")
    assert seen.paths == []


def test_strict_is_asked_only_of_a_schema_that_declares_everything() -> None:
    assert is_closed(SCHEMA)
    assert not is_closed({**SCHEMA, "required": []})
    assert not is_closed({**SCHEMA, "additionalProperties": True})
    assert not is_closed({"type": "array", "items": {"type": "object"}})
    assert not is_closed({"anyOf": [SCHEMA, {"type": "object"}]})


def test_the_messages_api_is_not_asked_for_what_no_tool_can_give() -> None:
    schema = {"type": "string"}
    outcome, seen = _ask(_anthropic, giving({}), request=request_of(json_schema=schema))
    assert _fault(outcome) == (FAULT.UNAVAILABLE, "schema_not_object")
    assert seen.paths == []
