# SPDX-License-Identifier: Apache-2.0
"""A log is complete up to what somebody outside can hold against it, and otherwise as its signer asserts.

A signed log with its tail cut off is still a signed log. What shows a cut is a checkpoint that left the
machine, a size somebody knows, or an age that a busy log would not have: one of them must be given, and each
that is given must hold. Within the file, no chain may skip a place.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from actum.evidence import notes
from actum.evidence.keys import PublicKey
from actum.evidence.log import Checkpoint, Frontier
from actum.evidence.verdict import Aspect, Finding, Problems, State, count_of, few
from actum.model.errors import CorruptRecordError, UsageError

# Two clocks that both keep time may still differ by this much.
MAX_SKEW_MS = 300_000


class OutsideView(msgspec.Struct, frozen=True, kw_only=True):
    """What the reader knows of the log from elsewhere; times are milliseconds, all may be absent."""

    now_ms: int
    checkpoint: bytes | None = None
    min_size: int | None = None
    max_age_ms: int | None = None

    def says_something(self) -> bool:
        """Tell whether there is anything to hold against the log."""
        return not (self.checkpoint is None and self.min_size is None and self.max_age_ms is None)


class Completeness:
    """Answers `complete` and `anchored`; keeps one number for each chain."""

    def __init__(
        self, outside: OutsideView, *, origin: str, keys: Sequence[PublicKey], problems: Problems
    ) -> None:
        """Take the outside view; `keys` may sign checkpoints of the log `origin`.

        Raises UsageError `checkpoint_unusable` for a checkpoint file that is none or is another log's.
        """
        self._outside = outside
        self._problems = problems
        self._anchor = _anchor(outside.checkpoint, origin=origin, keys=keys)
        self._next: dict[str, int] = {}
        self._size = 0
        self._withheld = 0
        self._newest_ms: int | None = None
        self._witnesses: set[str] = set()

    @property
    def newest_ms(self) -> int | None:
        """Return the newest time any record states."""
        return self._newest_ms

    @property
    def anchor_size(self) -> int | None:
        """Return the size up to which the log is held to a checkpoint from outside."""
        return None if self._anchor is None else self._anchor.size

    def leaf(self, frontier: Frontier, *, chain: str, seq: int, line: int, withheld: bool) -> None:
        """Take note of one leaf, after it was appended."""
        expected = self._next.get(chain, 0)
        if seq != expected:
            self._contradict("chain_gap", line, f"place {seq} of its chain stands where {expected} is due")
        self._next[chain] = seq + 1
        self._withheld += withheld
        self._size = frontier.size
        self._meet(frontier, line=line)

    def stated(self, at_ms: int) -> None:
        """Take note of a time that a record states."""
        if self._newest_ms is None or at_ms > self._newest_ms:
            self._newest_ms = at_ms

    def witnessed(self, name: str, *, at_ms: int) -> None:
        """Take note of a trusted witness that saw the checkpoint at a time of its own clock."""
        self._witnesses.add(name)
        self.stated(at_ms)

    def _meet(self, frontier: Frontier, *, line: int) -> None:
        if self._anchor is None or self._anchor.size != frontier.size:
            return
        if self._anchor.root != frontier.root():
            self._contradict("checkpoint_differs", line, "the log had another root at the size you hold")

    def close(self) -> None:
        """Hold the log's size against the outside view, once all its leaves were seen."""
        minimum = self._outside.min_size
        if minimum is not None and self._size < minimum:
            self._contradict("too_small", 0, f"{self._size} leaves are here and {minimum} are known to exist")
        if self._anchor is not None and self._anchor.size > self._size:
            what = f"{self._size} leaves are here, the checkpoint you hold has {self._anchor.size}"
            self._contradict("cut_off", 0, what)

    def _contradict(self, code: str, line: int, sentence: str) -> None:
        self._problems.add(Aspect.COMPLETE, code=code, line=line, sentence=sentence)

    def finding(self) -> Finding:
        """Return the answer to `complete`."""
        contradicted = self._problems.finding(Aspect.COMPLETE)
        if contradicted is not None:
            return contradicted
        holds, lacks = self._points()
        if not self._outside.says_something():
            lacks.append(f"{self._size} leaves as asserted by the signer; nothing from outside was given")
        if self._withheld:
            lacks.append(f"{count_of(self._withheld, 'record')} withheld")
        state = State.NOT_ESTABLISHED if lacks else State.ESTABLISHED
        return Finding(aspect=Aspect.COMPLETE, state=state, sentence="; ".join([*holds, *lacks]))

    def _points(self) -> tuple[list[str], list[str]]:
        holds: list[str] = []
        lacks: list[str] = []
        if self._anchor is not None:
            holds.append(
                f"complete up to leaf {self._anchor.size} of {self._size}, by the checkpoint you hold"
            )
        elif self._outside.checkpoint is not None:
            lacks.append("the checkpoint you gave is not signed by this log's key")
        if self._outside.min_size is not None:
            holds.append(f"{self._size} leaves, at least {self._outside.min_size} were asked for")
        if self._outside.max_age_ms is not None:
            (holds if self._is_fresh() else lacks).append(self._age())
        return holds, lacks

    def _is_fresh(self) -> bool:
        limit = self._outside.max_age_ms
        if self._newest_ms is None or limit is None:
            return False
        return -MAX_SKEW_MS <= self._outside.now_ms - self._newest_ms <= limit

    def _age(self) -> str:
        if self._newest_ms is None:
            return "no record states a time, so the log has no age"
        seconds = (self._outside.now_ms - self._newest_ms) // 1000
        whose = "a witness saw it" if self._witnesses else "the newest record was made"
        return f"{whose} {seconds} seconds ago by its own word"

    def anchored(self) -> Finding:
        """Return the answer to `anchored`."""
        witnesses = set(self._witnesses)
        if self._anchor is not None:
            witnesses.add(f"the checkpoint you hold, size {self._anchor.size}")
        by = few(witnesses)
        if not by:
            sentence = "no trusted witness signed the checkpoint and none from outside was given"
            return Finding(aspect=Aspect.ANCHORED, state=State.NOT_ESTABLISHED, sentence=sentence)
        sentence = "the log cannot be rewritten before this point without one of these noticing"
        return Finding(aspect=Aspect.ANCHORED, state=State.ESTABLISHED, sentence=sentence, by=by)


def _anchor(data: bytes | None, *, origin: str, keys: Sequence[PublicKey]) -> Checkpoint | None:
    if data is None:
        return None
    try:
        note = notes.open_note(data)
        checkpoint = notes.parse_checkpoint(note.text)
    except CorruptRecordError as error:
        raise _wrong_checkpoint(error.failed) from error
    if checkpoint.origin != origin:
        raise _wrong_checkpoint(f"it is of the log {checkpoint.origin!r}, the bundle of {origin!r}")
    if checkpoint.size == 0:
        raise _wrong_checkpoint("it is of an empty log, of which every log is a continuation")
    # A file that this log's key did not sign can be held against nobody, not even to contradict.
    signed = any(notes.signature_holds(note, line, key) for line in note.signatures for key in keys)
    return checkpoint if signed else None


def _wrong_checkpoint(why: str) -> UsageError:
    return UsageError(
        "checkpoint_unusable",
        failed=f"The checkpoint file cannot be held against this bundle: {why}",
        state="The bundle was not judged",
        next_step="Give a checkpoint of the same log, as it was exported",
    )
