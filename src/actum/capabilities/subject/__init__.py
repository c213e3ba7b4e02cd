# SPDX-License-Identifier: Apache-2.0
"""subject.record writes what a turn decided, and is seen by reading the committed row on another connection.

Rules
1. A record changes nothing outside the store; it proves that the decision was recorded and nothing else.
2. The executor writes one row through the store it was given; the verifier has a connection of its own.
3. The mark verifier tells whether a row was ever dispatched: what was not marked was not attempted.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from actum.model import canonical
from actum.model.effect import Claims, EffectClass, Externality, PrivilegeLevel, Resource, Reversibility
from actum.model.errors import Refused
from actum.model.evidence import QualificationResult
from actum.model.grading import ExecutorSaid, LookOutcome
from actum.model.look import Channel, Observation
from actum.ports.capability import CapabilityInfo, DescribeContext, Described, Rehearsal
from actum.ports.clock import Clock, Ids
from actum.ports.executor import Dispatch, EffectView, Executor, ExecutorReport, Held
from actum.ports.store import EventRow, Store
from actum.ports.verifier import LookRequest, Verifier

RECORD = "subject.record"
MARK = "outbox.mark"
EVENT = "turn.recorded"
VERSION = "1"


class _Nothing:
    """There is nothing to hold: the row is written through the store's own transaction."""

    def close(self) -> None:
        return None


class RecordExecutor:
    """Writes the outcome row."""

    def __init__(self, store: Store, *, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids

    def hold(self, effect: EffectView) -> Held | Refused:
        """Nothing needs to be held."""
        return _Nothing()

    def execute(self, dispatch: Dispatch, held: Held) -> ExecutorReport:
        """Write one row that names the outcome."""
        turn_id = str(dispatch.effect.arguments["turn_id"])
        outcome = str(dispatch.effect.arguments["outcome"])
        now = self._clock.now_ms()
        body = msgspec.json.encode({"outcome": outcome, "execution": dispatch.execution_id}).decode()
        row = EventRow(
            event_id=self._ids.ulid(now), tenant=self._store.tenant, at_ms=now, kind=EVENT, turn_id=turn_id,
            body=body,
        )  # fmt: skip
        self._store.write(lambda tx: tx.add_event(row))
        return ExecutorReport(said=ExecutorSaid.OK, result={"event": row.event_id}, acknowledged=True)


class RecordVerifier:
    """Reads the outcome row back on its own connection."""

    id = "actum.subject_record"
    version = VERSION
    projection = "subject.record@1"

    def __init__(self, store: Store | None) -> None:
        self._store = store

    def observe(self, request: LookRequest) -> Observation:
        """Return the outcome that the store holds for the turn."""
        if self._store is None:
            return Observation(
                value=None, outcome=LookOutcome.UNCLEAR, detail={"why": "no store to look into"}
            )
        turn_id = str(request.arguments["turn_id"])
        rows = self._store.read(lambda tx: tx.events(kind=EVENT, turn_id=turn_id))
        outcomes = sorted({str(msgspec.json.decode(row.body)["outcome"]) for row in rows})
        value = {"turn": turn_id, "outcomes": outcomes}
        return Observation(
            value=value,
            outcome=LookOutcome.DEFINITE,
            detail={"rows": len(rows)},
            control_held=True,
            channel=Channel.OTHER,
        )


class MarkVerifier:
    """Tells from the committed row whether an effect was ever dispatched (rule 3)."""

    id = "actum.outbox_mark"
    version = VERSION
    projection = "outbox.mark@1"

    def __init__(self, store: Store | None) -> None:
        self._store = store

    def observe(self, request: LookRequest) -> Observation:
        """Return whether the row of the effect carries the dispatched mark."""
        if self._store is None:
            return Observation(
                value=None, outcome=LookOutcome.UNCLEAR, detail={"why": "no store to look into"}
            )
        row = self._store.read(lambda tx: tx.outbox_of_effect(request.effect_digest))
        dispatched = row is not None and row.dispatched_at_ms is not None
        return Observation(
            value={"dispatched": dispatched},
            outcome=LookOutcome.DEFINITE,
            detail={"row": None if row is None else row.outbox_id},
            control_held=row is not None,
            channel=Channel.OTHER,
        )


class SubjectRecord:
    """The capability that completes a turn which only decided."""

    info = CapabilityInfo(
        id=RECORD,
        version=VERSION,
        effect_class=EffectClass.INFORM,
        reversibility=Reversibility.NO_MUTATION,
        externality=Externality.LOCAL_ONLY,
        privilege_level=PrivilegeLevel.STANDARD,
        claims=Claims.CHANGE,
        absence_is_proof=True,
        consistency_window_ms=0,
        attempts_max=5,
        verifier_ref="actum.capabilities.subject:verifiers",
        data_classes=("record",),
        resources_are_all=True,
    )

    def __init__(self, store: Store, *, clock: Clock, ids: Ids) -> None:
        self.executor: Executor = RecordExecutor(store, clock=clock, ids=ids)
        self.verifier: Verifier = RecordVerifier(store)

    def describe(self, arguments: dict[str, object], *, context: DescribeContext) -> Described | Refused:
        """Resolve to the one turn whose outcome is recorded."""
        turn_id, outcome = str(arguments["turn_id"]), canonical.check_digest(arguments["outcome"])
        return Described(
            arguments={"turn_id": turn_id, "outcome": outcome},
            resources=(Resource(kind="turn", id=turn_id, digest=outcome),),
            destinations=(),
            recipients=(),
            object_count=1,
            blast_radius=1,
            projection=RecordVerifier.projection,
            expected_value={"turn": turn_id, "outcomes": [outcome]},
            lines=(f"record what turn {turn_id} decided",),
            context={},
        )

    def rehearse(self, effect: EffectView) -> Rehearsal:
        """A record is never flagged, so it is never rehearsed."""
        return Rehearsal(
            result=QualificationResult.NOT_POSSIBLE,
            reason="a record is not flagged",
            method="none",
            detail={},
        )


def verifiers(config: dict[str, Any]) -> dict[str, Verifier]:
    """Return the verifiers of this module; ``config["open_store"]`` is a store opened by the verifier process."""
    store = cast("Store | None", config.get("open_store"))
    return {RECORD: RecordVerifier(store), MARK: MarkVerifier(store)}
