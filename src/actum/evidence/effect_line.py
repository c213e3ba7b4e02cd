# SPDX-License-Identifier: Apache-2.0
"""Every line is answered, in order: an effect with claimed and graded pair, a malformed one with its fault.

One malformed line does not keep the others from being answered. Memory does not grow with the number of
lines, except for the ids and policies that following an inherited deadline policy needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import msgspec

from actum.evidence import wire_schema as schema
from actum.evidence.looks import judge_looks
from actum.evidence.trust_file import KEYID, NO_TRUST, Trust
from actum.evidence.wire_schema import Fault
from actum.kernel.grading import verify_effect
from actum.kernel.resolution import check_resolution, policies_above
from actum.model.action_v2 import Effect, RecordVersion, WireLook
from actum.model.errors import InvariantViolation
from actum.model.grading import (
    Claim,
    DeadlinePolicy,
    EffectConfidence,
    EffectFinality,
    EffectStatus,
    Graded,
    GradePair,
    LookOutcome,
    ReasonCode,
    Resolution,
    Resolved,
)
from actum.model.rfc3339 import Instant, parse_instant
from actum.model.strict_json import JsonRefused, parse_foreign

_DIGEST = schema.formed(r"sha256:[0-9a-f]{64}", "sha256: and 64 lower-case hex digits")
_LOOK = schema.record(
    {
        "before": _DIGEST,
        "observed": _DIGEST,
        "outcome": schema.one_of(LookOutcome),
        "verifier": schema.record({"id": schema.text, "version": schema.text}),
        "at": schema.instant,
        "keyid": KEYID,
        "sig": schema.text,
    }
)
_EFFECT = schema.record(
    {
        "id": schema.formed(r".+", "a non-empty text"),
        "version": schema.one_of(RecordVersion),
        "effect_digest": _DIGEST,
        "finality": schema.one_of(EffectFinality),
        "confidence": schema.one_of(EffectConfidence),
        "actor": schema.record({"id": schema.text, "keyid": KEYID}),
        "input_hash": _DIGEST,
        "output_hash": _DIGEST,
        "expected": _DIGEST,
        "context_snapshot": _DIGEST,
        "readback": _LOOK,
        "witnesses": schema.each(_LOOK),
        "resolution": schema.record({"deadline": schema.text, "on_deadline": schema.one_of(DeadlinePolicy)}),
        "parent": schema.text,
    },
    required=("id", "version", "effect_digest", "finality"),
)
_encoder = msgspec.json.Encoder()


class ClaimedPair(msgspec.Struct, frozen=True, kw_only=True):
    """The claim as the line has it; an absent confidence stays null."""

    finality: EffectFinality
    confidence: EffectConfidence | None


class LineAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one well-formed line; `status` is null while the effect is open."""

    id: str
    claimed: ClaimedPair
    graded: GradePair
    status: EffectStatus | None
    resolution: Resolved | None
    reasons: tuple[ReasonCode, ...]


class LineError(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a malformed line; `line` counts physical lines from 1."""

    line: int
    error: Fault


class _Kin(msgspec.Struct, frozen=True, kw_only=True):
    parent: str | None
    on_deadline: DeadlinePolicy | None


def verify_lines(
    lines: Iterable[bytes],
    *,
    trust: Trust = NO_TRUST,
    at: Instant | None = None,
    again: Callable[[], Iterable[bytes]] | None = None,
) -> Iterator[LineAnswer | LineError]:
    """Yield one answer for each line that is not blank, in line order.

    `at` is the instant deadlines are judged at; without it no resolution is given. `again` reads the same
    lines from the start and is called at most once, when the first breach has a policy to inherit: a parent
    may stand after its child. Without `again` such lines are kept in memory while `at` is given.
    """
    if at is not None and again is None:
        lines = kept = list(lines)
        again = kept.__iter__
    family = _Family(again)
    for number, line in enumerate(lines, 1):
        # JSON's own white space, not Python's: a form feed is no blank line.
        if not line.strip(b" \t\r\n"):
            continue
        effect = read_line(line)
        if isinstance(effect, Fault):
            yield LineError(line=number, error=effect)
            continue
        yield answer_effect(effect, trust=trust, at=at, find=family.find)


def answer_effect(
    effect: Effect,
    *,
    trust: Trust = NO_TRUST,
    at: Instant | None = None,
    find: Callable[[str], Any] = lambda _id: None,
) -> LineAnswer:
    """Return the answer to one effect; `find` gives an ancestor's parent and policy by its id."""
    claim = Claim(
        finality=effect.finality,
        confidence=effect.confidence,
        expected=effect.expected,
        output_hash=effect.output_hash,
    )
    graded = verify_effect(claim, looks=judge_looks(effect, trust=trust))
    return LineAnswer(
        id=effect.id,
        claimed=ClaimedPair(finality=effect.finality, confidence=effect.confidence),
        graded=graded.pair,
        status=graded.status,
        resolution=None if at is None else _resolve(effect, graded, at=at, find=find),
        reasons=graded.reasons,
    )


def read_line(line: bytes) -> Effect | Fault:
    """Return the effect a line holds, or its first fault."""
    try:
        value = parse_foreign(line)
    except JsonRefused as refused:
        return Fault(refused.code, refused.path, refused.message)
    try:
        effect = msgspec.convert(value, Effect)
    except msgspec.ValidationError as error:
        return _first_fault(value, str(error))
    # Whether a text is a time that exists is more than a pattern can say.
    if all(_has_readable_time(look) for look in effect.looks()):
        return effect
    return _first_fault(value, "unreadable time")


def encode_answer(answer: LineAnswer | LineError) -> bytes:
    """Return the answer as one line of JSON, without the line feed, members in the documented order."""
    return _encoder.encode(answer)


def _resolve(effect: Effect, graded: Graded, *, at: Instant, find: Callable[[str], Any]) -> Resolved:
    wire = effect.resolution
    return check_resolution(
        None if wire is None else Resolution(deadline=wire.deadline, on_deadline=wire.on_deadline),
        graded=graded,
        now=at,
        ancestors=policies_above(effect.parent, find=find),
    )


def _has_readable_time(look: WireLook) -> bool:
    return look.at is None or parse_instant(look.at) is not None


def _first_fault(value: object, suspicion: str) -> Fault:
    for fault in _EFFECT(value, ""):
        return fault
    raise InvariantViolation("the quick and the explaining reader agree on a line", suspicion=suspicion)


class _Family:
    """The first line of each id, read only when a policy has to be inherited."""

    def __init__(self, again: Callable[[], Iterable[bytes]] | None) -> None:
        self._again = again
        self._kin: dict[str, _Kin | None] | None = None

    def find(self, id: str) -> _Kin | None:
        if self._kin is None:
            self._kin = {}
            for line in self._again() if self._again else ():
                self._add(self._kin, line)
        return self._kin.get(id)

    @staticmethod
    def _add(kin: dict[str, _Kin | None], line: bytes) -> None:
        effect = read_line(line)
        if isinstance(effect, Effect):
            policy = None if effect.resolution is None else effect.resolution.on_deadline
            kin.setdefault(effect.id, _Kin(parent=effect.parent, on_deadline=policy))
            return
        # A malformed line still is the first one of its id, and a malformed parent passes nothing on.
        try:
            value = parse_foreign(line)
        except JsonRefused:
            return
        if isinstance(value, dict):
            id = cast("dict[str, object]", value).get("id")
            if isinstance(id, str):
                kin.setdefault(id, None)
