# SPDX-License-Identifier: Apache-2.0
"""The same kernel for code that awaits: each method runs in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from actum.bootstrap.kernel import Kernel
from actum.bootstrap.turn import Turn
from actum.model.message import Message
from actum.model.question import Question
from actum.service import runner, settle


class AsyncKernel:
    """The same kernel for code that awaits: each method runs in a thread."""

    def __init__(self, kernel: Kernel) -> None:
        self.sync = kernel

    @classmethod
    async def open(cls, path: str | Path | None = None, **options: Any) -> AsyncKernel:
        """Open a store; see ``Kernel.open``."""
        return cls(await asyncio.to_thread(Kernel.open, path, **options))

    async def submit(self, work_type: str, subject: Mapping[str, object], **options: Any) -> Turn:
        """See ``Kernel.submit``."""
        return await asyncio.to_thread(self.sync.submit, work_type, subject, **options)

    async def propose(self, capability: str, arguments: Mapping[str, object], **options: Any) -> Turn:
        """See ``Kernel.propose``."""
        return await asyncio.to_thread(self.sync.propose, capability, arguments, **options)

    async def run(self, **options: Any) -> runner.Ran:
        """See ``Kernel.run``."""
        return await asyncio.to_thread(self.sync.run, **options)

    async def inbox(self, **options: Any) -> list[Question]:
        """See ``Kernel.inbox``."""
        return await asyncio.to_thread(self.sync.inbox, **options)

    async def confirm(self, question_ids: str | Sequence[str], **options: Any) -> list[str]:
        """See ``Kernel.confirm``."""
        return await asyncio.to_thread(self.sync.confirm, question_ids, **options)

    async def settle(self, outbox_id: str, word: str | None = None, **options: Any) -> settle.Settled:
        """See ``Kernel.settle``."""
        return await asyncio.to_thread(self.sync.settle, outbox_id, word, **options)

    async def say(self, turn_id: str, text: str, **options: Any) -> Message:
        """See ``Kernel.say``."""
        return await asyncio.to_thread(self.sync.say, turn_id, text, **options)

    async def close(self) -> None:
        """See ``Kernel.close``."""
        await asyncio.to_thread(self.sync.close)

    async def __aenter__(self) -> AsyncKernel:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
