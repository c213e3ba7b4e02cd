# SPDX-License-Identifier: Apache-2.0
"""A job is one claimed row with everything that was loaded for it, as it is stored now."""

from __future__ import annotations

from typing import Any

import msgspec

from actum.model import foreign
from actum.model.delivery import Execution, ExecutionKind, OutboxRow
from actum.model.effect import STRICTNESS, Effect, EffectDescriptor, needs_qualification
from actum.model.errors import InvariantViolation, Refused
from actum.model.evidence import Qualification
from actum.model.grant import GrantRow
from actum.model.look import SeenLook
from actum.model.proposal import ProposalState
from actum.ports.capability import Capability, CapabilityInfo
from actum.ports.effect_view import EffectView
from actum.ports.execution import ExecutorReport, Held
from actum.ports.store import Tx
from actum.ports.verifier import LookRequest, Phase
from actum.service.line import Line
from actum.service.receipts import Sealing


class Backing(msgspec.Struct, kw_only=True):
    """What a row stands on. It can be loaded where the row's capability is not registered in this process."""

    row: OutboxRow
    effect: Effect
    arguments: dict[str, Any]
    arguments_json: bytes
    context: dict[str, Any]
    grant: GrantRow | None
    qualification: Qualification | None
    decision_digest: str
    proposal_state: ProposalState
    submitter: str
    on_behalf_of: str | None
    content_model_id: str | None
    route: str


class Job(Backing, kw_only=True):
    """One claimed row on its way, with everything that was loaded for it."""

    capability: Capability
    execution: Execution | None = None
    held: Held | None = None
    before: SeenLook | None = None
    report: ExecutorReport | None = None
    look: SeenLook | None = None
    refused: Refused | None = None
    postponed: str | None = None
    why_waits: str = ""
    """What keeps a postponed row waiting, for a person."""
    unseen: bool = False
    """Whether it waits only because nobody could look: that is no attempt of its own."""
    found_before: str | None = None
    """The digest of the world before the last attempt, where there was one."""
    not_again: str | None = None
    """Why no further attempt may be made, by the look before it."""
    not_called: str | None = None
    """Why a marked row was not called after all."""

    def view(self) -> EffectView:
        """Return what an executor may know, with arguments of its own: what it changes in them nobody else sees."""
        return EffectView(
            effect_digest=self.effect.effect_digest,
            salt=self.effect.salt,
            descriptor=self.effect.descriptor,
            arguments=foreign.to_plain(self.arguments),
        )


def load_job(line: Line, tx: Tx, row: OutboxRow) -> Job:
    """Load a claimed row with its capability."""
    found = line.registry.find(row.capability)
    if isinstance(found, Refused):
        raise InvariantViolation("a claimed row has a known capability", row=row.outbox_id)
    backing = load_backing(tx, row)
    acted = last_attempt(tx, row.outbox_id) if row.dispatched_at_ms is not None else None
    return Job(
        capability=found,
        found_before=None if acted is None else acted.before_digest,
        **{name: getattr(backing, name) for name in Backing.__struct_fields__},
    )


DECLARED = ("reversibility", "externality", "privilege_level", "claims", "data_classes", "executable_code")


def changed_since(info: CapabilityInfo, descriptor: EffectDescriptor) -> list[str]:
    """Return what a capability declares otherwise than a descriptor has it: what was confirmed is not this any more.

    A class that a rule or a person made stricter than the declared one stays as it was confirmed.
    """
    changed = [name for name in DECLARED if getattr(info, name) != getattr(descriptor, name)]
    if info.version != descriptor.capability_version:
        changed.insert(0, "version")
    if STRICTNESS.index(info.effect_class) > STRICTNESS.index(descriptor.effect_class):
        changed.append("effect_class")
    if info.destinations is not None and info.destinations != descriptor.destinations:
        changed.append("destinations")
    return changed


def last_attempt(tx: Tx, outbox_id: str) -> Execution | None:
    """Return the newest attempt of a row; an adopted row may have none but the settlement that says so."""
    executions = tx.executions(outbox_id)
    attempts = [found for found in executions if found.kind is not ExecutionKind.SETTLEMENT]
    return next(reversed(attempts or executions), None)


def attempts_made(tx: Tx, outbox_id: str) -> int:
    """Return how often a row was attempted: a claim that was given back before the mark is no attempt."""
    return sum(found.kind is not ExecutionKind.SETTLEMENT for found in tx.executions(outbox_id))


def load_backing(tx: Tx, row: OutboxRow) -> Backing:
    """Load what a row stands on, as it is stored now."""
    origin = tx.effect_origin(row.effect_digest or "")
    if origin is None:
        raise InvariantViolation("a row has an effect, a proposal, a turn and an item", row=row.outbox_id)
    stored, proposal, item, decision = origin.effect, origin.proposal, origin.item, origin.decision
    flagged = needs_qualification(stored.descriptor)
    qualification = tx.qualification(stored.effect_digest) if flagged else None
    return Backing(
        row=row,
        effect=stored.sealed(),
        arguments=foreign.decode_plain(stored.arguments),
        arguments_json=stored.arguments,
        context=foreign.decode_plain(stored.context),
        grant=None if row.grant_id is None else tx.grant(row.grant_id),
        qualification=None
        if qualification is None
        else msgspec.json.decode(qualification.body, type=Qualification),
        decision_digest=proposal.decision_digest,
        proposal_state=proposal.state,
        submitter=item.principal,
        on_behalf_of=item.on_behalf_of,
        content_model_id=_model_of(decision.body if decision else b"{}"),
        route=decision.rung if decision else "structured",
    )


class _ModelCallOnly(msgspec.Struct):
    model: str | None = None


class _DecisionModel(msgspec.Struct):
    model_call: _ModelCallOnly | None = None


def _model_of(decision: bytes) -> str | None:
    call = msgspec.json.decode(decision, type=_DecisionModel).model_call
    return None if call is None else call.model


def look_request(job: Job, *, phase: Phase, window_over: bool) -> LookRequest:
    """Return what the verifier is asked about a job."""
    before = job.before
    descriptor = job.effect.descriptor
    return LookRequest(
        capability=descriptor.capability,
        effect_digest=job.effect.effect_digest,
        salt=job.effect.salt,
        descriptor=descriptor,
        arguments=foreign.to_plain(job.arguments),
        phase=phase,
        before=None if before is None else before.detail,
        before_digest=None if before is None else before.observed,
        result=None if job.report is None else job.report.result,
        expected=None if descriptor.expected is None else descriptor.expected.digest,
        absence_is_proof=job.capability.info.absence_is_proof,
        window_over=window_over,
    )


def new_execution(line: Line, row: OutboxRow, *, kind: ExecutionKind) -> Execution:
    """Return an execution of a row that begins now."""
    now = line.now()
    return Execution(
        execution_id=line.ids.ulid(now),
        tenant=row.tenant,
        outbox_id=row.outbox_id,
        turn_id=row.turn_id,
        epoch=row.epoch,
        kind=kind,
        started_at_ms=now,
        finished_at_ms=None,
        before=None,
        before_digest=None,
        executor_said=None,
        result_digest=None,
    )


def ended_execution(line: Line, row: OutboxRow, *, kind: ExecutionKind) -> Execution:
    """Return an execution of a row that begins and ends now: nothing is called in it."""
    begun = new_execution(line, row, kind=kind)
    return msgspec.structs.replace(begun, finished_at_ms=begun.started_at_ms)


def expected_of(job: Backing) -> str | None:
    """Return the digest a supporting look must have observed."""
    expected = job.effect.descriptor.expected
    return None if expected is None else expected.digest


def sealing_of(job: Job, *, finished_at_ms: int) -> Sealing:
    """Return what is sealed of a job that was dispatched."""
    if job.execution is None:
        raise InvariantViolation("only an execution is sealed", row=job.row.outbox_id)
    report = job.report
    known = sealing_from(job, job.execution, finished_at_ms=finished_at_ms)
    # A verifier that has nothing to look at leaves no look: the grade stays what nobody saw.
    looks = () if job.look is None or not job.capability.info.observable else (job.look,)
    return msgspec.structs.replace(
        known,
        grant_digest=None if job.grant is None else job.grant.payload_digest,
        said=None if report is None else report.said,
        acknowledged=report is not None and report.acknowledged,
        result=None if report is None else report.result,
        looks=looks,
        failure_code=job.not_called,
    )


def sealing_from(backing: Backing, execution: Execution, *, finished_at_ms: int) -> Sealing:
    """Return what is sealed of a dispatched row of which no more is known than what it stands on."""
    return Sealing(
        row=backing.row,
        execution=execution,
        effect=backing.effect,
        arguments=backing.arguments_json,
        decision_digest=backing.decision_digest,
        grant_digest=None,
        dispatched=True,
        said=None,
        acknowledged=False,
        result=None,
        looks=(),
        expected=expected_of(backing),
        context=backing.context,
        finished_at_ms=max(finished_at_ms, execution.started_at_ms),
        reasoning_route=backing.route,
        content_model_id=backing.content_model_id,
    )
