"""Exact nearest records in Gower space. Nobody else in the house computes distances between records.

Gower's distance (Gower 1971) between records a and b over columns v with weights w_v summing to one:

    d(a, b) = sum_v w_v s_v(a, b),   s_v = |a_v - b_v| / R_v for numbers, 0 or 1 for categories

with R_v the range over original, holdout and release together, so that every distance of a pair is on one scale.
Four rules for missing values: ``level`` (missing is a value of its own), ``ignore`` (the column drops out of that
comparison; no shared column means d = 1), ``match`` (contributes 0), ``mismatch`` (contributes 1).

    space = gower_space(pair)                         # gower.py: once per pair and choice of columns
    near = space.nearest("released", "original", k=2)
    near.distance                                     # (n, 2), every copy of a record counts
    space.count_within("original", "released", 0.05)  # records within a radius, per original record

The reference side is never thinned. Records equal in every column are searched once and counted as often as they
occur. ``TOL`` decides equality of distances.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from glasshouse.core.errors import NotApplicable
from glasshouse.data.arrays import Floats, Ints
from glasshouse.engines.neighbours.answers import Nearest, Tied, sorted_lists
from glasshouse.engines.neighbours.encoding import RULES, TOL, Encoded, Rows
from glasshouse.engines.workers import threads

if TYPE_CHECKING:
    from glasshouse.engines.neighbours.backend import Searchable
    from glasshouse.engines.neighbours.crowds import Crowds


__all__ = ["RULES", "TOL", "Nearest", "Space", "Tied", "threads"]

SPARE = 3  # ties looked for beside the k-th nearest record: only who has more of them is asked again


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
        self._ready: dict[str, Searchable] = {}
        self._asking: dict[tuple[str, bytes], Rows] = {}
        self._nearest: dict[tuple[str | int, str], Nearest] = {}
        self._besides: dict[tuple[str, bytes, int], Nearest] = {}

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

    def asking(self, table: str, some: Ints | None) -> str | Rows:
        """Who asks, for :meth:`nearest`: measures that ask about the same records share one search.

        Parameters
        ----------
        table : str
            "original", "released" or "holdout".
        some : array of int or None
            Some of its records; None for all.

        Returns
        -------
        str or Rows
            The table, or its records asked about, which are kept.
        """
        if some is None:
            return table
        key = table, some.tobytes()
        if key not in self._asking:
            self._asking[key] = self.rows(table, some)
        return self._asking[key]

    def nearest(self, of: str | Rows, among: str, k: int = 1, n_jobs: int | None = None) -> Nearest:
        """The nearest records of one table for every record of another; a table searched in itself leaves out self.

        Parameters
        ----------
        of : str or Rows
            The table that asks, or some rows of one (``space.asking(table, some)``, or ``space.rows`` for a search
            that is not kept).
        among : str
            The table that is searched.
        k : int, default 1
            How many. The largest k asked for so far is kept, so measures that ask alike share one search.
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
        query = self.rows(of) if isinstance(of, str) else of
        key = of if isinstance(of, str) else id(of), among
        kept = self._nearest.get(key)
        if kept is None or kept.distance.shape[1] < k:
            ready = self._prepared(among)
            kept = self.search(query, self.rows(among), k, ready=ready, self_join=of == among, n_jobs=n_jobs)
            if isinstance(of, str) or any(of is rows for rows in self._asking.values()):
                self._nearest[key] = kept
        return kept.first(k)

    def search(
        self,
        query: Rows,
        reference: Rows,
        k: int,
        *,
        ready: Searchable | None = None,
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
        ready : Searchable, optional
            What ``prepare(reference)`` gave. Default: it is made here.
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
        if reference.n - self_join < 1:
            raise NotApplicable(
                "there is no record to compare with: a table is empty, or holds one record and is searched in itself"
            )
        ready = self.prepare(reference) if ready is None else ready
        with threads(n_jobs, query.size):
            distinct, row = ready.nearest(query, k, self_join)
        copies = np.where(row >= 0, reference.counts[row], 0)
        if self_join:
            copies -= row == np.arange(query.size)[:, None]
        distance, back = _counted(distinct, copies, k), query.inverse
        own = (reference.inverse, query.ranks) if self_join else (None, None)
        return Nearest(distance[back], distinct[back], row[back], copies[back], reference, *own)

    def nearest_besides(self, table: str, some: Ints, k: int = 1, n_jobs: int | None = None) -> Nearest:
        """The nearest other records of a table for some of its own: each leaves out itself.

        Parameters
        ----------
        table : str
            The table that asks and is searched.
        some : array of int
            The records that ask.
        k : int, default 1
            How many.
        n_jobs : int, optional
            Threads; no answer depends on it. Default: all.

        Returns
        -------
        Nearest
            ``distinct``, ``row`` and ``copies`` hold one column more, for the record itself.
        """
        key = table, some.tobytes(), k
        if key not in self._besides:
            self._besides[key] = self._searched_besides(table, some, k, n_jobs)
        return self._besides[key]

    def _searched_besides(self, table: str, some: Ints, k: int, n_jobs: int | None) -> Nearest:
        query, reference = self.rows(table, some), self.rows(table)
        itself = reference.inverse[some]
        with threads(n_jobs, query.size):
            distinct, row = self._prepared(table).nearest(query, k + 1, False)
        copies = np.where(row >= 0, reference.counts[row], 0) - (row == itself[query.firsts][:, None])
        distance, back = _counted(distinct, copies, k), query.inverse
        return Nearest(
            distance[back], distinct[back], row[back], copies[back], reference, itself, reference.ranks[some]
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
        return _within(self.rows(of), self._prepared(among), radius, of == among, n_jobs)

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
        return _within(query, self._prepared(among), radius, False, n_jobs)

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
        return _within(query, self.prepare(reference), radius, False, n_jobs)

    def tied_beyond(self, near: Nearest, query: Rows, among: str, radius: Floats, n_jobs: int | None = None) -> Tied:
        """The distinct records within a radius of each distinct record, where a search has been done: only who has more
        of them than it found is asked again.

        Parameters
        ----------
        near : Nearest
            The nearest records of the rows that ask.
        query : Rows
            Those rows.
        among : str
            The table that was searched.
        radius : array of float
            One number per record that asks; equal records must carry equal radii.
        n_jobs : int, optional
            Threads. Default: all.

        Returns
        -------
        Tied
        """
        reference, limit = self.rows(among), _per_query(radius, query)
        owner, found, more = _found(near, query, reference, limit)
        if len(more):
            with threads(n_jobs, len(more)):
                offsets, others = self._prepared(among).listed(query.some(more), limit[more])
            owner = np.concatenate([owner, np.repeat(more, np.diff(offsets))])
            found = np.concatenate([found, others])
        return Tied(*_lists(owner, found, query, reference), query, reference)

    def tied_in_crowds(
        self, near: Nearest, query: Rows, among: str, radius: Floats, n_jobs: int | None = None
    ) -> Crowds:
        """``tied_beyond`` where very many may be tied: what many queries share is listed once.

        Parameters
        ----------
        near : Nearest
            The nearest records of the rows that ask.
        query : Rows
            Those rows.
        among : str
            The table that was searched.
        radius : array of float
            One number per record that asks; equal records must carry equal radii.
        n_jobs : int, optional
            Threads. Default: all.

        Returns
        -------
        Crowds
        """
        from glasshouse.engines.neighbours.crowds import Crowds, listed_in_crowds

        reference, limit = self.rows(among), _per_query(radius, query)
        owner, found, more = _found(near, query, reference, limit)
        crowd = np.zeros(query.size, np.int64)
        if not len(more):
            nobody = np.zeros(2, np.int64), np.empty(0, np.int64)
            return Crowds(*_lists(owner, found, query, reference), crowd, *nobody)
        with threads(n_jobs, len(more)):
            asked = query.some(more), limit[more]
            shared = listed_in_crowds(self.encoded, reference, self._prepared(among), *asked)
        crowd[more] = shared.crowd
        owner = np.concatenate([owner, np.repeat(more, np.diff(shared.offsets))])
        own = _lists(owner, np.concatenate([found, shared.row]), query, reference)
        return Crowds(*own, crowd, shared.crowd_offsets, shared.crowd_row)

    def _prepared(self, table: str) -> Searchable:
        """A table made ready for searching, once."""
        if table not in self._ready:
            self._ready[table] = self.prepare(self.rows(table))
        return self._ready[table]

    def prepare(self, reference: Rows) -> Searchable:
        """Some rows made ready for searching, for ``search(..., ready=)``; tables keep theirs.

        Parameters
        ----------
        reference : Rows
            The rows to be searched.

        Returns
        -------
        Searchable

        Raises
        ------
        NotApplicable
            When there is no row.
        """
        from glasshouse.engines.neighbours.ready import Ready

        return Ready(self.encoded, reference)


def _found(near: Nearest, query: Rows, reference: Rows, limit: Floats) -> tuple[Ints, Ints, Ints]:
    """Who of the nearest ones found is within a radius: the distinct query and the distinct row; and which queries may
    have more of them than were looked for, of whom nobody is told.
    """
    row = near.row[query.firsts]
    inside = (row >= 0) & (near.distinct[query.firsts] <= limit[:, None] + TOL)
    more = np.flatnonzero(inside[:, -1]) if row.shape[1] < reference.size else np.empty(0, np.int64)
    inside[more] = False
    return np.nonzero(inside)[0], row[inside], more


def _lists(owner: Ints, row: Ints, query: Rows, reference: Rows) -> tuple[Ints, Ints]:
    """Where the list of each distinct query begins, and the rows of all of them, ascending inside each."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=query.size))]).astype(np.int64)
    return offsets, sorted_lists(offsets, row[np.argsort(owner, kind="stable")], reference.size)


def _counted(distinct: Floats, copies: Ints, k: int) -> Floats:
    """Distances to the k nearest records, of which some are equal to each other."""
    upto = np.cumsum(copies, axis=1)
    distance = np.full((len(distinct), k), np.inf)
    for j in range(k):
        slot = np.minimum((upto <= j).sum(axis=1), distinct.shape[1] - 1)
        distance[:, j] = np.where(upto[:, -1] > j, distinct[np.arange(len(distinct)), slot], np.inf)
    return distance


def _within(query: Rows, ready: Searchable, radius: float | Floats, self_join: bool, n_jobs: int | None) -> Ints:
    """Records within the radius of each record that asks."""
    with threads(n_jobs, query.size):
        count = ready.within(query, _per_query(radius, query), self_join)
    return np.asarray(count[query.inverse])


def _per_query(radius: float | Floats, query: Rows) -> Floats:
    """One radius per distinct query."""
    if np.ndim(radius) == 0:
        return np.full(query.size, float(radius))
    return np.ascontiguousarray(np.asarray(radius, float)[query.firsts])
