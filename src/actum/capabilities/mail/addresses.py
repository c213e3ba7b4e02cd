# SPDX-License-Identifier: Apache-2.0
"""An address is taken exactly as written or refused; nothing is guessed, dropped or repaired.

Accepted are ``local@domain`` and ``Name <local@domain>`` with an ASCII dot-atom before the at sign and a
host name behind it. Quoted local parts, domain literals, groups, comments and lists in one text are refused:
each of them is a place where two programs read two different recipients.

Rules
1. A line break, NUL or other control character in anything that goes into a header is refused.
2. Only one address stands in one text.
3. An address that is not in the accepted form is refused; it does not become another one.
"""

from __future__ import annotations

import re
import unicodedata

import msgspec

from actum.model.errors import Refused

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_address_form = re.compile(rf"{_ATOM}(?:\.{_ATOM})*@{_LABEL}(?:\.{_LABEL})*", re.ASCII)
_named_form = re.compile(r"(?P<name>[^<>]*?)[ \t]*<(?P<address>[^<>]*)>")
_plain_name = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~ -]+", re.ASCII)
_message_id_form = re.compile(rf"<{_ATOM}(?:\.{_ATOM})*@{_LABEL}(?:\.{_LABEL})*>", re.ASCII)

# RFC 5321 section 4.5.3.1 allows 64 octets before the at sign and 254 for a whole address.
MAX_LOCAL = 64
MAX_ADDRESS = 254
MAX_NAME = 200

_LINE_SEPARATORS = ("Cc", "Zl", "Zp")


class Mailbox(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One address with the name shown beside it (empty text where there is none)."""

    name: str
    address: str

    def text(self) -> str:
        """Return the one written form that the resolved arguments hold."""
        return f"{self.name} <{self.address}>" if self.name else self.address


def unsafe_in_header(text: str) -> bool:
    """Tell whether the text could end a header line, or holds a character that no header may carry."""
    # Rule 1
    return any(unicodedata.category(character) in (*_LINE_SEPARATORS, "Cs") for character in text)


def parse_mailbox(text: str, *, path: str) -> Mailbox | Refused:
    """Return the mailbox that ``text`` names; ``path`` is the JSON Pointer of the argument.

    Refusals: header_injection, address_malformed, address_too_long.
    """
    if unsafe_in_header(text):
        return Refused(reason="header_injection", facts={"path": path})
    name, address = "", text
    if "<" in text or ">" in text:
        match = _named_form.fullmatch(text)
        if match is None:
            return Refused(reason="address_malformed", facts={"path": path, "got": text[:MAX_ADDRESS]})
        name, address = match["name"].strip('" \t'), match["address"]
    # Rules 2 and 3
    if _address_form.fullmatch(address) is None or any(mark in name for mark in '"\\@'):
        return Refused(reason="address_malformed", facts={"path": path, "got": text[:MAX_ADDRESS]})
    local, _, domain = address.rpartition("@")
    if len(local) > MAX_LOCAL or len(address) > MAX_ADDRESS or len(name) > MAX_NAME:
        return Refused(reason="address_too_long", facts={"path": path, "got": text[:MAX_ADDRESS]})
    return Mailbox(name=name, address=f"{local}@{domain.lower()}")


def needs_quotes(name: str) -> bool:
    """Tell whether a display name must be quoted in a header."""
    return _plain_name.fullmatch(name) is None


def is_message_id(text: str) -> bool:
    """Tell whether the text is one Message-ID in angle brackets, in the form we write and search for."""
    return len(text) <= 2 + MAX_ADDRESS and _message_id_form.fullmatch(text) is not None


def is_host_name(text: str) -> bool:
    """Tell whether the text is a host name that can stand behind an at sign."""
    return len(text) <= 253 and re.fullmatch(rf"{_LABEL}(?:\.{_LABEL})*", text, re.ASCII) is not None
