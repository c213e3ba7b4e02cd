# SPDX-License-Identifier: Apache-2.0
"""Foreign test vectors are read where the shared folder is, and their absence is visible."""

import json
import os
from pathlib import Path
from typing import Any

from actum.testing.require import require_part

_shared = Path(os.environ.get("ACTUM_SHARED") or Path(__file__).resolve().parents[4] / "shared")


def vectors(*parts: str) -> Path:
    """Return the path of a vector file or folder, or skip the calling test."""
    path = _shared.joinpath("vectors", *parts)
    require_part(path.exists(), f"shared vectors absent: {'/'.join(parts)}")
    return path


def vector_json(*parts: str) -> Any:
    """Return the parsed content of a vector file, or skip the calling test."""
    return json.loads(vectors(*parts).read_text())
