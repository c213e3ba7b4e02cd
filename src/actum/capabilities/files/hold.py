# SPDX-License-Identifier: Apache-2.0
"""What is held is what was resolved: same path, device, inode, size and time, or nothing runs.

Rules
1. The places acted upon are those of the resolved arguments, still inside the allowed folders.
2. An existing file has the identity it had when it was resolved; small files also the content.
3. A place resolved as empty is still empty, in the same folder.
4. A file with other names (hard links) is not replaced or deleted: what happens to them was not described.
"""

from __future__ import annotations

import msgspec

from actum.capabilities.files import project
from actum.capabilities.files.keep import Keep
from actum.capabilities.files.paths import Folder, Place, Roots, locate, open_folder, refuse_error, split
from actum.capabilities.files.sight import Nothing, OpenFile, digest_of, glance, identity_of, open_file
from actum.model.effect import AbsenceIdentity, FileIdentity, Resource
from actum.model.errors import Refused
from actum.model.visible import visible
from actum.ports.executor import EffectView

# Above this a hold compares identity only; the content is compared while it is kept, or by the verifier.
DIGEST_BYTES_MAX = 16 * 1024 * 1024

FILE, PLACE, TRASHED = "file", "place", "trashed"


class HeldFile:
    """An open existing file in its open folder, found as it was resolved."""

    __slots__ = ("folder", "name", "file", "resource")

    def __init__(self, folder: Folder, name: str, file: OpenFile, resource: Resource) -> None:
        self.folder = folder
        self.name = name
        self.file = file
        self.resource = resource

    def close(self) -> None:
        """Give both descriptors back."""
        self.file.close()
        self.folder.close()


class HeldPlace:
    """An open folder in which a name is still free."""

    __slots__ = ("folder", "name", "resource")

    def __init__(self, folder: Folder, name: str, resource: Resource) -> None:
        self.folder = folder
        self.name = name
        self.resource = resource

    def close(self) -> None:
        """Give the descriptor back."""
        self.folder.close()


class HeldFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Everything one effect acts upon; closing it twice is harmless."""

    file: HeldFile | None
    place: HeldPlace | None

    def close(self) -> None:
        """Give every descriptor back."""
        for held in (self.file, self.place):
            if held is not None:
                held.close()


def hold(effect: EffectView, *, roots: Roots, keep: Keep) -> HeldFiles | Refused:
    """Open and check everything the effect names; on a refusal nothing stays open."""
    # Rule 1
    members = ("path", "source", "target")
    named = {effect.arguments[member] for member in members if member in effect.arguments}
    if not named <= {resource.id for resource in effect.descriptor.canonical_resources}:
        return Refused(reason="arguments_not_resolved", facts={"capability": effect.descriptor.capability})
    file: HeldFile | None = None
    place: HeldPlace | None = None
    for resource in effect.descriptor.canonical_resources:
        held = _hold_resource(resource, effect=effect, roots=roots, keep=keep)
        if isinstance(held, HeldFile):
            file = held
            continue
        if isinstance(held, HeldPlace):
            place = held
            continue
        HeldFiles(file=file, place=place).close()
        return held
    return HeldFiles(file=file, place=place)


def changed(path: str, **facts: str) -> Refused:
    """Return the refusal that says the world is no longer the one that was resolved."""
    return Refused(reason="resource_changed", facts={"path": visible(path), **facts})


def refuse_other_names(path: str, links: int) -> Refused | None:
    """Refuse a file that has more than one name."""
    if links > 1:
        return Refused(reason="file_has_hard_links", facts={"path": visible(path), "names": str(links)})
    return None


def _hold_resource(
    resource: Resource, *, effect: EffectView, roots: Roots, keep: Keep
) -> HeldFile | HeldPlace | Refused:
    trashed = resource.kind == TRASHED
    place = _place_of(resource, effect=effect, roots=roots, keep=keep)
    if isinstance(place, Refused):
        return place
    folder = open_folder(place.parent, roots=None if trashed else roots)
    if isinstance(folder, Refused):
        return changed(resource.id, why=folder.reason) if folder.reason == "folder_absent" else folder
    if resource.file is not None:
        held = _hold_file(folder, place, resource, resource.file, effect.descriptor.capability)
    elif resource.absence is not None:
        held = _hold_place(folder, place, resource, resource.absence)
    else:
        held = Refused(reason="resource_not_identified", facts={"path": visible(resource.id)})
    if isinstance(held, Refused):
        folder.close()
    return held


def _place_of(resource: Resource, *, effect: EffectView, roots: Roots, keep: Keep) -> Place | Refused:
    # Rule 1
    if resource.kind == TRASHED:
        trash_id = effect.arguments.get("trash_id")
        known = project.is_trash_id(trash_id) and resource.id == keep.content_path(str(trash_id))
        return split(resource.id) if known else Refused(reason="trash_id_unknown")
    place = locate(resource.id, roots=roots)
    if isinstance(place, Place) and place.path != resource.id:
        return Refused(reason="arguments_not_resolved", facts={"path": visible(resource.id)})
    return place


def _hold_file(
    folder: Folder, place: Place, resource: Resource, resolved: FileIdentity, capability: str
) -> HeldFile | Refused:
    # Rule 2
    file = open_file(folder, place.name)
    if isinstance(file, Nothing):
        return changed(place.path, resolved="a file", now="nothing")
    if isinstance(file, Refused):
        return file
    now = identity_of(place.path, file.facts)
    refused: Refused | None = None
    if now != resolved:
        fields = resolved.__struct_fields__
        differing = [name for name in fields if getattr(now, name) != getattr(resolved, name)]
        refused = changed(
            place.path,
            differs=", ".join(differing),
            resolved=", ".join(str(getattr(resolved, name)) for name in differing),
            now=", ".join(str(getattr(now, name)) for name in differing),
        )
    # Rule 4
    if refused is None and capability in (project.WRITE, project.DELETE):
        refused = refuse_other_names(place.path, file.facts.st_nlink)
    # A deletion cannot be taken back, so its content is compared whatever its size.
    if refused is None and (resolved.size <= DIGEST_BYTES_MAX or capability == project.DELETE):
        digest = digest_of(file)
        if isinstance(digest, Refused):
            refused = changed(place.path, why=digest.reason)
        elif digest != resource.digest:
            refused = changed(place.path, differs="content", resolved=str(resource.digest), now=digest)
    if refused is not None:
        file.close()
        return refused
    return HeldFile(folder, place.name, file, resource)


def _hold_place(
    folder: Folder, place: Place, resource: Resource, resolved: AbsenceIdentity
) -> HeldPlace | Refused:
    # Rule 3
    if (folder.device, folder.inode) != (resolved.parent_device, resolved.parent_inode):
        return changed(place.path, differs="folder", resolved=resolved.parent_inode, now=folder.inode)
    try:
        taken = glance(folder, place.name) is not None
    except OSError as error:
        return refuse_error(error, place.path)
    if taken:
        return changed(place.path, resolved="nothing", now="something is there")
    return HeldPlace(folder, place.name, resource)
