# SPDX-License-Identifier: Apache-2.0
"""A look is signed by a process that did not act; whatever breaks in it, nothing is reported as seen."""

from __future__ import annotations

import base64
import io
import os
import signal
import struct
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from actum import Kernel
from actum.adapters.looking.frames import FRAME_MAX, Answer, Ask, Asked, receive, send
from actum.adapters.looking.signed import make_look
from actum.adapters.looking.split import SplitLooker
from actum.adapters.machine.clock import SystemClock
from actum.adapters.signing.ed25519 import Ed25519Signer
from actum.evidence.keys import PublicKey
from actum.evidence.looks import look_signing_bytes
from actum.model.action_v2 import Verifier as WireVerifier
from actum.model.action_v2 import WireLook
from actum.model.errors import EnvironmentFault
from actum.model.grading import LookOutcome
from actum.model.look import Level, Observation, projection_digest
from actum.ports.verifier import LookRequest, Phase
from actum.testing.records import SALT, descriptor, digest

SIGNER = Ed25519Signer.from_seed(b"\x07" * 32)
NOW_MS = 1_800_000_000_123


class Seer:
    """A verifier that returns what it was given, or raises it."""

    id = "odd.seer"
    version = "3"
    projection = "odd@3"

    def __init__(self, seen: Any) -> None:
        self.seen = seen

    def observe(self, request: LookRequest) -> Observation:
        if isinstance(self.seen, BaseException):
            raise self.seen
        return self.seen


def request(**fields: Any) -> LookRequest:
    given: dict[str, Any] = {
        "capability": "odd.act", "effect_digest": digest("effect"), "salt": SALT, "descriptor": descriptor(),
        "arguments": {}, "phase": Phase.AFTER, "before": None, "before_digest": digest("before"), "result": None,
        "expected": projection_digest({"n": 1}, projection="odd@3", salt=SALT), "absence_is_proof": True,
        "window_over": True, **fields,
    }  # fmt: skip
    return LookRequest(**given)


def look(seen: Any, **fields: Any) -> Any:
    asked = request(**fields)
    return make_look(asked, verifiers={"odd.act": Seer(seen)}, signer=SIGNER, now_ms=NOW_MS, level=Level.L1)


def seen(value: object, **more: Any) -> Observation:
    return Observation(value=value, outcome=LookOutcome.DEFINITE, detail={"value": value}, **more)


def test_rule_1_the_digest_is_made_here_from_what_the_verifier_returned() -> None:
    found = look(seen({"n": 1}))
    assert found.observed == request().expected
    assert (found.outcome, found.verifier_id, found.verifier_version) == (
        LookOutcome.DEFINITE,
        "odd.seer",
        "3",
    )
    assert look(seen({"n": 2})).observed != found.observed


@pytest.mark.parametrize("raised", [ZeroDivisionError(), OSError("gone"), RecursionError()])
def test_rule_2_a_verifier_that_raises_has_seen_nothing(raised: Exception) -> None:
    found = look(raised)
    assert (found.outcome, found.observed) == (LookOutcome.UNCLEAR, None)
    assert type(raised).__name__ in str(found.detail["why"])


def test_rule_2_an_interrupt_is_the_verifiers_own_where_nobody_else_can_have_sent_it() -> None:
    try:
        why = look(KeyboardInterrupt()).detail["why"]
    except KeyboardInterrupt:
        why = "it was passed on"
    assert why == "the verifier raised KeyboardInterrupt"
    with pytest.raises(KeyboardInterrupt):
        make_look(
            request(),
            verifiers={"odd.act": Seer(KeyboardInterrupt())},
            signer=SIGNER,
            now_ms=NOW_MS,
            level=Level.L0,
        )


def test_rule_2_a_capability_without_a_verifier_here_is_unclear_and_says_so() -> None:
    found = make_look(request(), verifiers={}, signer=SIGNER, now_ms=NOW_MS, level=Level.L0)
    assert (found.outcome, found.verifier_id) == (LookOutcome.UNCLEAR, "actum.no_verifier")


def test_rule_3_what_is_signed_is_the_wire_form_bound_to_effect_and_expectation() -> None:
    found, asked = look(seen({"n": 1})), request()
    wire = WireLook(
        before=found.before, observed=found.observed, outcome=found.outcome,
        verifier=WireVerifier(id=found.verifier_id, version=found.verifier_version), at=found.at,
        keyid=found.keyid,
    )  # fmt: skip
    key, signature = PublicKey(SIGNER.public), base64.b64decode(found.sig)

    def holds(effect: str, expected: str | None) -> bool:
        return key.verifies(signature, look_signing_bytes(wire, effect_digest=effect, expected=expected))

    assert found.at == "2027-01-15T08:00:00.123Z"
    assert holds(asked.effect_digest, asked.expected)
    assert not holds(digest("other effect"), asked.expected)
    assert not holds(asked.effect_digest, digest("other"))


def test_rule_4_private_detail_is_redacted_before_it_leaves() -> None:
    secret = "ghp_" + "a1B2" * 9
    found = look(
        Observation(value={"n": 1}, outcome=LookOutcome.DEFINITE, detail={"header": f"token {secret}"})
    )
    assert secret not in str(found.detail)


@pytest.mark.parametrize(
    "level, process", [(Level.L0, False), (Level.L1, True)], ids=["this process", "another process"]
)
def test_a_look_says_how_far_from_the_actor_it_was_made(level: Level, process: bool) -> None:
    found = make_look(
        request(), verifiers={"odd.act": Seer(seen({"n": 1}))}, signer=SIGNER, now_ms=NOW_MS, level=level
    ).independence
    assert (found.level, found.process) == (level, process)
    assert (found.uid, found.host, found.credential) == (False, False, False)


def test_looks_come_back_in_the_order_asked_wherever_they_were_made() -> None:
    class Named:
        def __init__(self, name: str) -> None:
            self.name = name

        def look_many(self, requests: list[Any]) -> list[Any]:
            return [(self.name, one.capability) for one in requests]

        def look(self, one: Any) -> Any:
            return self.look_many([one])[0]

        def close(self) -> None: ...

    split: Any = SplitLooker(
        apart=Named("apart"),
        local=Named("local"),
        is_local=lambda name: name.startswith("l"),  # type: ignore[arg-type]
    )
    asked: list[Any] = [SimpleNamespace(capability=name) for name in ("l1", "a1", "l2", "a2", "a3")]
    assert split.look_many(asked) == [
        ("local", "l1"), ("apart", "a1"), ("local", "l2"), ("apart", "a2"), ("apart", "a3"),
    ]  # fmt: skip
    assert split.look(asked[1]) == ("apart", "a1")


@pytest.mark.parametrize(
    "sent", [b"\x00", struct.pack(">I", 9) + b"half", struct.pack(">I", FRAME_MAX + 1), b"\xff" * 4]
)
def test_half_a_frame_is_no_answer(sent: bytes) -> None:
    with pytest.raises(EnvironmentFault) as caught:
        receive(io.BytesIO(sent), Answer)
    assert caught.value.code == "verifier_frame"


def test_a_frame_is_read_as_it_was_sent_and_the_end_of_the_pipe_is_none() -> None:
    stream = io.BytesIO()
    looked = look(seen({"n": 2**70, "exact": Decimal("0.10000000000000000001")}))
    send(stream, Answer.of(looked, number=4, faults={"m:a": "ImportError"}))
    stream.seek(0)
    found = receive(stream, Answer)
    assert found is not None
    assert (found.number, found.faults, found.look()) == (4, {"m:a": "ImportError"}, looked)
    assert receive(stream, Answer) is None


def test_a_verifier_gets_the_very_values_that_the_executor_gets() -> None:
    given = {
        "n": 2**70,
        "low": -(2**63) - 1,
        "exact": Decimal("0.10000000000000000001"),
        "near": 1.5,
        "none": None,
    }
    asked = request(arguments=given, before={"n": 2**64}, result={"deep": [{"n": 2**65}]})
    stream = io.BytesIO()
    send(stream, Ask(number=1, requests=[Asked.of(asked)], modules={}))
    stream.seek(0)
    found = receive(stream, Ask)
    assert found is not None
    assert found.requests[0].request() == asked


# -- the process itself --------------------------------------------------------------------------------------

ACTIONS = """
import os
from pathlib import Path

from actum import Kernel

HERE = Path(__file__).parent
kernel = Kernel.open(HERE / ".actum")


@kernel.action("odd.act", reversibility="reversible", externality="local_only")
def act(entry: str) -> dict:
    (HERE / entry).write_text("x")
    return {"entry": entry}


@act.verifier(expect={"there": True})
def see(entry: str) -> dict:
    if entry.startswith("exit"):
        os._exit(3)
    return {"there": (HERE / entry).exists()}
"""


@pytest.fixture
def actions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module of a user's, importable here and in the verifier process."""
    (tmp_path / "odd_actions.py").write_text(ACTIONS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    import odd_actions  # type: ignore[import-not-found]

    yield odd_actions
    odd_actions.kernel.close()
    del sys.modules["odd_actions"]


def _performed(actions: Any, entry: str) -> Any:
    turn = actions.act(entry)
    actions.kernel.confirm(turn.question_ids())
    actions.kernel.run()
    return turn


def _child(kernel: Kernel) -> Any:
    looker: Any = kernel.line.looker
    return looker._apart._process


def test_rule_1_a_users_verifier_looks_in_a_process_of_its_own(actions: Any) -> None:
    receipt = _performed(actions, "a").receipt()
    assert (receipt.graded.finality.value, receipt.graded.confidence.value) == ("finalized", "verified")
    assert receipt.looks[0].independence.level is Level.L1
    assert _child(actions.kernel).pid != os.getpid()


def test_rule_2_a_verifier_process_that_was_killed_is_started_again(actions: Any) -> None:
    _performed(actions, "a")
    child = _child(actions.kernel)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert _performed(actions, "b").state == "completed"
    assert _child(actions.kernel).pid != child.pid


def test_rule_2_a_verifier_that_ends_its_process_is_named_where_its_effect_waits(actions: Any) -> None:
    turn = _performed(actions, "exit")
    assert (turn.state, turn.receipts()) == ("queued", [])
    label = turn.activity().label
    assert label.startswith("to be tried again: ")
    assert "ended with exit code 3 when it was asked to look for odd.act" in label
    assert _performed(actions, "b").state == "completed"


def test_rule_2_a_verifier_process_that_was_stopped_is_killed_when_its_time_is_over(actions: Any) -> None:
    _performed(actions, "a")
    child = _child(actions.kernel)
    looker: Any = actions.kernel.line.looker
    os.kill(child.pid, signal.SIGSTOP)
    looker._apart._patience_s = lambda _request: 0.05
    with pytest.raises(EnvironmentFault) as caught:
        looker.look_many([request(capability="odd.act", arguments={"entry": "a"})])
    assert caught.value.code == "verifier_gone"
    assert "did not answer in time" in caught.value.failed
    assert child.poll() == -signal.SIGKILL
    looker._apart._patience_s = lambda _request: 60.0
    assert _performed(actions, "b").state == "completed"


def test_rule_2_a_verifier_process_that_reads_nothing_keeps_nobody_waiting(actions: Any) -> None:
    _performed(actions, "a")
    child = _child(actions.kernel)
    looker: Any = actions.kernel.line.looker
    os.kill(child.pid, signal.SIGSTOP)
    looker._apart._patience_s = lambda _request: 0.05
    with pytest.raises(EnvironmentFault) as caught:
        looker.look_many([request(capability="odd.act", arguments={"entry": "x" * 200_000})])
    assert caught.value.code == "verifier_gone"


def test_rule_4_whatever_breaks_off_a_look_leaves_no_answer_for_the_next_one(
    actions: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _performed(actions, "a")
    child = _child(actions.kernel)

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr("actum.adapters.looking.child.receive", stop)
        with pytest.raises(KeyboardInterrupt):
            _performed(actions, "b")
    assert child.poll() is not None
    assert _performed(actions, "c").receipt().graded.confidence.value == "verified"


@pytest.mark.parametrize("changed", [{"number": -1}, {"bare": {"sig": ""}}], ids=["other ask", "unsigned"])
def test_rule_4_rule_5_an_answer_to_another_ask_or_without_a_signature_is_none(
    actions: Any, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any]
) -> None:
    _performed(actions, "a")
    number, sig = changed.get("number"), changed.get("bare", {}).get("sig")

    def other(stream: Any, kind: Any) -> Any:
        found: Any = receive(stream, kind)
        if number is not None:
            return msgspec.structs.replace(found, number=number)
        return msgspec.structs.replace(found, bare=msgspec.structs.replace(found.bare, sig=sig))

    monkeypatch.setattr("actum.adapters.looking.child.receive", other)
    looker: Any = actions.kernel.line.looker
    asked = request(capability="odd.act", arguments={"entry": "a"}, phase=Phase.AFTER)
    with pytest.raises(EnvironmentFault) as caught:
        looker._apart.look_many([asked])
    assert caught.value.code == "verifier_gone"


def test_rule_3_a_module_that_cannot_be_loaded_there_is_not_replaced_by_one_of_ours(
    actions: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "")
    receipt = _performed(actions, "a").receipt()
    assert receipt.graded.finality.value == "indeterminate"
    assert receipt.looks[0].verifier_id == "actum.no_verifier"
    looker: Any = actions.kernel.line.looker
    assert "odd_actions:act" in looker._apart.faults
    assert (tmp_path / "a").exists()


def test_a_clock_never_steps_back_within_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actum.adapters.machine.clock.time.monotonic_ns", lambda: 7)
    times = iter([5_000_000_000, 4_000_000_000, 6_000_000_000])
    monkeypatch.setattr("actum.adapters.machine.clock.time.time_ns", lambda: next(times))
    clock = SystemClock()
    assert [clock.now_ms() for _ in range(3)] == [5_000, 5_000, 6_000]
