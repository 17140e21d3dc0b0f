"""Random forests by the rules the field's published figures rest on (probability and regression forests).

    p_k(x) = (1 / T) * sum over trees t of  n_k(leaf_t(x)) / n(leaf_t(x))

with in-bag leaf counts n_k (Malley et al. 2012); the mean of leaf means for a numeric target (Breiman 2001). 500
trees, ``mtry = floor(sqrt(p))`` for both, a node of at most 10 (classes) or 5 (numbers) bootstrapped records is a
leaf, and so is a node in which none of the drawn keys can be split (Wright & Ziegler 2017). Scikit-learn's forests go
on drawing instead and come out far more confident on a handful of coarse keys, hence a forest of our own.

Works on plain arrays: ``codes`` [n, p], positions in the joint value list of each key. Records are sorted before
anything is drawn and each tree has its own seed, so neither the order of the rows nor the number of threads changes
the answer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from glasshouse.core.errors import InputError
from glasshouse.engines import devices
from glasshouse.engines.models.design import distinct_rows, lexicographic, runs
from glasshouse.engines.models.forest import kernel, room

Done = TypeVar("Done")
_BATCH = 32  # trees alive at a time when the forest is not kept
_ROWS = 4096  # rows scored by one task at most


@dataclass(frozen=True)
class Tree:
    """One grown tree: nodes [n, 3] = (key or -1, last code on the left or leaf number, left child), and its leaves."""

    nodes: np.ndarray
    value: np.ndarray
    leaf_start: np.ndarray
    leaf_class: np.ndarray
    leaf_count: np.ndarray


@dataclass
class Forest:
    """A grown forest.

    ``predictions`` holds one array per table in ``score``: [rows, classes] probabilities or [rows] means. ``trees``
    is empty unless the forest was kept. ``importance`` is the total drop of impurity per key (sum over trees, Gini
    for classes, squares for numbers).
    """

    kind: int
    n_classes: int
    n_trees: int
    n_keys: int
    importance: np.ndarray
    trees: list[Tree] = field(default_factory=list)
    predictions: list[np.ndarray] = field(default_factory=list)

    def predict(self, codes: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
        """Class probabilities [rows, classes], or means [rows], for coded key rows."""
        self._need_trees()
        distinct, row_of = _distinct(_compact(codes))
        raw = np.zeros((len(distinct), self._width))
        with Workers(n_jobs) as workers:
            add(self.kind, self.trees, distinct, raw, workers)
        return self._finish(raw)[row_of]

    def leaves(self, codes: np.ndarray, *, n_jobs: int | None = None) -> NDArray[np.int32]:
        """Leaf number of each row in each tree, int32 [trees, rows]; two rows with equal numbers share that leaf."""
        self._need_trees()
        rows = _compact(codes)
        found = np.empty((self.n_trees, len(rows)), np.int32)
        with Workers(n_jobs) as workers:
            workers.each(
                lambda t: kernel.find_leaves(self.trees[t].nodes, rows, 0, len(rows), *room.walk(), found[t]),
                range(self.n_trees),
            )
        return found

    def _need_trees(self) -> None:
        if not self.trees:
            raise InputError("this forest was grown for its predictions only; grow it with keep=True to use it again")

    @property
    def _width(self) -> int:
        return self.n_classes if self.kind == kernel.MULTICLASS else 1

    def _finish(self, raw: np.ndarray) -> np.ndarray:
        mean = raw / self.n_trees
        if self.kind == kernel.REGRESSION:
            return mean[:, 0]
        if self.kind == kernel.BINARY:
            second = np.clip(mean[:, 0], 0.0, 1.0)
            return np.column_stack([1.0 - second, second])
        return mean


class Workers:
    """A thread pool for compiled tasks that release the interpreter lock; one thread runs them in place."""

    def __init__(self, n_jobs: int | None) -> None:
        self.n = resolve_jobs(n_jobs)
        self._pool = ThreadPoolExecutor(self.n) if self.n > 1 else None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def each(self, task: Callable[[int], Done], items: Sequence[int] | range) -> list[Done]:
        """Results of ``task`` in the order of ``items``."""
        if self._pool is None or len(items) < 2:
            return [task(i) for i in items]
        return list(self._pool.map(task, items))


def resolve_jobs(n_jobs: int | None) -> int:
    """None: what compiled loops have around it, -1: every core this process may use."""
    if n_jobs is None:
        import numba

        return int(numba.get_num_threads())
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs == -1:
        return available
    if n_jobs < 1:
        raise InputError(f"n_jobs must be a positive number, -1 or None, not {n_jobs}")
    return n_jobs


def grow(
    codes: np.ndarray,
    y: np.ndarray,
    *,
    n_classes: int | None,
    numeric: Sequence[bool] | np.ndarray,
    values: Sequence[np.ndarray | None],
    n_levels: Sequence[int],
    trees: int = 500,
    mtry: int | None = None,
    node_size: int | None = None,
    max_depth: int | None = None,
    weights: np.ndarray | None = None,
    draws: int | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    score: Sequence[np.ndarray] = (),
    keep: bool = False,
) -> Forest:
    """Grow a forest and score ``score`` (coded tables) on the way.

    ``n_classes`` None: regression on float ``y``; else ``y`` holds class codes 0..n_classes-1. ``values[j]`` are the
    sorted numbers behind the codes of a numeric key (None for a categorical one, whose cuts lie between level codes).
    ``weights``: chances of a record to be drawn into the bootstrap; ``draws``: records drawn for a tree, by default as
    many as there are.
    """
    n, n_keys = codes.shape
    _check(n, n_keys, y, trees, mtry, draws)
    wide = max(n_levels, default=1) > 65_536
    seeds = np.random.SeedSequence(seed).generate_state(trees, np.uint64)
    limits = (mtry or max(1, int(np.sqrt(n_keys))), node_size, max_depth)
    draws = n if draws is None else draws
    plan = _plan(codes, y, n_classes, numeric, values, n_levels, weights, draws, wide, limits, seeds)

    forest = Forest(plan.kind, n_classes or 0, trees, n_keys, np.zeros(n_keys))
    tables = [_distinct(_compact(table, wide)) for table in score]
    sums = [np.zeros((len(rows), forest._width)) for rows, _ in tables]
    gains: list[np.ndarray] = []
    with _grower(plan, draws * trees, n_jobs) as grower:
        for begin in range(0, trees, grower.batch):
            batch, added = grower.grow(range(begin, min(begin + grower.batch, trees)))
            gains += added
            for (rows, _), total in zip(tables, sums, strict=True):
                grower.add(batch, rows, total)
            if keep:
                forest.trees.extend(batch)
    forest.importance = np.array(gains).sum(axis=0) * (2.0 if plan.kind == kernel.BINARY else 1.0)
    forest.predictions = [forest._finish(total)[inverse] for (_, inverse), total in zip(tables, sums, strict=True)]
    return forest


@dataclass(frozen=True)
class Plan:
    """All that a tree needs to grow but its number: the same plan gives the same tree on every machine.

    Attributes
    ----------
    kind, draws, n_classes : int
        Kind of target, records drawn for a tree, classes.
    keys : tuple
        Codes of the distinct rows by key, levels, which are numeric, the numbers behind the codes.
    drawn : tuple
        Row, weight, class and number of every record.
    limits : tuple
        Keys drawn per node, records of a leaf, depth.
    row_class : array of int
        Class of each distinct row where there are several.
    seeds : array of int
        One per tree.
    """

    kind: int
    draws: int
    n_classes: int
    keys: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
    drawn: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
    limits: tuple[int, float, int]
    row_class: np.ndarray
    seeds: np.ndarray

    def tree(self, t: int) -> tuple[Tree, np.ndarray]:
        """Tree number t and its drop of impurity per key."""
        columns, levels = self.keys[:2]
        rows = columns.shape[1]
        state = self.seeds[t : t + 1].copy()
        weight = np.zeros(rows, np.int64)
        total = np.zeros(rows if self.kind == kernel.REGRESSION else 1)
        kernel.bootstrap(self.kind, state, *self.drawn, self.draws, weight, total)
        made = room.make(self.kind, state, weight, total, self.row_class, self.draws, levels, self.n_classes)
        nodes, value, leaf_start, leaf_class, leaf_count = made[-5:]
        gain = np.zeros(len(levels))
        n_nodes, n_leaves, n_entries = kernel.grow_tree(self.kind, *self.keys, *self.limits, gain, *made)
        grown = Tree(
            nodes[:n_nodes].copy(),
            value[:n_leaves].copy(),
            leaf_start[: n_leaves + 1].copy(),
            leaf_class[:n_entries].copy(),
            leaf_count[:n_entries].copy(),
        )
        return grown, gain


def _plan(
    codes: np.ndarray,
    y: np.ndarray,
    n_classes: int | None,
    numeric: Sequence[bool] | np.ndarray,
    values: Sequence[np.ndarray | None],
    n_levels: Sequence[int],
    weights: np.ndarray | None,
    draws: int,
    wide: bool,
    limits: tuple[int, int | None, int | None],
    seeds: np.ndarray,
) -> Plan:
    kind = kernel.REGRESSION if n_classes is None else kernel.BINARY if n_classes <= 2 else kernel.MULTICLASS
    # records in the order of their keys, then of the target: draws then do not depend on the order of the file
    records = lexicographic([*codes.T], y)
    sorted_codes = _compact(codes, wide)[records]
    sorted_y = y[records]
    # classes of a multi-class target are part of the row, the other targets are totals over equal key rows
    labels = sorted_y.astype(np.int64) if kind == kernel.MULTICLASS else None
    first, row_of = runs(sorted_codes, labels)
    columns = np.ascontiguousarray(sorted_codes[first].T)
    row_class = (labels[first] if labels is not None else np.zeros(1)).astype(np.int32)
    cumulative = np.empty(0) if weights is None else np.cumsum(np.asarray(weights, np.float64)[records])
    offsets, flat = _flat_values(values)
    drawn = (
        row_of.astype(np.int32),
        cumulative,
        sorted_y.astype(np.uint8) if kind == kernel.BINARY else np.zeros(1, np.uint8),
        sorted_y.astype(np.float64) if kind == kernel.REGRESSION else np.zeros(1),
    )
    keys = (columns, np.asarray(n_levels, np.int64), np.asarray(numeric, np.bool_), flat, offsets)
    mtry, node_size, max_depth = limits
    leaf = float(node_size if node_size is not None else 5 if kind == kernel.REGRESSION else 10)
    return Plan(kind, draws, n_classes or 1, keys, drawn, (int(mtry), leaf, int(max_depth or 0)), row_class, seeds)


class Grower(Protocol):
    """Who grows trees and asks them: this machine, or many."""

    batch: int

    def grow(self, numbers: range) -> tuple[list[Tree], list[np.ndarray]]:
        """Trees of these numbers and their drops of impurity, in order."""
        ...

    def add(self, trees: Sequence[Tree], rows: np.ndarray, total: np.ndarray) -> None:
        """Add the answers of the trees to the totals of rows, in the order of the trees."""
        ...


class Threads:
    """Trees grown by the threads of this machine."""

    batch = _BATCH

    def __init__(self, plan: Plan, workers: Workers) -> None:
        self.plan, self.workers = plan, workers

    def grow(self, numbers: range) -> tuple[list[Tree], list[np.ndarray]]:
        """Trees of these numbers and their drops of impurity, in order."""
        made = self.workers.each(self.plan.tree, numbers)
        return [tree for tree, _ in made], [gain for _, gain in made]

    def add(self, trees: Sequence[Tree], rows: np.ndarray, total: np.ndarray) -> None:
        """Add the answers of the trees to the totals of rows, in the order of the trees."""
        add(self.plan.kind, trees, rows, total, self.workers)


@contextmanager
def _grower(plan: Plan, work: int, n_jobs: int | None) -> Iterator[Grower]:
    """Where the trees grow; the forest is the same. ``work`` is trees times records."""
    if devices.trees_on_spark(work):
        from glasshouse.engines.distributed.forest import Executors

        with Executors(plan, devices.spark_session()) as executors:
            yield executors
        return
    with Workers(n_jobs) as workers:
        yield Threads(plan, workers)


def add(kind: int, trees: Sequence[Tree], rows: np.ndarray, total: np.ndarray, workers: Workers) -> None:
    """Add the trees' answers in tree order; tasks own disjoint rows, so no sum depends on the threads."""

    step = max(1, min(_ROWS, -(-len(rows) // workers.n)))  # a few rows are shared out, too

    def block(start: int) -> None:
        stop = min(start + step, len(rows))
        leaf, walk = np.empty(stop - start, np.int32), room.walk()
        for t in trees:
            kernel.find_leaves(t.nodes, rows, start, stop, *walk, leaf)
            kernel.add_leaves(kind, leaf, t.value, t.leaf_start, t.leaf_class, t.leaf_count, start, stop, total)

    workers.each(block, range(0, len(rows), step))


def _distinct(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct rows, and for each record the number of its row."""
    first, row_of = distinct_rows(codes)
    return np.ascontiguousarray(codes[first]), row_of


def _compact(codes: np.ndarray, wide: bool | None = None) -> np.ndarray:
    if wide is None:
        wide = bool(codes.size) and int(codes.max()) >= 65_536
    return np.ascontiguousarray(codes, dtype=np.int32 if wide else np.uint16)


def _flat_values(values: Sequence[np.ndarray | None]) -> tuple[np.ndarray, np.ndarray]:
    parts = [np.zeros(0) if v is None else np.asarray(v, np.float64) for v in values]
    offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts])])[:-1].astype(np.int64)
    return offsets, np.concatenate([*parts, np.zeros(1)])


def _check(n: int, n_keys: int, y: np.ndarray, trees: int, mtry: int | None, draws: int | None) -> None:
    if n == 0:
        raise InputError("the release has no records to train on; release at least one record")
    if n_keys == 0:
        raise InputError("a forest needs at least one key; name the keys the attacker knows")
    if len(y) != n:
        raise InputError(f"{n} key rows but {len(y)} target values; pass one target value per row")
    if trees < 1:
        raise InputError(f"trees must be at least 1, not {trees}")
    if draws is not None and draws < 1:
        raise InputError(f"draws must be at least 1, not {draws}")
    if mtry is not None and not 1 <= mtry <= n_keys:
        raise InputError(f"mtry must lie between 1 and the number of keys ({n_keys}), not {mtry}")
