"""One classification or regression tree, grown and pruned by the rules of recursive partitioning (``cart``).

A split maximises the drop of n * Gini (classes) or of the sum of squares (numbers); both children keep at least
``minbucket`` records, a node below ``minsplit`` is a leaf. What survives is decided by another risk: R(node) =
misclassified records or sum of squares, and a split must lower the risk of the tree by more than ``alpha = cp *
R(root)`` per split it brings (Breiman et al. 1984; Therneau & Atkinson's report on recursive partitioning). Ties go
to the earlier key and the earlier cut.

A level that a node did not see in training goes to the larger child. Surrogate splits are not grown: a missing value
is a level of its own here, so nothing is ever missing at a split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.engines import devices
from glasshouse.engines.models.tree import kernel

EXACT_LEVELS = 15  # 16,384 groupings of levels per node at most


@dataclass(frozen=True)
class CartTree:
    """A grown tree on coded keys.

    ``nodes`` [n, 6]: first and last-plus-one position of the node's records in ``members``, left child, right child
    (-1 for a leaf), key, and the split. ``leaf_nodes`` lists the leaves from left to right; leaf ids are positions in
    it. ``approximate_splits`` counts surviving or pruned splits whose levels were too many for the exact search.
    """

    nodes: np.ndarray
    directions: np.ndarray
    cuts: np.ndarray
    ordered: np.ndarray
    members: np.ndarray
    leaf_nodes: np.ndarray
    n_classes: int
    leaf_counts: np.ndarray  # [leaves, classes] counts, or [leaves, 1] means
    importance: np.ndarray
    approximate_splits: int

    @property
    def n_leaves(self) -> int:
        return len(self.leaf_nodes)

    @property
    def leaf_sizes(self) -> np.ndarray:
        """Training records per leaf."""
        span: np.ndarray = self.nodes[self.leaf_nodes, 1] - self.nodes[self.leaf_nodes, 0]
        return span

    @property
    def leaf_starts(self) -> np.ndarray:
        """Leaf l holds training records ``members[leaf_starts[l] : leaf_starts[l] + leaf_sizes[l]]``."""
        starts: np.ndarray = self.nodes[self.leaf_nodes, 0]
        return starts

    def leaves(self, codes: np.ndarray) -> np.ndarray:
        """Leaf id of each coded row."""
        return self.find(codes)[0]

    def find(self, codes: np.ndarray) -> tuple[np.ndarray, int]:
        """Leaf ids and the number of rows that met a level unseen by a node on their way."""
        at = np.empty(len(codes), np.int64)
        unseen = kernel.find_nodes(self.nodes, self.directions, self.ordered, _int32(codes), at)
        position = np.full(len(self.nodes), -1, np.int64)
        position[self.leaf_nodes] = np.arange(self.n_leaves)
        return position[at], int(unseen)

    def predict(self, codes: np.ndarray) -> np.ndarray:
        """Class shares [rows, classes] of the leaf, or its mean [rows]."""
        leaf = self.leaves(codes)
        if self.n_classes == 0:
            return np.asarray(self.leaf_counts[leaf, 0])
        shares = self.leaf_counts / self.leaf_counts.sum(axis=1, keepdims=True)
        return np.asarray(shares[leaf])


def grow(
    codes: np.ndarray,
    y: np.ndarray,
    *,
    n_classes: int | None,
    ordered: Sequence[bool] | np.ndarray,
    values: Sequence[np.ndarray | None],
    n_levels: Sequence[int],
    minsplit: int = 20,
    minbucket: int = 7,
    cp: float = 0.01,
    maxdepth: int = 30,
    exact_levels: int = EXACT_LEVELS,
) -> CartTree:
    """Grow and prune a tree.

    ``codes`` [n, p]; ``ordered[j]``: numeric or ordinal key, cut at midpoints of ``values[j]`` (or of level codes if
    None); otherwise split by groups of levels. ``n_classes`` None: regression on float ``y``; else class codes.
    """
    n = len(codes)
    if n == 0:
        raise InputError("the release has no records to grow a tree on; release at least one record")
    if len(y) != n:
        raise InputError(f"{n} key rows but {len(y)} target values; pass one target value per row")
    if not 2 <= exact_levels <= 24:
        raise InputError(f"exact_levels must lie between 2 and 24, not {exact_levels}")
    numbers, offsets = numbers_of(ordered, values, n_levels)
    is_class = n_classes is not None
    flags = np.asarray(ordered, np.bool_)
    given = (
        np.ascontiguousarray(_int32(codes).T),
        flags,
        np.asarray(n_levels, np.int64),
        numbers,
        offsets,
        y.astype(np.int32) if is_class else np.zeros(1, np.int32),
        np.zeros(1) if is_class else y.astype(np.float64),
        n_classes or 0,
        int(minsplit),
        int(max(1, minbucket)),
        float(cp),
        int(maxdepth),
        int(exact_levels),
    )
    if devices.asked_for_spark() and devices.trees_on_spark(n):
        from glasshouse.engines.distributed.tree import grown_elsewhere

        grown = grown_elsewhere(given, devices.spark_session())
    else:
        grown = kernel.grow(*given)
    members, nodes, cuts, directions, importance, approximate = grown
    return finished(members, nodes, cuts, directions, flags, y, n_classes or 0, importance, int(approximate))


def numbers_of(
    ordered: Sequence[bool] | np.ndarray, values: Sequence[np.ndarray | None], n_levels: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers behind the codes of all ordered keys in one array, and where those of each key begin."""
    numbers = [
        np.asarray(v, np.float64) if v is not None else np.arange(size if is_ordered else 0, dtype=np.float64)
        for v, size, is_ordered in zip(values, n_levels, ordered, strict=True)
    ]
    offsets = np.concatenate([[0], np.cumsum([len(v) for v in numbers])])[:-1].astype(np.int64)
    return np.concatenate([*numbers, np.zeros(1)]), offsets


def finished(
    members: np.ndarray,
    nodes: np.ndarray,
    cuts: np.ndarray,
    directions: np.ndarray,
    ordered: np.ndarray,
    y: np.ndarray,
    n_classes: int,
    importance: np.ndarray,
    approximate: int,
) -> CartTree:
    """A tree from what a compiled loop grew: its leaves from left to right, and what the records in them hold."""
    leaf_nodes = _leaves_left_to_right(nodes)
    sizes = nodes[leaf_nodes, 1] - nodes[leaf_nodes, 0]
    leaf_of_member = np.repeat(np.arange(len(leaf_nodes)), sizes)
    if n_classes:
        flat = np.bincount(leaf_of_member * n_classes + y[members], minlength=len(leaf_nodes) * n_classes)
        counts = flat.reshape(len(leaf_nodes), n_classes).astype(np.float64)
    else:
        counts = (np.bincount(leaf_of_member, weights=y[members], minlength=len(leaf_nodes)) / sizes)[:, None]
    return CartTree(nodes, directions, cuts, ordered, members, leaf_nodes, n_classes, counts, importance, approximate)


def _leaves_left_to_right(nodes: np.ndarray) -> np.ndarray:
    """Leaves in the order of their records; nodes under a pruned split are skipped."""
    found, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        if nodes[node, 2] < 0:
            found.append(node)
        else:
            waiting.extend((int(nodes[node, 3]), int(nodes[node, 2])))
    return np.asarray(found, np.int64)


def _int32(codes: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(codes, dtype=np.int32)
