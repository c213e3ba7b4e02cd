# SPDX-License-Identifier: Apache-2.0
"""One HTTPS request to a model endpoint ends by its deadline, within its size, and never goes elsewhere.

The standard library's client is used and not httpx: what this call must promise, a deadline for the whole
exchange, a bound on the body and a refusal of redirects, httpx does not offer either (its timeouts are per
operation), so it would bring five packages and leave the same code to write here. Connections are not reused:
a call takes seconds, its handshake milliseconds. Proxy variables of the environment are ignored, so that a
packet goes to the configured host or nowhere. Name resolution is outside the deadline: the system's own
limit holds there.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec

from actum.adapters.models.admission import code
from actum.model.canonical import ForeignNumber, JsonRefused, parse_foreign
from actum.model.model_call import ModelFaultKind

MAX_BODY_BYTES = 4 * 1024 * 1024
_CHUNK_BYTES = 64 * 1024
# How providers say that the prompt does not fit; looked for in the error's own text, which is never kept.
_OVER_CONTEXT = ("context length", "context size", "context window", "prompt is too long", "context_length")
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A host that packets may be sent to; `path` is the prefix without a trailing slash."""

    secure: bool
    host: str
    port: int
    path: str

    @property
    def is_loopback(self) -> bool:
        """The name can only mean this machine (it is checked again on the connected socket)."""
        return self.host in _LOOPBACK_NAMES


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """A 200 answer's JSON object, as a foreign value."""

    members: dict[str, Any]


class ExchangeFault(msgspec.Struct, frozen=True, kw_only=True):
    """No usable answer: the kind, a code of ours, and the seconds the other side asked us to wait."""

    kind: ModelFaultKind
    detail: str
    retry_after_s: int | None = None


def read_endpoint(base_url: str) -> Endpoint | str:
    """Return the endpoint of a base URL, or the sentence that says why it is refused."""
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return "it is not a URL"
    if re.search(r"[\x00-\x20\x7f-\U0010ffff]", base_url) or not host:
        return "it is not a URL"
    if parts.username is not None or parts.password is not None:
        return "it holds a user or password; a key belongs in an environment variable"
    if parts.query or parts.fragment:
        return "it holds a query or fragment"
    secure = parts.scheme == "https"
    endpoint = Endpoint(
        secure=secure, host=host, port=port or (443 if secure else 80), path=parts.path.rstrip("/")
    )
    if not secure and not (parts.scheme == "http" and endpoint.is_loopback):
        return "it is not https, which only localhost, 127.0.0.1 and ::1 may do without"
    return endpoint


def post_json(
    endpoint: Endpoint,
    path: str,
    *,
    headers: Mapping[str, str],
    body: Mapping[str, object],
    deadline_s: float,
    max_body_bytes: int = MAX_BODY_BYTES,
) -> Exchange | ExchangeFault:
    """Send one request and return what came back; nothing is retried and no redirect is followed."""
    ends_at = time.monotonic() + deadline_s
    payload = json.dumps(body, ensure_ascii=True, allow_nan=False).encode("ascii")
    call = _Call(endpoint, ends_at)
    try:
        status, received, retry_after_s, kind = call.run(
            endpoint.path + path, headers=headers, payload=payload, max_body_bytes=max_body_bytes
        )
    # No text of an exception is kept: some of them quote the header that holds the key.
    except ssl.SSLError:
        return _late_or(call, ModelFaultKind.UNAVAILABLE, "tls_failed")
    except _BodyOverBoundError:
        return ExchangeFault(kind=ModelFaultKind.TOO_LONG, detail="body_over_bound")
    except _PlainTextAbroadError:
        return ExchangeFault(kind=ModelFaultKind.NOT_ALLOWED, detail="plain_http_not_loopback")
    except _CutOffError:
        return _late_or(call, ModelFaultKind.TRUNCATED, "body_cut_off")
    except OSError:
        return _late_or(call, ModelFaultKind.UNAVAILABLE, "not_reached")
    except (http.client.HTTPException, ValueError):
        return _late_or(call, ModelFaultKind.GARBAGE, "not_http")
    finally:
        call.close()
    if call.is_late:
        return ExchangeFault(kind=ModelFaultKind.TIMEOUT, detail="deadline_passed")
    if status != 200:
        return _fault_of_status(status, received, retry_after_s)
    return _read_body(received, kind)


class _BodyOverBoundError(Exception):
    """The other side sent more than any answer needs."""


class _PlainTextAbroadError(Exception):
    """A loopback name led to another machine."""


class _CutOffError(Exception):
    """The body ended before its announced length."""


class _Call:
    """A socket with a watchdog: at the deadline it is shut down, whatever it is waiting for."""

    def __init__(self, endpoint: Endpoint, ends_at: float) -> None:
        self._endpoint = endpoint
        self._ends_at = ends_at
        self._socket: socket.socket | None = None
        self._watchdog: threading.Timer | None = None
        self.was_cut = False

    @property
    def is_late(self) -> bool:
        return self.was_cut or time.monotonic() >= self._ends_at

    def run(
        self, path: str, *, headers: Mapping[str, str], payload: bytes, max_body_bytes: int
    ) -> tuple[int, bytes, int | None, str]:
        connection = http.client.HTTPConnection(self._endpoint.host, self._endpoint.port)
        connection.sock = self._connect()
        connection.auto_open = 0
        always = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "Connection": "close",
            "User-Agent": "actum",
        }
        connection.request("POST", path, body=payload, headers={**always, **headers})
        response = connection.getresponse()
        received = _read_bounded(response, max_body_bytes)
        kind = response.headers.get_content_type()
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            kind = "encoded"
        return response.status, received, _seconds(response.headers.get("Retry-After")), kind

    def close(self) -> None:
        if self._watchdog is not None:
            self._watchdog.cancel()
        if self._socket is not None:
            self._socket.close()

    def _connect(self) -> socket.socket:
        left_s = self._ends_at - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        plain = socket.create_connection((self._endpoint.host, self._endpoint.port), timeout=left_s)
        self._socket = plain
        if self._endpoint.secure:
            context = ssl.create_default_context()
            # The handshake comes after the watchdog has the socket, so that it cannot be dragged out.
            self._socket = context.wrap_socket(
                plain, server_hostname=self._endpoint.host, do_handshake_on_connect=False
            )
        elif not ipaddress.ip_address(plain.getpeername()[0]).is_loopback:
            raise _PlainTextAbroadError
        self._watchdog = threading.Timer(max(0.0, self._ends_at - time.monotonic()), self._cut)
        self._watchdog.daemon = True
        self._watchdog.start()
        if isinstance(self._socket, ssl.SSLSocket):
            self._socket.do_handshake()
        return self._socket

    def _cut(self) -> None:
        self.was_cut = True
        try:
            if self._socket is not None:
                self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # It was closed in the same moment, which is all that was wanted.


def _read_bounded(response: http.client.HTTPResponse, max_body_bytes: int) -> bytes:
    received = bytearray()
    try:
        while chunk := response.read(_CHUNK_BYTES):
            received += chunk
            if len(received) > max_body_bytes:
                raise _BodyOverBoundError
    except http.client.IncompleteRead as error:
        raise _CutOffError from error
    if response.length:
        raise _CutOffError
    return bytes(received)


def _late_or(call: _Call, kind: ModelFaultKind, detail: str) -> ExchangeFault:
    if call.is_late:
        return ExchangeFault(kind=ModelFaultKind.TIMEOUT, detail="deadline_passed")
    return ExchangeFault(kind=kind, detail=detail)


def _seconds(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(r"[0-9]{1,6}", text.strip(), re.ASCII) else None


def _read_body(received: bytes, content_type: str) -> Exchange | ExchangeFault:
    if not received.strip():
        return ExchangeFault(kind=ModelFaultKind.EMPTY, detail="no_body")
    if content_type != "application/json":
        return ExchangeFault(kind=ModelFaultKind.GARBAGE, detail="content_type")
    try:
        value = parse_foreign(received)
    except JsonRefused as refused:
        return ExchangeFault(kind=ModelFaultKind.GARBAGE, detail=code(f"body_{refused.code}"))
    if not isinstance(value, dict):
        return ExchangeFault(kind=ModelFaultKind.GARBAGE, detail="body_no_object")
    return Exchange(members=cast("dict[str, Any]", value))


def _fault_of_status(status: int, received: bytes, retry_after_s: int | None) -> ExchangeFault:
    kind, detail = ModelFaultKind.UNAVAILABLE, f"http_{status}"
    if status in (401, 403):
        kind = ModelFaultKind.UNAUTHORISED
    elif status == 429:
        kind = ModelFaultKind.RATE_LIMITED
    elif status == 413 or (status == 400 and _says_over_context(received)):
        kind, detail = ModelFaultKind.TOO_LONG, "prompt_over_context"
    elif status == 408:
        kind = ModelFaultKind.TIMEOUT
    elif 300 <= status < 400:
        detail = "redirect_refused"
    return ExchangeFault(kind=kind, detail=detail, retry_after_s=retry_after_s)


def _says_over_context(received: bytes) -> bool:
    said = received[:_CHUNK_BYTES].decode("utf-8", "replace").lower()
    return any(phrase in said for phrase in _OVER_CONTEXT)


def member(value: object, *path: str | int) -> Any:
    """Return the value at `path` in a foreign value, None where any step of it is absent."""
    for step in path:
        if isinstance(step, int):
            items = cast("list[object]", value) if isinstance(value, list) else []
            value = items[step] if step < len(items) else None
        else:
            value = cast("dict[str, object]", value).get(step) if isinstance(value, dict) else None
    return value


def count(value: object) -> int | None:
    """Return a foreign number as a token count, None where it is none."""
    text = value.text if isinstance(value, ForeignNumber) else ""
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text, re.ASCII) else None
