# SPDX-License-Identifier: Apache-2.0
"""The two tiers lead to what `actum.toml` names for them, and a request leaves only where its data may go.

The section is read whole: every problem in it is reported, none is guessed around, and no value of it is
repeated in a message, because a key pasted in the wrong place would be repeated too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from actum.adapters.models.anthropic import Anthropic
from actum.adapters.models.embedded import DEFAULT_CONTEXT_TOKENS, Embedded
from actum.adapters.models.http_call import Endpoint, read_endpoint
from actum.adapters.models.openai_compatible import OpenAICompatible
from actum.kernel.redaction import redact
from actum.model.errors import UsageError
from actum.model.message import ExecutionMode
from actum.model.model_call import ModelFault, ModelFaultKind, ModelOutcome, ModelRequest, ModelTier
from actum.ports.model import ModelPort


class ConfigurationProblem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing wrong with the section: where (dotted path), and a sentence that repeats no value."""

    path: str
    message: str


class ConfiguredTier(msgspec.Struct, frozen=True, kw_only=True):
    """One tier: what answers, which data it may be shown (None: every class), and its limits."""

    adapter: ModelPort
    adapter_name: str
    data_classes: frozenset[str] | None
    max_output_tokens: int | None = None
    deadline_s: int | None = None

    @property
    def kind(self) -> ExecutionMode:
        """Where its model runs, as far as configuration says."""
        if isinstance(self.adapter, OpenAICompatible):
            return self.adapter.execution_kind
        return ExecutionMode.LOCAL_MODEL if isinstance(self.adapter, Embedded) else ExecutionMode.CLOUD_MODEL


class ConfiguredModels:
    """Routes each request to its tier; refuses, before any call, what the tier may not be shown or asked."""

    def __init__(self, tiers: Mapping[ModelTier, ConfiguredTier]) -> None:
        self._tiers = dict(tiers)

    @property
    def tiers(self) -> dict[ModelTier, ConfiguredTier]:
        """The tiers that are configured."""
        return dict(self._tiers)

    def complete(self, request: ModelRequest, *, deadline_s: float) -> ModelOutcome:
        """Return the tier's answer or fault; see `actum.ports.model.ModelPort`.

        The texts pass redaction once more on their way out. They have passed it at capture, so this changes
        nothing unless a caller forgot to; what is sent is the same for the same packet either way.
        """
        tier = self._tiers.get(request.tier)
        if tier is None:
            return _refused(request, ModelFaultKind.UNAVAILABLE, "tier_not_configured")
        detail = _reason_to_refuse(request, tier)
        if detail is not None:
            return _refused(request, ModelFaultKind.NOT_ALLOWED, detail)
        sent = msgspec.structs.replace(
            request, system_text=redact(request.system_text)[0], user_text=redact(request.user_text)[0]
        )
        limit_s = deadline_s if tier.deadline_s is None else min(deadline_s, tier.deadline_s)
        return tier.adapter.complete(sent, deadline_s=limit_s)


def read_models(section: Mapping[str, object]) -> ConfiguredModels:
    """Return the tiers of an `actum.toml` [models] section.

    Raises UsageError `bad_models_section` that names every problem; fact `problems` holds one on each line.
    """
    found = check_models(section)
    if isinstance(found, ConfiguredModels):
        return found
    listed = [f"models{'.' if problem.path else ''}{problem.path}: {problem.message}" for problem in found]
    raise UsageError(
        "bad_models_section",
        failed="The [models] section of actum.toml was refused: " + "; ".join(listed),
        state="No model was configured and none was called",
        next_step="Correct the named members; the page on models lists every member",
        problems="\n".join(listed),
    )


def check_models(section: Mapping[str, object]) -> ConfiguredModels | tuple[ConfigurationProblem, ...]:
    """Return the configured tiers, or every problem of the section."""
    problems: list[ConfigurationProblem] = []
    tiers: dict[ModelTier, ConfiguredTier] = {}
    names = {tier.value: tier for tier in ModelTier}
    for name, table in section.items():
        if name not in names:
            problems.append(
                ConfigurationProblem(
                    path=_shown(name), message="a tier is named fast or capable, nothing else"
                )
            )
        elif not isinstance(table, Mapping):
            problems.append(ConfigurationProblem(path=name, message="it is not a table"))
        else:
            tier = _Table(name, cast("Mapping[str, object]", table), problems).read()
            if tier is not None:
                tiers[names[name]] = tier
    return tuple(problems) if problems else ConfiguredModels(tiers)


def _reason_to_refuse(request: ModelRequest, tier: ConfiguredTier) -> str | None:
    if tier.data_classes is not None:
        if not request.data_classes:
            return "data_classes_not_named"
        if not tier.data_classes.issuperset(request.data_classes):
            return "data_class_not_allowed"
    if request.max_output_tokens < 1:
        return "token_contract_absent"
    if tier.max_output_tokens is not None and request.max_output_tokens > tier.max_output_tokens:
        return "token_contract_over_tier_limit"
    return None


def _refused(request: ModelRequest, kind: ModelFaultKind, detail: str) -> ModelFault:
    return ModelFault(kind=kind, detail=detail, provider="none", model_id=f"tier:{request.tier.value}")


def _shown(name: str) -> str:
    # A member's name is the reader's only way to find it, but a pasted key, which is long, can stand there.
    return name if re.fullmatch(r"[A-Za-z0-9_-]{1,24}", name) and not redact(name)[1] else "(unreadable name)"


_COMMON = frozenset({"adapter", "data_classes", "max_output_tokens", "deadline_s"})
_MEMBERS = {
    "embedded": frozenset({"weights", "context_tokens", "threads"}),
    "openai_compatible": frozenset(
        {"base_url", "model", "key_env", "token_limit_name", "temperature", "hosted"}
    ),
    "anthropic": frozenset({"base_url", "model", "key_env"}),
}
_KEY_LIKE = re.compile(r"(?i)key$|token$|secret$|password$|authorization$")
_ANTHROPIC_URL = "https://api.anthropic.com"


class _Table:
    """Reads one tier's table; every member is read once, so that every problem is seen in one pass."""

    def __init__(self, name: str, table: Mapping[str, object], problems: list[ConfigurationProblem]) -> None:
        self._name = name
        self._table = table
        self._problems = problems

    def read(self) -> ConfiguredTier | None:
        before = len(self._problems)
        builders: dict[str, Callable[[], ModelPort | None]] = {
            "embedded": self._embedded,
            "openai_compatible": self._openai_compatible,
            "anthropic": self._anthropic,
        }
        kind = self._choice("adapter", tuple(builders), default=None)
        if kind is None:
            return None
        self._refuse_unknown(_COMMON | _MEMBERS[kind])
        # Data that stays in this process may be of any class; what leaves it must be named.
        classes = self._data_classes(required=kind != "embedded")
        max_output_tokens = self._whole("max_output_tokens", least=1, most=1_000_000)
        deadline_s = self._whole("deadline_s", least=1, most=3600)
        adapter = builders[kind]()
        if adapter is None or len(self._problems) > before:
            return None
        return ConfiguredTier(
            adapter=adapter,
            adapter_name=kind,
            data_classes=classes,
            max_output_tokens=max_output_tokens,
            deadline_s=deadline_s,
        )

    def _embedded(self) -> ModelPort | None:
        weights = self._text("weights", required=False)
        context_tokens = self._whole("context_tokens", least=256, most=131_072)
        threads = self._whole("threads", least=1, most=256)
        return Embedded(
            weights=Path(weights) if weights else None,
            context_tokens=context_tokens or DEFAULT_CONTEXT_TOKENS,
            threads=threads or 0,
        )

    def _openai_compatible(self) -> ModelPort | None:
        endpoint = self._endpoint(default=None)
        model = self._text("model", required=True)
        key_env = self._key_env(required=False)
        limit_name = self._choice(
            "token_limit_name", ("max_tokens", "max_completion_tokens"), default="max_tokens"
        )
        temperature = self._choice("temperature", ("zero", "provider"), default="zero")
        hosted = self._choice("hosted", ("cloud", "local"), default="cloud")
        if endpoint is None or model is None or limit_name is None:
            return None
        if hosted == "local" and not endpoint.is_loopback:
            self._problem("hosted", "only a model behind localhost, 127.0.0.1 or ::1 can be local")
        return OpenAICompatible(
            endpoint=endpoint,
            model=model,
            key_env=key_env,
            token_limit_name=limit_name,
            sends_temperature=temperature == "zero",
            execution_kind=ExecutionMode.LOCAL_MODEL if hosted == "local" else ExecutionMode.CLOUD_MODEL,
        )

    def _anthropic(self) -> ModelPort | None:
        endpoint = self._endpoint(default=_ANTHROPIC_URL)
        model = self._text("model", required=True)
        key_env = self._key_env(required=True)
        if endpoint is None or model is None or key_env is None:
            return None
        return Anthropic(endpoint=endpoint, model=model, key_env=key_env)

    def _problem(self, member: str, message: str) -> None:
        self._problems.append(ConfigurationProblem(path=f"{self._name}.{member}", message=message))

    def _refuse_unknown(self, known: frozenset[str]) -> None:
        for name in self._table:
            if name in known:
                continue
            if _KEY_LIKE.search(name):
                self._problem(
                    _shown(name), "a key is never written here; key_env names its environment variable"
                )
            else:
                self._problem(_shown(name), "this adapter has no such member")

    def _text(self, member: str, *, required: bool) -> str | None:
        value = self._table.get(member)
        if value is None and not required:
            return None
        if not isinstance(value, str) or not value or not value.isprintable() or len(value) > 1000:
            self._problem(
                member, "it must be one line of text" if member in self._table else "it is required"
            )
            return None
        return value

    def _key_env(self, *, required: bool) -> str | None:
        name = self._text("key_env", required=required)
        if name is not None and not re.fullmatch(r"[A-Z_][A-Z0-9_]{0,127}", name, re.ASCII):
            self._problem("key_env", "it must name an environment variable, as in MY_PROVIDER_KEY")
            return None
        return name

    def _endpoint(self, *, default: str | None) -> Endpoint | None:
        text = self._text("base_url", required=default is None) or default
        if text is None:
            return None
        endpoint = read_endpoint(text)
        if isinstance(endpoint, str):
            self._problem("base_url", endpoint)
            return None
        return endpoint

    def _choice(self, member: str, allowed: tuple[str, ...], *, default: str | None) -> str | None:
        value: Any = self._table.get(member, default)
        if isinstance(value, str) and value in allowed:
            return value
        listed = ", ".join(allowed)
        self._problem(
            member, f"it must be one of {listed}" if member in self._table else f"it is required: {listed}"
        )
        return None

    def _whole(self, member: str, *, least: int, most: int) -> int | None:
        value = self._table.get(member)
        if value is None:
            return None
        if type(value) is not int or not least <= value <= most:
            self._problem(member, f"it must be a whole number from {least} to {most}")
            return None
        return value

    def _data_classes(self, *, required: bool) -> frozenset[str] | None:
        value = self._table.get("data_classes")
        if value is None and not required:
            return None
        items = cast("list[object]", value) if isinstance(value, list) else []
        named = [
            item for item in items if isinstance(item, str) and re.fullmatch(r"[a-z][a-z0-9_]{0,63}", item)
        ]
        if not named or len(named) != len(items):
            self._problem("data_classes", "it must list the classes of data that may be sent, in snake_case")
            return None
        return frozenset(named)
