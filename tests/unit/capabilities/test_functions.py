# SPDX-License-Identifier: Apache-2.0
"""A function becomes an action once another function looks; calling it proposes, and nothing more."""

from __future__ import annotations

import asyncio
import functools
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from actum import Kernel
from actum.bootstrap.place import VERIFIER
from actum.capabilities.answers import kept_result
from actum.capabilities.functions import FunctionExecutor, FunctionVerifier, Rejected
from actum.model.errors import RefusedError, UsageError
from actum.model.grading import ExecutorSaid, LookOutcome
from actum.model.look import Level, Observation
from actum.ports.executor import ExecutorReport
from actum.testing.kernels import PERSON, Ledger, append_action, confirm_all, open_kernel, perform

NONSENSE: list[Any] = [
    {}, 0, 5, True, False, "unreachable", [1], {"error": "connection refused"}, {"n": 0, "more": 1}, {1: 2},
    {"lines": "unreachable"}, {"lines": False}, {"lines": {"error": "timeout"}}, {"lines": [0]},
]  # fmt: skip


@pytest.fixture
def kernel(tmp_path: Path) -> Any:
    with open_kernel(tmp_path) as made:
        yield made


def _acts(kernel: Kernel, act: Any, *, look: Any, expect: Any = None, **declared: Any) -> Any:
    settings: dict[str, Any] = {"reversibility": "reversible", "externality": "local_only", **declared}
    action = kernel.action("odd.act", **settings)(act)
    action.verifier(expect={"n": 1} if expect is None else expect)(look)
    return action


def test_rule_1_calling_an_action_runs_nothing_and_only_a_run_after_a_confirm_does(
    kernel: Kernel, tmp_path: Path
) -> None:
    ledger = Ledger(tmp_path / "ledger")
    action = append_action(kernel, ledger)
    turn = action("a")
    kernel.run()
    assert ledger.entries() == []
    confirm_all(kernel, turn)
    assert ledger.entries() == []
    kernel.run()
    assert ledger.entries() == ["a"]


def test_rule_2_an_action_without_a_verifier_cannot_be_proposed(kernel: Kernel) -> None:
    ran: list[int] = []

    @kernel.action("odd.act", reversibility="reversible", externality="local_only")
    def act(n: int) -> None:
        ran.append(n)

    with pytest.raises(UsageError) as caught:
        act(1)
    assert caught.value.code == "action_without_verifier"
    turn = kernel.propose("odd.act", {"n": 1})
    assert (turn.state, ran) == ("failed", [])


def test_rule_3_a_verifier_that_no_other_process_can_import_says_l0(tmp_path: Path) -> None:
    with Kernel.open(tmp_path / ".actum") as kernel:
        action = _acts(kernel, lambda n: None, look=lambda n: {"n": 1}, claims="state")
        turn = action(1)
        kernel.confirm(turn.question_ids())
        kernel.run()
        receipt = turn.receipt()
        assert receipt is not None
        assert receipt.looks[0].independence.level is Level.L0
        assert not receipt.looks[0].independence.process
        assert receipt.looks[0].keyid == kernel.place.keys.public(VERIFIER).keyid


def test_rule_4_a_verifier_is_given_what_it_asks_for_and_says_only_what_it_sees(kernel: Kernel) -> None:
    seen: list[tuple[object, object]] = []

    def look(n: int, before: object, result: object) -> dict[str, int]:
        seen.append((before, result))
        return {"n": len(seen)}

    turn = _acts(kernel, lambda n: {"id": "x"}, look=look, expect={"n": 2})(5)
    perform(kernel, turn)
    assert seen == [(None, None), ({"n": 1}, {"id": "x"})]
    assert turn.state == "completed"


@pytest.mark.parametrize(
    "seen, outcome, observed",
    [
        (None, LookOutcome.UNCLEAR, None),
        ({"n": 1}, LookOutcome.DEFINITE, {"n": 1}),
        (Observation(value=3, outcome=LookOutcome.UNCLEAR, detail={}), LookOutcome.UNCLEAR, 3),
        (Observation(value=3, outcome=LookOutcome.DEFINITE, detail={}), LookOutcome.UNCLEAR, None),
        ({"n": 0}, LookOutcome.DEFINITE, {"n": 0}),
        *((odd, LookOutcome.UNCLEAR, None) for odd in NONSENSE),
    ],
)
def test_rule_4_a_verifier_that_returns_nothing_could_not_tell(
    seen: Any, outcome: LookOutcome, observed: Any
) -> None:
    asked = SimpleNamespace(arguments={}, before=None, result=None)
    verifier = FunctionVerifier(lambda: seen, capability="odd.act", version="2", expect=lambda: {"n": 1})
    found = verifier.observe(asked)  # type: ignore[arg-type]
    assert (found.outcome, found.value) == (outcome, observed)
    assert (verifier.id, verifier.version, verifier.projection) == ("odd.act.verifier", "2", "odd.act@2")


@pytest.mark.parametrize("arguments", [{}, {"n": 1, "m": 2}, {"m": 1}])
def test_arguments_that_do_not_fit_the_function_are_refused_visibly(
    kernel: Kernel, arguments: dict[str, object]
) -> None:
    _acts(kernel, lambda n: None, look=lambda n: {"n": 1})
    turn = kernel.propose("odd.act", arguments)
    assert turn.activity().failure_reason == "odd.act: arguments_do_not_fit"


def test_what_the_executor_says_is_its_word_and_the_look_decides(kernel: Kernel) -> None:
    def reject(n: int) -> None:
        raise Rejected("no money")

    def fail(n: int) -> None:
        raise ZeroDivisionError

    said: dict[str, str] = {}
    for name, act in (("rejected", reject), ("raised", fail), ("ok", lambda n: None)):
        action = kernel.action(f"odd.{name}", reversibility="reversible", externality="local_only")(act)
        action.verifier(expect={"n": 1})(lambda n: {"n": 0})
        turn = action(1)
        perform(kernel, turn)
        receipt = turn.receipt()
        assert receipt is not None
        said[name] = receipt.executor_said.value
        assert receipt.status is None or receipt.status.value != "success"
    assert said == {"rejected": "rejected", "raised": "raised", "ok": "ok"}


@pytest.mark.parametrize("returned, acknowledged", [(None, False), ({}, True), ("x", True), (0, True)])
def test_only_a_returned_value_is_an_acknowledgement(returned: Any, acknowledged: bool) -> None:
    dispatch: Any = SimpleNamespace(effect=SimpleNamespace(arguments={}))
    report = FunctionExecutor(lambda: returned).execute(dispatch, None)  # type: ignore[arg-type]
    assert report.acknowledged is acknowledged


def test_a_second_action_under_a_registered_id_is_refused(kernel: Kernel) -> None:
    _acts(kernel, lambda n: None, look=lambda n: {"n": 1})
    again = kernel.action("odd.act", reversibility="reversible", externality="local_only")(lambda n: None)
    with pytest.raises(RefusedError) as caught:
        again.verifier(expect={"n": 1})(lambda n: {"n": 1})
    assert caught.value.code == "capability_id_taken"


@pytest.mark.parametrize(
    "wrong", [{"reversibility": "maybe"}, {"externality": "outer space"}, {"effect_class": "free"}]
)
def test_o30_o31_a_declaration_outside_the_closed_sets_is_refused(
    kernel: Kernel, wrong: dict[str, str]
) -> None:
    settings: dict[str, Any] = {"reversibility": "reversible", "externality": "local_only", **wrong}
    with pytest.raises(UsageError, match="Give one of") as caught:
        kernel.action("odd.act", **settings)
    assert caught.value.code == "argument_malformed"


def test_o35_recipients_and_destinations_of_an_action_stand_in_its_descriptor(kernel: Kernel) -> None:
    action = _acts(
        kernel, lambda to: None, look=lambda to: {"n": 1}, recipients=lambda to: [to],
        destinations=["https://bank.test"],
    )  # fmt: skip
    turn = action("bob@example.test")
    effect = kernel.line.store.read(lambda tx: tx.effect(turn.questions()[0].subject_ref))
    assert effect is not None
    assert effect.descriptor.recipients == ("bob@example.test",)
    assert effect.descriptor.destinations == ("https://bank.test",)


@pytest.mark.parametrize("answer", NONSENSE, ids=repr)
def test_rule_4_an_answer_with_other_members_than_expected_repeats_no_effect(
    kernel: Kernel, tmp_path: Path, answer: Any
) -> None:
    ledger = Ledger(tmp_path / "ledger")
    action = append_action(kernel, ledger, seeing=lambda entry: answer)
    turn = action("a")
    for _ in range(3):
        if turn.question_ids():
            confirm_all(kernel, turn)
        kernel.run()
    receipt = turn.receipt()
    assert receipt is not None
    assert (ledger.count("a"), turn.state) == (1, "recovery_required")
    assert {look.outcome for look in receipt.looks} == {LookOutcome.UNCLEAR}
    assert "the verifier answered" in str(receipt.looks[-1].detail["why"])


@pytest.mark.parametrize(
    "expect", [lambda n: 5, lambda n: "x", lambda n: [1]], ids=["number", "text", "list"]
)
def test_an_expectation_that_is_no_object_refuses_the_proposal(kernel: Kernel, expect: Any) -> None:
    turn = _acts(kernel, lambda n: None, look=lambda n: {"n": 1}, expect=expect)(1)
    assert turn.activity().failure_reason == "odd.act: expect_is_no_object"


@pytest.mark.parametrize("role", ["recipients", "disjoint"])
@pytest.mark.parametrize("named", [[1], "letters", 5, None, [None]], ids=repr)
def test_rule_4_what_names_things_is_a_list_of_texts_or_the_proposal_is_refused(
    kernel: Kernel, role: str, named: Any
) -> None:
    turn = _acts(kernel, lambda n: None, look=lambda n: {"n": 1}, **{role: lambda n: named})(1)
    assert turn.activity().failure_reason == "odd.act: names_are_no_texts"
    assert kernel.inbox() == []


@pytest.mark.parametrize("named", ["letters", [1], 5], ids=repr)
def test_rule_4_destinations_are_a_list_of_texts(kernel: Kernel, named: Any) -> None:
    with pytest.raises(UsageError, match="Give destinations as a list of texts"):
        kernel.action("odd.act", reversibility="reversible", externality="local_only", destinations=named)


def _deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


def _cyclic() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["a"] = value
    return value


class _Hostile(dict[str, Any]):
    def __iter__(self) -> Any:
        raise ZeroDivisionError

    def items(self) -> Any:
        raise ZeroDivisionError


UNKEPT = {
    "deep": _deep(5_000),
    "too deep": _deep(70),
    "cyclic": _cyclic(),
    "hostile": _Hostile(a=1),
}


@pytest.mark.parametrize("wrapped", [False, True], ids=["value", "report"])
@pytest.mark.parametrize("value", UNKEPT.values(), ids=UNKEPT)
def test_a_result_that_cannot_be_kept_becomes_a_word_after_the_effect_ran(
    kernel: Kernel, tmp_path: Path, value: Any, wrapped: bool
) -> None:
    ledger = Ledger(tmp_path / "ledger")

    def act(entry: str) -> Any:
        ledger.append(entry)
        return ExecutorReport(said=ExecutorSaid.OK, result=value) if wrapped else value

    turn = append_action(kernel, ledger, acting=act)("a")
    perform(kernel, turn)
    receipt = turn.receipt()
    assert receipt is not None
    assert (turn.state, ledger.count("a"), receipt.executor_said.value) == ("completed", 1, "ok")
    assert list(receipt.native_result) == ["no_json"]


@pytest.mark.parametrize(
    "number", [2**64, -(2**63) - 1, 10**4000, 10**5000], ids=lambda number: number.bit_length()
)
def test_a_number_of_any_size_goes_in_and_comes_out(kernel: Kernel, tmp_path: Path, number: int) -> None:
    held: list[Any] = []

    def act(n: Any) -> dict[str, Any]:
        held.append(n)
        return {"n": n}

    action = _acts(kernel, act, look=lambda n: {"n": list(held)}, expect=lambda n: {"n": [n]})
    turn = action(number)
    perform(kernel, turn)
    receipt = turn.receipt()
    assert receipt is not None
    assert (turn.state, len(held), list(receipt.native_result)) == ("completed", 1, ["n"])


async def _async_function(n: int) -> dict[str, int]:
    return {"n": n}


def _generator(n: int) -> Any:
    yield {"n": n}


async def _async_generator(n: int) -> Any:
    yield {"n": n}


class _AsyncCall:
    async def __call__(self, n: int) -> dict[str, int]:
        return {"n": n}


UNUSABLE = [_async_function, _generator, _async_generator, _AsyncCall(), 5]


@pytest.mark.parametrize(
    "function", [*UNUSABLE, functools.partial(_async_function, 1), functools.partial(len)]
)
def test_a_function_that_returns_before_it_ran_cannot_be_an_action(kernel: Kernel, function: Any) -> None:
    declare = kernel.action("odd.act", reversibility="reversible", externality="local_only")
    with pytest.raises(UsageError) as caught:
        declare(function)
    assert caught.value.code == "function_unusable"


@pytest.mark.parametrize("function", UNUSABLE)
def test_a_function_that_returns_before_it_ran_cannot_be_a_verifier(kernel: Kernel, function: Any) -> None:
    action = kernel.action("odd.act", reversibility="reversible", externality="local_only")(lambda n: None)
    with pytest.raises(UsageError) as caught:
        action.verifier(expect={"n": 1})(function)
    assert caught.value.code == "function_unusable"


def test_rule_3_only_an_action_that_its_module_knows_by_its_name_is_looked_at_elsewhere(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("odd_module")
    monkeypatch.setitem(sys.modules, "odd_module", module)

    def act(n: int) -> None: ...

    act.__module__, act.__qualname__ = "odd_module", "act"
    module.act = act  # type: ignore[attr-defined]
    action = _acts(kernel, act, look=lambda n: {"n": 1})
    found: Any = kernel.line.registry.find("odd.act")
    assert found.info.verifier_ref is None
    module.act = action  # type: ignore[attr-defined]
    assert found.info.verifier_ref == "odd_module:act"
    module.act = act  # type: ignore[attr-defined]
    assert found.info.verifier_ref is None


def test_arguments_that_do_not_fit_a_call_are_a_usage_error_that_shows_the_call(kernel: Kernel) -> None:
    action = _acts(kernel, lambda n: None, look=lambda n: {"n": 1})
    with pytest.raises(UsageError) as caught:
        action(1, 2)
    assert caught.value.code == "arguments_do_not_fit"
    assert kernel.activity() == []


@pytest.mark.parametrize(
    "call",
    [
        lambda kernel: kernel.propose("odd.act", None),
        lambda kernel: kernel.propose("odd.act", 5),
        lambda kernel: kernel.propose(5, {}),
        lambda kernel: kernel.activity("bogus"),
        lambda kernel: kernel.activity(limit="many"),
        lambda kernel: kernel.activity(limit=-1),
        lambda kernel: kernel.action(5, reversibility="reversible", externality="local_only"),
        lambda kernel: kernel.action(
            "a.b", reversibility="reversible", externality="local_only", attempts_max="3"
        ),
        lambda kernel: kernel.action(
            "a.b", reversibility="reversible", externality="local_only", consistency_window_ms=1.5
        ),
        *(
            lambda kernel, name=name, value=value: kernel.action(
                "a.b", reversibility="reversible", externality="local_only", **{name: value}
            )
            for name, value in [
                ("absence_is_proof", "yes"),
                ("observable", None),
                ("executable_code", 1),
                ("version", 2),
            ]
        ),
    ],
)
def test_an_argument_of_another_kind_is_a_usage_error_in_three_sentences(kernel: Kernel, call: Any) -> None:
    with pytest.raises(UsageError) as caught:
        call(kernel)
    assert caught.value.code == "argument_malformed"
    assert len([sentence for sentence in caught.value.sentences() if len(sentence) > 10]) == 3


def test_a_result_is_kept_whatever_the_size_of_its_numbers() -> None:
    assert kept_result({"a": 2**64}) == {"a": 2**64}
    assert list(kept_result({"a": object()})) == ["no_json"]


def _named(n: int, **more: int) -> None: ...


def _listed(n: int, *more: int) -> None: ...


def _placed(n: int, /) -> None: ...


def _with_before(n: int, before: int) -> None: ...


@pytest.mark.parametrize("function", [_named, _listed, _placed, _with_before])
def test_rule_5_an_action_has_named_parameters_of_its_own_only(kernel: Kernel, function: Any) -> None:
    declare = kernel.action("odd.act", reversibility="reversible", externality="local_only")
    with pytest.raises(UsageError) as caught:
        declare(function)
    assert caught.value.code == "function_unusable"
    assert len(caught.value.sentences()) == 3


@pytest.mark.parametrize("look", [lambda: {"n": 1}, lambda m: {"n": 1}, lambda n, m: {"n": 1}])
def test_rule_5_a_verifier_that_does_not_take_the_arguments_is_refused_where_it_is_declared(
    kernel: Kernel, look: Any
) -> None:
    action = kernel.action("odd.act", reversibility="reversible", externality="local_only")(lambda n: None)
    with pytest.raises(UsageError, match="it is called with n="):
        action.verifier(expect={"n": 1})(look)
    assert "odd.act" not in kernel.line.registry


def test_rule_5_a_verifier_takes_what_it_is_offered_as_well(kernel: Kernel) -> None:
    action = kernel.action("odd.act", reversibility="reversible", externality="local_only")(lambda n: None)
    action.verifier(expect=lambda **given: given)(lambda n, result, before=None: {"n": n})
    assert "odd.act" in kernel.line.registry


@pytest.mark.parametrize("role", ["recipients", "disjoint", "rehearse", "expect"])
def test_rule_5_what_is_asked_about_the_arguments_takes_them(kernel: Kernel, role: str) -> None:
    odd: Any
    for odd in (lambda: [""], lambda m: [], *([] if role == "expect" else [5, ["a"]])):
        with pytest.raises(UsageError) as caught:
            _acts(kernel, lambda n: None, look=lambda n: {"n": 1}, **{role: odd})
        assert caught.value.code == "function_unusable"
        assert role in caught.value.failed


@pytest.mark.parametrize(
    "seen, wanted",
    [
        ({"status": None}, {"status": "paid"}),
        ({"more": {"deep": None}}, {"more": {"deep": 1}}),
        ({"status": "no", "more": [None]}, {"status": "yes", "more": [1]}),
    ],
)
def test_rule_2_an_answer_with_a_null_in_it_proves_no_absence_and_nothing_is_repeated(
    kernel: Kernel, tmp_path: Path, seen: dict[str, Any], wanted: dict[str, Any]
) -> None:
    ledger = Ledger(tmp_path / "ledger")
    turn = append_action(kernel, ledger, seeing=lambda entry: seen, expect=wanted)("a")
    perform(kernel, turn)
    kernel.run()
    assert (ledger.count("a"), turn.state) == (1, "recovery_required")


def test_rule_2_a_null_that_is_expected_is_a_value_like_any_other(kernel: Kernel, tmp_path: Path) -> None:
    here = [True]
    action = _acts(
        kernel, lambda n: here.clear(), look=lambda n: {"owner": n if here else None}, expect={"owner": None}
    )
    turn = action(1)
    perform(kernel, turn)
    assert turn.state == "completed"


def test_rule_4_what_a_verifier_changes_in_the_result_is_not_what_is_sealed(kernel: Kernel) -> None:
    done: list[int] = []

    def look(n: int, result: Any) -> dict[str, int]:
        if result is not None:
            result["n"] = "another"
        return {"n": len(done)}

    turn = _acts(kernel, lambda n: {"n": done.append(n) or n}, look=look)(1)
    perform(kernel, turn)
    receipt = turn.receipt()
    assert receipt is not None
    assert receipt.native_result == {"n": 1}


class _Text(str):
    pass


class _Count(int):
    pass


def test_texts_and_numbers_of_a_class_of_their_own_are_kept_as_plain_ones(kernel: Kernel) -> None:
    done: list[int] = []
    turn = _acts(
        kernel,
        lambda n: {"id": _Text("x"), "n": done.append(n) or _Count(n), _Text("k"): [_Text("y")]},
        look=lambda n: {"n": _Count(len(done)), "name": _Text("x")},
        expect={"n": 1, "name": "x"},
    )(1)
    perform(kernel, turn)
    receipt = turn.receipt()
    assert receipt is not None
    assert (turn.state, receipt.native_result) == ("completed", {"id": "x", "n": 1, "k": ["y"]})


@pytest.mark.parametrize(
    "call",
    [
        lambda kernel: kernel.confirm(None),
        lambda kernel: kernel.confirm({}),
        lambda kernel: kernel.confirm([1]),
        lambda kernel: kernel.confirm(["a", "a"]),
        lambda kernel: kernel.refuse(5),
        lambda kernel: kernel.submit(1, {}),
        lambda kernel: kernel.submit("note", 2),
        lambda kernel: kernel.submit("note", {}, key=5),
        lambda kernel: kernel.submit("note", {}, attachments={"a": 1}),
        lambda kernel: kernel.submit_many([1]),
        lambda kernel: kernel.inbox(limit="x"),
        lambda kernel: kernel.inbox(limit=-1),
        lambda kernel: Kernel.open(5),
    ],
)
def test_what_is_given_in_another_form_is_a_usage_error_and_nothing_else(kernel: Kernel, call: Any) -> None:
    with pytest.raises(UsageError) as caught:
        call(kernel)
    assert caught.value.code == "argument_malformed"
    assert len(caught.value.sentences()) == 3


@pytest.mark.parametrize("limits", [{"consistency_window_ms": 10**40}, {"attempts_max": 10**6}])
def test_a_wait_or_a_count_without_end_is_refused_where_it_is_declared(
    kernel: Kernel, limits: dict[str, int]
) -> None:
    with pytest.raises(RefusedError, match="limits_malformed"):
        _acts(kernel, lambda n: None, look=lambda n: {"n": 1}, **limits)


@pytest.mark.parametrize("role", ["expect", "recipients", "disjoint"])
@pytest.mark.parametrize("raised", [SystemExit, asyncio.CancelledError])
def test_what_a_function_about_the_arguments_raises_refuses_its_own_proposal_only(
    kernel: Kernel, role: str, raised: type[BaseException]
) -> None:
    def odd(n: int) -> Any:
        if n == 1:
            raise raised
        return {"n": 1} if role == "expect" else []

    action = _acts(kernel, lambda n: None, look=lambda n: {"n": 1}, **{role: odd})
    assert action(1).activity().failure_reason == "odd.act: describe_raised"
    assert len(action(2).question_ids()) == 1


def test_rule_4_questions_are_named_by_any_collection_of_their_ids(kernel: Kernel) -> None:
    action = _acts(kernel, lambda n: None, look=lambda n: {"n": 1})
    for given in (tuple, set, iter):
        assert len(kernel.confirm(given(action(5).question_ids()), by=PERSON)) == 1
