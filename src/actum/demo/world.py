# SPDX-License-Identifier: Apache-2.0
"""The demo's world: an inbox, a desk of files, a ledger on a share, and mailboxes a real mail server fills.

What happened is counted here from the things themselves; none of our records is asked.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from email import message_from_bytes
from importlib.util import find_spec
from pathlib import Path

from actum.demo.tools import refunds_in
from actum.model import canonical
from actum.model.errors import EnvironmentFault
from actum.testing.mail_servers import SmtpFault, SmtpSink, make_maildir

LETTERS = {
    "bo": ("Bo Lind", "Thursday?", "Could we meet on Thursday at 14:00?"),
    "cy": ("Cy Ames", "A room", "Please book the blue room for us on Friday."),
    "dee": ("Dee Park", "Price list", "Would you send me the new price list?"),
    "eli": ("Eli Roth", "The form", "I still need the signed form from you."),
    "news": ("Trade Weekly", "[news] Issue 41", "All the news of the week, and three offers."),
}
OLD_PHONE, NEW_PHONE = "555-0100", "555-0199"
OLD_PRICES, NEW_PRICES, STRANGERS_PRICES = "pens 2.00\n", "pens 2.10\n", "pens 9.99, by somebody else\n"
DOMAIN = "desk.example"


class MailHost(SmtpSink):
    """The mail server of the demo. When told to drop its reply it also goes off the network with its mailboxes."""

    def __init__(self, root: Path, mount: Path, *, mailboxes: set[str]) -> None:
        super().__init__(str(root), mailboxes=mailboxes)
        self._mount = mount

    def deliver(self, address: str, raw: bytes) -> str:
        """Store a message, and be gone right after where that is the fault."""
        kept = super().deliver(address, raw)
        if self.fault is SmtpFault.DROP_REPLY_AFTER_STORING:
            self._mount.unlink()
        return kept

    def come_back(self) -> None:
        """Be reachable again."""
        self.fault = SmtpFault.NONE
        plug_in(self._mount, Path(self.root))


class World:
    """Everything the demo touches, below one folder."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.store = base / ".actum"
        self.inbox = base / "inbox"
        self.desk = base / "desk"
        self.tray = base / "desk" / "outgoing"
        self.card = base / "desk" / "eli.json"
        self.prices = base / "desk" / "prices.txt"
        self.share = base / "share"
        self.ledger = base / "share" / "ledger.jsonl"
        self.mailboxes = base / "mailboxes"
        self._disk = base / "disk"
        self._mail_root = base / "mailhost"

    def build(self) -> None:
        """Make the folders, the files and the letters."""
        for folder in (self.desk, self.tray, self._disk, self._mail_root):
            folder.mkdir()
        plug_in(self.share, self._disk)
        plug_in(self.mailboxes, self._mail_root)
        self.card.write_text(json.dumps({"name": "Eli Roth", "phone": OLD_PHONE}))
        self.prices.write_text(OLD_PRICES)
        make_maildir(str(self.inbox))
        for number, who in enumerate(LETTERS, 1):
            name, headline, text = LETTERS[who]
            letter = (
                f"From: {name} <{address(who)}>\nTo: Ann <ann@{DOMAIN}>\nSubject: {headline}\n"
                f"Date: Tue, 01 Dec 2026 08:0{number}:00 +0000\nMessage-ID: <{number}@{who}.example>\n\n{text}\n"
            )
            (self.inbox / "new" / f"{number}.{who}").write_text(letter)

    def mail_host(self) -> MailHost:
        """Return the mail server; every letter's writer has a mailbox there."""
        if find_spec("aiosmtpd") is None:
            raise EnvironmentFault(
                "demo_extra_absent",
                failed="the full demo needs a mail server, and aiosmtpd is not installed",
                state="No store was made",
                next_step="Install actum[mail-demo,embedded], or run `actum demo --quick`, which needs neither",
            )
        return MailHost(self._mail_root, self.mailboxes, mailboxes={address(who) for who in LETTERS})

    def unplug_share(self) -> None:
        """Take the share with the ledger off the network."""
        self.share.unlink()

    def plug_share(self) -> None:
        """Bring it back."""
        plug_in(self.share, self._disk)

    def refunds(self, entry: str) -> list[str]:
        """Return the amounts that stand in the ledger for an entry."""
        return refunds_in(str(self.ledger), entry)

    def copies(self, message_id: str) -> int:
        """Return how many copies of a message lie in all mailboxes together."""
        return self._messages()[message_id]

    def phone(self) -> str:
        """Return what the card of Eli says."""
        return json.loads(self.card.read_text())["phone"]

    def files_holding(self, text: str) -> int:
        """Return how many files of the desk hold exactly this text."""
        return self._files()[canonical.digest_bytes(text.encode())]

    def repeated(self) -> int:
        """Return how many refunds, messages and files are there more often than once."""
        counts: list[Counter[str]] = [self._messages(), self._refunds(), self._files()]
        return sum(count - 1 for counted in counts for count in counted.values())

    def _messages(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for path in self._mail_root.glob("*/*/*"):
            if path.is_file():
                found[str(message_from_bytes(path.read_bytes())["Message-ID"])] += 1
        return found

    def _refunds(self) -> Counter[str]:
        if not self.ledger.exists():
            return Counter()
        return Counter(json.loads(line)["entry"] for line in self.ledger.read_text().splitlines())

    def _files(self) -> Counter[str]:
        files = [path for path in self.desk.rglob("*") if path.is_file()]
        return Counter(canonical.digest_bytes(path.read_bytes()) for path in files)


def address(who: str) -> str:
    """Return the mail address of a letter's writer."""
    return f"{who}@{who}.example"


def plug_in(mount: Path, at: Path) -> None:
    """Make a place reachable under the name by which everybody knows it."""
    if not mount.is_symlink():
        os.symlink(at, mount, target_is_directory=True)
