# SPDX-License-Identifier: Apache-2.0
"""A scripted model says its lines in order, verbatim, and remembers what it was asked."""

from __future__ import annotations

import pytest

from actum.model.model_call import ModelAnswer, ModelFault, ModelFaultKind
from actum.testing.models import ScriptedModel, ScriptExhausted
from tests.unit.adapters.model_endpoint import request_of


def test_each_kind_of_line_is_said_in_its_turn() -> None:
    fault = ModelFault(kind=ModelFaultKind.EMPTY, detail="no_text", provider="p", model_id="m")
    model = ScriptedModel(
        ["not json {", {"a": 1}, fault, OSError("down"), lambda request: request.user_text], immutable=False
    )
    said = [model.complete(request_of(), deadline_s=1) for _ in range(3)]
    assert isinstance(said[0], ModelAnswer)
    assert said[0].text == "not json {"
    assert not said[0].immutable
    assert isinstance(said[1], ModelAnswer)
    assert said[1].text == '{"a": 1}'
    assert said[2] is fault
    with pytest.raises(OSError, match="down"):
        model.complete(request_of(), deadline_s=1)
    echoed = model.complete(request_of(user_text="hello"), deadline_s=1)
    assert isinstance(echoed, ModelAnswer)
    assert echoed.text == "hello"
    assert model.calls == len(model.requests) == 5


def test_a_call_past_the_script_fails_the_test_that_made_it() -> None:
    model = ScriptedModel([])
    with pytest.raises(ScriptExhausted):
        model.complete(request_of(), deadline_s=1)
    assert model.calls == 1
