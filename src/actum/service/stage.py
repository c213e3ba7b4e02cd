# SPDX-License-Identifier: Apache-2.0
"""A staged action becomes a described, sealed effect that waits for a person, before anything can run.

Rules
1. Arguments are resolved to real things first; only resolved arguments are digested, shown and executed.
2. A descriptor that does not validate gets no digest, and its proposal is refused visibly.
3. A flagged effect is rehearsed in isolation before anybody is asked; a failed rehearsal is not asked about.
4. The idempotency key is the caller's or derived from item, step and intent. A key that is bound to the same
   intent leads to the first receipt, one bound to another intent is a conflict; neither runs anything. A row that
   ended without an attempt has its key no longer (`actum.service.keys`). A given
   key is looked up before anything is described: the world it is repeated in is the one the first time made.
5. What a person will be shown is frozen with the question.
"""

from __future__ import annotations

import json

import msgspec

from actum.kernel.may_execute import may_execute_alone
from actum.model import canonical, foreign
from actum.model.effect import (
    STRICTNESS,
    Effect,
    EffectDescriptor,
    Expected,
    intent_digest,
    needs_qualification,
    seal_effect,
)
from actum.model.errors import ActumError, Refused
from actum.model.evidence import Qualification, QualificationResult
from actum.model.look import projection_digest
from actum.model.strict_json import JsonRefused
from actum.model.walk import Stage
from actum.ports.capability import Capability, DescribeContext, Described
from actum.ports.effect_view import EffectView
from actum.ports.store import Tx
from actum.service.keys import find_key
from actum.service.line import Line
from actum.service.view import TurnView


class Staged(msgspec.Struct, frozen=True, kw_only=True):
    """One staged action: its sealed effect, or why it was refused."""

    proposed_action_id: str
    step_id: str
    stage: Stage
    effect: Effect | None = None
    arguments: bytes = b"{}"
    context: bytes = b"{}"
    shown: bytes = b"{}"
    intent: str = ""
    alone: bool = False
    qualification: Qualification | None = None
    refused: Refused | None = None
    repeats: str | None = None


def stage_effect(line: Line, view: TurnView, stage: Stage, *, step_id: str, given_key: str | None) -> Staged:
    """Describe, seal and qualify one staged action. It reads the world and changes nothing in it."""
    action_id = line.new_id()
    found = line.registry.find(stage.capability)
    if isinstance(found, Refused):
        return Staged(proposed_action_id=action_id, step_id=step_id, stage=stage, refused=found)
    if given_key is not None:
        known = line.store.read(lambda tx: _known(tx, view, stage, key=given_key))
        if known is not None:
            refused, repeats = (known, None) if isinstance(known, Refused) else (None, known)
            return Staged(
                proposed_action_id=action_id, step_id=step_id, stage=stage, refused=refused, repeats=repeats
            )
    described = _describe(line, view, stage, capability=found, action_id=action_id)
    if isinstance(described, Refused):
        return Staged(proposed_action_id=action_id, step_id=step_id, stage=stage, refused=described)
    salt = line.ids.salt()
    try:
        arguments = foreign.encode_foreign(described.arguments)
        context = foreign.encode_foreign(described.context)
        descriptor = _descriptor(view, found, described, stage=stage, action_id=action_id, salt=salt)
    except JsonRefused as error:  # Only a describer of somebody else's can come to what is no JSON.
        refused = Refused(reason="described_no_json", facts={"why": error.message, "path": error.path})
        return Staged(proposed_action_id=action_id, step_id=step_id, stage=stage, refused=refused)
    intent = intent_digest(descriptor, principal=view.item.principal)
    derived = canonical.digest([view.item.work_item_id, step_id, intent])
    descriptor = msgspec.structs.replace(descriptor, idempotency_key=given_key or derived)
    effect = seal_effect(descriptor, salt=salt)
    if isinstance(effect, Refused):
        # Rule 2
        return Staged(proposed_action_id=action_id, step_id=step_id, stage=stage, refused=effect)
    qualification = _qualify(line, found, effect, described=described)
    refused = None
    if qualification is not None and qualification.result is QualificationResult.FAILED:
        # Rule 3
        refused = Refused(reason="qualification_failed", facts={"reason": qualification.reason})
    return Staged(
        proposed_action_id=action_id,
        step_id=step_id,
        stage=stage,
        effect=effect,
        arguments=arguments,
        context=context,
        shown=shown_of(effect, described=described, qualification=qualification),
        intent=intent,
        alone=may_execute_alone(descriptor, definition_class=stage.effect_class),
        qualification=qualification,
        refused=refused,
    )


def _known(tx: Tx, view: TurnView, stage: Stage, *, key: str) -> str | Refused | None:
    """Return the row that already has these very arguments under this key, or why it may not be repeated."""
    # Rule 4
    bound = find_key(tx, stage.capability, key).bound
    row = None if bound is None else tx.outbox(bound[1])
    effect = None if row is None else tx.effect(row.effect_digest or "")
    proposal = None if effect is None else tx.proposal(effect.proposed_action_id)
    turn = None if row is None else tx.turn(row.turn_id)
    item = None if turn is None else tx.work_item(turn.work_item_id)
    if row is None or proposal is None or item is None:
        return None
    given = canonical.digest_bytes(foreign.encode_foreign(stage.arguments()))
    if given != proposal.arguments_digest:
        return None  # Other words may still resolve to the same intent: described, they are compared by it.
    if item.principal != view.item.principal:
        return Refused(reason="idempotency_conflict")
    return row.outbox_id


def _describe(
    line: Line, view: TurnView, stage: Stage, *, capability: Capability, action_id: str
) -> Described | Refused:
    # Rule 1
    context = DescribeContext(
        tenant=view.turn.tenant,
        turn_id=view.turn.turn_id,
        proposed_action_id=action_id,
        principal=view.item.principal,
        now_ms=line.now(),
    )
    # The subject was redacted at its capture, and so were a model's answer and a person's writes.
    arguments = foreign.to_plain(stage.arguments())
    try:
        return capability.describe(arguments, context=context)
    except ActumError as error:
        return Refused(reason=error.code, facts=error.facts)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # A describer of somebody else's may raise anything; nothing was done yet.
        return Refused(reason="describe_raised", facts={"error": type(error).__name__})


def _descriptor(
    view: TurnView, capability: Capability, described: Described, *, stage: Stage, action_id: str, salt: str
) -> EffectDescriptor:
    info = capability.info
    expected = None
    if info.observable and described.expected_value is not None:
        expected = Expected(
            projection=described.projection,
            digest=projection_digest(described.expected_value, projection=described.projection, salt=salt),
        )
    return EffectDescriptor(
        capability=info.id,
        capability_version=info.version,
        effect_class=max(info.effect_class, stage.effect_class, key=STRICTNESS.index),
        reversibility=info.reversibility,
        externality=info.externality,
        privilege_level=info.privilege_level,
        canonical_resources=described.resources,
        destinations=described.destinations,
        recipients=described.recipients,
        data_classes=info.data_classes,
        object_count=described.object_count,
        blast_radius=described.blast_radius,
        executable_code=info.executable_code,
        origin_turn_id=view.turn.turn_id,
        proposed_action_id=action_id,
        resolved_argument_digest=foreign.digest_foreign(described.arguments),
        idempotency_key="",
        claims=info.claims,
        expected=expected,
    )


def _qualify(
    line: Line, capability: Capability, effect: Effect, *, described: Described
) -> Qualification | None:
    if not needs_qualification(effect.descriptor):
        return None
    view = EffectView(
        effect_digest=effect.effect_digest,
        salt=effect.salt,
        descriptor=effect.descriptor,
        arguments=described.arguments,
    )
    try:
        found = capability.rehearse(view)
        result, reason, method, detail = found.result, found.reason, found.method, found.detail
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # A rehearsal that breaks is a rehearsal that failed, whatever it raised.
        result, reason = QualificationResult.FAILED, f"the rehearsal raised {type(error).__name__}"
        method, detail = "none", {}
    return Qualification(
        effect_digest=effect.effect_digest,
        result=result,
        reason=reason,
        method=method,
        detail=detail,
        recorded_at_ms=line.now(),
    )


def shown_of(effect: Effect, *, described: Described, qualification: Qualification | None) -> bytes:
    """Return what a person is shown before confirming, as JSON; its digest goes into the grant (rule 5)."""
    descriptor = effect.descriptor
    body = {
        "capability": descriptor.capability,
        "class": descriptor.effect_class.value,
        "reversibility": descriptor.reversibility.value,
        "externality": descriptor.externality.value,
        "lines": list(described.lines),
        "destinations": list(descriptor.destinations),
        "recipients": list(descriptor.recipients),
        "objects": descriptor.object_count,
        "blast_radius": descriptor.blast_radius,
        "effect_digest": effect.effect_digest,
        "observable": descriptor.expected is not None,
        "qualification": None
        if qualification is None
        else {
            "result": qualification.result.value,
            "reason": qualification.reason,
            "method": qualification.method,
        },
    }
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()
