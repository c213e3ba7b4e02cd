# SPDX-License-Identifier: Apache-2.0
"""File actions below allowed folders: write, move, trash, restore, delete permanently.

Importing this package loads neither an executor nor a verifier, so that a verifier process, which calls
`verifiers`, never has the code that acts.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from actum.ports.capability import Capability
    from actum.ports.verifier import Verifier


def files_capabilities(
    *, roots: Iterable[Path], keep: Path, protected: Iterable[Path] = ()
) -> list[Capability]:
    """Return the five file capabilities.

    `roots` are the allowed folders; one that does not resolve allows nothing. `keep` is where replaced and
    trashed content is kept. Nobody may act in `protected` folders nor in the keep, wherever they lie.
    Raises OSError where the keep cannot be made.
    """
    from actum.capabilities.files.capability import build

    return [*build(roots=roots, keep=keep, protected=protected)]


def verifier_config(*, roots: Iterable[Path], keep: Path) -> dict[str, object]:
    """Return the plain data from which another process makes the same verifiers."""
    return {"roots": [str(root) for root in roots], "keep": str(keep)}


def verifiers(config: dict[str, object]) -> dict[str, Verifier]:
    """Return the verifiers by capability id, made from `{"roots": [text], "keep": text}`."""
    from actum.capabilities.files.keep import keep_at
    from actum.capabilities.files.paths import resolve_roots
    from actum.capabilities.files.verify import verifiers_for

    given = cast("list[str]", config["roots"])
    roots = resolve_roots(Path(root) for root in given)
    return dict(verifiers_for(roots=roots, keep=keep_at(Path(str(config["keep"])))))
