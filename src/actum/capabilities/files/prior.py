# SPDX-License-Identifier: Apache-2.0
"""Content that a write replaces is kept first, under its digest, on disk before anything is replaced."""

from __future__ import annotations

import os

from actum.capabilities.files.acts import Rejected
from actum.capabilities.files.hold import HeldFile, changed
from actum.capabilities.files.keep import Keep
from actum.capabilities.files.paths import Folder
from actum.capabilities.files.sight import Nothing, digest_of, open_file
from actum.capabilities.files.staging import Staged, chunks_of, clear_leftover
from actum.model.errors import Refused


def keep_prior(keep: Keep, held: HeldFile, *, aside: str) -> str:
    """Keep the held file's content and return its digest. Raises Rejected where it is other content."""
    digest = str(held.resource.digest)
    name = digest.removeprefix("sha256:")
    with keep.open("prior") as folder:
        if _is_kept(folder, name, digest):
            now = digest_of(held.file)
            if now != digest:
                raise Rejected(changed(held.resource.id, differs="content"))
            return digest
        clear_leftover(folder, aside)
        staged = Staged(folder, aside)
        try:
            staged.fill(chunks_of(held.file))
            if staged.digest != digest:
                raise Rejected(changed(held.resource.id, differs="content", now=staged.digest))
            staged.finish(mode=0o600, like=None)
            try:
                staged.give_name(name)
            except FileExistsError:
                # Somebody kept the same content meanwhile; under this name only this content is ever kept.
                pass
        finally:
            staged.discard()
        os.fsync(folder.fd)
    return digest


def _is_kept(folder: Folder, name: str, digest: str) -> bool:
    """Tell whether the content is kept; what lies under the name with other content is cleared."""
    file = open_file(folder, name)
    if isinstance(file, Nothing):
        return False
    if not isinstance(file, Refused):
        with file:
            if digest_of(file) == digest:
                return True
    os.unlink(name, dir_fd=folder.fd)
    return False
