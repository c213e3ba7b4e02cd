# SPDX-License-Identifier: Apache-2.0
"""Foreign bytes are refused with the code and the place of their first flaw."""

import pytest

from actum.model.strict_json import ForeignNumber, JsonRefused, parse_foreign, pointer


@pytest.mark.parametrize(
    ("data", "code", "path"),
    [
        (b"\xff", "not_utf8", ""),
        (b'"\xed\xa0\x80"', "not_utf8", ""),
        (b"\xef\xbb\xbf1", "not_json", ""),
        (b"", "not_json", ""),
        (b"[1,]", "not_json", ""),
        (b"01", "not_json", ""),
        (b"1 2", "not_json", ""),
        (b"{'a':1}", "not_json", ""),
        (b'"\n"', "not_json", ""),
        (b"\x0c1", "not_json", ""),
        (b"NaN", "bad_number", ""),
        (b'{"a":[1,-Infinity]}', "bad_number", "/a/1"),
        (b"[NaN,", "not_json", ""),
        (b'{"a":1,"a":1}', "duplicate_key", "/a"),
        (b'{"a":{"b/c":1,"b/c":2}}', "duplicate_key", "/a/b~1c"),
        (b'{"a":1,"\\u0061":2}', "duplicate_key", "/a"),
        (b'["\\ud800"]', "lone_surrogate", "/0"),
        (b'["\\uDFFF\\uD800"]', "lone_surrogate", "/0"),
        (b'{"\\ud800":1}', "lone_surrogate", "/\\ud800"),
        (b"[" * 65 + b"]" * 65, "too_deep", ""),
        (b'{"a":' * 100_000, "too_deep", ""),
    ],
)
def test_a_flaw_is_refused_with_its_code_and_place(data, code, path) -> None:
    with pytest.raises(JsonRefused) as caught:
        parse_foreign(data)
    assert (caught.value.code, caught.value.path) == (code, path)
    assert caught.value.exit_code == 2


def test_of_several_flaws_the_first_in_the_text_is_named() -> None:
    with pytest.raises(JsonRefused) as caught:
        parse_foreign(b'{"a":["\\ud800"],"b":NaN,"c":{"d":1,"d":2}}')
    assert (caught.value.code, caught.value.path) == ("lone_surrogate", "/a/0")


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'"\\ud83c\\udf89"', "\U0001f389"),
        (b'"\\\\ud800"', "\\ud800"),
        (b' [true,false,null,"\\u0000"]\r\n', [True, False, None, "\x00"]),
        (b"[" * 64 + b"]" * 64, None),
        (b'["' + b"[{" * 500 + b'"]', ["[{" * 500]),
        (b'["\\"' + b"[" * 500 + b'"]', ['"' + "[" * 500]),
        (b"1e400", ForeignNumber("1e400")),
        (b"9" * 5000, ForeignNumber("9" * 5000)),
    ],
)
def test_everything_else_that_is_json_is_read(data, value) -> None:
    read = parse_foreign(data)
    assert value is None or read == value


def test_brackets_of_closed_values_do_not_count_as_depth() -> None:
    assert parse_foreign(b"[" + b"[]," * 500 + b"[]]") == [[]] * 501


def test_a_pointer_escapes_its_separators_and_stays_printable() -> None:
    assert pointer("/a", "b/c~d") == "/a/b~1c~0d"
    assert pointer("", 3) == "/3"
    assert pointer("", "\ud800") == "/\\ud800"
