# SPDX-License-Identifier: Apache-2.0
"""A turn is walked through its process: decide outside any transaction, then write all of it in one.

Rules
1. Nothing is decided but by the ladder.
2. A step with staged proposals is done when they are settled; the next step is not walked before.
3. Everything a walk found is written together: visits, decisions, proposals, effects, questions, outbox rows.
4. A walk that somebody else overtook writes nothing and is made again.
5. A residual is a question or a visible failure; a refused proposal is a visible failure.
6. A turn that only decided leaves a subject.record row, so that it too ends on a receipt.
7. A step that stages an action which only another program registers is left to that program, before it is decided and
   before a model is asked.
"""

from __future__ import annotations

from collections.abc import Iterable

from actum.kernel.ladder import decide, decide_by_person
from actum.model import foreign
from actum.model.errors import InvariantViolation, Refused
from actum.model.process import Step, StepKind
from actum.model.walk import Decided, LadderContext, ModelReply, NeedModel, Residual
from actum.model.work import StepState
from actum.ports.store import Tx, VisitRow
from actum.service import record
from actum.service.line import Line
from actum.service.points import commit
from actum.service.rows import Walked, write_walk
from actum.service.stage import stage_effect
from actum.service.view import TurnView, apply_writes, load_view

OVERTAKEN_MAX = 20
"""How often a walk is made again because another process walked the same turn."""


def walk(line: Line, turn_id: str, *, reply: ModelReply | None = None) -> bool:
    """Walk a turn as far as it goes without a person, a model or the world; tell whether anything came of it."""
    for _ in range(OVERTAKEN_MAX):
        view = line.store.read(lambda tx: load_view(line, tx, turn_id))
        written, moved = _write(line, view, find(line, view, reply=reply))
        if written:
            return moved
    raise InvariantViolation("a turn is walked by one process at a time", turn=turn_id)


def find(line: Line, view: TurnView, *, reply: ModelReply | None = None) -> Walked:
    """Return what walking on would come to. It reads the world to describe effects, and changes nothing."""
    walked = Walked(base=_base(view))
    while True:
        step = view.current()
        if step is None:
            walked.ended = True
            return walked
        if step.id in view.decided:
            return walked  # Rule 2
        if step.kind is StepKind.REASONING and reply is None:
            # Rule 7: a model's answer is given to one walk only, so whoever could not use it does not ask for it.
            walked.elsewhere = _elsewhere(line, step, [action.capability for action in view.process.actions])
            if walked.elsewhere is not None:
                return walked
        found = _as_given(view, step) or _by_the_ladder(line, view, step, reply=reply)
        reply = None
        if isinstance(found, Residual):
            walked.residual = (step, found)
            return walked
        if isinstance(found, NeedModel):
            walked.need = (step, found)
            return walked
        if isinstance(found, Refused):
            walked.refused = (step, found)
            return walked
        # Rule 7
        walked.elsewhere = _elsewhere(line, step, [stage.capability for stage in found.stages])
        if walked.elsewhere is not None:
            return walked
        if take_decision(line, view, walked, step=step, decided=found):
            return walked


def _by_the_ladder(
    line: Line, view: TurnView, step: Step, *, reply: ModelReply | None
) -> Decided | Residual | NeedModel | Refused:
    # Rule 1
    return decide(
        step,
        subject=view.subject,
        context=LadderContext(turn_id=view.turn.turn_id, now_ms=line.now(), work_type=view.item.work_type),
        index=view.index,
        model_reply=reply,
        subject_digest=foreign.digest_foreign(view.subject),
    )


def _as_given(view: TurnView, step: Step) -> Decided | Refused | None:
    """Decide a step by the choice that a person gave for it where it could not be described (rule 7)."""
    if step.id not in view.given:
        return None
    given, question = view.given[step.id]
    writes = None if given.writes_json is None else foreign.decode_foreign(given.writes_json.encode())
    return decide_by_person(
        step, subject=view.subject, question=question, choice=given.choice, person=given.person,
        reason=given.reason, now_ms=given.at_ms, index=view.index, writes=writes,
    )  # fmt: skip


def _elsewhere(line: Line, step: Step, capabilities: Iterable[str]) -> tuple[Step, str] | None:
    found = next((name for name in capabilities if line.rules.is_elsewhere(name)), None)
    return None if found is None else (step, found)


def take_decision(line: Line, view: TurnView, walked: Walked, *, step: Step, decided: Decided) -> bool:
    """Add a decision to a walk and move the view on; True where the walk must stop at this step."""
    key = _given_key(view, step)
    staged = [stage_effect(line, view, stage, step_id=step.id, given_key=key) for stage in decided.stages]
    walked.decided.append((step, decided, view.subject, staged))
    view.subject = apply_writes(view.subject, decided.writes, process=view.process)
    view.decided.add(step.id)
    if any(one.repeats is None for one in staged):
        return True  # Rule 2; what only repeats an earlier effect has nothing to wait for.
    _close_step(view, step)
    return False


def _close_step(view: TurnView, step: Step) -> None:
    view.visits[step.id] = VisitRow(
        step_id=step.id, position=len(view.visits), state=StepState.DONE, writes=None
    )


def _given_key(view: TurnView, step: Step) -> str | None:
    """Return the idempotency key an agent gave for the action it proposed itself."""
    if view.turn.process != record.DIRECT:
        return None
    given = view.subject.get("idempotency_key")
    return given if isinstance(given, str) and given else None


def _base(view: TurnView) -> frozenset[tuple[str, StepState]]:
    return frozenset((visit.step_id, visit.state) for visit in view.visits.values())


def _write(line: Line, view: TurnView, walked: Walked) -> tuple[bool, bool]:
    """Write a walk; return whether it was written, and whether the turn is another one by it."""
    turn_id = view.turn.turn_id

    def work(tx: Tx) -> tuple[bool, bool]:
        before = _stands(tx, turn_id)
        written = write_walk(line, tx, view, walked)
        return written, _stands(tx, turn_id) != before

    return commit(line, "walk", work)


def _stands(tx: Tx, turn_id: str) -> tuple[object, ...]:
    activity = tx.activity(turn_id)
    return tx.turn_rows(turn_id), activity and activity.state, activity and activity.label
