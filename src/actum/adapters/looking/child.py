# SPDX-License-Identifier: Apache-2.0
"""Looks made in a process of their own (L1): it has the verifiers and its key, and no executor.

Rules
1. The process is started with a frame that carries its key; it inherits no other secret of ours.
2. A process that ended is started again once for a request; if it ends again, nothing was seen.
3. A verifier that the process cannot load is not replaced by one of ours: its looks say that nobody looked.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any, cast

from actum.adapters.looking.frames import Answer, Ask, Setup, receive, send
from actum.model.errors import EnvironmentFault
from actum.model.look import SeenLook
from actum.ports.verifier import LookRequest


class ChildLooker:
    """One verifier process, started with the first look."""

    def __init__(
        self,
        setup: Callable[[], Setup],
        *,
        modules: Callable[[], dict[str, dict[str, object]]],
        module: str,
    ) -> None:
        self._setup = setup
        self._modules = modules
        self._module = module
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
                except (OSError, EnvironmentFault) as error:
                    self._end()
                    if attempt == 2:
                        raise EnvironmentFault(
                            "verifier_gone",
                            failed="the verifier process ended while it was asked to look",
                            state="What it was asked about stays unseen; nothing is reported as observed",
                            next_step="Run again; if it repeats, run `actum doctor` and look at its error output",
                        ) from error
        raise AssertionError("unreachable")

    def _exchange(self, requests: list[LookRequest]) -> list[SeenLook]:
        process = self._process
        if process is None or process.poll() is not None:
            self._end()  # The pipes of one that ended are ours to close.
            process = self._start(self._setup())
        fresh = {ref: config for ref, config in self._modules().items() if ref not in self._known}
        send(cast("Any", process.stdin), Ask(requests=requests, modules=fresh))
        answer = receive(cast("Any", process.stdout), Answer)
        if answer is None or len(answer.looks) != len(requests):
            raise OSError("the verifier process closed its pipe")
        self._known |= set(fresh)
        self.faults.update(answer.faults)
        return answer.looks

    def _start(self, setup: Setup) -> subprocess.Popen[bytes]:
        # Rule 1
        self._process = subprocess.Popen(
            [sys.executable, "-m", self._module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        send(cast("Any", self._process.stdin), setup)
        self._known = set(setup.modules)
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    pass
        try:
            process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def close(self) -> None:
        """End the verifier process."""
        with self._lock:
            self._end()
