"""Compiled exact search without a tree, for records from which nothing can be skipped.

Where columns are independent and continuous, every box of the tree is near every record, and best-first search looks at
all of them one at a time. Here a few queries meet a block of records at once, column by column, so that the inner loop
runs in vector registers over records that stay in the first cache. What the float32 scan cannot exclude is computed
again by :func:`~glasshouse.engines.neighbours.kernel.exact`, so the answers are those of the tree.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from glasshouse.data.arrays import Floats, Ints
from glasshouse.engines.compiled import njit
from glasshouse.engines.neighbours.encoding import IGNORE, MATCH, MISMATCH, TOL
from glasshouse.engines.neighbours.kernel import Tree, exact, insert

TILE = 16  # queries that share a block of records
BLOCK = 256  # records of a block: with all columns they fit the first cache


def work_space() -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Room for one thread to scan in.

    Returns
    -------
    tuple of arrays
        Their content does not matter.
    """
    return np.empty(BLOCK, np.float32), np.empty(BLOCK, np.float32)


@njit(nogil=True, inner=True)
def _scan(
    tree: Tree,
    start: int,
    end: int,
    numbers: Floats,
    codes: Ints,
    rule: int,
    sums: npt.NDArray[np.float32],
    seen: npt.NDArray[np.float32],
) -> None:
    """float32 distances from a query to the records ``start:end``, into ``sums``."""
    size = end - start
    n_numbers = numbers.shape[0]
    zero = np.float32(0.0)
    for i in range(size):
        sums[i] = zero
        seen[i] = zero
    for v in range(n_numbers):
        w = np.float32(tree.weights[v])
        x = np.float32(numbers[v])
        column = tree.number_columns[v, start:end]
        if rule <= MISMATCH:  # present values are at most w apart, missing ones further: they count w
            for i in range(size):
                sums[i] += min(abs(x - column[i]), w)
        elif x <= np.float32(1.5) * w:
            reach = np.float32(1.5) * w
            for i in range(size):
                gap = abs(x - column[i])
                sums[i] += gap if gap <= reach else zero
            if rule == IGNORE:
                for i in range(size):
                    seen[i] += w if abs(x - column[i]) <= reach else zero
    for v in range(codes.shape[0]):
        w = np.float32(tree.weights[n_numbers + v])
        c = np.int32(codes[v])
        labels = tree.code_columns[v, start:end]
        if rule < MATCH:
            for i in range(size):
                sums[i] += w if labels[i] != c else zero
        elif c >= 0:
            for i in range(size):
                sums[i] += w if (labels[i] != c) & (labels[i] >= 0) else zero
                seen[i] += w if labels[i] >= 0 else zero
    if rule == IGNORE:
        for i in range(size):
            sums[i] = sums[i] / seen[i] if seen[i] > zero else np.float32(1.0)


@njit(nogil=True)
def nearest(
    tree: Tree,
    numbers: Floats,
    codes: Ints,
    own: Ints,
    rule: int,
    limit: Floats,
    distance: Floats,
    position: Ints,
    sums: npt.NDArray[np.float32],
    seen: npt.NDArray[np.float32],
    first: int,
    stop: int,
) -> None:
    """The nearest distinct records of the queries ``first:stop``, written as the search of the tree writes them.

    ``limit`` is what the distance of the last of them cannot exceed, or infinite.
    """
    k = distance.shape[1]
    slack = 2e-7 * (tree.weights.shape[0] + 4)
    for tile in range(first, stop, TILE):
        for start in range(0, tree.numbers.shape[0], BLOCK):
            end = min(start + BLOCK, tree.numbers.shape[0])
            for q in range(tile, min(stop, tile + TILE)):
                best = distance[q]
                _scan(tree, start, end, numbers[q], codes[q], rule, sums, seen)
                cut = np.float32(min(min(best[k - 1], limit[q]) + slack, 3.0))
                near = 0
                for i in range(end - start):
                    near += sums[i] <= cut
                if near == 0:
                    continue
                for i in range(end - start):
                    if sums[i] > cut:
                        continue
                    at = start + i
                    if at == own[q] and tree.copies[at] < 2:
                        continue
                    insert(tree.record, best, position[q], exact(tree, at, numbers[q], codes[q], rule), at)
                    cut = np.float32(min(min(best[k - 1], limit[q]) + slack, 3.0))


@njit(nogil=True)
def within(
    tree: Tree,
    numbers: Floats,
    codes: Ints,
    own: Ints,
    radius: Floats,
    rule: int,
    count: Ints,
    distinct: Ints,
    offsets: Ints,
    found: Ints,
    sums: npt.NDArray[np.float32],
    seen: npt.NDArray[np.float32],
    first: int,
    stop: int,
) -> None:
    """Records within ``radius`` of the queries ``first:stop``, counted and listed as the search of the tree does."""
    listing = offsets.shape[0] > 0
    slack = 2e-7 * (tree.weights.shape[0] + 4)
    for tile in range(first, stop, TILE):
        for start in range(0, tree.numbers.shape[0], BLOCK):
            end = min(start + BLOCK, tree.numbers.shape[0])
            for q in range(tile, min(stop, tile + TILE)):
                _scan(tree, start, end, numbers[q], codes[q], rule, sums, seen)
                limit = radius[q] + TOL
                low = np.float32(limit - slack)
                high = np.float32(min(limit + slack, 3.0))
                near = 0
                for i in range(end - start):
                    near += sums[i] <= high
                if near == 0:
                    continue
                for i in range(end - start):
                    at = start + i
                    if sums[i] > high:
                        continue
                    if sums[i] >= low and exact(tree, at, numbers[q], codes[q], rule) > limit:
                        continue
                    copies = tree.copies[at] - (1 if at == own[q] else 0)
                    if copies <= 0:
                        continue
                    if listing:
                        found[offsets[q] + distinct[q]] = at
                    count[q] += copies
                    distinct[q] += 1
