# SPDX-License-Identifier: Apache-2.0
"""The tree is RFC 6962's: foreign proofs and a foreign log decide, then our own proofs."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.evidence import merkle
from tests.unit.evidence.vectors import vectors


def leaves_of(count: int) -> list[bytes]:
    return [merkle.leaf_hash(b"%d" % index) for index in range(count)]


def cases(kind: str) -> list[tuple[str, dict[str, Any]]]:
    folder = vectors("transparency-dev-merkle", "testdata", kind)
    return [
        (str(path.relative_to(folder)), json.loads(path.read_text()))
        for path in sorted(folder.rglob("*.json"))
    ]


def raw(text: str | None) -> bytes:
    return base64.b64decode(text or "")


def test_every_foreign_inclusion_proof_is_judged_as_its_authors_do() -> None:
    found = cases("inclusion")
    assert len(found) == 98
    for name, case in found:
        held = merkle.check_inclusion(
            raw(case["leafHash"]),
            case["leafIdx"],
            case["treeSize"],
            proof=[raw(part) for part in case["proof"] or []],
            root=raw(case["root"]),
        )
        assert held is not case["wantErr"], name


def test_every_foreign_consistency_proof_is_judged_as_its_authors_do() -> None:
    found = cases("consistency")
    assert len(found) == 98
    for name, case in found:
        held = merkle.check_consistency(
            case["size1"],
            case["size2"],
            first_root=raw(case["root1"]),
            second_root=raw(case["root2"]),
            proof=[raw(part) for part in case["proof"] or []],
        )
        assert held is not case["wantErr"], name


def entries_of(bundle: Path) -> list[bytes]:
    data, found = bundle.read_bytes(), []
    while data:
        length = int.from_bytes(data[:2], "big")
        found.append(data[2 : 2 + length])
        data = data[2 + length :]
    return found


def test_a_foreign_log_is_rebuilt_to_each_of_its_checkpoints() -> None:
    log = vectors("tessera-tlog-tiles", "testdata", "log")
    for size in range(1, 16):
        entries = entries_of(log / "tile" / "entries" / "000.p" / str(size))
        tile = (log / "tile" / "0" / "000.p" / str(size)).read_bytes()
        hashes = [merkle.leaf_hash(entry) for entry in entries]
        assert b"".join(hashes) == tile
        root = (log / f"checkpoint.{size}").read_text().splitlines()[2]
        assert merkle.tree_root(hashes) == raw(root), size


def test_an_empty_tree_has_the_hash_of_nothing() -> None:
    assert merkle.Frontier().root() == hashlib.sha256(b"").digest() == merkle.tree_root([])


@given(st.integers(1, 70))
def test_the_frontier_agrees_with_the_recursive_definition(size: int) -> None:
    def recursive(leaves: list[bytes]) -> bytes:
        if len(leaves) == 1:
            return leaves[0]
        split = 1
        while split * 2 < len(leaves):
            split *= 2
        left, right = recursive(leaves[:split]), recursive(leaves[split:])
        return hashlib.sha256(b"\x01" + left + right).digest()

    assert merkle.tree_root(leaves_of(size)) == recursive(leaves_of(size))


@given(st.integers(1, 70), st.data())
def test_a_proof_made_here_holds_for_its_leaf_and_no_other(size: int, data: st.DataObject) -> None:
    leaves = leaves_of(size)
    index = data.draw(st.integers(0, size - 1))
    proof, root = merkle.inclusion_proof(leaves, index), merkle.tree_root(leaves)
    assert merkle.check_inclusion(leaves[index], index, size, proof=proof, root=root)
    for other in {0, size - 1, (index + 1) % size} - {index}:
        assert not merkle.check_inclusion(leaves[other], index, size, proof=proof, root=root)
        assert not merkle.check_inclusion(leaves[index], other, size, proof=proof, root=root)
    assert not merkle.check_inclusion(leaves[index], index, size, proof=[*proof, root], root=root)


@given(st.integers(1, 70), st.data())
def test_growth_made_here_is_shown_and_a_changed_past_is_not(size: int, data: st.DataObject) -> None:
    leaves = leaves_of(size)
    first = data.draw(st.integers(1, size))
    proof = merkle.consistency_proof(leaves, first)
    old, new = merkle.tree_root(leaves[:first]), merkle.tree_root(leaves)
    assert merkle.check_consistency(first, size, first_root=old, second_root=new, proof=proof)
    rewritten = merkle.tree_root([merkle.leaf_hash(b"rewritten"), *leaves[1:first]])
    assert not merkle.check_consistency(first, size, first_root=rewritten, second_root=new, proof=proof)


def test_an_empty_first_tree_shows_nothing() -> None:
    root = merkle.tree_root(leaves_of(3))
    for second, second_root in ((3, root), (0, merkle.EMPTY_ROOT)):
        assert not merkle.check_consistency(
            0, second, first_root=merkle.EMPTY_ROOT, second_root=second_root, proof=[]
        )
    with pytest.raises(IndexError):
        merkle.consistency_proof(leaves_of(3), 0)


@given(st.integers(0, 200), st.integers(0, 50))
def test_a_frontier_is_taken_up_again_where_it_was_kept(before: int, after: int) -> None:
    first = merkle.Frontier()
    for leaf in leaves_of(before):
        first.append(leaf)
    second = merkle.Frontier(first.size, first.hashes)
    for index in range(after):
        second.append(merkle.leaf_hash(b"later %d" % index))
    assert first.root() == merkle.tree_root(leaves_of(before))
    assert second.size == before + after
    assert second.root() == merkle.tree_root(
        [*leaves_of(before), *(merkle.leaf_hash(b"later %d" % index) for index in range(after))]
    )


@pytest.mark.parametrize(
    "size, hashes", [(1, []), (2, [b"x" * 32, b"y" * 32]), (1, [b"short"]), (-1, [b"x" * 32])]
)
def test_a_frontier_that_cannot_be_one_is_refused(size: int, hashes: list[bytes]) -> None:
    with pytest.raises(ValueError):
        merkle.Frontier(size, hashes)
