# SPDX-License-Identifier: Apache-2.0
"""A tree of leaf hashes has one root, and a short proof shows that a leaf or an older tree is part of it.

RFC 6962 with SHA-256: a leaf is hashed behind 0x00, a node behind 0x01, a tree splits at the largest power of
two below its size. All hashes are 32 raw bytes. A proof shows membership or growth under a root that the
caller has; where the root came from is the checkpoint's matter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

EMPTY_ROOT = hashlib.sha256(b"").digest()


def leaf_hash(entry: bytes) -> bytes:
    """Return the hash under which an entry stands in the tree."""
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of an inner node."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class Frontier:
    """The left edge of a growing tree: one hash for each complete subtree, largest first.

    It holds at most 64 hashes however many leaves there are, and is all that appending and the root need.
    `size` and `hashes` together are what a store keeps.
    """

    __slots__ = ("size", "hashes")

    def __init__(self, size: int = 0, hashes: Iterable[bytes] = ()) -> None:
        self.size = size
        self.hashes = list(hashes)
        if size < 0 or len(self.hashes) != size.bit_count() or any(len(h) != 32 for h in self.hashes):
            raise ValueError("a frontier holds one 32-byte hash for each bit set in its size")

    def append(self, leaf: bytes) -> None:
        """Add one leaf hash at the right."""
        hashes = self.hashes
        size = self.size
        while size & 1:
            leaf = hashlib.sha256(b"\x01" + hashes.pop() + leaf).digest()
            size >>= 1
        hashes.append(leaf)
        self.size += 1

    def root(self) -> bytes:
        """Return the root of the leaves so far; the empty tree's is SHA-256 of nothing."""
        if not self.hashes:
            return EMPTY_ROOT
        root = self.hashes[-1]
        for left in reversed(self.hashes[:-1]):
            root = node_hash(left, root)
        return root

    def copy(self) -> Frontier:
        """Return an independent frontier of the same leaves."""
        return Frontier(self.size, self.hashes)


def tree_root(leaves: Iterable[bytes]) -> bytes:
    """Return the root over leaf hashes in order."""
    frontier = Frontier()
    for leaf in leaves:
        frontier.append(leaf)
    return frontier.root()


def inclusion_proof(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """Return the hashes, nearest first, that lead from leaf `index` to the root over `leaves`."""
    if not 0 <= index < len(leaves):
        raise IndexError("no leaf stands at that index")
    if len(leaves) == 1:
        return []
    split = _split(len(leaves))
    if index < split:
        return [*inclusion_proof(leaves[:split], index), tree_root(leaves[split:])]
    return [*inclusion_proof(leaves[split:], index - split), tree_root(leaves[:split])]


def consistency_proof(leaves: Sequence[bytes], first: int) -> list[bytes]:
    """Return the hashes that show the tree over the first `first` leaves to be a prefix of this one."""
    if not 0 < first <= len(leaves):
        raise IndexError("the first tree is neither empty nor larger than the second")
    return _consistency(leaves, first, whole=True)


def _consistency(leaves: Sequence[bytes], first: int, *, whole: bool) -> list[bytes]:
    if first == len(leaves):
        return [] if whole else [tree_root(leaves)]
    split = _split(len(leaves))
    if first <= split:
        return [*_consistency(leaves[:split], first, whole=whole), tree_root(leaves[split:])]
    return [*_consistency(leaves[split:], first - split, whole=False), tree_root(leaves[:split])]


def check_inclusion(leaf: bytes, index: int, size: int, *, proof: Sequence[bytes], root: bytes) -> bool:
    """Tell whether `proof` leads from the leaf hash at `index` to the `root` of `size` leaves."""
    if not 0 <= index < size or not _all_hashes((leaf, *proof)):
        return False
    node, last, current = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            return False
        if node & 1 or node == last:
            current = node_hash(sibling, current)
            while not node & 1 and node:
                node >>= 1
                last >>= 1
        else:
            current = node_hash(current, sibling)
        node >>= 1
        last >>= 1
    return last == 0 and current == root


def check_consistency(
    first: int, second: int, *, first_root: bytes, second_root: bytes, proof: Sequence[bytes]
) -> bool:
    """Tell whether the tree of `first` leaves is shown to be a prefix of the tree of `second` leaves.

    An empty first tree is refused: it is a prefix of everything and its proof would show nothing.
    """
    if not 0 < first <= second or not _all_hashes(proof):
        return False
    if first == second:
        return not proof and first_root == second_root
    path = list(proof)
    if first & (first - 1) == 0:
        path.insert(0, first_root)
    if not path:
        return False
    node, last = first - 1, second - 1
    while node & 1:
        node >>= 1
        last >>= 1
    old = new = path[0]
    for sibling in path[1:]:
        if last == 0:
            return False
        if node & 1 or node == last:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            while not node & 1 and node:
                node >>= 1
                last >>= 1
        else:
            new = node_hash(new, sibling)
        node >>= 1
        last >>= 1
    return last == 0 and old == first_root and new == second_root


def _split(size: int) -> int:
    return 1 << (size - 1).bit_length() - 1


def _all_hashes(values: Iterable[bytes]) -> bool:
    return all(len(value) == 32 for value in values)
