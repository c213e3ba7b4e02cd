# SPDX-License-Identifier: Apache-2.0
"""Bootstrap is the only place that knows which adapter fills which port."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from actum.bootstrap.awaiting import AsyncKernel
    from actum.bootstrap.kernel import Kernel

__all__ = ["AsyncKernel", "Kernel"]

# Resolved on first use, so that a program that does not await does not load asyncio.
_LAZY = {"Kernel": "actum.bootstrap.kernel", "AsyncKernel": "actum.bootstrap.awaiting"}


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
