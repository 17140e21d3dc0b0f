"""A distribution over many columns as a tree of small tables.

The columns of each table overlap with those of its neighbours (the separators), and the joint distribution is the
product of the tables over the product of the separators (Lauritzen & Spiegelhalter 1988). On such a tree everything is
exact and needs no more memory than the largest table: marginals by passing sums along the edges, conditioning by
zeroing cells and passing again, and sampling column by column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from glasshouse.core.errors import InputError, listed

Clique = tuple[str, ...]


def cliques_after_elimination(sizes: Mapping[str, int], cliques: Iterable[Clique]) -> list[Clique]:
    """Maximal cliques of a triangulation of the graph in which every given clique is complete.

    Greedy elimination: always the column whose clique with its neighbours has the fewest cells.
    """
    neighbours: dict[str, set[str]] = {name: set() for name in sizes}
    for clique in cliques:
        for name in clique:
            neighbours[name].update(clique)
    for name, near in neighbours.items():
        near.discard(name)
    rank = {name: i for i, name in enumerate(sizes)}
    log_size = {name: np.log(size) for name, size in sizes.items()}
    found: list[set[str]] = []
    left = dict(neighbours)
    while left:
        chosen = min(left, key=lambda n: (log_size[n] + sum(log_size[m] for m in left[n]), rank[n]))
        around = left.pop(chosen)
        group = {chosen, *around}
        if not any(group <= known for known in found):
            found.append(group)
        for name in around:
            left[name] |= around
            left[name] -= {name, chosen}
    return [tuple(sorted(group, key=rank.__getitem__)) for group in found]


def cells_of(sizes: Mapping[str, int], clique: Iterable[str]) -> int:
    """Number of cells of a table over these columns."""
    cells = 1
    for name in clique:
        cells *= sizes[name]
    return cells


def model_cells(sizes: Mapping[str, int], cliques: Iterable[Clique]) -> int:
    """Cells of all tables of the tree that would hold these cliques."""
    return sum(cells_of(sizes, clique) for clique in cliques_after_elimination(sizes, cliques))


@dataclass
class JunctionTree:
    """The shape of the tree: tables, and for each one its parent and the columns it shares with it."""

    sizes: dict[str, int]
    cliques: list[Clique]
    parent: list[int] = field(init=False)
    order: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.parent, self.order = _spanning_tree(self.cliques)
        self._axes = [self._separator_axes(i) for i in range(len(self.cliques))]

    @classmethod
    def of(cls, sizes: Mapping[str, int], cliques: Iterable[Clique]) -> JunctionTree:
        """A tree that holds every given clique inside one of its tables."""
        return cls(dict(sizes), cliques_after_elimination(sizes, cliques))

    def holder(self, clique: Iterable[str]) -> int | None:
        """The smallest table that contains these columns, or None."""
        wanted = set(clique)
        holders = [i for i, c in enumerate(self.cliques) if wanted <= set(c)]
        return min(holders, key=lambda i: (cells_of(self.sizes, self.cliques[i]), i)) if holders else None

    def home(self, clique: Iterable[str]) -> int:
        """The smallest table that contains these columns; an error when none does."""
        columns = tuple(clique)
        found = self.holder(columns)
        if found is None:
            raise InputError(f"no table of the model holds {listed(columns)} together; measure them together first")
        return found

    def shape(self, clique: Iterable[str]) -> tuple[int, ...]:
        """Cells of each of these columns."""
        return tuple(self.sizes[name] for name in clique)

    def separator(self, node: int) -> Clique:
        """Columns a table shares with its parent, in the table's order."""
        above = self.parent[node]
        return () if above < 0 else tuple(c for c in self.cliques[node] if c in self.cliques[above])

    def _separator_axes(self, node: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Axes to sum away and shapes to spread a message over, for the table and for its parent."""
        shared = set(self.separator(node))
        own = self.cliques[node]
        above = self.cliques[self.parent[node]] if self.parent[node] >= 0 else ()
        return (
            tuple(i for i, c in enumerate(own) if c not in shared),
            tuple(self.sizes[c] if c in shared else 1 for c in own),
            tuple(i for i, c in enumerate(above) if c not in shared),
            tuple(self.sizes[c] if c in shared else 1 for c in above),
        )

    def calibrate(self, tables: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Marginal probabilities of every table, from non-negative factors: sums up to the root and down again.

        Columns are in one global order in every clique, so a message only has to be reshaped, never transposed.
        """
        beliefs = [np.array(t) for t in tables]
        messages: dict[int, np.ndarray] = {}
        for node in reversed(self.order):
            above = self.parent[node]
            total = beliefs[node].sum()
            beliefs[node] /= total if total > 0 else 1.0
            if above >= 0:
                away, _, _, spread = self._axes[node]
                message = beliefs[node].sum(axis=away)
                messages[node] = message
                beliefs[above] *= message.reshape(spread)
        for node in self.order:
            above = self.parent[node]
            if above >= 0:
                _, spread, away, _ = self._axes[node]
                wanted, current = beliefs[above].sum(axis=away).reshape(spread), messages[node].reshape(spread)
                # first what the table says given the separator: shares, however little mass there was
                given = np.divide(beliefs[node], current, out=np.zeros_like(beliefs[node]), where=current > 0)
                beliefs[node] = given * wanted
        return beliefs


def _spanning_tree(cliques: Sequence[Clique]) -> tuple[list[int], list[int]]:
    """Parents and a root-first order of the tree with the largest separators (Prim's algorithm).

    Parts that share no column are joined by an empty separator.
    """
    parent = [-1] * len(cliques)
    order: list[int] = [0]
    outside = set(range(1, len(cliques)))
    sets = [set(c) for c in cliques]
    while outside:
        joined, above = max(
            ((node, other) for node in outside for other in order),
            key=lambda pair: (len(sets[pair[0]] & sets[pair[1]]), -pair[0], -pair[1]),
        )
        parent[joined] = above
        order.append(joined)
        outside.remove(joined)
    return parent, order


@dataclass
class TreeModel:
    """A fitted distribution: the tree and the calibrated probabilities of its tables. Plain arrays, nothing else."""

    tree: JunctionTree
    tables: list[np.ndarray]

    def project(self, columns: Clique) -> np.ndarray:
        """Joint probabilities of a few columns, axes in the order asked for."""
        holder = self.tree.holder(columns)
        if holder is not None:
            own = self.tree.cliques[holder]
            table = self.tables[holder].sum(axis=tuple(i for i, c in enumerate(own) if c not in columns))
            kept = [c for c in own if c in columns]
            return np.transpose(table, [kept.index(c) for c in columns])
        return self._across(columns)

    def _across(self, columns: Clique) -> np.ndarray:
        """Columns of different tables: multiply along the part of the tree that connects them, summing early."""
        needed = self._subtree(set(columns))
        names = list(dict.fromkeys(c for node in needed for c in self.tree.cliques[node]))
        index = {c: i for i, c in enumerate(names)}
        factors: list[np.ndarray | list[int]] = []
        for position, node in enumerate(needed):
            table = self.tables[node]
            if position:  # all but the first, root-most table: conditional on the separator
                away, spread, _, _ = self.tree._axes[node]
                below = table.sum(axis=away).reshape(spread)
                table = np.divide(table, below, out=np.zeros_like(table), where=below > 0)
            factors.extend([table, [index[c] for c in self.tree.cliques[node]]])
        return np.asarray(np.einsum(*factors, [index[c] for c in columns], optimize="greedy"))

    def _subtree(self, columns: set[str]) -> list[int]:
        """Tables of the smallest connected part of the tree that covers the columns, root-most first."""
        kept = set(range(len(self.tables)))
        children: dict[int, set[int]] = {i: set() for i in kept}
        for node, above in enumerate(self.tree.parent):
            if above >= 0:
                children[above].add(node)
        changed = True
        while changed:
            changed = False
            for node in sorted(kept):
                around = (children[node] & kept) | ({self.tree.parent[node]} & kept)
                if len(kept) == 1 or len(around) > 1:
                    continue
                own = set(self.tree.cliques[node]) & columns
                beside = set().union(*(self.tree.cliques[n] for n in around)) if around else set()
                if own <= beside:
                    kept.discard(node)
                    changed = True
        return [node for node in self.tree.order if node in kept]

    def given(self, allowed: Mapping[str, np.ndarray]) -> tuple[TreeModel, float]:
        """The distribution among records whose cells are among those allowed, and the probability of that."""
        tables = [np.array(t) for t in self.tables]
        for node in self.tree.order[1:]:
            away, spread, _, _ = self.tree._axes[node]
            below = tables[node].sum(axis=away).reshape(spread)
            tables[node] = np.divide(tables[node], below, out=np.zeros_like(tables[node]), where=below > 0)
        for name, cells in allowed.items():
            holder = self.tree.home((name,))
            mask = np.zeros(self.tree.sizes[name])
            mask[cells] = 1.0
            axis = self.tree.cliques[holder].index(name)
            tables[holder] *= mask.reshape([-1 if i == axis else 1 for i in range(tables[holder].ndim)])
        share = self._mass(tables)
        return TreeModel(self.tree, self.tree.calibrate(tables)), share

    def _mass(self, tables: Sequence[np.ndarray]) -> float:
        """Total of the product of all tables."""
        sums = [np.array(t) for t in tables]
        total = 0.0
        for node in reversed(self.tree.order):
            above = self.tree.parent[node]
            if above < 0:
                total = float(sums[node].sum())
            else:
                away, _, _, spread = self.tree._axes[node]
                sums[above] *= sums[node].sum(axis=away).reshape(spread)
        return total

    def sample(self, n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Cells of n records, table by table, each column given those of its table that are already drawn.

        Within each group of equal parents the records are put in random order and spread evenly over the conditional
        distribution. The even spread keeps sampling noise below that of independent draws; the random order is what
        keeps columns with a common parent independent of each other given it.
        """
        drawn: dict[str, np.ndarray] = {}
        for node in self.tree.order:
            clique = self.tree.cliques[node]
            new = [c for c in clique if c not in drawn]
            if not new:
                continue
            old = [c for c in clique if c in drawn]
            table = np.transpose(self.tables[node], [clique.index(c) for c in (*old, *new)])
            flat = table.reshape(cells_of(self.tree.sizes, old), -1)
            group = np.zeros(n, dtype=np.int64)
            if old:
                group = np.ravel_multi_index([drawn[c] for c in old], self.tree.shape(old)).astype(np.int64)
            cells = _spread(flat, group, rng)
            for c, values in zip(new, np.unravel_index(cells, self.tree.shape(new)), strict=True):
                drawn[c] = np.asarray(values, dtype=np.int64)
        return drawn


def _spread(table: np.ndarray, group: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One cell per record from its group's row of ``table``: random order in the group, evenly over the row."""
    used, position, counts = np.unique(group, return_inverse=True, return_counts=True)
    order = np.lexsort((rng.random(len(group)), position))
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    ranks = np.empty(len(group))
    ranks[order] = np.arange(len(group)) - starts[position[order]]
    # one random offset per record inside its own slot of width 1 / group size
    level = (ranks + rng.random(len(group))) / counts[position]
    rows = table[used]
    totals = rows.sum(axis=1, keepdims=True)
    rows = np.where(totals > 0, rows / np.where(totals > 0, totals, 1.0), 1.0 / table.shape[1])
    cumulative = np.cumsum(rows, axis=1)
    cumulative[:, -1] = 1.0
    # one search for all groups: row i of the cumulative table lives on [i, i + 1)
    ladder = (cumulative + np.arange(len(used))[:, None]).ravel()
    found = np.searchsorted(ladder, level + position, side="right") - position * table.shape[1]
    found = np.clip(found, 0, table.shape[1] - 1)
    return _off_empty(rows, position, found)


def _off_empty(rows: np.ndarray, position: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Rounding in the ladder may land on an impossible cell; move to the most probable one of that row."""
    empty = rows[position, found] <= 0.0
    if empty.any():
        found = np.where(empty, np.argmax(rows, axis=1)[position], found)
    return np.asarray(found, dtype=np.int64)
