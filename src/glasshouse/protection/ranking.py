"""Individual ranking on plain arrays: one column alone, sorted, in groups of neighbours."""

from __future__ import annotations

import numpy as np

from glasshouse.data.arrays import Floats, Ints


def blocks(n: int, k: int) -> Ints:
    """Blocks of k in the order given, the remainder in the last one.

    Parameters
    ----------
    n : int
        How many values.
    k : int
        Size of a block; all n are one where they are fewer than 2k.

    Returns
    -------
    array of int
        The number of each place's block.
    """
    return np.minimum(np.arange(n) // k, max(n // k - 1, 0))


def ranked_groups(values: Floats, k: int, *, optimal: bool = True) -> Ints:
    """Groups of neighbours in the sorted column.

    Parameters
    ----------
    values : array
        The column, nothing missing.
    k : int
        Least size of a group.
    optimal : bool, default True
        Groups of k to 2k - 1 of the least total squared deviation; False: blocks of k.

    Returns
    -------
    array of int
        The number of each value's group. Equal values are sorted by row and may fall into neighbouring groups.

    References
    ----------
    Hansen & Mukherjee (2003), A polynomial algorithm for optimal univariate microaggregation.
    """
    order = np.argsort(values, kind="stable")
    group = np.empty(len(values), np.int64)
    group[order] = optimal_blocks(values[order], k) if optimal else blocks(len(values), k)
    return group


def optimal_blocks(ascending: Floats, k: int) -> Ints:
    """The cheapest cut of sorted values into runs of k to 2k - 1.

    Parameters
    ----------
    ascending : array
        Sorted values.
    k : int
        Least length of a run; fewer than 2k values are one run.

    Returns
    -------
    array of int
        The number of each place's run.
    """
    from glasshouse.protection.kernels.ranking import shortest_path

    n = len(ascending)
    if n < 2 * k:
        return np.zeros(n, np.int64)
    last = np.zeros(n + 1, np.int64)
    shortest_path(ascending, k, np.full(n + 1, np.inf), last)
    starts = np.zeros(n, np.int64)
    at = n
    while at > 0:  # one step per group
        at -= int(last[at])
        starts[at] = 1
    return np.cumsum(starts) - 1
