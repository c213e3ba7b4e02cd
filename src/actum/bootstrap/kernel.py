# SPDX-License-Identifier: Apache-2.0
"""Kernel is the library's front door: submit work, let people answer, run what they allowed, read what is known.

    kernel = Kernel.open(".actum")

    @kernel.action("payments.refund", reversibility="irreversible", externality="external_mutation")
    def refund(order: str, cents: int) -> dict: ...

    @refund.verifier(expect=lambda order, cents: {"refunded": cents})
    def look(order: str, cents: int) -> dict | None: ...

    turn = refund("A-1", 500)          # proposes; nothing runs
    kernel.confirm(turn.question_ids(), by="ann")
    kernel.run()
    turn.receipt().graded

Nothing here decides anything; each method is one use case of `actum.service`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

from actum.bootstrap import given, registering
from actum.bootstrap.action import Action
from actum.bootstrap.answering import Answering
from actum.bootstrap.opening import Opened
from actum.bootstrap.place import Place, find_place
from actum.bootstrap.running import HeldLease
from actum.bootstrap.turn import Turn
from actum.capabilities.functions import FunctionAction, info_of
from actum.model.activity import Activity, ActivityFilter
from actum.model.effect import Claims, EffectClass, Externality, PrivilegeLevel, Reversibility
from actum.model.errors import UsageError
from actum.model.message import Message, Provenance, Role
from actum.model.work import Submission
from actum.ports.capability import Capability
from actum.service import adopt as adopting
from actum.service import export as exporting
from actum.service import runner, show
from actum.service import say as saying
from actum.service.answer import Person
from actum.service.submit import AGENT_WORK, Accepted, submit_many

CHECKPOINT_MS = 1_000


class Kernel(Answering):
    """An open store with everything that acts on it. Safe to use from several threads."""

    def __init__(self, opened: Opened) -> None:
        super().__init__(opened)
        self._runner = HeldLease(opened)
        self._closed = False
        self._checkpointed_ms: int | None = None

    @classmethod
    def open(
        cls,
        path: str | Path | None = None,
        *,
        create: bool = True,
        principal: str | None = None,
        tenant: str = "local",
    ) -> Kernel:
        """Open the store at a folder, making it where it is not there yet.

        ``path`` is the store's folder; without one it is looked for upwards as ``.actum``. ``principal`` is who
        this process acts for, by default the user it runs as.
        """
        if registering.ONLY:
            return _Registrar()
        place = find_place(None) if path is None else Place(given.path(path, name="path"))
        if not place.exists():
            if not create:
                raise UsageError(
                    "no_store",
                    failed=f"there is no store at {place.folder}",
                    state="Nothing was made",
                    next_step=f"Run `actum init --store {place.folder}`",
                )
            place.create()
        return cls(Opened(place, principal=principal, tenant=tenant))

    @property
    def moved(self) -> bool:
        """Whether the store lies elsewhere than it did and was not adopted yet."""
        return self._opened.moved

    # -- actions ---------------------------------------------------------------------------------------------

    def register(self, capability: Capability) -> None:
        """Register a capability; one without a verifier is refused."""
        self._opened.registry.register(capability)
        self._opened.rules.forget()

    def action(
        self,
        capability: str,
        *,
        reversibility: Reversibility | str,
        externality: Externality | str,
        effect_class: EffectClass | str = EffectClass.ACTION,
        privilege_level: PrivilegeLevel | str = PrivilegeLevel.STANDARD,
        claims: Claims | str = Claims.CHANGE,
        absence_is_proof: bool = False,
        consistency_window_ms: int = 0,
        attempts_max: int = 1,
        executable_code: bool = False,
        observable: bool = True,
        version: str = "1",
        recipients: Callable[..., list[str]] | None = None,
        destinations: Sequence[str] = (),
        rehearse: Callable[..., Any] | None = None,
        disjoint: Callable[..., list[str]] | None = None,
    ) -> Callable[[Callable[..., Any]], Action]:
        """Make a function the executor of an action; it can be proposed once it has a verifier.

        ``disjoint`` returns for the arguments the names of everything the action touches and its verifier reads;
        effects without a name in common share their commits. Without it each effect is alone between its looks.
        """
        counts = {"consistency_window_ms": consistency_window_ms, "attempts_max": attempts_max}
        for name, value in counts.items():
            given.number(value, name=name)
        info = info_of(
            given.text(capability, name="capability"),
            reversibility=given.one_of(Reversibility, reversibility),
            externality=given.one_of(Externality, externality),
            effect_class=given.one_of(EffectClass, effect_class),
            privilege_level=given.one_of(PrivilegeLevel, privilege_level),
            claims=given.one_of(Claims, claims),
            absence_is_proof=given.flag(absence_is_proof, name="absence_is_proof"),
            consistency_window_ms=consistency_window_ms,
            attempts_max=attempts_max,
            executable_code=given.flag(executable_code, name="executable_code"),
            observable=given.flag(observable, name="observable"),
            version=given.text(version, name="version"),
            resources_are_all=disjoint is not None,
            destinations=given.texts(destinations, name="destinations"),
        )

        def decorate(function: Callable[..., Any]) -> Action:
            return Action(
                FunctionAction(
                    function,
                    info=info,
                    register=lambda made: self.register(cast("Capability", made)),
                    propose=self.propose,
                    recipients=recipients,
                    rehearse=rehearse,
                    disjoint=disjoint,
                )
            )

        return decorate

    # -- work ------------------------------------------------------------------------------------------------

    def submit(
        self,
        work_type: str,
        subject: Mapping[str, object],
        *,
        key: str | None = None,
        on_behalf_of: str | None = None,
        attachments: Mapping[str, str] | None = None,
        principal: str | None = None,
    ) -> Turn:
        """Store one piece of work and walk it as far as it goes; return its turn.

        The same key by the same principal is the same work: its turn is returned and nothing is done twice.
        """
        submission = Submission(
            work_type=given.text(work_type, name="work_type"),
            subject=given.members(subject, name="subject"),
            key=None if key is None else given.text(key, name="key"),
            on_behalf_of=None if on_behalf_of is None else given.text(on_behalf_of, name="on_behalf_of"),
            attachments=None if attachments is None else given.named_texts(attachments, name="attachments"),
        )
        accepted = self.submit_many([submission], principal=principal)[0]
        return Turn(self.line, accepted.turn_id)

    def submit_many(
        self, submissions: Sequence[Submission], *, principal: str | None = None
    ) -> list[Accepted]:
        """Store submissions in one commit and walk each; the answers are in the order given."""
        return submit_many(self.line, [given.submission(one) for one in submissions], principal=principal)

    def propose(
        self,
        capability: str,
        arguments: Mapping[str, object],
        *,
        idempotency_key: str | None = None,
        principal: str | None = None,
        on_behalf_of: str | None = None,
    ) -> Turn:
        """Propose one registered action directly; it waits for a person like any other."""
        subject: dict[str, object] = {
            "capability": given.text(capability, name="capability"),
            "arguments": given.members(arguments, name="arguments"),
        }
        if idempotency_key is not None:
            subject["idempotency_key"] = idempotency_key
        return self.submit(AGENT_WORK, subject, principal=principal, on_behalf_of=on_behalf_of)

    def run(self, *, look: bool = True) -> runner.Ran:
        """Take the runner's lease, reconcile once, and work until nothing is due.

        EnvironmentFault ``runner_elsewhere`` where another process dispatches, ``store_moved`` where the store
        was copied or restored and not adopted yet; UsageError ``within_a_run`` from inside an action.
        """
        with self._runner.alone("kernel.run()"):
            reconciled = self._runner.ensure()
            self._opened.rules.remember()
            ran = runner.run_until_idle(self.line, reconciled=reconciled, look=look)
            self._checkpoint_now_and_then()
            return ran

    # -- reading ---------------------------------------------------------------------------------------------

    def say(
        self,
        turn_id: str,
        text: str,
        *,
        role: Role | str = Role.ASSISTANT,
        provenance: Provenance | None = None,
        receipt: str | None = None,
        asserts: Iterable[str] = (),
        model_id: str | None = None,
    ) -> Message:
        """Store a message; ``asserts`` names capabilities or outbox ids the text says were done."""
        return saying.say(
            self.line, turn_id, text, role=Role(role), provenance=provenance, receipt=receipt,
            asserts=tuple(asserts), model_id=model_id,
        )  # fmt: skip

    def turn(self, turn_id: str) -> Turn:
        """Return a handle on a turn."""
        return Turn(self.line, turn_id)

    def activity(
        self, view: ActivityFilter | str = ActivityFilter.ALL, *, limit: int = 200
    ) -> list[Activity]:
        """Return the turns of one view, newest first."""
        shown, most = given.one_of(ActivityFilter, view), given.number(limit, name="limit")
        return self.line.store.read(lambda tx: tx.activities(shown, limit=most))

    def rungs(self) -> dict[str, dict[str, int]]:
        """Return decisions and tokens for each rung, counted from the rows."""
        return show.rungs(self.line)

    def show(self, record_id: str) -> dict[str, Any]:
        """Return any record by its id or digest, with what belongs to it."""
        return show.show(self.line, record_id)

    def export(self, stream: BinaryIO) -> dict[str, Any]:
        """Write the whole log as a signed bundle of digests; return its header."""
        return exporting.export(self.line, stream, keys=self.place.public_keys())

    def write_checkpoint(self) -> None:
        """Write the signed checkpoint of the log beside the store, where it differs from the last one."""
        exporting.write_checkpoint(self.line, self.place.checkpoint)

    def _checkpoint_now_and_then(self) -> None:
        # A checkpoint for every effect would cost as much as a commit; the last one is written at close.
        now = self.line.clock.monotonic_ms()
        if self._checkpointed_ms is None or now - self._checkpointed_ms >= CHECKPOINT_MS:
            self._checkpointed_ms = now
            self.write_checkpoint()

    def check_log(self) -> list[str]:
        """Return what is wrong between the log and the last checkpoint beside it."""
        return exporting.check_log(self.line, self.place.checkpoint)

    def adopt(self, *, by: str | Person | None = None) -> dict[str, int]:
        """Start a new incarnation: open rows need checking, unused grants are void."""
        from actum.adapters.machine import host

        counts, incarnation = adopting.adopt(
            self.line, person=self._who(by, None), place=host.place_of(self.place.database)
        )
        self.line.incarnation = incarnation
        self._runner.adopted()
        self._opened.moved = False
        if self._opened.cut_short is not None:
            exporting.set_aside(self.place.checkpoint)
            self._opened.cut_short = None
        return counts

    def close(self) -> None:
        """Give the lease and the store back, after a run that is at work. Closing twice is harmless."""
        with self._runner.alone("kernel.close()"):
            if self._closed:
                return
            self._closed = True
            try:
                if self._checkpointed_ms is not None:
                    self.write_checkpoint()
                self._runner.close()
            finally:
                self._opened.close()

    def __enter__(self) -> Kernel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Registrar(Kernel):
    """What ``Kernel.open`` returns in the verifier process: actions can be declared, nothing can be done."""

    def __init__(self) -> None:
        pass

    def register(self, capability: Capability) -> None:
        """Nothing is registered here; the verifier process asks the action itself."""

    def __getattribute__(self, name: str) -> Any:
        if name in ("action", "register", "propose", "__class__"):
            return super().__getattribute__(name)
        raise RuntimeError(
            "the verifier process loads this file to find its verifiers, and kernel."
            f'{name} does nothing there: guard your script with if __name__ == "__main__":'
        )
