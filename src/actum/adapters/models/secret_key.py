# SPDX-License-Identifier: Apache-2.0
"""A provider's key is read from the environment for one call and kept nowhere."""

from __future__ import annotations

import os
import re


def read_key(variable: str) -> str | None:
    """Return the key the environment variable holds, None where it is unset or no header could carry it."""
    key = os.environ.get(variable, "")
    return key if re.fullmatch(r"[\x21-\x7e]{1,4096}", key, re.ASCII) else None
