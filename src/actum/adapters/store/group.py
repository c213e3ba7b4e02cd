# SPDX-License-Identifier: Apache-2.0
"""Writes that wait at the same time share one commit, and each is still all or nothing.

Rules
1. One thread of a process writes at a time. Whoever gets the lock commits for all that wait; the others
   find their work done. No thread of its own is needed, and a lone writer pays for no hand-over.
2. Each write of a shared commit has its own savepoint: one that raises leaves nothing and harms nobody.
3. Nobody is told before the commit is on the disk; where it is unknown whether it got there, that is said.
   A write that was begun for somebody who was then not answered is such a one, and is never made again.
4. A write inside a write, or in a process that was forked off, is a defect and stops.
"""

from __future__ import annotations

import enum
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from actum.adapters.store.rows import Rows
from actum.model.errors import EnvironmentFault, InvariantViolation, UsageError

T = TypeVar("T")
X = TypeVar("X", bound=Rows)
GROUP_MAX = 256
"""How many writes share a commit at most; more would let the first of them wait too long."""


class _State(enum.Enum):
    QUEUED = "queued"
    TAKEN = "taken"
    ENDED = "ended"


class _Waiting:
    """One write that waits for a commit; it is taken from just before its work begins until its end is known."""

    __slots__ = ("work", "state", "result", "error")

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self.work = work
        self.state = _State.QUEUED
        self.result: Any = None
        self.error: BaseException | None = None


class GroupCommit(ABC, Generic[X]):
    """Collects writes and commits them together; a database says how it begins, marks and ends.

    It has one connection that writes and a pool of those that read, which the database opens.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._writer: Any = None
        self._readers: list[Any] = []
        self._writing = threading.Lock()
        self._queue: list[_Waiting] = []
        self._queue_lock = threading.Lock()
        self._writer_thread = 0
        self._pid = os.getpid()
        self._commits = 0
        self._closed = False

    @abstractmethod
    def _begin(self) -> X:
        """Begin a write transaction, after taking back one that an interrupt left open, and return it."""

    @abstractmethod
    def _end(self) -> None:
        """Commit; raise where it did not happen."""

    @abstractmethod
    def _undo(self) -> None:
        """Roll back what is left of the transaction; never raises."""

    @abstractmethod
    def _mark(self) -> None:
        """Set a savepoint."""

    @abstractmethod
    def _back(self) -> bool:
        """Go back to the savepoint; False where the whole transaction is gone."""

    @abstractmethod
    def _keep(self) -> None:
        """Release the savepoint."""

    def write(self, work: Callable[[X], T]) -> T:
        """Run ``work`` in a transaction; return after the commit is on the disk."""
        self._stop_misuse()
        mine = _Waiting(work)
        try:
            with self._queue_lock:
                self._queue.append(mine)
            self._until_ended(mine)
        except BaseException:
            # Whoever is interrupted while waiting takes the write back, unless it is being made.
            with self._queue_lock:
                if mine in self._queue:
                    self._queue.remove(mine)
            raise
        if mine.error is not None:
            raise mine.error
        return mine.result

    def _until_ended(self, mine: _Waiting) -> None:
        while mine.state is not _State.ENDED:
            with self._writing:  # Rule 1
                match mine.state:
                    case _State.QUEUED:
                        self._commit(self._next_group(mine), leader=mine)
                    case _State.TAKEN:
                        # Whoever made it was interrupted before saying how it ended.
                        raise commit_unknown(self._where)  # Rule 3

    def commits(self) -> int:
        """Return how many commits this object made since it was opened."""
        return self._commits

    def _stop_misuse(self) -> None:
        # Rule 4
        if self._writer_thread == threading.get_ident() and self._writing.locked():
            raise InvariantViolation("write_within_write", store=self._where)
        self._stop_after_end()

    def _stop_after_end(self) -> None:
        if self._pid != os.getpid():
            raise InvariantViolation("store_used_after_fork", store=self._where)
        if self._closed:
            raise closed(self._where)

    def close(self) -> None:
        """Close all connections, after a write that is being made. Closing twice is harmless."""
        with self._writing:
            if self._closed or self._pid != os.getpid():
                return
            self._closed = True
            while self._readers:
                self._readers.pop().close()
            self._writer.close()

    def _next_group(self, mine: _Waiting) -> list[_Waiting]:
        with self._queue_lock:
            group = self._queue[:GROUP_MAX]
            del self._queue[:GROUP_MAX]
            if mine not in group and mine not in self._queue:
                group.append(mine)  # a leader was interrupted between taking the group and beginning it
        return group

    def _commit(self, group: list[_Waiting], *, leader: _Waiting) -> None:
        try:
            self._writer_thread = threading.get_ident()
            self._commit_all(group, leader=leader)
        finally:
            self._writer_thread = 0

    def _commit_all(self, group: list[_Waiting], *, leader: _Waiting) -> None:
        ending = False
        try:
            if self._closed:
                raise closed(self._where)
            tx = self._begin()
            tx.live = True
            for waiting in group:
                waiting.state, waiting.error = _State.TAKEN, None
                if len(group) == 1:
                    self._work(tx, waiting)
                else:
                    self._work_marked(tx, waiting)
            tx.live = False
            ending = True
            self._end()
            self._commits += 1
        except BaseException as error:
            self._undo()
            for waiting in group:
                if waiting is leader or isinstance(error, Exception):
                    waiting.error = waiting.error or error
                else:
                    waiting.error = waiting.error or _interrupted(self._where, ending=ending)
            self._answer(group)
        else:
            self._answer(group)

    @staticmethod
    def _answer(group: list[_Waiting]) -> None:
        for waiting in group:
            waiting.state = _State.ENDED

    @staticmethod
    def _work(tx: X, waiting: _Waiting) -> None:
        tx.broken = None
        waiting.result = waiting.work(tx)
        if tx.broken is not None:
            raise tx.broken

    def _work_marked(self, tx: X, waiting: _Waiting) -> None:
        # Rule 2
        self._mark()
        try:
            self._work(tx, waiting)
        except Exception as error:
            if not self._back():
                raise
            waiting.error = error
        self._keep()


def closed(where: str) -> UsageError:
    """Return the error for a store that was closed."""
    return UsageError(
        "store_closed",
        failed=f"the store {where} was closed before this call",
        state="Nothing was read or written",
        next_step="Open it again",
    )


def _interrupted(where: str, *, ending: bool) -> EnvironmentFault:
    if ending:
        return commit_unknown(where)  # Rule 3
    return EnvironmentFault(
        "write_interrupted",
        failed=f"a write to {where} was interrupted together with the one it shared a commit with",
        state="It was rolled back; everything committed before it is kept",
        next_step="Repeat the call",
    )


def commit_unknown(where: str) -> EnvironmentFault:
    """Return the error for a commit whose end nobody saw."""
    return EnvironmentFault(
        "commit_unknown",
        failed=f"the commit to {where} was cut off before its answer came",
        state="Whether this write was kept is not known; it is whole or absent, never half there",
        next_step="Look at the record before repeating the command",
    )
