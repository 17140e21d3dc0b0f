"""The compiled loop of agreement weighed by rarity: the two released records that agree most with each person.

A few people meet a block of released records at once, column by column, in vector registers: an upper limit of the
agreement is enough to leave nearly everybody out, and only who could be among the two best is added up exactly.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from glasshouse.data.arrays import Bools, Floats, Ints
from glasshouse.engines.compiled import njit

TILE = 16  # people who share a block of released records
BLOCK = 256  # released records of a block: with all columns they fit the first cache
SLACK = np.float32(1e-3)  # more than the float32 sums can be wrong by


@njit(nogil=True)
def _limits(
    person: Ints,
    shared: Ints,
    columns: Ints,
    start: int,
    end: int,
    ranked: Bools,
    table: Floats,
    near: npt.NDArray[np.float32],
    bits: npt.NDArray[np.int32],
    limits: npt.NDArray[np.float32],
) -> None:
    """Upper limits of the agreement of a person with the released records ``start:end``.

    ``bits`` are those of ``near``: exponent and mantissa of a float, read as one number, are its logarithm to base 2
    with straight lines between powers of 2, which run below it.
    """
    size = end - start
    zero = np.float32(0.0)
    whole = np.float32(np.log(table.shape[0]) + 127.0 * np.log(2.0))
    step = np.float32(np.log(2.0) / 2.0**23)
    for i in range(size):
        limits[i] = SLACK
    for c in range(columns.shape[0]):
        own = person[c]
        released = columns[c, start:end]
        if ranked[c]:
            ties = shared[c]
            for i in range(size):
                near[i] = np.float32(abs(own - released[i]) + ties)
            for i in range(size):
                limits[i] += max(whole - step * np.float32(bits[i]), zero)
        else:
            weight = np.float32(table[shared[c] - 1])
            for i in range(size):
                limits[i] += weight if released[i] == own else zero


@njit(nogil=True)
def _agreement(person: Ints, shared: Ints, columns: Ints, at: int, ranked: Bools, table: Floats) -> float:
    """The agreement of a person with a released record.

    Ranks are doubled, so the number of real values at least as near as the released one is about the difference of the
    ranks plus the person's own ties.
    """
    total = 0.0
    for c in range(columns.shape[0]):
        if ranked[c]:
            near = abs(person[c] - columns[c, at]) + shared[c]
            if near < table.shape[0]:
                total += table[near - 1]
        elif person[c] == columns[c, at]:
            total += table[shared[c] - 1]
    return total


@njit(nogil=True)
def two_best(people: Ints, shared: Ints, columns: Ints, ranked: Bools, table: Floats) -> tuple[Floats, Floats, Ints]:
    """Best and second best agreement per person, and the row of the best.

    ``people`` and ``shared`` are [people, columns], ``columns`` [columns, released], all of 32 bits; ``table[k - 1]``
    is the weight of an agreement that k real people share.
    """
    n = people.shape[0]
    m = columns.shape[1]
    best = np.full(n, -1.0)
    second = np.full(n, -1.0)
    row = np.zeros(n, np.int64)
    for tile in range((n + TILE - 1) // TILE):
        near = np.empty(BLOCK, np.float32)
        bits = near.view(np.int32)
        limits = np.empty(BLOCK, np.float32)
        for start in range(0, m, BLOCK):
            end = min(start + BLOCK, m)
            for j in range(tile * TILE, min(n, (tile + 1) * TILE)):
                _limits(people[j], shared[j], columns, start, end, ranked, table, near, bits, limits)
                cut = np.float32(second[j])
                possible = 0
                for i in range(end - start):
                    possible += limits[i] > cut
                if possible == 0:
                    continue
                for i in range(end - start):
                    if limits[i] <= cut:
                        continue
                    total = _agreement(people[j], shared[j], columns, start + i, ranked, table)
                    if total > best[j]:
                        second[j] = best[j]
                        best[j] = total
                        row[j] = start + i
                    elif total > second[j]:
                        second[j] = total
                    cut = np.float32(second[j])
    return best, np.maximum(second, 0.0), row
