# SPDX-License-Identifier: Apache-2.0
"""Work comes back as it was stored: content, rulebooks, items, turns, visits, decisions, proposals, effects."""

from __future__ import annotations

from actum.model.proposal import ProposalState
from actum.model.work import StepState
from actum.ports.store import Tx
from actum.testing.store_exercises.bench import Bench, refused, told_by
from actum.testing.store_exercises.samples import NOW, Samples, digest


def content_is_kept_under_its_digest(bench: Bench) -> None:
    """Bytes or the name of a file, once for each digest, and the first stay; erased content leaves its digest."""
    store = bench.store()
    one, two, absent = digest("one"), digest("two"), digest("absent")
    store.write(lambda tx: tx.put_content(one, b"\x00\xff body", now_ms=NOW))
    store.write(lambda tx: tx.put_content(one, b"other", now_ms=NOW + 1))
    store.write(lambda tx: tx.put_content_file(two, "two.bin", size=5_000_000, now_ms=NOW))
    assert store.read(lambda tx: tx.content(one)) == (b"\x00\xff body", None)
    assert store.read(lambda tx: tx.content(two)) == (None, "two.bin")
    assert store.read(lambda tx: tx.content(absent)) is None
    assert bench.raw("SELECT size FROM content WHERE digest = ?", two)[0][0] == 5_000_000
    bench.raw("UPDATE content SET body = NULL, erased_at_ms = ? WHERE digest = ?", NOW, one)
    assert store.read(lambda tx: tx.content(one)) == (None, None)


def one_rulebook_is_active_and_all_are_kept(bench: Bench) -> None:
    """Activating a rulebook ends the one before; both stay readable, and one may come back."""
    store = bench.store()
    assert store.read(lambda tx: tx.active_rulebook()) is None
    for at, name in enumerate(("first", "second", "first")):
        store.write(
            lambda tx, at=at, name=name: tx.put_rulebook(
                digest(name), name.encode(), by="root", now_ms=NOW + at
            )
        )
        assert store.read(lambda tx: tx.active_rulebook()) == (digest(name), name.encode())
    assert store.read(lambda tx: tx.rulebook(digest("second"))) == b"second"
    assert store.read(lambda tx: tx.rulebook(digest("third"))) is None
    assert bench.raw("SELECT count(*) FROM rulebook WHERE active_until_ms IS NULL")[0][0] == 1


def items_and_turns_come_back_whole(bench: Bench) -> None:
    """Every field comes back; an item is found by its key, and turns by their item, oldest first."""
    store, s = bench.store(), Samples()
    item = s.item(key="k", on_behalf_of="eve", work_type="mail ✉ 𝕏")
    other = s.item()
    first, second = s.turn(item.work_item_id), s.turn(item.work_item_id)
    store.write(lambda tx: [tx.add_work_item(item), tx.add_work_item(other)])
    store.write(lambda tx: [tx.add_turn(second), tx.add_turn(first)])
    assert store.read(lambda tx: tx.work_item(item.work_item_id)) == item
    assert store.read(lambda tx: tx.work_item(other.work_item_id)) == other
    assert store.read(lambda tx: tx.work_item("nobody")) is None
    assert store.read(lambda tx: tx.find_work_item(principal="ann", key="k")) == item
    assert store.read(lambda tx: tx.find_work_item(principal="bob", key="k")) is None
    assert store.read(lambda tx: tx.turn(first.turn_id)) == first
    assert store.read(lambda tx: tx.turn("none")) is None
    assert store.read(lambda tx: tx.turns_of_item(item.work_item_id)) == [first, second]
    again = s.item(key="k")
    assert refused(lambda: store.write(lambda tx: tx.add_work_item(again))) == "work_item_key_once"


def visits_move_and_keep_what_was_written(bench: Bench) -> None:
    """A visit moves; what its decision wrote stays until something else is written; all in a state move at once."""
    store, s = bench.store(), Samples()
    turn_id = store.write(lambda tx: s.begun(tx, "a"))
    store.write(lambda tx: tx.add_visit(s.visit(turn_id, "b", position=1)))
    store.write(lambda tx: tx.set_visit(turn_id, "a", state=StepState.RUNNING, writes=b'{"x":1}'))
    store.write(lambda tx: tx.set_visit(turn_id, "a", state=StepState.DONE))
    found = store.read(lambda tx: tx.visits(turn_id))
    assert [(row.step_id, row.position, row.state, row.writes) for row in found] == [
        ("a", 0, StepState.DONE, b'{"x":1}'),
        ("b", 1, StepState.PENDING, None),
    ]
    moved = store.write(lambda tx: tx.move_visits(state=StepState.PENDING, to=StepState.FAILED))
    assert moved == [(turn_id, "b")]
    assert store.write(lambda tx: tx.move_visits(state=StepState.PENDING, to=StepState.DONE)) == []


def a_step_visit_has_one_decision(bench: Bench) -> None:
    """Decisions come back by digest, by turn and all together; a second one for a visit is refused."""
    store, s = bench.store(), Samples()
    turn_id = store.write(lambda tx: s.begun(tx))
    store.write(lambda tx: tx.add_visit(s.visit(turn_id, "then", position=1)))
    late = s.decision(turn_id, decided_at_ms=NOW + 5, body=b'{"b":2}')
    early = s.decision(turn_id, step_id="then", rung="reasoning", input_tokens=9, output_tokens=4)
    store.write(lambda tx: [tx.add_decision(late), tx.add_decision(early)])
    assert store.read(lambda tx: tx.decisions(turn_id)) == [early, late]
    assert store.read(lambda tx: tx.decision(late.digest)) == late
    assert store.read(lambda tx: tx.decision(digest("none"))) is None
    assert store.read(lambda tx: list(tx.each_decision())) == [late, early]
    assert store.read(lambda tx: tx.decisions_per_rung()) == [("pattern", 1, 0, 0), ("reasoning", 1, 9, 4)]
    second = s.decision(turn_id)
    assert refused(lambda: store.write(lambda tx: tx.add_decision(second))) == "decision_once"


def proposals_move_and_effects_stay(bench: Bench) -> None:
    """A proposal moves and keeps its refusal; an effect comes back with its descriptor and private parts."""
    store, s = bench.store(), Samples()
    turn_id = store.write(lambda tx: s.begun(tx))
    effect = s.effect(turn_id)
    proposal = s.proposal(turn_id, effect_digest=effect.effect_digest)
    bare = s.proposal(turn_id)
    store.write(lambda tx: [tx.add_effect(effect), tx.add_proposal(proposal), tx.add_proposal(bare)])
    assert store.read(lambda tx: tx.effect(effect.effect_digest)) == effect
    assert store.read(lambda tx: tx.effect(digest("none"))) is None
    assert store.read(lambda tx: tx.proposals(turn_id)) == [proposal, bare]
    store.write(
        lambda tx: tx.set_proposal(bare.proposed_action_id, state=ProposalState.REFUSED, refusal="too_many")
    )
    store.write(lambda tx: tx.set_proposal(bare.proposed_action_id, state=ProposalState.SUPERSEDED))
    found = store.read(lambda tx: tx.proposal(bare.proposed_action_id))
    assert found is not None
    assert (found.state, found.refusal) == (ProposalState.SUPERSEDED, "too_many")
    assert store.read(lambda tx: tx.proposal("none")) is None
    rule = refused(
        lambda: store.write(lambda tx: tx.set_proposal(bare.proposed_action_id, state=ProposalState.GRANTED))
    )
    assert rule == "proposal_granted_has_effect"


def an_effect_is_read_with_what_it_came_from(bench: Bench) -> None:
    """One read gives effect, proposal, work item and decision; only the decision may be missing."""
    store, s = bench.store(), Samples()
    item = s.item()
    turn = s.turn(item.work_item_id)
    decision = s.decision(turn.turn_id)
    effect, bare = s.effect(turn.turn_id), s.effect(turn.turn_id)
    decided = s.proposal(
        turn.turn_id, effect_digest=effect.effect_digest, proposed_action_id=effect.proposed_action_id,
        decision_digest=decision.digest,
    )  # fmt: skip

    def begun(tx: Tx) -> None:
        tx.add_work_item(item)
        tx.add_turn(turn)
        tx.add_visit(s.visit(turn.turn_id))
        tx.add_effect(effect)
        tx.add_effect(bare)
        tx.add_proposal(decided)

    store.write(begun)
    found = store.read(lambda tx: tx.effect_origin(effect.effect_digest))
    assert found is not None
    assert (found.effect, found.proposal, found.item, found.decision) == (effect, decided, item, None)
    store.write(lambda tx: tx.add_decision(decision))
    found = store.read(lambda tx: tx.effect_origin(effect.effect_digest))
    assert found is not None
    assert found.decision == decision
    assert store.read(lambda tx: tx.effect_origin(bare.effect_digest)) is None
    assert store.read(lambda tx: tx.effect_origin(digest("none"))) is None


def text_is_kept_whole_or_refused(bench: Bench) -> None:
    """Text that a database cannot hold is refused, and never kept in part or by another spelling."""
    store, s = bench.store(), Samples()
    for text in ("a\x00b", "\ud800", "e\u0301", "\u202e", "'; DROP TABLE turn; --", "%s ? %%"):
        item = s.item(principal=text)
        told = told_by(lambda item=item: store.write(lambda tx: tx.add_work_item(item)))
        assert told in ("taken", "store_value"), told
        kept = store.read(lambda tx, item=item: tx.work_item(item.work_item_id))
        assert kept == (item if told == "taken" else None)


EXERCISES = (
    content_is_kept_under_its_digest,
    one_rulebook_is_active_and_all_are_kept,
    items_and_turns_come_back_whole,
    visits_move_and_keep_what_was_written,
    a_step_visit_has_one_decision,
    proposals_move_and_effects_stay,
    an_effect_is_read_with_what_it_came_from,
    text_is_kept_whole_or_refused,
)
