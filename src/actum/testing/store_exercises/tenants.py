# SPDX-License-Identifier: Apache-2.0
"""Tenants of one database neither see nor move anything of each other, through any call there is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from actum.model.activity import ActivityFilter, ActivityState
from actum.model.delivery import OutboxState
from actum.model.errors import InvariantViolation
from actum.model.proposal import ProposalState
from actum.model.question import QuestionReason
from actum.model.work import StepState
from actum.ports.store import Tx
from actum.testing.store_exercises.bench import Bench, raised, refused
from actum.testing.store_exercises.samples import CAPABILITY, LATER, NOW, Samples, digest

Made = dict[str, str]


def _everything(tx: Tx, s: Samples) -> Made:
    """Write one row of everything for a tenant and return the ids."""
    turn_id = s.begun(tx)
    item = s.item(key="key")
    decision, question = s.decision(turn_id), s.question(turn_id, subject_ref="x")
    tx.add_work_item(item)
    tx.add_turn(s.turn(item.work_item_id))
    tx.add_decision(decision)
    tx.add_question(question)
    tx.put_content(digest("content"), s.tenant.encode(), now_ms=NOW)
    tx.put_rulebook(digest("rules"), s.tenant.encode(), by="root", now_ms=NOW)
    receipt = s.sealed(tx, turn_id)
    row = s.claimed(tx, turn_id)
    effect = tx.effect(str(row.effect_digest))
    proposal = s.proposal(
        turn_id,
        effect_digest=row.effect_digest,
        proposed_action_id=effect.proposed_action_id if effect else "",
    )
    tx.add_proposal(proposal)
    tx.add_qualification(s.qualification(str(row.effect_digest)))
    execution = s.execution(row)
    tx.add_execution(execution)
    tx.bind_idempotent(CAPABILITY, "key", intent_digest=digest(s.tenant), outbox_id=row.outbox_id)
    tx.put_activity(s.completed(turn_id))
    tx.add_event(s.event(kind="k", turn_id=turn_id))
    tx.add_assertion(s.assertion(turn_id))
    tx.add_message(s.message(turn_id))
    tx.add_role("bob", "approver", by="root", now_ms=NOW)
    tx.add_leaf(s.leaf(0))
    tx.set_log_state(1, s.tenant.encode())
    tx.next_in_chain("chain")
    tx.set_meta("incarnation", s.tenant)
    tx.take_runner(s.runner("one", 1), over_epoch=None)
    queued = s.begun(tx, "later")
    tx.put_activity(s.activity(queued, state=ActivityState.QUEUED))
    declined, waiting = s.effect(turn_id), s.outbox(turn_id, not_before_ms=LATER * 9)
    tx.add_effect(declined)
    ended = s.outbox(turn_id, declined.effect_digest, state=OutboxState.SETTLED)
    tx.add_outbox(ended)
    tx.add_outbox(waiting)
    return {
        "turn": turn_id, "item": item.work_item_id, "decision": decision.digest, "question": question.question_id,
        "receipt": receipt.receipt_id, "sealed": receipt.outbox_id, "payload": receipt.payload_digest,
        "row": row.outbox_id,
        "effect": str(row.effect_digest), "grant": str(row.grant_id), "proposal": proposal.proposed_action_id,
        "execution": execution.execution_id, "waiting": waiting.outbox_id,
        "queued": queued, "declined": ended.outbox_id,
    }  # fmt: skip


def _views(made: Made) -> dict[str, Callable[[Tx], object]]:
    """Every read there is, asked with one tenant's ids."""
    return {
        "work_item": lambda tx: tx.work_item(made["item"]),
        "find_work_item": lambda tx: tx.find_work_item(principal="ann", key="key"),
        "turn": lambda tx: tx.turn(made["turn"]),
        "turns_of_item": lambda tx: tx.turns_of_item(made["item"]),
        "visits": lambda tx: tx.visits(made["turn"]),
        "decision": lambda tx: tx.decision(made["decision"]),
        "decisions": lambda tx: tx.decisions(made["turn"]),
        "each_decision": lambda tx: list(tx.each_decision()),
        "decisions_per_rung": lambda tx: tx.decisions_per_rung(),
        "proposal": lambda tx: tx.proposal(made["proposal"]),
        "proposals": lambda tx: tx.proposals(made["turn"]),
        "effect": lambda tx: tx.effect(made["effect"]),
        "effect_origin": lambda tx: tx.effect_origin(made["effect"]),
        "qualification": lambda tx: tx.qualification(made["effect"]),
        "question": lambda tx: tx.question(made["question"]),
        "open_question": lambda tx: tx.open_question(reason=QuestionReason.CONFIRM, subject_ref="x"),
        "open_questions": lambda tx: tx.open_questions(),
        "questions": lambda tx: tx.questions(made["turn"]),
        "grant": lambda tx: tx.grant(made["grant"]),
        "roles": lambda tx: tx.roles("bob"),
        "outbox": lambda tx: tx.outbox(made["row"]),
        "outbox_of_effect": lambda tx: tx.outbox_of_effect(made["effect"]),
        "outbox_of_turn": lambda tx: tx.outbox_of_turn(made["turn"]),
        "outbox_in": lambda tx: tx.outbox_in(*OutboxState),
        "outbox_counts": lambda tx: tx.outbox_counts(),
        "outbox_unsealed": lambda tx: tx.outbox_unsealed(),
        "next_due_ms": lambda tx: tx.next_due_ms(),
        "find_idempotent": lambda tx: tx.find_idempotent(CAPABILITY, "key"),
        "execution": lambda tx: tx.execution(made["execution"]),
        "executions": lambda tx: tx.executions(made["row"]),
        "receipt": lambda tx: tx.receipt(made["receipt"]),
        "receipt by payload": lambda tx: tx.receipt(made["payload"]),
        "receipts": lambda tx: tx.receipts(made["turn"]),
        "receipts_of_row": lambda tx: tx.receipts_of_row(made["sealed"]),
        "log_state": lambda tx: tx.log_state()[0],
        "each_leaf": lambda tx: list(tx.each_leaf()),
        "runner": lambda tx: tx.runner(),
        "holds_runner": lambda tx: tx.holds_runner("one", incarnation="local"),
        "activity": lambda tx: tx.activity(made["turn"]),
        "activity of a queued turn": lambda tx: tx.activity(made["queued"]),
        "activities": lambda tx: tx.activities(ActivityFilter.ALL),
        "turn_rows": lambda tx: _of_turn(tx, made["turn"]),
        "activity_counts": lambda tx: tx.activity_counts(),
        "turns_in": lambda tx: tx.turns_in("completed"),
        "events": lambda tx: tx.events(),
        "events of a turn": lambda tx: tx.events(kind="k", turn_id=made["turn"]),
        "assertions": lambda tx: tx.assertions(made["turn"]),
        "each_assertion": lambda tx: list(tx.each_assertion()),
        "messages": lambda tx: tx.messages(made["turn"]),
        "meta": lambda tx: tx.meta("incarnation"),
        "content": lambda tx: tx.content(digest("content")),
        "rulebook": lambda tx: tx.rulebook(digest("rules")),
        "active_rulebook": lambda tx: tx.active_rulebook(),
    }


def _of_turn(tx: Tx, turn_id: str) -> list[object]:
    found = tx.turn_rows(turn_id)
    parts = [getattr(found, name) for name in found.__struct_fields__]
    return [part for part in parts if part]


def _moves(made: Made) -> dict[str, Callable[[Tx], object]]:
    """Every change of a row there is, asked with one tenant's ids; each answers false or nothing elsewhere."""
    row, claimed = made["row"], OutboxState.CLAIMED
    return {
        "set_visit": lambda tx: tx.set_visit(made["turn"], "sort", state=StepState.FAILED),
        "move_visits": lambda tx: tx.move_visits(state=StepState.PENDING, to=StepState.FAILED),
        "move_visit": lambda tx: tx.move_visit(
            made["turn"], "sort", state=StepState.PENDING, to=StepState.RUNNING
        ),
        "set_proposal": lambda tx: tx.set_proposal(made["proposal"], state=ProposalState.CANCELLED),
        "answer_question": lambda tx: tx.answer_question(made["question"], by="e", answer="a", now_ms=1),
        "void_question": lambda tx: tx.void_question(made["question"]),
        "use_grant": lambda tx: tx.use_grant(made["grant"], outbox_id=row),
        "void_unused_grants": lambda tx: tx.void_unused_grants(now_ms=NOW),
        "claim": lambda tx: tx.claim(
            holder="e", now_ms=LATER, lease_until_ms=LATER * 2, limit=9, capabilities=[CAPABILITY]
        ),
        "nudge_activity": lambda tx: tx.nudge_activity(
            made["queued"], state="running", questions=1, now_ms=LATER
        ),
        "claim_row": lambda tx: tx.claim_row(made["waiting"], holder="e", lease_until_ms=LATER),
        "mark_dispatched": lambda tx: tx.mark_dispatched(row, epoch=1, now_ms=NOW),
        "close_unattempted": lambda tx: tx.close_unattempted(made["declined"]),
        "move_outbox": lambda tx: tx.move_outbox(row, epoch=1, state=claimed, to=OutboxState.DEAD),
        "renew_leases": lambda tx: tx.renew_leases(holder="one", now_ms=NOW, lease_until_ms=LATER + 1),
        "finish_execution": lambda tx: tx.finish_execution(
            made["execution"], finished_at_ms=NOW, said="ok", result_digest=None
        ),
        "renew_runner": lambda tx: tx.renew_runner(holder="one", epoch=1, lease_until_ms=LATER + 1),
    }


def no_query_shows_another_tenant_s_rows(bench: Bench) -> None:
    """Asked with the first tenant's own ids, every read of a second, empty tenant finds nothing."""
    one, two = bench.store(), bench.store("other")
    made = one.write(lambda tx: _everything(tx, Samples()))
    views = _views(made)
    for name, view in views.items():
        assert one.read(view), f"{name} finds nothing of its own"
        assert not two.read(view), f"{name} shows another tenant's row"
    asked = {name.split(" ")[0] for name in views}
    every = {name for name in dir(Tx) if not name.startswith("_")}
    writers = {
        name for name in every if name.startswith(("add_", "put_", "set_", "bind_", "take_", "next_in"))
    }
    left = every - asked - set(_moves(made)) - writers
    assert not left, f"no exercise asks these for another tenant's rows: {sorted(left)}"


def no_move_touches_another_tenant_s_rows(bench: Bench) -> None:
    """Asked with the first tenant's own ids, every change a second tenant makes leaves the first's rows alone."""
    one, two = bench.store(), bench.store("other")
    made = one.write(lambda tx: _everything(tx, Samples()))
    views = _views(made)
    before = {name: one.read(view) for name, view in views.items()}
    for name, move in _moves(made).items():
        assert not two.write(move), f"{name} says it changed something"
        after = {name: one.read(view) for name, view in views.items()}
        assert after == before, f"{name} changed another tenant's row"


def the_same_ids_stand_in_two_tenants(bench: Bench) -> None:
    """Ids, keys, leaves and facts of one tenant are free in another; each keeps its own."""
    one, two = bench.store(), bench.store("other")
    made = one.write(lambda tx: _everything(tx, Samples("local")))
    again = two.write(lambda tx: _everything(tx, Samples("other")))
    assert again == made
    for store, tenant in ((one, "local"), (two, "other")):
        assert store.read(lambda tx: tx.content(digest("content"))) == (tenant.encode(), None)
        assert store.read(lambda tx: tx.meta("incarnation")) == tenant
        assert store.read(lambda tx: tx.log_state()) == (1, tenant.encode())
        item = store.read(lambda tx: tx.work_item(made["item"]))
        assert item is not None
        assert item.tenant == tenant


def a_record_of_another_tenant_is_not_written(bench: Bench) -> None:
    """A transaction stops at a record that names another tenant, and a row cannot refer into another tenant."""
    one, two, s = bench.store(), bench.store("other"), Samples("other", mark="Z")
    made = one.write(lambda tx: _everything(tx, Samples()))
    foreign: dict[str, Any] = {
        "add_work_item": s.item(),
        "add_turn": s.turn(made["item"]),
        "add_decision": s.decision(made["turn"]),
        "add_proposal": s.proposal(made["turn"]),
        "add_effect": s.effect(made["turn"]),
        "add_question": s.question(made["turn"]),
        "add_grant": s.grant(digest("x")),
        "add_qualification": s.qualification(made["effect"]),
        "add_outbox": s.outbox(made["turn"]),
        "put_activity": s.activity(made["turn"]),
        "add_event": s.event(),
        "add_assertion": s.assertion(made["turn"]),
        "add_message": s.message(made["turn"]),
        "add_leaf": s.leaf(1),
    }
    for name, record in foreign.items():
        error = raised(lambda name=name, record=record: one.write(lambda tx: getattr(tx, name)(record)))
        assert isinstance(error, InvariantViolation), (name, error)
    reaching = msgspec.structs.replace(foreign["add_turn"], tenant="other")
    assert refused(lambda: two.write(lambda tx: tx.add_turn(reaching))) == "reference"


EXERCISES = (
    no_query_shows_another_tenant_s_rows,
    no_move_touches_another_tenant_s_rows,
    the_same_ids_stand_in_two_tenants,
    a_record_of_another_tenant_is_not_written,
)
