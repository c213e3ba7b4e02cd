# SPDX-License-Identifier: Apache-2.0
"""A bundle is written in one pass, each line an envelope anybody can read, and never one that fails."""

import io
import json

import pytest
import rfc8785

from actum.evidence import bundle, dsse, log
from actum.evidence.keys import PublicKey
from actum.model.errors import InvariantViolation
from tests.unit.evidence import samples
from tests.unit.evidence.samples import ADA, KERNEL, LOG, Ledger, judge


def test_every_line_is_rfc8785_and_one_newline() -> None:
    ledger = samples.small_ledger()
    for data in (ledger.bundle(), ledger.bundle(withheld=frozenset({0, 3}))):
        lines = data.split(b"\n")
        assert lines.pop() == b""
        assert [rfc8785.dumps(json.loads(line)) for line in lines] == lines


def test_every_record_line_is_an_envelope_that_opens_as_one() -> None:
    lines = samples.small_ledger().bundle().splitlines()
    for line in lines[1:-1]:
        envelope = dsse.open_envelope(line)
        assert envelope.payload_type == dsse.STATEMENT_TYPE
        assert dsse.signer_of(envelope, [PublicKey(KERNEL.public), PublicKey(ADA.public)]) is not None


def test_t39_the_published_form_verifies_without_the_data() -> None:
    """Nothing but the file and the keys is given to the reader, and the file holds no content."""
    data = samples.small_ledger().bundle()
    verdict = judge(data, checkpoint=samples.small_ledger().checkpoint())
    assert verdict.exit_code == 0
    payloads = [dsse.open_envelope(line).payload for line in data.splitlines()[1:-1]]
    for content in (b"input 1", b"output 1", b"before 1", b"after 1", b"shown 1"):
        assert not any(content in payload for payload in payloads)


def writer_for(ledger: Ledger) -> tuple[bundle.BundleWriter, io.BytesIO]:
    stream = io.BytesIO()
    header = bundle.header_for(ledger.frontier, origin=samples.ORIGIN, keys={LOG.public, KERNEL.public})
    return bundle.BundleWriter(stream, header=header), stream


def test_a_writer_does_not_finish_what_would_not_verify() -> None:
    ledger = samples.small_ledger()
    writer, _ = writer_for(ledger)
    for envelope, entry in ledger.lines[:-1]:
        writer.add(envelope, entry=entry)
    with pytest.raises(InvariantViolation):
        writer.finish(ledger.checkpoint())


def test_a_writer_takes_sealed_envelopes_and_closed_entries_only() -> None:
    ledger = samples.small_ledger()
    envelope, entry = ledger.lines[0]
    writer, _ = writer_for(ledger)
    for other in (b"{}", json.dumps(json.loads(envelope)).encode()):
        with pytest.raises(InvariantViolation):
            writer.add(other, entry=entry)
    with pytest.raises(InvariantViolation):
        writer.add(envelope, entry=entry + b" ")


def test_a_reader_holds_one_line_at_a_time() -> None:
    """Lines are pulled as they are asked for: the stream is never read ahead of the line that is judged."""
    pulled: list[int] = []

    class Counting(io.BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            assert size is not None
            assert 0 < size <= bundle.MAX_LINE_BYTES + 1
            pulled.append(size)
            return super().readline(size)

    ledger = samples.small_ledger()
    lines = bundle.read_lines(Counting(ledger.bundle()))
    next(lines)
    next(lines)
    assert len(pulled) == 2


def test_keys_in_a_header_are_sorted_and_named_once() -> None:
    header = bundle.header_for(log.Frontier(), origin="o", keys=[ADA.public, LOG.public, ADA.public])
    keyids = [key.keyid for key in header.keys]
    assert keyids == sorted({ADA.keyid, LOG.keyid})


def test_an_empty_log_makes_a_bundle_that_shows_nothing_happened() -> None:
    verdict = judge(Ledger().bundle())
    assert verdict.problem_count == 0
    assert (verdict.tree_size, verdict.receipts) == (0, 0)
    assert {finding.state.value for finding in verdict.findings[2:]} == {"not_established"}
