# SPDX-License-Identifier: Apache-2.0
"""An action under its decorator: calling it proposes, its verifier completes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actum.bootstrap.turn import Turn
from actum.capabilities.functions import Expect, FunctionAction


class Action:
    """What ``@kernel.action`` leaves in place of a function: calling it proposes, ``verifier`` completes it."""

    def __init__(self, function: FunctionAction) -> None:
        self._function = function
        function.face = self
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__

    def verifier(self, *, expect: Expect) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Make the decorated function the verifier; ``expect`` is the value it must see."""
        return lambda function: self._function.verifier_function(function, expect=expect)

    def __call__(self, *args: object, **kwargs: object) -> Turn:
        """Propose the action and return its turn."""
        return self._function(*args, **kwargs)

    def actum_verifiers(self, config: dict[str, object]) -> dict[str, Any]:
        """Return the verifier, for the verifier process."""
        return dict(self._function.actum_verifiers(config))
