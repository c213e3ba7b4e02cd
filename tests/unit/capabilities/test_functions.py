# SPDX-License-Identifier: Apache-2.0
"""A function becomes an action once another function looks; calling it proposes, and nothing more."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from actum import Kernel
from actum.bootstrap.place import VERIFIER
from actum.capabilities.functions import FunctionExecutor, FunctionVerifier, Rejected
from actum.model.errors import RefusedError, UsageError
from actum.model.grading import LookOutcome
from actum.model.look import Level, Observation
from actum.testing.kernels import Ledger, append_action, confirm_all, open_kernel, perform


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
        (0, LookOutcome.DEFINITE, 0),
        (False, LookOutcome.DEFINITE, False),
    ],
)
def test_rule_4_a_verifier_that_returns_nothing_could_not_tell(
    seen: Any, outcome: LookOutcome, observed: Any
) -> None:
    asked = SimpleNamespace(arguments={}, before=None, result=None)
    verifier = FunctionVerifier(lambda: seen, capability="odd.act", version="2")
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
    with pytest.raises(ValueError, match="is not a valid"):
        kernel.action("odd.act", **settings)


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
