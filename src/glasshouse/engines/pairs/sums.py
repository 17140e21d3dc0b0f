"""Sums and the median of Euclidean distances over all pairs of a table's records: exact, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeVar

import numpy as np

from glasshouse.data.arrays import Floats, Ints
from glasshouse.engines.workers import in_threads

ROOM = 4096  # numbers of a block: with its sums they fit the first cache
SEEN = 1_000_000  # random pairs that say about where the median is
CELLS = 4096
T = TypeVar("T")


def distance_sums(points: Floats, first: Floats, second: Floats) -> tuple[float, float, float]:
    """Sums over ordered pairs of records of the distance times a product of weights.

    Parameters
    ----------
    points : array of float
        [records, columns], without missing values. Equal records are best given once, with their weights added up.
    first, second : array of float
        Two weights of each record, such as how often it occurs in either of two tables.

    Returns
    -------
    (inside first, inside second, between) : tuple of float
        sum of first_i first_j d_ij, of second_i second_j d_ij, and of first_i second_j d_ij, over all i and j.
    """
    from glasshouse.engines.pairs.sums_kernel import weighted_distances

    points = np.ascontiguousarray(points, float)
    first, second = (np.ascontiguousarray(w, float) for w in (first, second))

    def block(start: int, end: int, columns: Floats) -> tuple[float, float, float]:
        own, other = first[start:end], second[start:end]
        squares, before, among = np.empty(end - start), np.zeros((2, end - start)), np.zeros((2, end - start))
        weighted_distances(points[:start], first[:start], second[:start], columns, squares, before)
        weighted_distances(points[start:end], own, other, columns, squares, among)
        twice = 2 * before + among  # a pair with an earlier record counts in both orders
        across = before[0] @ other + before[1] @ own + among[0] @ other
        return float(twice[0] @ own), float(twice[1] @ other), float(across)

    parts = _by_block(points, block)
    inside, others, between = (float(np.sum(column)) for column in zip(*parts, strict=True))
    return inside, others, between


def median_distance(points: Floats, rng: np.random.Generator) -> float:
    """Median of the distances of all pairs of different records.

    Parameters
    ----------
    points : array of float
        [records, columns], without missing values; at least two records.
    rng : Generator
        Draws the pairs that say about where to look; the answer does not depend on it.

    Returns
    -------
    float

    Notes
    -----
    A million random pairs bracket the median. Each pass over all pairs counts those below the bracket and those in
    each of 4,096 cells of it, and the cell with the middle one is the next bracket, until so few are left that they can
    be listed, or all that are left agree in 13 digits.
    """
    points = np.ascontiguousarray(points, float)
    total = len(points) * (len(points) - 1) // 2
    drawn = np.sort(sampled_distances(points, rng) ** 2)
    slack = 5 * 0.5 / np.sqrt(len(drawn))  # five standard errors of a share of one half
    guess = float(np.quantile(drawn, 0.5 - slack)), float(np.quantile(drawn, 0.5 + slack))
    most = float(((points.max(axis=0) - points.min(axis=0)) ** 2).sum()) * (1 + 1e-9)

    @cache
    def counted(low: float, high: float) -> tuple[int, Ints, Floats | None]:
        return _counted(points, low, high)

    def at_rank(rank: int) -> float:
        low, high = guess
        below, cells, listed = counted(low, high)
        if not below <= rank < below + cells.sum():
            low, high = 0.0, most
            below, cells, listed = counted(low, high)
        while listed is None and high - low > 1e-13 * high:
            cell = int(np.searchsorted(below + np.cumsum(cells), rank, side="right"))
            step = (high - low) / CELLS
            # one cell more on either side: what lies on a border may be counted in either
            low, high = max(low + (cell - 1) * step, 0.0), low + (cell + 2) * step
            below, cells, listed = counted(low, high)
        return float(np.sqrt(0.5 * (low + high) if listed is None else listed[rank - below]))

    return 0.5 * (at_rank((total - 1) // 2) + at_rank(total // 2))


def sampled_distances(points: Floats, rng: np.random.Generator) -> Floats:
    """Distances of random pairs of different records.

    Parameters
    ----------
    points : array of float
        [records, columns].
    rng : Generator
        Draws them.

    Returns
    -------
    array of float
        About a million.
    """
    first, second = rng.integers(0, len(points), (2, SEEN))
    apart = first != second
    return np.asarray(np.sqrt(((points[first[apart]] - points[second[apart]]) ** 2).sum(axis=1)))


def _counted(points: Floats, low: float, high: float) -> tuple[int, Ints, Floats | None]:
    """Pairs with a squared distance below ``low``, those in each cell from there to ``high``, and, where they are few,
    their squares in order.
    """
    from glasshouse.engines.pairs.sums_kernel import count_between

    def block(start: int, end: int, columns: Floats) -> tuple[int, Ints, Floats]:
        squares, cells, found = np.empty(end - start), np.zeros(CELLS, np.int64), np.empty(CELLS)
        room = columns, squares, low, high, cells, found
        before, inside = count_between(points[:start], *room, 0, False)
        among, inside = count_between(points[start:end], *room, inside, True)
        return before + among, cells, found[:inside].copy()

    parts = _by_block(points, block)
    cells = np.sum([part[1] for part in parts], axis=0)
    few = np.sort(np.concatenate([part[2] for part in parts])) if cells.sum() <= CELLS else None
    return sum(part[0] for part in parts), cells, few


def _by_block(points: Floats, work: Callable[[int, int, Floats], T]) -> list[T]:
    """Blocks of records one after the other, each with its columns; the last ones, which cost most, are begun first."""
    size = max(16, min(256, ROOM // points.shape[1]))
    by_column = np.ascontiguousarray(points.T)

    def one(start: int) -> T:
        end = min(start + size, len(points))
        return work(start, end, np.ascontiguousarray(by_column[:, start:end]))

    return in_threads(one, list(range(0, len(points), size))[::-1])
