# SPDX-License-Identifier: Apache-2.0
"""A reply is stored with an attribution only where there is evidence for it.

Rules
1. A reply that native code produced names no cloud provider.
2. A native reply stands on a receipt of an effect of its turn graded finalized and verified; a recorded decision
   is no such receipt.
3. A row without provenance is shown without an attribution; none is made up.
"""

from __future__ import annotations

from actum.model.delivery import ExecutionKind
from actum.model.errors import Refused
from actum.model.grading import EffectStatus
from actum.model.message import LOCAL_PROVIDER, ExecutionMode, Message, Provenance
from actum.model.receipt import Receipt


def refuse_message(message: Message, *, receipt: Receipt | None) -> Refused | None:
    """Return why a message may not be stored as it is, or None. ``receipt`` is the one it names."""
    source = message.provenance
    if source is None or source.execution_kind is not ExecutionMode.NATIVE:
        return None
    # Rule 1
    if source.provider != LOCAL_PROVIDER:
        return Refused(reason="native_cloud_provider", facts={"provider": source.provider})
    # Rule 2
    if receipt is None or receipt.turn_id != message.turn_id:
        return Refused(reason="native_without_receipt")
    if receipt.status is not EffectStatus.SUCCESS or receipt.kind is ExecutionKind.RECORD:
        return Refused(reason="native_receipt_not_earned", facts={"receipt": receipt.receipt_id})
    return None


def attribution(provenance: Provenance | None) -> str | None:
    """Return how a reply is attributed to a reader, or None where nothing is known (rule 3)."""
    if provenance is None:
        return None
    model = f", model {provenance.model}" if provenance.model else ""
    return f"{provenance.execution_kind.value} by {provenance.provider} ({provenance.runtime}{model})"
