# SPDX-License-Identifier: Apache-2.0
"""The five file capabilities: what each declares, and which describer, executor and verifier belong to it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from actum.capabilities.files import project
from actum.capabilities.files.describe import describe
from actum.capabilities.files.execute import EXECUTORS
from actum.capabilities.files.keep import keep_at, prepare
from actum.capabilities.files.paths import resolve_roots
from actum.capabilities.files.rehearse import not_flagged, rehearse_delete
from actum.capabilities.files.resolve import Scene
from actum.capabilities.files.verify import FileVerifier, verifiers_for
from actum.model.effect import Claims, EffectClass, Externality, PrivilegeLevel, Reversibility
from actum.model.errors import Refused
from actum.ports.capability import CapabilityInfo, DescribeContext, Described, Rehearsal
from actum.ports.executor import EffectView, Executor
from actum.ports.verifier import Verifier

VERIFIER_REF = "actum.capabilities.files:verifiers"


class FileCapability:
    """One kind of file action."""

    def __init__(self, info: CapabilityInfo, *, scene: Scene, verifier: FileVerifier) -> None:
        self.info = info
        self.executor: Executor = EXECUTORS[info.id](roots=scene.roots, keep=scene.keep)
        self.verifier: Verifier = verifier
        self._scene = scene

    def describe(self, arguments: dict[str, object], *, context: DescribeContext) -> Described | Refused:
        """Resolve the arguments to real files, changing nothing; the answer depends on no clock or turn."""
        del context
        return describe(self.info.id, arguments, scene=self._scene)

    def rehearse(self, effect: EffectView) -> Rehearsal:
        """Rehearse a permanent deletion on a copy; the others can be taken back and are not flagged."""
        if self.info.id == project.DELETE:
            return rehearse_delete(effect, roots=self._scene.roots, keep=self._scene.keep)
        return not_flagged()


def build(*, roots: Iterable[Path], keep: Path, protected: Iterable[Path]) -> list[FileCapability]:
    """Return the five capabilities; the keep's folders are made here, private to this user."""
    kept = keep_at(keep)
    prepare(kept)
    scene = Scene(roots=resolve_roots(roots, protected=(Path(kept.path), *protected)), keep=kept)
    looking = verifiers_for(roots=scene.roots, keep=kept)
    return [FileCapability(_info(name), scene=scene, verifier=looking[name]) for name in project.ALL]


def _info(capability: str) -> CapabilityInfo:
    info = CapabilityInfo(
        id=capability,
        version=project.VERSION,
        effect_class=EffectClass.ACTION,
        reversibility=Reversibility.REVERSIBLE,
        externality=Externality.LOCAL_ONLY,
        privilege_level=PrivilegeLevel.STANDARD,
        claims=Claims.CHANGE,
        absence_is_proof=True,
        consistency_window_ms=0,
        attempts_max=3,
        verifier_ref=VERIFIER_REF,
        data_classes=("file_content",),
        # The trash is a place of its own that no resource of these two names.
        resources_are_all=capability not in (project.TRASH, project.RESTORE),
    )
    if capability == project.DELETE:
        # What cannot be taken back is not tried again by itself.
        return msgspec.structs.replace(info, reversibility=Reversibility.IRREVERSIBLE, attempts_max=1)
    return info
