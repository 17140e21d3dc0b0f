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

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable, listed
from glasshouse.data.arrays import Floats, Ints
from glasshouse.engines.neighbours.answers import Nearest, Tied
from glasshouse.engines.neighbours.encoding import RULES, Encoded, Rows, encode_pair
from glasshouse.engines.neighbours.threads import threads

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair
    from glasshouse.engines.neighbours.kernel import Tree

Grown: TypeAlias = "tuple[Tree, Ints]"  # a search tree, and the position in it of every distinct row
TOL = 1e-9

__all__ = ["RULES", "TOL", "Nearest", "Space", "Tied", "chosen_columns", "gower_space", "threads"]


def gower_space(
    pair: Pair,
    columns: Sequence[str] | None = None,
    missing: str = "level",
    weights: Mapping[str, float] | None = None,
) -> Space:
    """The pair's records as points, built once per choice of columns, missing-value rule and weights.

    Parameters
    ----------
    pair : Pair
        The tables; the space is kept with it and shared by all measures.
    columns : sequence of str, optional
        The columns distances are measured on. Default: all shared ones.
    missing : {"level", "mismatch", "match", "ignore"}, default "level"
        How missing values are compared.
    weights : mapping of str to float, optional
        Weight of each column. Default: all alike.

    Returns
    -------
    Space

    Raises
    ------
    InputError
        For an unknown rule or column.
    NotApplicable
        When no column is shared.

    Notes
    -----
    d(a, b) = sum_v w_v s_v(a, b) with weights summing to one, s_v = |a_v - b_v| / R_v for numbers and 0 or 1 for
    categories.

    References
    ----------
    Gower (1971), A general coefficient of similarity and some of its properties.
    """
    if missing not in RULES:
        raise InputError(f"missing must be one of {listed(RULES)}, not {missing!r}")
    chosen = chosen_columns(pair, columns)
    heavy = None if weights is None else tuple(sorted((name, float(weights[name])) for name in chosen))
    key = ("gower_space", chosen, missing, heavy)
    return pair.memo(key, lambda: Space(encode_pair(pair, chosen, missing, None if heavy is None else dict(heavy))))


def chosen_columns(pair: Pair, columns: Sequence[str] | None) -> tuple[str, ...]:
    """The columns asked for, checked.

    Parameters
    ----------
    pair : Pair
        The tables.
    columns : sequence of str or None
        The columns; None asks for all shared ones.

    Returns
    -------
    tuple of str

    Raises
    ------
    InputError
        When a column is not in every table.
    NotApplicable
        When there is no column.
    """
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


class Space:
    """Points of all tables of a pair under one scaling, and the searches among them.

    Parameters
    ----------
    encoded : Encoded
        Scaled coordinates of every table.
    """

    def __init__(self, encoded: Encoded) -> None:
        self.encoded = encoded
        self.columns = encoded.columns
        self.ranges = encoded.ranges
        self._rows: dict[str, Rows] = {}
        self._trees: dict[str, Grown] = {}
        self._nearest: dict[tuple[str, str], Nearest] = {}

    def rows(self, table: str, subset: Ints | None = None) -> Rows:
        """Distinct records of a table and how often each occurs.

        Parameters
        ----------
        table : str
            "original", "released" or "holdout".
        subset : array of int, optional
            Some of its records. Default: all.

        Returns
        -------
        Rows
        """
        if subset is not None:
            return self.encoded.distinct(table, subset)
        if table not in self._rows:
            self._rows[table] = self.encoded.distinct(table)
        return self._rows[table]

    def nearest(self, of: str | Rows, among: str, k: int = 1, n_jobs: int | None = None) -> Nearest:
        """The nearest records of one table for every record of another; a table searched in itself leaves out self.

        Parameters
        ----------
        of : str or Rows
            The table that asks, or some rows of one (``space.rows(table, subset)``).
        among : str
            The table that is searched.
        k : int, default 1
            How many. For tables the largest k asked for so far is kept, so measures that ask alike share one search.
        n_jobs : int, optional
            Threads; no answer depends on it. Default: all.

        Returns
        -------
        Nearest

        Raises
        ------
        NotApplicable
            When there is no record to compare with.
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
        tree: Grown | None = None,
        self_join: bool = False,
        n_jobs: int | None = None,
    ) -> Nearest:
        """The nearest records for any two sets of rows of this space.

        Parameters
        ----------
        query, reference : Rows
            The rows that ask and those that are searched.
        k : int
            How many.
        tree : tuple, optional
            What ``grow(reference)`` gave. Default: it is grown here.
        self_join : bool, default False
            The two are the same set; each record leaves out itself.
        n_jobs : int, optional
            Threads; no answer depends on it. Default: all.

        Returns
        -------
        Nearest

        Raises
        ------
        NotApplicable
            When there is no record to compare with.
        """
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

    def count_within(self, of: str, among: str, radius: float | Floats, n_jobs: int | None = None) -> Ints:
        """How many records of a table lie within a radius; a table searched in itself leaves out self.

        Parameters
        ----------
        of, among : str
            The table that asks, and the one that is searched.
        radius : float or array of float
            One number, or one per record of ``of``.
        n_jobs : int, optional
            Threads; no answer depends on it. Default: all.

        Returns
        -------
        array of int
            One per record of ``of``.
        """
        count, _ = self._within(self.rows(of), self._tree(among), radius, of == among, n_jobs)
        return np.asarray(count[self.rows(of).inverse])

    def count_rows_within(self, query: Rows, among: str, radius: float | Floats, n_jobs: int | None = None) -> Ints:
        """``count_within`` for some rows of a table; nothing is left out.

        Parameters
        ----------
        query : Rows
            The rows that ask.
        among : str
            The table that is searched.
        radius : float or array of float
            One number, or one per record of ``query``.
        n_jobs : int, optional
            Threads. Default: all.

        Returns
        -------
        array of int
        """
        count, _ = self._within(query, self._tree(among), radius, False, n_jobs)
        return np.asarray(count[query.inverse])

    def count_between(self, query: Rows, reference: Rows, radius: float | Floats, n_jobs: int | None = None) -> Ints:
        """``count_within`` for any two different sets of rows of this space.

        Parameters
        ----------
        query, reference : Rows
            The rows that ask and those that are searched.
        radius : float or array of float
            One number, or one per record of ``query``.
        n_jobs : int, optional
            Threads. Default: all.

        Returns
        -------
        array of int
        """
        count, _ = self._within(query, self.grow(reference), radius, False, n_jobs)
        return np.asarray(count[query.inverse])

    def tied(self, of: str | Rows, among: str, radius: Floats, n_jobs: int | None = None) -> Tied:
        """The distinct records within a radius of each distinct record (self not left out).

        Parameters
        ----------
        of : str or Rows
            The table that asks, or some rows of one.
        among : str
            The table that is searched.
        radius : array of float
            One number per record of ``of``; equal records must carry equal radii.
        n_jobs : int, optional
            Threads. Default: all.

        Returns
        -------
        Tied
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
        tree: Grown,
        radius: float | Floats,
        self_join: bool,
        n_jobs: int | None,
        offsets: Ints | None = None,
        found: Ints | None = None,
    ) -> tuple[Ints, Ints]:
        """Records and distinct records within the radius of each distinct query; listed where there is room for it."""
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

    def _tree(self, table: str) -> Grown:
        """The search tree of a table, grown once."""
        if table not in self._trees:
            self._trees[table] = self.grow(self.rows(table))
        return self._trees[table]

    def grow(self, reference: Rows) -> Grown:
        """The search tree of some rows, for ``search(..., tree=)``; tables keep theirs.

        Parameters
        ----------
        reference : Rows
            The rows to be searched.

        Returns
        -------
        (tree, position) : tuple
            The tree, and the position in it of every distinct row.

        Raises
        ------
        NotApplicable
            When there is no row.
        """
        from glasshouse.engines.neighbours.growing import grown

        return grown(self.encoded, reference)


def _own_positions(query: Rows, position: Ints, self_join: bool) -> Ints:
    """Where each query itself sits in the tree, or -1."""
    return position if self_join else np.full(query.size, -1, np.int32)


def _per_query(radius: float | Floats, query: Rows) -> Floats:
    """One radius per distinct query."""
    if np.ndim(radius) == 0:
        return np.full(query.size, float(radius))
    return np.ascontiguousarray(np.asarray(radius, float)[query.firsts])
