# SPDX-License-Identifier: Apache-2.0
"""Envelopes are DSSE's, and one rule about keys and signatures holds on every machine."""

import base64
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from hypothesis import given
from hypothesis import strategies as st

from actum.adapters.signing import Ed25519Signer
from actum.evidence import dsse, keys
from actum.evidence.keys import PublicKey
from actum.model import canonical
from actum.model.errors import CorruptRecordError, UsageError
from tests.unit.evidence.vectors import vector_json

signer = Ed25519Signer.from_seed(b"\x01" * 32)
other = Ed25519Signer.from_seed(b"\x02" * 32)


def test_the_foreign_vector_has_our_pae_and_holds_over_it() -> None:
    case = vector_json("dsse", "dsse_vectors.json")
    message = dsse.pae(case["payloadType"], case["payload_utf8"].encode())
    assert message == case["pae"].encode()
    envelope = dsse.open_envelope(json.dumps(case["envelope"]).encode())
    assert envelope.payload == case["payload_utf8"].encode()
    sig = envelope.signatures[0].sig
    point = ec.EllipticCurvePublicNumbers(int(case["key"]["x"]), int(case["key"]["y"]), ec.SECP256R1())
    der = encode_dss_signature(int.from_bytes(sig[:32], "big"), int.from_bytes(sig[32:], "big"))
    point.public_key().verify(der, message, ec.ECDSA(hashes.SHA256()))


def test_pae_counts_bytes_and_not_characters() -> None:
    assert dsse.pae("tÿpe", "päyload".encode()) == "DSSEv1 5 tÿpe 8 päyload".encode()


@given(st.binary(max_size=200), st.text(max_size=20))
def test_a_sealed_envelope_is_canonical_and_opens_to_what_was_sealed(payload: bytes, kind: str) -> None:
    data = dsse.seal(payload, payload_type=kind, signer=signer)
    assert canonical.encode(json.loads(data)) == data
    envelope = dsse.open_envelope(data)
    assert (envelope.payload, envelope.payload_type) == (payload, kind)
    assert dsse.signer_of(envelope, [PublicKey(other.public), PublicKey(signer.public)]).keyid == signer.keyid  # type: ignore[union-attr]
    assert dsse.signer_of(envelope, [PublicKey(other.public)]) is None


def wire(**changes: object) -> bytes:
    whole: dict[str, Any] = json.loads(dsse.seal(b"{}", signer=signer))
    return json.dumps({**whole, **changes}).encode()


def sig_of(data: bytes) -> str:
    return json.loads(data)["signatures"][0]["sig"]


@pytest.mark.parametrize("keyid", ["", other.keyid, "no key at all", None])
def test_the_keyid_is_a_hint_and_never_decides(keyid: str | None) -> None:
    data = wire(signatures=[{"keyid": keyid, "sig": sig_of(wire())}])
    found = dsse.signer_of(dsse.open_envelope(data), [PublicKey(other.public), PublicKey(signer.public)])
    assert found is not None
    assert found.keyid == signer.keyid


def test_url_safe_and_unpadded_base64_are_read() -> None:
    payload = bytes(range(256))
    whole = json.loads(dsse.seal(payload, signer=signer))
    for member in (whole, whole["signatures"][0]):
        for name in {"payload", "sig"} & set(member):
            member[name] = member[name].translate(str.maketrans("+/", "-_")).rstrip("=")
    envelope = dsse.open_envelope(json.dumps(whole).encode())
    assert envelope.payload == payload
    assert dsse.signer_of(envelope, [PublicKey(signer.public)]) is not None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        b'{"payload":"","payloadType":"t"}',
        wire(signatures=[]),
        wire(signatures=None),
        wire(payload="*"),
        wire(payload=1),
        wire(payloadType=1),
        wire(signatures=[{"sig": "a"}]),
        wire(signatures=[{"sig": "ä"}]),
        wire().replace(b'"payloadType"', b'"payload": "", "payloadType"'),
        wire(payload="A" * dsse.MAX_ENVELOPE_BYTES),
    ],
)
def test_what_is_no_envelope_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(CorruptRecordError) as caught:
        dsse.open_envelope(data)
    assert caught.value.code == "envelope"


def test_another_type_over_the_same_bytes_is_another_message() -> None:
    envelope = dsse.open_envelope(wire(payloadType="application/other"))
    assert dsse.signer_of(envelope, [PublicKey(signer.public)]) is None


def test_the_small_order_points_are_the_ones_the_curve_has() -> None:
    # Points whose eighth multiple is the identity: y = 1, y = -1, y = 0, and d*y^4 + 2*y^2 - 1 = 0.
    p = keys.PRIME
    d = -121665 * pow(121666, -1, p) % p
    eighth = keys.SMALL_ORDER_Y - {0, 1, p - 1}
    assert len(eighth) == 2
    assert all((d * pow(y, 4, p) + 2 * y * y - 1) % p == 0 for y in eighth)


@pytest.mark.parametrize(
    "raw",
    [
        b"short",
        bytes(32),
        (1).to_bytes(32, "little"),
        keys.PRIME.to_bytes(32, "little"),
        (keys.PRIME + 1).to_bytes(32, "little"),
        b"\xff" * 32,
        *(y.to_bytes(32, "little") for y in sorted(keys.SMALL_ORDER_Y)),
        *((y | 1 << 255).to_bytes(32, "little") for y in sorted(keys.SMALL_ORDER_Y)),
    ],
)
def test_a_key_under_which_verifiers_could_disagree_is_not_pinned(raw: bytes) -> None:
    with pytest.raises(UsageError) as caught:
        PublicKey(raw)
    assert caught.value.code == "public_key_refused"


def test_every_wycheproof_signature_is_judged_as_its_authors_do() -> None:
    suite = vector_json("wycheproof-ed25519", "testvectors_v1", "ed25519_test.json")
    judged = 0
    for group in suite["testGroups"]:
        key = PublicKey(bytes.fromhex(group["publicKey"]["pk"]))
        for case in group["tests"]:
            held = key.verifies(bytes.fromhex(case["sig"]), bytes.fromhex(case["msg"]))
            assert held is (case["result"] == "valid"), case["tcId"]
            judged += 1
    assert judged == suite["numberOfTests"] == 151


def holds_by_our_rule(case: dict[str, Any]) -> bool:
    raw = bytes.fromhex(case["key"])
    if keys.public_key_fault(raw) is not None:
        return False
    return PublicKey(raw).verifies(bytes.fromhex(case["sig"]), case["msg"].encode())


def test_edge_signatures_hold_only_outside_small_order_and_odd_encodings() -> None:
    """The documented rule, on the CCTV collection: what we accept is what libsodium accepts, 43 of 914.

    The flags state the rule without naming an implementation: no point of small order, no odd encoding, and
    no residue that only a cofactored equation forgives.
    """
    cases = vector_json("cctv-ed25519", "ed25519", "ed25519vectors.json")
    refused = {"low_order_A", "low_order_R", "non_canonical_A", "non_canonical_R", "low_order_residue"}
    accepted = [case for case in cases if holds_by_our_rule(case)]
    assert [case["number"] for case in accepted] == [
        case["number"] for case in cases if not refused & set(case["flags"] or [])
    ]
    assert (len(cases), len(accepted)) == (914, 43)


def test_every_foreign_statement_keeps_its_bytes_through_an_envelope() -> None:
    for case in vector_json("in-toto-attestation", "statements.json"):
        payload = json.dumps(case["statement"]).encode()
        envelope = dsse.open_envelope(dsse.seal(payload, signer=signer))
        assert envelope.payload == payload
        assert base64.b64decode(json.loads(dsse.seal(payload, signer=signer))["payload"]) == payload
