# SPDX-License-Identifier: Apache-2.0
"""A day's work that can be begun again by any process: submit, answer as people would, run, until nothing is open.

Every act leaves a line in a ledger or a file in a folder, so that what happened can be counted afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from actum.bootstrap import Kernel
from actum.bootstrap.turn import Turn
from actum.capabilities.files import files_capabilities
from actum.model import foreign
from actum.model.activity import ActivityFilter
from actum.model.delivery import OutboxKind, OutboxRow, OutboxState
from actum.model.errors import ActumError, EnvironmentFault
from actum.model.message import ExecutionMode
from actum.model.model_call import ModelAnswer, ModelRequest
from actum.model.question import Question, QuestionReason
from actum.ports.effect_view import EffectView
from actum.ports.execution import Held
from actum.ports.store import Tx
from actum.service.answer import Person
from actum.service.roles import give_role
from actum.service.runner import renew
from actum.testing.clock import START_MS, SimulatedClock
from actum.testing.kernels import OTHER_PERSON, PERSON, Ledger, append_action, open_kernel

STEP_MS = 600_000
PROCESSES = {
    "notes": "process: notes\nwork_types: [note]\nfields: {owner: string}\n"
    "steps:\n  - {id: keep, kind: plumbing, fields: [owner]}\n",
    "asks": "process: asks\nwork_types: [ask]\nfields: {verdict: string}\n"
    "steps:\n  - {id: approve, kind: plumbing, residual: judge, fields: [verdict],"
    " choices: [{id: granted, then: {set: {verdict: granted}}}, {id: denied, then: {set: {verdict: denied}}}]}\n",
    "thinks": "process: thinks\nwork_types: [think]\nfields: {text: string, label: string}\n"
    "steps:\n  - {id: label, kind: reasoning, contract: {tier: fast, max_tokens: 100, output: [label]}}\n",
    "pays": "process: pays\nwork_types: [pay]\nfields: {first: string, second: string}\n"
    "actions:\n"
    "  one: {capability: ledger.append, auto_confirm: true, arguments: {entry: {field: first}}}\n"
    "  two: {capability: ledger.append, auto_confirm: true, arguments: {entry: {field: second}}}\n"
    "skills: {both: {actions: [one, two], then: {stage: [one, two]}}}\n"
    "steps:\n  - {id: pay, kind: plumbing, skill: both, fields: [first, second]}\n",
    "greets": "process: greets\nwork_types: [greet]\nfields: {kind: string, entry: string}\n"
    "actions:\n  greet: {capability: ledger.append, class: action, arguments: {entry: {field: entry}}}\n"
    "skills: {greeting: {actions: [greet]}}\n"
    "patterns:\n  - {id: hello, step: answer, when: {kind: hello}, then: {stage: [greet]}}\n"
    "steps:\n  - {id: answer, kind: plumbing, skill: greeting}\n",
}
ONCE = ("plain-1", "plain-2", "pair-1", "pair-2", "lost-reply", "late", "greeting")
"""What must stand in the ledger exactly once in the end: its absence is proof, so it may be tried again."""
AT_MOST_ONCE = ("doubt", "blind")
"""What may stand in the ledger once or not at all: nobody may try it again."""
NEVER = ("declined", "lie")


class Labeller:
    """A model that always gives the same label."""

    def complete(self, request: ModelRequest, *, deadline_s: float) -> ModelAnswer:
        """Return one answer of the packet's schema."""
        text = json.dumps({"fields": {"label": "plain"}, "actions": [], "note": ""})
        return ModelAnswer(
            text=text, input_tokens=3, output_tokens=3, finish_reason="stop", model_id="m", provider="p",
            runtime="test", execution_kind=ExecutionMode.LOCAL_MODEL, immutable=True,
        )  # fmt: skip


class OutOfReach:
    """An executor whose world cannot be reached at the first try."""

    def __init__(self, inner: Any, *, mark: Path) -> None:
        self._inner = inner
        self._mark = mark

    def hold(self, effect: EffectView) -> Held:
        """Raise once, as a server does that is down."""
        if not self._mark.exists():
            self._mark.touch()
            raise EnvironmentFault("down", failed="it is down", state="Nothing was done", next_step="Wait")
        return self._inner.hold(effect)

    def execute(self, dispatch: Any, held: Any) -> Any:
        """Act as the inner executor."""
        return self._inner.execute(dispatch, held)


class Day:
    """One process's share of the day in a folder; ``number`` is how many processes came before it."""

    def __init__(self, folder: Path, *, number: int, at_point: Callable[[str], None] | None = None) -> None:
        self.folder = folder
        self.ledger = Ledger(folder / "ledger.txt")
        self.files = folder / "files"
        self.clock = SimulatedClock(START_MS + number * STEP_MS * 10)
        self._prepare()
        self.kernel = open_kernel(folder / "place", clock=self.clock)
        self.kernel.line.models = Labeller()
        self._register()
        self.kernel.line.at_point = at_point

    def _prepare(self) -> None:
        processes = self.folder / "place" / ".actum" / "processes"
        if not processes.exists():
            (self.folder / "place").mkdir(parents=True)
            Kernel.open(self.folder / "place" / ".actum").close()
            for name, text in PROCESSES.items():
                (processes / f"{name}.yaml").write_text(text)
            self.files.mkdir()
            for name in ("to-move", "to-trash"):
                (self.files / name).write_text(name)

    def _register(self) -> None:
        kernel, ledger = self.kernel, self.ledger
        append_action(kernel, ledger)

        def lost(entry: str) -> None:
            ledger.append(entry)
            raise ConnectionError("the reply was lost")

        append_action(kernel, ledger, capability="ledger.lost", acting=lost)
        append_action(kernel, ledger, capability="ledger.doubt", absence_is_proof=False, attempts_max=1)
        append_action(
            kernel, ledger, capability="ledger.lie", acting=lambda entry: {"done": 1}, attempts_max=1
        )
        append_action(kernel, ledger, capability="ledger.blind", observable=False, absence_is_proof=False)
        # One attempt for the outage and one for each kill that a day may have; the fourth is the one that acts.
        append_action(kernel, ledger, capability="ledger.late", attempts_max=4)
        late: Any = kernel.line.registry.find("ledger.late")
        late.executor = OutOfReach(late.executor, mark=self.folder / "was-down")
        for name in ("write", "move", "trash"):
            self._reach_files(f"files.{name}")

    def _reach_files(self, capability: str) -> None:
        made = files_capabilities(roots=[self.files], keep=self.kernel.place.keep.resolve())
        found: Any = self.kernel.line.registry.find(capability)
        inner: Any = next(one for one in made if one.info.id == capability)
        found.executor, found.verifier = inner.executor, inner.verifier
        found.describe, found.rehearse = inner.describe, inner.rehearse

    # -- the day ---------------------------------------------------------------------------------------------

    def work(self) -> None:
        """Do everything that is left to do, from wherever an earlier process stopped."""
        if self.kernel._opened.moved:  # pyright: ignore[reportPrivateUsage]
            self.kernel.adopt(by=PERSON)
        self._submit()
        for _ in range(12):
            self._answer_all()
            self.kernel.run()
            self.kernel.run()  # Before anybody answers, what nobody saw is looked at once more.
            self._renew()
            self.clock.step(STEP_MS)
            if not self._open():
                break
        self._acknowledge()

    def _renew(self) -> None:
        """Lengthen the lease as the heartbeat does, which real time is too short for here."""
        runner = self.kernel.line.store.read(lambda tx: tx.runner())
        assert runner is not None
        renew(self.kernel.line, epoch=runner.epoch)

    def _submit(self) -> None:
        submit = self.kernel.submit
        for pattern in self.kernel.patterns():
            if not pattern.confirmed:
                self.kernel.confirm_pattern(pattern.digest, by=PERSON)
        submit("greet", {"kind": "hello", "entry": "greeting"}, key="greet")
        submit("note", {"owner": "ann"}, key="note")
        submit("ask", {"text": "may I?"}, key="ask")
        submit("think", {"text": "what is it?"}, key="think")
        submit("pay", {"first": "pair-1", "second": "pair-2"}, key="pay")
        for capability, entry in (
            ("ledger.append", "plain-1"), ("ledger.append", "plain-2"), ("ledger.lost", "lost-reply"),
            ("ledger.doubt", "doubt"), ("ledger.lie", "lie"), ("ledger.blind", "blind"),
            ("ledger.late", "late"), ("ledger.append", "declined"),
        ):  # fmt: skip
            turn = submit(
                "agent.action", {"capability": capability, "arguments": {"entry": entry}}, key=f"do {entry}"
            )
        self.kernel.say(turn.turn_id, "I will see to it")
        give_role(self.kernel.line, OTHER_PERSON, role="submitter", by=Person(name=PERSON))
        place = str(self.files)
        propose = self.kernel.propose
        propose("files.write", {"path": f"{place}/new", "content": "new"}, idempotency_key="w")
        propose("files.move", {"source": f"{place}/to-move", "target": f"{place}/moved"}, idempotency_key="m")
        propose("files.trash", {"path": f"{place}/to-trash"}, idempotency_key="t")
        self._rig()

    def _rig(self) -> None:
        """Put a model call where the process allows none, as only an edited store could have it."""
        line = self.kernel.line
        turn = self.kernel.submit("ask", {"text": "rigged"}, key="rigged")

        def work(tx: Tx) -> None:
            calls = [row for row in _rows(tx, self.kernel) if row.kind is OutboxKind.MODEL_CALL]
            if calls and not tx.outbox_of_turn(turn.turn_id):
                rigged = msgspec.structs.replace(
                    calls[0], outbox_id=line.new_id(), turn_id=turn.turn_id, step_id="approve",
                    state=OutboxState.READY, epoch=0, attempts=0, holder=None, lease_until_ms=None,
                )  # fmt: skip
                tx.add_outbox(rigged)

        line.store.write(work)

    def _answer_all(self) -> None:
        for question in self.kernel.inbox():
            try:
                self._answer(question)
            except ActumError as error:
                if error.code != "question_resolved":
                    raise

    def _answer(self, question: Question) -> None:
        kernel = self.kernel
        match question.reason:
            case QuestionReason.CONFIRM:
                if entry_of(kernel, question.subject_ref) == "declined":
                    kernel.refuse(question.question_id, by=PERSON, reason="no")
                else:
                    kernel.confirm(question.question_id, by=PERSON, accept_unqualified=True)
            case QuestionReason.JUDGMENT:
                kernel.judge(question.question_id, "granted", by=PERSON)
            case QuestionReason.CHECK_REQUIRED | QuestionReason.DEAD_LETTER:
                self._settle(question.subject_ref)
            case _:
                raise AssertionError(question.reason)

    def _settle(self, outbox_id: str) -> None:
        """Say what is true, as a person does who looked for themselves; first the machine looks again."""
        self.kernel.settle(outbox_id)
        row = self.kernel.line.store.read(lambda tx: tx.outbox(outbox_id))
        assert row is not None
        if row.state not in (OutboxState.CHECK_REQUIRED, OutboxState.DEAD):
            return
        entry = entry_of(self.kernel, row.effect_digest or "")
        there = entry is not None and self.ledger.count(entry) > 0
        self.kernel.settle(outbox_id, "happened" if there else "did_not", by=PERSON)

    def _open(self) -> bool:
        counts = self.kernel.line.store.read(lambda tx: tx.outbox_counts())
        settled = counts.get("settled", 0)
        return sum(counts.values()) != settled or bool(self.kernel.inbox())

    def _acknowledge(self) -> None:
        for activity in self.kernel.activity("needs_attention"):
            if activity.state.value == "failed":
                self.kernel.acknowledge(activity.turn_id, by=PERSON)

    def close(self) -> None:
        """Give the lease and the store back."""
        self.kernel.close()


def entry_of(kernel: Kernel, effect_digest: str) -> str | None:
    """Return the ledger entry an effect is about, or None for a file."""
    found = kernel.line.store.read(lambda tx: tx.effect(effect_digest))
    arguments = {} if found is None else foreign.to_plain(foreign.decode_foreign(found.arguments))
    entry = arguments.get("entry")
    return entry if isinstance(entry, str) else None


def turns_of(kernel: Kernel) -> list[Turn]:
    """Return every turn of a store."""
    return [Turn(kernel.line, activity.turn_id) for activity in kernel.activity("all", limit=10_000)]


def _rows(tx: Tx, kernel: Kernel) -> Iterable[OutboxRow]:
    for activity in tx.activities(ActivityFilter.ALL, limit=10_000):
        yield from tx.outbox_of_turn(activity.turn_id)
