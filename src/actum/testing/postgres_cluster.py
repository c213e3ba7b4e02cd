# SPDX-License-Identifier: Apache-2.0
"""A private PostgreSQL for tests: in a folder of its own, reached by a socket in it, stopped by its pid."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from actum.testing.require import require_part

_USER = "postgres"
_SETTINGS = {
    "listen_addresses": "''",
    "max_connections": "60",
    "shared_buffers": "32MB",
    "log_min_messages": "fatal",
    "autovacuum": "off",
}


def find_binaries() -> Path | None:
    """Return the folder of initdb and postgres, newest version first, or None."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: path.parts[-3])
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else None


class PostgresCluster:
    """A running cluster; ``url(name)`` makes an empty database and returns its address.

    PostgreSQL refuses to run as root, so there it runs as the user postgres, which then must exist.
    Its collation is not C, so that a statement which leans on byte order without saying so is found.
    """

    def __init__(self) -> None:
        binaries = find_binaries()
        require_part(binaries is not None, "PostgreSQL is not installed (postgresql-15)")
        assert binaries is not None
        self._as_user = ["runuser", "-u", _USER, "--"] if os.geteuid() == 0 else []
        self._binaries = binaries
        self.folder = Path(tempfile.mkdtemp(prefix="actum-pg-", dir="/tmp"))
        self._data = self.folder / "data"
        if self._as_user:
            shutil.chown(self.folder, _USER, _USER)
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self) -> None:
        self._run(
            self._binaries / "initdb", "--no-sync", "--auth=trust", f"--username={_USER}", "--encoding=UTF8",
            "--locale-provider=icu", "--icu-locale=en", "--locale=C.UTF-8", "-D", self._data,
        )  # fmt: skip
        options = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
        self._run(
            self._binaries / "pg_ctl", "-D", self._data, "-w", "-t", "30", "-l", self.folder / "log",
            "-o", " ".join([f"-k {self.folder}", *options]), "start",
        )  # fmt: skip

    def _run(self, *command: object) -> None:
        subprocess.run(
            [*self._as_user, *map(str, command)],
            check=True,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=60,
        )

    def url(self, name: str) -> str:
        """Make an empty database and return its address."""
        self._run(self._binaries / "createdb", "-h", self.folder, "-U", _USER, "-T", "template0", name)
        return f"postgresql://{_USER}@/{name}?host={self.folder}"

    def pid(self) -> int | None:
        """Return the server's process id, or None where it does not run."""
        try:
            return int((self._data / "postmaster.pid").read_text().splitlines()[0])
        except (OSError, ValueError, IndexError):
            return None

    def stop(self) -> None:
        """Stop the server at once and remove its folder. Stopping twice is harmless."""
        pid = self.pid()
        if pid is not None:
            os.kill(pid, signal.SIGQUIT)
            for _ in range(500):
                if self.pid() is None or not Path(f"/proc/{pid}").exists():
                    break
                time.sleep(0.01)
        shutil.rmtree(self.folder, ignore_errors=True)
