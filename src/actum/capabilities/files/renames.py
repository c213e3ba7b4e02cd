# SPDX-License-Identifier: Apache-2.0
"""Renames that never overwrite: one name is exchanged with another, or a new name is taken, in one step.

Linux has renameat2; elsewhere, or on a file system without it, the same effect takes two steps with a
smaller promise, and the caller is told so.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable

from actum.capabilities.files.paths import Folder

_NOREPLACE = 1
_EXCHANGE = 2
_UNSUPPORTED = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP})


def _load() -> Callable[..., int] | None:
    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    function.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    function.restype = ctypes.c_int
    return function


_renameat2 = _load()


def exchange(folder: Folder, one: str, other: str) -> bool:
    """Exchange two names of one folder in one step; False where this is not possible here. Raises OSError."""
    return _call(folder, one, folder, other, _EXCHANGE)


def rename_new(source: Folder, name: str, target: Folder, new_name: str) -> None:
    """Give a file a free name. Raises FileExistsError, or another OSError with nothing moved."""
    if _call(source, name, target, new_name, _NOREPLACE):
        return
    os.link(name, new_name, src_dir_fd=source.fd, dst_dir_fd=target.fd, follow_symlinks=False)
    os.unlink(name, dir_fd=source.fd)


def _call(source: Folder, name: str, target: Folder, new_name: str, flag: int) -> bool:
    if _renameat2 is None:
        return False
    if _renameat2(source.fd, os.fsencode(name), target.fd, os.fsencode(new_name), flag) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), name)
