# SPDX-License-Identifier: Apache-2.0
"""A bundle is judged offline, in one pass, from its own bytes and what the reader trusts.

The steps, for each line:
1. The line is canonical, ends, and is in its place (`actum.evidence.bundle`).
2. The header's keys are what their ids say.
3. The envelope's signature holds under one of those keys; the keyid only says which is tried first.
4. The payload is a statement whose bytes are its own canonical form, of a closed shape where it is ours.
5. Its subject is what its predicate is about, and its chain is its turn.
6. Its log entry, built from what was read, is appended to the tree.
7. The key is asked of the trust file (`signers`), the grant held against the effect (`permission`), the grade
   computed again (`observation`), the leaf held against the outside view (`completeness`).
8. At the end the tree is the header's and the checkpoint's, and every line of the checkpoint's signatures
   holds.

Steps 1 to 6 and 8 make `intact`; the first that fails ends the reading, because nothing behind it can be
relied on. The keys of the header can make a bundle intact and never its signer known.

A verdict is about the leaves it was computed over. It cannot speak of what was never logged.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from typing import BinaryIO

import msgspec

from actum.evidence import bundle, log, notes
from actum.evidence.bundle import BundleFault, Header, Record
from actum.evidence.completeness import Completeness, OutsideView
from actum.evidence.dsse import STATEMENT_TYPE, pae
from actum.evidence.keys import PublicKey, keyid_of, public_key_fault
from actum.evidence.log import Frontier, LogEntry
from actum.evidence.observation import Observation
from actum.evidence.permission import Permission
from actum.evidence.published import GRANT, RECEIPT, PublishedReceipt
from actum.evidence.signers import (
    CHECKPOINT_ROLES,
    OTHER_ROLES,
    RECEIPT_ROLES,
    Signers,
    key_fault,
    pinned,
    shown,
)
from actum.evidence.statements import check_statement, predicate_type_of, read_grant, read_receipt
from actum.evidence.trust_file import Trust
from actum.evidence.verdict import (
    DEFAULT_REQUIRE,
    Aspect,
    Finding,
    Problems,
    State,
    Verdict,
    exit_code,
)
from actum.model.errors import CorruptRecordError
from actum.model.trust import KeyRole


def verify_bundle(
    stream: BinaryIO,
    *,
    trust: Trust | None,
    now_ms: int,
    checkpoint: bytes | None = None,
    min_size: int | None = None,
    max_age_ms: int | None = None,
    require: frozenset[Aspect] = DEFAULT_REQUIRE,
    by_checkpoint: bool = False,
    on_receipt: Callable[[PublishedReceipt], None] | None = None,
) -> Verdict:
    """Return what the bundle in `stream` establishes for a reader with this trust and outside view.

    `by_checkpoint` leaves out the envelope signatures of kernel keys that also signed the checkpoint: one
    signature then speaks for all their leaves, quicker, and their own signature bytes are not looked at.
    `on_receipt` is shown each receipt as it is read, before anything behind it was checked: what it keeps is
    worth no more than the verdict's `intact`.
    Raises UsageError `checkpoint_unusable`; a bundle that does not hold is a verdict and no exception.
    """
    outside = OutsideView(now_ms=now_ms, checkpoint=checkpoint, min_size=min_size, max_age_ms=max_age_ms)
    reading = _Reading(trust, outside=outside, by_checkpoint=by_checkpoint, on_receipt=on_receipt)
    try:
        reading.run(stream)
    except BundleFault as fault:
        reading.broken(fault)
    return reading.verdict(require)


class _Reading:
    """One pass over one bundle."""

    def __init__(
        self,
        trust: Trust | None,
        *,
        outside: OutsideView,
        by_checkpoint: bool,
        on_receipt: Callable[[PublishedReceipt], None] | None,
    ) -> None:
        self._trust = trust
        self._on_receipt = on_receipt
        self._by_checkpoint = by_checkpoint
        self._vouched: set[str] = set()
        self._leaning: set[str] = set()
        self._outside = outside
        self._problems = Problems()
        self._signers = Signers(trust, problems=self._problems)
        self._permission = Permission(signers=self._signers, problems=self._problems)
        self._observation = Observation(trust, problems=self._problems)
        self._completeness: Completeness | None = None
        self._header: Header | None = None
        self._keys: dict[str, PublicKey] = {}
        self._frontier = Frontier()
        self._receipts = self._withheld = 0
        self._ended = False

    def run(self, stream: BinaryIO) -> None:
        """Read every line; BundleFault at the first that does not hold."""
        number = 0
        for number, line in bundle.read_lines(stream):
            if self._header is None or self._completeness is None:
                self._begin(bundle.read_header(line))
                continue
            if self._ended:
                raise BundleFault("trailing", line=number, why="something stands behind the checkpoint")
            found = bundle.read_record(line, number=number)
            if isinstance(found, Record):
                self._record(found, completeness=self._completeness, line=number)
            elif isinstance(found, LogEntry):
                self._withhold(found, completeness=self._completeness, line=number)
            else:
                self._end(found, header=self._header, completeness=self._completeness, line=number)
        if not self._ended:
            raise BundleFault(
                "truncated", line=number + 1, why="the checkpoint is missing, so the file was cut"
            )

    def _begin(self, header: Header) -> None:
        # Step 2
        for key in header.keys:
            raw = base64.b64decode(key.public)
            if base64.b64encode(raw).decode() != key.public or keyid_of(raw) != key.keyid:
                raise BundleFault("header_key", line=1, why=f"the key {key.keyid} is not the one its id says")
            fault = public_key_fault(raw)
            if fault is not None:
                raise BundleFault("header_key", line=1, why=f"the key {key.keyid} cannot be used: {fault}")
            self._keys[key.keyid] = PublicKey(raw)
            if self._by_checkpoint and self._is_kernel(self._keys[key.keyid]):
                self._vouched.add(key.keyid)
        self._header = header
        self._completeness = Completeness(
            self._outside, origin=header.origin, keys=self._checkpoint_keys(), problems=self._problems
        )

    def _is_kernel(self, key: PublicKey) -> bool:
        entry = None if self._trust is None else pinned(key, self._trust)
        return entry is not None and KeyRole.KERNEL in entry.roles

    def _checkpoint_keys(self) -> list[PublicKey]:
        if self._trust is None:
            return list(self._keys.values())
        return [e.key for e in self._trust.entries.values() if not e.roles.isdisjoint(CHECKPOINT_ROLES)]

    def _record(self, record: Record, *, completeness: Completeness, line: int) -> None:
        # Step 3
        key = self._signer_of(record, line=line)
        if record.payload_type != STATEMENT_TYPE:
            raise BundleFault("payload_type", line=line, why="it carries something that is no statement")
        digest = "sha256:" + hashlib.sha256(record.payload).hexdigest()
        # Step 4
        try:
            predicate_type = predicate_type_of(record.payload)
            self._statement(predicate_type, record, digest=digest, key=key, line=line)
        except CorruptRecordError as error:
            if isinstance(error, BundleFault):
                raise
            raise BundleFault(error.code, line=line, why=error.facts["why"]) from error
        # Step 6
        entry = log.log_entry(
            predicate_type=predicate_type,
            payload_digest=digest,
            keyid=record.keyid,
            chain=record.chain,
            seq=record.seq,
        )
        self._frontier.append(log.leaf_hash(entry))
        completeness.leaf(self._frontier, chain=record.chain, seq=record.seq, line=line, withheld=False)

    def _signer_of(self, record: Record, *, line: int) -> PublicKey:
        hinted = self._keys.get(record.keyid)
        if hinted is not None and hinted.keyid in self._vouched:
            self._leaning.add(hinted.keyid)
            return hinted
        message = pae(record.payload_type, record.payload)
        if hinted is not None and hinted.verifies(record.sig, message):
            return hinted
        for key in self._keys.values():
            if key is not hinted and key.verifies(record.sig, message):
                return key
        raise BundleFault("signature", line=line, why="its signature holds under none of the bundle's keys")

    def _statement(
        self, predicate_type: str, record: Record, *, digest: str, key: PublicKey, line: int
    ) -> None:
        if predicate_type == RECEIPT:
            self._receipt(read_receipt(record.payload), record, digest=digest, key=key, line=line)
        elif predicate_type == GRANT:
            grant = read_grant(record.payload)
            self._permission.grant(grant, key=key, payload_digest=digest, line=line)
        else:
            check_statement(record.payload)
            self._signers.judge(key, roles=OTHER_ROLES, at_ms=self._latest_ms(), line=line)

    def _receipt(
        self, receipt: PublishedReceipt, record: Record, *, digest: str, key: PublicKey, line: int
    ) -> None:
        # Step 5
        if record.chain != receipt.identity.turn_id:
            raise BundleFault("chain", line=line, why="it stands in another chain than its turn's")
        # Step 7
        self._receipts += 1
        if self._on_receipt is not None:
            self._on_receipt(receipt)
        if self._completeness is not None:
            self._completeness.stated(receipt.finished_at_ms)
        self._signers.judge(key, roles=RECEIPT_ROLES, at_ms=receipt.finished_at_ms, line=line)
        self._permission.receipt(receipt, line=line)
        self._observation.receipt(receipt, payload_digest=digest, signed_by=key.keyid, line=line)

    def _latest_ms(self) -> int:
        stated = None if self._completeness is None else self._completeness.newest_ms
        return self._outside.now_ms if stated is None else stated

    def _withhold(self, entry: LogEntry, *, completeness: Completeness, line: int) -> None:
        self._withheld += 1
        if entry.t == GRANT:
            self._permission.withhold(entry.p)
        else:
            self._observation.withhold(entry.p)
        self._frontier.append(log.leaf_hash(msgspec.json.encode(entry)))
        completeness.leaf(self._frontier, chain=entry.c, seq=entry.s, line=line, withheld=True)

    def _end(self, text: str, *, header: Header, completeness: Completeness, line: int) -> None:
        # Step 8
        try:
            note = notes.open_note(text.encode())
            checkpoint = notes.parse_checkpoint(note.text)
        except CorruptRecordError as error:
            raise BundleFault("checkpoint", line=line, why=error.failed) from error
        root = self._frontier.root()
        if (header.tree_size, header.root) != (self._frontier.size, "sha256:" + root.hex()):
            raise BundleFault("root", line=line, why="the lines above do not make the tree the header names")
        if checkpoint != log.Checkpoint(origin=header.origin, size=self._frontier.size, root=root):
            raise BundleFault("checkpoint", line=line, why="the checkpoint is of another log, size or root")
        self._check_signatures(note, completeness=completeness, line=line)
        completeness.close()
        self._ended = True

    def _check_signatures(self, note: notes.Note, *, completeness: Completeness, line: int) -> None:
        logged = False
        leaning = set(self._leaning)
        for signature in note.signatures:
            logs = [key for key in self._keys.values() if notes.signature_holds(note, signature, key)]
            saw = [(key, notes.cosigned_at_s(note, signature, key)) for key in self._keys.values()]
            seen = [(key, at_s) for key, at_s in saw if at_s is not None]
            if logs and signature.name == notes.parse_checkpoint(note.text).origin:
                logged = True
                leaning -= {key.keyid for key in logs}
                self._signers.judge(logs[0], roles=CHECKPOINT_ROLES, at_ms=self._latest_ms(), line=line)
            elif seen:
                self._witness(*seen[0], completeness=completeness)
            else:
                raise BundleFault(
                    "checkpoint_signature", line=line, why="a signature of the checkpoint fails"
                )
        if leaning:
            why = "a kernel key whose records lean on the checkpoint did not sign it; judge without that"
            raise BundleFault("checkpoint_mode", line=line, why=why)
        if not logged:
            raise BundleFault("checkpoint_signature", line=line, why="the log itself did not sign it")

    def _witness(self, key: PublicKey, at_s: int, *, completeness: Completeness) -> None:
        entry = None if self._trust is None else pinned(key, self._trust)
        if (
            entry is not None
            and key_fault(entry, roles=frozenset({KeyRole.WITNESS}), at_ms=at_s * 1000) is None
        ):
            completeness.witnessed(shown(entry), at_ms=at_s * 1000)

    def broken(self, fault: BundleFault) -> None:
        """Remember why the reading ended."""
        self._problems.add(Aspect.INTACT, code=fault.code, line=fault.line, sentence=fault.why)

    def verdict(self, require: frozenset[Aspect]) -> Verdict:
        """Return the six answers."""
        findings = self._findings()
        return Verdict(
            findings=findings,
            require=tuple(aspect for aspect in Aspect if aspect in require),
            exit_code=exit_code(findings, require=require),
            origin=None if self._header is None else self._header.origin,
            tree_size=self._frontier.size,
            root="sha256:" + self._frontier.root().hex() if self._ended else None,
            receipts=self._receipts,
            withheld=self._withheld,
            statuses=self._observation.statuses() if self._ended else {},
            problems=tuple(self._problems.first),
            problem_count=self._problems.count,
            could_hide=self._could_hide(),
        )

    def _findings(self) -> tuple[Finding, ...]:
        broken = self._problems.finding(Aspect.INTACT)
        if broken is not None or self._completeness is None:
            sentence = "not judged, because the bundle is not intact"
            rest = [
                Finding(aspect=a, state=State.NOT_ESTABLISHED, sentence=sentence) for a in list(Aspect)[1:]
            ]
            first = broken or Finding(aspect=Aspect.INTACT, state=State.CONTRADICTED, sentence="it is empty")
            return (first, *(self._problems.finding(each.aspect) or each for each in rest))
        what = "byte and leaf" if self._leaning else "byte, signature and leaf"
        sentence = f"every {what} agrees with the checkpoint at size {self._frontier.size}"
        if self._leaning:
            sentence += "; records of the checkpoint's key lean on its signature instead of their own"
        return (
            Finding(aspect=Aspect.INTACT, state=State.ESTABLISHED, sentence=sentence),
            self._signers.finding(),
            self._permission.finding(),
            self._observation.finding(),
            self._completeness.finding(),
            self._completeness.anchored(),
        )

    def _could_hide(self) -> str:
        if not self._ended or self._completeness is None:
            return "anything: the bundle is not intact"
        held = self._completeness.anchor_size
        after = self._frontier.size if held is None else held
        what = "a newer failure, a revocation, an open deadline"
        if held is None:
            return f"a rollback could hide every record after leaf {after}, and they could say: {what}"
        return f"a rollback could hide or rewrite what came after leaf {after}, and that could be: {what}"
