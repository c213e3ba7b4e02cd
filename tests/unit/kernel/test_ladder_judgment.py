# SPDX-License-Identifier: Apache-2.0
"""A person's choice, and nothing else, decides a question."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest

from actum.kernel.ladder import decide_by_person
from actum.model.decision import Decision, Rung
from actum.model.errors import InvariantViolation, Refused
from actum.model.foreign import from_plain
from actum.model.process import StepKind
from actum.model.walk import Decided, QuestionDraft, ResidualReason
from tests.unit.kernel.ladder_case import CONFIRMED, INDEX, decided, replied, residual, step

ORDER = {"kind": "order", "sender": "a@b.example", "text": "two"}


def ask(step_id: str, subject: Mapping[str, object]) -> QuestionDraft:
    question = residual(step_id, subject).question
    assert question is not None
    return question


def judge(
    question: QuestionDraft,
    subject: Mapping[str, object],
    choice: str,
    *,
    person: str = "ann",
    writes: dict[str, object] | None = None,
    index: object = INDEX,
    at: str | None = None,
) -> Decided | Refused:
    return decide_by_person(
        step(at or question.step_id),
        subject=from_plain(dict(subject)),
        question=question,
        choice=choice,
        person=person,
        reason="because",
        now_ms=6000,
        index=index,  # type: ignore[arg-type]
        writes=None if writes is None else from_plain(writes),
    )


def test_r11_r55_r56_a_judgment_is_won_by_a_named_person() -> None:
    found = judge(ask("decide", ORDER), ORDER, "decline")
    assert isinstance(found, Decided)
    assert found.decision.rung is Rung.JUDGMENT
    assert found.decision.judgment is not None
    assert found.decision.judgment.person == "ann"
    with pytest.raises(InvariantViolation):
        msgspec.structs.replace(found.decision, judgment=None)
    nobody = msgspec.structs.replace(found.decision.judgment, person=" ")
    with pytest.raises(InvariantViolation):
        msgspec.structs.replace(found.decision, judgment=nobody)


@pytest.mark.parametrize("person", ["", "  "])
def test_r11_nobody_is_no_person(person: str) -> None:
    found = judge(ask("decide", ORDER), ORDER, "decline", person=person)
    assert isinstance(found, Refused)
    assert found.reason == "person_unnamed"


def test_r39_the_choice_is_recorded_as_evidence_of_this_question() -> None:
    question = ask("decide", ORDER)
    found = judge(question, ORDER, "decline")
    assert isinstance(found, Decided)
    record = found.decision.judgment
    assert record is not None
    assert (record.choice, record.reason, record.question_digest) == ("decline", "because", question.digest())
    assert record.judged_at_ms == found.decision.decided_at_ms == 6000


def test_r55_deterministic_hits_at_a_judgment_step_are_only_shown() -> None:
    question = ask("decide", ORDER)
    assert question.reason is ResidualReason.JUDGMENT_STEP
    assert [(one.source, one.id) for one in question.suggestions] == [("pattern", "hint")]
    by_rule = decided("route", {"kind": "order", "vendor": {"tier": "gold"}}).decision
    with pytest.raises(InvariantViolation):
        msgspec.structs.replace(by_rule, kind=StepKind.JUDGMENT)


def test_act_takes_the_suggestion_exactly_as_it_was_shown() -> None:
    question = residual("decide", ORDER, index=CONFIRMED).question
    assert question is not None
    found = judge(question, ORDER, "act", index=CONFIRMED)
    assert isinstance(found, Decided)
    assert found.stages == question.suggestions[0].stages
    assert [stage.action for stage in found.stages] == ["notify"]


def test_decline_stages_nothing() -> None:
    question = residual("decide", ORDER, index=CONFIRMED).question
    assert question is not None
    found = judge(question, ORDER, "decline", index=CONFIRMED)
    assert isinstance(found, Decided)
    assert found.stages == ()


def test_a_person_chooses_one_of_two_conflicting_rules() -> None:
    both = {"kind": "order", "vendor": {"tier": "gold"}, "count": 500}
    found = judge(ask("route", both), both, "act:pattern:many")
    assert isinstance(found, Decided)
    assert {write.field: write.value() for write in found.writes} == {"owner": "bulk"}


def test_r138_a_person_may_write_and_stage_money_and_it_is_still_only_staged() -> None:
    subject = {"amount": 9}
    found = judge(ask("choose", subject), subject, "yes-pay")
    assert isinstance(found, Decided)
    assert [(stage.action, stage.arguments()["amount"]) for stage in found.stages] == [
        ("pay", from_plain(5)),
    ]


@pytest.mark.parametrize("choice", ["", "approve", "act:pattern:gold", "ACT"])
def test_a_choice_that_was_not_offered_is_refused(choice: str) -> None:
    found = judge(ask("choose", ORDER), ORDER, choice)
    assert isinstance(found, Refused)
    assert found.reason == "choice_unknown"


def test_an_answer_to_a_changed_subject_or_rulebook_is_refused() -> None:
    question = ask("decide", ORDER)
    changed = judge(question, {**ORDER, "text": "three"}, "act")
    assert isinstance(changed, Refused)
    assert changed.reason == "subject_changed"
    other = judge(question, ORDER, "act", index=CONFIRMED)
    assert isinstance(other, Refused)
    assert other.reason == "rulebook_changed"
    elsewhere = judge(question, ORDER, "act", at="choose")
    assert isinstance(elsewhere, Refused)


def test_values_a_person_writes_have_the_declared_types() -> None:
    question = ask("sort", {"text": "hello"})
    found = judge(question, {"text": "hello"}, "act", writes={"owner": "bo"})
    assert isinstance(found, Decided)
    assert found.writes[0].value() == "bo"
    for writes, reason in (
        ({"owner": 5}, "field_wrong_type"),
        ({"nobody": "x"}, "field_unknown"),
        ({"count": 1.5}, "not_an_integer"),
    ):
        wrong = judge(question, {"text": "hello"}, "act", writes=writes)
        assert isinstance(wrong, Refused)
        assert wrong.reason == reason


def test_what_a_choice_stages_may_read_what_the_person_writes_with_it() -> None:
    question = ask("file", {"text": "hello"})
    found = judge(question, {"text": "hello"}, "keep", writes={"label": "by ann"})
    assert isinstance(found, Decided)
    assert found.stages[0].arguments()["body"] == "by ann"
    without = judge(question, {"text": "hello"}, "keep")
    assert isinstance(without, Refused)


def test_a_question_survives_being_stored_and_is_answered_later() -> None:
    question = ask("decide", ORDER)
    again = msgspec.json.decode(msgspec.json.encode(question), type=QuestionDraft)
    assert again == question
    assert isinstance(judge(again, ORDER, "act"), Decided)


def test_a_judgment_after_a_refused_answer_keeps_what_the_model_cost() -> None:
    mail = {"text": "x"}
    left = replied("enrich", mail, "no json")
    question = left.question  # type: ignore[union-attr]
    found = judge(question, mail, "decline")
    assert isinstance(found, Decided)
    assert found.decision.tokens.output == 20
    assert isinstance(found.decision, Decision)
