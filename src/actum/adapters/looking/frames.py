# SPDX-License-Identifier: Apache-2.0
"""A frame is four bytes of length and a MessagePack body; a closed pipe is the end, a torn frame is an error.

Values of somebody else's (arguments, results, what was seen) travel as canonical foreign JSON inside it: MessagePack
has no integer of more than 64 bits and no exact decimal, and a verifier must get the value that the executor gets.
"""

from __future__ import annotations

import struct
from typing import Protocol, TypeVar

import msgspec

from actum.model import foreign
from actum.model.errors import EnvironmentFault
from actum.model.look import SeenLook
from actum.ports.verifier import LookRequest

T = TypeVar("T")
FRAME_MAX = 64 * 1024 * 1024
_encode = msgspec.msgpack.Encoder().encode


class Source(Protocol):
    """Where frames come from."""

    def read(self, size: int, /) -> bytes:
        """Return that many bytes, fewer only at the end."""
        ...


class Sink(Protocol):
    """Where frames go to."""

    def write(self, data: bytes, /) -> int:
        """Write all bytes."""
        ...

    def flush(self) -> None:
        """Let them go."""
        ...


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What a verifier process is given at its start: its key and nothing else that is secret.

    ``modules`` is {``module:attribute``: configuration}; ``main_path`` the file of a script whose verifiers
    are named ``__main__``.
    """

    seed: bytes
    store_url: str
    tenant: str
    modules: dict[str, dict[str, object]]
    main_path: str | None


class Asked(msgspec.Struct, frozen=True):
    """A request whose foreign values stand beside it as bytes."""

    bare: LookRequest
    values: bytes

    @staticmethod
    def of(request: LookRequest) -> Asked:
        """Return a request as it travels."""
        values = {"arguments": request.arguments, "before": request.before, "result": request.result}
        bare = msgspec.structs.replace(request, arguments={}, before=None, result=None)
        return Asked(bare, foreign.encode_foreign(values))

    def request(self) -> LookRequest:
        """Return the request that travelled."""
        values = foreign.decode_plain(self.values)
        return msgspec.structs.replace(self.bare, **values)


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """Requests, and modules that were registered since the start. ``number`` counts the asks of a process."""

    number: int
    requests: list[Asked]
    modules: dict[str, dict[str, object]]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One look of the ask with that number, in the order asked, and modules that could not be loaded.

    ``detail`` is the look's, as canonical foreign JSON; the look itself is without it.
    """

    number: int
    bare: SeenLook
    detail: bytes
    faults: dict[str, str]

    @staticmethod
    def of(look: SeenLook, *, number: int, faults: dict[str, str]) -> Answer:
        """Return a look as it travels."""
        detail = foreign.encode_foreign(look.detail)
        return Answer(
            number=number, bare=msgspec.structs.replace(look, detail={}), detail=detail, faults=faults
        )

    def look(self) -> SeenLook:
        """Return the look that travelled."""
        detail = foreign.decode_plain(self.detail)
        return msgspec.structs.replace(self.bare, detail=detail)


def send(stream: Sink, value: object) -> None:
    """Write one frame and flush it."""
    body = _encode(value)
    stream.write(struct.pack(">I", len(body)) + body)
    stream.flush()


def receive(stream: Source, kind: type[T]) -> T | None:
    """Return the next frame, or None at the end of the stream."""
    head = stream.read(4)
    if not head:
        return None
    size = struct.unpack(">I", head)[0] if len(head) == 4 else FRAME_MAX + 1
    body = stream.read(size) if size <= FRAME_MAX else b""
    if len(body) != size:
        raise EnvironmentFault(
            "verifier_frame",
            failed="the verifier process sent half an answer",
            state="Nothing was read from it; what it was asked about stays unseen",
            next_step="Run again; if it repeats, look at the verifier's own error output",
        )
    return msgspec.msgpack.decode(body, type=kind)
