"""The compiled loop of optimal individual ranking: the cheapest way through the sorted values."""

from __future__ import annotations

import numpy as np

from glasshouse.engines.compiled import njit


@njit(nogil=True)
def shortest_path(ascending: np.ndarray, k: int, cost: np.ndarray, last: np.ndarray) -> None:
    """``cost[i]``: least squared deviation of the first i values; ``last[i]``: length of the run that ends there.

    The deviation of a run grows by one value at a time (Welford 1962): differences of running sums would lose it where
    values are large and close.
    """
    cost[0] = 0.0
    for i in range(k, len(ascending) + 1):
        mean = 0.0
        within = 0.0
        for length in range(1, min(2 * k - 1, i) + 1):
            step = ascending[i - length] - mean
            mean += step / length
            within += step * (ascending[i - length] - mean)
            if length >= k and cost[i - length] + within < cost[i]:
                cost[i] = cost[i - length] + within
                last[i] = length
