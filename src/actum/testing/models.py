# SPDX-License-Identifier: Apache-2.0
"""A scripted model says exactly what a test wrote down, lies included, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable

from actum.model.message import ExecutionMode
from actum.model.model_call import ModelAnswer, ModelFault, ModelOutcome, ModelRequest

Line = str | dict[str, object] | ModelAnswer | ModelFault | Exception
Step = Line | Callable[[ModelRequest], Line]


class ScriptExhausted(AssertionError):
    """The model was asked more often than its script has lines."""


class ScriptedModel:
    """Answers from a list, one line for each call, in order.

    A line is text (passed on verbatim, well formed or not), a dict (written as JSON), a ready `ModelAnswer`
    or `ModelFault`, an exception (raised), or a function of the request that returns one of these. Nothing is
    checked against the request's schema: what guards the kernel has are met by the text as it stands.

    >>> model = ScriptedModel([{"category": "invoice"}])
    >>> model.calls
    0
    """

    def __init__(
        self, script: Iterable[Step] = (), *, tokens: tuple[int, int] = (10, 5), immutable: bool = True
    ) -> None:
        self._script = list(script)
        self._tokens = tokens
        self._immutable = immutable
        self._lock = threading.Lock()
        self.requests: list[ModelRequest] = []
        self.deadlines_s: list[float] = []

    @property
    def calls(self) -> int:
        """How often it was asked."""
        return len(self.requests)

    def complete(self, request: ModelRequest, *, deadline_s: float) -> ModelOutcome:
        """Return, or raise, the next line; raise ScriptExhausted where there is none."""
        with self._lock:
            index = len(self.requests)
            self.requests.append(request)
            self.deadlines_s.append(deadline_s)
        if index >= len(self._script):
            raise ScriptExhausted(f"call {index + 1} has no line in a script of {len(self._script)}")
        step = self._script[index]
        line = step(request) if callable(step) else step
        if isinstance(line, Exception):
            raise line
        if isinstance(line, ModelAnswer | ModelFault):
            return line
        return self._answer(line if isinstance(line, str) else json.dumps(line))

    def _answer(self, text: str) -> ModelAnswer:
        return ModelAnswer(
            text=text,
            input_tokens=self._tokens[0],
            output_tokens=self._tokens[1],
            finish_reason="stop",
            model_id="scripted",
            provider="scripted",
            runtime="actum.testing",
            execution_kind=ExecutionMode.LOCAL_MODEL,
            immutable=self._immutable,
        )
