# SPDX-License-Identifier: Apache-2.0
"""The plan answers exactly what CEL answers, and the index exactly what the plan answers."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from actum.kernel.evaluate import compile_plan
from actum.kernel.facts import Facts, reader_for
from actum.kernel.index import IndexedRule, RuleIndex, split_when
from actum.kernel.parsers import ABSENT, Unusable
from actum.model.foreign import from_plain
from actum.model.plan import FieldType, render
from actum.model.process import FieldDeclaration, Then
from actum.model.walk import LadderContext
from actum.process.cel import CONTEXT_TYPES, Expressions, environment
from actum.process.regex import compile_regex

FIELDS = {
    name: FieldDeclaration(name=name, type=kind, pointer="/" + name.replace(".", "/"))
    for name, kind in {
        "a": FieldType.STRING,
        "b.c": FieldType.STRING,
        "n": FieldType.INT,
        "m": FieldType.INT,
        "p": FieldType.BOOL,
        "q": FieldType.BOOL,
        "tags": FieldType.STRINGS,
        "sent": FieldType.TIME,
    }.items()
}
READERS = {name: reader_for(field) for name, field in FIELDS.items()}
EXPRESSIONS = Expressions(FIELDS)
CEL = environment(FIELDS)
WORDS = ["", "x", "xy", "yx", "é", "𝒳", "a.b"]
INTS = [0, 1, -1, 2, 7, -7, 2**53 - 1]
EDGES = [*INTS, 2**63 - 1, -(2**63), 2**62]

COMPARISONS = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])


def texts(depth: int) -> st.SearchStrategy[str]:
    leaf = st.sampled_from(["a", "b.c", "ctx.status", *(f'"{word}"' for word in WORDS)])
    if depth == 0:
        return leaf
    below = texts(depth - 1)
    return st.one_of(
        leaf,
        st.builds("({} + {})".format, below, below),
        st.builds("({} ? {} : {})".format, bools(depth - 1), below, below),
    )


def ints(depth: int) -> st.SearchStrategy[str]:
    leaf = st.sampled_from(["n", "m", "sent", "ctx.now_ms", "tags.size()", *map(str, INTS)])
    if depth == 0:
        return leaf
    below = ints(depth - 1)
    return st.one_of(
        leaf,
        st.builds("({} {} {})".format, below, st.sampled_from("+-*/%"), below),
        st.builds("(-{})".format, below),
        st.builds("size({})".format, texts(depth - 1)),
    )


def bools(depth: int) -> st.SearchStrategy[str]:
    leaf = st.sampled_from(["p", "q", "true", "false"])
    if depth == 0:
        return leaf
    below, words, numbers = bools(depth - 1), texts(depth - 1), ints(depth - 1)
    method = st.sampled_from(["startsWith", "endsWith", "contains"])
    return st.one_of(
        leaf,
        st.builds("({} {} {})".format, words, COMPARISONS, words),
        st.builds("({} {} {})".format, numbers, COMPARISONS, numbers),
        st.builds("({} {} {})".format, below, st.sampled_from(["&&", "||", "==", "!="]), below),
        st.builds("(!{})".format, below),
        st.builds("({} ? {} : {})".format, below, below, below),
        st.builds("({} in [{}, {}])".format, words, words, words),
        st.builds("({} in [{}])".format, numbers, numbers),
        st.builds("({} in tags)".format, words),
        st.builds("{}.{}({})".format, words, method, words),
        st.builds("{}.matches({})".format, words, st.sampled_from(['"^x"', '"y$"', '"[é𝒳]"', '""'])),
    )


equalities = st.one_of(
    st.builds('a == "{}"'.format, st.sampled_from(WORDS)),
    st.builds('"{}" == b.c'.format, st.sampled_from(WORDS)),
    st.builds("n == {}".format, st.sampled_from(INTS)),
    st.sampled_from(["p", "!p", "q", "!q"]),
)
whens = st.builds(" && ".join, st.lists(st.one_of(equalities, bools(3)), min_size=1, max_size=4))
subjects = st.fixed_dictionaries(
    {},
    optional={
        "a": st.sampled_from([*WORDS, None]),
        "b": st.fixed_dictionaries({}, optional={"c": st.sampled_from(WORDS)}),
        "n": st.sampled_from(EDGES),
        "m": st.sampled_from(EDGES),
        "p": st.booleans(),
        "q": st.booleans(),
        "tags": st.lists(st.sampled_from(WORDS), max_size=3),
        "sent": st.sampled_from(["1970-01-01T00:00:00Z", "2026-02-03T04:05:06.789+01:00"]),
    },
)
CONTEXT = LadderContext(turn_id="t", now_ms=1_770_000_000_000, work_type="w", status="x")


def facts_of(subject: dict[str, object]) -> Facts:
    return Facts(from_plain(subject), readers=READERS, context=CONTEXT)


def cel_says(text: str, facts: Facts) -> object:
    values: dict[str, Any] = {
        "ctx.now_ms": CONTEXT.now_ms,
        "ctx.work_type": CONTEXT.work_type,
        "ctx.status": CONTEXT.status,
    }
    for name in FIELDS:
        value = facts[name]
        if not isinstance(value, Unusable):
            values[name] = value
    found = CEL.compile(text).eval(data=values)
    return Unusable if found.type().name() == "ERROR" else found.value()


def plan_says(text: str, facts: Facts) -> object:
    compiled = EXPRESSIONS.compile(text)
    assert compiled.plan is not None, (text, compiled.flaws)
    value = compile_plan(compiled.plan, regex=compile_regex)(facts)
    return Unusable if isinstance(value, Unusable) else value


@settings(max_examples=400, deadline=None)
@given(text=whens, subject=subjects)
def test_the_plan_answers_what_cel_answers(text: str, subject: dict[str, object]) -> None:
    facts = facts_of(subject)
    assert plan_says(text, facts) == cel_says(text, facts)


@settings(max_examples=200, deadline=None)
@given(text=whens, subject=subjects)
def test_rule_3_the_index_hits_exactly_where_the_whole_when_is_true(
    text: str, subject: dict[str, object]
) -> None:
    plan = EXPRESSIONS.compile(text).plan
    assert plan is not None
    keys, rest = split_when(plan)
    types = {name: field.type for name, field in FIELDS.items()} | CONTEXT_TYPES
    index = RuleIndex()
    residual = None if rest is None else compile_plan(rest, regex=compile_regex)
    index.add(IndexedRule("r", Then(), residual, False, None, False), keys=keys, types=types)
    assert bool(index.look_up(facts_of(subject)).hits) == (plan_says(text, facts_of(subject)) is True)


@settings(max_examples=200, deadline=None)
@given(text=whens)
def test_the_rendered_plan_compiles_to_the_same_plan(text: str) -> None:
    plan = EXPRESSIONS.compile(text).plan
    assert plan is not None
    assert EXPRESSIONS.compile(render(plan)).plan == plan


@settings(max_examples=100, deadline=None)
@given(subject=subjects, name=st.sampled_from(sorted(FIELDS)))
def test_present_answers_without_an_error_whatever_stands_there(
    subject: dict[str, object], name: str
) -> None:
    raw = facts_of(subject).raw(name)
    assert plan_says(f"present({name})", facts_of(subject)) is (raw is not ABSENT and raw is not None)
