# SPDX-License-Identifier: Apache-2.0
"""Mail: write drafts, send messages, and read mailboxes back.

Importing this package loads nothing that sends or writes: the verifier process imports it by
``verifiers`` and must not hold executor code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from actum.capabilities.mail.config import MailConfig, read_mail_config
from actum.ports.verifier import Verifier

if TYPE_CHECKING:
    from actum.ports.capability import Capability


def mail_capabilities(config: MailConfig) -> list[Capability]:
    """Return mail.draft where ``drafts`` is configured and mail.send where ``smtp_host`` is."""
    # Imported here so that a verifier process never loads what sends.
    from actum.capabilities.mail import declared

    return declared.mail_capabilities(config)


def verifiers(config: dict[str, object]) -> dict[str, Verifier]:
    """Return the verifiers by capability id for the [mail] section, given as plain JSON values.

    Raises UsageError bad_mail_config.
    """
    from actum.capabilities.mail.verify import verifiers_of

    return dict(verifiers_of(read_mail_config(config)))


def reader_section(section: Mapping[str, object]) -> dict[str, object]:
    """Return the part of the [mail] section that a verifier needs: nothing that names how to send."""
    kept = ("reader", "imap_", "maildir", "drafts", "consistency_window_ms", "timeout_ms", "from", "domain")
    return {name: value for name, value in section.items() if name.startswith(cast("tuple[str, ...]", kept))}


__all__ = ["MailConfig", "mail_capabilities", "read_mail_config", "reader_section", "verifiers"]
