# SPDX-License-Identifier: Apache-2.0
"""The verifiers of file effects walk to the place themselves, look, and answer what is there.

No code that describes or executes is used; the walk and the projection are. A look covers the named places
and nothing else: it does not say that nothing else happened.

Rules
1. What is there is returned, whatever was expected.
2. Where it cannot look (permission, a link in the path, another folder than before) the look is unclear.
3. A world that was so before, or was not looked at before, is unclear: the effect claims a change.
4. An absence carries a positive control: the same folder answered for a thing that is known to be there.
"""

from __future__ import annotations

import os
from typing import cast

import msgspec

from actum.capabilities.files import project
from actum.capabilities.files.keep import Keep
from actum.capabilities.files.paths import Folder, Roots, locate, open_folder, refuse_error, split
from actum.capabilities.files.sight import Nothing, digest_of, glance, kind_of, mode_of, open_file
from actum.model.errors import Refused
from actum.model.grading import LookOutcome
from actum.model.look import Channel, Observation
from actum.ports.verifier import LookRequest, Phase


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen at one place: the projected value, or why not, and the folder's identity."""

    value: dict[str, object] | None
    folder: str
    control_held: bool
    reason: str
    facts: dict[str, object]


class FileVerifier:
    """Looks at the places of one kind of file effect. It cannot act."""

    def __init__(self, capability: str, *, roots: Roots, keep: Keep) -> None:
        self.id = f"actum.{capability}"
        self.version = project.VERSION
        self.projection = project.projection_of(capability)
        self._capability = capability
        self._roots = roots
        self._keep = keep

    def observe(self, request: LookRequest) -> Observation:
        """Project the places of the effect as they are now."""
        places = self._places(request)
        if isinstance(places, Refused):
            return _unclear(places.reason, detail={"facts": dict(places.facts)})
        # Rule 1
        sights = {name: _see(path) for name, path in places.items()}
        detail: dict[str, object] = {"places": {name: sight.facts for name, sight in sights.items()}}
        detail["folders"] = {name: sight.folder for name, sight in sights.items()}
        # Rule 2
        unseen = {name: sight.reason for name, sight in sights.items() if sight.value is None}
        if unseen:
            return _unclear(next(iter(unseen.values())), detail={**detail, "unseen": unseen})
        value: dict[str, object] = {name: sight.value for name, sight in sights.items()}
        detail["value"] = value
        reason = _swapped(detail, request) or self._no_change(value, request)
        # Rule 4
        held = all(sight.control_held for sight in sights.values())
        return Observation(
            value=value,
            outcome=LookOutcome.UNCLEAR if reason else LookOutcome.DEFINITE,
            detail={**detail, "reason": reason} if reason else detail,
            control_held=held and not reason,
            channel=Channel.SAME_SINK,
        )

    def _places(self, request: LookRequest) -> dict[str, str] | Refused:
        """Return what to look at by the projection's members; nothing outside the roots is looked at."""
        paths: dict[str, str] = {}
        for member in ("path", "source", "target"):
            if member in request.arguments:
                place = locate(request.arguments[member], roots=self._roots)
                if isinstance(place, Refused):
                    return place
                paths[member] = place.path
        try:
            return self._named(paths, request)
        except KeyError as error:
            return Refused(reason="arguments_not_resolved", facts={"missing": str(error.args[0])})

    def _named(self, paths: dict[str, str], request: LookRequest) -> dict[str, str] | Refused:
        if self._capability == project.WRITE:
            return {"target": paths["path"]}
        if self._capability == project.MOVE:
            return {"source": paths["source"], "target": paths["target"]}
        path = paths["path"]
        beside = f"{split(path).parent.rstrip('/')}/{project.aside_name(request.effect_digest)}"
        if self._capability == project.DELETE:
            return {"path": path, "aside": beside}
        trash_id = request.arguments["trash_id"]
        if not project.is_trash_id(trash_id):
            return Refused(reason="trash_id_unknown")
        trashed = self._keep.content_path(str(trash_id))
        if self._capability == project.TRASH:
            return {"path": path, "aside": beside, "trash": trashed}
        return {"path": path, "trash": trashed}

    def _no_change(self, value: dict[str, object], request: LookRequest) -> str:
        # Rule 3
        claimed = project.claimed_value(
            self._capability,
            arguments=request.arguments,
            resources=request.descriptor.canonical_resources,
        )
        if claimed is None:
            return "arguments_not_resolved"
        if request.phase is Phase.BEFORE:
            return "already_so_before" if project.already_so(value, claimed) else ""
        if request.before is None or not isinstance(request.before.get("value"), dict):
            return "not_seen_before"
        return "already_so_before" if project.already_so(request.before["value"], claimed) else ""


def verifiers_for(*, roots: Roots, keep: Keep) -> dict[str, FileVerifier]:
    """Return a verifier for each file capability by its id."""
    return {capability: FileVerifier(capability, roots=roots, keep=keep) for capability in project.ALL}


def _see(path: str) -> Sight:
    place = split(path)
    folder = open_folder(place.parent)
    if isinstance(folder, Refused):
        return _see_missing_trash(place.parent) if folder.reason == "folder_absent" else _blind(folder, "")
    with folder:
        identity = f"{folder.device}:{folder.inode}"
        try:
            return _see_in(folder, place.name, identity)
        except OSError as error:
            return _blind(refuse_error(error, path), identity)


def _see_in(folder: Folder, name: str, identity: str) -> Sight:
    facts = glance(folder, name)
    if facts is None:
        absent: dict[str, object] = dict(project.ABSENT)
        return _sight(absent, identity, control_held=_control(folder), facts={"kind": "nothing"})
    kind = kind_of(facts.st_mode)
    seen: dict[str, object] = {
        "kind": kind,
        "device": str(facts.st_dev),
        "inode": str(facts.st_ino),
        "size": facts.st_size,
        "mtime_ns": str(facts.st_mtime_ns),
        "names": facts.st_nlink,
    }
    if kind != "file":
        return _sight({"exists": True, "kind": kind}, identity, control_held=True, facts=seen)
    file = open_file(folder, name)
    if isinstance(file, Nothing):
        return _blind(Refused(reason="changed_while_read"), identity)
    if isinstance(file, Refused):
        return _blind(file, identity)
    with file:
        digest = digest_of(file)
        if isinstance(digest, Refused):
            return _blind(digest, identity)
        value = project.file_value(digest=digest, size=file.facts.st_size, mode=mode_of(file.facts))
        return _sight(value, identity, control_held=True, facts=seen)


def _control(folder: Folder) -> bool:
    """Tell whether the folder answers for what is known to be in it: its first entry, else itself."""
    # Rule 4
    with os.scandir(folder.fd) as entries:
        first = next(entries, None)
    known = glance(folder, first.name if first is not None else ".")
    return known is not None


def _swapped(detail: dict[str, object], request: LookRequest) -> str:
    """Tell whether a folder is another one than at the look before; an entry of the trash may come and go."""
    # Rule 2
    if request.before is None:
        return ""
    before = cast("dict[str, str]", request.before.get("folders") or {})
    for name, identity in cast("dict[str, str]", detail["folders"]).items():
        if name != "trash" and before.get(name, identity) != identity:
            return "folder_swapped"
    return ""


def _see_missing_trash(parent: str) -> Sight:
    """An entry's own folder is missing: nothing lies in it, if the folder above answers."""
    above = split(parent)
    missing = Refused(reason="folder_absent", facts={"path": parent})
    if not project.is_trash_id(above.name):
        return _blind(missing, "")
    folder = open_folder(above.parent)
    if isinstance(folder, Refused):
        return _blind(folder, "")
    with folder:
        try:
            if glance(folder, above.name) is not None:
                return _blind(missing, "")
            return _sight(dict(project.ABSENT), "", control_held=_control(folder), facts={"kind": "nothing"})
        except OSError as error:
            return _blind(refuse_error(error, parent), "")


def _sight(value: dict[str, object], folder: str, *, control_held: bool, facts: dict[str, object]) -> Sight:
    return Sight(value=value, folder=folder, control_held=control_held, reason="", facts=facts)


def _blind(refused: Refused, folder: str) -> Sight:
    facts: dict[str, object] = {"reason": refused.reason, **refused.facts}
    return Sight(value=None, folder=folder, control_held=False, reason=refused.reason, facts=facts)


def _unclear(reason: str, *, detail: dict[str, object]) -> Observation:
    return Observation(value=None, outcome=LookOutcome.UNCLEAR, detail={**detail, "reason": reason})
