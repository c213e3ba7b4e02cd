# SPDX-License-Identifier: Apache-2.0
"""The demo's own tools: a ledger of refunds that is honest, and a card index that says ok and loses the write.

Both are ordinary actions: a function that acts, another one that looks and runs in the verifier process. What
they touch is named in their arguments, so the looking process needs no configuration.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from actum.capabilities.functions import FunctionAction, info_of
from actum.model.effect import Claims, EffectClass, Externality, PrivilegeLevel, Reversibility

if TYPE_CHECKING:
    from actum.bootstrap import Kernel

REFUND, CARD = "ledger.refund", "cards.update"

Mishap = Callable[[], None]
_mishaps: list[Mishap] = []


@contextmanager
def mishap(strike: Mishap) -> Generator[None]:
    """Let something happen right after each refund was written and before its tool can answer."""
    _mishaps.append(strike)
    try:
        yield
    finally:
        _mishaps.remove(strike)


def register(kernel: Kernel) -> None:
    """Make both tools known to an open kernel."""
    for tool in (refund, update_card):
        kernel.register(tool)


def refunds_in(ledger: str, entry: str) -> list[str]:
    """Return the amounts that stand in a ledger for one entry, in order."""
    if not os.path.exists(ledger):
        return []
    with open(ledger, encoding="utf-8") as lines:
        written: list[dict[str, str]] = [json.loads(line) for line in lines]
    return [line["amount"] for line in written if line["entry"] == entry]


def _refund(ledger: str, entry: str, amount: str) -> dict[str, Any]:
    """Append one refund to the ledger: running it twice would pay twice."""
    with open(ledger, "a", encoding="utf-8") as lines:
        lines.write(json.dumps({"entry": entry, "amount": amount}) + "\n")
        lines.flush()
        os.fsync(lines.fileno())
    for strike in _mishaps:
        strike()
    return {"entry": entry}


def _see_refund(ledger: str, entry: str, amount: str) -> dict[str, Any] | None:
    # The folder is a share: while it is away nobody can tell what the ledger holds.
    return {"lines": refunds_in(ledger, entry)} if os.path.isdir(os.path.dirname(ledger)) else None


def _expect_refund(ledger: str, entry: str, amount: str) -> dict[str, Any]:
    return {"lines": [amount]}


def _update_card(card: str, phone: str) -> dict[str, Any]:
    """Say ok; the write goes to a file that is gone a moment later, like a cache nobody flushes."""
    with tempfile.TemporaryFile("w", encoding="utf-8") as lost:
        json.dump({"card": card, "phone": phone}, lost)
    return {"ok": True}


def _see_card(card: str, phone: str) -> dict[str, Any]:
    with open(card, encoding="utf-8") as handle:
        return {"phone": json.load(handle)["phone"]}


def _expect_card(card: str, phone: str) -> dict[str, Any]:
    return {"phone": phone}


def _tool(
    act: Callable[..., Any],
    look: Callable[..., Any],
    *,
    name: str,
    capability: str,
    externality: Externality,
    expect: Callable[..., Any],
    absence_is_proof: bool,
) -> FunctionAction:
    # The verifier process finds the tool by this module and this name.
    act.__name__ = act.__qualname__ = name
    made = FunctionAction(
        act,
        info=info_of(
            capability,
            reversibility=Reversibility.REVERSIBLE,
            externality=externality,
            effect_class=EffectClass.ACTION,
            privilege_level=PrivilegeLevel.STANDARD,
            claims=Claims.CHANGE,
            absence_is_proof=absence_is_proof,
            consistency_window_ms=0,
            attempts_max=1,
            executable_code=False,
            observable=True,
            version="1",
        ),
        register=lambda _: None,
        propose=lambda *_: None,
    )
    made.verifier_function(look, expect=expect)
    return made


refund = _tool(
    _refund,
    _see_refund,
    name="refund",
    capability=REFUND,
    externality=Externality.EXTERNAL_MUTATION,
    expect=_expect_refund,
    absence_is_proof=False,
)
update_card = _tool(
    _update_card,
    _see_card,
    name="update_card",
    capability=CARD,
    externality=Externality.LOCAL_ONLY,
    expect=_expect_card,
    absence_is_proof=True,
)
