"""Exact nearest records in Gower space. Nobody else in the house computes distances between records.

Gower's distance (Gower 1971) between records a and b over columns v with weights w_v summing to one:

    d(a, b) = sum_v w_v s_v(a, b),   s_v = |a_v - b_v| / R_v for numbers, 0 or 1 for categories

with R_v the range over original, holdout and release together, so that every distance of a pair is on one scale.
Four rules for missing values: ``level`` (missing is a value of its own), ``ignore`` (the column drops out of that
comparison; no shared column means d = 1), ``match`` (contributes 0), ``mismatch`` (contributes 1).

    space = gower_space(pair)                         # once per pair and choice of columns, shared by all measures
    near = space.nearest("released", "original", k=2)
    near.distance                                     # (n, 2), every copy of a record counts
    space.count_within("original", "released", 0.05)  # records within a radius, per original record

The reference side is never thinned. Records equal in every column are searched once and counted as often as they
occur. ``TOL`` decides equality of distances.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable, listed
from glasshouse.engines.neighbours.encoding import RULES, Encoded, Rows, encode_pair

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

TOL = 1e-9
FEW_QUERIES = 2000

__all__ = ["RULES", "TOL", "Nearest", "Space", "Tied", "chosen_columns", "gower_space", "threads"]


def gower_space(
    pair: Pair,
    columns: Sequence[str] | None = None,
    missing: str = "level",
    weights: Mapping[str, float] | None = None,
) -> Space:
    """The pair's records as points, built once per choice of columns, missing-value rule and weights."""
    if missing not in RULES:
        raise InputError(f"missing must be one of {listed(RULES)}, not {missing!r}")
    chosen = chosen_columns(pair, columns)
    heavy = None if weights is None else tuple(sorted((name, float(weights[name])) for name in chosen))
    key = ("gower_space", chosen, missing, heavy)
    return pair.memo(key, lambda: Space(encode_pair(pair, chosen, missing, None if heavy is None else dict(heavy))))


def chosen_columns(pair: Pair, columns: Sequence[str] | None) -> tuple[str, ...]:
    """The columns asked for, checked; all shared ones by default."""
    chosen = tuple(pair.columns if columns is None else dict.fromkeys(columns))
    unknown = [name for name in chosen if name not in pair.columns]
    if unknown:
        raise InputError(
            f"columns {listed(unknown)} are not in every table (or are identifiers or weights); "
            f"choose from {listed(pair.columns)}"
        )
    if not chosen:
        raise NotApplicable("there is no column in common to measure distances on; release a column of the original")
    return chosen


@dataclass(frozen=True)
class Nearest:
    """The k nearest records of every query record.

    ``distance`` counts every copy of a record, ``distinct`` only different records; both are (n, k), sorted, infinite
    where there are fewer. ``row`` and ``copies`` describe the distinct records found (row -1 where there is none).
    """

    distance: np.ndarray
    distinct: np.ndarray
    row: np.ndarray
    copies: np.ndarray
    reference: Rows
    own_rank: np.ndarray | None

    def first(self, k: int) -> Nearest:
        """Only the k nearest."""
        kept = (self.distance[:, :k], self.distinct[:, :k], self.row[:, :k], self.copies[:, :k])
        return Nearest(*kept, self.reference, self.own_rank)

    @property
    def index(self) -> np.ndarray:
        """Record number of the nearest record, the lowest one among exact ties; (n,), -1 where there is none."""
        return self.indices[:, 0]

    @cached_property
    def indices(self) -> np.ndarray:
        """Record numbers behind ``distance``: by distance, then distinct record, then record number."""
        k = self.distance.shape[1]
        upto = np.cumsum(self.copies, axis=1)
        found = np.full(self.distance.shape, -1, np.int64)
        for j in range(k):
            slot = (upto <= j).sum(axis=1)
            valid = slot < k
            at = np.flatnonzero(valid)
            chosen = slot[at]
            rank = j - (upto[at, chosen] - self.copies[at, chosen])
            row = self.row[at, chosen]
            if self.own_rank is not None:
                own = self.reference.inverse[at] == row
                rank = rank + (own & (rank >= self.own_rank[at]))
            found[at, j] = self.reference.members[self.reference.starts[row] + rank]
        return found


@dataclass(frozen=True)
class Tied:
    """Everything within a radius, as lists: distinct rows ``row[offsets[q]:offsets[q + 1]]`` for distinct query q."""

    offsets: np.ndarray
    row: np.ndarray
    query: Rows
    reference: Rows

    @cached_property
    def records(self) -> np.ndarray:
        """Number of records (copies counted) in each list."""
        owner = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        return np.bincount(owner, weights=self.reference.counts[self.row], minlength=len(self.offsets) - 1)


class Space:
    """Points of all tables of a pair under one scaling, and the searches among them."""

    def __init__(self, encoded: Encoded) -> None:
        self.encoded = encoded
        self.columns = encoded.columns
        self.ranges = encoded.ranges
        self._rows: dict[str, Rows] = {}
        self._trees: dict[str, tuple[Any, np.ndarray]] = {}
        self._nearest: dict[tuple[str, str], Nearest] = {}

    def rows(self, table: str, subset: np.ndarray | None = None) -> Rows:
        """Distinct records of a table (or of some of its records) and how often each occurs."""
        if subset is not None:
            return self.encoded.distinct(table, subset)
        if table not in self._rows:
            self._rows[table] = self.encoded.distinct(table)
        return self._rows[table]

    def nearest(self, of: str | Rows, among: str, k: int = 1, n_jobs: int | None = None) -> Nearest:
        """k nearest records of ``among`` for every record of ``of``; a table searched in itself leaves out self.

        ``of`` is a table, or some rows of one (``space.rows(table, subset)``). For tables the largest k asked for so
        far is kept, so measures that ask alike share one search.
        """
        if not isinstance(of, str):
            return self.search(of, self.rows(among), k, tree=self._tree(among), n_jobs=n_jobs)
        kept = self._nearest.get((of, among))
        if kept is None or kept.distance.shape[1] < k:
            tree = self._tree(among)
            kept = self.search(self.rows(of), self.rows(among), k, tree=tree, self_join=of == among, n_jobs=n_jobs)
            self._nearest[of, among] = kept
        return kept.first(k)

    def search(
        self,
        query: Rows,
        reference: Rows,
        k: int,
        *,
        tree: Any = None,
        self_join: bool = False,
        n_jobs: int | None = None,
    ) -> Nearest:
        """k nearest records for any two sets of rows of this space; ``self_join`` says they are the same set."""
        from glasshouse.engines.neighbours import kernel

        if reference.n - self_join < 1:
            raise NotApplicable(
                "there is no record to compare with: a table is empty, or holds one record and is searched in itself"
            )
        prepared, position = self.grow(reference) if tree is None else tree
        own = _own_positions(query, position, self_join)
        with threads(n_jobs, query.size):
            distinct, at = kernel.nearest(prepared, query.numbers, query.codes, own, k, self.encoded.rule)
        row = np.where(at >= 0, prepared.row[at], -1)
        copies = np.where(row >= 0, reference.counts[row], 0)
        if self_join:
            copies -= row == np.arange(query.size)[:, None]
        upto = np.cumsum(copies, axis=1)
        distance = np.full(distinct.shape, np.inf)
        for j in range(k):
            slot = np.minimum((upto <= j).sum(axis=1), k - 1)
            distance[:, j] = np.where(upto[:, -1] > j, distinct[np.arange(query.size), slot], np.inf)
        back = query.inverse
        return Nearest(
            distance[back], distinct[back], row[back], copies[back], reference, query.ranks if self_join else None
        )

    def count_within(self, of: str, among: str, radius: float | np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """Records of ``among`` within ``radius`` of each record of ``of``; a table searched in itself leaves out self.

        ``radius`` is one number, or one per record of ``of``.
        """
        count, _ = self._within(self.rows(of), self._tree(among), radius, of == among, n_jobs)
        return np.asarray(count[self.rows(of).inverse])

    def count_rows_within(
        self, query: Rows, among: str, radius: float | np.ndarray, n_jobs: int | None = None
    ) -> np.ndarray:
        """``count_within`` for some rows of a table; nothing is left out."""
        count, _ = self._within(query, self._tree(among), radius, False, n_jobs)
        return np.asarray(count[query.inverse])

    def count_between(
        self, query: Rows, reference: Rows, radius: float | np.ndarray, n_jobs: int | None = None
    ) -> np.ndarray:
        """``count_within`` for any two different sets of rows of this space."""
        count, _ = self._within(query, self.grow(reference), radius, False, n_jobs)
        return np.asarray(count[query.inverse])

    def tied(self, of: str | Rows, among: str, radius: np.ndarray, n_jobs: int | None = None) -> Tied:
        """The distinct records of ``among`` within ``radius`` of each distinct record of ``of`` (self not left out).

        ``radius`` is one number per record of ``of``; equal records must carry equal radii.
        """
        query = self.rows(of) if isinstance(of, str) else of
        tree = self._tree(among)
        _, distinct = self._within(query, tree, radius, False, n_jobs)
        offsets = np.concatenate([[0], np.cumsum(distinct)]).astype(np.int64)
        found = np.empty(int(offsets[-1]), np.int32)
        self._within(query, tree, radius, False, n_jobs, offsets, found)
        return Tied(offsets, tree[0].row[found], query, self.rows(among))

    def _within(
        self,
        query: Rows,
        tree: tuple[Any, np.ndarray],
        radius: float | np.ndarray,
        self_join: bool,
        n_jobs: int | None,
        offsets: np.ndarray | None = None,
        found: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        from glasshouse.engines.neighbours import kernel

        offsets = np.empty(0, np.int64) if offsets is None else offsets
        found = np.empty(0, np.int32) if found is None else found
        own = _own_positions(query, tree[1], self_join)
        limit = _per_query(radius, query)
        with threads(n_jobs, query.size):
            count, distinct = kernel.within(
                tree[0], query.numbers, query.codes, own, limit, self.encoded.rule, offsets, found
            )
        return count, distinct

    def _tree(self, table: str) -> tuple[Any, np.ndarray]:
        if table not in self._trees:
            self._trees[table] = self.grow(self.rows(table))
        return self._trees[table]

    def grow(self, reference: Rows) -> tuple[Any, np.ndarray]:
        """The search tree of some rows, for ``search(..., tree=)``; tables keep theirs."""
        from glasshouse.engines.neighbours import kernel
        from glasshouse.engines.neighbours import tree as growing

        if reference.size == 0:
            raise NotApplicable("there is no record to compare with: a table is empty")
        numbers, codes = self.encoded.as_reference(reference)
        weights = self.encoded.weights
        order, left, right, first, last = growing.grow(numbers, codes, weights)
        numbers = np.ascontiguousarray(numbers[order])
        codes = np.ascontiguousarray(codes[order])
        boxes = growing.boxes(numbers, codes, weights, left, right, first, last)
        tree = kernel.Tree(
            numbers,
            codes,
            np.ascontiguousarray(numbers.T.astype(np.float32)),
            np.ascontiguousarray(codes.T),
            weights,
            reference.counts[order].astype(np.int32),
            order,
            reference.firsts[order].astype(np.int32),
            left,
            right,
            first,
            last,
            *boxes,
        )
        position = np.empty(len(order), np.int32)
        position[order] = np.arange(len(order), dtype=np.int32)
        return tree, position


def _own_positions(query: Rows, position: np.ndarray, self_join: bool) -> np.ndarray:
    return position if self_join else np.full(query.size, -1, np.int32)


def _per_query(radius: float | np.ndarray, query: Rows) -> np.ndarray:
    if np.ndim(radius) == 0:
        return np.full(query.size, float(radius))
    return np.ascontiguousarray(np.asarray(radius, float)[query.firsts])


@contextmanager
def threads(n_jobs: int | None, queries: int | None = None) -> Iterator[None]:
    """Run compiled loops on ``n_jobs`` threads (None or -1: all); no answer depends on it.

    A few ``queries`` are answered sooner by one thread than by several that wait for each other.
    """
    import numba

    if n_jobs is not None and n_jobs != -1 and n_jobs < 1:
        raise InputError(f"n_jobs must be a positive number of threads or -1, not {n_jobs}")
    most = numba.config.NUMBA_NUM_THREADS
    wanted = most if n_jobs is None or n_jobs == -1 else min(n_jobs, most)
    if queries is not None and queries < FEW_QUERIES:
        wanted = 1
    before = numba.get_num_threads()
    numba.set_num_threads(min(wanted, before) if n_jobs is None else wanted)
    try:
        yield
    finally:
        numba.set_num_threads(before)
