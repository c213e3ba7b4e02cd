# SPDX-License-Identifier: Apache-2.0
"""What a walk down the ladder decides, leaves and refuses."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from actum.kernel.ladder import decide, may_call_model
from actum.kernel.rungs import learned
from actum.model.decision import RUNGS, ConditionKind, Rung, RungOutcome, Tokens
from actum.model.errors import InvariantViolation, Refused
from actum.model.process import StepKind
from actum.model.walk import Decided, LadderContext, ModelReply, NeedModel, Residual, ResidualReason
from tests.unit.kernel.ladder_case import (
    CONFIRMED,
    CONTEXT,
    INDEX,
    answer,
    decided,
    needs,
    replied,
    residual,
    step,
    walk,
)

SRC = Path(__file__).resolve().parents[3] / "src" / "actum"
ORDER = {"kind": "order", "vendor": {"tier": "gold"}, "count": 1, "urgent": False}


def calls_of(name: str) -> set[str]:
    found: set[str] = set()
    for path in SRC.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
                found.add(path.relative_to(SRC).as_posix())
    return found


def outcomes(found: Decided) -> list[str]:
    return [entry.outcome.value for entry in found.decision.rungs]


def test_r1_only_the_walk_builds_a_decision() -> None:
    assert calls_of("Decision") == {"kernel/walk_record.py"}


def test_r2_there_are_exactly_five_rungs_in_one_order() -> None:
    words = ["structured", "pattern", "learned", "reasoning", "judgment"]
    assert [rung.value for rung in Rung] == words
    assert [entry.rung.value for entry in decided("route", ORDER).decision.rungs] == words
    decision = decided("route", ORDER).decision
    one, two, three, four, five = decision.rungs
    for other in ((one, two, three, five, four), (one, two, three, four), (*decision.rungs, five)):
        with pytest.raises(InvariantViolation):
            msgspec.structs.replace(decision, rungs=other)


def test_r3_a_pattern_spares_the_model() -> None:
    found = decided("enrich", {"kind": "plain", "text": "hello"})
    assert found.decision.rung is Rung.PATTERN
    assert found.decision.model_call is None


def test_r3_r8_a_model_entry_above_which_a_rung_did_not_run_is_refused() -> None:
    good = replied("enrich", {"text": "x"}, {"fields": {"label": "a", "count": 1}, "actions": [], "note": ""})
    assert isinstance(good, Decided)
    skipped = msgspec.structs.replace(good.decision.rungs[1], ran=False, outcome=RungOutcome.NOT_REACHED)
    rungs = (good.decision.rungs[0], skipped, *good.decision.rungs[2:])
    with pytest.raises(InvariantViolation):
        msgspec.structs.replace(good.decision, rungs=rungs)


def test_r4_nothing_learned_decides_and_an_index_that_claims_so_is_refused() -> None:
    entry = residual("route", {"kind": "unheard of"}).question.rungs[2]
    assert (entry.outcome, entry.ran) == (RungOutcome.NOT_ACTIVE, True)
    with pytest.raises(InvariantViolation):
        learned.answer(("a rule that says it is active",))
    with pytest.raises(InvariantViolation):
        walk("route", {"kind": "x"}, index=INDEX._replace(learned=("a rule",)))


def test_r5_r31_the_model_is_asked_only_for_what_the_rungs_above_left_open() -> None:
    asked = needs("enrich", {"text": "three chairs", "label": "furniture"})
    assert set(asked.answer_schema["properties"]["fields"]["properties"]) == {"count"}
    assert '"open_fields":[{"name":"count","type":"int"}]' in asked.packet_json
    overreach = {"fields": {"count": 3, "label": "toys"}, "actions": [], "note": ""}
    found = replied("enrich", {"text": "three chairs", "label": "furniture"}, overreach)
    assert isinstance(found, Residual)
    assert found.reason is ResidualReason.ANSWER_NOT_VALID


def test_r6_r37_what_the_model_may_not_decide_and_what_is_reserved_goes_to_a_person() -> None:
    refused = replied("enrich", {"text": "x"}, "no json")
    assert isinstance(refused, Residual)
    assert refused.question is not None
    reserved = residual("decide", ORDER)
    assert reserved.question is not None
    assert reserved.reason is ResidualReason.JUDGMENT_STEP


@pytest.mark.parametrize("subject", [ORDER, {"kind": "order", "count": 101}])
def test_r7_every_decision_has_exactly_one_winner(subject: dict[str, object]) -> None:
    found = decided("route", subject)
    assert outcomes(found).count("won") == 1
    won = found.decision.rungs[1]
    two = msgspec.structs.replace(found.decision.rungs[0], outcome=RungOutcome.WON)
    with pytest.raises(InvariantViolation):
        msgspec.structs.replace(found.decision, rungs=(two, won, *found.decision.rungs[2:]))


@pytest.mark.parametrize("label", [rung for rung in RUNGS if rung is not Rung.PATTERN])
def test_r8_a_decision_labelled_with_a_rung_that_did_not_win_is_refused(label: Rung) -> None:
    decision = decided("route", ORDER).decision
    with pytest.raises(InvariantViolation):
        msgspec.structs.replace(decision, rung=label)


def test_r8_a_rung_that_ran_and_lost_does_not_get_the_label() -> None:
    decision = decided("route", ORDER).decision
    lost = residual("route", {"kind": "unheard of"}).question.rungs[2]
    assert lost.ran
    rungs = (*decision.rungs[:2], lost, *decision.rungs[3:])
    with pytest.raises(InvariantViolation):
        msgspec.structs.replace(decision, rungs=rungs, rung=Rung.LEARNED)


def test_r8_a_winner_that_did_not_run_is_refused() -> None:
    decision = decided("route", ORDER).decision
    idle = msgspec.structs.replace(decision.rungs[1], ran=False)
    with pytest.raises(InvariantViolation):
        msgspec.structs.replace(decision, rungs=(decision.rungs[0], idle, *decision.rungs[2:]))


def test_r9_r141_a_reply_offered_to_a_plumbing_step_is_refused() -> None:
    reply = ModelReply(packet_digest="sha256:" + "0" * 64, answer=answer("{}"))
    for subject in (ORDER, {"kind": "unheard of"}):
        found = walk("route", subject, reply=reply)
        assert isinstance(found, Refused)
        assert found.reason == "step_has_no_model"


def test_r46_r49_a_plumbing_residual_never_asks_for_a_model() -> None:
    for step_id in ("sort", "route", "strict", "price", "bill"):
        assert not isinstance(walk(step_id, {"kind": "unheard of"}), NeedModel)
        assert may_call_model(step(step_id)) is not None
    assert may_call_model(step("enrich")) is None
    assert may_call_model(step("decide")) is not None


def test_r48_a_step_that_claims_another_kind_than_its_rulebook_is_refused() -> None:
    upgraded = msgspec.structs.replace(step("route"), kind=StepKind.REASONING)
    with pytest.raises(InvariantViolation):
        decide(upgraded, subject={"kind": "x"}, context=CONTEXT, index=INDEX)


def test_r32_r51_reasoning_runs_only_where_the_process_declared_it_and_after_plumbing() -> None:
    asked = needs("enrich", {"text": "x"})
    assert '"rungs":[{"outcome":"no_match","rung":"structured"},{"outcome":"no_match","rung":"pattern"}' in (
        asked.packet_json
    )
    good = replied("enrich", {"text": "x"}, {"fields": {"label": "a", "count": 1}, "actions": [], "note": ""})
    assert isinstance(good, Decided)
    with pytest.raises(InvariantViolation):
        msgspec.structs.replace(good.decision, kind=StepKind.PLUMBING)


def test_r12_r17_structured_and_pattern_cost_no_tokens() -> None:
    for found in (decided("sort", {"owner": "ann"}), decided("route", ORDER)):
        assert found.decision.tokens == Tokens(input=0, output=0)
        with pytest.raises(InvariantViolation):
            msgspec.structs.replace(found.decision, tokens=Tokens(input=1, output=0))


def test_r13_structured_reads_the_subject_the_work_type_and_the_status() -> None:
    again = LadderContext(turn_id="t", now_ms=1, work_type="ticket", status="reopened")
    assert decided("sort", {"owner": "ann"}, context=again).decision.condition.id == "reopened"
    other = LadderContext(turn_id="t", now_ms=1, work_type="letter", status="reopened")
    assert decided("sort", {"owner": "ann"}, context=other).decision.condition.id is None


def test_r14_regular_expressions_and_parsers_run_in_the_structured_walk() -> None:
    assert decided("sort", {"text": "WIN a car!"}).decision.condition.id == "spam"
    parsed = decided("sort", {"sender": "Ann B. <ann@DESK.example>", "label": "x", "owner": "o"})
    assert parsed.decision.condition.id == "internal"
    assert parsed.decision.rung is Rung.STRUCTURED


def test_r15_structured_wins_by_fields_or_by_a_rule_and_says_which() -> None:
    by_fields = decided("sort", {"owner": "ann"})
    assert by_fields.decision.condition.kind is ConditionKind.FIELDS_PRESENT
    assert by_fields.decision.condition.fields == ("owner",)
    both = decided("sort", {"owner": "ann", "text": "WIN it!"})
    assert (both.decision.condition.kind, both.decision.condition.id) == (ConditionKind.RULE, "spam")
    without = decided("sort", {"text": "WIN it!"})
    assert without.decision.condition.id == "spam"
    neither = residual("sort", {"text": "hello"})
    assert neither.reason is ResidualReason.NO_RUNG_DECIDED


@pytest.mark.parametrize("owner", [None, "", 5, ["ann"], {"name": "ann"}, True])
def test_r15_a_field_that_is_empty_or_of_another_type_is_not_present(owner: object) -> None:
    assert residual("sort", {"owner": owner}).reason is ResidualReason.NO_RUNG_DECIDED


def test_r15_a_step_with_rules_is_not_won_by_requiring_no_fields() -> None:
    assert residual("route", {"kind": "unheard of"}).question is not None
    assert needs("enrich", {"text": "x"}).packet_digest.startswith("sha256:")


def test_r16_structured_stages_only_what_is_bound_to_its_skill() -> None:
    found = decided("sort", {"sender": "ann@desk.example", "label": "x"})
    assert [stage.action for stage in found.stages] == ["note"]
    at = INDEX.steps[("desk", "sort")]
    unbound = at._replace(skill=msgspec.structs.replace(at.skill, actions=()))
    index = INDEX._replace(steps={**INDEX.steps, ("desk", "sort"): unbound})
    with pytest.raises(InvariantViolation):
        walk("sort", {"sender": "ann@desk.example", "label": "x"}, index=index)


def test_r18_r20_a_pattern_wins_only_where_its_whole_when_is_true() -> None:
    assert decided("route", ORDER).decision.condition.id == "gold"
    near = {"kind": "order", "vendor": {"tier": "silver"}, "count": 100, "urgent": False}
    assert residual("route", near).reason is ResidualReason.NO_RUNG_DECIDED


def test_r20_an_inactive_pattern_never_wins() -> None:
    assert residual("route", {"kind": "legacy"}).reason is ResidualReason.NO_RUNG_DECIDED


def test_r21_an_unconfirmed_pattern_decides_and_does_not_stage() -> None:
    subject = {"urgent": True, "sender": "bo@x.example", "text": "fire", "kind": "none"}
    found = decided("route", subject)
    assert found.decision.condition.id == "loud"
    assert (found.stages, found.decision.staged, found.decision.withheld) == ((), (), ("notify",))
    confirmed = decided("route", subject, index=CONFIRMED)
    assert [stage.action for stage in confirmed.stages] == ["notify"]
    assert confirmed.stages[0].arguments() == {"to": "bo@x.example", "subject": "Re: fire"}
    assert confirmed.decision.withheld == ()


def test_r21_a_pattern_that_stages_nothing_needs_no_confirm() -> None:
    assert decided("route", ORDER).decision.condition.digest is None


def test_rule_5_two_hits_decide_nothing_and_both_are_named() -> None:
    subject = {"kind": "order", "vendor": {"tier": "gold"}, "count": 500, "urgent": False}
    found = residual("route", subject)
    assert found.reason is ResidualReason.CONFLICT
    assert found.question is not None
    assert set(found.question.rungs[1].hits) == {"gold", "many"}
    assert set(found.question.choices) == {"act:pattern:gold", "act:pattern:many", "decline"}


def test_rule_5_a_conflict_at_a_reasoning_step_is_not_put_to_a_model() -> None:
    both = {"urgent": True, "kind": "order", "vendor": {"tier": "gold"}, "sender": "a@b.c", "text": "x"}
    at = INDEX.steps[("desk", "enrich")]._replace(patterns=INDEX.steps[("desk", "route")].patterns)
    index = INDEX._replace(steps={**INDEX.steps, ("desk", "enrich"): at})
    found = walk("enrich", both, index=index)
    assert isinstance(found, Residual)
    assert found.reason is ResidualReason.CONFLICT


@pytest.mark.parametrize(
    "step_id, subject", [("price", {"kind": "gift"}), ("bill", {"owner": "a", "amount": 9})]
)
def test_r38_r138_what_touches_money_or_law_never_wins_without_a_person(
    step_id: str, subject: dict[str, object]
) -> None:
    found = residual(step_id, subject)
    assert found.reason is ResidualReason.MONEY_LEGAL
    assert found.question is not None, "money goes to a person even where a residual fails"
    assert found.question.choices[0] == "act"


def test_r138_a_model_that_proposes_money_is_shown_to_a_person() -> None:
    priced = replied("quote", {"text": "x"}, {"fields": {"amount": 7}, "actions": [], "note": ""})
    assert isinstance(priced, Residual)
    assert priced.reason is ResidualReason.MONEY_LEGAL
    proposal = {"fields": {"label": "a", "count": 1}, "actions": ["pay"], "note": ""}
    paid = replied("enrich", {"text": "x", "amount": 4}, proposal)
    assert isinstance(paid, Residual)
    assert paid.reason is ResidualReason.MONEY_LEGAL


def test_reading_a_money_field_is_no_judgment_by_itself() -> None:
    assert decided("route", {**ORDER, "amount": 1_000_000}).decision.rung is Rung.PATTERN


def test_r41_r42_r50_an_unresolved_plumbing_residual_is_a_question_or_a_visible_failure() -> None:
    queued = residual("route", {"kind": "unheard of"})
    assert queued.question is not None
    assert queued.failure is None
    failed = residual("strict", {"kind": "x"})
    assert failed.question is None
    assert failed.failure is not None
    assert failed.failure.reason is ResidualReason.NO_RUNG_DECIDED
    with pytest.raises(InvariantViolation):
        Residual(reason=queued.reason, packet_json="{}", question=None, failure=None)


def test_r43_r44_a_residual_has_no_winner_and_nothing_to_stage() -> None:
    found = residual("bill", {"owner": "a", "amount": 9})
    assert found.question is not None
    assert not any("stage" in name for name in Residual.__struct_fields__)
    won = decided("route", ORDER).decision.rungs
    with pytest.raises(InvariantViolation):
        msgspec.structs.replace(found, question=msgspec.structs.replace(found.question, rungs=won))


def test_a_then_whose_values_are_missing_is_a_residual_and_not_half_a_stage() -> None:
    found = residual("route", {"urgent": True, "kind": "none"}, index=CONFIRMED)
    assert found.reason is ResidualReason.VALUE_UNRESOLVED
    assert "sender" in found.question.detail


def test_r132_the_only_clock_is_the_context() -> None:
    subject = {"sent": "1970-01-01T00:00:01Z"}
    late = LadderContext(turn_id="t", now_ms=2001, work_type="ticket")
    soon = LadderContext(turn_id="t", now_ms=2000, work_type="ticket")
    assert decided("sort", subject, context=late).decision.condition.id == "stale"
    assert residual("sort", subject, context=soon).reason is ResidualReason.NO_RUNG_DECIDED
    assert decided("sort", subject, context=late).decision.decided_at_ms == 2001


def test_r132_the_same_inputs_give_the_same_bytes_in_another_process() -> None:
    program = (
        "from tests.unit.kernel.ladder_case import decided, residual\n"
        "print(decided('route', {'kind': 'order', 'vendor': {'tier': 'gold'}}).decision.digest())\n"
        "print(residual('route', {'kind': 'x', 'a': 1, 'b': 2}).question.digest())\n"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": f"{SRC.parent}:{SRC.parents[1]}"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1


def test_a_skipped_rule_is_named_with_its_reason_and_counted() -> None:
    found = residual("route", {"kind": "order", "count": "many"})
    skips = {(skip.reason, skip.ids) for skip in found.question.rungs[1].skipped}
    assert ("field_missing", ("gold",)) in skips
    assert ("field_missing", ("loud",)) in skips
    assert any(reason == "field_wrong_type" and ids == ("many",) for reason, ids in skips)
    assert found.question.rungs[1].considered == 3


def test_a_decision_survives_being_stored() -> None:
    decision = decided("route", ORDER).decision
    again = msgspec.json.decode(msgspec.json.encode(decision), type=type(decision))
    assert again == decision
    assert again.digest() == decision.digest()
