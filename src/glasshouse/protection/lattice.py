"""The lattice of generalisations: one level per key, and what every node costs.

Keys are coded once per level; the classes of a node are counted on the distinct keys or rolled up from a node below
that was counted before, never from the records.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from glasshouse.data.arrays import Bools, Floats, Ints
from glasshouse.engines.cells.wildcards import dense_ids
from glasshouse.protection.hierarchies import Levels

Loss: TypeAlias = Literal["granularity", "entropy", "discernibility", "class_size", "precision", "height"]
Node: TypeAlias = tuple[int, ...]
KEPT = 256  # groupings kept to be rolled up from


@dataclass(frozen=True)
class Checked:
    """A node that was counted.

    Parameters
    ----------
    node : tuple of int
        The level of every key.
    suppressed : int
        Records in classes that break the privacy model.
    valid : bool
        Whether these are no more than may be suppressed.
    loss : float
        What the release loses, suppressed records included.
    bound : float
        The same with nothing suppressed: no generalisation of this node can lose less.
    classes : int
        Classes that are released.
    """

    node: Node
    suppressed: int
    valid: bool
    loss: float
    bound: float
    classes: int

    @property
    def rank(self) -> tuple[float, int, int, Node]:
        """Better comes first: loss, then fewer suppressed, lower levels, the order of the keys."""
        return (round(self.loss, 12), self.suppressed, sum(self.node), self.node)


@dataclass
class Lattice:
    """All generalisations of the keys of one table.

    Parameters
    ----------
    levels : sequence of Levels
        The keys.
    k : int
        Size of the smallest class.
    most : int
        Records that may be suppressed.
    loss : str
        What is minimised.
    weights : array of float
        Weight of every key, for losses that are means over keys.
    diversity : sequence of (array of int, int)
        Sensitive columns as codes, and how many different values every class must have.
    """

    levels: Sequence[Levels]
    k: int
    most: int
    loss: Loss
    weights: Floats
    diversity: Sequence[tuple[Ints, int]] = ()
    checked: dict[Node, Checked] = field(default_factory=dict)
    _kept: OrderedDict[Node, Ints] = field(default_factory=OrderedDict)

    def __post_init__(self) -> None:
        cells = np.stack([one.cells for one in self.levels], axis=1)
        _, first, of, counts = np.unique(dense_ids(cells), return_index=True, return_inverse=True, return_counts=True)
        self.rows, self.of, self.counts, self.n = cells[first], of, counts, len(cells)
        self.pairs = []
        for codes, _ in self.diversity:
            both = np.unique(np.stack([of, codes]), axis=1)
            self.pairs.append((both[0], both[1]))
        tables = [[self._lost(one, level) for level in range(one.height + 1)] for one in self.levels]
        # per key and level: what each value loses, and the mean over all records
        self.cell_loss = tables
        self.key_loss = [
            [float((table * one.counts).sum() / self.n) for table in lost]
            for one, lost in zip(self.levels, tables, strict=True)
        ]

    @property
    def heights(self) -> Node:
        """The top of the lattice."""
        return tuple(one.height for one in self.levels)

    @property
    def size(self) -> int:
        """Number of nodes."""
        return int(np.prod([height + 1 for height in self.heights], dtype=object))

    @property
    def monotone(self) -> bool:
        """Whether all above a valid node is valid: for k alone, and with nothing suppressed."""
        return not self.diversity or self.most == 0

    def above(self, node: Node) -> list[Node]:
        """Successors: one key a level higher."""
        return [(*node[:j], level + 1, *node[j + 1 :]) for j, level in enumerate(node) if level < self.heights[j]]

    def below(self, node: Node) -> list[Node]:
        """Predecessors: one key a level lower."""
        return [(*node[:j], level - 1, *node[j + 1 :]) for j, level in enumerate(node) if level]

    # -- what is lost ----------------------------------------------------------------------------------------------

    def _lost(self, one: Levels, level: int) -> Floats:
        """Loss of every value of a key at a level, 1 for all of it."""
        if self.loss == "entropy":
            made = np.bincount(one.codes[level], weights=one.counts)[one.codes[level]]
            with np.errstate(divide="ignore", invalid="ignore"):
                bits = np.where(one.counts > 0, np.log2(made / one.counts), 0.0)
                everything = np.where(one.counts > 0, np.log2(self.n / one.counts), 0.0) * one.counts
            whole = everything.sum()
            return np.asarray(bits * self.n / whole if whole else bits * 0.0)
        if self.loss == "precision":
            return np.full(len(one.counts), level / max(one.height, 1))
        return one.share[level]

    def separable(self) -> bool:
        """Whether the bound of a node follows from its levels alone."""
        return self.loss in ("granularity", "entropy", "precision", "height")

    def bound(self, node: Node) -> float:
        """What a node loses with nothing suppressed; only where that is separable."""
        if self.loss == "height":
            return sum(node) / max(sum(self.heights), 1)
        return float(
            sum(w * self.key_loss[j][level] for j, (w, level) in enumerate(zip(self.weights, node, strict=True)))
        )

    def _figures(self, node: Node, sizes: Ints, bad: Bools, of: Ints) -> tuple[float, float]:
        """Loss and bound of a node whose classes are known."""
        suppressed = int(sizes[bad].sum())
        if self.loss == "discernibility":
            squares = sizes.astype(float) ** 2
            scale = float(self.n) ** 2
            return float(squares[~bad].sum() + suppressed * self.n) / scale, float(squares.sum()) / scale
        if self.loss == "class_size":
            kept = int((~bad).sum()) + (suppressed > 0)
            return 1 / max(kept, 1), 1 / len(sizes)
        bound = self.bound(node)
        if self.loss == "height" or not suppressed:
            return bound, bound
        lost = bad[of]
        rows, counts = self.rows[lost], self.counts[lost]
        extra = 0.0
        for j, (weight, level) in enumerate(zip(self.weights, node, strict=True)):
            whole = self._whole(j)
            extra += (
                weight * float(((whole[rows[:, j]] - self.cell_loss[j][level][rows[:, j]]) * counts).sum()) / self.n
            )
        return bound + extra, bound

    def _whole(self, j: int) -> Floats:
        """What a suppressed cell loses, by value."""
        one = self.levels[j]
        if self.loss != "entropy":
            return np.ones(len(one.counts))
        with np.errstate(divide="ignore"):
            bits = np.where(one.counts > 0, np.log2(self.n / one.counts), 0.0)
        whole = (bits * one.counts).sum()
        return np.asarray(bits * self.n / whole if whole else bits * 0.0)

    # -- counting --------------------------------------------------------------------------------------------------

    def classes(self, node: Node) -> Ints:
        """For every distinct key the number of its class."""
        if node in self._kept:
            self._kept.move_to_end(node)
            return self._kept[node]
        start = next((p for p in self.below(node) if p in self._kept), None)
        if start is None:
            codes = np.stack([one.codes[level][self.rows[:, j]] for j, (one, level) in enumerate(
                zip(self.levels, node, strict=True))], axis=1)  # fmt: skip
            _, of = np.unique(dense_ids(codes), return_inverse=True)
        else:  # rolled up: one row per class below is enough
            finer = self._kept[start]
            first = np.full(int(finer.max()) + 1, -1, np.int64)
            first[finer[::-1]] = np.arange(len(finer))[::-1]
            codes = np.stack([one.codes[level][self.rows[first, j]] for j, (one, level) in enumerate(
                zip(self.levels, node, strict=True))], axis=1)  # fmt: skip
            of = np.unique(dense_ids(codes), return_inverse=True)[1][finer]
        self._kept[node] = of
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return np.asarray(of)

    def bad(self, of: Ints, sizes: Ints) -> Bools:
        """Classes that break the privacy model."""
        found = sizes < self.k
        for (rows, values), (_, least) in zip(self.pairs, self.diversity, strict=True):
            both = np.unique(np.stack([of[rows], values]), axis=1)
            found = found | (np.bincount(both[0], minlength=len(sizes)) < least)
        return np.asarray(found)

    def check(self, node: Node) -> Checked:
        """Count the classes of a node, once."""
        if node not in self.checked:
            of = self.classes(node)
            sizes = np.bincount(of, weights=self.counts).astype(np.int64)
            bad = self.bad(of, sizes)
            suppressed = int(sizes[bad].sum())
            loss, bound = self._figures(node, sizes, bad, of)
            self.checked[node] = Checked(node, suppressed, suppressed <= self.most, loss, bound, int((~bad).sum()))
        return self.checked[node]

    def suppressed_records(self, node: Node) -> Bools:
        """The records that are suppressed at a node."""
        of = self.classes(node)
        bad = self.bad(of, np.bincount(of, weights=self.counts).astype(np.int64))
        return np.asarray(bad[of][self.of])


def weights_of(names: Sequence[str], given: Mapping[str, float] | None) -> Floats:
    """Weights of keys that add up to 1."""
    made = np.array([float((given or {}).get(name, 1.0)) for name in names])
    return np.asarray(made / made.sum(), np.float64)
