# SPDX-License-Identifier: Apache-2.0
"""A published record holds digests, ids and closed words; content has no place, its holder can match it."""

import json
from typing import Any

import pytest
import rfc8785

from actum.evidence.disclosure import matches, read_disclosure
from actum.evidence.published import GRANT, RECEIPT
from actum.evidence.statements import grant_statement, read_receipt, receipt_statement
from actum.model.errors import UsageError
from actum.model.look import private_digest
from actum.model.strict_json import parse_foreign
from tests.unit.evidence import samples

MARK = "MARKED content: pay 4711 EUR to Jane Roe"
SALT = "00112233445566778899aabbccddeeff"


def test_a_receipts_statement_is_rfc8785_and_names_its_effect() -> None:
    payload = receipt_statement(samples.receipt(1))
    whole = json.loads(payload)
    assert rfc8785.dumps(whole) == payload
    assert whole["predicateType"] == RECEIPT
    assert whole["subject"] == [
        {"name": "effect:rcp-1", "digest": {"sha256": samples.digest_of("effect 1").removeprefix("sha256:")}}
    ]


def test_a_grants_statement_is_rfc8785_and_names_what_it_allows() -> None:
    payload = grant_statement(samples.grant(1))
    whole = json.loads(payload)
    assert rfc8785.dumps(whole) == payload
    assert (whole["predicateType"], whole["subject"][0]["name"]) == (GRANT, "grant:grant-1")


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a record where a value stands."""
    if isinstance(value, dict):
        return [path, *(place for name in value for place in places(value[name], (*path, name)))]
    if isinstance(value, list):
        return [path, *(place for index, each in enumerate(value) for place in places(each, (*path, index)))]
    return [path]


def put(value: Any, path: tuple[Any, ...], mark: Any) -> Any:
    if not path:
        return mark
    if isinstance(value, dict):
        return {**value, path[0]: put(value[path[0]], path[1:], mark)}
    return [put(each, path[1:], mark) if index == path[0] else each for index, each in enumerate(value)]


def test_t37_no_place_of_a_published_receipt_takes_content() -> None:
    """The mark is tried as text, in a list and in an object, at every place and as a new member of each."""
    whole = samples.receipt(1, independence=None)
    tried = 0
    for place in places(whole):
        for mark in (MARK, [MARK], {"value": MARK}, {MARK: None}):
            with pytest.raises(UsageError) as caught:
                receipt_statement(put(whole, place, mark))
            assert caught.value.code == "not_publishable"
            tried += 1
    assert tried > 150


def test_t37_no_new_member_of_a_published_receipt_takes_content() -> None:
    whole = samples.receipt(1)
    nested = [(), ("identity",), ("claim",), ("graded",), ("looks", 0), ("looks", 0, "verifier"), ("actor",)]
    for place in nested:
        target = whole
        for step in place:
            target = target[step]
        with pytest.raises(UsageError) as caught:
            receipt_statement(put(whole, place, {**target, "note": MARK}))
        assert caught.value.code == "not_publishable"


def test_t37_a_receipt_made_from_content_holds_none_of_it() -> None:
    value = {"text": MARK, "cents": "471100"}
    payload = receipt_statement(
        samples.receipt(
            1,
            input_hash=private_digest(value, salt=SALT),
            output_hash=private_digest(MARK, salt=SALT),
            context_snapshot=private_digest([MARK], salt=SALT),
        )
    )
    for word in ("MARKED", "content:", "4711 EUR", "Jane", "Roe", SALT):
        assert word.encode() not in payload


def disclosed(**shown: Any) -> bytes:
    return json.dumps({"receipt_id": "rcp-1", "salt": SALT, **shown}).encode()


def matched(data: bytes, **changes: Any) -> dict[str, bool]:
    hashes = {
        "input_hash": private_digest({"text": MARK}, salt=SALT),
        "output_hash": private_digest(MARK, salt=SALT),
    }
    receipt = read_receipt(receipt_statement(samples.receipt(1, **{**hashes, **changes})))
    return matches(read_disclosure(data), receipt)


def test_t38_the_holder_of_input_and_output_can_show_that_a_receipt_is_for_them() -> None:
    assert matched(disclosed(input={"text": MARK}, output=MARK)) == {"input": True, "output": True}


def test_t38_one_changed_byte_of_input_or_output_is_no_match() -> None:
    for index in range(len(MARK)):
        changed = MARK[:index] + chr(ord(MARK[index]) ^ 1) + MARK[index + 1 :]
        assert matched(disclosed(input={"text": changed}, output=changed)) == {
            "input": False,
            "output": False,
        }


def test_a_number_is_matched_as_it_was_written() -> None:
    one = {"input_hash": private_digest(parse_foreign(b'{"cents":1.0}'), salt=SALT)}
    written = disclosed(input="HERE").replace(b'"HERE"', b'{"cents":1.0}')
    assert matched(written, **one) == {"input": True}
    assert matched(written.replace(b"1.0", b"1"), **one) == {"input": False}


def test_another_salt_or_receipt_or_an_absent_hash_is_no_match() -> None:
    other_salt = json.dumps({"receipt_id": "rcp-1", "salt": SALT[::-1], "output": MARK}).encode()
    other_receipt = json.dumps({"receipt_id": "rcp-2", "salt": SALT, "output": MARK}).encode()
    assert matched(other_salt) == matched(other_receipt) == {"output": False}
    assert matched(disclosed(context=None)) == {"context": False}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b'{"receipt_id":1,"salt":"s","input":1}',
        disclosed(),
        disclosed(inputs=1),
        b'{"a":1,"a":2}',
    ],
)
def test_a_disclosure_of_another_shape_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(UsageError) as caught:
        read_disclosure(data)
    assert caught.value.code == "disclosure"
