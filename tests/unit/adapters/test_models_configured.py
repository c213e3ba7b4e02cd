# SPDX-License-Identifier: Apache-2.0
"""The [models] section is read whole or refused whole, and a request leaves only where its data may go."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from actum.adapters.models.anthropic import Anthropic
from actum.adapters.models.configured import (
    ConfiguredModels,
    ConfiguredTier,
    check_models,
    read_models,
)
from actum.adapters.models.embedded import Embedded
from actum.adapters.models.openai_compatible import OpenAICompatible
from actum.model.errors import UsageError
from actum.model.message import ExecutionMode
from actum.model.model_call import ModelAnswer, ModelFault, ModelFaultKind, ModelTier
from actum.testing.models import ScriptedModel
from tests.unit.adapters.model_endpoint import KEY, KEY_ENV, giving, request_of, serving

WHOLE = """
[models.fast]
adapter = "embedded"
max_output_tokens = 200

[models.capable]
adapter = "anthropic"
model = "careful-20261102"
key_env = "MY_PROVIDER_KEY"
data_classes = ["mail_text", "calendar"]
deadline_s = 30
"""
REMOTE: dict[str, Any] = {
    "adapter": "openai_compatible",
    "base_url": "https://models.example/v1",
    "model": "m-2026-11-02",
    "data_classes": ["mail_text"],
}


def _section(text: str) -> dict[str, Any]:
    return tomllib.loads(text)["models"]


def _problems(section: dict[str, Any]) -> dict[str, str]:
    found = check_models(section)
    assert isinstance(found, tuple), "the section was accepted"
    return {problem.path: problem.message for problem in found}


def _tier(section: dict[str, Any], tier: ModelTier = ModelTier.FAST) -> ConfiguredTier:
    return read_models(section).tiers[tier]


def test_the_tiers_lead_to_the_adapters_the_section_names() -> None:
    tiers = read_models(_section(WHOLE)).tiers
    fast, capable = tiers[ModelTier.FAST], tiers[ModelTier.CAPABLE]
    assert isinstance(fast.adapter, Embedded)
    assert (fast.data_classes, fast.max_output_tokens) == (None, 200)
    assert isinstance(capable.adapter, Anthropic)
    assert capable.adapter.endpoint.host == "api.anthropic.com"
    assert (capable.data_classes, capable.deadline_s) == (frozenset({"mail_text", "calendar"}), 30)


def test_a_chat_endpoint_takes_its_members() -> None:
    adapter = _tier(
        {
            "fast": {
                **REMOTE,
                "base_url": "http://localhost:8000/v1",
                "token_limit_name": "max_completion_tokens",
                "temperature": "provider",
                "hosted": "local",
            }
        }
    ).adapter
    assert isinstance(adapter, OpenAICompatible)
    assert (adapter.token_limit_name, adapter.sends_temperature) == ("max_completion_tokens", False)
    assert adapter.execution_kind is ExecutionMode.LOCAL_MODEL


def test_every_problem_of_the_section_is_reported_at_once() -> None:
    problems = _problems(
        {
            "quick": {"adapter": "embedded"},
            "fast": {"adapter": "embedded", "context_tokens": 1, "threads": True, "model": "x"},
            "capable": {
                "adapter": "openai_compatible",
                "base_url": "http://models.example/v1",
                "key_env": "not a name",
                "hosted": "somewhere",
                "deadline_s": 0,
            },
        }
    )
    assert sorted(problems) == [
        "capable.base_url",
        "capable.data_classes",
        "capable.deadline_s",
        "capable.hosted",
        "capable.key_env",
        "capable.model",
        "fast.context_tokens",
        "fast.model",
        "fast.threads",
        "quick",
    ]


@pytest.mark.parametrize(
    "changes, path",
    [
        ({"adapter": "openai"}, "fast.adapter"),
        ({"adapter": None}, "fast.adapter"),
        ({"base_url": "http://models.example/v1"}, "fast.base_url"),
        ({"base_url": "https://a:b@models.example"}, "fast.base_url"),
        ({"base_url": 7}, "fast.base_url"),
        ({"model": ""}, "fast.model"),
        ({"model": "two\nlines"}, "fast.model"),
        ({"data_classes": []}, "fast.data_classes"),
        ({"data_classes": ["Mail Text"]}, "fast.data_classes"),
        ({"data_classes": "mail_text"}, "fast.data_classes"),
        ({"max_output_tokens": 0}, "fast.max_output_tokens"),
        ({"max_output_tokens": "200"}, "fast.max_output_tokens"),
        ({"hosted": "local"}, "fast.hosted"),
        ({"proxy": "x"}, "fast.proxy"),
        ({"api_key": KEY}, "fast.api_key"),
        ({"key_env": KEY}, "fast.key_env"),
    ],
)
def test_one_wrong_member_is_refused_by_its_name(changes: dict[str, Any], path: str) -> None:
    table = {name: value for name, value in {**REMOTE, **changes}.items() if value is not None}
    assert list(_problems({"fast": table})) == [path]


def test_a_tier_that_is_no_table_is_refused() -> None:
    assert list(_problems({"fast": "embedded"})) == ["fast"]


@pytest.mark.parametrize(
    "section",
    [
        {"fast": {**REMOTE, "api_key": KEY}},
        {"fast": {**REMOTE, "key_env": KEY}},
        {"fast": {**REMOTE, KEY: "x"}},
        {"fast": {**REMOTE, "base_url": f"https://u:{KEY}@models.example"}},
        {KEY: {}},
    ],
)
def test_a_key_pasted_in_the_wrong_place_is_not_repeated(section: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        read_models(section)
    assert caught.value.code == "bad_models_section"
    assert KEY not in str(caught.value.to_json()) + str(caught.value) + repr(caught.value)


def test_r53_a_vendor_or_model_name_is_no_tier() -> None:
    for name in ("gpt-4o", "claude", "SmolLM2", "default"):
        assert name in _problems({name: {"adapter": "embedded"}})


def _models(script: list[Any], **tier: Any) -> tuple[ConfiguredModels, ScriptedModel]:
    model = ScriptedModel(script)
    members: dict[str, Any] = {"adapter": model, "adapter_name": "scripted", "data_classes": None, **tier}
    return ConfiguredModels({ModelTier.FAST: ConfiguredTier(**members)}), model


@pytest.mark.parametrize(
    "asked, detail",
    [
        ({"data_classes": ("payroll",)}, "data_class_not_allowed"),
        ({"data_classes": ("mail_text", "payroll")}, "data_class_not_allowed"),
        ({"data_classes": ()}, "data_classes_not_named"),
        ({"max_output_tokens": 201}, "token_contract_over_tier_limit"),
        ({"max_output_tokens": 0}, "token_contract_absent"),
    ],
)
def test_r33_what_a_tier_may_not_be_asked_is_refused_before_any_call(
    asked: dict[str, Any], detail: str
) -> None:
    models, model = _models(
        [{"category": "invoice"}], data_classes=frozenset({"mail_text"}), max_output_tokens=200
    )
    outcome = models.complete(request_of(**asked), deadline_s=5)
    assert isinstance(outcome, ModelFault)
    assert (outcome.kind, outcome.detail) == (ModelFaultKind.NOT_ALLOWED, detail)
    assert model.calls == 0


def test_an_allowed_request_reaches_the_tier_under_the_shorter_deadline() -> None:
    models, model = _models([{}, {}], data_classes=frozenset({"mail_text"}), deadline_s=3)
    assert isinstance(models.complete(request_of(), deadline_s=5), ModelAnswer)
    assert isinstance(models.complete(request_of(), deadline_s=2), ModelAnswer)
    assert model.requests == [request_of(), request_of()]
    assert model.deadlines_s == [3, 2]


def test_a_tier_nobody_configured_is_unavailable_and_no_other_takes_its_place() -> None:
    models, model = _models([{}])
    outcome = models.complete(request_of(tier=ModelTier.CAPABLE), deadline_s=5)
    assert isinstance(outcome, ModelFault)
    assert (outcome.kind, outcome.detail) == (ModelFaultKind.UNAVAILABLE, "tier_not_configured")
    assert model.calls == 0


def test_a_secret_that_slipped_into_a_packet_is_not_shown_to_a_model() -> None:
    models, model = _models([{}])
    models.complete(
        request_of(user_text="my password: hunter22", system_text=f"Authorization: Bearer {KEY}"),
        deadline_s=5,
    )
    assert model.requests[0].user_text == "my password: [redacted:password]"
    assert KEY not in model.requests[0].system_text


def test_every_example_of_the_page_on_models_is_accepted() -> None:
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "models.md").read_text()
    examples = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert [list(read_models(_section(text)).tiers) for text in examples] == [
        [ModelTier.FAST],
        [ModelTier.CAPABLE],
        [ModelTier.CAPABLE],
    ]


def test_a_section_from_a_file_reaches_a_real_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_ENV, KEY)
    answer = {
        "choices": [{"finish_reason": "stop", "message": {"content": '{"category": "meeting"}'}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4},
    }
    with serving(giving(answer)) as (base, seen):
        models = read_models({"fast": {**REMOTE, "base_url": base, "key_env": KEY_ENV}})
        outcome = models.complete(request_of(), deadline_s=10)
    assert isinstance(outcome, ModelAnswer)
    assert outcome.text == '{"category": "meeting"}'
    assert outcome.model_id == "m-2026-11-02"
    assert seen.bodies[0]["model"] == "m-2026-11-02"
