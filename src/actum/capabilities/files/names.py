# SPDX-License-Identifier: Apache-2.0
"""One file has one spelling: another case or normal form of a name that is there is refused, by probing.

Rules differ for each folder and mount, so nothing is assumed from the platform. A plain ASCII name costs one
probe; only other names make the folder be listed.

Rules
1. A name that opens a file, but is not how the folder spells it, is refused with the real spelling.
2. A new name whose normal form equals that of an existing one is refused.
"""

from __future__ import annotations

import os
import unicodedata

from actum.capabilities.files.paths import Folder, refuse_error
from actum.capabilities.files.sight import glance
from actum.model.errors import Refused
from actum.model.visible import visible


def refuse_spelling(folder: Folder, name: str, *, exists: bool) -> Refused | None:
    """Return why a name may not stand for what it opens, or None."""
    try:
        if exists and not _needs_listing(folder, name):
            return None
        if not exists and name.isascii():
            return None
        entries = os.listdir(folder.fd)
    except OSError as error:
        return refuse_error(error, f"{folder.path}/{name}")
    if name in entries:
        return None
    twins = [entry for entry in entries if _key(entry, exists) == _key(name, exists)]
    # Rule 1 where it exists, rule 2 where it does not
    if exists or twins:
        return Refused(
            reason="name_spelled_otherwise" if exists else "name_has_twin",
            facts={
                "name": visible(name),
                "spelled": ", ".join(visible(twin) for twin in twins),
                "code_points": " ".join(f"U+{ord(letter):04X}" for letter in name if not letter.isascii()),
            },
        )
    return None


def _needs_listing(folder: Folder, name: str) -> bool:
    """A folder that answers to the name in the other case, with the same file, may spell it another way."""
    if not name.isascii():
        return True
    swapped = name.swapcase()
    if swapped == name:
        return False
    here, other = glance(folder, name), glance(folder, swapped)
    if here is None or other is None:
        return False
    return (here.st_dev, here.st_ino) == (other.st_dev, other.st_ino)


def _key(name: str, fold_case: bool) -> str:
    composed = unicodedata.normalize("NFC", name)
    return unicodedata.normalize("NFC", composed.casefold()) if fold_case else composed
