# SPDX-License-Identifier: Apache-2.0
"""The embedded model answers offline, from a weights file on this machine, the same way every time.

Temperature 0, seed 1, no reuse of earlier prompts: equal requests to equal weights, runtime and processor
give equal text. The bundled model is small: under a schema it nearly always writes valid JSON and is often
wrong, which is what the ladder is for.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import time
from pathlib import Path

import msgspec

from actum.adapters.models.admission import Heard, Origin, admit
from actum.adapters.models.engine import Engine, EngineReply, ForkedAfterLoadError, engine_for
from actum.adapters.models.weights import digest_weights, find_weights
from actum.model.message import ExecutionMode
from actum.model.model_call import ModelFault, ModelFaultKind, ModelOutcome, ModelRequest

RUNTIME_PACKAGE = "xllamacpp"
DEFAULT_CONTEXT_TOKENS = 4096


class Embedded(msgspec.Struct, frozen=True, kw_only=True):
    """The adapter for a model inside this process.

    `weights` is a GGUF file, None for the bundled one. `threads` 0 stands for half of the processors: the
    runtime's threads wait for each other in a busy loop, so taking all of a machine that has other work
    makes an answer several times slower, not quicker.
    """

    weights: Path | None = None
    context_tokens: int = DEFAULT_CONTEXT_TOKENS
    threads: int = 0

    def complete(self, request: ModelRequest, *, deadline_s: float) -> ModelOutcome:
        """Return the answer or the fault; see `actum.ports.model.ModelPort`.

        The first call of a process loads the model, inside its own deadline.
        """
        ends_at = time.monotonic() + deadline_s
        path = self.weights or find_weights()
        if path is None:
            return _origin("embedded").fault(ModelFaultKind.UNAVAILABLE, "weights_absent")
        if importlib.util.find_spec(RUNTIME_PACKAGE) is None:
            return _origin(path.stem.lower()).fault(ModelFaultKind.UNAVAILABLE, "runtime_absent")
        try:
            digest = digest_weights(path)
            engine = engine_for(
                path,
                digest=digest,
                context_tokens=self.context_tokens,
                threads=self.threads or max(1, len(os.sched_getaffinity(0)) // 2),
            )
        except ForkedAfterLoadError:
            return _origin(path.stem.lower()).fault(ModelFaultKind.UNAVAILABLE, "forked_after_load")
        except OSError:
            return _origin(path.stem.lower()).fault(ModelFaultKind.UNAVAILABLE, "weights_unreadable")
        except Exception:
            # The runtime names no class for a file that holds no model.
            return _origin(path.stem.lower()).fault(ModelFaultKind.UNAVAILABLE, "weights_not_loaded")
        return _ask(engine, request, ends_at=ends_at, origin=_origin(f"{path.stem.lower()}@{digest}"))


def is_present() -> bool:
    """The runtime and the bundled weights are installed."""
    return find_weights() is not None and importlib.util.find_spec(RUNTIME_PACKAGE) is not None


def _ask(engine: Engine, request: ModelRequest, *, ends_at: float, origin: Origin) -> ModelOutcome:
    reply = engine.ask(_body(request), ends_at=ends_at)
    if reply is None:
        return origin.fault(ModelFaultKind.TIMEOUT, "deadline_passed")
    fault = _fault_in(reply, origin)
    if fault is not None:
        return fault
    heard = Heard(
        text="".join(reply.pieces),
        finish_reason=reply.finish_reason,
        input_tokens=reply.input_tokens,
        output_tokens=reply.output_tokens,
    )
    return admit(heard, request=request, origin=origin)


def _fault_in(reply: EngineReply, origin: Origin) -> ModelFault | None:
    def fault(kind: ModelFaultKind, detail: str) -> ModelFault:
        return origin.fault(kind, detail, input_tokens=reply.input_tokens, output_tokens=reply.output_tokens)

    match reply.error_type, reply.finish_reason:
        case "exceed_context_size_error", _:
            return fault(ModelFaultKind.TOO_LONG, "prompt_over_context")
        case "schema_unsupported", _:
            return fault(ModelFaultKind.UNAVAILABLE, "schema_unsupported")
        case str(), _:
            return fault(ModelFaultKind.UNAVAILABLE, "runtime_error")
        case None, "length":
            return fault(ModelFaultKind.TRUNCATED, "token_limit")
        case None, "stop":
            return None
        case _:
            return fault(ModelFaultKind.GARBAGE, "finish_reason_unknown")


def _body(request: ModelRequest) -> dict[str, object]:
    return {
        "messages": [
            {"role": "system", "content": _defused(request.system_text)},
            {"role": "user", "content": _defused(request.user_text)},
        ],
        "temperature": 0,
        "seed": 1,
        "max_tokens": request.max_output_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
        "cache_prompt": False,
        "response_format": {"type": "json_schema", "json_schema": {"schema": request.json_schema}},
    }


def _defused(text: str) -> str:
    # The chat template is filled in as text and then read for control marks, so a mail that contains one
    # could end its own message and speak as the system. Half a surrogate pair would not be read at all.
    return text.encode("utf-8", "replace").decode("utf-8").replace("<|", "< |")


def _origin(model_id: str) -> Origin:
    try:
        runtime = f"{RUNTIME_PACKAGE}/{importlib.metadata.version(RUNTIME_PACKAGE)}"
    except importlib.metadata.PackageNotFoundError:
        runtime = RUNTIME_PACKAGE
    return Origin(
        provider="embedded",
        runtime=runtime,
        model_id=model_id,
        execution_kind=ExecutionMode.LOCAL_MODEL,
        immutable=True,
    )
