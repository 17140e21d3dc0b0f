"""Rank swapping on plain arrays: which of the sorted values change places.

Moore (1996), Controlled data-swapping techniques for masking public use microdata sets.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from glasshouse.data.arrays import Floats, Ints


def sources(n: int, window: int, draws: Floats) -> Ints:
    """Place from which each place of a sorted column takes its value.

    Parameters
    ----------
    n : int
        How many values.
    window : int
        Most places that a value travels.
    draws : array
        n random numbers in [0, 1).

    Returns
    -------
    array of int
        A permutation in pairs. Of an odd number the one left over makes a ring of three with a pair that is near
        enough; where there is none it stays.

    Notes
    -----
    From place 0 on, each place not yet swapped takes one of the unswapped places at most ``window`` after it, all
    equally likely. Only places from j on reach j + window, so at most one place finds no partner.
    """
    from glasshouse.protection.kernels.swapping import swap

    found = np.arange(n)
    if n > 1 and window > 0:
        swap(window, draws, found, np.zeros(n + 1, np.int64))
    return found


def swapped(n: int, window: int, tail: int, draws: Floats) -> Ints:
    """The same with tails apart.

    Parameters
    ----------
    n : int
        How many values.
    window : int
        Most ranks that a value travels.
    tail : int
        So many values at either end swap among themselves only.
    draws : array
        A random number in [0, 1) per rank.

    Returns
    -------
    array of int
        The rank from which each rank takes its value; rank 0 is the highest value, by which people are known best.
    """
    edges = [0, tail, n - tail, n] if tail else [0, n]
    parts = [start + sources(stop - start, window, draws[start:stop]) for start, stop in pairwise(edges)]
    return np.concatenate(parts)


def correlation(x: Floats, y: Floats) -> float:
    """Pearson's correlation; 1 where nothing varies."""
    x, y = x - x.mean(), y - y.mean()
    size = float(np.sqrt(np.sum(x * x) * np.sum(y * y)))
    return float(np.sum(x * y)) / size if size > 0 else 1.0


def widest(reached: Callable[[int], float], most: int, least: float) -> int:
    """The widest window found that leaves a correlation of ``least``, by bisection; 0 where none does.

    Parameters
    ----------
    reached : callable
        The correlation that a window leaves, with the same draws for each.
    most : int
        The widest window allowed.
    least : float
        The correlation wanted.

    Returns
    -------
    int
        ``reached`` of it is at least ``least``. A correlation falls with the window on the whole, not at every step,
        so a slightly wider one may do as well.
    """
    if reached(most) >= least:
        return most
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if reached(middle) >= least else (low, middle)
    return low
