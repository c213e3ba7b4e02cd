# SPDX-License-Identifier: Apache-2.0
"""A small log with grants, looks and receipts, made as the product makes one, each part open to change."""

import base64
import hashlib
import io
from dataclasses import dataclass, field
from typing import Any

from actum.adapters.signing import Ed25519Signer
from actum.evidence import bundle, dsse, log, notes
from actum.evidence.looks import look_signing_bytes
from actum.evidence.published import GRANT, RECEIPT
from actum.evidence.statements import grant_statement, receipt_statement, statement
from actum.evidence.trust_file import Trust, trust_of
from actum.evidence.verdict import Aspect, Verdict
from actum.evidence.verify import verify_bundle
from actum.model.action_v2 import Verifier, WireLook
from actum.model.grading import LookOutcome
from actum.model.rfc3339 import format_ms
from actum.model.trust import KeyRole, TrustedKey, TrustFile

ORIGIN = "actum.example/ledger"
START_MS = 1_800_000_000_000
NOW_MS = START_MS + 3_600_000


def signer_named(name: str) -> Ed25519Signer:
    return Ed25519Signer.from_seed(hashlib.sha256(name.encode()).digest())


KERNEL, LOOKER, ADA, LOG, WITNESS = (signer_named(n) for n in ("kernel", "looker", "ada", "log", "witness"))
ROLES = {
    "kernel": KeyRole.KERNEL,
    "looker": KeyRole.VERIFIER,
    "ada": KeyRole.APPROVER,
    "log": KeyRole.LOG,
    "witness": KeyRole.WITNESS,
}


def digest_of(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def trusted(name: str, **changes: Any) -> TrustedKey:
    signer = signer_named(name)
    whole: dict[str, Any] = {
        "keyid": signer.keyid,
        "public": base64.b64encode(signer.public).decode(),
        "roles": (ROLES[name],),
        "principal": name,
    }
    return TrustedKey(**{**whole, **changes})


def trust(without: str = "", **changes: TrustedKey) -> Trust:
    """The whole cast, with one left out or some replaced by name."""
    keys = {name: trusted(name) for name in ROLES if name != without} | changes
    return trust_of(TrustFile(keys=tuple(keys.values())))


def look(
    number: int, *, signer: Ed25519Signer = LOOKER, effect: str | None = None, **changes: Any
) -> dict[str, Any]:
    """A signed look that saw what was expected of effect `number`."""
    whole: dict[str, Any] = {
        "before": digest_of(f"before {number}"),
        "observed": digest_of(f"after {number}"),
        "outcome": LookOutcome.DEFINITE,
        "verifier": Verifier(id="files.digest", version="1"),
        "at": format_ms(START_MS + number * 1000 + 500),
        "keyid": signer.keyid,
        **changes,
    }
    message = look_signing_bytes(
        WireLook(**whole),
        effect_digest=effect or digest_of(f"effect {number}"),
        expected=digest_of(f"after {number}"),
    )
    return {
        **whole,
        "verifier": {"id": "files.digest", "version": "1"},
        "outcome": whole["outcome"].value,
        "sig": base64.b64encode(signer.sign(message)).decode(),
    }


FINAL = {"finality": "finalized", "confidence": "verified", "status": "success", "reasons": []}


def receipt(number: int, **changes: Any) -> dict[str, Any]:
    """The published receipt of effect `number`, seen as expected."""
    return {
        "identity": {
            "receipt_id": f"rcp-{number}",
            "execution_id": f"exe-{number}",
            "turn_id": "turn-1",
            "outbox_id": f"out-{number}",
            "epoch": 1,
            "kind": "effect",
        },
        "capability": {"id": "files.write", "version": "1"},
        "actor": {"id": "kernel", "keyid": KERNEL.keyid},
        "effect_digest": digest_of(f"effect {number}"),
        "decision_digest": digest_of(f"decision {number}"),
        "grant_digest": None,
        "claim": {"finality": "finalized", "confidence": "verified", "executor_said": "ok"},
        "graded": FINAL,
        "expected": digest_of(f"after {number}"),
        "input_hash": digest_of(f"input {number}"),
        "output_hash": digest_of(f"output {number}"),
        "context_snapshot": None,
        "looks": [look(number)],
        "independence": None,
        "started_at_ms": START_MS + number * 1000,
        "finished_at_ms": START_MS + number * 1000 + 600,
        "settles": None,
        "objects": [],
        **changes,
    }


def identity(number: int, **changes: Any) -> dict[str, Any]:
    return {**receipt(number)["identity"], **changes}


def grant(number: int, **changes: Any) -> dict[str, Any]:
    """Ada's grant for effect `number`."""
    return {
        "grant_id": f"grant-{number}",
        "purpose": "confirm",
        "incarnation": "inc-1",
        "tenant": "local",
        "principal": "ada",
        "authn": "passphrase",
        "subject_digest": digest_of(f"effect {number}"),
        "qualification_digest": None,
        "shown_digest": digest_of(f"shown {number}"),
        "task": "work-1",
        "issued_at_ms": START_MS,
        "expires_at_ms": START_MS + 86_400_000,
        "nonce": f"nonce-{number}",
        "accepts_unqualified": False,
        **changes,
    }


@dataclass
class Ledger:
    """Statements in log order, written as a bundle on demand."""

    lines: list[tuple[bytes, bytes]] = field(default_factory=list)
    frontier: log.Frontier = field(default_factory=log.Frontier)
    chains: dict[str, int] = field(default_factory=dict)
    signers: list[Ed25519Signer] = field(default_factory=lambda: [LOG])

    def add(
        self,
        payload: bytes,
        *,
        signer: Ed25519Signer,
        predicate_type: str,
        chain: str = "turn-1",
        seq: int | None = None,
    ) -> str:
        """Seal and append a statement; returns its payload digest."""
        place = self.chains.get(chain, 0) if seq is None else seq
        self.chains[chain] = place + 1
        payload_digest = "sha256:" + hashlib.sha256(payload).hexdigest()
        entry = log.log_entry(
            predicate_type=predicate_type,
            payload_digest=payload_digest,
            keyid=signer.keyid,
            chain=chain,
            seq=place,
        )
        self.frontier.append(log.leaf_hash(entry))
        self.lines.append((dsse.seal(payload, signer=signer), entry))
        self.signers.append(signer)
        return payload_digest

    def grant(self, number: int, *, signer: Ed25519Signer = ADA, **changes: Any) -> str:
        return self.add(grant_statement(grant(number, **changes)), signer=signer, predicate_type=GRANT)

    def receipt(
        self, number: int, *, signer: Ed25519Signer = KERNEL, chain: str = "turn-1", **changes: Any
    ) -> str:
        payload = receipt_statement(receipt(number, **changes))
        return self.add(payload, signer=signer, predicate_type=RECEIPT, chain=chain)

    def other(self, text: str, *, signer: Ed25519Signer = KERNEL, **place: Any) -> str:
        payload = statement(
            "tag:example,2026:note/v1", subjects=[(text, digest_of(text))], predicate={"about": text}
        )
        return self.add(payload, signer=signer, predicate_type="tag:example,2026:note/v1", **place)

    def checkpoint(self, *, signer: Ed25519Signer = LOG, origin: str = ORIGIN) -> bytes:
        return log.sign_checkpoint(self.frontier, origin=origin, signer=signer)

    def bundle(
        self,
        *,
        withheld: frozenset[int] = frozenset(),
        checkpoint: bytes | None = None,
        witnessed_at_s: int | None = None,
    ) -> bytes:
        keys = {signer.public for signer in [*self.signers, WITNESS]}
        stream = io.BytesIO()
        header = bundle.header_for(self.frontier, origin=ORIGIN, keys=keys)
        writer = bundle.BundleWriter(stream, header=header)
        for index, (envelope, entry) in enumerate(self.lines):
            if index in withheld:
                writer.withhold(entry)
            else:
                writer.add(envelope, entry=entry)
        signed = checkpoint or self.checkpoint()
        if witnessed_at_s is not None:
            signed = notes.cosign(signed, name="witness", signer=WITNESS, at_s=witnessed_at_s)
        writer.finish(signed)
        return stream.getvalue()


def small_ledger() -> Ledger:
    """Two confirmed effects that were seen as expected."""
    ledger = Ledger()
    for number in (1, 2):
        given = ledger.grant(number)
        ledger.receipt(number, grant_digest=given)
    return ledger


ALL = frozenset(Aspect)
EVERYBODY = trust()


def judge(data: bytes, **options: Any) -> Verdict:
    """The verdict of a reader who trusts the whole cast."""
    given = {"trust": EVERYBODY, "now_ms": NOW_MS, "require": ALL, **options}
    return verify_bundle(io.BytesIO(data), **given)


def codes(verdict: Verdict) -> list[str]:
    return [problem.code for problem in verdict.problems]
