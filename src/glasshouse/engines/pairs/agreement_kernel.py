"""The compiled loop of agreement weighed by rarity: the two released records that agree most with each person."""

from __future__ import annotations

import numpy as np

from glasshouse.data.arrays import Bools, Floats, Ints
from glasshouse.engines.compiled import njit, prange


@njit(parallel=True)
def two_best(people: Ints, shared: Ints, released: Ints, ranked: Bools, table: Floats) -> tuple[Floats, Floats, Ints]:
    """Best and second best agreement per person, and the row of the best.

    ``table[k - 1]`` is the weight of an agreement that k real people share. Ranks are doubled, so the number of real
    values at least as near as the released one is about the difference of the ranks plus the person's own ties.
    """
    n, p = people.shape
    m = released.shape[0]
    most = table.shape[0]
    best = np.zeros(n)
    second = np.zeros(n)
    row = np.zeros(n, np.int64)
    for j in prange(n):
        first, other, at = -1.0, -1.0, 0
        for i in range(m):
            total = 0.0
            for c in range(p):
                if ranked[c]:
                    near = abs(people[j, c] - released[i, c]) + shared[j, c]
                    if near < most:
                        total += table[near - 1]
                elif people[j, c] == released[i, c]:
                    total += table[shared[j, c] - 1]
            if total > first:
                other = first
                first = total
                at = i
            elif total > other:
                other = total
        best[j] = first
        second[j] = max(other, 0.0)
        row[j] = at
    return best, second, row
