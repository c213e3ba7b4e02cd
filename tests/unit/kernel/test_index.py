# SPDX-License-Identifier: Apache-2.0
"""The index finds exactly the rules whose WHEN is true, and keeps types apart."""

from __future__ import annotations

import pytest

from actum.kernel.facts import Facts, reader_for
from actum.kernel.index import IndexedRule, RuleIndex, split_when
from actum.model.errors import InvariantViolation
from actum.model.foreign import from_plain
from actum.model.plan import Call, FieldType, Lit, Op, Ref
from actum.model.process import FieldDeclaration, Then
from actum.model.walk import LadderContext

CONTEXT = LadderContext(turn_id="t", now_ms=0, work_type="w")


def rule(name: str) -> IndexedRule:
    return IndexedRule(id=name, then=Then(), residual=None, needs_person=False, digest=None, confirmed=False)


def facts(subject: object, **types: FieldType) -> Facts:
    fields = [FieldDeclaration(name=name, type=kind, pointer=f"/{name}") for name, kind in types.items()]
    return Facts(from_plain(subject), readers={one.name: reader_for(one) for one in fields}, context=CONTEXT)


def equal(field: str, text: str, kind: FieldType = FieldType.STRING) -> Call:
    return Call(op=Op.EQ, args=(Ref(field=field), Lit(type=kind, text=text)))


def test_rule_1_equalities_are_the_key_and_the_rest_is_residual() -> None:
    more = Call(op=Op.GT, args=(Ref(field="n"), Lit(type=FieldType.INT, text="1")))
    when = Call(
        op=Op.AND, args=(equal("a", "x"), more, Call(op=Op.NOT, args=(Ref(field="flag"),)), equal("a", "y"))
    )
    keys, rest = split_when(when)
    assert keys == {
        "a": Lit(type=FieldType.STRING, text="x"),
        "flag": Lit(type=FieldType.BOOL, text="false"),
    }
    assert rest == Call(op=Op.AND, args=(more, equal("a", "y")))


@pytest.mark.parametrize("value", [1.0, True, "1", [1], None, {"$num": "1"}])
def test_rule_2_one_as_an_integer_meets_no_other_one(value: object) -> None:
    index = RuleIndex()
    index.add(rule("r"), keys={"n": Lit(type=FieldType.INT, text="1")}, types={"n": FieldType.INT})
    assert [hit.id for hit in index.look_up(facts({"n": 1}, n=FieldType.INT)).hits] == ["r"]
    assert index.look_up(facts({"n": value}, n=FieldType.INT)).hits == ()


def test_rule_2_a_literal_of_another_type_than_its_field_is_refused() -> None:
    with pytest.raises(InvariantViolation):
        RuleIndex().add(
            rule("r"), keys={"n": Lit(type=FieldType.BOOL, text="true")}, types={"n": FieldType.INT}
        )


def test_decimals_meet_by_value_and_not_by_writing() -> None:
    index = RuleIndex()
    index.add(rule("r"), keys={"d": Lit(type=FieldType.DECIMAL, text="12.5")}, types={"d": FieldType.DECIMAL})
    for written in ("12.5", "12.50", "1.25e1"):
        assert index.look_up(facts({"d": written}, d=FieldType.DECIMAL)).hits


def test_rule_4_a_missing_field_skips_and_never_counts_as_false() -> None:
    index = RuleIndex()
    for number in range(30):
        index.add(
            rule(f"r{number}"),
            keys={"a": Lit(type=FieldType.STRING, text=str(number))},
            types={"a": FieldType.STRING},
        )
    skip = index.look_up(facts({}, a=FieldType.STRING)).skipped[0]
    assert (skip.reason, skip.detail, skip.count, len(skip.ids)) == ("field_missing", "a", 30, 20)


def test_the_work_of_a_look_up_does_not_grow_with_the_rules() -> None:
    reads: list[int] = []
    for size in (10, 10_000):
        index = RuleIndex()
        for number in range(size):
            index.add(
                rule(f"r{number}"),
                keys={"a": Lit(type=FieldType.STRING, text=str(number))},
                types={"a": FieldType.STRING},
            )
        seen = 0

        class Counting(Facts):
            def __getitem__(self, name: str) -> object:
                nonlocal seen
                seen += 1
                return super().__getitem__(name)

        readers = {"a": reader_for(FieldDeclaration(name="a", type=FieldType.STRING, pointer="/a"))}
        found = index.look_up(Counting({"a": "7"}, readers=readers, context=CONTEXT))
        assert [hit.id for hit in found.hits] == ["r7"]
        reads.append(seen)
    assert reads[0] == reads[1]


def test_a_written_value_stands_at_its_pointer() -> None:
    fields = [
        FieldDeclaration(name="a", type=FieldType.STRING, pointer="/x/a"),
        FieldDeclaration(name="b", type=FieldType.STRING, pointer="/l/0"),
    ]
    before = Facts(
        from_plain({"x": {"k": "v"}, "l": ["p", "q"]}),
        readers={one.name: reader_for(one) for one in fields},
        context=CONTEXT,
    )
    after = before.with_writes({"a": "new", "b": "r"})
    assert after.subject == {"x": {"k": "v", "a": "new"}, "l": ["r", "q"]}
    assert before.subject == {"x": {"k": "v"}, "l": ["p", "q"]}
