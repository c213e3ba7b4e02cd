# SPDX-License-Identifier: Apache-2.0
"""Own records have one sequence of bytes; what has none is refused, whatever its annotation says."""

import datetime
import decimal
import enum
import hashlib
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actum.model import canonical
from actum.model.errors import CorruptRecordError, UsageError

VECTORS = Path(__file__).parents[3] / "docs/reference/vectors/canonical.json"


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Weight(enum.Enum):
    HALF = 0.5


class Mode(enum.Flag):
    READ = 1


class Note(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    count: int = 0
    colour: Colour | None = None
    items: tuple[Any, ...] = ()


class Tagged(msgspec.Struct, frozen=True, tag="kind-1", tag_field="kind"):
    zeta: int
    alpha: int


class Listed(msgspec.Struct, array_like=True):
    value: int


def refused(value: object) -> bool:
    with pytest.raises(UsageError) as caught:
        canonical.encode(value)
    return caught.value.code == "not_canonical"


def published(section: str) -> list[dict[str, Any]]:
    return json.loads(VECTORS.read_text(encoding="utf-8"))[section]


@pytest.mark.parametrize("vector", published("own"), ids=lambda vector: vector["name"])
def test_o99_the_published_own_vectors_hold(vector) -> None:
    data = canonical.encode(vector["value"])
    assert data.hex() == vector["hex"]
    assert canonical.digest(vector["value"]) == vector["digest"]
    assert canonical.decode_strict(data) == vector["value"]


@pytest.mark.parametrize("vector", published("foreign"), ids=lambda vector: vector["name"])
def test_o99_the_published_foreign_vectors_hold(vector) -> None:
    value = canonical.parse_foreign(vector["json"].encode("utf-8"))
    assert canonical.encode_foreign(value).hex() == vector["hex"]
    assert canonical.digest_foreign(value) == vector["digest"]


@pytest.mark.parametrize("vector", published("refused_foreign"), ids=lambda vector: vector["name"])
def test_o99_the_published_refusals_hold(vector) -> None:
    with pytest.raises(canonical.JsonRefused) as caught:
        canonical.parse_foreign(bytes.fromhex(vector["hex"]))
    assert (caught.value.code, caught.value.path) == (vector["code"], vector["path"])


def test_records_enums_and_tuples_are_written_sorted_and_without_white_space() -> None:
    note = Note(text="é\n", count=2, colour=Colour.RED, items=(None, True, Level.LOW, {"b": 1, "a": []}))
    assert canonical.encode(note) == (
        '{"colour":"red","count":2,"items":[null,true,1,{"a":[],"b":1}],"text":"é\\n"}'.encode()
    )
    assert canonical.encode(Tagged(1, 2)) == b'{"alpha":2,"kind":"kind-1","zeta":1}'


@pytest.mark.parametrize(
    "value",
    [
        1.0,
        float("nan"),
        b"bytes",
        {1, 2},
        decimal.Decimal(1),
        datetime.date(2026, 5, 4),
        Weight.HALF,
        Mode.READ,
        Listed(1),
        msgspec.Raw(b"1.5"),
        canonical.ForeignNumber("1"),
        object(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_without_canonical_bytes_is_refused_wherever_it_stands(value) -> None:
    assert refused(value)
    assert refused([value])
    assert refused({"a": {"b": (value,)}})
    # The annotation says text; only the value itself can be believed.
    assert refused(Note(text=value))
    assert refused(Note(text="t", items=(Note(text="t", items=(value,)),)))


@pytest.mark.parametrize("big", [2**53, -(2**53), 10**30])
def test_an_integer_that_other_readers_round_is_refused(big) -> None:
    assert refused(big)
    assert refused([1, big])
    assert refused(Note(text="t", count=big))
    assert canonical.encode([2**53 - 1, 1 - 2**53]) == b"[9007199254740991,-9007199254740991]"


def test_digits_inside_text_are_no_integer() -> None:
    assert canonical.encode({"a": "90071992547409921"}) == b'{"a":"90071992547409921"}'


@pytest.mark.parametrize("keys", [{"é": 1}, {1: 1}, {None: 1}, {Colour.RED: 1}, {"a": 1, "\ud800": 2}])
def test_an_object_key_that_is_not_ascii_text_is_refused(keys) -> None:
    assert refused(keys)
    assert refused([{"a": keys}])


@pytest.mark.parametrize("text", ["\ud800", "a\udfff"])
def test_half_a_surrogate_pair_is_refused(text) -> None:
    assert refused(text)
    assert refused(Note(text=text))


def test_subclasses_that_may_behave_otherwise_are_refused() -> None:
    class Text(str):
        pass

    class Mapping(dict):  # type: ignore[type-arg]
        pass

    assert refused(Text("a"))
    assert refused(Mapping(a=1))


def test_the_depth_is_bounded_to_sixty_four_levels() -> None:
    value: Any = None
    for _ in range(64):
        value = [value]
    assert canonical.encode(value) == b"[" * 64 + b"null" + b"]" * 64
    assert refused([value])


def test_a_digest_is_the_sha256_of_the_canonical_bytes() -> None:
    assert canonical.digest({"b": 1, "a": 2}) == "sha256:" + hashlib.sha256(b'{"a":2,"b":1}').hexdigest()
    assert canonical.digest_bytes(b"") == "sha256:" + hashlib.sha256(b"").hexdigest()


def test_a_digest_has_one_written_form() -> None:
    good = canonical.digest_bytes(b"")
    assert canonical.check_digest(good) == good
    for bad in (
        good.upper(),
        good[:-1],
        good + "\n",
        good[7:],
        "sha512:" + good[7:],
        None,
        7,
        "sha256:" + "٣" * 64,
    ):
        assert not canonical.is_digest(bad)
        with pytest.raises(UsageError) as caught:
            canonical.check_digest(bad)
        assert caught.value.code == "not_a_digest"


def test_canonical_bytes_are_read_back_as_the_record_they_were() -> None:
    note = Note(text="t", colour=Colour.RED)
    assert canonical.decode_strict(canonical.encode(note), Note) == note


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":1,"a":1}',
        b'{"a":1,"a":2}',
        b'{"b":1,"a":1}',
        b'{"a": 1}',
        b'{"a":1}\n',
        b'{"a":1.0}',
        b'{"a":1e3}',
        b'{"a":9007199254740993}',
        b'{"a":"\\u0041"}',
        b'{"a":"\\ud800"}',
        b'"\\/"',
        b"\xef\xbb\xbf1",
        b'"\xff"',
        b"NaN",
        b"",
        b"[" * 5000 + b"]" * 5000,
    ],
)
def test_bytes_that_are_not_the_canonical_ones_of_their_value_are_corrupt(data) -> None:
    with pytest.raises(CorruptRecordError) as caught:
        canonical.decode_strict(data)
    assert caught.value.code == "not_canonical_bytes"
    assert caught.value.exit_code == 4


def test_a_record_of_another_shape_is_corrupt() -> None:
    with pytest.raises(CorruptRecordError):
        canonical.decode_strict(b'{"text":1}', Note)
