# SPDX-License-Identifier: Apache-2.0
"""Who this machine is, whether a process of it still runs, and where a store's file lies.

Rules
1. A pid means something only in its pid namespace: of a process in another one nobody here knows that it ended.
2. A pid that was given to another process is told by when that process started.
3. What cannot be read is not known, and what is not known to have ended may still run.
"""

from __future__ import annotations

import os
import pwd
import socket
from pathlib import Path

UNKNOWN = "unknown"
STATE, START = 0, 19
"""Fields of /proc/PID/stat after the name in brackets: the state, and the start in ticks since the boot."""


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
        return UNKNOWN


def life() -> str:
    """Return what tells this process from any other with its pid: boot, pid namespace and start."""
    return "/".join((boot_id(), _namespace(), _field("self", START)))


def has_ended(lived: str, pid: int) -> bool:
    """Tell whether the process of this machine with that pid and `life` is known to have ended."""
    boot, namespace, start = (*lived.split("/"), UNKNOWN, UNKNOWN)[:3]
    if boot != boot_id():
        return UNKNOWN not in (boot, boot_id())  # Rule 3
    if namespace != _namespace():
        return False  # Rule 1
    if not is_alive(pid):
        return True
    # Rule 2
    now = _field(str(pid), START)
    return UNKNOWN not in (start, now) and start != now


def is_alive(pid: int) -> bool:
    """Tell whether a process of this pid namespace runs, as far as we may see it."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return _field(str(pid), STATE) != "Z"


def _namespace() -> str:
    try:
        return str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        return "none"


def _field(process: str, index: int) -> str:
    """Return a field of a process's stat file, counted from its state; ``unknown`` where it cannot be read."""
    try:
        if os.readlink("/proc/self") != str(os.getpid()):
            return UNKNOWN  # This /proc shows another pid namespace than ours.
        return Path(f"/proc/{process}/stat").read_text(encoding="latin-1").rsplit(")", 1)[1].split()[index]
    except (OSError, IndexError):
        return UNKNOWN


def user_name() -> str:
    """Return the name of the user this process runs as."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid{os.getuid()}"


def place_of(path: Path) -> str:
    """Return what changes when a file is copied or restored: host and inode. A move keeps it."""
    return f"{host_name()}:{path.stat().st_ino}"
