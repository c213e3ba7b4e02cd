# SPDX-License-Identifier: Apache-2.0
"""Secrets leave a value by name and by shape; what is no secret stays byte for byte."""

from __future__ import annotations

import json
import os
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from actum.kernel.redaction import Finding, redact
from actum.kernel.secret_names import SecretKind, secret_name
from actum.kernel.secret_shapes import find_secrets
from actum.model.canonical import ForeignNumber
from actum.model.errors import InvariantViolation
from actum.testing.require import require_part

SHARED = Path(os.environ.get("ACTUM_SHARED") or Path(__file__).parents[4] / "shared")
VECTORS = SHARED / "vectors" / "treeship" / "tests" / "vectors" / "redaction.json"
TOKEN = "ghp_abcdef1234567890"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"
PEM = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIE\nAwEHoUQDQg\n-----END EC PRIVATE KEY-----"


def _vectors(group: str) -> list[dict[str, Any]]:
    require_part(VECTORS.is_file(), "shared vectors absent: treeship redaction")
    return json.loads(VECTORS.read_text())[group]


def test_foreign_vectors_lose_their_secrets_and_keep_their_evidence() -> None:
    leaks = _vectors("leaks")
    for case in leaks:
        text, findings = redact(case["input"])
        assert findings, case["name"]
        assert not [secret for secret in case["must_not_contain"] if secret in text], case["name"]
        assert not [kept for kept in case.get("preserved", []) if kept not in text], case["name"]
    assert len(leaks) == 14


def test_foreign_benign_vectors_pass_untouched() -> None:
    benign = _vectors("benign")
    assert [redact(case["input"]) for case in benign] == [(case["input"], ()) for case in benign]
    assert len(benign) == 7


@pytest.mark.parametrize(
    "name",
    [
        *(
            "password",
            "dbPassword",
            "DB_PASSWORD",
            "user.passwd",
            "passphrase",
            "api_key",
            "apiKey",
            "X-Api-Key",
        ),
        *("access_token", "token", "clientSecret", "cookie", "Set-Cookie", "private_key", "secretAccessKey"),
        *("aws_secret_access_key", "Proxy-Authorization", "accesstoken", "APIKEY", "SIGNING_KEY"),
    ],
)
@pytest.mark.parametrize("value", ["x", 1234, 1.5, Decimal("2"), ForeignNumber("7")])
def test_rule_1_a_secret_name_takes_any_text_or_number(name: str, value: object) -> None:
    redacted, findings = redact({name: value})
    assert redacted[name].startswith("[redacted:")
    assert [finding.path for finding in findings] == [f"/{name}"]


@pytest.mark.parametrize(
    "name",
    [
        *("max_tokens", "next_page_token", "input_tokens", "token_count", "eos_token", "public_key", "key"),
        *(
            "passwordless",
            "monkey",
            "author",
            "cookie_policy",
            "secretary",
            "keyboard",
            "password_hint",
            "42",
        ),
    ],
)
def test_rule_1_a_name_that_is_none_takes_nothing(name: str) -> None:
    assert redact({name: "some text"}) == ({name: "some text"}, ())


def test_rule_1_what_says_only_whether_there_is_a_secret_stays() -> None:
    value = {"password": None, "token": False, "secret": "", "tokens": 37, "cookie": True}
    assert redact(value) == (value, ())


def test_rule_1_what_hangs_below_a_secret_name_goes_with_it() -> None:
    value = {"cookies": {"sid": "a", "n": [1, "b"]}, "authorization": {"amount": 3, "note": "hi"}}
    assert redact(value)[0] == {
        "cookies": {"sid": "[redacted:cookie]", "n": [1, "[redacted:cookie]"]},
        "authorization": {"amount": 3, "note": "hi"},
    }


@pytest.mark.parametrize(
    "text, expected",
    [
        (f"see {TOKEN}.", "see [redacted:api_key]."),
        ("AKIAIOSFODNN7EXAMPLE", "[redacted:api_key]"),
        (f"jwt {JWT} end", "jwt [redacted:jwt] end"),
        (f"a\n{PEM}\nb", "a\n[redacted:private_key]\nb"),
        ("-----BEGIN PRIVATE KEY-----\nMHcC and cut", "[redacted:private_key]"),
        ("Authorization: Bearer abcd1234", "Authorization: Bearer [redacted:authorization]"),
        ("authorization: Basic QWxhZGRpbjpvcGVu", "authorization: Basic [redacted:authorization]"),
        (
            'Authorization: Digest username="x", response="y"',
            "Authorization: Digest [redacted:authorization]",
        ),
        ("Cookie: a=b; c=d\r\nHost: x", "Cookie: [redacted:cookie]\r\nHost: x"),
        ("Set-Cookie: sid=1; Path=/", "Set-Cookie: [redacted:cookie]"),
        ("X-Api-Key: k", "X-Api-Key: [redacted:api_key]"),
        ("curl -H 'Cookie: a=b' http://x", "curl -H 'Cookie: [redacted:cookie]' http://x"),
        ("postgres://u:p@ss@h/db", "postgres://u:[redacted:url_password]@h/db"),
        ("https://abcdef:x-oauth-basic@h", "https://[redacted:url_password]:x-oauth-basic@h"),
        (f"https://{TOKEN}:x-oauth-basic@h", "https://[redacted:api_key]:x-oauth-basic@h"),
        ('{"password": "a b\\" c", "n": 1}', '{"password": "[redacted:password]", "n": 1}'),
        ('{\\"password\\": \\"x y\\"}', '{\\"password\\": \\"[redacted:password]\\"}'),
        ('{"pwd": 1234, "n": 1}', '{"pwd": "[redacted:password]", "n": 1}'),
        ('{\\"pwd\\": -1.5e3}', '{\\"pwd\\": \\"[redacted:password]\\"}'),
        ('{"pwd": "1234"}', '{"pwd": "[redacted:password]"}'),
        ("password = 'x", "password = '[redacted:password]"),
        ("Your password: hunter2 thanks", "Your password: [redacted:password] thanks"),
        ("API key: abcd1234", "API key: [redacted:api_key]"),
        ("token: 123456", "token: [redacted:token]"),
        ("?sig=abc&x=1", "?sig=[redacted:signature]&x=1"),
        ("Bearer abcdefghijkl1234", "Bearer [redacted:authorization]"),
        ("--api-key 'a b' -v", "--api-key '[redacted:api_key]' -v"),
        ("curl -u 'me:pw' x", "curl -u 'me:[redacted:password]' x"),
    ],
)
def test_rule_2_the_shape_of_a_secret_is_found_in_text(text: str, expected: str) -> None:
    redacted, findings = redact(text)
    assert redacted == expected
    assert len(findings) == 1
    assert redact(redacted) == (redacted, ())


@pytest.mark.parametrize(
    "text",
    [
        "Basic training completed, the bearer of this letter is responsible.",
        "Authorization: pending, Bob will sign.",
        "Cookie: the recipe needs butter.",
        "Token: a small thing. Secret: the ingredient is love.",
        "the key: is under the mat; monkey: banana1234",
        "use --token to authenticate and --password on its own",
        "docker run -u 1000:1000 image; max_tokens=256 tokens=12",
        "http://host:8080/@user?x=a@b.example",
        "https://example.com/a?b=c&d=e#f 12:30 user@example.com",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "01ARZ3NDEKTSV4RRFFQ69G5FAV 3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        "password: null, token=true, [redacted:token]",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        '{"token": {"n": 1}, "secret": [2, 3], "password": null, "tokens": 37}',
        "sk-learn task-force-one disk_live_view",
    ],
)
def test_rule_2_ordinary_text_stays(text: str) -> None:
    assert redact(text) == (text, ())


def test_rule_2_a_members_name_is_text_too() -> None:
    redacted, findings = redact({TOKEN: 1, TOKEN + "x": 2, "[redacted:api_key]": 3})
    assert sorted(redacted.values()) == [1, 2, 3]
    assert TOKEN not in str(redacted)
    assert {finding.path for finding in findings} == {""}
    assert redact(redacted) == (redacted, ())


def test_rule_3_the_place_in_a_list_tells() -> None:
    value = {
        "argv": ["curl", "--token", "s", "--password", "--verbose", "x"],
        "headers": [["Authorization", "x"], ("cookie", "y"), ["Accept", "z"]],
        "har": [{"name": "Cookie", "value": "v"}, {"name": "Accept", "value": "v"}],
        "words": ["token", "tool"],
    }
    assert redact(value)[0] == {
        "argv": ["curl", "--token", "[redacted:token]", "--password", "--verbose", "x"],
        "headers": [
            ["Authorization", "[redacted:authorization]"],
            ["cookie", "[redacted:cookie]"],
            ["Accept", "z"],
        ],
        "har": [{"name": "Cookie", "value": "[redacted:cookie]"}, {"name": "Accept", "value": "v"}],
        "words": ["token", "tool"],
    }


def test_rule_4_a_finding_names_kind_and_place_and_never_the_secret() -> None:
    _, findings = redact({"a/b": [{"password": "hunter2"}, f"x {TOKEN}"]})
    assert findings == (
        Finding(kind=SecretKind.PASSWORD, path="/a~1b/0/password"),
        Finding(kind=SecretKind.API_KEY, path="/a~1b/1"),
    )


def test_rule_5_what_lies_too_deep_is_taken_out_unseen() -> None:
    value: Any = "harmless"
    for _ in range(500):
        value = [value]
    redacted, findings = redact(value)
    assert [finding.kind for finding in findings] == [SecretKind.TOO_DEEP]
    assert "harmless" not in str(redacted)


def test_raw_mail_keeps_every_other_byte() -> None:
    raw = bytes(range(256)) + b"\r\nAuthorization: Bearer abcd1234\r\n\r\npassword=hunter2\r\n"
    redacted, findings = redact(raw)
    assert redacted == bytes(range(256)) + (
        b"\r\nAuthorization: Bearer [redacted:authorization]\r\n\r\npassword=[redacted:password]\r\n"
    )
    assert len(findings) == 2
    assert redact({"token": b"x"})[0] == {"token": b"[redacted:token]"}


@pytest.mark.parametrize("value", [object(), {1: "a"}, {"a": {1, 2}}])
def test_a_type_that_cannot_be_looked_through_stops(value: object) -> None:
    with pytest.raises(InvariantViolation):
        redact(value)


def test_m175_m181_arguments_results_and_an_environment_dump_lose_their_secrets() -> None:
    dump = f"PATH=/bin\nDB_PASSWORD=hunter2\nGITHUB_TOKEN={TOKEN}\nHOME=/root\n"
    redacted, _ = redact({"arguments": {"api_key": "k-1", "to": "ann"}, "result": dump})
    assert redacted["arguments"] == {"api_key": "[redacted:api_key]", "to": "ann"}
    assert redacted["result"] == (
        "PATH=/bin\nDB_PASSWORD=[redacted:password]\nGITHUB_TOKEN=[redacted:api_key]\nHOME=/root\n"
    )


HOSTILE = [
    *(
        "cookie:",
        'password="',
        "token:",
        "-----BEGIN RSA PRIVATE KEY-----",
        '--token "',
        "a-",
        "eyJaaaaaaaa.",
    ),
    *("://a:b", "sk_live_", "AKIA", "password='\n", "-u a:", "authorization: digest a=", "key ", "bearer "),
    *(
        "cookie:=",
        "password:[",
        "a_b.",
        "secret:\"'",
        " key:",
        '"token" : "',
        '\\"password\\":\\"',
        "eyJ",
        "=",
        "-",
    ),
]


@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_text_costs_time_in_proportion(unit: str) -> None:
    def cost(length: int) -> float:
        text = (unit * (length // len(unit) + 1))[:length]
        best = float("inf")
        for _ in range(3):
            # Processor time, so that other work on the machine does not count.
            started = time.process_time()
            find_secrets(text)
            best = min(best, time.process_time() - started)
        return best

    # Eight times the text: quadratic cost would be sixty-four times as high.
    assert cost(64_000) < 0.02 + 24 * cost(8_000)


def test_names_are_read_in_every_style() -> None:
    kinds = [
        secret_name(name) for name in ("clientSecret", "CLIENT_SECRET", "client-secret", "Client Secret")
    ]
    assert len({kind for kind in kinds if kind is not None}) == 1
    assert None not in kinds
