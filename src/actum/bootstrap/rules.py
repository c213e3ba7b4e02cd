# SPDX-License-Identifier: Apache-2.0
"""The rulebook in force comes from the process files and the registered capabilities, and is kept by digest.

Rules
1. Opening with other files than before makes a new rulebook active from now on; the old one stays readable.
2. The built-in process lets an agent propose one registered action; it can decide nothing else.
3. A stored rulebook is rebuilt without YAML and without CEL.
4. A process file may name an action that only another program registers: the store keeps which were ever registered.
   A name that no program ever registered is a problem of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from actum.kernel.index import RulebookIndex
from actum.model import canonical
from actum.model.effect import EffectClass
from actum.model.errors import CorruptRecordError, Refused
from actum.model.plan import Call, FieldType, Lit, Op, Ref
from actum.model.process import (
    ActionDefinition,
    FieldDeclaration,
    Process,
    ResidualPolicy,
    Rule,
    Rulebook,
    Skill,
    Step,
    StepKind,
    Then,
    rulebook_from_record,
    rulebook_to_record,
)
from actum.ports.registry import CapabilityRegistry
from actum.ports.store import Store, Tx
from actum.process.activate import compile_rulebook, index_of
from actum.service.record import CAPABILITY, DIRECT
from actum.service.submit import AGENT_WORK

if TYPE_CHECKING:
    # The reader of process files is loaded only where one is read.
    from actum.process.actions import CapabilityFacts

_STAGE = "agent.stage"
_CAPABILITIES = "capabilities"
"""The fact of a store that keeps the class of each capability that was ever registered with it, as a JSON object."""


class _Registered(msgspec.Struct, frozen=True):
    """What is known of a capability that only another program registers."""

    id: str
    effect_class: EffectClass


class StoredRules:
    """The active rulebook of a store, and any that was."""

    def __init__(
        self,
        store: Store,
        registry: CapabilityRegistry,
        *,
        files: Callable[[], dict[str, str]],
        by: str,
        now_ms: Callable[[], int],
    ) -> None:
        self._store = store
        self._registry = registry
        self._files = files
        self._by = by
        self._now_ms = now_ms
        self._cache: dict[str, tuple[Rulebook, RulebookIndex]] = {}
        self._active: tuple[Rulebook, RulebookIndex] | None = None
        self._remembered = False
        self.findings: tuple[object, ...] = ()

    def forget(self) -> None:
        """Compile again at the next use: a capability was registered or a file changed."""
        self._active = None
        self._remembered = False

    def remember(self) -> None:
        """Keep in the store which capabilities this program registers, where that is not kept yet (rule 4)."""
        if self._remembered:
            return
        ours = {info.id: info.effect_class for info in self._registry.infos()}

        def work(tx: Tx) -> None:
            merged = {**_ever_registered(tx), **ours}
            tx.set_meta(_CAPABILITIES, msgspec.json.encode(merged, order="sorted").decode())

        if not ours.items() <= self._store.read(_ever_registered).items():
            self._store.write(work)
        self._remembered = True

    def active(self) -> tuple[Rulebook, RulebookIndex]:
        """Return the rulebook in force, activating it where it is a new one (rule 1)."""
        if self._active is None:
            self._active = self._activate(self.confirmed())
        return self._active

    def confirmed(self) -> tuple[str, ...]:
        """Return the pattern digests that people confirmed before."""
        found = self._store.read(lambda tx: tx.active_rulebook())
        return () if found is None else self._load(found[0], found[1])[0].confirmed

    def activate_confirmed(self, digests: tuple[str, ...]) -> None:
        """Make the rulebook with these patterns confirmed the active one."""
        self._active = self._activate(digests)

    def _activate(self, confirmed: tuple[str, ...]) -> tuple[Rulebook, RulebookIndex]:
        infos = {info.id: info for info in self._registry.infos()}
        # Rule 4
        self.remember()
        ever = self._store.read(_ever_registered)
        facts = {**{name: _Registered(name, known) for name, known in ever.items()}, **infos}
        compiled = compile_rulebook(self._files(), capabilities=facts, confirmed=confirmed)
        self.findings = compiled.findings
        processes = (*compiled.rulebook.processes, direct_process(facts.values()))
        rulebook = Rulebook(
            processes=tuple(sorted(processes, key=lambda process: process.name)),
            confirmed=compiled.rulebook.confirmed,
        )
        body = canonical.encode(rulebook_to_record(rulebook))
        digest = canonical.digest_bytes(body)

        def work(tx: Tx) -> None:
            found = tx.active_rulebook()
            if found is None or found[0] != digest:
                tx.put_rulebook(digest, body, by=self._by, now_ms=self._now_ms())

        self._store.write(work)
        entry = (rulebook, index_of(rulebook))
        self._cache[digest] = entry
        return entry

    def is_elsewhere(self, capability: str) -> bool:
        """Tell whether only another program registers a capability (rule 4)."""
        if not isinstance(self._registry.find(capability), Refused):
            return False
        return capability in self._store.glance(_ever_registered)

    def by_digest(self, digest: str) -> tuple[Rulebook, RulebookIndex]:
        """Return a rulebook that was active once (rule 3)."""
        known = self._cache.get(digest)
        if known is not None:
            return known
        body = self._store.read(lambda tx: tx.rulebook(digest))
        if body is None or canonical.digest_bytes(body) != digest:
            raise CorruptRecordError(
                "rulebook_missing",
                failed=f"the rulebook {digest} is not in the store as it was",
                state="Nothing was decided",
                next_step="Restore the store from a backup",
            )
        return self._load(digest, body)

    def _load(self, digest: str, body: bytes) -> tuple[Rulebook, RulebookIndex]:
        if digest not in self._cache:
            rulebook = rulebook_from_record(msgspec.json.decode(body))
            self._cache[digest] = (rulebook, index_of(rulebook))
        return self._cache[digest]


def _ever_registered(tx: Tx) -> dict[str, EffectClass]:
    return msgspec.json.decode(tx.meta(_CAPABILITIES) or "{}", type=dict[str, EffectClass])


def direct_process(infos: Iterable[CapabilityFacts]) -> Process:
    """Return the built-in process: one rule for each capability that is or was registered (rules 2 and 4)."""
    known = sorted(
        (info for info in infos if info.id != CAPABILITY),
        key=lambda info: info.id,
    )
    actions = tuple(
        ActionDefinition(
            id=info.id, capability=info.id, effect_class=info.effect_class, arguments_from="/arguments"
        )
        for info in known
    )
    rules = tuple(
        Rule(
            id=info.id,
            when=Call(op=Op.EQ, args=(Ref(field="capability"), Lit(type=FieldType.STRING, text=info.id))),
            then=Then(stage=(info.id,)),
        )
        for info in known
    )
    fields = (
        FieldDeclaration(name="arguments", type=FieldType.ANY, pointer="/arguments"),
        FieldDeclaration(
            name="capability",
            type=FieldType.STRING,
            pointer="/capability",
            values=tuple(info.id for info in known) or ("none",),
        ),
    )
    skill = Skill(id=_STAGE, actions=tuple(info.id for info in known), rules=rules)
    step = Step(
        process=DIRECT,
        id="stage",
        kind=StepKind.PLUMBING,
        skill=_STAGE,
        fields=("arguments", "capability"),
        residual=ResidualPolicy.FAIL,
    )
    return Process(
        name=DIRECT,
        work_types=(AGENT_WORK,),
        fields=fields,
        skills=(skill,),
        actions=actions,
        patterns=(),
        steps=(step,),
    )
