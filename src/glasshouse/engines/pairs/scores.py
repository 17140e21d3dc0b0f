"""Scores of all pairs of two tables, a block of queries at a time: never more than ``BLOCK`` pairs in memory.

A ``Scores`` object knows the two sides and gives ``block(rows)``: the scores of some queries against every record of
the searched side, smaller meaning more alike. Record linkage reads what it needs off each block and forgets it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np

from glasshouse.data.arrays import Bools, Floats, Ints
from glasshouse.engines.workers import in_threads, threads

BLOCK = 4_000_000
PART = 16  # queries that share a block of records
PATTERNS = 1 << 16  # agreement patterns whose scores are kept at once: they fit the second cache
RULES = ("level", "mismatch", "match", "ignore")


class Scores(Protocol):
    """Two sides and a score for every pair, smaller meaning more alike."""

    @property
    def likelihood(self) -> bool:
        """Whether scores are minus a log likelihood (ratio), so that softmax at temperature one is a posterior."""
        ...

    @property
    def shape(self) -> tuple[int, int]:
        """Records of the two sides."""
        ...

    def block(self, rows: Ints) -> Floats:
        """Scores of some queries against the whole searched side.

        Parameters
        ----------
        rows : array of int
            Positions of the queries.

        Returns
        -------
        array of float
            [queries, searched]
        """
        ...

    def select(self, rows: Ints, columns: Ints) -> Scores:
        """The same score on some records of either side.

        Parameters
        ----------
        rows, columns : array of int
            Positions on the asking and on the searched side.

        Returns
        -------
        Scores
        """
        ...

    def swap(self) -> Scores:
        """The same score with the sides exchanged.

        Returns
        -------
        Scores
        """
        ...


def blocks(scores: Scores) -> Iterator[tuple[Ints, Floats]]:
    """Queries and their scores against the whole searched side, in order.

    Parameters
    ----------
    scores : Scores
        The two sides.

    Yields
    ------
    (rows, block) : tuple of arrays
        Positions of the queries, and [queries, searched] scores; never more than ``BLOCK`` of them.
    """
    n, m = scores.shape
    step = max(1, BLOCK // max(m, 1))
    for start in range(0, n, step):
        rows = np.arange(start, min(n, start + step))
        yield rows, scores.block(rows)


def dense(scores: Scores) -> Floats:
    """The whole matrix; callers keep to a stated size.

    Parameters
    ----------
    scores : Scores
        The two sides.

    Returns
    -------
    array of float
    """
    return np.concatenate([part for _, part in blocks(scores)]) if scores.shape[0] else np.empty(scores.shape)


@dataclass(frozen=True)
class Mixed(Scores):
    """Weighted mean of differences of numbers and of unequal codes.

    Parameters
    ----------
    numbers : (array of float, array of float)
        Either side's numbers, already on the scale wanted; NaN missing.
    codes : (array of int, array of int)
        Either side's codes; negative missing.
    weights : array of float
        One per column, numbers first.
    rule : int
        Position of the missing-value rule in ``RULES``.
    n_jobs : int, optional
        Threads. Default: all.
    likelihood : bool, default False
        See :class:`Scores`.
    """

    numbers: tuple[Floats, Floats]
    codes: tuple[Ints, Ints]
    weights: Floats
    rule: int
    n_jobs: int | None = None
    likelihood: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.numbers[0]), len(self.numbers[1])

    def block(self, rows: Ints) -> Floats:
        from glasshouse.engines.pairs.kernel import mixed

        numbers, codes = self.numbers[0][rows], self.codes[0][rows]
        columns = np.ascontiguousarray(self.numbers[1].T), np.ascontiguousarray(self.codes[1].T)

        def part(at: slice, out: Floats) -> None:
            mixed(numbers[at], codes[at], *columns, self.weights, self.rule, out)

        return _filled(part, (len(rows), self.shape[1]), self.n_jobs)

    def select(self, rows: Ints, columns: Ints) -> Mixed:
        return replace(self, numbers=_cut(self.numbers, rows, columns), codes=_cut(self.codes, rows, columns))

    def swap(self) -> Mixed:
        return replace(self, numbers=self.numbers[::-1], codes=self.codes[::-1])

    def contributions(self, true: Ints) -> Floats:
        """Where the masking separates people from their rows: mean weighted difference of each column, true pairs.

        Parameters
        ----------
        true : array of int
            Position of each query's true match, or -1.

        Returns
        -------
        array of float
            One per column.
        """
        known = np.flatnonzero(true >= 0)
        mine, theirs = known, true[known]
        gaps = [np.abs(self.numbers[0][mine, v] - self.numbers[1][theirs, v]) for v in range(self.numbers[0].shape[1])]
        gaps += [
            (self.codes[0][mine, v] != self.codes[1][theirs, v]).astype(float) for v in range(self.codes[0].shape[1])
        ]
        means = [float(np.nanmean(g)) if len(g) and not np.isnan(g).all() else 0.0 for g in gaps]
        return np.array(means) * self.weights / self.weights.sum()


@dataclass(frozen=True)
class Agreement(Scores):
    """Minus the log likelihood ratio of agreement levels, column by column (Fellegi & Sunter 1969).

    Parameters
    ----------
    values : (array of float, array of float)
        Either side's numbers and codes as floats; NaN missing.
    is_code : array of bool
        Which columns are codes.
    cuts : array of float
        [columns, levels]: the largest difference of each level.
    n_cuts : array of int
        Levels of each column.
    table : array of float
        [columns, levels + 2]: log likelihood ratio of each level.
    rule : int
        Position of the missing-value rule in ``RULES``.
    n_jobs : int, optional
        Threads. Default: all.
    likelihood : bool, default True
        See :class:`Scores`.
    """

    values: tuple[Floats, Floats]
    is_code: Bools
    cuts: Floats
    n_cuts: Ints
    table: Floats
    rule: int
    n_jobs: int | None = None
    likelihood: bool = True

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.values[0]), len(self.values[1])

    def block(self, rows: Ints) -> Floats:
        from glasshouse.engines.pairs.kernel import pattern_scores

        values, columns = self.values[0][rows], np.ascontiguousarray(self.values[1].T)
        fixed = self.is_code, self.cuts, self.n_cuts, *self._tables, self.rule

        def part(at: slice, out: Floats) -> None:
            pattern_scores(values[at], columns, *fixed, out)

        return _filled(part, (len(rows), self.shape[1]), self.n_jobs)

    @cached_property
    def _tables(self) -> tuple[Ints, Ints, Floats]:
        """Columns in groups of few enough patterns, and minus the log likelihood ratio of each group's patterns."""
        groups, tables = [0], [np.zeros(1)]
        for v, n_cuts in enumerate(self.n_cuts):
            levels = -self.table[v, : n_cuts + 2]
            if len(tables[-1]) * len(levels) > PATTERNS:
                groups.append(v)
                tables.append(np.zeros(1))
            tables[-1] = (tables[-1][:, None] + levels).reshape(-1)
        starts = np.cumsum([0, *(len(t) for t in tables[:-1])])
        return np.array([*groups, len(self.n_cuts)]), starts, np.concatenate(tables)

    def select(self, rows: Ints, columns: Ints) -> Agreement:
        return replace(self, values=_cut(self.values, rows, columns))

    def swap(self) -> Agreement:
        return replace(self, values=self.values[::-1])


@dataclass(frozen=True)
class Transition(Scores):
    """Minus the log probability that the first side's codes became the second side's, by one matrix per column.

    Parameters
    ----------
    codes : (array of int, array of int)
        Either side's codes; records equal in every code are computed once.
    logs : tuple of arrays of float
        Per column, log probability [from, to].
    forward : bool, default True
        False reads the matrices the other way.
    likelihood : bool, default True
        See :class:`Scores`.
    """

    codes: tuple[Ints, Ints]
    logs: tuple[Floats, ...]
    forward: bool = True
    likelihood: bool = True

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.codes[0]), len(self.codes[1])

    def block(self, rows: Ints) -> Floats:
        mine, of_mine = np.unique(self.codes[0][rows], axis=0, return_inverse=True)
        theirs, of_theirs = np.unique(self.codes[1], axis=0, return_inverse=True)
        total = np.zeros((len(mine), len(theirs)))
        for v, log in enumerate(self.logs):
            matrix = log if self.forward else log.T
            total += matrix[np.ix_(mine[:, v], theirs[:, v])]
        return np.ascontiguousarray(-total[of_mine.reshape(-1)][:, of_theirs.reshape(-1)])

    def select(self, rows: Ints, columns: Ints) -> Transition:
        return replace(self, codes=_cut(self.codes, rows, columns))

    def swap(self) -> Transition:
        return replace(self, codes=self.codes[::-1], forward=not self.forward)


@dataclass(frozen=True)
class Euclidean(Scores):
    """Euclidean distance of whitened numbers, per pattern of missing values, joined with a share of unequal codes.

    Parameters
    ----------
    numbers : (array of float, array of float)
        Either side's numbers; NaN missing.
    codes : Mixed or None
        Score of the codes; None where there are none.
    part : float
        Weight of the numeric side; distances are clipped at 1 when there are codes.
    whiten : callable
        Of a mask of columns present: the factor that turns their differences into Mahalanobis distances, and the scale
        they are divided by.
    likelihood : bool, default False
        See :class:`Scores`.
    """

    numbers: tuple[Floats, Floats]
    codes: Mixed | None
    part: float
    whiten: Callable[[Bools], tuple[Floats, float]]
    likelihood: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.numbers[0]), len(self.numbers[1])

    def block(self, rows: Ints) -> Floats:
        from scipy.spatial.distance import cdist

        mine, theirs = self.numbers[0][rows], self.numbers[1]
        out = np.full((len(rows), len(theirs)), 1.0)
        patterns_mine, of_mine = np.unique(~np.isnan(mine), axis=0, return_inverse=True)
        patterns_theirs, of_theirs = np.unique(~np.isnan(theirs), axis=0, return_inverse=True)
        of_mine, of_theirs = of_mine.reshape(-1), of_theirs.reshape(-1)
        for a, left in enumerate(patterns_mine):
            for b, right in enumerate(patterns_theirs):
                present = left & right
                if not present.any():
                    continue
                factor, scale = self.whiten(present)
                i, j = np.flatnonzero(of_mine == a), np.flatnonzero(of_theirs == b)
                distance = cdist(mine[i][:, present] @ factor, theirs[j][:, present] @ factor) / scale
                out[np.ix_(i, j)] = distance
        if self.codes is None:
            return out
        return self.part * np.minimum(out, 1.0) + (1 - self.part) * self.codes.block(rows)

    def select(self, rows: Ints, columns: Ints) -> Euclidean:
        codes = None if self.codes is None else self.codes.select(rows, columns)
        return replace(self, numbers=_cut(self.numbers, rows, columns), codes=codes)

    def swap(self) -> Euclidean:
        return replace(self, numbers=self.numbers[::-1], codes=None if self.codes is None else self.codes.swap())


def _filled(part: Callable[[slice, Floats], None], shape: tuple[int, int], n_jobs: int | None) -> Floats:
    """Scores of a block, written by some queries at a time."""
    out = np.empty(shape)
    with threads(n_jobs):
        in_threads(lambda i: part(slice(i, i + PART), out[i : i + PART]), list(range(0, shape[0], PART)))
    return out


Side = TypeVar("Side", Floats, Ints)


def _cut(sides: tuple[Side, Side], rows: Ints, columns: Ints) -> tuple[Side, Side]:
    """Some records of either side."""
    return np.ascontiguousarray(sides[0][rows]), np.ascontiguousarray(sides[1][columns])


def pattern_counts(
    sides: tuple[Floats, Floats], is_code: Bools, cuts: Floats, n_cuts: Ints, rule: int, size: int
) -> Ints:
    """How many pairs show each agreement pattern.

    Parameters
    ----------
    sides : (array of float, array of float)
        [records, columns], NaN missing.
    is_code : array of bool
        Which columns are codes.
    cuts : array of float
        [columns, levels]: the largest difference of each level.
    n_cuts : array of int
        Levels of each column.
    rule : int
        Position of the missing-value rule in ``RULES``.
    size : int
        Number of patterns; a pattern is the mixed-radix number of its levels.

    Returns
    -------
    array of int
    """
    from glasshouse.engines.pairs.kernel import pattern_counts

    columns = np.ascontiguousarray(sides[1].T)
    step = max(PART, -(-len(sides[0]) // 8))  # few parts: each has counts of its own

    def part(start: int) -> Ints:
        counts = np.zeros(size, np.int64)
        values = np.ascontiguousarray(sides[0][start : start + step])
        for at in range(0, len(values), PART):
            pattern_counts(values[at : at + PART], columns, is_code, cuts, n_cuts, rule, counts)
        return counts

    return np.sum(in_threads(part, list(range(0, len(sides[0]), step))), axis=0)
