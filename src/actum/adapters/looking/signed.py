# SPDX-License-Identifier: Apache-2.0
"""Whoever runs a verifier, the look is made here: observe, project, judge whether it can tell, sign.

Rules
1. The verifier returns values; digests are made here, through the one projection function.
2. A verifier that raises, or returns what is no JSON or no observation as it is declared, has not seen anything: the
   look is unclear and says why.
3. What is signed is the wire form of the look, bound to the effect's digest and the expected digest.
4. Private detail is redacted before it leaves.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from actum.evidence.keys import Signer
from actum.evidence.looks import look_signing_bytes
from actum.kernel.looking import outcome_of
from actum.kernel.redaction import redact
from actum.model import foreign
from actum.model.action_v2 import Verifier as WireVerifier
from actum.model.action_v2 import WireLook
from actum.model.errors import a_kind
from actum.model.grading import LookOutcome
from actum.model.look import Channel, Independence, Level, Observation, SeenLook, projection_digest
from actum.model.strict_json import JsonRefused
from actum.ports.verifier import LookRequest, Phase, Verifier

UNKNOWN = "actum.no_verifier"
KINDS: dict[str, type] = {"outcome": LookOutcome, "detail": dict, "control_held": bool, "channel": Channel}


def make_look(
    request: LookRequest,
    *,
    verifiers: Mapping[str, Verifier],
    signer: Signer,
    now_ms: int,
    level: Level,
    missing: Mapping[str, str] | None = None,
) -> SeenLook:
    """Return the signed look of one request. It raises nothing for what a verifier or the world does.

    ``missing`` says by capability id why its verifier is not here, where that is known.
    """
    verifier = verifiers.get(request.capability)
    seen = _observe(verifier, request, level=level, why_missing=(missing or {}).get(request.capability))
    observed = None
    if verifier is not None and seen.value is not None:
        # Rule 1
        observed = projection_digest(seen.value, projection=verifier.projection, salt=request.salt)
    outcome = outcome_of(
        seen.outcome,
        observed=observed,
        before=request.before_digest,
        expected=request.expected,
        claims=request.descriptor.claims,
        absence_is_proof=request.absence_is_proof,
        window_over=request.window_over,
        control_held=seen.control_held,
    )
    named = WireVerifier(
        id=UNKNOWN if verifier is None else verifier.id, version="0" if verifier is None else verifier.version
    )
    at = _instant(now_ms)
    wire = WireLook(
        before=request.before_digest,
        observed=observed,
        outcome=outcome,
        verifier=named,
        at=at,
        keyid=signer.keyid,
    )
    # Rule 3: what stood before is no evidence of what happened after, so only later looks are worth a signature.
    sig = "" if request.phase is Phase.BEFORE else _signature(wire, request, signer=signer)
    detail, _ = redact(seen.detail)  # Rule 4
    apart = level is not Level.L0
    return SeenLook(
        before=wire.before,
        observed=observed,
        outcome=outcome,
        verifier_id=named.id or UNKNOWN,
        verifier_version=named.version or "0",
        at=at,
        keyid=signer.keyid,
        sig=sig,
        control_held=seen.control_held,
        detail=detail,
        independence=Independence(
            level=level, process=apart, uid=False, host=False, credential=False, channel=seen.channel
        ),
    )


def _signature(wire: WireLook, request: LookRequest, *, signer: Signer) -> str:
    message = look_signing_bytes(wire, effect_digest=request.effect_digest, expected=request.expected)
    return base64.b64encode(signer.sign(message)).decode()


def _observe(
    verifier: Verifier | None, request: LookRequest, *, level: Level, why_missing: str | None
) -> Observation:
    if verifier is None:
        return _unclear(why_missing or "this process has no verifier for the capability")
    try:
        seen = verifier.observe(request)
        why = _malformed(seen)
        if why is not None:
            return _unclear(f"the verifier returned {why}")
        value, detail = foreign.plain_copy([seen.value, seen.detail])
        return msgspec.structs.replace(seen, value=value, detail=detail)
    except JsonRefused as error:
        return _unclear(f"the verifier returned what is no JSON: {error.message}")
    except BaseException as error:
        # A verifier process takes no interrupt of its own, so one there is the verifier's doing like anything else.
        if level is Level.L0 and isinstance(error, KeyboardInterrupt):
            raise
        # Rule 2: whatever a verifier raises, a cancelled task too, it did not see.
        return _unclear(f"the verifier raised {type(error).__name__}")


def _malformed(seen: object) -> str | None:
    """Return what is wrong with the form of an observation: nothing checks it when it is made."""
    if not isinstance(seen, Observation):
        return f"{a_kind(seen)} and no observation"
    wrong = [name for name, kind in KINDS.items() if not isinstance(getattr(seen, name), kind)]
    return f"an observation whose {' and '.join(wrong)} cannot be read" if wrong else None


def _unclear(why: str) -> Observation:
    return Observation(
        value=None, outcome=LookOutcome.UNCLEAR, detail={"why": why}, channel=Channel.SAME_SINK
    )


def _instant(now_ms: int) -> str:
    moment = datetime.fromtimestamp(now_ms // 1000, tz=UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{now_ms % 1000:03d}Z"
