# SPDX-License-Identifier: Apache-2.0
"""How many receipts a core seals and verifies offline, beside the bare work by hand in the same run.

The product path is the public one with its defaults: `receipt_statement`, `dsse.seal`, log entry and tree for
sealing; `verify_bundle` with a trust file, six answers and the grades computed again for verifying. The floor
does what no verifier can leave out: parse, canonicalise, hash, and the same number of Ed25519 operations over
the same bytes, with nothing around them. Floor and product take turns, CPU time of one thread, median.

Prints, as its last line, one JSON object (`docs/reference` has the fields' meaning).
"""

from __future__ import annotations

import argparse
import base64
import gc
import hashlib
import importlib.metadata
import io
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from actum.adapters.signing import Ed25519Signer
from actum.evidence import bundle, dsse, log
from actum.evidence.looks import look_signing_bytes
from actum.evidence.published import RECEIPT, PublishedReceipt
from actum.evidence.statements import receipt_statement
from actum.evidence.trust_file import Trust, trust_of
from actum.evidence.verdict import Aspect
from actum.evidence.verify import verify_bundle
from actum.model.action_v2 import Verifier, WireLook
from actum.model.grading import LookOutcome
from actum.model.rfc3339 import format_ms
from actum.model.trust import KeyRole, TrustedKey, TrustFile

ORIGIN = "actum.bench/receipts"
START_MS = 1_800_000_000_000
KERNEL, LOOKER = Ed25519Signer.from_seed(b"\x01" * 32), Ed25519Signer.from_seed(b"\x02" * 32)


def digest_of(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def trust() -> Trust:
    def key(signer: Ed25519Signer, principal: str, *roles: KeyRole) -> TrustedKey:
        public = base64.b64encode(signer.public).decode()
        return TrustedKey(keyid=signer.keyid, public=public, roles=roles, principal=principal)

    kernel = key(KERNEL, "kernel", KeyRole.KERNEL)
    return trust_of(TrustFile(keys=(kernel, key(LOOKER, "looker", KeyRole.VERIFIER))))


def look(number: int) -> tuple[dict[str, Any], bytes, bytes]:
    """A look in its wire form, the bytes that were signed, and the signature."""
    wire = WireLook(
        before=digest_of(f"before {number}"),
        observed=digest_of(f"after {number}"),
        outcome=LookOutcome.DEFINITE,
        verifier=Verifier(id="files.digest", version="1"),
        at=format_ms(START_MS + number),
        keyid=LOOKER.keyid,
    )
    message = look_signing_bytes(
        wire, effect_digest=digest_of(f"effect {number}"), expected=digest_of(f"after {number}")
    )
    sig = LOOKER.sign(message)
    shown = {**msgspec.to_builtins(wire), "sig": base64.b64encode(sig).decode()}
    return shown, message, sig


def receipt(number: int, *, seen: dict[str, Any] | None) -> PublishedReceipt:
    """A published receipt as the kernel seals it, with one look or none."""
    finality, confidence, status = "finalized", "verified", "success"
    reasons: list[str] = []
    if seen is None:
        finality, confidence, status, reasons = (
            "indeterminate", "not_verified", "unknown_outcome", ["capped_no_look"],
        )  # fmt: skip
    return msgspec.convert(
        {
            "identity": {
                "receipt_id": f"01JRCP{number:020d}",
                "execution_id": f"01JEXE{number:020d}",
                "turn_id": f"01JTRN{number:020d}",
                "outbox_id": f"01JOUT{number:020d}",
                "epoch": 1,
                "kind": "effect",
            },
            "capability": {"id": "files.write", "version": "1"},
            "actor": {"id": "kernel", "keyid": KERNEL.keyid},
            "effect_digest": digest_of(f"effect {number}"),
            "decision_digest": digest_of(f"decision {number}"),
            "grant_digest": None,
            "claim": {"finality": "finalized", "confidence": "verified", "executor_said": "ok"},
            "graded": {"finality": finality, "confidence": confidence, "status": status, "reasons": reasons},
            "expected": digest_of(f"after {number}"),
            "input_hash": digest_of(f"input {number}"),
            "output_hash": digest_of(f"output {number}"),
            "context_snapshot": None,
            "looks": [] if seen is None else [seen],
            "independence": None,
            "started_at_ms": START_MS + number,
            "finished_at_ms": START_MS + number + 1,
            "settles": None,
            "objects": [],
        },
        PublishedReceipt,
    )


class Sample:
    """Some receipts, sealed once, as a bundle and as the bare bytes and signatures in it."""

    def __init__(self, count: int, *, looks: int) -> None:
        seen = [look(number) if looks else None for number in range(count)]
        self.receipts = [receipt(n, seen=None if each is None else each[0]) for n, each in enumerate(seen)]
        self.looks = [(each[2], each[1]) for each in seen if each is not None]
        self.payloads = [receipt_statement(each) for each in self.receipts]
        self.sigs = [KERNEL.sign(dsse.pae(dsse.STATEMENT_TYPE, payload)) for payload in self.payloads]
        self.bundle = self._bundle()

    def _bundle(self) -> bytes:
        frontier = log.Frontier()
        lines: list[tuple[bytes, bytes]] = []
        for each, payload, sig in zip(self.receipts, self.payloads, self.sigs, strict=True):
            envelope = dsse.envelope_bytes(
                payload, payload_type=dsse.STATEMENT_TYPE, keyid=KERNEL.keyid, sig=sig
            )
            entry = entry_of(each, payload)
            frontier.append(log.leaf_hash(entry))
            lines.append((envelope, entry))
        stream = io.BytesIO()
        header = bundle.header_for(frontier, origin=ORIGIN, keys=[KERNEL.public])
        writer = bundle.BundleWriter(stream, header=header)
        for envelope, entry in lines:
            writer.add(envelope, entry=entry)
        writer.finish(log.sign_checkpoint(frontier, origin=ORIGIN, signer=KERNEL))
        return stream.getvalue()


def entry_of(each: PublishedReceipt, payload: bytes) -> bytes:
    return log.log_entry(
        predicate_type=RECEIPT,
        payload_digest="sha256:" + hashlib.sha256(payload).hexdigest(),
        keyid=KERNEL.keyid,
        chain=each.identity.turn_id,
        seq=0,
    )


def seal_product(sample: Sample) -> Callable[[], None]:
    def run() -> None:
        frontier = log.Frontier()
        for each in sample.receipts:
            payload = receipt_statement(each)
            dsse.seal(payload, signer=KERNEL)
            frontier.append(log.leaf_hash(entry_of(each, payload)))

    return run


def seal_floor(sample: Sample) -> Callable[[], None]:
    encoder = msgspec.json.Encoder(order="sorted")
    statements = [msgspec.json.decode(payload) for payload in sample.payloads]
    sign = KERNEL.private_key.sign

    def run() -> None:
        for each in statements:
            data = encoder.encode(each)
            hashlib.sha256(data).digest()
            sign(data)

    return run


def verify_product(sample: Sample, *, by_checkpoint: bool = False) -> Callable[[], None]:
    trusted = trust()
    require = frozenset({Aspect.INTACT, Aspect.SIGNER})

    def run() -> None:
        verdict = verify_bundle(
            io.BytesIO(sample.bundle),
            trust=trusted,
            now_ms=START_MS,
            require=require,
            by_checkpoint=by_checkpoint,
        )
        if verdict.exit_code or verdict.receipts != len(sample.receipts):
            raise SystemExit(f"the sample does not verify: {verdict.problems[:1]}")

    return run


def verify_floor(sample: Sample) -> Callable[[], None]:
    decode, encoder = msgspec.json.decode, msgspec.json.Encoder(order="sorted")
    kernel = Ed25519PublicKey.from_public_bytes(KERNEL.public)
    looker = Ed25519PublicKey.from_public_bytes(LOOKER.public)
    messages = [dsse.pae(dsse.STATEMENT_TYPE, payload) for payload in sample.payloads]
    checked = list(zip(sample.payloads, sample.sigs, messages, strict=True))

    def run() -> None:
        for payload, sig, message in checked:
            kernel.verify(sig, message)
            if encoder.encode(decode(payload)) != payload:
                raise SystemExit("the floor does not canonicalise")
            hashlib.sha256(payload).digest()
        for sig, message in sample.looks:
            looker.verify(sig, message)

    return run


def peer_securesystemslib(sample: Sample) -> Callable[[], None] | None:
    """Parse and verify the same envelopes with securesystemslib: no statement, no tree, no grade."""
    try:
        from securesystemslib.dsse import Envelope
        from securesystemslib.signer import SSlibKey
    except ImportError:
        return None
    key = SSlibKey(KERNEL.keyid, "ed25519", "ed25519", {"public": KERNEL.public.hex()})
    lines = [
        dsse.envelope_bytes(payload, payload_type=dsse.STATEMENT_TYPE, keyid=KERNEL.keyid, sig=sig)
        for payload, sig in zip(sample.payloads, sample.sigs, strict=True)
    ]

    def run() -> None:
        for line in lines:
            Envelope.from_dict(json.loads(line)).verify([key], 1)

    return run


def per_second(runs: list[Callable[[], None]], *, count: int, rounds: int) -> list[float]:
    """Median receipts a second of each, taking turns so that a busy neighbour meets all alike."""
    taken: list[list[float]] = [[] for _ in runs]
    for run in runs:
        run()
    gc.disable()
    for _ in range(rounds):
        for times, run in zip(taken, runs, strict=True):
            start = time.process_time()
            run()
            times.append(time.process_time() - start)
    gc.enable()
    return [count / statistics.median(times) for times in taken]


def disk_ms() -> float:
    """Median milliseconds of one 4 KiB write with fsync, so that runs can be told apart."""
    times: list[float] = []
    with tempfile.NamedTemporaryFile(dir=".") as file:
        for _ in range(20):
            start = time.perf_counter()
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
            times.append((time.perf_counter() - start) * 1000)
    return round(statistics.median(times), 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="end within a minute")
    quick = parser.parse_args().quick
    count, rounds = (500, 7) if quick else (2000, 15)
    points: list[dict[str, Any]] = []
    peers: dict[str, float] = {}
    for looks in (1, 0):
        sample = Sample(count, looks=looks)
        peer = None if looks else peer_securesystemslib(sample)
        runs = [verify_product(sample), verify_floor(sample), seal_product(sample), seal_floor(sample)]
        runs.append(verify_product(sample, by_checkpoint=True))
        rates = per_second(runs + ([peer] if peer else []), count=count, rounds=rounds)
        # The floor of the checkpoint mode stays the one with every signature, because it gives the same answer.
        timed = (("verify", *rates[:2]), ("seal", *rates[2:4]), ("verify by checkpoint", rates[4], rates[1]))
        for path, product, floor in timed:
            params = {"path": path, "looks": looks, "receipts": count}
            points.append(
                {
                    "params": params,
                    "product": round(product),
                    "floor": round(floor),
                    "ratio": round(product / floor, 3),
                }
            )
        if peer:
            peers["securesystemslib: parse and verify the envelope, nothing else"] = round(rates[5])
    if not peers:
        print("peer securesystemslib is not installed here and was not measured", file=sys.stderr)
    for point in points:
        print(f"{point['params']}: {point['product']} of {point['floor']} a second, ratio {point['ratio']}")
    head = points[0]
    print(
        json.dumps(
            {
                "name": "receipts",
                "unit": "receipts verified per second and core, one look each",
                "product": head["product"],
                "floor": head["floor"],
                "ratio": head["ratio"],
                "peers": peers,
                "points": points,
                "disk_ms": disk_ms(),
                "load1": round(os.getloadavg()[0], 2),
                "versions": {
                    "python": platform.python_version(),
                    **{name: importlib.metadata.version(name) for name in ("cryptography", "msgspec")},
                },
            }
        )
    )


if __name__ == "__main__":
    main()
