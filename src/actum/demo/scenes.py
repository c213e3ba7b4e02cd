# SPDX-License-Identifier: Apache-2.0
"""The scenes both stories share: a lie without a call, an ok without a write, a kill, a swap, a changed amount."""

from __future__ import annotations

import os
from collections.abc import Callable

import msgspec

from actum.bootstrap.turn import Turn
from actum.demo import tools
from actum.demo.child import Victim
from actum.demo.setting import Setting
from actum.demo.world import NEW_PHONE, NEW_PRICES, STRANGERS_PRICES
from actum.model import canonical
from actum.model.activity import ActivityState
from actum.model.errors import ActumError, InvariantViolation
from actum.model.message import LOCAL_PROVIDER, ExecutionMode, Provenance, RoutingMode
from actum.ports.store import Tx
from actum.service.enqueue import add_effect_row
from actum.service.keys import find_key

ROOM = "calendar.book"


def lie_about_a_room(setting: Setting, turn: Turn) -> None:
    """The agent says it booked a room; there was no call. Then the turn is pushed to completed, in two ways."""
    text = "I booked the blue room for Friday."
    setting.story.turns["b"] = turn.turn_id
    setting.claim(turn, text, of=ROOM)
    native = Provenance(
        routing_mode=RoutingMode.DIRECT,
        execution_kind=ExecutionMode.NATIVE,
        provider=LOCAL_PROVIDER,
        runtime="demo",
        model=None,
    )
    setting.story.refused["b.said_natively"] = _refusal(
        lambda: setting.kernel.say(turn.turn_id, text, provenance=native)
    )
    # The record itself refuses to be completed without receipts, and with a made-up count the database does.
    setting.story.refused["b.completed"] = _refusal(lambda: _complete(setting, turn, receipts=0))
    setting.story.refused["b.forged"] = _refusal(lambda: _complete(setting, turn, receipts=1))


def _complete(setting: Setting, turn: Turn, *, receipts: int) -> None:
    activity = msgspec.structs.replace(
        turn.activity(),
        state=ActivityState.COMPLETED,
        receipt_count=receipts,
        evidence_digest=canonical.digest("forged") if receipts else None,
    )
    setting.kernel.line.store.write(lambda tx: tx.put_activity(activity))


def _refusal(attempt: Callable[[], object]) -> str:
    try:
        attempt()
    except ActumError as error:
        return error.code
    except InvariantViolation as error:
        return error.invariant
    return ""


def lose_a_write(setting: Setting) -> None:
    """A tool says ok and writes nothing."""
    card = {"card": str(setting.world.card), "phone": NEW_PHONE}
    turn = setting.propose(tools.CARD, card)
    setting.allow(turn)
    setting.run()
    setting.claim(turn, "I updated Eli's phone number.", of=tools.CARD)
    setting.story.turns["c"] = turn.turn_id


def kill_in_the_act(setting: Setting, victim: Victim) -> None:
    """Another process runs a refund and is killed after it acted; the store is opened again and recovers."""
    turn = setting.propose(tools.REFUND, _refund(setting, "R-1", "25.00"))
    setting.allow(turn)
    setting.close()
    setting.story.killed = victim.kill_in_the_act(str(setting.world.store))
    setting.reopen()
    setting.run()
    turn = setting.kernel.turn(turn.turn_id)
    setting.claim(turn, "I refunded 25.00 for R-1.", of=tools.REFUND)
    setting.story.turns["e"] = turn.turn_id


def change_the_amount(setting: Setting) -> None:
    """A person allows 40.00. The agent puts 400.00 into the outbox under that yes, behind the service's back."""
    allowed = setting.propose(tools.REFUND, _refund(setting, "R-2", "40.00"))
    outbox_id = setting.allow(allowed)[0]
    changed = setting.propose(tools.REFUND, _refund(setting, "R-2", "400.00"))
    setting.kernel.line.store.write(lambda tx: _smuggle(setting, tx, changed, under=outbox_id))
    setting.run()
    setting.claim(changed, "I refunded 400.00 for R-2, as Ann confirmed.", of=tools.REFUND)
    setting.story.turns["f"] = changed.turn_id
    setting.story.also["f"] = allowed.turn_id


def _smuggle(setting: Setting, tx: Tx, changed: Turn, *, under: str) -> None:
    granted = tx.outbox(under)
    proposal = tx.proposals(changed.turn_id)[0]
    assert granted is not None
    assert proposal.effect_digest is not None
    effect = tx.effect(proposal.effect_digest)
    assert effect is not None
    for question in tx.questions(changed.turn_id):
        tx.void_question(question.question_id)
    add_effect_row(
        setting.kernel.line, tx, effect.sealed(), turn_id=changed.turn_id, step_id=proposal.step_id,
        intent=canonical.digest("smuggled"), grant_id=granted.grant_id,
        bind=find_key(tx, proposal.capability, effect.descriptor.idempotency_key),
    )  # fmt: skip


def wait_for_news(setting: Setting, turn: Turn) -> None:
    """The process file says auto_confirm. The agent claims the result; nobody has allowed it."""
    setting.run()
    setting.claim(turn, "I filed the newsletter.", of="files.write")
    setting.story.turns["g"] = turn.turn_id


def swap_the_file(setting: Setting) -> None:
    """A file is allowed to be replaced; before that happens somebody puts another one in its place."""
    prices = setting.world.prices
    turn = setting.propose("files.write", {"path": str(prices), "content": NEW_PRICES})
    setting.allow(turn)
    other = prices.with_suffix(".swap")
    other.write_text(STRANGERS_PRICES)
    os.replace(other, prices)
    setting.run()
    setting.claim(turn, "I put the new prices in place.", of="files.write")
    setting.story.turns["h"] = turn.turn_id


def lose_a_reply(setting: Setting) -> None:
    """The refund lands, then the share with the ledger drops and no reply comes: nobody can tell, until it is back."""

    def drop() -> None:
        setting.world.unplug_share()
        raise TimeoutError

    turn = setting.propose(tools.REFUND, _refund(setting, "R-3", "12.50"))
    setting.allow(turn)
    with tools.mishap(drop):
        setting.run()
    setting.world.plug_share()
    setting.run()
    setting.claim(turn, "I refunded 12.50 for R-3.", of=tools.REFUND)
    setting.story.turns["d"] = turn.turn_id


def _refund(setting: Setting, entry: str, amount: str) -> dict[str, object]:
    return {"ledger": str(setting.world.ledger), "entry": entry, "amount": amount}
