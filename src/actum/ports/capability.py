# SPDX-License-Identifier: Apache-2.0
"""A capability is a registered kind of action: how it is described, executed, verified and rehearsed."""

from __future__ import annotations

from typing import Protocol

import msgspec

from actum.model.effect import Claims, EffectClass, Externality, PrivilegeLevel, Resource, Reversibility
from actum.model.errors import Refused
from actum.model.evidence import QualificationResult
from actum.ports.executor import EffectView, Executor
from actum.ports.verifier import Verifier


class CapabilityInfo(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a capability declares about itself; the kernel reads it, the executor cannot change it.

    ``absence_is_proof``: a world as before, after the window and with a positive control, proves that nothing
    happened. ``verifier_ref`` is ``module:attribute``, importable in the verifier process, or null for a verifier
    that can only run in this process (L0). ``resources_are_all``: its canonical resources name everything it touches
    and its verifier reads, so that effects with other resources may be under way beside it. ``destinations`` are those
    of every effect of it, or null where they come from the arguments.
    """

    id: str
    version: str
    effect_class: EffectClass
    reversibility: Reversibility
    externality: Externality
    privilege_level: PrivilegeLevel
    claims: Claims
    absence_is_proof: bool
    consistency_window_ms: int
    attempts_max: int
    verifier_ref: str | None
    timeout_ms: int = 30_000
    data_classes: tuple[str, ...] = ()
    executable_code: bool = False
    observable: bool = True
    resources_are_all: bool = False
    destinations: tuple[str, ...] | None = None


class DescribeContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a describer may know beside the arguments."""

    tenant: str
    turn_id: str
    proposed_action_id: str
    principal: str
    now_ms: int


class Described(msgspec.Struct, frozen=True, kw_only=True):
    """What a capability resolved the arguments to.

    ``arguments`` are the resolved ones, the only ones that execute. ``expected_value`` is the projected value a
    verifier must see (null: no way to look). ``lines`` is what a person is shown, in full, before confirming.
    """

    arguments: dict[str, object]
    resources: tuple[Resource, ...]
    destinations: tuple[str, ...]
    recipients: tuple[str, ...]
    object_count: int
    blast_radius: int
    projection: str
    expected_value: object
    lines: tuple[str, ...]
    context: dict[str, object]


class Rehearsal(msgspec.Struct, frozen=True, kw_only=True):
    """What a rehearsal in isolation showed, and how it was isolated."""

    result: QualificationResult
    reason: str
    method: str
    detail: dict[str, object]


class Capability(Protocol):
    """One registered kind of action. Registering one without a verifier is refused."""

    executor: Executor
    verifier: Verifier

    @property
    def info(self) -> CapabilityInfo:
        """What is declared of it."""
        ...

    def describe(self, arguments: dict[str, object], *, context: DescribeContext) -> Described | Refused:
        """Resolve the arguments to real resources, changing nothing."""
        ...

    def rehearse(self, effect: EffectView) -> Rehearsal:
        """Rehearse a flagged effect on a copy, in a dry run or a sandbox, leaving the world as it was."""
        ...
