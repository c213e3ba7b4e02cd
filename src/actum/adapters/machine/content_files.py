# SPDX-License-Identifier: Apache-2.0
"""Content too large for the database lies in a file named by its digest, on the disk before the commit."""

from __future__ import annotations

from pathlib import Path

from actum.model.errors import EnvironmentFault
from actum.service.whole_file import replace, sync_folder


class FolderContent:
    """Files in one folder, two levels deep, mode 0600."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, digest: str, body: bytes) -> str:
        """Write bytes once, fsync file and folder, and return the name."""
        name = f"{digest[7:9]}/{digest[7:]}"
        path = self._folder / name
        try:
            if not path.exists():
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                replace(path, body)
                sync_folder(self._folder)
        except OSError as error:
            raise EnvironmentFault(
                "content_unwritable",
                failed=f"large content could not be kept in {self._folder}: {error.strerror}",
                state="The work it belongs to was not stored",
                next_step="Free space or mend the folder's owner and mode, then submit again",
            ) from error
        return name

    def get(self, name: str) -> bytes:
        """Return the bytes of a file; EnvironmentFault where it cannot be read."""
        try:
            return (self._folder / name).read_bytes()
        except OSError as error:
            raise EnvironmentFault(
                "content_unreadable",
                failed=f"the content file {name} beside the store cannot be read: {error.strerror}",
                state="The record that names it is whole; only the content is missing",
                next_step="Restore the folder from the same backup as the store",
            ) from error
