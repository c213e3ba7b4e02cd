# SPDX-License-Identifier: Apache-2.0
"""A name says secret by its last words, whatever the style it is written in.

Rules:

1. A name is split into words at case changes, digits, underscores, hyphens, dots and spaces.
2. It names a secret if it ends in a secret word, or in `key` after a word that makes the key secret, or if
   its letters run together end in a secret compound (`dbpassword`, `accesstoken`).
3. Names that only count, page or mark tokens (`max_tokens`, `next_page_token`, `eos_token`) name none.
"""

from __future__ import annotations

import enum
import re
from functools import lru_cache

import msgspec


class SecretKind(enum.Enum):
    """What a finding was taken for; the value stands in the placeholder `[redacted:KIND]`."""

    PASSWORD = "password"
    TOKEN = "token"
    API_KEY = "api_key"
    SECRET = "secret"
    COOKIE = "cookie"
    AUTHORIZATION = "authorization"
    PRIVATE_KEY = "private_key"
    JWT = "jwt"
    URL_PASSWORD = "url_password"
    SIGNATURE = "signature"
    TOO_DEEP = "too_deep"


class SecretName(msgspec.Struct, frozen=True):
    """What a name promises; a `strong` one is believed in prose too, a `plural` one never of a number."""

    kind: SecretKind
    strong: bool
    plural: bool = False


_STRONG = True
_WEAK = False
_LAST_WORDS = {
    "password": SecretName(SecretKind.PASSWORD, _STRONG),
    "passwords": SecretName(SecretKind.PASSWORD, _WEAK, plural=True),
    "passwd": SecretName(SecretKind.PASSWORD, _STRONG),
    "passphrase": SecretName(SecretKind.PASSWORD, _STRONG),
    "passcode": SecretName(SecretKind.PASSWORD, _STRONG),
    "pwd": SecretName(SecretKind.PASSWORD, _STRONG),
    "token": SecretName(SecretKind.TOKEN, _WEAK),
    "tokens": SecretName(SecretKind.TOKEN, _WEAK, plural=True),
    "jwt": SecretName(SecretKind.TOKEN, _WEAK),
    "otp": SecretName(SecretKind.TOKEN, _WEAK),
    "apikey": SecretName(SecretKind.API_KEY, _STRONG),
    "secret": SecretName(SecretKind.SECRET, _WEAK),
    "secrets": SecretName(SecretKind.SECRET, _WEAK, plural=True),
    "credential": SecretName(SecretKind.SECRET, _WEAK),
    "credentials": SecretName(SecretKind.SECRET, _WEAK, plural=True),
    "cookie": SecretName(SecretKind.COOKIE, _WEAK),
    "cookies": SecretName(SecretKind.COOKIE, _WEAK, plural=True),
    "authorization": SecretName(SecretKind.AUTHORIZATION, _WEAK),
}
_SECRET_KEYS = {
    "api": SecretKind.API_KEY,
    "access": SecretKind.API_KEY,
    "account": SecretKind.API_KEY,
    "auth": SecretKind.API_KEY,
    "shared": SecretKind.API_KEY,
    "secret": SecretKind.SECRET,
    "signing": SecretKind.SECRET,
    "encryption": SecretKind.SECRET,
    "master": SecretKind.SECRET,
    "private": SecretKind.PRIVATE_KEY,
}
_COMPOUNDS = {
    "password": SecretName(SecretKind.PASSWORD, _STRONG),
    "passwd": SecretName(SecretKind.PASSWORD, _STRONG),
    "passphrase": SecretName(SecretKind.PASSWORD, _STRONG),
    "apikey": SecretName(SecretKind.API_KEY, _STRONG),
    "accesskey": SecretName(SecretKind.API_KEY, _STRONG),
    "secretkey": SecretName(SecretKind.SECRET, _STRONG),
    "privatekey": SecretName(SecretKind.PRIVATE_KEY, _STRONG),
    "clientsecret": SecretName(SecretKind.SECRET, _STRONG),
    "accesstoken": SecretName(SecretKind.TOKEN, _STRONG),
    "authtoken": SecretName(SecretKind.TOKEN, _STRONG),
    "refreshtoken": SecretName(SecretKind.TOKEN, _STRONG),
    "sessiontoken": SecretName(SecretKind.TOKEN, _STRONG),
    "bearertoken": SecretName(SecretKind.TOKEN, _STRONG),
}
# fmt: off
_NOT_SECRET_TOKENS = frozenset({
    "bos", "cached", "cls", "completion", "continuation", "count", "cursor", "eos", "first", "input", "last",
    "mask", "max", "min", "next", "output", "pad", "page", "per", "prev", "previous", "prompt", "reasoning",
    "resume", "sep", "special", "stop", "sync", "total", "unk",
})
# fmt: on
_word = re.compile(r"[A-Z]{1,64}(?![a-z])|[A-Z]?[a-z]{1,64}|[0-9]{1,64}", re.ASCII)
_LONGEST_NAME = 64


@lru_cache(maxsize=4096)
def secret_name(name: str) -> SecretName | None:
    """Return what the name promises, None for a name that promises no secret.

    >>> secret_name("clientSecret").kind.value, secret_name("next_page_token"), secret_name("public_key")
    ('secret', None, None)
    """
    # Rule 1.
    words = [word.lower() for word in _word.findall(name[-_LONGEST_NAME:])]
    if not words:
        return None
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    # Rule 3 before rule 2: it is the narrower one.
    if last in ("token", "tokens") and before in _NOT_SECRET_TOKENS:
        return None
    # Rule 2.
    if last == "key" and before in _SECRET_KEYS:
        return SecretName(_SECRET_KEYS[before], _STRONG)
    run = "".join(words)
    for compound, meaning in _COMPOUNDS.items():
        if run.endswith(compound):
            return meaning
    return _LAST_WORDS.get(last)
