# SPDX-License-Identifier: Apache-2.0
"""A registry holds the kinds of action that exist; what has no verifier of its own does not get in.

It does not say that a verifier looks at everything an action may touch.

Rules
1. A capability without a verifier that can look is refused.
2. The verifier is another object of another class than the executor, holds no executor and cannot execute.
3. An executor cannot look: what it returns is its word.
4. A verifier has an identifier, a version and a projection that do not depend on the process.
5. An id is registered once, in dotted lower case; the names the kernel itself uses are nobody else's.
6. An unknown id is refused by name, together with the nearest ids.
"""

from __future__ import annotations

import difflib
import re
from typing import cast

from actum.model.errors import Refused, RefusedError
from actum.model.visible import visible
from actum.ports.capability import Capability, CapabilityInfo

_id_form = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+", re.ASCII)
_reference_form = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", re.ASCII)


ATTEMPTS_MAX = 1000
WAIT_MS_MAX = 30 * 24 * 3600 * 1000
"""No look waits longer than a month."""
RESERVED = ("actum.", "model.", "outbox.")


class Registry:
    """The registered capabilities by id."""

    def __init__(self) -> None:
        self._by_id: dict[str, Capability] = {}

    def register(self, capability: Capability) -> None:
        """Add a capability. Raises RefusedError with the code that `refusal_of` names."""
        refused = self.refusal_of(capability)
        if refused is not None:
            raise RefusedError.from_refused(
                refused,
                failed=f"The capability {refused.facts['capability']} was not registered: {refused.reason}",
                state="The registry is as it was",
                next_step=refused.facts["remedy"],
            )
        self._by_id[capability.info.id] = capability

    def refusal_of(self, capability: Capability) -> Refused | None:
        """Return why a capability may not be registered, or None; every refusal names a remedy."""
        info = capability.info
        # Rule 5
        if _id_form.fullmatch(info.id) is None:
            return _refuse("capability_id_malformed", info, "Give an id such as files.write")
        if info.id.startswith(RESERVED):
            return _refuse(
                "capability_id_reserved", info, f"Give it an id without {', '.join(RESERVED)} in front"
            )
        if info.id in self._by_id:
            return _refuse(
                "capability_id_taken", info, "Give it another id; a kind of action is registered once"
            )
        return _verifier_refusal(capability) or _executor_refusal(capability) or _limits_refusal(info)

    def find(self, capability_id: str) -> Capability | Refused:
        """Return the capability, or a refusal with facts `capability` and `nearest`."""
        # Rule 6
        found = self._by_id.get(capability_id)
        if found is not None:
            return found
        nearest = difflib.get_close_matches(capability_id, sorted(self._by_id), n=3, cutoff=0.5)
        return Refused(
            reason="capability_unknown",
            facts={"capability": visible(capability_id), "nearest": ", ".join(nearest)},
        )

    def infos(self) -> tuple[CapabilityInfo, ...]:
        """Return what the capabilities declare about themselves, ordered by id."""
        return tuple(self._by_id[name].info for name in sorted(self._by_id))

    def __contains__(self, capability_id: object) -> bool:
        return capability_id in self._by_id

    def __len__(self) -> int:
        return len(self._by_id)


def _verifier_refusal(capability: Capability) -> Refused | None:
    info = capability.info
    verifier = cast("object", getattr(capability, "verifier", None))
    executor = cast("object", getattr(capability, "executor", None))
    # Rule 1
    if verifier is None or not callable(getattr(verifier, "observe", None)):
        return _refuse("verifier_missing", info, "Give it a verifier: an object that looks at the world")
    # Rule 2
    if verifier is executor or type(verifier) is type(executor):
        return _refuse("verifier_is_executor", info, "Let another class look than the one that acts")
    if callable(getattr(verifier, "execute", None)) or callable(getattr(verifier, "hold", None)):
        return _refuse("verifier_can_execute", info, "Take execute and hold away from the verifier")
    if any(held is executor for held in getattr(verifier, "__dict__", {}).values()):
        return _refuse("verifier_holds_executor", info, "Give the verifier its own way to the world")
    # Rule 4
    for member in ("id", "version", "projection"):
        value = getattr(verifier, member, None)
        if not isinstance(value, str) or not value.strip():
            return _refuse("verifier_unnamed", info, f"Give the verifier a fixed {member}")
    if info.verifier_ref is not None and _reference_form.fullmatch(info.verifier_ref) is None:
        return _refuse("verifier_ref_malformed", info, "Give verifier_ref as module:attribute, or null")
    return None


def _executor_refusal(capability: Capability) -> Refused | None:
    info = capability.info
    executor = cast("object", getattr(capability, "executor", None))
    if not callable(getattr(executor, "execute", None)) or not callable(getattr(executor, "hold", None)):
        return _refuse("executor_missing", info, "Give it an executor with hold and execute")
    # Rule 3
    if callable(getattr(executor, "observe", None)):
        return _refuse("executor_can_look", info, "Take observe away from the executor")
    return None


def _limits_refusal(info: CapabilityInfo) -> Refused | None:
    if not 1 <= info.attempts_max <= ATTEMPTS_MAX:
        return _refuse("limits_malformed", info, f"Give one attempt to {ATTEMPTS_MAX}")
    if not (1 <= info.timeout_ms <= WAIT_MS_MAX and 0 <= info.consistency_window_ms <= WAIT_MS_MAX):
        return _refuse(
            "limits_malformed", info, f"Give a timeout above zero, and no time above {WAIT_MS_MAX} ms"
        )
    return None


def _refuse(reason: str, info: CapabilityInfo, remedy: str) -> Refused:
    return Refused(reason=reason, facts={"capability": visible(info.id), "remedy": remedy})
