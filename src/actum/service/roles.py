# SPDX-License-Identifier: Apache-2.0
"""An operator lets a named person answer; nobody gives a role to themselves.

Agents, models and tools are never given one.
"""

from __future__ import annotations

from actum.model.errors import RefusedError
from actum.ports.store import Tx
from actum.service.answer import NOT_PERSONS, Person, require_role
from actum.service.line import Line
from actum.service.points import commit


def give_role(line: Line, name: str, *, role: str, by: Person) -> None:
    """Give a person a role; RefusedError unless an operator asks for somebody else."""
    if name.startswith(NOT_PERSONS) or name == by.name:
        raise RefusedError(
            "role_not_given",
            failed=f"{name} is no other person, and a role is given to another person only",
            state="The roles are as they were",
            next_step="Name a person who is not you, without a prefix such as agent:",
            person=name,
        )

    def work(tx: Tx) -> None:
        require_role(tx, by.name, role="operator")
        now = line.now()
        tx.add_role(name, role, by=by.name, now_ms=now)
        line.event(tx, "role_given", body={"person": name, "role": role, "by": by.name})

    commit(line, "give_role", work)
