# SPDX-License-Identifier: Apache-2.0
"""A real HTTP server on loopback behaves, or misbehaves, as one function says, and remembers its requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from actum.model.model_call import ModelRequest, ModelTier

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"category": {"type": "string", "enum": ["invoice", "meeting"]}},
    "required": ["category"],
    "additionalProperties": False,
}
KEY_ENV = "ACTUM_TEST_MODEL_KEY"
KEY = "sk-test-0123456789abcdefghij"

Behaviour = Callable[["Handler"], None]


def request_of(**changes: Any) -> ModelRequest:
    """A request for a category, under a contract of 50 tokens."""
    members: dict[str, Any] = {
        "packet_digest": "sha256:" + "0" * 64,
        "system_text": "Say which kind of mail this is.",
        "user_text": "Please pay invoice 12.",
        "json_schema": SCHEMA,
        "max_output_tokens": 50,
        "tier": ModelTier.FAST,
        "data_classes": ("mail_text",),
    }
    return ModelRequest(**{**members, **changes})


class Seen:
    """What the server was sent."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.bodies: list[Any] = []
        self.release = threading.Event()


class Handler(BaseHTTPRequestHandler):
    behaviour: Behaviour
    seen: Seen

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        self.seen.paths.append(self.path)
        self.seen.headers.append({name.lower(): value for name, value in self.headers.items()})
        self.seen.bodies.append(json.loads(self.rfile.read(length)))
        try:
            type(self).behaviour(self)
        except OSError:
            pass  # The client hung up, which is what some of these tests are about.

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def give(
        self,
        body: bytes,
        *,
        status: int = 200,
        content_type: str = "application/json",
        headers: dict[str, str] | None = None,
        announced: int | None = None,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body) if announced is None else announced))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


@contextmanager
def serving(behaviour: Behaviour) -> Iterator[tuple[str, Seen]]:
    """Serve on a free loopback port; yield the base URL and what is sent there."""
    seen = Seen()
    handler = type("BoundHandler", (Handler,), {"behaviour": staticmethod(behaviour), "seen": seen})
    server = _Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
    finally:
        seen.release.set()
        server.shutdown()
        server.server_close()
        thread.join()


def giving(value: object, **how: Any) -> Behaviour:
    """Answer with one JSON value or with raw bytes."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return lambda handler: handler.give(body, **how)


def endless(handler: Handler) -> None:
    """Send a body that ends long after anybody should still be reading: 64 MiB."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.end_headers()
    for _ in range(1024):
        handler.wfile.write(b" " * 65536)


def silent(handler: Handler) -> None:
    """Send nothing until the test is over."""
    handler.seen.release.wait(30)


def dripping(handler: Handler) -> None:
    """Send one byte of a header at a time: each operation is quick, the whole takes eight seconds."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    for _ in range(160):
        if handler.seen.release.wait(0.05):
            return
        handler.wfile.write(b"a")
        handler.wfile.flush()
