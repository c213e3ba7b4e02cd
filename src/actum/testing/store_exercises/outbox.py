# SPDX-License-Identifier: Apache-2.0
"""The outbox gives a row to one holder at a time, and who lost it writes nothing."""

from __future__ import annotations

from typing import Any

from actum.model.delivery import OutboxState
from actum.model.grant import GrantPurpose
from actum.ports.store import Store
from actum.testing.store_exercises.bench import Bench, refused
from actum.testing.store_exercises.samples import CAPABILITY, LATER, NOW, Samples, digest

READY, CLAIMED, DISPATCHED = OutboxState.READY, OutboxState.CLAIMED, OutboxState.DISPATCHED


def _claim(store: Store, holder: str, *, now: int = NOW, until: int = LATER, **more: Any) -> list[str]:
    limit, capabilities = more.get("limit", 10), more.get("capabilities", [CAPABILITY])
    return store.write(
        lambda tx: [
            row.outbox_id
            for row in tx.claim(
                holder=holder, now_ms=now, lease_until_ms=until, limit=limit, capabilities=capabilities
            )
        ]
    )


def rows_come_back_whole_and_are_counted(bench: Bench) -> None:
    """A row is found by id, by effect, by turn and by state."""
    store, s = bench.store(), Samples()
    turn_id = store.write(lambda tx: s.begun(tx))
    row = store.write(lambda tx: s.ready(tx, turn_id))
    notice = s.outbox(turn_id, not_before_ms=NOW + 9, body_digest=digest("body"))
    store.write(lambda tx: tx.add_outbox(notice))
    assert store.read(lambda tx: tx.outbox(row.outbox_id)) == row
    assert store.read(lambda tx: tx.outbox("none")) is None
    assert store.read(lambda tx: tx.outbox_of_effect(str(row.effect_digest))) == row
    assert store.read(lambda tx: tx.outbox_of_effect(digest("none"))) is None
    assert store.read(lambda tx: tx.outbox_of_turn(turn_id)) == [row, notice]
    assert store.read(lambda tx: tx.outbox_in(READY, OutboxState.SETTLED)) == [row, notice]
    assert store.read(lambda tx: tx.outbox_in(CLAIMED)) == []
    assert store.read(lambda tx: tx.outbox_in()) == []
    assert store.read(lambda tx: tx.outbox_counts()) == {"ready": 2}


def a_claim_takes_due_rows_it_can_do_oldest_first(bench: Bench) -> None:
    """Not before its time, not of an unknown capability, not more than the limit; lease, epoch, attempt are set."""
    store, s = bench.store(), Samples()
    turn_id = store.write(lambda tx: s.begun(tx))
    rows = [
        s.outbox(turn_id, not_before_ms=NOW - 1),
        s.outbox(turn_id, not_before_ms=NOW - 2),
        s.outbox(turn_id, not_before_ms=NOW - 3, capability="unknown"),
        s.outbox(turn_id, not_before_ms=NOW + 1, state=OutboxState.RETRY_WAIT),
    ]
    store.write(lambda tx: [tx.add_outbox(row) for row in rows])
    assert store.read(lambda tx: tx.next_due_ms()) == NOW - 3
    assert _claim(store, "one", capabilities=[]) == []
    assert _claim(store, "one", limit=0) == []
    assert _claim(store, "one", limit=1) == [rows[1].outbox_id]
    assert _claim(store, "one") == [rows[0].outbox_id]
    assert _claim(store, "one") == []
    assert _claim(store, "one", now=NOW + 1, until=LATER + 1) == [rows[3].outbox_id]
    found = store.read(lambda tx: tx.outbox(rows[3].outbox_id))
    assert found is not None
    assert (found.state, found.epoch, found.attempts) == (CLAIMED, 1, 1)
    assert (found.holder, found.lease_until_ms) == ("one", LATER + 1)


def one_row_is_claimed_by_its_id(bench: Bench) -> None:
    """A row that waits is claimed by id with lease, epoch and attempt, once; another state is not claimed."""
    store, s = bench.store(), Samples()
    turn_id = store.write(lambda tx: s.begun(tx))
    row = store.write(lambda tx: s.ready(tx, turn_id))

    def claim(outbox_id: str) -> Any:
        return store.write(lambda tx: tx.claim_row(outbox_id, holder="one", lease_until_ms=LATER))

    found = claim(row.outbox_id)
    assert found is not None
    assert (found.state, found.holder, found.lease_until_ms) == (CLAIMED, "one", LATER)
    assert (found.epoch, found.attempts) == (1, 1)
    assert claim(row.outbox_id) is None
    assert claim("none") is None


def settled_rows_without_a_receipt_are_found(bench: Bench) -> None:
    """A row that was settled without an attempt is listed until it has its receipt; a sealed one never is."""
    store, s = bench.store(), Samples()
    turn_id = store.write(lambda tx: s.begun(tx))
    store.write(lambda tx: s.sealed(tx, turn_id))
    effect = s.effect(turn_id)
    row = s.outbox(turn_id, effect.effect_digest, state=OutboxState.SETTLED)
    store.write(lambda tx: [tx.add_effect(effect), tx.add_outbox(row)])
    assert store.read(lambda tx: tx.outbox_unsealed()) == [row]
    execution = s.execution(row, epoch=0, finished_at_ms=NOW)
    receipt = s.receipt(
        execution, status="cancelled", claimed_finality="not_attempted", graded_finality="not_attempted"
    )
    store.write(lambda tx: [tx.add_execution(execution), tx.add_receipt(receipt)])
    assert store.read(lambda tx: tx.outbox_unsealed()) == []
    assert store.write(lambda tx: tx.close_unattempted(row.outbox_id)) is True
    assert store.write(lambda tx: tx.close_unattempted(row.outbox_id)) is False
    assert [found.epoch for found in store.read(lambda tx: tx.outbox_in(OutboxState.SETTLED))][-1] == 1


def an_expired_claim_is_taken_over_and_a_dispatched_row_is_not(bench: Bench) -> None:
    """At its expiry a claim passes to whoever asks, with a higher epoch; a dispatched row is nobody's to take."""
    store, s = bench.store(), Samples()
    turn_id = store.write(lambda tx: s.begun(tx))
    row = store.write(lambda tx: s.claimed(tx, turn_id))
    assert store.read(lambda tx: tx.next_due_ms()) == LATER
    assert _claim(store, "two", now=LATER - 1, until=LATER * 2) == []
    assert _claim(store, "two", now=LATER, until=LATER * 2) == [row.outbox_id]
    found = store.read(lambda tx: tx.outbox(row.outbox_id))
    assert found is not None
    assert (found.holder, found.epoch, found.attempts) == ("two", 2, 2)
    sent = store.write(lambda tx: s.dispatched(tx, s.begun(tx)))
    assert _claim(store, "three", now=LATER, until=LATER * 2) == []
    assert [row.outbox_id for row in store.read(lambda tx: tx.outbox_in(DISPATCHED))] == [sent.outbox_id]


def a_stale_epoch_writes_nothing(bench: Bench) -> None:
    """Who lost a row sets no mark and moves nothing, whatever the state is now."""
    store, s = bench.store(), Samples()
    turn_id = store.write(lambda tx: s.begun(tx))
    row = store.write(lambda tx: s.claimed(tx, turn_id))
    name = row.outbox_id
    store.write(lambda tx: tx.use_grant(str(row.grant_id), outbox_id=name))
    assert _claim(store, "two", now=LATER, until=LATER + 100) == [name]
    before = store.read(lambda tx: tx.outbox(name))
    assert store.write(lambda tx: tx.mark_dispatched(name, epoch=1, now_ms=NOW)) is False
    for state in OutboxState:
        moved = store.write(
            lambda tx, state=state: tx.move_outbox(name, epoch=1, state=state, to=OutboxState.SETTLED)
        )
        assert moved is False, state
    assert store.read(lambda tx: tx.outbox(name)) == before


def a_move_names_the_state_it_moves_from(bench: Bench) -> None:
    """A row that is no longer in the named state is not moved; a moved one loses its holder and may wait."""
    store, s = bench.store(), Samples()
    turn_id = store.write(lambda tx: s.begun(tx))
    row = store.write(lambda tx: s.claimed(tx, turn_id))
    assert store.write(
        lambda tx: tx.move_outbox(row.outbox_id, epoch=1, state=DISPATCHED, to=OutboxState.SETTLED)
    ) is False  # fmt: skip
    assert store.write(
        lambda tx: tx.move_outbox(
            row.outbox_id, epoch=1, state=CLAIMED, to=OutboxState.RETRY_WAIT, not_before_ms=NOW + 7
        )
    )
    found = store.read(lambda tx: tx.outbox(row.outbox_id))
    assert found is not None
    assert (found.state, found.holder, found.lease_until_ms) == (OutboxState.RETRY_WAIT, None, None)
    assert (found.epoch, found.not_before_ms) == (1, NOW + 7)


def a_lease_that_ran_out_is_not_renewed_and_sets_no_mark(bench: Bench) -> None:
    """Renewal and the dispatched mark need a lease that is still running, of the same holder."""
    store, s = bench.store(), Samples()
    turn_id = store.write(lambda tx: s.begun(tx))
    row = store.write(lambda tx: s.claimed(tx, turn_id))
    name = row.outbox_id
    store.write(lambda tx: tx.use_grant(str(row.grant_id), outbox_id=name))

    def renew(holder: str, now: int) -> int:
        return store.write(lambda tx: tx.renew_leases(holder=holder, now_ms=now, lease_until_ms=LATER + 10))

    assert renew("two", NOW) == 0
    assert renew("one", LATER) == 0
    assert store.write(lambda tx: tx.mark_dispatched(name, epoch=1, now_ms=LATER)) is False
    assert renew("one", LATER - 1) == 1
    assert store.write(lambda tx: tx.mark_dispatched(name, epoch=1, now_ms=LATER - 1)) is True
    assert renew("one", LATER) == 1
    assert store.write(lambda tx: tx.mark_dispatched(name, epoch=1, now_ms=LATER)) is False


def a_key_is_bound_to_one_intent_for_ever(bench: Bench) -> None:
    """A second binding of a key is refused, to the same intent as to another; other capabilities are free."""
    store, s = bench.store(), Samples()
    turn_id = store.write(lambda tx: s.begun(tx))
    one, two = store.write(lambda tx: (s.ready(tx, turn_id), s.ready(tx, turn_id)))

    def bind(capability: str, intent: str, outbox_id: str) -> None:
        store.write(
            lambda tx: tx.bind_idempotent(
                capability, "key", intent_digest=digest(intent), outbox_id=outbox_id
            )
        )

    bind(CAPABILITY, "intent", one.outbox_id)
    for intent, row in (("intent", one), ("intent", two), ("other", two)):
        assert refused(lambda i=intent, r=row: bind(CAPABILITY, i, r.outbox_id)) == "idempotency_once"
    bind("mail.send", "other", two.outbox_id)
    found = store.read(lambda tx: tx.find_idempotent(CAPABILITY, "key"))
    assert found == (digest("intent"), one.outbox_id)
    assert store.read(lambda tx: tx.find_idempotent(CAPABILITY, "none")) is None
    effect = str(one.effect_digest)
    again = s.outbox(turn_id, effect, grant_id=one.grant_id)
    assert refused(lambda: store.write(lambda tx: tx.add_outbox(again))) == "outbox_effect_once"


def nothing_that_changes_the_world_waits_without_a_grant(bench: Bench) -> None:
    """Without a grant only an effect that informs, mutates nothing and stays here may wait to be sent."""
    store, s = bench.store(), Samples()
    turn_id = store.write(lambda tx: s.begun(tx))
    quiet, loud = s.effect(turn_id, inform=True), s.effect(turn_id)
    store.write(lambda tx: [tx.add_effect(quiet), tx.add_effect(loud)])
    store.write(lambda tx: tx.add_outbox(s.outbox(turn_id, quiet.effect_digest)))
    ungranted = s.outbox(turn_id, loud.effect_digest)
    told = refused(lambda: store.write(lambda tx: tx.add_outbox(ungranted)))
    assert told == "outbox_ungranted_is_inform"
    settled = s.outbox(turn_id, loud.effect_digest, state=OutboxState.SETTLED)
    store.write(lambda tx: tx.add_outbox(settled))
    for state in (READY, OutboxState.RETRY_WAIT, OutboxState.CHECK_REQUIRED, OutboxState.DEAD):
        told = refused(
            lambda state=state: store.write(
                lambda tx: tx.move_outbox(settled.outbox_id, epoch=0, state=OutboxState.SETTLED, to=state)
            )
        )
        assert told == "outbox_settled_stays"


def no_mark_without_a_live_confirm_of_this_effect(bench: Bench) -> None:
    """The grant must be taken by the row, be a confirm, name the effect, and be neither void, expired nor old."""
    store = bench.store()
    unfit: dict[str, dict[str, Any]] = {
        "not taken": {},
        "another effect": {"subject_digest": digest("another")},
        "another purpose": {"purpose": GrantPurpose.POLICY},
        "another incarnation": {"incarnation": "two"},
        "expired": {"expires_at_ms": NOW + 1},
    }
    for number, (why, fields) in enumerate(unfit.items()):
        s = Samples(mark=f"M{number}")
        turn_id = store.write(lambda tx, s=s: s.begun(tx))
        effect = s.effect(turn_id)
        grant = s.grant(effect.effect_digest, **fields)
        row = s.outbox(turn_id, effect.effect_digest, grant_id=grant.grant.grant_id)
        store.write(
            lambda tx, e=effect, g=grant, r=row: [tx.add_effect(e), tx.add_grant(g), tx.add_outbox(r)]
        )
        assert _claim(store, "one") == [row.outbox_id]
        if why != "not taken":
            assert store.write(
                lambda tx, g=grant, r=row: tx.use_grant(g.grant.grant_id, outbox_id=r.outbox_id)
            )
        told = refused(
            lambda r=row: store.write(lambda tx: tx.mark_dispatched(r.outbox_id, epoch=1, now_ms=NOW + 1))
        )
        assert told == "outbox_dispatch_granted", why
    s = Samples(mark="OK")
    assert store.write(lambda tx: s.dispatched(tx, s.begun(tx))).epoch == 1


EXERCISES = (
    rows_come_back_whole_and_are_counted,
    a_claim_takes_due_rows_it_can_do_oldest_first,
    one_row_is_claimed_by_its_id,
    settled_rows_without_a_receipt_are_found,
    an_expired_claim_is_taken_over_and_a_dispatched_row_is_not,
    a_stale_epoch_writes_nothing,
    a_move_names_the_state_it_moves_from,
    a_lease_that_ran_out_is_not_renewed_and_sets_no_mark,
    a_key_is_bound_to_one_intent_for_ever,
    nothing_that_changes_the_world_waits_without_a_grant,
    no_mark_without_a_live_confirm_of_this_effect,
)
