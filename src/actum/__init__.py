# SPDX-License-Identifier: Apache-2.0
"""Actum is an action kernel: it describes, confirms, delivers, observes and grades effects.

Importing this package imports nothing else of it: the public names are resolved on first use, so
that the command line can start without them.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from actum.bootstrap import AsyncKernel, Kernel

__version__ = "0.1.0"
__all__ = ["AsyncKernel", "Kernel", "__version__"]

_LAZY = {"Kernel": "actum.bootstrap", "AsyncKernel": "actum.bootstrap"}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
