# SPDX-License-Identifier: Apache-2.0
"""A desk is a folder with a store and the command line run in this process, as a person would type it."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from actum.adapters.machine.host import user_name
from actum.bootstrap import Kernel
from actum.cli.main import run

EVIL = "pay\u202e100\u200bpounds"
TWO_STEPS = """\
process: orders
work_types: [order]
fields:
  colour: string
  count: int
steps:
  - {id: take, kind: plumbing, fields: [colour]}
"""


class Answer(NamedTuple):
    """What one command came to."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """The one JSON object that was printed."""
        return json.loads(self.out)

    def lines(self) -> list[Any]:
        """All JSON lines that were printed."""
        return [json.loads(line) for line in self.out.splitlines()]

    def three(self) -> list[str]:
        """The three parts of the error, each of which must be there."""
        lines = self.err.splitlines()
        parts = [next(line for line in lines if line.startswith(name)) for name in PARTS]
        return [part.split(":", 1)[1].strip() for part in parts]


PARTS = ("What failed:", "State now:", "What to do:")


class Desk:
    """A folder, the store in it, and commands."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.place = folder / ".actum"
        self._patch = monkeypatch
        monkeypatch.chdir(folder)
        monkeypatch.delenv("ACTUM_STORE", raising=False)

    def __call__(self, *arguments: str, stdin: bytes = b"") -> Answer:
        """Run one command line."""
        streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
        with self._patch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
            patch.setattr(sys, "stdout", streams[0])
            patch.setattr(sys, "stderr", streams[1])
            code = run(arguments)
        out, err = (stream.buffer.getvalue().decode() for stream in streams)
        assert "Traceback" not in out + err
        return Answer(code, out, err)

    def good(self, *arguments: str, stdin: bytes = b"") -> Answer:
        """Run a command that must end with 0."""
        answer = self(*arguments, stdin=stdin)
        assert answer.code == 0, answer
        return answer

    def init(self, *arguments: str) -> Answer:
        """Make the store."""
        return self.good("init", *arguments)

    def process(self, text: str = TWO_STEPS, name: str = "orders.yaml") -> None:
        """Put a process file into the store's folder."""
        (self.place / "processes" / name).write_text(text)

    def submit(self, *items: dict[str, Any]) -> list[Any]:
        """Submit items and return what --json says of each."""
        body = b"".join(json.dumps(item).encode() + b"\n" for item in items)
        return self.good("submit", "-", "--json", stdin=body).lines()

    def propose(self, name: str = "hello.txt", content: str = "hello") -> str:
        """Propose to write a file; return the id of the question."""
        subject = {"capability": "files.write", "arguments": {"path": name, "content": content}}
        self.submit({"work_type": "agent.action", "subject": subject})
        return self.ids()[-1]

    def ids(self) -> list[str]:
        """Return the ids of the open questions."""
        return self.good("inbox", "--ids").out.split()

    def kernel(self) -> Kernel:
        """Open the store as a program would."""
        return Kernel.open(self.place, create=False)

    def count(self, table: str) -> int:
        """Return how many rows a table of the store has, read by somebody else than the product."""
        import apsw

        connection = apsw.Connection(str(self.place / "store.db"), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return next(iter(connection.execute(f"SELECT count(*) FROM {table}")))[0]
        finally:
            connection.close()


def me() -> str:
    """The name under which the tests answer."""
    return user_name()


def has_all(text: str, *parts: str) -> bool:
    """Tell whether a text holds all parts."""
    return all(part in text for part in parts)


__all__: Sequence[str] = ("EVIL", "TWO_STEPS", "Answer", "Desk", "has_all", "me")
