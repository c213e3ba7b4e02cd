# SPDX-License-Identifier: Apache-2.0
"""Reports of kind L, canonical digests, numbers and text: one value has one spelling, and it is kept.

The ids are those of the public reports listed in the shared `cases/bug_reports.md`. All seven rows are here.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from actum.evidence.dsse import open_envelope
from actum.model import canonical, foreign
from actum.model.errors import UsageError
from actum.model.strict_json import JsonRefused, parse_foreign
from actum.testing.records import descriptor
from tests.unit.service.shop import Shop


@pytest.mark.parametrize("written", ["0.000001", "1e-7", "1E-7", "0.0000001", "1.10", "100e-2", "5E-324"])
def test_l165_l166_a_number_keeps_the_text_it_was_written_with(written: str) -> None:
    body = f'{{"n":{written}}}'.encode()
    value = parse_foreign(body)
    assert foreign.encode_foreign(value) == f'{{"n":{{"$num":"{written}"}}}}'.encode()
    assert foreign.dump_foreign(value) == body
    assert foreign.decode_foreign(foreign.encode_foreign(value)) == value


def test_l166_two_spellings_of_one_number_are_two_arguments(shop: Shop) -> None:
    spellings = {foreign.digest_foreign(parse_foreign(text)) for text in (b"1e-7", b"1E-7", b"0.0000001")}
    assert len(spellings) == 3


def test_l168_a_whole_number_with_a_fraction_is_not_written_back_without_it(shop: Shop) -> None:
    assert foreign.digest_foreign(parse_foreign(b"1.0")) != foreign.digest_foreign(parse_foreign(b"1"))
    turn = shop.kernel.propose("ledger.append", {"entry": "a"})
    effect = shop.read(lambda tx: tx.effect(turn.questions()[0].subject_ref))
    assert canonical.digest_bytes(effect.arguments) == effect.descriptor.resolved_argument_digest
    kept = foreign.encode_foreign(parse_foreign(b'{"n":1.0}'))
    assert foreign.dump_foreign(foreign.decode_foreign(kept)) == b'{"n":1.0}'


def test_l169_what_is_digested_is_what_is_stored_after_a_round_trip(shop: Shop) -> None:
    turn = shop.done("a")
    row = shop.read(lambda tx: tx.receipts(turn.turn_id))[0]
    payload = open_envelope(row.envelope).payload
    assert canonical.digest_bytes(payload) == row.payload_digest
    assert canonical.encode(json.loads(payload)) == payload
    receipt = shop.receipts(turn)[0]
    effect = shop.read(lambda tx: tx.effect(receipt.effect_digest))
    again = msgspec.json.decode(msgspec.json.encode(effect.descriptor), type=type(effect.descriptor))
    assert canonical.digest({"salt": effect.salt, "value": again}) == receipt.effect_digest


def test_l169_an_absent_member_is_an_explicit_null_and_part_of_the_digest() -> None:
    with_null = descriptor(expected=None)
    assert b'"expected":null' in canonical.encode(with_null)


@pytest.mark.parametrize("text", [b"NaN", b"Infinity", b"-Infinity", b'{"a":[NaN]}', b"1e999999999999"])
def test_l171_not_a_number_and_infinity_are_refused(text: bytes) -> None:
    if text == b"1e999999999999":  # A number of JSON, however large: kept as text and never computed with.
        assert foreign.dump_foreign(parse_foreign(text)) == text
        return
    with pytest.raises(JsonRefused):
        parse_foreign(text)


def test_l172_an_integer_above_two_to_the_53_reaches_the_action_exactly(shop: Shop) -> None:
    received: list[Any] = []
    action = shop.kernel.action("ids.note", reversibility="reversible", externality="local_only")(
        lambda number: received.append(number)
    )
    action.verifier(expect={"n": 1})(lambda number: {"n": 1})
    big = 9_007_199_254_740_993
    turn = action(big)
    assert str(big) in json.dumps(shop.kernel.show(turn.turn_id))
    shop.kernel.confirm(turn.question_ids(), by="ann")
    shop.kernel.run()
    assert received == [big]
    with pytest.raises(UsageError):
        canonical.encode(big)  # Our own records hold such a value as text only.


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 0.1, {"a": float("nan")}])
def test_l174_the_encoder_of_our_own_records_is_strict(value: object) -> None:
    with pytest.raises(UsageError):
        canonical.encode(value)
