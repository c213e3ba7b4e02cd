# SPDX-License-Identifier: Apache-2.0
"""A look is accepted for one effect, from one pinned key, by nobody who acted; else its refusal is named."""

import base64

import msgspec
import pytest

from actum.evidence.looks import LOOK_TYPE, accept_look, judge_looks, look_signing_bytes
from actum.evidence.trust_file import NO_TRUST
from actum.kernel.grading import verify_effect
from actum.model.action_v2 import Actor, Verifier, WireLook
from actum.model.grading import Claim, EffectConfidence, EffectFinality, GradePair, LookOutcome, ReasonCode
from actum.model.trust import KeyRole
from actum.testing.effect_lines import (
    ACTOR_KEYID,
    AFTER,
    BEFORE,
    EFFECT,
    OTHER,
    STRANGER,
    VERIFIER,
    WITNESS,
    effect,
    look,
    trusting,
)

ACTOR = Actor(id="agent:mailer", keyid=ACTOR_KEYID)
changed = msgspec.structs.replace
R = ReasonCode


def refusal(seen: WireLook, *, trust=None, actor=ACTOR, effect_digest=EFFECT, expected=AFTER):
    return accept_look(
        seen,
        effect_digest=effect_digest,
        expected=expected,
        actor=actor,
        trust=trusting() if trust is None else trust,
    )


def grade(record, *, trust=None) -> GradePair:
    claim = Claim(finality=record.finality, confidence=record.confidence, expected=record.expected)
    return verify_effect(claim, looks=judge_looks(record, trust=trust or trusting())).pair


TOP = GradePair(finality=EffectFinality.FINALIZED, confidence=EffectConfidence.VERIFIED)


def test_t11_t28_a_read_back_by_a_pinned_verifier_earns_verified() -> None:
    assert grade(effect(readback=look())) == TOP


def test_t11_t29_a_witness_alone_keeps_finalized() -> None:
    assert grade(effect(witnesses=(look(key=WITNESS),))) == TOP


def test_t35_the_read_back_is_the_field_that_earns_verified() -> None:
    assert grade(effect(readback=look())) == TOP
    assert grade(effect()).confidence is EffectConfidence.NOT_VERIFIED


@pytest.mark.parametrize("key", [VERIFIER, WITNESS])
def test_either_role_serves_in_either_place(key) -> None:
    assert grade(effect(readback=look(key=key))) == TOP
    assert grade(effect(witnesses=(look(key=key),))) == TOP


def test_refusal_1_t12_a_look_by_a_key_that_is_not_pinned_is_untrusted() -> None:
    assert refusal(look(key=STRANGER)) is R.LOOK_UNTRUSTED
    assert refusal(changed(look(), keyid=None)) is R.LOOK_UNTRUSTED
    assert refusal(look(), trust=NO_TRUST) is R.LOOK_UNTRUSTED


@pytest.mark.parametrize("role", [role for role in KeyRole if role.value not in ("verifier", "witness")])
def test_refusal_2_t12_a_key_pinned_for_another_role_may_not_look(role) -> None:
    assert refusal(look(), trust=trusting(VERIFIER.pinned(roles=(role,)))) is R.LOOK_ROLE


def test_refusal_3_t12_the_actors_own_key_is_no_independent_look() -> None:
    assert refusal(look(), actor=Actor(id="agent:mailer", keyid=VERIFIER.keyid)) is R.LOOK_SELF


def test_refusal_3_t12_another_key_of_the_actors_principal_is_no_independent_look() -> None:
    assert refusal(look(), trust=trusting(VERIFIER.pinned(principal="agent:mailer"))) is R.LOOK_SELF


def test_refusal_3_t12_the_principal_of_the_actors_pinned_key_counts_too() -> None:
    acting = STRANGER.pinned(roles=(KeyRole.ACTOR,), principal="ada")
    trust = trusting(VERIFIER.pinned(principal="ada"), acting)
    assert refusal(look(), trust=trust, actor=Actor(id="alias", keyid=STRANGER.keyid)) is R.LOOK_SELF
    assert refusal(look(), trust=trust, actor=Actor(id="alias", keyid=ACTOR_KEYID)) is None


@pytest.mark.parametrize("actor", [None, Actor(id="agent:mailer"), Actor()])
def test_refusal_3_t12_an_actor_that_is_not_named_leaves_nothing_independent(actor) -> None:
    assert refusal(look(), actor=actor) is R.LOOK_SELF


def test_refusal_3_t12_a_key_pinned_to_nobody_may_be_the_actors() -> None:
    assert refusal(look(), trust=trusting(VERIFIER.pinned(principal=None))) is R.LOOK_SELF


def test_t12_a_look_the_actor_made_does_not_keep_finalized() -> None:
    record = effect(readback=look(), actor=Actor(id="agent:mailer", keyid=VERIFIER.keyid))
    assert grade(record) == GradePair(finality=EffectFinality.INDETERMINATE)


@pytest.mark.parametrize(
    "members",
    [
        {"before": OTHER},
        {"observed": OTHER},
        {"outcome": LookOutcome.UNCLEAR},
        {"outcome": None},
        {"verifier": Verifier(id="files.reader", version="2")},
        {"verifier": None},
        {"at": "2026-05-04T12:00:01Z"},
        {"at": "2026-05-04T12:00:00.0Z"},
        {"at": None},
        {"keyid": WITNESS.keyid},
        {"sig": None},
        {"sig": ""},
        {"sig": "AA=="},
    ],
)
def test_refusal_4_t12_a_signature_covers_every_member_of_the_look(members) -> None:
    assert refusal(look()) is None
    assert refusal(changed(look(), **members)) is R.LOOK_SIGNATURE


def test_refusal_4_t12_a_look_at_another_effect_does_not_count_here() -> None:
    assert refusal(look(), effect_digest=OTHER) is R.LOOK_SIGNATURE


@pytest.mark.parametrize("expected", [None, OTHER])
def test_refusal_4_t12_a_look_for_another_expectation_does_not_count_here(expected) -> None:
    assert refusal(look(), expected=expected) is R.LOOK_SIGNATURE


def test_refusal_4_t12_only_the_canonical_base64_of_a_signature_is_one() -> None:
    sig = look().sig
    assert sig is not None
    assert sig.endswith("==")
    raw = base64.b64decode(sig)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    stray_bits = sig[:-3] + alphabet[alphabet.index(sig[-3]) + 1] + "=="
    assert base64.b64decode(stray_bits) == raw
    urlsafe = base64.urlsafe_b64encode(b"\xff" * 64).decode("ascii")
    for written in (stray_bits, sig[:-2], sig + "\n", " " + sig, urlsafe, sig + "é"):
        assert refusal(changed(look(), sig=written)) is R.LOOK_SIGNATURE


def test_refusal_5_t12_a_look_counts_from_the_first_instant_of_its_key_to_before_the_last() -> None:
    trust = trusting(VERIFIER.pinned(not_before="2026-05-04T12:00:00Z", not_after="2026-05-04T13:00:00Z"))
    given = {
        "2026-05-04T11:59:59.999Z": R.LOOK_KEY_EXPIRED,
        "2026-05-04T12:00:00Z": None,
        "2026-05-04T12:59:59.999Z": None,
        "2026-05-04T13:00:00Z": R.LOOK_KEY_EXPIRED,
        "2026-05-04T15:00:00+02:00": R.LOOK_KEY_EXPIRED,
    }
    assert {at: refusal(look(at=at), trust=trust) for at in given} == given


def test_refusal_5_t12_a_look_without_a_time_is_not_accepted() -> None:
    assert refusal(look(at=None)) is R.LOOK_KEY_EXPIRED


def test_refusal_6_t12_a_look_made_at_or_after_the_revocation_does_not_count() -> None:
    trust = trusting(VERIFIER.pinned(revoked_at="2026-05-04T12:00:00Z"))
    assert refusal(look(at="2026-05-04T12:00:00Z"), trust=trust) is R.LOOK_KEY_REVOKED
    assert refusal(look(at="2026-05-04T11:59:59.9Z"), trust=trust) is None


def test_the_first_refusal_that_applies_is_the_one_given() -> None:
    worst = changed(look(at="2030-01-01T00:00:00Z"), sig="bad")
    late = {"not_after": "2027-01-01T00:00:00Z", "revoked_at": "2026-01-01T00:00:00Z"}
    own = Actor(id="a", keyid=VERIFIER.keyid)
    actors_role = trusting(VERIFIER.pinned(roles=(KeyRole.ACTOR,), **late))
    looking = trusting(VERIFIER.pinned(**late))
    signed = look(at="2030-01-01T00:00:00Z")
    assert refusal(worst, trust=NO_TRUST, actor=own) is R.LOOK_UNTRUSTED
    assert refusal(worst, trust=actors_role, actor=own) is R.LOOK_ROLE
    assert refusal(worst, trust=looking, actor=own) is R.LOOK_SELF
    assert refusal(worst, trust=looking) is R.LOOK_SIGNATURE
    assert refusal(signed, trust=looking) is R.LOOK_KEY_EXPIRED
    assert refusal(look(at="2026-06-01T00:00:00Z"), trust=looking) is R.LOOK_KEY_REVOKED


def test_the_signed_bytes_are_flat_canonical_and_without_nulls() -> None:
    seen = WireLook(
        observed=AFTER, outcome=LookOutcome.DEFINITE, verifier=Verifier(id="r"), at="t", keyid="k"
    )
    body = (
        f'{{"at":"t","effect_digest":"{EFFECT}","keyid":"k","observed":"{AFTER}",'
        '"outcome":"definite","verifier":{"id":"r"}}'
    ).encode()
    header = f"DSSEv1 {len(LOOK_TYPE)} {LOOK_TYPE} {len(body)} ".encode()
    assert look_signing_bytes(seen, effect_digest=EFFECT, expected=None) == header + body


def test_a_verifier_object_without_members_stays_an_object_in_the_signed_bytes() -> None:
    empty = look_signing_bytes(WireLook(verifier=Verifier()), effect_digest=EFFECT, expected=BEFORE)
    assert b'"verifier":{}' in empty
    assert b"verifier" not in look_signing_bytes(WireLook(), effect_digest=EFFECT, expected=BEFORE)
