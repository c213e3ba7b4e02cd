# SPDX-License-Identifier: Apache-2.0
"""The verifier process: it is handed its key and the names of verifiers, looks when asked, and never acts.

Rules
1. It reads its key from the first frame and nothing from the environment of keys.
2. Its own connection to the store is opened only for reading, at the first look that needs it.
3. A script that registers actions is loaded under another name than ``__main__``, so that its main part does not
   run here, and ``Kernel.open`` in it opens nothing. One that breaks off is not used in part.
4. Of a module only two things are called: ``verifiers`` of a module of our own, and the ``actum_verifiers`` of an
   action. A plain function of that name may be the one that acts, and is never called.
5. It reads nothing but frames and ends with the process that started it, whatever a verifier is busy with.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import select
import signal
import sys
import threading
import time
from typing import Any, BinaryIO, cast

from actum.adapters.looking.frames import Answer, Ask, Setup, receive, send
from actum.adapters.looking.signed import make_look
from actum.adapters.machine.clock import SystemClock
from actum.adapters.signing.ed25519 import Ed25519Signer
from actum.bootstrap import registering
from actum.model.errors import a_kind
from actum.model.look import Level
from actum.ports.verifier import Verifier

MAIN = "__main__"
SCRIPT = "__actum_script__"
OWN = "actum.capabilities."
FAULT_MAX = 400
PARENT_POLL_S = 0.5


class Verifiers:
    """The loaded verifiers by capability id."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._store: Any = None
        self.by_id: dict[str, Verifier] = {}
        self.faults: dict[str, str] = {}
        self.missing: dict[str, str] = {}
        self._script_fault: BaseException | None = None

    def load(self, modules: dict[str, dict[str, object]]) -> None:
        """Load verifiers; one that cannot be loaded is named in ``faults`` and its looks say so."""
        for reference, config in modules.items():
            try:
                self.by_id.update(self._made(reference, config))
            # A verifier of somebody else's module can fail in any way at import, and leave by sys.exit. No interrupt
            # reaches this process, so one that is raised here is the module's own doing too.
            except BaseException as error:
                why = f"{type(error).__name__}: {error}"[:FAULT_MAX]
                self.faults[reference] = why
                self.missing[str(config.get("capability"))] = f"{reference} was not loaded: {why}"

    def _made(self, reference: str, config: dict[str, object]) -> dict[str, Verifier]:
        name, _, attribute = reference.partition(":")
        found: Any = getattr(self._module(name), attribute)
        if config.get("needs_store"):
            config = {**config, "open_store": self._opened()}
        # Rule 4
        own = name.startswith(OWN) and attribute == "verifiers"
        make: Any = found if own else getattr(found, "actum_verifiers", None)
        if not callable(make):
            raise TypeError(f"{attribute} is {a_kind(found)} here, not an action with a verifier")
        return cast("dict[str, Verifier]", make(config))

    def _module(self, name: str) -> Any:
        # Rule 3
        if name != MAIN:
            return importlib.import_module(name)
        if self._script_fault is not None:
            raise self._script_fault
        if SCRIPT not in sys.modules:
            path = self._setup.main_path or ""
            spec = importlib.util.spec_from_file_location(SCRIPT, path)
            if spec is None or spec.loader is None:
                raise ImportError(f"no script at {path}")
            module = importlib.util.module_from_spec(spec)
            sys.modules[SCRIPT] = module
            sys.path.insert(0, os.path.dirname(path))
            try:
                spec.loader.exec_module(module)
            except BaseException as error:
                self._script_fault = error
                raise
        return sys.modules[SCRIPT]

    def _opened(self) -> Any:
        # Rule 2
        if self._store is None:
            from actum.adapters.store.opening import open_store

            self._store = open_store(self._setup.store_url, tenant=self._setup.tenant)
        return self._store


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Answer asks until the pipe closes."""
    setup = receive(source, Setup)
    if setup is None:
        return
    # Rule 1
    signer = Ed25519Signer.from_seed(setup.seed)
    clock = SystemClock()
    verifiers = Verifiers(setup)
    verifiers.load(setup.modules)
    while (ask := receive(source, Ask)) is not None:
        verifiers.load(ask.modules)
        for asked in ask.requests:
            look = make_look(
                asked.request(), verifiers=verifiers.by_id, signer=signer, now_ms=clock.now_ms(), level=Level.L1,
                missing=verifiers.missing,
            )  # fmt: skip
            send(sink, Answer.of(look, number=ask.number, faults=verifiers.faults))


def end_with(parent: int) -> None:
    """Wait for the parent's end and end this process at once."""
    # The kernel's death signal would come with the end of the thread that started us; this one asks the process.
    try:
        watched = os.pidfd_open(parent)
    except (AttributeError, OSError):
        while os.getppid() == parent:
            time.sleep(PARENT_POLL_S)
    else:
        # One that ended before it was opened has left us to another parent.
        if os.getppid() == parent:
            select.select([watched], [], [])
    os._exit(0)


def main() -> None:
    """Serve on standard input and output; what verifiers print goes to standard error."""
    registering.ONLY = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source = os.fdopen(os.dup(0), "rb")
    sink = os.fdopen(os.dup(1), "wb")
    # Rule 5
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    try:
        serve(source, sink)
        sys.stdout.flush()
    except BrokenPipeError:
        os._exit(0)  # Nobody reads any more; an ordinary end would write what is left and complain.


if __name__ == "__main__":
    main()
