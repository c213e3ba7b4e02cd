# SPDX-License-Identifier: Apache-2.0
"""A turn that only decided is recorded by an effect of its own, described like any other."""

from __future__ import annotations

from actum.model import foreign
from actum.model.effect import Effect, EffectClass
from actum.model.errors import InvariantViolation, Refused
from actum.model.walk import Stage
from actum.ports.store import Tx
from actum.service.line import Line
from actum.service.stage import Staged, stage_effect
from actum.service.view import load_view

CAPABILITY = "subject.record"
DIRECT = "agent.direct"
"""The built-in process by which an agent proposes one action itself."""


def stage_record(line: Line, tx: Tx, turn_id: str) -> tuple[Staged, Effect]:
    """Return the staged record of a turn as it stands in this transaction."""
    outcome = foreign.digest_foreign(
        {
            "turn": turn_id,
            "decisions": [row.digest for row in tx.decisions(turn_id)],
            "proposals": [[row.proposed_action_id, row.state.value] for row in tx.proposals(turn_id)],
        }
    )
    stage = Stage(
        action=CAPABILITY,
        capability=CAPABILITY,
        effect_class=EffectClass.INFORM,
        arguments_json=foreign.encode_foreign({"turn_id": turn_id, "outcome": outcome}).decode(),
    )
    view = load_view(line, tx, turn_id)
    step_id = tx.visits(turn_id)[-1].step_id
    staged = stage_effect(line, view, stage, step_id=step_id, given_key=None)
    if staged.effect is None or isinstance(staged.refused, Refused):
        raise InvariantViolation("a turn's record can always be described", turn=turn_id)
    return staged, staged.effect
