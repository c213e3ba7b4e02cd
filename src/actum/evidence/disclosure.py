# SPDX-License-Identifier: Apache-2.0
"""Whoever holds the original content and its salt can show that a receipt is for exactly it.

A published record holds the digest of {salt, value}, with one salt of 128 bits for each effect, so that
nobody can guess a short value from its digest. A holder who shows value and salt shows that one value; what
was not shown stays private.

A match says that these bytes are what the receipt names. It does not say when or by whom they were written.
"""

from __future__ import annotations

from typing import cast

import msgspec

from actum.evidence.published import PublishedReceipt
from actum.model.errors import UsageError
from actum.model.look import private_digest
from actum.model.strict_json import JsonRefused, parse_foreign

_MEMBERS = ("input", "output", "context")


class Disclosure(msgspec.Struct, frozen=True, kw_only=True):
    """What a holder shows for one receipt: the salt and, by name, any of input, output, context."""

    receipt_id: str
    salt: str
    shown: dict[str, object]


def read_disclosure(data: bytes) -> Disclosure:
    """Return a holder's JSON `{"receipt_id", "salt", "input"?, "output"?, "context"?}`.

    Raises UsageError `disclosure` where it has another shape; numbers keep the text they were written with.
    """
    try:
        whole = parse_foreign(data)
    except JsonRefused as error:
        raise _bad(error.message) from error
    if not isinstance(whole, dict):
        raise _bad("it is no object")
    members = cast("dict[str, object]", whole)
    if not {"receipt_id", "salt"} <= set(members):
        raise _bad("it names no receipt_id or no salt")
    shown = {name: members[name] for name in members if name not in ("receipt_id", "salt")}
    if not shown or not set(shown) <= set(_MEMBERS):
        raise _bad("beside receipt_id and salt it shows input, output or context and nothing else")
    receipt_id, salt = members["receipt_id"], members["salt"]
    if not isinstance(receipt_id, str) or not isinstance(salt, str):
        raise _bad("receipt_id and salt are text")
    return Disclosure(receipt_id=receipt_id, salt=salt, shown=shown)


def matches(disclosure: Disclosure, receipt: PublishedReceipt) -> dict[str, bool]:
    """Return for each shown member whether the receipt is for exactly that value."""
    if disclosure.receipt_id != receipt.identity.receipt_id:
        return dict.fromkeys(disclosure.shown, False)
    named = {"input": receipt.input_hash, "output": receipt.output_hash, "context": receipt.context_snapshot}
    return {
        name: private_digest(value, salt=disclosure.salt) == named[name]
        for name, value in disclosure.shown.items()
    }


def _bad(why: str) -> UsageError:
    return UsageError(
        "disclosure",
        failed=f"The disclosed content cannot be read: {why}",
        state="Nothing was compared",
        next_step='Give one JSON object: {"receipt_id": ..., "salt": ..., "input": ...}',
    )
