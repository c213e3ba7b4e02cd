# SPDX-License-Identifier: Apache-2.0
"""A log entry has one written form and a leaf of its own, and a checkpoint is signed over the whole tree."""

import json

import pytest
import rfc8785

from actum.evidence import log, merkle, notes
from actum.evidence.keys import PublicKey
from tests.unit.evidence.samples import LOG, ORIGIN, digest_of


def entry(**changes: object) -> bytes:
    whole = {
        "predicate_type": "tag:actum,2026:effect-receipt/v1",
        "payload_digest": digest_of("payload"),
        "keyid": LOG.keyid,
        "chain": "turn-1",
        "seq": 3,
    }
    return log.log_entry(**{**whole, **changes})  # type: ignore[arg-type]


def test_an_entry_is_the_rfc8785_form_of_six_members() -> None:
    data = entry()
    assert data == rfc8785.dumps(
        {
            "v": 1,
            "t": "tag:actum,2026:effect-receipt/v1",
            "p": digest_of("payload"),
            "k": LOG.keyid,
            "c": "turn-1",
            "s": 3,
        }
    )
    assert log.parse_entry(data) is not None


def test_an_entry_holds_what_a_leaf_is_hashed_from_and_no_content() -> None:
    assert len(entry(chain="x" * 200)) < 1024
    assert log.leaf_hash(entry()) == merkle.leaf_hash(entry())


@pytest.mark.parametrize(
    "change",
    [
        {"predicate_type": "two words"},
        {"predicate_type": 'tag:"'},
        {"payload_digest": "sha256:short"},
        {"keyid": "LOG"},
        {"chain": ""},
        {"chain": "a b"},
        {"chain": "ä"},
        {"seq": -1},
        {"seq": 2**53},
    ],
)
def test_an_entry_of_another_form_is_refused_before_it_is_appended(change: dict[str, object]) -> None:
    assert not log.entry_holds(entry(**change))


@pytest.mark.parametrize("change", [{"v": 2}, {"x": 1}])
def test_an_entry_of_another_version_or_with_more_members_is_none(change: dict[str, object]) -> None:
    whole = {**json.loads(entry()), **change}
    assert log.parse_entry(json.dumps(whole, sort_keys=True, separators=(",", ":")).encode()) is None


def test_an_entry_with_other_white_space_or_order_is_none() -> None:
    assert log.parse_entry(entry() + b" ") is None
    assert log.parse_entry(json.dumps(json.loads(entry())).encode()) is None
    members = dict(reversed(json.loads(entry()).items()))
    assert log.parse_entry(json.dumps(members, separators=(",", ":")).encode()) is None


def test_a_checkpoint_names_origin_size_and_root_under_the_logs_key() -> None:
    frontier = log.Frontier()
    for index in range(5):
        frontier.append(log.leaf_hash(entry(seq=index)))
    note = notes.open_note(log.sign_checkpoint(frontier, origin=ORIGIN, signer=LOG))
    assert notes.parse_checkpoint(note.text) == log.Checkpoint(origin=ORIGIN, size=5, root=frontier.root())
    assert [signature.name for signature in note.signatures] == [ORIGIN]
    assert notes.signature_holds(note, note.signatures[0], PublicKey(LOG.public))
