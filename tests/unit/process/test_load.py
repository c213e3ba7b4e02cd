# SPDX-License-Identifier: Apache-2.0
"""A process file loads whole, or every problem is told with its place."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from actum.kernel.ladder import decide
from actum.model import canonical
from actum.model.decision import Rung
from actum.model.effect import EffectClass
from actum.model.errors import CorruptRecordError, UsageError
from actum.model.foreign import from_plain
from actum.model.model_call import ModelTier
from actum.model.process import (
    ResidualPolicy,
    Rulebook,
    StepKind,
    rulebook_from_record,
    rulebook_to_record,
)
from actum.model.walk import Decided, LadderContext, NeedModel, Residual
from actum.process.activate import compile_rulebook, confirm_pattern, index_of, staging_patterns
from actum.process.load import load_process, read_process
from actum.process.problems import ProcessFileError
from tests.unit.process.process_case import HEAD, STEPS, codes, problems, with_when

ROOT = Path(__file__).resolve().parents[3]
TRIAGE = ROOT / "examples" / "executive_assistant" / "inbox_triage.yaml"
TRAVEL = ROOT / "examples" / "travel_approvals" / "process.yaml"
SEED = (
    "process: inbox_triage work_types: [ea_inbox, ea_brief] steps: - id: capture kind: plumbing "
    "skill: intake.capture - id: triage kind: plumbing skill: qualify.deterministic fields: [owner] - id: "
    "enrich kind: reasoning # model allowed, under a token contract skill: capture.structure - id: decide "
    "kind: judgment # a person, always - id: resurface kind: plumbing skill: opportunity.resurface"
)


class Capability(msgspec.Struct, frozen=True):
    id: str
    effect_class: EffectClass


CAPABILITIES = {
    "files.write": Capability("files.write", EffectClass.ACTION),
    "bank.pay": Capability("bank.pay", EffectClass.MONEY_LEGAL),
}


def action(body: str) -> str:
    return f"{HEAD}actions:\n  a: {body}\n{STEPS}"


def test_r58_a_process_has_a_name_work_types_and_steps() -> None:
    assert codes("process: p\n") == {"work_types_missing", "steps_missing"}
    assert codes(f"work_types: [w]\n{STEPS}") == {"process_missing"}
    assert codes("process: p\nwork_types: []\nsteps: []\n") == {"work_types_missing", "steps_missing"}
    assert codes("process: p\nwork_types: [w]\nsteps:\n  - {kind: plumbing}\n") == {"id_missing"}
    process = load_process("process: p\nwork_types: [w]\nsteps:\n  - {id: s, kind: plumbing}\n", path="p")
    assert (process.name, process.work_types, process.steps[0].id) == ("p", ("w",), "s")


def test_r59_a_judgment_step_loads_without_a_skill() -> None:
    process = load_process("process: p\nwork_types: [w]\nsteps:\n  - {id: s, kind: judgment}\n", path="p")
    assert process.steps[0].skill is None


def test_r60_r61_the_seeds_inbox_triage_ships_word_for_word() -> None:
    assert re.sub(r"\s+", " ", TRIAGE.read_text()).strip() == SEED


def test_r60_the_seeds_inbox_triage_loads_and_runs() -> None:
    rulebook = compile_rulebook({"inbox_triage.yaml": TRIAGE.read_text()}).rulebook
    index = index_of(rulebook)
    process = rulebook.process_for("ea_brief")
    assert process is not None
    assert process is rulebook.process_for("ea_inbox")
    context = LadderContext(turn_id="t", now_ms=1, work_type="ea_inbox")
    seen: list[object] = []
    for one in process.steps:
        found = decide(one, subject={"owner": "sales"}, context=context, index=index)
        seen.append(found.decision.rung if isinstance(found, Decided) else type(found))
    assert seen == [Rung.STRUCTURED, Rung.STRUCTURED, NeedModel, Residual, Rung.STRUCTURED]
    unowned = decide(process.steps[1], subject={}, context=context, index=index)
    assert isinstance(unowned, Residual)
    assert unowned.question is not None


def test_what_the_seeds_file_leaves_out_is_told_as_findings() -> None:
    found = [one.code for one in read_process(TRIAGE.read_text(), path="t").findings]
    assert sorted(set(found)) == ["contract_implied", "field_implied", "skill_implied"]
    assert found.count("skill_implied") == 4


def test_the_travel_process_sends_every_item_to_a_person() -> None:
    process = load_process(TRAVEL.read_text(), path="travel")
    index = index_of(Rulebook(processes=(process,)))
    context = LadderContext(turn_id="t", now_ms=1, work_type="travel_approval")
    found = decide(process.steps[0], subject={"amount_eur": "12.5"}, context=context, index=index)
    assert isinstance(found, Residual)
    assert found.question is not None
    assert found.question.choices == ("approve", "reject")
    guarded = {field.name for field in process.fields if field.field_class.value != "plain"}
    assert guarded == {"amount_eur", "case"}


@pytest.mark.parametrize("kind", ["", "kind: plumbin", "kind: Plumbing", "kind: [plumbing]", "kind: model"])
def test_r45_a_missing_or_other_kind_is_refused(kind: str) -> None:
    text = f"process: p\nwork_types: [w]\nsteps:\n  - id: s\n    {kind}\n"
    assert codes(text) & {"kind_missing", "kind_unknown", "wrong_shape"}


@pytest.mark.parametrize(
    "contract, code",
    [
        ("{tier: gpt-4}", "tier_unknown"),
        ("{tier: claude-fast}", "tier_unknown"),
        ("{tier: Fast}", "tier_unknown"),
        ("{tier: fast, model: llama}", "member_unknown"),
        ("{tier: fast, vendor: acme}", "member_unknown"),
        ("{tier: fast, max_tokens: 0}", "wrong_shape"),
        ("{tier: fast, max_tokens: 10.5}", "wrong_shape"),
    ],
)
def test_r53_only_fast_or_capable_name_a_model(contract: str, code: str) -> None:
    steps = f"steps:\n  - {{id: s, kind: reasoning, contract: {contract}}}\n"
    assert codes(f"{HEAD}{steps}") == {code}


def test_r52_a_reasoning_step_always_has_a_contract() -> None:
    process = load_process(f"{HEAD}steps:\n  - {{id: s, kind: reasoning, fields: [owner]}}\n", path="p")
    contract = process.steps[0].contract
    assert contract is not None
    assert (contract.tier, contract.max_tokens) == (ModelTier.FAST, 512)


def test_r48_a_model_contract_needs_a_reasoning_step() -> None:
    for kind in ("plumbing", "judgment"):
        steps = f"steps:\n  - {{id: s, kind: {kind}, contract: {{tier: fast}}}}\n"
        assert codes(f"{HEAD}{steps}") == {"contract_needs_reasoning"}


def test_r50_only_a_plumbing_step_says_where_its_residual_goes() -> None:
    process = load_process(f"{HEAD}steps:\n  - {{id: s, kind: plumbing, residual: fail}}\n", path="p")
    assert process.steps[0].residual is ResidualPolicy.FAIL
    steps = "steps:\n  - {id: s, kind: reasoning, residual: fail}\n"
    assert codes(f"{HEAD}{steps}") == {"residual_needs_plumbing"}


@pytest.mark.parametrize("guarded", ["identity", "money_legal"])
def test_r74_an_identity_or_money_field_declared_learnable_is_refused(guarded: str) -> None:
    field = f"fields:\n  f: {{type: string, class: {guarded}, learnable: true}}\n"
    found = problems(f"process: p\nwork_types: [w]\n{field}{STEPS}")
    assert [(one.code, one.line, one.pointer) for one in found] == [
        ("learnable_forbidden", 4, "/fields/f/learnable")
    ]


@pytest.mark.parametrize("path", ["/money", "/money/amount", "/money/amount/eur"])
def test_r74_a_second_name_for_a_guarded_place_is_refused(path: str) -> None:
    fields = (
        "fields:\n  amount: {type: any, class: money_legal, path: /money/amount}\n"
        f"  proxy: {{type: any, learnable: true, path: {path}}}\n"
    )
    assert codes(f"process: p\nwork_types: [w]\n{fields}{STEPS}") == {"field_alias"}


def test_r74_a_guarded_value_is_not_copied_where_a_rule_could_reach_it() -> None:
    for value in ("{field: amount}", "{pointer: /amount}"):
        text = (
            f"{HEAD}patterns:\n  - {{id: x, step: s, when: {{flag: true}}, then: {{set: {{n: {value}}}}}}}\n"
        )
        assert codes(text + STEPS) == {"guarded_value_copied"}
    learned = "{id: x, step: s, when: {flag: true}, then: {set: {learned: {field: party}}}}"
    assert codes(f"{HEAD}patterns:\n  - {learned}\n{STEPS}") == {"guarded_value_copied"}


@pytest.mark.parametrize("when", ["{amount: 5}", "amount > 5 && flag", "present(amount)"])
def test_no_rule_keys_on_a_money_field(when: str) -> None:
    assert codes(with_when(when)) == {"when_on_money_legal"}


def test_r16_a_skill_stages_only_its_bound_actions() -> None:
    text = (
        f"{HEAD}actions:\n  a: {{capability: files.write}}\n  b: {{capability: files.write}}\n"
        "skills:\n  k:\n    actions: [a]\n    rules:\n"
        "      - {id: r, when: {flag: true}, then: {stage: [b]}}\n"
        f"{STEPS}"
    )
    found = problems(text)
    assert [(one.code, one.line) for one in found] == [("action_not_bound", 23)]


def test_r19_patterns_come_from_the_file_and_need_a_step_and_a_when() -> None:
    assert codes(f"{HEAD}patterns:\n  - {{id: x}}\n{STEPS}") == {"when_missing", "step_missing"}
    assert codes(f"{HEAD}patterns:\n  - {{id: x, step: t, when: {{flag: true}}}}\n{STEPS}") == {
        "step_unknown"
    }


@pytest.mark.parametrize(
    "when, code, column",
    [
        ("ownr == 'x'", "field_undeclared", 11),
        ("owner == 1", "cel_refused", 17),
        ("owner = 'x'", "cel_refused", 17),
        ("n == 1.0", "cel_refused", 13),
        ("1.5 == 1.5", "outside_profile", 11),
        ("tags.exists(t, t == 'a')", "outside_profile", 22),
        ("tags.map(t, t) == ['a']", "outside_profile", 19),
        ("{'a': 1}.size() == 1", "outside_profile", 11),
        ("timestamp('2020-01-01T00:00:00Z') < timestamp(sent)", "outside_profile", 20),
        ("now() > sent", "field_undeclared", 14),
        ("string(n) == '1'", "outside_profile", 17),
        ("dyn(owner) == 1", "outside_profile", 14),
        ("tags == ['a']", "outside_profile", 19),
        ("owner.matches('(')", "regex_refused", 25),
        (r"owner.matches('(a)\1')", None, None),
        ("owner.matches(kind)", "regex_not_literal", 24),
        ("n == 9007199254740993", "integer_too_large", 16),
        ("n + 1", "expression_type", 11),
        ("kind == 'c'", "never_holds", 16),
        ("sender == 'Ann@X.example'", "never_holds", 18),
        ("n in [1, 'a']", None, None),
        ("weight == weight", "outside_profile", 18),
    ],
)
def test_a_when_outside_the_replayable_profile_is_refused_at_its_column(
    when: str, code: str | None, column: int | None
) -> None:
    text = with_when(f'"{when}"' if when[0] in "{[" or ": " in when else when)
    found = problems(text)
    if code is not None:
        assert [one.code for one in found][:1] == [code]
        shift = 1 if when[0] in "{[" or ": " in when else 0
        assert found[0].column == (column or 0) + shift
    assert found[0].line == 19


def test_a_mistake_in_a_literal_block_has_its_own_line_and_column() -> None:
    text = with_when("|\n      owner == 'y'\n        && n == 'x'")
    assert [(one.line, one.column, one.code) for one in problems(text)] == [(21, 14, "cel_refused")]


def test_the_short_form_is_coerced_by_the_declared_type() -> None:
    good = "{owner: x, n: 5, flag: true, sent: '1970-01-01T00:00:01Z', sender: A <a@X.example>, weight: 1.50}"
    process = load_process(with_when(good), path="p")
    texts = {call.args[0].field: call.args[1].text for call in process.patterns[0].when.args}
    assert texts == {
        "owner": "x", "n": "5", "flag": "true", "sent": "1000", "sender": "a@x.example", "weight": "1.5",
    }  # fmt: skip
    bad = "{owner: 5, n: '5', flag: 1, sent: noon, sender: a, weight: heavy, kind: c, tags: [a], ownr: x}"
    found = problems(with_when(bad))
    assert len(found) == 9
    assert {one.code for one in found} == {"wrong_shape", "never_holds", "field_undeclared"}


def test_all_problems_of_a_file_are_told_at_once_in_the_order_of_the_file() -> None:
    text = (
        "process: p\nwork_types: [w]\nsteps:\n"
        "  - {id: a, kind: nothing, skil: x}\n"
        "  - {id: a, kind: plumbing, next: zz}\n"
        "  - {id: b, kind: plumbing, next: a}\n"
        "routines: [x]\n"
    )
    found = problems(text)
    assert [(one.line, one.code) for one in found] == [
        (4, "kind_unknown"),
        (4, "member_unknown"),
        (5, "duplicate_id"),
        (5, "next_unknown"),
        (6, "next_backwards"),
        (7, "routines_not_yet"),
    ]
    assert "did you mean 'skill'" in found[1].message
    assert all(one.path == "p.yaml" for one in found)


def test_an_error_says_what_failed_the_state_and_the_next_step() -> None:
    with pytest.raises(UsageError) as caught:
        load_process("process: p\n", path="p.yaml")
    assert caught.value.code == "process_file_refused"
    assert caught.value.exit_code == 2
    assert len(caught.value.to_json()["problems"]) == 2  # type: ignore[arg-type]


def test_routines_are_accepted_only_where_the_list_is_empty() -> None:
    assert load_process(f"{HEAD}{STEPS}routines: []\n", path="p").steps[0].id == "s"
    assert codes(f"{HEAD}{STEPS}routines: [{{at: daily}}]\n") == {"routines_not_yet"}


def test_auto_confirm_is_kept_reported_and_changes_nothing() -> None:
    loaded = read_process(action("{capability: files.write, auto_confirm: true}"), path="p")
    assert [one.code for one in loaded.findings] == ["auto_confirm_ignored"]
    assert loaded.process.actions[0].auto_confirm
    assert loaded.process.actions[0].effect_class is EffectClass.ACTION


def test_an_action_is_checked_against_the_registered_capabilities() -> None:
    assert codes(action("{capability: files.wrte}"), capabilities=CAPABILITIES) == {"capability_unknown"}
    lowered = action("{capability: bank.pay, class: inform}")
    assert codes(lowered, capabilities=CAPABILITIES) == {"class_lower_than_capability"}
    known = load_process(action("{capability: bank.pay}"), path="p", capabilities=CAPABILITIES)
    assert known.actions[0].effect_class is EffectClass.MONEY_LEGAL


@pytest.mark.parametrize(
    "value, code",
    [
        ("{field: nobody}", "field_undeclared"),
        ("{pointer: a}", "wrong_shape"),
        ("{cel: n + 1}", "expression_type"),
        ("{cel: 'owner.matches(\"a\") ? owner : kind'}", "outside_profile"),
        ("{shell: ls}", "wrong_shape"),
        ("[a]", "wrong_shape"),
        ("{field: owner, pointer: /a}", "wrong_shape"),
    ],
)
def test_an_argument_says_in_one_word_where_it_comes_from(value: str, code: str) -> None:
    assert codes(action(f"{{capability: files.write, arguments: {{x: {value}}}}}")) == {code}


def test_a_constant_that_its_field_cannot_hold_is_refused() -> None:
    then = "{id: x, step: s, when: {flag: true}, then: {set: {n: many, kind: c}}}"
    assert codes(f"{HEAD}patterns:\n  - {then}\n{STEPS}") == {"value_wrong_type"}


def test_a_file_that_declares_fields_or_skills_declares_all_it_names() -> None:
    steps = "steps:\n  - {id: s, kind: plumbing, skill: nobody, fields: [owned]}\n"
    assert codes(f"{HEAD}skills: {{k: {{}}}}\n{steps}") == {"field_undeclared", "skill_undeclared"}


@pytest.mark.parametrize("name", ["in", "ctx", "present", "a-b", "true", "x.in"])
def test_a_field_name_that_a_when_could_not_read_is_refused(name: str) -> None:
    assert "field_name_refused" in codes(f"process: p\nwork_types: [w]\nfields: {{{name}: string}}\n{STEPS}")


def test_a_rulebook_is_rebuilt_from_its_record_without_yaml_or_cel() -> None:
    text = with_when("owner == 'x' && n > 3")
    rulebook = compile_rulebook({"p.yaml": text}).rulebook
    stored = canonical.encode(rulebook_to_record(rulebook))
    again = rulebook_from_record(canonical.decode_strict(stored))
    assert again == rulebook
    assert again.digest == rulebook.digest == canonical.digest_bytes(stored)
    subject = from_plain({"owner": "x", "n": 4})
    context = LadderContext(turn_id="t", now_ms=1, work_type="w")
    step = again.processes[0].steps[0]
    one = decide(step, subject=subject, context=context, index=index_of(again))
    other = decide(rulebook.processes[0].steps[0], subject=subject, context=context, index=index_of(rulebook))
    assert one == other
    assert isinstance(one, Decided)


@pytest.mark.parametrize(
    "record", [None, [], {}, {"format": "actum.rulebook/2"}, {"format": "actum.rulebook/1"}]
)
def test_a_record_that_is_no_rulebook_is_corrupt(record: object) -> None:
    with pytest.raises(CorruptRecordError):
        rulebook_from_record(record)


def test_comments_and_the_order_of_members_do_not_change_the_digest() -> None:
    one = load_process("process: p # x\nwork_types: [w]\nsteps:\n  - {id: s, kind: plumbing}\n", path="a")
    other = load_process("steps:\n  - kind: plumbing\n    id: s\nwork_types: [w]\nprocess: p\n", path="b")
    assert one.digest() == other.digest()


def test_two_files_may_not_share_a_name_or_a_work_type() -> None:
    text = "process: %s\nwork_types: [w]\n" + STEPS
    with pytest.raises(ProcessFileError) as caught:
        compile_rulebook({"a": text % "p", "b": text % "q", "c": text % "p"})
    assert {one.code for one in caught.value.problems} == {"work_type_twice", "process_twice"}


def test_r21_a_confirmation_holds_for_one_exact_pattern_and_its_actions() -> None:
    text = (
        f"{HEAD}actions:\n  a: {{capability: files.write, arguments: {{path: /x}}}}\n"
        f"patterns:\n  - {{id: x, step: s, when: {{flag: true}}, then: {{stage: [a]}}}}\n{STEPS}"
    )
    rulebook = compile_rulebook({"p": text}).rulebook
    pending = staging_patterns(rulebook)[0]
    assert (pending.when, pending.actions, pending.confirmed) == ("(flag == true)", ("a",), False)
    confirmed = confirm_pattern(rulebook, digest=pending.digest, person="ann")
    assert isinstance(confirmed, Rulebook)
    kept = compile_rulebook({"p": text}, confirmed=confirmed.confirmed).rulebook
    assert kept == confirmed
    changed = compile_rulebook({"p": text.replace("/x", "/y")}, confirmed=confirmed.confirmed).rulebook
    assert changed.confirmed == ()
    assert not isinstance(confirm_pattern(rulebook, digest=pending.digest, person=" "), Rulebook)
    assert not isinstance(confirm_pattern(rulebook, digest="sha256:" + "0" * 64, person="ann"), Rulebook)


def test_kinds_are_the_three_of_the_seed() -> None:
    assert [kind.value for kind in StepKind] == ["plumbing", "reasoning", "judgment"]
