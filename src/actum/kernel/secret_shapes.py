# SPDX-License-Identifier: Apache-2.0
"""Text that has the shape of a secret is found in one pass for each shape, in time linear in its length.

Rules:

1. A PEM private key is a secret from its BEGIN line to its END line, or to the end of the text.
2. A run that starts with a provider's key prefix is a secret, and so is a JSON Web Token.
3. The password of a URL is a secret; its user and host are not.
4. The value assigned to a secret name (`=`, `:`, a flag, a header) is a secret; in prose, after a colon, a
   weak name (`token`, `secret`) needs a value that looks random.
5. What stands after `Bearer` or `Basic` is a secret where it looks random.
6. A placeholder `[redacted:KIND]` is not a secret.

Linear: each pattern starts at a literal or a guarded boundary, repeats one class at a time, and a run that
was read is either consumed or bounded by a constant. Nothing is decoded: base64, quoted-printable soft breaks
and compressed parts are opaque here and must be decoded by the door before they are shown or stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from actum.kernel.secret_names import SecretKind, secret_name
from actum.kernel.secret_values import PLACEHOLDER, Span, ValueReader, looks_random

_pem_begin = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----", re.ASCII)
_pem_end = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----", re.ASCII)

# The literal start, and what must follow it.
_PREFIXES = (
    ("sk_live_", r"[A-Za-z0-9]{8,}"),
    ("sk_test_", r"[A-Za-z0-9]{8,}"),
    ("rk_live_", r"[A-Za-z0-9]{8,}"),
    ("rk_test_", r"[A-Za-z0-9]{8,}"),
    ("whsec_", r"[A-Za-z0-9+/=]{16,}"),
    ("sk-ant-", r"[A-Za-z0-9_-]{8,}"),
    ("sk-proj-", r"[A-Za-z0-9_-]{8,}"),
    ("sk-", r"[A-Za-z0-9]{20,}"),
    ("ghp_", r"[A-Za-z0-9]{12,}"),
    ("gho_", r"[A-Za-z0-9]{12,}"),
    ("ghu_", r"[A-Za-z0-9]{12,}"),
    ("ghs_", r"[A-Za-z0-9]{12,}"),
    ("ghr_", r"[A-Za-z0-9]{12,}"),
    ("github_pat_", r"[A-Za-z0-9_]{16,}"),
    ("glpat-", r"[A-Za-z0-9_-]{16,}"),
    ("xoxa-", r"[A-Za-z0-9-]{8,}"),
    ("xoxb-", r"[A-Za-z0-9-]{8,}"),
    ("xoxe-", r"[A-Za-z0-9-]{8,}"),
    ("xoxo-", r"[A-Za-z0-9-]{8,}"),
    ("xoxp-", r"[A-Za-z0-9-]{8,}"),
    ("xoxr-", r"[A-Za-z0-9-]{8,}"),
    ("xoxs-", r"[A-Za-z0-9-]{8,}"),
    ("xapp-", r"[A-Za-z0-9-]{8,}"),
    ("AKIA", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("ASIA", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("AIza", r"[A-Za-z0-9_-]{35}"),
    ("ya29.", r"[A-Za-z0-9._-]{8,}"),
    ("npm_", r"[A-Za-z0-9]{30,}"),
    ("pypi-AgE", r"[A-Za-z0-9_-]{16,}"),
    ("hf_", r"[A-Za-z0-9]{30,}"),
    ("dop_v1_", r"[a-f0-9]{32,}"),
    ("shpat_", r"[A-Fa-f0-9]{32,}"),
    ("hooks.slack.com/services/", r"[A-Za-z0-9/]{16,}"),
)
_prefixed = re.compile(
    "(?<![A-Za-z0-9])(?:" + "|".join(re.escape(start) + rest for start, rest in _PREFIXES) + ")", re.ASCII
)
# Each prefix holds one of these, and most texts hold none.
_PREFIX_MARKS = ("_", "-", "AKIA", "ASIA", "AIza", "ya29.", "/services/")
_jwt = re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){2,4}", re.ASCII)
_url_user = re.compile(r"://([^\s/:@?#\"'<>\[]{0,256}):([^\s/?#\"'<>]{1,1024})@", re.ASCII)
_assigned = re.compile(
    r"(?:password|passwords|passwd|passphrase|passcode|pwd|tokens?|jwt|otp|secrets?|credentials?|cookies?"
    r"|authorization|key|signature|sig|sid|sessionid|sessid)"
    r"(\\?[\"'])?[ \t]{0,4}(=>|:=|=|:)[ \t]{0,4}",
    re.ASCII | re.IGNORECASE,
)
_flag = re.compile(r"(?<![A-Za-z0-9-])--?([A-Za-z][A-Za-z0-9_-]{0,63})[ \t]{1,4}(?=[^\s-])", re.ASCII)
_user_pair = re.compile(
    r"(?<![A-Za-z0-9-])(?:-u|--user)[ \t=]{0,4}[\"']?([^\s:\"'\\\[]{1,128}):([^\s\"']+)", re.ASCII
)
_scheme = re.compile(
    r"(?<![A-Za-z0-9])(?:bearer|basic)[ \t]{1,4}([A-Za-z0-9._~+/=-]+)", re.ASCII | re.IGNORECASE
)
_one_credential = re.compile(
    r"(?:basic|bearer|token|negotiate|ntlm|apikey|dpop)[ \t]{1,4}([^\s\"'`<>,;]+)", re.ASCII | re.IGNORECASE
)
_listed_credential = re.compile(
    r"(?:digest|oauth|hawk|signature|mac|aws4-[a-z0-9-]{1,40})[ \t]{1,4}(?=[^\s=]{1,128}=)",
    re.ASCII | re.IGNORECASE,
)

_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")
# Each name of `_assigned` holds one of these.
_NAME_MARKS = (
    "pass",
    "pwd",
    "token",
    "jwt",
    "otp",
    "secret",
    "cred",
    "cookie",
    "author",
    "key",
    "sig",
    "sid",
    "sess",
)
_QUERY_NAMES = ("signature", "sig", "sid", "sessionid", "sessid")
# Words that follow the name of a flag in a sentence about it.
# fmt: off
_PROSE = frozenset({
    "a", "an", "and", "are", "argument", "as", "at", "by", "can", "flag", "for", "from", "if", "in",
    "instead", "into", "is", "it", "may", "must", "not", "of", "on", "option", "or", "parameter", "should",
    "that", "the", "then", "to", "value", "was", "when", "which", "will", "with",
})
# fmt: on
# No header that a server accepts is longer.
_LONGEST_HEADER = 16 * 1024


def find_secrets(text: str) -> list[Span]:
    """Return the spans of the secrets in `text`, in order, none touching another's characters."""
    # Most names and many values are one plain word, which only a prefix can make a secret.
    detectors = (_prefixed_keys,) if text.isidentifier() else _DETECTORS
    found = [span for detector in detectors for span in detector(text)]
    if not found:
        return found
    found.sort(key=lambda span: (span.start, span.end))
    merged: list[Span] = []
    for span in found:
        # Rule 6.
        if PLACEHOLDER.fullmatch(text, span.start, span.end):
            continue
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = Span(last.start, max(last.end, span.end), last.kind)
        else:
            merged.append(span)
    return merged


def _pem_keys(text: str) -> Iterator[Span]:
    # Rule 1. Without an END line nothing after BEGIN is known to be no key.
    position = 0 if "-----BEGIN" in text else len(text)
    while begin := _pem_begin.search(text, position):
        end = _pem_end.search(text, begin.end())
        position = end.end() if end else len(text)
        yield Span(begin.start(), position, SecretKind.PRIVATE_KEY)


def _prefixed_keys(text: str) -> Iterator[Span]:
    # Rule 2.
    if any(mark in text for mark in _PREFIX_MARKS) and any(start in text for start, _ in _PREFIXES):
        for match in _prefixed.finditer(text):
            yield Span(match.start(), match.end(), SecretKind.API_KEY)
    if "eyJ" in text:
        for match in _jwt.finditer(text):
            yield Span(match.start(), match.end(), SecretKind.JWT)


def _url_passwords(text: str) -> Iterator[Span]:
    # Rule 3.
    if "://" not in text or "@" not in text:
        return
    for match in _url_user.finditer(text):
        # Some hosts take the key as the user and a fixed word as the password.
        which = 1 if match[2] == "x-oauth-basic" else 2
        yield Span(match.start(which), match.end(which), SecretKind.URL_PASSWORD)


def _assignments(text: str) -> Iterator[Span]:
    # Rule 4.
    if "=" not in text and ":" not in text:
        return
    lowered = text.lower()
    if not any(mark in lowered for mark in _NAME_MARKS):
        return
    reader = ValueReader(text)
    position = 0
    while match := _assigned.search(text, position):
        position = match.end()
        name, before = _whole_name(text, match)
        span = _header_value(text, name, match, before) or _named_value(reader, name, match, before)
        if span is not None:
            position = max(position, span.end)
            yield span


def _whole_name(text: str, match: re.Match[str]) -> tuple[str, str]:
    """Return the name that the matched word ends, and the character before it."""
    start = match.start()
    lowest = max(0, start - 64)
    while start > lowest and text[start - 1] in _NAME_CHARACTERS:
        start -= 1
    # A label in prose has a space inside: "API key: ...".
    if text[match.start() : match.start() + 3].lower() == "key" and start == match.start():
        while start > lowest and (text[start - 1] in _NAME_CHARACTERS or text[start - 1] == " "):
            start -= 1
    end = match.start(1) if match[1] else match.start(2)
    return text[start:end].strip(), text[start - 1] if start else ""


def _header_value(text: str, name: str, match: re.Match[str], before: str) -> Span | None:
    last = name.lower()
    if match[2] != ":" or match[1]:
        return None
    if last.endswith("authorization"):
        if one := _one_credential.match(text, match.end()):
            ends = one.end() == len(text) or text[one.end()] in "\r\n\"'`"
            if len(one[1]) >= 8 and (ends or looks_random(one[1])):
                return Span(one.start(1), one.end(1), SecretKind.AUTHORIZATION)
        elif listed := _listed_credential.match(text, match.end()):
            return Span(listed.end(), _line_end(text, listed.end(), before), SecretKind.AUTHORIZATION)
    if last.endswith("cookie"):
        end = _line_end(text, match.end(), before)
        if text.find("=", match.end(), end) >= 0:
            return Span(match.end(), end, SecretKind.COOKIE)
    return None


def _line_end(text: str, position: int, before: str) -> int:
    end = min(len(text), position + _LONGEST_HEADER)
    for stop in ("\n", "\r", *(before if before in ("'", '"') else "")):
        at = text.find(stop, position, end)
        end = at if at >= 0 else end
    return end


def _named_value(reader: ValueReader, name: str, match: re.Match[str], before: str) -> Span | None:
    if name.lower().rpartition("-")[2].rpartition("_")[2].endswith(_QUERY_NAMES):
        if match[2] == "=" and before and before in "?&;":
            return reader.read(match.end(), SecretKind.SIGNATURE)
        return None
    meaning = secret_name(name)
    if meaning is None:
        return None
    in_prose = match[2] == ":" and not match[1]
    if meaning.plural or (in_prose and (not meaning.strong or " " in name)):
        return reader.read_if_random(match.end(), meaning)
    if match[1]:
        return reader.read_json(match.end(), meaning.kind, match[1])
    return reader.read(match.end(), meaning.kind)


def _flags(text: str) -> Iterator[Span]:
    # Rule 4, on a command line.
    if "-" not in text:
        return
    reader = ValueReader(text)
    for match in _flag.finditer(text):
        meaning = secret_name(match[1])
        span = reader.read(match.end(), meaning.kind) if meaning is not None else None
        if span is not None and text[span.start : span.end].rstrip(".:").lower() not in _PROSE:
            yield span
    if "-u" in text:
        for match in _user_pair.finditer(text):
            if not (match[1].isdigit() and match[2].isdigit()):
                yield Span(match.start(2), match.end(2), SecretKind.PASSWORD)


def _schemes(text: str) -> Iterator[Span]:
    # Rule 5.
    for match in _scheme.finditer(text):
        if len(match[1]) >= 16 and looks_random(match[1]):
            yield Span(match.start(1), match.end(1), SecretKind.AUTHORIZATION)


_DETECTORS = (_pem_keys, _prefixed_keys, _url_passwords, _assignments, _flags, _schemes)
