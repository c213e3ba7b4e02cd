# SPDX-License-Identifier: Apache-2.0
"""Delivery: what is sealed of every attempt, and how each kind of end is called."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actum.bootstrap.turn import Turn
from actum.evidence.dsse import open_envelope
from actum.model.delivery import OutboxState
from actum.model.effect import Effect, effect_digest
from actum.model.errors import EnvironmentFault, InvariantViolation, RefusedError
from actum.model.evidence import ExecutedEffect, ModelAssertion, ReceiptEvidence, ResolvedArgument
from actum.model.grading import EffectStatus, ExecutorSaid
from actum.model.question import QuestionReason
from actum.model.receipt import Receipt
from actum.ports.execution import ExecutorReport
from actum.testing.kernels import PERSON, Ledger, append_action, open_kernel, open_reasons, perform
from tests.crash.agreement import disagreements
from tests.unit.service.shop import Shop

NOTES = """
process: notes
work_types: [note]
fields: {owner: string}
steps: [{id: keep, kind: plumbing, fields: [owner]}]
"""


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path)
    yield made
    made.kernel.close()


def effect_of(shop: Shop, receipt: Receipt) -> Effect:
    row = shop.read(lambda tx: tx.effect(receipt.effect_digest))
    return Effect(effect_digest=row.effect_digest, salt=row.salt, descriptor=row.descriptor)


def ends(shop: Shop) -> dict[str, Turn]:
    """One turn for each way an effect can end: seen, seen not to be there, unknown, cancelled, refused."""
    append_action(shop.kernel, shop.ledger, capability="l.lie", acting=lambda entry: {"x": 1}, attempts_max=1)
    append_action(shop.kernel, shop.ledger, capability="l.blur", seeing=lambda entry: None)
    found = {
        "seen": shop.append("seen"),
        "absent": shop.kernel.propose("l.lie", {"entry": "absent"}),
        "unclear": shop.kernel.propose("l.blur", {"entry": "unclear"}),
        "declined": shop.append("declined"),
        "expired": shop.append("expired"),
    }
    for name, turn in found.items():
        if name == "declined":
            shop.kernel.refuse(turn.question_ids(), by=PERSON)
        elif name != "expired":
            shop.kernel.confirm(turn.question_ids(), by=PERSON)
    shop.kernel.run()
    shop.kernel.confirm(found["expired"].question_ids(), by=PERSON)
    shop.clock.step(25 * 3600 * 1000)
    shop.kernel.run()
    return found


STATUS = {
    "seen": EffectStatus.SUCCESS, "absent": EffectStatus.FAILED, "unclear": EffectStatus.UNKNOWN_OUTCOME,
    "declined": EffectStatus.CANCELLED, "expired": EffectStatus.CANCELLED,
}  # fmt: skip


def test_o12_every_execution_gets_one_receipt_whatever_became_of_it(shop: Shop) -> None:
    for name, turn in ends(shop).items():
        (receipt,) = shop.receipts(turn)
        executions = shop.read(lambda tx, row=receipt.outbox_id: tx.executions(row))
        assert [one.execution_id for one in executions] == [receipt.execution_id]
        assert receipt.status is STATUS[name], name
    assert disagreements(shop.kernel, at_rest=False) == []


def test_o12_a_second_receipt_for_an_execution_is_refused(shop: Shop) -> None:
    turn = shop.done("a")
    row = shop.read(lambda tx: tx.receipts(turn.turn_id))[0]
    twin = msgspec.structs.replace(
        row, receipt_id=shop.kernel.line.new_id(), payload_digest="sha256:" + "0" * 64
    )
    with pytest.raises(RefusedError):
        shop.kernel.line.store.write(lambda tx: tx.add_receipt(twin))


def test_o13_lineage_is_walked_both_ways(shop: Shop) -> None:
    turn = shop.done("a")
    (receipt,) = shop.receipts(turn)
    execution = shop.read(lambda tx: tx.execution(receipt.execution_id))
    assert (receipt.turn_id, execution.turn_id, execution.outbox_id) == (
        turn.turn_id, turn.turn_id, receipt.outbox_id,
    )  # fmt: skip
    down = shop.read(lambda tx: [row.receipt_id for row in tx.receipts_of_row(execution.outbox_id)])
    assert down == [receipt.receipt_id]
    assert all((receipt.receipt_id, receipt.turn_id, receipt.execution_id))


def test_o14_o15_a_receipt_names_the_capability_and_the_digest_of_its_descriptor(shop: Shop) -> None:
    (receipt,) = shop.receipts(shop.done("a"))
    effect = effect_of(shop, receipt)
    assert receipt.capability_id == "ledger.append"
    assert effect_digest(effect.descriptor, salt=effect.salt) == receipt.effect_digest
    other = msgspec.structs.replace(effect.descriptor, object_count=2)
    assert effect_digest(other, salt=effect.salt) != receipt.effect_digest


def test_o16_the_decision_of_a_receipt_is_a_stored_one(shop: Shop) -> None:
    turn = shop.done("a")
    (receipt,) = shop.receipts(turn)
    decision = shop.read(lambda tx: tx.decision(receipt.decision_digest))
    assert (decision.turn_id, decision.step_id) == (turn.turn_id, "stage")


def test_o17_an_execution_begins_before_it_ends(tmp_path: Path) -> None:
    shop = Shop(tmp_path, acting=lambda entry: shop.clock.step(1234))
    (receipt,) = shop.receipts(shop.done("a"))
    assert receipt.finished_at_ms - receipt.started_at_ms == 1234
    shop.kernel.close()


def test_o17_a_clock_that_steps_back_meanwhile_ends_no_execution_before_it_began(tmp_path: Path) -> None:
    shop = Shop(tmp_path, acting=lambda entry: shop.clock.step(-5000))
    (receipt,) = shop.receipts(shop.done("a"))
    assert receipt.finished_at_ms == receipt.started_at_ms
    shop.kernel.close()


def test_o18_o19_a_receipt_says_what_was_touched_and_where_it_went(shop: Shop) -> None:
    path = shop.folder / "note.txt"
    turn = shop.kernel.propose("files.write", {"path": str(path), "content": "hi"})
    perform(shop.kernel, turn)
    (receipt,) = shop.receipts(turn)
    assert str(path.resolve()) in receipt.resolved_resource_summary
    assert receipt.destination_summary == str(path.parent)
    append_action(shop.kernel, shop.ledger, capability="l.far", destinations=("https://bank.example",))
    far = shop.kernel.propose("l.far", {"entry": "far"})
    perform(shop.kernel, far)
    assert shop.receipts(far)[-1].destination_summary == "https://bank.example"


def test_o20_o21_a_receipt_holds_what_the_executor_returned_and_what_the_verifier_saw(shop: Shop) -> None:
    (receipt,) = shop.receipts(shop.done("a"))
    assert receipt.native_result == {"appended": "a"}
    (seen,) = receipt.postcondition_evidence
    assert (seen.verified, seen.observation) == (True, {"value": {"lines": 1}})
    assert seen.observed == seen.expected == receipt.expected


def test_o22_a_receipt_says_whether_it_was_a_retry(tmp_path: Path) -> None:
    tries: list[str] = []

    def acting(entry: str) -> None:
        tries.append(entry)
        if len(tries) == 2:
            shop.ledger.append(entry)

    shop = Shop(tmp_path, acting=acting)
    turn = shop.done("a")
    shop.run_later()
    assert [receipt.retry_state.value for receipt in shop.receipts(turn)] == ["first", "retry"]
    assert shop.turn(turn).state == "completed"
    shop.kernel.close()


def test_o23_the_models_of_a_receipt_are_named_or_null(shop: Shop) -> None:
    (receipt,) = shop.receipts(shop.done("a"))
    written = msgspec.json.decode(msgspec.json.encode(receipt))
    assert written["reasoning_route"] == "structured"
    assert {name: written[name] for name in ("content_model_id", "router_model_id")} == {
        "content_model_id": None, "router_model_id": None,
    }  # fmt: skip


def test_o24_o25_the_status_is_one_of_five_and_a_failure_code_stands_beside_no_success(shop: Shop) -> None:
    assert {status.value for status in EffectStatus} == {
        "success", "partial", "failed", "cancelled", "unknown_outcome",
    }  # fmt: skip
    codes = {name: shop.receipts(turn)[-1].failure_code for name, turn in ends(shop).items()}
    assert codes == {
        "seen": None, "absent": "did_not_take_effect", "unclear": "not_observed", "declined": "declined",
        "expired": "grant_expired",
    }  # fmt: skip


def evidence_digest(shop: Shop, receipt: Receipt, *, executed: bool) -> str:
    descriptor = effect_of(shop, receipt).descriptor
    return ReceiptEvidence(
        assertions=(),
        resolved=ResolvedArgument(
            resolved_argument_digest=descriptor.resolved_argument_digest,
            resources=descriptor.canonical_resources,
        ),
        executed=ExecutedEffect(
            execution_id=receipt.execution_id, capability=receipt.capability_id,
            effect_digest=receipt.effect_digest, executor_said=receipt.executor_said,
            started_at_ms=receipt.started_at_ms, finished_at_ms=receipt.finished_at_ms,
        ) if executed else None,
        observed=receipt.postcondition_evidence,
    ).digest()  # fmt: skip


def test_o7_executed_effect_is_recorded_only_where_the_executor_ran(shop: Shop) -> None:
    found = ends(shop)
    for name, turn in found.items():
        (receipt,) = shop.receipts(turn)
        ran = name in ("seen", "absent", "unclear")
        assert receipt.evidence_digest == evidence_digest(shop, receipt, executed=ran), name
    # A person's later word about an effect is no execution of it.
    row = shop.row(found["unclear"]).outbox_id
    shop.kernel.settle(row, "happened", by=PERSON)
    settlement = shop.receipts(found["unclear"])[-1]
    assert settlement.evidence_digest == evidence_digest(shop, settlement, executed=False)


def test_o11_o96_what_a_model_says_was_done_completes_nothing(shop: Shop) -> None:
    turn = shop.append("a")
    for _ in range(5):
        shop.kernel.say(turn.turn_id, "Done! I appended it.", asserts=["ledger.append"], model_id="m")
    shop.kernel.run()
    assert turn.state == "queued"
    assert shop.receipts(turn) == []
    assert shop.ledger.entries() == []
    assertions = shop.read(lambda tx: tx.assertions(turn.turn_id))
    assert [found.outbox_id for found in assertions] == [None] * 5
    assert not any(isinstance(found, ModelAssertion) and hasattr(found, "observed") for found in assertions)


def test_o11_a_recorded_decision_does_not_complete_a_turn_that_says_something_was_done(shop: Shop) -> None:
    (shop.kernel.place.processes / "notes.yaml").write_text(NOTES)
    shop.kernel.line.rules.forget()  # type: ignore[attr-defined]
    silent, boasting = (shop.kernel.submit("note", {"owner": name}) for name in ("ann", "bob"))
    shop.kernel.say(boasting.turn_id, "I have appended it.", asserts=["ledger.append"], model_id="m")
    shop.kernel.run()
    assert (silent.state, boasting.state) == ("completed", "recovery_required")
    assert boasting.receipts()[0].kind.value == "record"


def test_o70_a_turn_is_never_marked_complete_without_evidence(shop: Shop) -> None:
    turn = shop.confirmed("a")
    reached: list[tuple[str, int]] = []

    def listen(point: str) -> None:
        if not point.startswith("within"):
            reached.append((turn.state, len(shop.receipts(turn))))

    shop.kernel.line.at_point = listen
    shop.kernel.run()
    assert ("completed", 0) not in reached
    assert reached[-1] == ("completed", 1)
    activity: Any = turn.activity()
    with pytest.raises(InvariantViolation):
        msgspec.structs.replace(activity, evidence_digest=None).__post_init__()
    for name, value in {"receipt_count": 2, "evidence_digest": None}.items():
        with pytest.raises(RefusedError):
            shop.kernel.line.store.write(
                lambda tx, name=name, value=value: tx.run(
                    f"UPDATE activity SET {name} = ? WHERE turn_id = ?", value, turn.turn_id
                )
            )


def test_o70_no_word_of_the_configuration_switches_evidence_off(shop: Shop) -> None:
    shop.kernel.close()
    for text in ("[evidence]\nrequired = false\n", "[receipts]\noff = true\n", "evidence = false\n"):
        shop.kernel.place.config_file.write_text(text)
        with pytest.raises(Exception) as caught:
            shop.kernel.place.config()
        assert caught.value.code == "bad_config"  # type: ignore[attr-defined]
    shop.kernel.place.config_file.unlink()
    shop.restart()


def test_a_lost_reply_after_the_effect_landed_is_seen_to_have_landed(tmp_path: Path) -> None:
    def acting(entry: str) -> None:
        shop.ledger.append(entry)
        raise TimeoutError

    shop = Shop(tmp_path, acting=acting)
    turn = shop.done("a")
    (receipt,) = shop.receipts(turn)
    assert receipt.executor_said is ExecutorSaid.RAISED
    assert (shop.grade(turn), shop.ledger.entries()) == (("finalized", "verified"), ["a"])
    shop.kernel.close()


@pytest.mark.parametrize("said", list(ExecutorSaid))
def test_o96_no_word_of_an_executor_makes_an_effect_that_is_not_there_count(
    said: ExecutorSaid, tmp_path: Path
) -> None:
    report = ExecutorReport(said=said, result={"ok": True, "verified": True}, acknowledged=True)
    shop = Shop(tmp_path, acting=lambda entry: report, attempts_max=1)
    turn = shop.done("a")
    assert shop.grade(turn) == ("failed", "verified")
    assert shop.turn(turn).state == "failed"
    shop.kernel.close()


def test_o6_a_file_that_changed_since_it_was_resolved_is_not_touched(shop: Shop) -> None:
    path = shop.folder / "note.txt"
    path.write_text("first")
    turn = shop.kernel.propose("files.write", {"path": str(path), "content": "mine"})
    shop.kernel.confirm(turn.question_ids(), by=PERSON)
    path.write_text("yours")
    reached: list[str] = []
    shop.kernel.line.at_point = reached.append
    shop.kernel.run()
    assert path.read_text() == "yours"
    assert "before_execute" not in reached
    assert "after_dispatch" not in reached
    assert shop.grade(turn) == ("not_attempted", "verified")
    assert turn.state == "failed"


def test_o29_an_executor_is_not_reached_without_a_validated_descriptor(shop: Shop) -> None:
    found: Any = shop.kernel.line.registry.find("ledger.append")
    describe = found.describe

    def bad(arguments: dict[str, object], *, context: Any) -> Any:
        return msgspec.structs.replace(describe(arguments, context=context), blast_radius=-1)

    found.describe = bad
    turn = shop.append("a")
    shop.kernel.run()
    assert turn.question_ids() == []
    assert turn.state == "failed"
    assert shop.read(lambda tx: tx.outbox_of_turn(turn.turn_id)) == []
    assert shop.ledger.entries() == []


FLAGS: dict[str, dict[str, Any]] = {
    "o46": {"reversibility": "irreversible"},
    "o47": {"privilege_level": "elevated"},
    "o48": {"executable_code": True},
}


@pytest.mark.parametrize("flag", FLAGS)
def test_o46_o47_o48_a_flagged_effect_is_rehearsed_before_it_is_asked_about(
    flag: str, tmp_path: Path
) -> None:
    rehearsed: list[str] = []

    def rehearse(entry: str) -> bool:
        rehearsed.append(entry)
        return True

    shop = Shop(tmp_path, rehearse=rehearse, **FLAGS[flag])
    turn = shop.append("a")
    (receipt_before, asked) = (shop.receipts(turn), turn.question_ids())
    assert (rehearsed, receipt_before, len(asked)) == (["a"], [], 1)
    perform(shop.kernel, turn)
    assert shop.grade(turn) == ("finalized", "verified")
    shop.kernel.close()


def test_o49_an_effect_with_none_of_the_three_is_not_rehearsed(tmp_path: Path) -> None:
    shop = Shop(tmp_path, rehearse=lambda entry: 1 / 0)
    assert shop.grade(shop.done("a")) == ("finalized", "verified")
    shop.kernel.close()


def test_o49_a_flagged_effect_without_a_qualification_that_holds_is_not_run(tmp_path: Path) -> None:
    answers: list[Any] = [False, None]
    shop = Shop(tmp_path, reversibility="irreversible", rehearse=lambda entry: answers[0])
    refused = shop.append("a")
    assert (refused.question_ids(), refused.state) == ([], "failed")
    answers.pop(0)
    turn = shop.append("b")
    with pytest.raises(Exception) as caught:
        shop.kernel.confirm(turn.question_ids(), by=PERSON)
    assert caught.value.code == "not_qualified"  # type: ignore[attr-defined]
    shop.kernel.run()
    assert shop.ledger.entries() == []
    perform(shop.kernel, turn, accept_unqualified=True)
    assert shop.ledger.entries() == ["b"]
    shop.kernel.close()


class Gone:
    """A looker whose process has ended, from the ``after``-th exchange on."""

    def __init__(self, inner: Any, *, after: int) -> None:
        self._inner = inner
        self._left = after

    def look_many(self, requests: Any) -> Any:
        self._left -= 1
        if self._left < 0 and requests:
            raise EnvironmentFault("verifier_gone", failed="gone", state="unseen", next_step="again")
        return self._inner.look_many(requests)

    def close(self) -> None:
        self._inner.close()


def test_a_verifier_that_is_gone_before_the_dispatch_lets_the_effect_wait(shop: Shop) -> None:
    inner = shop.kernel.line.looker
    shop.kernel.line.looker = Gone(inner, after=0)  # type: ignore[assignment]
    turn = shop.done("a")
    assert (shop.row(turn).state, shop.ledger.entries()) == (OutboxState.RETRY_WAIT, [])
    why = "to be tried again: gone"
    assert (turn.state, turn.activity().label) == ("queued", why)
    shop.run_later()
    assert (turn.activity().label, len(shop.events("row.waits"))) == (why, 1)
    shop.kernel.line.looker = inner
    shop.run_later()
    assert shop.grade(turn) == ("finalized", "verified")
    assert turn.activity().label == "observed"


def test_a_verifier_that_is_gone_after_acting_leaves_what_nobody_saw(shop: Shop) -> None:
    inner = shop.kernel.line.looker
    shop.kernel.line.looker = Gone(inner, after=1)  # type: ignore[assignment]
    turn = shop.done("a")
    assert shop.grade(turn) == ("indeterminate", "partial")
    assert shop.row(turn).state is OutboxState.CHECK_REQUIRED
    assert [reason.value for reason in open_reasons(turn)] == ["check_required"]
    shop.kernel.line.looker = inner
    shop.run_later()
    assert (shop.grade(turn), shop.ledger.entries()) == (("finalized", "verified"), ["a"])
    assert disagreements(shop.kernel) == []


@pytest.mark.parametrize(
    ("now", "why"),
    [
        (5, "the world changed after the first attempt"),
        (None, "the look before another attempt could not tell"),
    ],
    ids=["a third state", "blind"],
)
def test_rule_11_a_world_that_is_not_as_it_was_found_is_not_acted_upon_again(
    tmp_path: Path, now: int | None, why: str
) -> None:
    acted: list[str] = []
    world: list[int | None] = [0]

    def seeing(entry: str) -> dict[str, int] | None:
        return None if world[0] is None else {"lines": world[0]}

    shop = Shop(tmp_path, acting=acted.append, seeing=seeing)
    turn = shop.done("a")
    assert (shop.row(turn).state, shop.grade(turn)) == (OutboxState.RETRY_WAIT, ("failed", "verified"))
    # The first attempt comes late now, beside what somebody else does, or nobody can see whether it did.
    world[0] = now
    for _ in range(3):
        shop.run_later()
    assert (acted, shop.row(turn).state) == (["a"], OutboxState.CHECK_REQUIRED)
    question = next(one for one in turn.questions() if one.reason is QuestionReason.CHECK_REQUIRED)
    shown = shop.read(lambda tx: tx.content(question.shown_digest))
    assert why.encode() in shown[0]
    # Once the world is seen to be as it was, the next attempt is made.
    world[0] = 0
    for _ in range(3):
        shop.run_later()
    assert len(acted) > 1
    shop.kernel.close()


class Cancelled(BaseException):
    """What a cancelled task raises is no Exception."""


def test_whatever_an_action_or_its_verifier_raises_ends_no_run(tmp_path: Path) -> None:
    def breaks(entry: str) -> None:
        raise Cancelled

    for declared in ({"acting": breaks}, {"seeing": breaks}):
        shop = Shop(tmp_path / next(iter(declared)), absence_is_proof=False, **declared)
        turn = shop.done("a")
        said = shop.receipts(turn)[-1].executor_said
        assert said is (ExecutorSaid.RAISED if "acting" in declared else ExecutorSaid.OK)
        assert (shop.row(turn).state, shop.row(turn).attempts) == (OutboxState.CHECK_REQUIRED, 1)
        assert shop.grade(turn)[0] == "indeterminate"
        shop.kernel.close()


def test_a_sink_that_shows_late_is_waited_for_within_its_window(tmp_path: Path) -> None:
    looks: list[int] = []

    def seeing(entry: str) -> dict[str, int]:
        looks.append(shop.clock.now_ms())
        return {"lines": shop.ledger.count(entry) if len(looks) > 4 else 0}

    shop = Shop(tmp_path, seeing=seeing, consistency_window_ms=10_000)
    turn = shop.done("a")
    assert shop.grade(turn) == ("finalized", "verified")
    assert len(looks) == 5
    assert len(shop.receipts(turn)) == 1
    shop.kernel.close()


def test_a_retry_that_is_refused_ends_visibly_beside_the_attempt_before(tmp_path: Path) -> None:
    shop = Shop(tmp_path, acting=lambda entry: {"lied": 1})
    turn = shop.done("a")
    assert shop.row(turn).state is OutboxState.RETRY_WAIT
    shop.clock.step(25 * 3600 * 1000)
    shop.kernel.run()
    assert shop.row(turn).state is OutboxState.SETTLED
    assert [receipt.graded.finality.value for receipt in shop.receipts(turn)] == ["failed"]
    assert (turn.state, turn.activity().failure_reason) == ("failed", "grant_expired")
    assert disagreements(shop.kernel) == []
    shop.kernel.close()


def test_one_row_that_cannot_be_read_does_not_stop_the_others(shop: Shop) -> None:
    first, second = shop.confirmed("a"), shop.confirmed("b")
    row = shop.read(lambda tx: tx.effect(shop.row(first).effect_digest))
    read = shop.kernel.line.store.read

    def spoiled(work: Any) -> Any:
        def inner(tx: Any) -> Any:
            origin = tx.effect_origin

            def other(digest: str) -> Any:
                found = origin(digest)
                if digest != row.effect_digest:
                    return found
                spoiled = msgspec.structs.replace(found.effect, arguments=b"{")
                return msgspec.structs.replace(found, effect=spoiled)

            tx.effect_origin = other
            try:
                return work(tx)
            finally:
                del tx.effect_origin

        return read(inner)

    store: Any = shop.kernel.line.store
    store.read = store.glance = spoiled
    shop.kernel.run()
    del store.read, store.glance
    assert shop.ledger.entries() == ["b"]
    assert shop.grade(second) == ("finalized", "verified")
    assert shop.grade(first) == ("not_attempted", "verified")


def test_the_receipt_that_is_published_holds_no_argument(shop: Shop) -> None:
    turn = shop.done("a very private entry")
    row = shop.read(lambda tx: tx.receipts(turn.turn_id))[0]
    assert b"very private" not in open_envelope(row.envelope).payload
    assert b"very private" in row.body


def test_rule_4_what_an_action_changes_in_its_arguments_is_not_what_the_verifier_is_asked_about(
    tmp_path: Path,
) -> None:
    paid: list[str] = []
    with open_kernel(tmp_path) as kernel:

        @kernel.action("bank.pay", reversibility="reversible", externality="local_only")
        def pay(order: dict[str, str]) -> None:
            order["account"] = "other"
            paid.append(order["account"])

        @pay.verifier(expect={"paid": True})
        def look(order: dict[str, str]) -> dict[str, bool]:
            return {"paid": order["account"] in paid}

        turn = pay({"account": "confirmed"})
        perform(kernel, turn)
        assert paid == ["other"]
        receipt = turn.receipt()
        assert receipt is not None
        assert receipt.graded.confidence.value != "verified" or receipt.graded.finality.value == "failed"


def test_rule_2_what_was_confirmed_of_another_version_of_an_action_is_not_run(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    with open_kernel(tmp_path) as kernel:
        turn = append_action(kernel, ledger)("a")
        kernel.confirm(turn.question_ids(), by=PERSON)
    with open_kernel(tmp_path) as kernel:
        append_action(kernel, ledger, version="2")
        kernel.run()
        receipt = kernel.turn(turn.turn_id).receipt()
        assert receipt is not None
        assert (receipt.graded.finality.value, receipt.failure_code) == (
            "not_attempted",
            "capability_changed",
        )
        assert ledger.entries() == []


@pytest.mark.parametrize(
    "confirmed, now, names",
    [
        ({}, {"reversibility": "no_mutation"}, "reversibility"),
        ({}, {"externality": "external_mutation"}, "externality"),
        ({}, {"effect_class": "money_legal"}, "effect_class"),
        ({}, {"destinations": ["bank.example"]}, "destinations"),
        ({"destinations": ["one.example"]}, {"destinations": ["two.example"]}, "destinations"),
        ({}, {"claims": "state"}, "claims"),
        ({}, {"executable_code": True, "privilege_level": "elevated"}, "privilege_level, executable_code"),
    ],
)
def test_rule_2_what_was_confirmed_of_another_declaration_of_an_action_is_not_run(
    tmp_path: Path, confirmed: dict[str, Any], now: dict[str, Any], names: str
) -> None:
    ledger = Ledger(tmp_path / "ledger")
    with open_kernel(tmp_path) as kernel:
        turn = append_action(kernel, ledger, **confirmed)("a")
        kernel.confirm(turn.question_ids(), by=PERSON)
    with open_kernel(tmp_path) as kernel:
        append_action(kernel, ledger, **{**confirmed, **now})
        kernel.run()
        receipt = kernel.turn(turn.turn_id).receipt()
        assert receipt is not None
        assert (receipt.graded.finality.value, receipt.failure_code) == (
            "not_attempted",
            "capability_changed",
        )
        [sealed] = kernel.show(turn.turn_id)["receipts"]
        assert sealed["native_result"] == {"refused": "capability_changed", "changed": names}
        assert ledger.entries() == []


def test_rule_2_what_was_confirmed_under_a_stricter_class_still_runs(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    with open_kernel(tmp_path) as kernel:
        turn = append_action(kernel, ledger)("a")
        kernel.confirm(turn.question_ids(), by=PERSON)
    with open_kernel(tmp_path) as kernel:
        append_action(kernel, ledger, effect_class="inform")
        kernel.run()
        assert ledger.entries() == ["a"]


def test_rule_4_what_a_verifier_changes_in_its_arguments_the_action_does_not_get(tmp_path: Path) -> None:
    got: list[list[str]] = []
    with open_kernel(tmp_path) as kernel:

        @kernel.action("shop.order", reversibility="reversible", externality="local_only")
        def order(items: list[str]) -> None:
            got.append(items)

        @order.verifier(expect={"ordered": True})
        def look(items: list[str]) -> dict[str, bool]:
            items.append("another")
            return {"ordered": bool(got)}

        perform(kernel, order(["one"]))
        assert got == [["one"]]
