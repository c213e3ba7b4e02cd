# SPDX-License-Identifier: Apache-2.0
"""Real mail servers on this machine: an SMTP server that can misbehave on purpose, and Debian's dovecot.

Both listen on 127.0.0.1 only, on a port that is free when they start, and keep everything in a folder of
their own. They are for tests and the demo: the SMTP server trusts whoever connects.
"""

from __future__ import annotations

import asyncio
import enum
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from typing import Any, cast

from actum.model.errors import EnvironmentFault

_START_S = 15.0


class SmtpFault(enum.Enum):
    """What the SMTP server does wrong."""

    NONE = "none"
    ACCEPT_THEN_LOSE = "accept_then_lose"
    DROP_REPLY_AFTER_STORING = "drop_reply_after_storing"
    DROP_BEFORE_DATA = "drop_before_data"
    REJECT_RCPT = "reject_rcpt"
    DEFER_RCPT = "defer_rcpt"
    REJECT_DATA = "reject_data"
    GO_AWAY_AFTER_DATA = "go_away_after_data"
    STORE_TWICE = "store_twice"
    CHANGE_TEXT = "change_text"
    SLOW = "slow"


class SmtpSink:
    """An aiosmtpd server that delivers into maildirs ``ROOT/<recipient>``.

    ``mailboxes`` are the addresses that exist; others are refused with 550. None: every address is taken.
    ``fault`` may be changed while it runs. ``commands`` lists what clients said, in order.
    """

    def __init__(
        self,
        root: str,
        *,
        mailboxes: set[str] | None = None,
        fault: SmtpFault = SmtpFault.NONE,
        delay_s: float = 0.2,
        login: tuple[str, str] | None = None,
        owner: tuple[int, int] | None = None,
    ) -> None:
        self.root = root
        self.mailboxes = mailboxes
        self.fault = fault
        self.delay_s = delay_s
        self.commands: list[str] = []
        self._login = login
        self._owner = owner
        self._stored = 0
        self._protocols: list[Any] = []
        self._loop = asyncio.new_event_loop()
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self.host = "127.0.0.1"
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._run, name="smtp-sink", daemon=True)
        self._ready = threading.Event()

    def __enter__(self) -> SmtpSink:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Listen; returns when connections are taken."""
        os.makedirs(self.root, exist_ok=True)
        for address in self.mailboxes or ():
            make_maildir(os.path.join(self.root, address), owner=self._owner)
        self._thread.start()
        if not self._ready.wait(_START_S):
            raise _fault("smtp_did_not_start", "the SMTP server did not listen in time")

    def stop(self) -> None:
        """Close the port and end the thread; harmless when repeated."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_START_S)
        self._socket.close()

    def maildir(self, address: str) -> str:
        """Return the path of one recipient's maildir."""
        return os.path.join(self.root, address)

    def deliver(self, address: str, raw: bytes) -> str:
        """Put a message into a mailbox behind everybody's back; return the file's path."""
        folder = self.maildir(address)
        make_maildir(folder, owner=self._owner)
        self._stored += 1
        name = f"{self._stored:06d}.{os.getpid()}.sink"
        aside, kept = os.path.join(folder, "tmp", name), os.path.join(folder, "new", name)
        with open(aside, "wb") as handle:
            handle.write(raw)
        if self._owner is not None:
            os.chown(aside, *self._owner)
        os.rename(aside, kept)
        return kept

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            self._loop.create_server(self._protocol, sock=self._socket, start_serving=True)
        )
        self._ready.set()
        self._loop.run_forever()
        server.close()
        for protocol in self._protocols:
            if protocol.transport is not None:
                protocol.transport.abort()
        pending = asyncio.all_tasks(self._loop)
        for task in pending:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    def _protocol(self) -> asyncio.BaseProtocol:
        from aiosmtpd.smtp import SMTP

        options: dict[str, Any] = {"hostname": "sink.test", "ident": "sink", "loop": self._loop}
        if self._login is not None:
            # That a login is needed is checked at MAIL: aiosmtpd warns about requiring one without TLS.
            options |= {"auth_require_tls": False, "authenticator": self._authenticate}
        protocol = SMTP(_Handler(self, login_needed=self._login is not None), **options)
        self._protocols.append(protocol)
        return cast(asyncio.BaseProtocol, protocol)

    def _authenticate(self, _server: Any, _session: Any, _envelope: Any, _mechanism: str, data: Any) -> Any:
        from aiosmtpd.smtp import AuthResult

        given = (data.login.decode("utf-8"), data.password.decode("utf-8"))
        return AuthResult(success=given == self._login, handled=False)


class _Handler:
    """What aiosmtpd calls; its method names and signatures are aiosmtpd's own."""

    def __init__(self, sink: SmtpSink, *, login_needed: bool) -> None:
        self._sink = sink
        self._login_needed = login_needed

    async def handle_MAIL(  # noqa: N802
        self, _server: Any, session: Any, envelope: Any, address: str, _options: list[str]
    ) -> str:
        self._sink.commands.append(f"MAIL {address}")
        if self._login_needed and not session.authenticated:
            return "530 log in first"
        envelope.mail_from = address
        return "250 sender taken"

    async def handle_RCPT(  # noqa: N802
        self, server: Any, _session: Any, envelope: Any, address: str, _options: list[str]
    ) -> str:
        sink = self._sink
        sink.commands.append(f"RCPT {address}")
        if sink.fault is SmtpFault.SLOW:
            await asyncio.sleep(sink.delay_s)
        if sink.fault is SmtpFault.REJECT_RCPT:
            return "550 no such mailbox"
        if sink.fault is SmtpFault.DEFER_RCPT:
            return "450 try again later"
        if sink.mailboxes is not None and address not in sink.mailboxes:
            return "550 no such mailbox"
        if sink.fault is SmtpFault.DROP_BEFORE_DATA:
            server.transport.abort()
            return "421 going away"
        envelope.rcpt_tos.append(address)
        return "250 recipient taken"

    async def handle_RSET(self, _server: Any, _session: Any, _envelope: Any) -> str:  # noqa: N802
        self._sink.commands.append("RSET")
        return "250 reset"

    async def handle_QUIT(self, _server: Any, _session: Any, _envelope: Any) -> str:  # noqa: N802
        self._sink.commands.append("QUIT")
        return "221 bye"

    async def handle_DATA(self, server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802
        sink = self._sink
        sink.commands.append("DATA")
        if sink.fault is SmtpFault.REJECT_DATA:
            return "554 message refused"
        if sink.fault is SmtpFault.GO_AWAY_AFTER_DATA:
            return "421 closing down"
        raw = bytes(envelope.content)
        if sink.fault is SmtpFault.CHANGE_TEXT:
            raw = raw.rstrip(b"\r\n") + b" and more\r\n"
        if sink.fault is not SmtpFault.ACCEPT_THEN_LOSE:
            for _ in range(2 if sink.fault is SmtpFault.STORE_TWICE else 1):
                self._store(envelope, raw)
        if sink.fault is SmtpFault.DROP_REPLY_AFTER_STORING:
            server.transport.abort()
        return "250 message taken"

    def _store(self, envelope: Any, raw: bytes) -> None:
        for address in envelope.rcpt_tos:
            trace = (
                f"Return-Path: <{envelope.mail_from}>\r\nDelivered-To: {address}\r\n"
                "Received: from client by sink.test; Thu, 01 Jan 1970 00:00:00 +0000\r\n"
            )
            self._sink.deliver(address, (trace.encode("ascii") + raw).replace(b"\r\n", b"\n"))


class DovecotServer:
    """Debian's dovecot, run from a private folder for IMAP over maildirs ``MAIL_ROOT/<user>``.

    Every user has the same password. Works as root (mail belongs to nobody) and as an ordinary user.
    Raises EnvironmentFault dovecot_absent, dovecot_did_not_start.
    """

    def __init__(self, *, password: str = "not-a-secret") -> None:
        self.password = password
        self.host = "127.0.0.1"
        self.port = 0
        # Dovecot's sockets need a short path, and its mail user must be able to search every parent folder.
        self.folder = tempfile.mkdtemp(prefix="actum-imap-", dir="/tmp")
        os.chmod(self.folder, 0o755)
        self.mail_root = os.path.join(self.folder, "mail")
        self._process: subprocess.Popen[bytes] | None = None
        as_root = os.geteuid() == 0
        account = pwd.getpwnam("nobody") if as_root else pwd.getpwuid(os.geteuid())
        self.owner: tuple[int, int] = (account.pw_uid, account.pw_gid)
        os.mkdir(self.mail_root)
        os.chown(self.mail_root, *self.owner)

    def __enter__(self) -> DovecotServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int | None:
        """Return the process id while it runs."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start and wait until it greets; another port is tried where the first was taken meanwhile."""
        binary = dovecot_binary()
        if binary is None:
            raise _fault("dovecot_absent", "Debian's dovecot-imapd is not installed")
        for _ in range(3):
            self.port = _free_port()
            config = self._write_config()
            # The streams are closed to it: dovecot's children would keep a captured pipe open for ever.
            self._process = subprocess.Popen(
                [binary, "-F", "-c", config],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            if self._greets():
                return
            self._end()
        shown = self._log()
        self.stop()
        raise _fault("dovecot_did_not_start", f"dovecot did not answer on 127.0.0.1: {shown}")

    def stop(self) -> None:
        """End the process by its id and remove the folder; harmless when repeated."""
        self._end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_START_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(_START_S)

    def _greets(self) -> bool:
        until = time.monotonic() + _START_S
        while time.monotonic() < until and self._process is not None and self._process.poll() is None:
            try:
                with socket.create_connection((self.host, self.port), timeout=2) as connection:
                    if connection.recv(64).startswith(b"* OK"):
                        return True
            except OSError:
                pass
            time.sleep(0.02)
        return False

    def _log(self) -> str:
        try:
            with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as handle:
                return handle.read()[-500:]
        except OSError:
            return "no log"

    def _write_config(self) -> str:
        uid, gid = self.owner
        lines = [
            f"base_dir = {self.folder}/run",
            f"state_dir = {self.folder}/state",
            f"log_path = {self.folder}/log",
            "protocols = imap",
            "listen = 127.0.0.1",
            "ssl = no",
            "disable_plaintext_auth = no",
            f"mail_location = maildir:{self.mail_root}/%u",
            "first_valid_uid = 1",
            "first_valid_gid = 1",
            "auth_username_chars =",
            # A wrong password is answered at once; by default each one slows the next logins down.
            "auth_failure_delay = 0",
            f"passdb {{\n  driver = static\n  args = password={self.password}\n}}",
            f"userdb {{\n  driver = static\n  args = uid={uid} gid={gid} home={self.mail_root}/%u\n}}",
            f"service imap-login {{\n  inet_listener imap {{\n    port = {self.port}\n  }}",
            f"  inet_listener imaps {{\n    port = 0\n  }}\n{self._chroot()}}}",
            f"service anvil {{\n{self._chroot()}  unix_listener anvil-auth-penalty {{",
            "    mode = 0\n  }\n}",
        ]
        if os.geteuid() != 0:
            user, group = pwd.getpwuid(uid).pw_name, _group_name(gid)
            lines += [
                f"default_internal_user = {user}",
                f"default_login_user = {user}",
                f"default_internal_group = {group}",
            ]
        path = os.path.join(self.folder, "dovecot.conf")
        with open(path, "w", encoding="utf-8") as handle:
            handle.write("\n".join(lines) + "\n")
        return path

    def _chroot(self) -> str:
        return "" if os.geteuid() == 0 else "  chroot =\n"


def dovecot_binary() -> str | None:
    """Return dovecot's path, also where the system folders are not on the search path."""
    return shutil.which("dovecot") or shutil.which("dovecot", path="/usr/sbin:/usr/local/sbin")


def make_maildir(folder: str, *, owner: tuple[int, int] | None = None) -> None:
    """Create a maildir with tmp, new and cur where there is none."""
    for place in (folder, *(os.path.join(folder, name) for name in ("tmp", "new", "cur"))):
        if not os.path.isdir(place):
            os.mkdir(place)
            if owner is not None:
                os.chown(place, *owner)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _group_name(gid: int) -> str:
    import grp

    return grp.getgrgid(gid).gr_name


def _fault(code: str, why: str) -> EnvironmentFault:
    return EnvironmentFault(
        code,
        failed=why,
        state="No mail server was started",
        next_step="Install dovecot-imapd or choose the reader maildir",
    )
