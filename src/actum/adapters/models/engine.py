# SPDX-License-Identifier: Apache-2.0
"""One llama.cpp engine for each weights file and process: loaded once, asked one at a time, stopped in time.

The runtime starts an HTTP listener of its own on a loopback port and offers no way to leave it out. It is
given a random key that nobody is told, so that no other user of the machine can ask it or read prompts.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import secrets
import threading
import time
from pathlib import Path
from typing import Any, cast

import msgspec

_EXIT_WAIT_S = 20.0


class EngineKey(msgspec.Struct, frozen=True):
    """What makes two engines different."""

    path: str
    digest: str
    context_tokens: int
    threads: int


class EngineReply:
    """What a streamed answer has said so far; `stop` set from outside ends it at its next token."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.finish_reason = ""
        self.input_tokens: int | None = None
        self.output_tokens: int | None = None
        self.error_type: str | None = None
        self.stop = False
        self.ended = threading.Event()

    def take(self, event: dict[str, Any]) -> bool:
        """Read one event; return True to stop the model."""
        error = event.get("error")
        if error is not None:
            self.error_type = str(error.get("type", "unknown"))
        for choice in event.get("choices", ()):
            self.pieces.append(choice.get("delta", {}).get("content") or "")
            self.finish_reason = choice.get("finish_reason") or self.finish_reason
        usage = event.get("usage")
        if usage is not None:
            self.input_tokens = int(usage["prompt_tokens"])
            self.output_tokens = int(usage["completion_tokens"])
        return self.stop


class Engine:
    """A loaded model; `ask` may be called from any thread, and calls take turns."""

    def __init__(self, key: EngineKey) -> None:
        # Imported here, because the library alone costs more than a whole command that asks no model.
        import xllamacpp

        library = cast(Any, xllamacpp)
        params = library.CommonParams()
        params.model.path = key.path
        params.n_ctx = key.context_tokens
        params.n_parallel = 1
        params.cpuparams.n_threads = key.threads
        params.offline = True
        params.verbosity = -1
        params.warmup = False
        params.ui = False
        params.ctx_shift = False
        # An answer must not depend on what was asked before it.
        params.cache_prompt = False
        params.cache_ram_mib = 0
        params.api_keys = [secrets.token_hex(32)]
        self._server: Any = library.Server(params)
        self._turn = threading.Lock()
        self._current: EngineReply | None = None

    def ask(self, body: dict[str, object], *, ends_at: float) -> EngineReply | None:
        """Return what the model said, None where `ends_at` (monotonic seconds) came first."""
        if not self._turn.acquire(timeout=max(0.0, ends_at - time.monotonic())):
            return None
        reply = self._current = EngineReply()
        # A prompt's evaluation cannot be interrupted, so the caller waits outside of it.
        threading.Thread(target=self._run, args=(body, reply), daemon=True).start()
        if reply.ended.wait(max(0.0, ends_at - time.monotonic())):
            return reply
        reply.stop = True
        return None

    def close(self) -> None:
        """Stop the running answer and release the model; called once, at exit."""
        if self._current is not None:
            self._current.stop = True
        if self._turn.acquire(timeout=_EXIT_WAIT_S):
            self._server = None
        else:
            self.abandon()

    def abandon(self) -> None:
        """Never run the destructor: it would wait for threads that are not there or do not end."""
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._server))

    def _run(self, body: dict[str, object], reply: EngineReply) -> None:
        try:
            self._server.handle_chat_completions(body, reply.take)
        # The library raises ValueError for a schema it cannot use and RuntimeError for a body it cannot read.
        except ValueError:
            reply.error_type = "schema_unsupported"
        except Exception:
            reply.error_type = "runtime_error"
        finally:
            self._current = None
            self._turn.release()
            reply.ended.set()


class ForkedAfterLoadError(Exception):
    """This process was forked from one that had loaded the runtime, whose threads did not come along."""


_engines: dict[EngineKey, Engine] = {}
_loading = threading.Lock()
_forked_after_load = False


def engine_for(path: Path, *, digest: str, context_tokens: int, threads: int) -> Engine:
    """Return this process's engine for the weights, loading it the first time; raise what loading raises.

    A child forked after loading gets ForkedAfterLoadError: the runtime would abort the process. Such a child
    must leave by os._exit, as multiprocessing does, for the runtime's exit handlers wait for lost threads.
    """
    if _forked_after_load:
        raise ForkedAfterLoadError
    key = EngineKey(str(path), digest, context_tokens, threads)
    with _loading:
        engine = _engines.get(key)
        if engine is None:
            engine = _engines[key] = Engine(key)
        return engine


def _close_all() -> None:
    for engine in _engines.values():
        engine.close()
    _engines.clear()


def _forget_in_child() -> None:
    global _loading, _forked_after_load
    _loading = threading.Lock()
    _forked_after_load = _forked_after_load or bool(_engines)
    for engine in _engines.values():
        engine.abandon()
    _engines.clear()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_forget_in_child)
