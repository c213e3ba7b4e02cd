# SPDX-License-Identifier: Apache-2.0
"""What a file effect claims is computed from its resolved arguments and resources, and from nothing else.

Pure: the describer states the claim with it, the verifier tells with it whether the world was so already.
Every projection also says whether something half-done lies beside the place (`aside`) where that would
make an absence a lie.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import cast

from actum.model import canonical
from actum.model.effect import FileIdentity, Resource
from actum.model.errors import Refused

WRITE = "files.write"
MOVE = "files.move"
TRASH = "files.trash"
RESTORE = "files.restore"
DELETE = "files.delete_permanently"
ALL = (WRITE, MOVE, TRASH, RESTORE, DELETE)

VERSION = "1"
CONTENT_BYTES_MAX = 16 * 1024 * 1024
ABSENT: dict[str, object] = {"exists": False}


def projection_of(capability: str) -> str:
    """Return the projection's id and version, such as ``files.write@1``."""
    return f"{capability}@{VERSION}"


def file_value(*, digest: str, size: int, mode: str) -> dict[str, object]:
    """Return the projected value of a regular file; `mode` is four octal digits."""
    return {"exists": True, "kind": "file", "sha256": digest, "size": size, "mode": mode}


def aside_name(effect_digest: str) -> str:
    """Return the one name under which an effect may lay a file beside its place while it acts."""
    return f".actum-{effect_digest.removeprefix('sha256:')[:32]}"


def trash_id_of(identity: FileIdentity, *, digest: str) -> str:
    """Return the id a file gets in the trash: the same file in the same state always gets the same one."""
    return canonical.digest({"file": identity, "digest": digest}).removeprefix("sha256:")[:32]


def is_trash_id(text: object) -> bool:
    """Tell whether a text has the form of a trash id, so that it can name a folder and nothing else."""
    return isinstance(text, str) and len(text) == 32 and not set(text) - set("0123456789abcdef")


def content_of(arguments: Mapping[str, object]) -> bytes | Refused:
    """Return the bytes that a write asks for: exactly one of `content` and `content_base64`."""
    text, encoded = arguments.get("content"), arguments.get("content_base64")
    if (text is None) == (encoded is None):
        return Refused(reason="content_not_one", facts={"want": "content or content_base64, and not both"})
    if encoded is not None:
        if not isinstance(encoded, str):
            return Refused(reason="content_malformed", facts={"want": "base64 text"})
        try:
            data = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            return Refused(reason="content_malformed", facts={"want": "standard base64 with padding"})
    elif isinstance(text, str):
        try:
            data = text.encode()
        except UnicodeEncodeError:
            return Refused(reason="content_not_utf8", facts={"want": "text without lone surrogates"})
    else:
        return Refused(reason="content_malformed", facts={"want": "text"})
    if len(data) > CONTENT_BYTES_MAX:
        return Refused(
            reason="content_too_large", facts={"size": str(len(data)), "size_max": str(CONTENT_BYTES_MAX)}
        )
    return data


def claimed_value(
    capability: str, *, arguments: Mapping[str, object], resources: Sequence[Resource]
) -> dict[str, object] | None:
    """Return the projected value this effect claims to bring about; None for unresolved arguments."""
    mode = str(arguments.get("mode", ""))
    if capability == WRITE:
        data = content_of(arguments)
        if isinstance(data, Refused):
            return None
        return {"target": file_value(digest=canonical.digest_bytes(data), size=len(data), mode=mode)}
    held = _existing(resources)
    if held is None:
        return None
    file = file_value(digest=held[1], size=held[0].size, mode=mode)
    if capability == MOVE:
        return {"source": ABSENT, "target": file}
    if capability == TRASH:
        return {"path": ABSENT, "aside": ABSENT, "trash": file}
    if capability == RESTORE:
        return {"path": file, "trash": ABSENT}
    if capability == DELETE:
        return {"path": ABSENT, "aside": ABSENT}
    return None


def already_so(value: object, claimed: Mapping[str, object]) -> bool:
    """Tell whether a look before the effect saw what the effect claims to bring about."""
    return isinstance(value, dict) and cast("dict[str, object]", value) == dict(claimed)


def _existing(resources: Sequence[Resource]) -> tuple[FileIdentity, str] | None:
    for resource in resources:
        if resource.file is not None and resource.digest is not None:
            return resource.file, resource.digest
    return None
