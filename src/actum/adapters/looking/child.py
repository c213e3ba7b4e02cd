# SPDX-License-Identifier: Apache-2.0
"""Looks made in a process of their own (L1): it has the verifiers and its key, and no executor.

Rules
1. The process is started with a frame that carries its key; it inherits no other secret of ours.
2. A process that ended is started again once for a request; if it ends again, nothing was seen.
   A process that was stopped or hangs is killed when the time for a look is over, and not asked again.
3. A verifier that the process cannot load is not replaced by one of ours: its looks say that nobody looked.
4. An answer counts only for the ask it carries the number of. Whatever breaks off an exchange ends the process, so
   that no later ask reads what is left in the pipe.
5. A look that is worth evidence is signed; an unsigned one after the dispatch is no answer.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any, cast

import msgspec

from actum.adapters.looking.frames import Answer, Ask, Asked, Setup, receive, send
from actum.adapters.looking.timed_pipe import TimedPipe
from actum.model.errors import EnvironmentFault
from actum.model.look import SeenLook
from actum.ports.verifier import LookRequest, Phase

PATIENCE_S = 60.0
"""How long a process may take for one look, its start included."""
END_S = 2.0
EXIT_S = 0.5
"""How long a process that closed its pipe may take to end."""


def _patience(_request: LookRequest) -> float:
    return PATIENCE_S


class ChildLooker:
    """One verifier process, started with the first look."""

    def __init__(
        self,
        setup: Callable[[], Setup],
        *,
        modules: Callable[[], dict[str, dict[str, object]]],
        module: str,
        patience_s: Callable[[LookRequest], float] = _patience,
    ) -> None:
        self._setup = setup
        self._modules = modules
        self._module = module
        self._patience_s = patience_s
        self._asked = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._known: set[str] = set()
        self._lock = threading.Lock()
        self.faults: dict[str, str] = {}

    def look(self, request: LookRequest) -> SeenLook:
        """Return one signed look."""
        return self.look_many([request])[0]

    def look_many(self, requests: list[LookRequest]) -> list[SeenLook]:
        """Return the looks in the order asked; one exchange for all of them."""
        if not requests:
            return []
        with self._lock:
            # Rule 2
            for attempt in (1, 2):
                try:
                    return self._exchange(requests)
                except (OSError, EnvironmentFault, msgspec.MsgspecError) as error:
                    late = isinstance(error, TimeoutError)
                    how = "did not answer in time" if late else self._how_it_ended()
                    self._end(kill=True)
                    if attempt == 2 or late:
                        raise _gone(how, requests) from error
                except BaseException:
                    self._end(kill=True)  # Rule 4
                    raise
        raise AssertionError("unreachable")

    def _exchange(self, requests: list[LookRequest]) -> list[SeenLook]:
        process = self._process
        if process is None or process.poll() is not None:
            self._end()  # The pipes of one that ended are ours to close.
            process = self._start(self._setup())
        fresh = {ref: config for ref, config in self._modules().items() if ref not in self._known}
        self._asked += 1
        asked = [Asked.of(request) for request in requests]
        ask = Ask(number=self._asked, requests=asked, modules=fresh)
        send(TimedPipe(cast("Any", process.stdin), seconds=self._patience_s(requests[0])), ask)
        looks = [self._answer(process, request) for request in requests]
        self._known |= set(fresh)
        return looks

    def _answer(self, process: subprocess.Popen[bytes], request: LookRequest) -> SeenLook:
        # Rule 2
        pipe = TimedPipe(cast("Any", process.stdout), seconds=self._patience_s(request))
        answer = receive(pipe, Answer)
        if answer is None:
            raise OSError("the verifier process closed its pipe")
        # Rule 4
        if answer.number != self._asked:
            raise OSError("the verifier process answered another ask")
        # Rule 5
        if request.phase is not Phase.BEFORE and not answer.bare.sig:
            raise OSError("the verifier process did not sign what it saw")
        self.faults.update(answer.faults)
        return answer.look()

    def _start(self, setup: Setup) -> subprocess.Popen[bytes]:
        # Rule 1
        self._process = subprocess.Popen(
            [sys.executable, "-m", self._module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        send(TimedPipe(cast("Any", self._process.stdin), seconds=PATIENCE_S), setup)
        self._known = set(setup.modules)
        return self._process

    def _how_it_ended(self) -> str:
        """Say how a process that closed its pipe or answered nonsense ended by itself."""
        try:
            code = None if self._process is None else self._process.wait(timeout=EXIT_S)
        except subprocess.TimeoutExpired:
            code = None
        if code is None:
            return "did not answer as it should"
        return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"

    def _end(self, *, kill: bool = False) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if kill:
            process.kill()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    pass
        try:
            process.wait(timeout=END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def close(self) -> None:
        """End the verifier process."""
        with self._lock:
            self._end()


def _gone(how: str, requests: list[LookRequest]) -> EnvironmentFault:
    asked = sorted({request.capability for request in requests})
    return EnvironmentFault(
        "verifier_gone",
        failed=f"the verifier process {how} when it was asked to look for {', '.join(asked[:3])}",
        state="What it was asked about stays unseen; nothing is reported as observed",
        next_step="Run again; if it repeats, look at the verifier and at its own error output",
    )
