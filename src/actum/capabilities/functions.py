# SPDX-License-Identifier: Apache-2.0
"""An action written as a function becomes a capability once it has a verifier; calling it proposes it.

Rules
1. The decorated function is the executor, and only the delivery service calls it.
2. The verifier is another function, and registration waits for it: an action without one cannot be proposed.
3. A verifier is run in another process where the module's name for the function is the action itself, so that what
   is found there by that name can look and not act; any other is run here and says L0.
4. The verifier sees the arguments and what it saw before; it returns what it sees now, never whether it is right.
   Only an answer with the members of the expected value is one; anything else could not tell.
5. An action may name everything it touches and its verifier reads, by its arguments; one that does not is taken to
   touch anything, and no other effect is under way beside it.

``@refund.verifier(expect=...)`` gives the value that must be seen: a dict, or a function of the arguments. A
verifier that returns None could not tell.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any, cast

import msgspec

from actum.capabilities.answers import (
    NO_JSON,
    OFFERED,
    Expect,
    expected_of,
    holds_null,
    kept_result,
    misfit,
    no_texts,
    require_named,
    require_plain,
    require_takes,
)
from actum.model import foreign
from actum.model.effect import Claims, EffectClass, Externality, PrivilegeLevel, Resource, Reversibility
from actum.model.errors import Refused, UsageError, a_kind
from actum.model.evidence import QualificationResult
from actum.model.grading import ExecutorSaid, LookOutcome
from actum.model.look import Channel, Observation
from actum.model.visible import visible
from actum.ports.capability import CapabilityInfo, DescribeContext, Described, Rehearsal
from actum.ports.effect_view import EffectView
from actum.ports.executor import Dispatch, ExecutorReport, Held
from actum.ports.verifier import LookRequest, Verifier

MAIN = "__main__"


class Rejected(Exception):
    """Raise this in an action where the sink said no and nothing was changed."""


class _Nothing:
    def close(self) -> None:
        return None


class FunctionExecutor:
    """Calls the action's function once."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def hold(self, effect: EffectView) -> Held | Refused:
        """A function has nothing that could be held open."""
        return _Nothing()

    def execute(self, dispatch: Dispatch, held: Held) -> ExecutorReport:
        """Call the function; a returned dict is its result, ``Rejected`` the sink's no."""
        try:
            result = self._function(**dispatch.effect.arguments)
        except Rejected as error:
            return ExecutorReport(said=ExecutorSaid.REJECTED, result={"rejected": str(error)})
        if isinstance(result, ExecutorReport):
            kept = kept_result(result.result)
            return result if NO_JSON not in kept else ExecutorReport(said=result.said, result=kept)
        plain: dict[str, object] = {} if result is None else {"returned": result}
        if isinstance(result, dict):
            plain = cast("dict[str, object]", result)
        kept = kept_result(plain)
        acknowledged = result is not None and NO_JSON not in kept
        return ExecutorReport(said=ExecutorSaid.OK, result=kept, acknowledged=acknowledged)


class FunctionVerifier:
    """Calls the verifier's function and passes on what it saw."""

    def __init__(
        self, function: Callable[..., Any], *, capability: str, version: str, expect: Expect | None
    ) -> None:
        self._function = function
        self._expect = expect
        self._takes = set(inspect.signature(function).parameters)
        self.id = f"{capability}.verifier"
        self.version = version
        self.projection = f"{capability}@{version}"

    def observe(self, request: LookRequest) -> Observation:
        """Return what the function sees; None, or what has other members than are expected, could not tell."""
        # Fresh copies: what it changes in them is neither the record nor what the next look is given.
        before, result = (request.before or {}).get("value"), request.result
        offered = dict(zip(OFFERED, foreign.plain_copy([before, result]), strict=True))
        extra = {name: value for name, value in offered.items() if name in self._takes}
        value = self._function(**request.arguments, **extra)
        seen = value
        expected = expected_of(self._expect, request.arguments)
        if not isinstance(seen, Observation):
            if value is None:
                return _unclear("the verifier could not tell")
            seen = Observation(
                value=value,
                outcome=LookOutcome.DEFINITE,
                detail={"value": value},
                control_held=not holds_null(value, expected),
                channel=Channel.OTHER,
            )
        # Rule 4: an error page or an empty answer is not the world as before, and proves no absence.
        if seen.outcome is LookOutcome.DEFINITE:
            why = misfit(seen.value, expected)
            return seen if why is None else _unclear(why)
        return seen


class FunctionAction:
    """An action under construction, then a capability. Made by ``Kernel.action``."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        info: CapabilityInfo,
        register: Callable[[FunctionAction], None],
        propose: Callable[..., Any],
        recipients: Callable[..., list[str]] | None = None,
        rehearse: Callable[..., Any] | None = None,
        disjoint: Callable[..., list[str]] | None = None,
    ) -> None:
        require_plain(function, role=f"action {info.id}", named=True)
        self._info = info
        # What stands for this action in its module; set by whoever wraps it.
        self.face: object = None
        self.executor: Any = FunctionExecutor(function)
        self.verifier: Any = None
        self._signature = require_named(function, role=f"action {info.id}")
        for role, asked in (("recipients", recipients), ("rehearse", rehearse), ("disjoint", disjoint)):
            if asked is not None:
                require_takes(asked, self._signature, role=f"{role} of {info.id}")
        self._register = register
        self._propose = propose
        self._expect: Expect | None = None
        self._recipients = recipients
        self._rehearse = rehearse
        self._disjoint = disjoint
        self._function = function
        self._module = function.__module__
        self._name = function.__name__
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__

    def verifier_function(self, function: Callable[..., Any], *, expect: Expect) -> Callable[..., Any]:
        """Make ``function`` the verifier and register the action (rule 2)."""
        require_plain(function, role=f"verifier of {self._info.id}")
        require_takes(function, self._signature, role=f"verifier of {self._info.id}", offered=OFFERED)
        if callable(expect):
            require_takes(expect, self._signature, role=f"expect of {self._info.id}")
        self.verifier = FunctionVerifier(
            function, capability=self._info.id, version=self._info.version, expect=expect
        )
        self._expect = expect
        self._register(self)
        return function

    @property
    def info(self) -> CapabilityInfo:
        """The declaration; its verifier's reference is there as long as the module's name is this action."""
        reference = self._reference()
        if reference != self._info.verifier_ref:
            self._info = msgspec.structs.replace(self._info, verifier_ref=reference)
        return self._info

    def _reference(self) -> str | None:
        # Rule 3
        module = sys.modules.get(self._module)
        bound = getattr(module, self._name, None)
        # What stands under the name is what the decorator left there, or this very object where nobody decorated.
        importable = self.verifier is not None and (bound is self or bound is (self.face or self))
        if self._module == MAIN:
            importable = importable and getattr(module, "__file__", None) is not None
        return f"{self._module}:{self._name}" if importable else None

    def actum_verifiers(self, config: dict[str, object]) -> dict[str, Verifier]:
        """Return this action's verifier, for the verifier process."""
        return {} if self.verifier is None else {self.info.id: self.verifier}

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Propose the action. Nothing runs by this call: the proposal waits for a person, like any other."""
        if self.verifier is None:
            raise UsageError(
                "action_without_verifier",
                failed=f"the action {self.info.id} has no verifier yet",
                state="Nothing was proposed",
                next_step=f"Write a function that looks, and decorate it with @{self._name}.verifier(expect=...)",
            )
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise UsageError(
                "arguments_do_not_fit",
                failed=f"the arguments do not fit the action {self.info.id}: {error}",
                state="Nothing was proposed",
                next_step=f"Call it as {self._name}{self._signature}",
            ) from error
        bound.apply_defaults()
        return self._propose(self.info.id, dict(bound.arguments))

    def describe(self, arguments: dict[str, object], *, context: DescribeContext) -> Described | Refused:
        """Bind the arguments to the function's parameters and state the expected value."""
        try:
            bound = self._signature.bind(**arguments)
        except TypeError as error:
            return Refused(reason="arguments_do_not_fit", facts={"why": str(error), "action": self.info.id})
        bound.apply_defaults()
        resolved: dict[str, object] = dict(bound.arguments)
        expected = expected_of(self._expect, resolved)
        if expected is not None and not isinstance(expected, dict):
            return Refused(
                reason="expect_is_no_object",
                facts={"why": f"expect gave {a_kind(expected)}, not a dict", "action": self.info.id},
            )
        recipients = self._recipients(**resolved) if self._recipients else []
        names = self._disjoint(**resolved) if self._disjoint else []
        for role, named in (("recipients", recipients), ("disjoint", names)):
            why = no_texts(named)
            if why is not None:
                return Refused(
                    reason="names_are_no_texts", facts={"why": f"{role} {why}", "action": self.info.id}
                )
        lines = [f"{self.info.id}"]
        lines += [
            f"  {name} = {visible(foreign.dump_foreign(value).decode())}" for name, value in resolved.items()
        ]
        return Described(
            arguments=resolved,
            resources=self._resources(resolved, names),
            destinations=self.info.destinations or (),
            recipients=tuple(recipients),
            object_count=1,
            blast_radius=1,
            projection=f"{self.info.id}@{self.info.version}",
            expected_value=cast("object", expected) if self.info.observable else None,
            lines=tuple(lines),
            context={},
        )

    def _resources(self, resolved: dict[str, object], names: Sequence[str]) -> tuple[Resource, ...]:
        digest = foreign.digest_foreign(resolved)
        # Rule 5
        if not names:
            return (Resource(kind="action", id=self.info.id, digest=digest),)
        return tuple(Resource(kind="named", id=name, digest=digest) for name in dict.fromkeys(names))

    def rehearse(self, effect: EffectView) -> Rehearsal:
        """Call the rehearsal function: True passes, False or a raise fails, None is not possible."""
        if self._rehearse is None:
            return Rehearsal(
                result=QualificationResult.NOT_POSSIBLE,
                reason="the action declares no rehearsal",
                method="none",
                detail={},
            )
        found = self._rehearse(**effect.arguments)
        result = QualificationResult.PASSED if found else QualificationResult.FAILED
        if found is None:
            result = QualificationResult.NOT_POSSIBLE
        return Rehearsal(
            result=result, reason=f"the rehearsal returned {found!r}", method="rehearsal function", detail={}
        )


def info_of(
    capability: str,
    *,
    reversibility: Reversibility,
    externality: Externality,
    effect_class: EffectClass,
    privilege_level: PrivilegeLevel,
    claims: Claims,
    absence_is_proof: bool,
    consistency_window_ms: int,
    attempts_max: int,
    executable_code: bool,
    observable: bool,
    version: str,
    resources_are_all: bool = False,
    destinations: tuple[str, ...] = (),
) -> CapabilityInfo:
    """Return the declaration of an action; its verifier's reference is filled in later."""
    return CapabilityInfo(
        id=capability,
        version=version,
        effect_class=effect_class,
        reversibility=reversibility,
        externality=externality,
        privilege_level=privilege_level,
        claims=claims,
        absence_is_proof=absence_is_proof,
        consistency_window_ms=consistency_window_ms,
        attempts_max=attempts_max,
        verifier_ref=None,
        executable_code=executable_code,
        observable=observable,
        resources_are_all=resources_are_all,
        destinations=destinations,
    )


def _unclear(why: str) -> Observation:
    return Observation(value=None, outcome=LookOutcome.UNCLEAR, detail={"why": why})
