# SPDX-License-Identifier: Apache-2.0
"""The log leaves as one signed file of digests, and a checkpoint beside the store says how long it was.

Rules
1. A bundle is read from one snapshot: its header, its records and its checkpoint are of one log size.
2. A checkpoint is only ever replaced by one of the same log that is at least as long.
3. A log that is shorter than its last checkpoint, or has another root, lost its tail or was rewritten. A checkpoint
   that cannot be read is kept, and says that nobody can tell.
4. A bundle names every key that signed one of its records, also a key that is pinned no more; where one is not
   known any more there is no bundle.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from actum.evidence.bundle import BundleWriter, header_for
from actum.evidence.log import Frontier, leaf_hash, parse_entry, sign_checkpoint
from actum.evidence.notes import open_note, parse_checkpoint
from actum.model.errors import ActumError, EnvironmentFault
from actum.ports.store import Tx
from actum.service.line import Line
from actum.service.whole_file import replace


def origin_of(line: Line) -> str:
    """Return the log's name: it carries the kernel's key and the tenant, and nothing of the machine."""
    return f"actum/{line.kernel_key.keyid}/{line.store.tenant}"


def frontier_of(tx: Tx) -> Frontier:
    """Return the frontier of the log as stored."""
    size, hashes = tx.log_state()
    return Frontier(size, [hashes[at : at + 32] for at in range(0, len(hashes), 32)])


def export(line: Line, stream: BinaryIO, *, keys: Iterable[bytes] = ()) -> dict[str, Any]:
    """Write the whole log as a bundle, with flat memory; return its header (rule 1).

    ``keys`` are raw public keys known beside the trust file; EnvironmentFault ``signer_unknown`` (rule 4).
    """
    raw = [*(entry.key.raw for entry in line.trust.entries.values()), *keys, line.kernel_key.public]

    def work(tx: Tx) -> dict[str, Any]:
        frontier = frontier_of(tx)
        origin = origin_of(line)
        header = header_for(frontier, origin=origin, keys=raw)
        known = {key.keyid for key in header.keys}
        writer = BundleWriter(stream, header=header)
        for leaf in tx.each_leaf():
            entry = parse_entry(leaf.entry)
            if entry is not None and entry.k not in known:
                raise _signer_unknown(entry.k, seq=leaf.seq)
            writer.add(leaf.envelope, entry=leaf.entry)
        writer.finish(sign_checkpoint(frontier, origin=origin, signer=line.kernel_key))
        return msgspec.to_builtins(header)

    return line.store.read(work)


def signers(line: Line) -> set[str]:
    """Return the keyids that signed a record of the log."""

    def work(tx: Tx) -> set[str]:
        entries = (parse_entry(leaf.entry) for leaf in tx.each_leaf())
        return {entry.k for entry in entries if entry is not None}

    return line.store.read(work)


def _signer_unknown(keyid: str, *, seq: int) -> EnvironmentFault:
    return EnvironmentFault(
        "signer_unknown",
        failed=f"record {seq} was signed by the key {keyid}, whose public half is not here any more",
        state="No whole bundle was written, and what was written of it does not verify; the store is as it was",
        next_step="Put the key back into trust.json (with revoked_at if it was retired), or its .pub.json into keys/",
        keyid=keyid,
    )


def write_checkpoint(line: Line, path: Path) -> None:
    """Write the signed checkpoint beside the store where the log has grown since the last one (rule 2)."""
    frontier = line.store.read(frontier_of)
    if frontier.size == 0:
        return
    if path.exists():
        size = checkpoint_size(path)
        if size is None or size >= frontier.size:
            return  # Rules 2 and 3: a shorter log is no reason to forget how long it was.
    note = sign_checkpoint(frontier, origin=origin_of(line), signer=line.kernel_key)
    try:
        replace(path, note)  # Half a file, after a stop of the machine, would keep every run off.
    except OSError as error:
        raise EnvironmentFault(
            "checkpoint_unwritable",
            failed=f"the checkpoint {path} cannot be written: {error.strerror}",
            state="All records are stored; only the note of how long the log was is old",
            next_step="Free space or mend the folder's mode, then run again",
        ) from error


def checkpoint_size(path: Path) -> int | None:
    """Return the log size a checkpoint file names, or None where it is no checkpoint."""
    try:
        return parse_checkpoint(open_note(path.read_bytes()).text).size
    except (ActumError, OSError):
        return None


def cut_short(line: Line, path: Path) -> str | None:
    """Return how the log falls short of the checkpoint beside it, without reading the log, or None (rule 3)."""
    if not path.exists():
        return None
    try:
        checkpoint = parse_checkpoint(open_note(path.read_bytes()).text)
    except (ActumError, OSError):
        return f"its last checkpoint {path} cannot be read, so nobody can tell whether records are missing"
    frontier = line.store.read(frontier_of)
    if frontier.size < checkpoint.size:
        return f"the log has {frontier.size} records, its last checkpoint says {checkpoint.size}"
    if frontier.size == checkpoint.size and frontier.root() != checkpoint.root:
        return "the log is as long as its last checkpoint says, and has another root"
    return None


def set_aside(path: Path) -> None:
    """Keep a checkpoint that an adopted log falls short of under another name, so that it can still be shown."""
    size = checkpoint_size(path)
    os.replace(path, path.with_name(f"{path.name}.{'unreadable' if size is None else size}"))


def check_log(line: Line, path: Path) -> list[str]:
    """Return what is wrong between the stored log and the last checkpoint beside it (rule 3)."""
    if not path.exists():
        return []
    try:
        checkpoint = parse_checkpoint(open_note(path.read_bytes()).text)
    except (ActumError, OSError):
        return [f"the checkpoint {path} cannot be read"]

    def work(tx: Tx) -> list[str]:
        frontier = Frontier()
        problems: list[str] = []
        for leaf in tx.each_leaf():
            if leaf_hash(leaf.entry) != leaf.leaf_hash:
                problems.append(f"leaf {leaf.seq} of the log is not the hash of its entry")
            if frontier.size == checkpoint.size and frontier.root() != checkpoint.root:
                problems.append(f"the log's first {checkpoint.size} records are not those of the checkpoint")
            frontier.append(leaf.leaf_hash)
        if frontier.size < checkpoint.size:
            problems.append(
                f"the log has {frontier.size} records, its last checkpoint says {checkpoint.size}"
            )
        elif frontier.size == checkpoint.size and frontier.root() != checkpoint.root:
            problems.append("the log is as long as its last checkpoint says, and has another root")
        if frontier.size != tx.log_state()[0]:
            problems.append("the log's kept size is not the number of its leaves")
        return problems

    return line.store.read(work)
