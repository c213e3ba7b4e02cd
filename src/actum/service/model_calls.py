# SPDX-License-Identifier: Apache-2.0
"""A model is called outside any transaction; its answer is kept by digest, metered, and handed to the ladder.

Rules
1. A call leaves by an outbox row, like everything else that leaves; it needs no grant and can cause no effect.
2. A call cut off by a stop is made again and metered again.
3. The step must be one that may have a model; a plumbing step's row is failed and never called.
4. Answer or fault, the walk goes on with it; it is an input of the decision and decides nothing itself.
5. An adapter that raises has given no answer; it stops no other work.
"""

from __future__ import annotations

import msgspec

from actum.kernel.ladder import may_call_model
from actum.kernel.redaction import redact
from actum.model import canonical
from actum.model.activity import FailureCategory
from actum.model.delivery import OutboxRow, OutboxState
from actum.model.errors import InvariantViolation
from actum.model.model_call import ModelAnswer, ModelFault, ModelFaultKind, ModelRequest
from actum.model.process import Step
from actum.model.walk import ModelReply, NeedModel
from actum.model.work import StepState
from actum.ports.store import AssertionRow, Tx
from actum.service import content
from actum.service.line import Line
from actum.service.points import commit
from actum.service.rows import failed
from actum.service.standing import refresh
from actum.service.view import load_view
from actum.service.walk import walk

CALL_DEADLINE_S = 120.0
SYSTEM = (
    "You answer one question about the JSON packet you are given. Answer with one JSON object that fits the"
    " schema and nothing else. You cannot act: what you propose is shown to a person first."
)


def call(line: Line, row: OutboxRow) -> None:
    """Make one call and walk the turn on with what came back."""
    step, need = line.store.read(lambda tx: _load(line, tx, row))
    refused = may_call_model(step)
    if refused is not None:
        # Rule 3
        commit(line, "refuse_call", lambda tx: _refuse(line, tx, row, reason=refused.reason))
        return
    outcome = _complete(line, need)
    if isinstance(outcome, ModelAnswer):
        text, _ = redact(outcome.text)
        outcome = msgspec.structs.replace(outcome, text=text)
        reply = ModelReply(packet_digest=need.packet_digest, answer=outcome)
    else:
        reply = ModelReply(packet_digest=need.packet_digest, fault=outcome)
    commit(line, "keep_answer", lambda tx: _keep(line, tx, row, reply))
    walk(line, row.turn_id, reply=reply)


def _load(line: Line, tx: Tx, row: OutboxRow) -> tuple[Step, NeedModel]:
    view = load_view(line, tx, row.turn_id)
    step = view.process.step(row.step_id)
    if step is None or row.body_digest is None:
        raise InvariantViolation("a model call belongs to a step and has a packet", row=row.outbox_id)
    return step, msgspec.json.decode(content.load(line, tx, row.body_digest), type=NeedModel)


def _complete(line: Line, need: NeedModel) -> ModelAnswer | ModelFault:
    if line.models is None:
        return ModelFault(
            kind=ModelFaultKind.UNAVAILABLE, detail="no_model_configured", provider="none", model_id="none"
        )
    request = ModelRequest(
        packet_digest=need.packet_digest,
        system_text=SYSTEM,
        user_text=need.packet_json,
        json_schema=need.answer_schema,
        max_output_tokens=need.contract.max_tokens,
        tier=need.contract.tier,
        data_classes=need.data_classes,
    )
    try:
        return line.models.complete(request, deadline_s=CALL_DEADLINE_S)
    except Exception:  # Rule 5: whatever an adapter raises, no answer came; the runner has other work.
        return ModelFault(
            kind=ModelFaultKind.UNAVAILABLE, detail="adapter_raised", provider="unknown", model_id="unknown"
        )


def _keep(line: Line, tx: Tx, row: OutboxRow, reply: ModelReply) -> None:
    said = reply.answer or reply.fault
    if said is None:
        raise InvariantViolation("a model call ends in one answer or one fault")
    content.keep(line, tx, canonical.encode(reply))
    if reply.answer is not None:
        tx.add_assertion(
            AssertionRow(
                assertion_id=line.new_id(),
                tenant=tx.tenant,
                turn_id=row.turn_id,
                text_digest=content.keep(line, tx, reply.answer.text.encode()),
                model_id=reply.answer.model_id,
                asserts=None,
                outbox_id=None,
                asserted_at_ms=line.now(),
            )
        )
    line.event(
        tx,
        "model_call",
        turn_id=row.turn_id,
        body={
            "step": row.step_id,
            "model": said.model_id,
            "provider": said.provider,
            "input_tokens": said.input_tokens or 0,
            "output_tokens": said.output_tokens or 0,
            "fault": None if reply.fault is None else reply.fault.kind.value,
            "attempt": row.attempts,
        },
    )
    if not tx.move_outbox(row.outbox_id, epoch=row.epoch, state=OutboxState.CLAIMED, to=OutboxState.SETTLED):
        raise InvariantViolation("a model call's row is still ours", row=row.outbox_id)


def _refuse(line: Line, tx: Tx, row: OutboxRow, *, reason: str) -> None:
    tx.move_outbox(row.outbox_id, epoch=row.epoch, state=OutboxState.CLAIMED, to=OutboxState.SETTLED)
    tx.set_visit(row.turn_id, row.step_id, state=StepState.FAILED)
    failed(line, tx, row.turn_id, category=FailureCategory.ROUTING, reason=reason)
    refresh(tx, row.turn_id, now_ms=line.now())
