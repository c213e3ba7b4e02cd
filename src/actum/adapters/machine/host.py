# SPDX-License-Identifier: Apache-2.0
"""Who this machine is, whether a process of it still runs, and where a store's file lies."""

from __future__ import annotations

import os
import pwd
import socket
from pathlib import Path


def host_name() -> str:
    """Return the machine's own id, or its name where it has none."""
    try:
        found = Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        found = ""
    return f"{socket.gethostname()}-{found[:12]}" if found else socket.gethostname()


def boot_id() -> str:
    """Return what changes with each boot; ``unknown`` where the system does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return "unknown"


def is_alive(pid: int) -> bool:
    """Tell whether a process of this machine runs, as far as we may see it."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0] == "Z"
    except (OSError, IndexError, UnicodeDecodeError):
        return False


def user_name() -> str:
    """Return the name of the user this process runs as."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid{os.getuid()}"


def place_of(path: Path) -> str:
    """Return what changes when a file is copied or restored: host and inode. A move keeps it."""
    return f"{host_name()}:{path.stat().st_ino}"
