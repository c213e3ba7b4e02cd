# SPDX-License-Identifier: Apache-2.0
"""Redaction changes nothing twice, nothing ordinary, and lets no planted secret through."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from actum.kernel.redaction import redact

# Fragments that the detectors look for, in every order: where one placeholder could make another match.
_fragments = st.sampled_from(
    [
        *(
            "password",
            "token",
            "api_key",
            "secret",
            "Cookie",
            "Authorization",
            "signature",
            "key",
            "sid",
            "pwd",
        ),
        *(
            "=",
            ":",
            ": ",
            "://",
            "@",
            "&",
            "?",
            ";",
            ",",
            " ",
            "\n",
            "\r\n",
            '"',
            "'",
            "\\",
            "`",
            "-",
            "--",
            "-u ",
        ),
        *(
            "[",
            "]",
            "{",
            "}",
            "[redacted:token]",
            "[redacted:",
            "#2",
            ".",
            "/",
            "Bearer ",
            "Basic ",
            "Digest ",
        ),
        *(
            "ghp_abcdef1234567890",
            "sk_live_abcdef123456",
            "AKIAIOSFODNN7EXAMPLE",
            "eyJhbGciOi.eyJzdWIi.x",
            "x",
        ),
        *(
            "-----BEGIN RSA PRIVATE KEY-----",
            "-----END RSA PRIVATE KEY-----",
            "a1b2c3d4e5f6",
            "hunter2",
            "true",
        ),
        *("x-oauth-basic", "https://u:", "name", "value", "--token ", "Set-Cookie: ", "api key: ", "123456"),
    ]
)
_hostile_text = st.lists(_fragments, max_size=12).map("".join)
_words = st.text(alphabet="abcdefghijklmnopqrstuvwxyzäöüßABCDEF ,.!?()\n", max_size=200)
_leaf = st.one_of(st.none(), st.booleans(), st.integers(), _hostile_text, st.text(max_size=20))
_values = st.recursive(
    _leaf,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(_hostile_text, inner, max_size=4)),
    max_leaves=12,
)


@given(_values)
def test_redacting_a_result_changes_and_finds_nothing(value: Any) -> None:
    once, _ = redact(value)
    assert redact(once) == (once, ())


@given(_values)
def test_no_finding_means_no_change(value: Any) -> None:
    redacted, findings = redact(value)
    assert (redacted == value) or findings


@given(_words)
def test_ordinary_text_is_not_touched(text: str) -> None:
    assert redact(text) == (text, ())


@given(st.binary(max_size=300))
def test_bytes_without_a_finding_come_back_as_they_were(data: bytes) -> None:
    redacted, findings = redact(data)
    assert findings or redacted == data


@given(
    st.sampled_from(["password=SECRET", "https://u:SECRET@h", "--token SECRET", '"api_key": "SECRET"']),
    _words,
    _words,
)
def test_a_planted_secret_is_gone_whatever_stands_around_it(shape: str, before: str, after: str) -> None:
    secret = "hunter2Zq9"
    text, _ = redact(before + " " + shape.replace("SECRET", secret) + " " + after)
    assert secret not in text
