# SPDX-License-Identifier: Apache-2.0
"""A path is resolved to the file or the empty place that it really names, and nothing is changed.

Rules
1. An existing file is recorded with path, device, inode, size, time and digest, all of one moment.
2. A place to be filled is recorded as empty, with its folder's identity; a taken one is refused.
"""

from __future__ import annotations

import os

import msgspec

from actum.capabilities.files import lines
from actum.capabilities.files.hold import FILE, PLACE
from actum.capabilities.files.keep import Keep
from actum.capabilities.files.names import refuse_spelling
from actum.capabilities.files.paths import Folder, Place, Roots, locate, open_folder, split
from actum.capabilities.files.sight import (
    Nothing,
    OpenFile,
    digest_of,
    glance,
    identity_of,
    mode_of,
    open_file,
)
from actum.model import canonical
from actum.model.effect import AbsenceIdentity, FileIdentity, Resource
from actum.model.errors import Refused
from actum.model.visible import visible


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it was resolved; `content` only where it is small enough to show a difference."""

    identity: FileIdentity
    digest: str
    mode: str
    names: int
    folder: tuple[str, str]
    content: bytes | None

    def resource(self, kind: str = FILE) -> Resource:
        """Return the file as a resource of an effect."""
        return Resource(kind=kind, id=self.identity.path, digest=self.digest, file=self.identity)


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """Where a describer may look."""

    roots: Roots
    keep: Keep


def folder_of(found: Found | Resource) -> tuple[str, str]:
    """Return the path and the identity (device:inode) of the folder a thing lies in or would lie in."""
    if isinstance(found, Found):
        return found.folder
    absence = found.absence
    if absence is None:
        return (split(found.id).parent, "")
    return (split(found.id).parent, f"{absence.parent_device}:{absence.parent_inode}")


def find_file(text: object, scene: Scene) -> Found | Refused:
    """Return the existing file a path names."""
    found = find(text, scene, want_content=False)
    if isinstance(found, Resource):
        return Refused(reason="file_absent", facts={"path": visible(found.id)})
    return found


def find_free(text: object, scene: Scene) -> Resource | Refused:
    """Return the empty place. A taken one is refused without reading what is there."""
    place = locate(text, roots=scene.roots)
    if isinstance(place, Refused):
        return place
    folder = open_folder(place.parent, roots=scene.roots)
    if isinstance(folder, Refused):
        return folder
    with folder:
        # Rule 2
        if glance(folder, place.name) is not None:
            return Refused(reason="name_taken", facts={"path": visible(place.path)})
        return _absence(folder, place)


def find(text: object, scene: Scene, *, want_content: bool) -> Found | Resource | Refused:
    """Return the file a path names, or the empty place as a resource."""
    place = locate(text, roots=scene.roots)
    if isinstance(place, Refused):
        return place
    return look(place, roots=scene.roots, want_content=want_content)


def look(place: Place, *, roots: Roots | None, want_content: bool) -> Found | Resource | Refused:
    """Look at a place that is canonical already."""
    folder = open_folder(place.parent, roots=roots)
    if isinstance(folder, Refused):
        return folder
    with folder:
        file = open_file(folder, place.name)
        if isinstance(file, Refused):
            return file
        if isinstance(file, Nothing):
            return _absence(folder, place)
        with file:
            refused = refuse_spelling(folder, place.name, exists=True)
            return refused if refused is not None else _found(file, place, folder, want_content=want_content)


def _found(file: OpenFile, place: Place, folder: Folder, *, want_content: bool) -> Found | Refused:
    # Rule 1
    content: bytes | None = None
    if want_content and file.facts.st_size <= lines.DIFF_BYTES_MAX:
        content = os.pread(file.fd, lines.DIFF_BYTES_MAX, 0)
    digest = digest_of(file)
    if isinstance(digest, Refused):
        return digest
    if content is not None and canonical.digest_bytes(content) != digest:
        return Refused(reason="changed_while_read", facts={"path": visible(place.path)})
    return Found(
        identity=identity_of(place.path, file.facts),
        digest=digest,
        mode=mode_of(file.facts),
        names=file.facts.st_nlink,
        folder=(place.parent, f"{folder.device}:{folder.inode}"),
        content=content,
    )


def _absence(folder: Folder, place: Place) -> Resource | Refused:
    # Rule 2
    refused = refuse_spelling(folder, place.name, exists=False)
    if refused is not None:
        return refused
    absence = AbsenceIdentity(
        path=place.path, parent_device=folder.device, parent_inode=folder.inode, name=place.name
    )
    return Resource(kind=PLACE, id=place.path, absence=absence)
