# SPDX-License-Identifier: Apache-2.0
"""A model's answer is untrusted text; it decides only inside its contract, and it can stage but not execute.

Rules
1. The packet holds what the deterministic rungs left open; a field that is already filled is not asked for
   and cannot be written by the answer.
2. An answer counts only for the packet it was asked with.
3. More tokens than the contract, or an answer cut off, does not decide.
4. Text that is not JSON of the packet's schema does not decide.
5. An action that is not bound to the step's skill makes the whole answer undecided.
6. An answer that touches money_legal is shown to a person and decides nothing.
7. The answer's members are fields, actions by id, and a note: there is no word in it that executes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, assert_never, cast

from actum.kernel.answer import admit_answer
from actum.kernel.facts import Facts
from actum.kernel.index import StepIndex
from actum.kernel.parsers import Unusable
from actum.kernel.rungs.offer import Offer, RungAnswer
from actum.kernel.staging import stage_all, write_of
from actum.model import canonical, foreign
from actum.model.decision import Condition, ConditionKind, Rung, RungEntry, RungOutcome
from actum.model.effect import EffectClass
from actum.model.errors import Refused
from actum.model.model_call import ModelAnswer, ModelFault, ModelFaultKind
from actum.model.plan import FieldType
from actum.model.process import FieldClass, FieldDeclaration, ReasoningContract
from actum.model.walk import FieldWrite, ModelReply, NeedModel, ResidualReason

NOTE_CHARS_MAX = 2000
TEXT_CHARS_MAX = 4000

_TYPE_SCHEMAS: dict[FieldType, dict[str, Any]] = {
    FieldType.INT: {"type": "integer"},
    FieldType.BOOL: {"type": "boolean"},
    FieldType.DECIMAL: {"type": "string", "maxLength": 64},
    FieldType.STRINGS: {"type": "array", "maxItems": 100, "items": {"type": "string", "maxLength": 1000}},
}


class Verdict(NamedTuple):
    """What the reasoning rung makes of a reply; ``reason`` is None where it decides."""

    answer: RungAnswer
    reason: ResidualReason | None
    detail: str


def need_model(at: StepIndex, facts: Facts, *, entries: tuple[RungEntry, ...]) -> NeedModel:
    """Return the residual packet of a reasoning step with its digest, contract and answer schema."""
    contract = at.step.contract or ReasoningContract()
    opened = open_outputs(at, facts)
    schema = answer_schema(at, opened, bound_only=True)
    packet: dict[str, object] = {
        "process": at.process.name,
        "step": at.step.id,
        "skill": at.step.skill,
        "work_type": facts.context.work_type,
        "status": facts.context.status,
        "subject": dict(facts.subject),
        "open_fields": [{"name": field.name, "type": field.type.value} for field in opened],
        "actions": [{"id": name, "capability": at.actions[name].capability} for name in at.skill.actions],
        "rungs": [{"rung": entry.rung.value, "outcome": entry.outcome.value} for entry in entries],
        "answer_schema": schema,
        "tier": contract.tier.value,
        "max_tokens": contract.max_tokens,
    }
    text = foreign.encode_foreign(packet)
    return NeedModel(
        packet_json=text.decode(),
        packet_digest=canonical.digest_bytes(text),
        contract=contract,
        answer_schema=schema,
        data_classes=_data_classes(at, facts),
    )


def open_outputs(at: StepIndex, facts: Facts) -> tuple[FieldDeclaration, ...]:
    """Return the fields an answer has to fill: the contract's outputs that are not filled yet (rule 1)."""
    contract = at.step.contract or ReasoningContract()
    names = contract.outputs or at.step.fields
    return tuple(at.fields[name] for name in names if facts.missing_from((name,)))


def answer_schema(at: StepIndex, opened: tuple[FieldDeclaration, ...], *, bound_only: bool) -> dict[str, Any]:
    """Return the JSON Schema of an answer. With ``bound_only`` it also names the bound actions (rule 7)."""
    action: dict[str, Any] = {"type": "string", "maxLength": 200}
    if bound_only and at.skill.actions:
        action["enum"] = list(at.skill.actions)
    members: dict[str, Any] = {
        "fields": _object({field.name: _field_schema(field) for field in opened}),
        "actions": {
            "type": "array",
            "items": action,
            "maxItems": len(at.skill.actions) if bound_only else 100,
        },
        "note": {"type": "string", "maxLength": NOTE_CHARS_MAX},
    }
    return _object(members)


def judge_reply(at: StepIndex, facts: Facts, *, asked: NeedModel, reply: ModelReply) -> Verdict:
    """Return whether a stored reply decides the step, and if not, by which rule."""
    if reply.packet_digest != asked.packet_digest:  # Rule 2
        return _refuse(ResidualReason.OTHER_PACKET, "the reply was asked with another packet")
    if reply.answer is None:
        assert reply.fault is not None
        return _refuse(_fault_reason(reply.fault), f"{reply.fault.kind.value}: {reply.fault.detail}")
    answer = reply.answer
    limit = asked.contract.max_tokens
    if answer.output_tokens > limit or answer.finish_reason == "length":  # Rule 3
        detail = f"{answer.output_tokens} tokens, ended by {answer.finish_reason!r}, contract {limit}"
        return _refuse(ResidualReason.TOKEN_CONTRACT_EXCEEDED, detail)
    return _judge_text(at, facts, answer=answer, digest=reply.digest())


def _judge_text(at: StepIndex, facts: Facts, *, answer: ModelAnswer, digest: str) -> Verdict:
    opened = open_outputs(at, facts)
    admitted = admit_answer(answer.text, schema=answer_schema(at, opened, bound_only=False))
    if isinstance(admitted, Refused):  # Rule 4
        is_json = admitted.reason != "answer_not_json"
        reason = ResidualReason.ANSWER_NOT_VALID if is_json else ResidualReason.ANSWER_NOT_JSON
        return _refuse(reason, ", ".join(f"{name} {value}" for name, value in admitted.facts.items()))
    value = cast("Mapping[str, Any]", admitted.value)
    actions = tuple(cast("list[str]", value["actions"]))
    for action in actions:
        if action not in at.skill.actions:  # Rule 5
            return _refuse(ResidualReason.ACTION_NOT_BOUND, f"{action[:100]!r} is not bound to the skill")
    if len(set(actions)) != len(actions):
        return _refuse(ResidualReason.ANSWER_NOT_VALID, "an action is proposed twice")
    writes: list[FieldWrite] = []
    for field in opened:
        write = write_of(field, value=value["fields"][field.name])
        if isinstance(write, Unusable):
            return _refuse(ResidualReason.ANSWER_NOT_VALID, f"{write.reason}: {write.detail}")
        writes.append(write)
    outcome = stage_all(actions, writes=tuple(writes), at=at, facts=facts)
    if isinstance(outcome, Unusable):
        return _refuse(ResidualReason.VALUE_UNRESOLVED, f"{outcome.reason}: {outcome.detail}")
    person = any(field.field_class is FieldClass.MONEY_LEGAL for field in opened) or any(
        stage.effect_class is EffectClass.MONEY_LEGAL for stage in outcome.stages
    )
    offer = Offer("answer", Condition(kind=ConditionKind.ANSWER, digest=digest), outcome, person)
    if person:  # Rule 6
        entry = _entry(RungOutcome.NEEDS_PERSON, "it touches money_legal")
        return Verdict(RungAnswer(entry, (offer,)), ResidualReason.MONEY_LEGAL, "a model proposed it")
    return Verdict(RungAnswer(_entry(RungOutcome.WON), (offer,)), None, "")


def _fault_reason(fault: ModelFault) -> ResidualReason:
    match fault.kind:
        case ModelFaultKind.TOO_LONG | ModelFaultKind.TRUNCATED:
            return ResidualReason.TOKEN_CONTRACT_EXCEEDED
        case ModelFaultKind.GARBAGE:
            return ResidualReason.ANSWER_NOT_VALID
        case (
            ModelFaultKind.UNAVAILABLE
            | ModelFaultKind.TIMEOUT
            | ModelFaultKind.EMPTY
            | ModelFaultKind.RATE_LIMITED
            | ModelFaultKind.UNAUTHORISED
            | ModelFaultKind.NOT_ALLOWED
            | ModelFaultKind.DECLINED
        ):
            return ResidualReason.NO_ANSWER
        case _:
            assert_never(fault.kind)


def _refuse(reason: ResidualReason, detail: str) -> Verdict:
    entry = _entry(RungOutcome.ANSWER_REFUSED, f"{reason.value}: {detail}")
    return Verdict(RungAnswer(entry, ()), reason, detail)


def _entry(outcome: RungOutcome, reason: str = "") -> RungEntry:
    return RungEntry(rung=Rung.REASONING, ran=True, outcome=outcome, reason=reason)


def _object(members: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(members),
        "properties": members,
    }


def _field_schema(field: FieldDeclaration) -> dict[str, Any]:
    if field.values:
        return {"type": "string", "enum": list(field.values)}
    return dict(_TYPE_SCHEMAS.get(field.type, {"type": "string", "maxLength": TEXT_CHARS_MAX}))


def _data_classes(at: StepIndex, facts: Facts) -> tuple[str, ...]:
    classes = {field.field_class.value for field in at.process.fields if facts.is_present(field.name)}
    declared = {reader.tokens[0] for reader in at.readers.values() if reader.tokens}
    if set(facts.subject) - declared:
        # A member that no declaration covers has no class that anybody vouched for.
        classes.add("undeclared")
    return tuple(sorted(classes))
