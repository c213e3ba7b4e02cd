# SPDX-License-Identifier: Apache-2.0
"""Bootstrap is the only place that knows which adapter fills which port."""

from __future__ import annotations

from actum.bootstrap.awaiting import AsyncKernel
from actum.bootstrap.kernel import Kernel

__all__ = ["AsyncKernel", "Kernel"]
