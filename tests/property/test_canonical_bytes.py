# SPDX-License-Identifier: Apache-2.0
"""Inside the own profile the bytes are those of RFC 8785, by its reference writer and by foreign vectors."""

import gzip
import json
import os
import struct
from pathlib import Path
from typing import Any

import msgspec
import pytest
import rfc8785
from hypothesis import example, given, settings
from hypothesis import strategies as st

from actum.model import canonical
from actum.model.errors import UsageError
from actum.model.foreign import dump_foreign, from_plain, to_plain
from actum.model.strict_json import JsonRefused, parse_foreign
from actum.testing.require import require_part

SHARED = Path(os.environ.get("ACTUM_SHARED", Path(__file__).parents[3] / "shared"))

TEXT = st.text(max_size=12)
ASCII = st.text(st.characters(max_codepoint=127), max_size=8)
SAFE = st.integers(-canonical.MAX_SAFE_INTEGER, canonical.MAX_SAFE_INTEGER)


def nested(leaves: st.SearchStrategy[Any], keys: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
        max_leaves=20,
    )


OWN = nested(st.none() | st.booleans() | SAFE | TEXT, ASCII)
JSON = nested(
    st.none() | st.booleans() | st.integers() | TEXT | st.floats(allow_nan=False, allow_infinity=False),
    TEXT | st.sampled_from(["$num", "$obj", "\ue000", "\U0001f389"]),
)


def shared(path: str) -> Path:
    found = SHARED / "vectors" / path
    require_part(found.exists(), f"shared vectors absent: {path}")
    return found


class Record(msgspec.Struct, frozen=True, kw_only=True):
    alpha: object
    beta: object = None


@settings(max_examples=600)
@given(OWN)
def test_o99_the_own_profile_is_rfc_8785_byte_for_byte(value) -> None:
    assert canonical.encode(value) == rfc8785.dumps(value)


@given(OWN, OWN)
def test_a_record_is_written_as_the_object_of_its_members(one, other) -> None:
    assert canonical.encode(Record(alpha=one, beta=other)) == rfc8785.dumps({"alpha": one, "beta": other})


@given(nested(st.none() | SAFE | TEXT | st.floats() | st.integers() | st.binary(max_size=3), TEXT))
def test_what_is_written_at_all_is_what_rfc_8785_writes_and_reads_back_equal(value) -> None:
    try:
        data = canonical.encode(value)
    except UsageError:
        return
    assert data == rfc8785.dumps(value)
    assert canonical.decode_strict(data) == value


@settings(max_examples=400)
@given(JSON)
@example({"$num": "1"})
@example({"$obj": {"$obj": {}}})
def test_foreign_bytes_have_an_inverse_and_ignore_member_order_and_white_space(value) -> None:
    foreign = from_plain(value)
    data = canonical.encode_foreign(foreign)
    assert canonical.decode_foreign(data) == foreign
    assert parse_foreign(dump_foreign(foreign)) == foreign
    assert canonical.encode_foreign(parse_foreign(json.dumps(value, indent=1).encode())) == data


@given(JSON, JSON)
def test_foreign_values_that_differ_have_different_bytes(one, other) -> None:
    one, other = from_plain(one), from_plain(other)
    assert (canonical.encode_foreign(one) == canonical.encode_foreign(other)) == (one == other)


@given(nested(st.none() | st.booleans() | TEXT, TEXT.filter(lambda key: not key.startswith("$"))))
def test_foreign_json_without_numbers_is_rfc_8785_for_every_unicode_key(value) -> None:
    assert canonical.encode_foreign(value) == rfc8785.dumps(value)


@given(JSON)
def test_plain_values_equal_what_an_ordinary_reader_reads(value) -> None:
    assert to_plain(from_plain(value)) == value


@settings(max_examples=600)
@given(
    st.text('{}[]":,\\ud8ab0129-.eE+NaInfity truefalsn\n ', max_size=30).map(str.encode)
    | st.binary(max_size=20)
    | JSON.map(lambda value: json.dumps(value).encode())
)
@example(b'"\\ud800\\udc00"')
@example(b'["\\u0022[[[["]')
def test_strict_reading_takes_a_subset_of_what_an_ordinary_reader_takes_and_agrees_on_it(data) -> None:
    try:
        strict = parse_foreign(data)
    except JsonRefused:
        return
    assert to_plain(strict) == json.loads(data, parse_float=float) or _beyond_double(strict)


def _beyond_double(value: object) -> bool:
    # An ordinary reader rounds or overflows here; that is why the text is kept.
    if isinstance(value, canonical.ForeignNumber):
        return not isinstance(value.to_plain(), int | float) or "." in value.text or "e" in value.text.lower()
    if isinstance(value, dict):
        return any(map(_beyond_double, value.values()))
    return isinstance(value, list) and any(map(_beyond_double, value))


@pytest.mark.parametrize("name", ["arrays", "french", "structures", "unicode", "values", "weird"])
def test_o99_the_reference_documents_of_rfc_8785_differ_only_where_the_profile_says_so(name) -> None:
    source = shared(f"rfc8785-cyberphone/testdata/input/{name}.json").read_bytes()
    expected = shared(f"rfc8785-cyberphone/testdata/output/{name}.json").read_bytes().rstrip(b"\n")
    value = json.loads(source)
    assert rfc8785.dumps(value) == expected
    try:
        assert canonical.encode(value) == expected
        outside = False
    except UsageError:
        outside = True
    # Outside the profile a record is refused, never written another way.
    assert outside is (name in OUTSIDE_OWN_PROFILE)
    foreign = canonical.encode_foreign(parse_foreign(source))
    assert (b"$num" in foreign) or foreign == expected
    assert json.loads(foreign, object_hook=_unwrap) == value


OUTSIDE_OWN_PROFILE = {
    "structures": "no floats: it holds 56.0",
    "values": "no floats: it holds fractions and 1E30",
    "weird": "keys that are not ASCII",
    "french": "keys that are not ASCII",
}


def _unwrap(members: dict[str, Any]) -> object:
    return json.loads(members["$num"]) if list(members) == ["$num"] else members


def test_o99_every_number_of_the_es6_file_keeps_its_text_and_its_value() -> None:
    lines = shared("rfc8785-cyberphone/es6testfile10k.txt").read_text().splitlines()
    assert len(lines) == 10_000
    for row in lines:
        bits, _, text = row.partition(",")
        value = struct.unpack(">d", bytes.fromhex(bits.rjust(16, "0")))[0]
        number = parse_foreign(text.encode())
        assert number.text == text
        plain = number.to_plain()
        assert float(plain) == value


# Where the agent-receipts vectors and the own profile part, and why. Nothing else may differ.
REFUSED_BY_OWN_PROFILE = {
    "sort_bmp_at_ascii_boundary": "keys that are not ASCII",
    "sort_bmp_above_00ff": "keys that are not ASCII",
    "sort_supplementary_plane": "keys that are not ASCII",
    "parameters_hash_supplementary_vs_bmp": "keys that are not ASCII",
    "number_negative_zero": "no floats: -0.0 is one",
    "number_simple_decimal": "no floats",
    "number_shortest_repr": "no floats",
    "number_fp_addition": "no floats",
    "number_small_exp_boundary_fixed": "no floats",
    "number_small_exp_boundary_exp": "no floats",
    "number_large_exp_boundary_fixed": "beyond 2^53-1",
    "number_large_exp_boundary_exp": "beyond 2^53-1",
    "number_2_to_53": "beyond 2^53-1: a double cannot tell it from 2^53+1",
}


def test_o99_the_agent_receipts_vectors_differ_only_where_the_profile_says_so() -> None:
    path = shared("agent-receipts/cross-sdk-tests/canonicalization_vectors.json")
    vectors = json.loads(path.read_text(encoding="utf-8"))["canonicalization_vectors"]
    assert len(vectors) == 32
    refused = set()
    for vector in vectors:
        try:
            data = canonical.encode(vector["input"])
        except UsageError:
            refused.add(vector["name"])
            continue
        assert data == vector["canonical"].encode("utf-8"), vector["name"]
        if "expectedHash" in vector:
            assert canonical.digest_bytes(data) == vector["expectedHash"]
    assert refused == set(REFUSED_BY_OWN_PROFILE)


@pytest.mark.parametrize(
    "name", ["sort_bmp_at_ascii_boundary", "sort_bmp_above_00ff", "sort_supplementary_plane"]
)
def test_o99_foreign_keys_sort_as_the_agent_receipts_vectors_sort_them(name) -> None:
    path = shared("agent-receipts/cross-sdk-tests/canonicalization_vectors.json")
    vectors = json.loads(path.read_text(encoding="utf-8"))["canonicalization_vectors"]
    vector = next(each for each in vectors if each["name"] == name)
    as_text = {key: str(number) for key, number in vector["input"].items()}
    assert canonical.encode_foreign(as_text) == rfc8785.dumps(as_text)
    assert list(json.loads(canonical.encode_foreign(as_text))) == list(json.loads(vector["canonical"]))


def test_the_long_number_file_is_the_one_its_source_names() -> None:
    with gzip.open(shared("rfc8785-cyberphone/es6testfile100k.txt.gz"), "rt") as lines:
        for number, row in enumerate(lines):
            if number % 97 == 0:
                text = row.rstrip("\n").partition(",")[2]
                assert parse_foreign(text.encode()).text == text
