"""Compiled loops over Euclidean distances of all pairs of a table's records, a block of records at a time.

Coordinates of a block lie column by column, so that the inner loop runs over its records in vector registers. Every
record of the block has a sum of its own: no sum is ever cut differently, whatever the number of threads.
"""

from __future__ import annotations

import numpy as np

from glasshouse.data.arrays import Floats, Ints
from glasshouse.engines.compiled import njit


@njit(nogil=True)
def _squares(point: Floats, columns: Floats, squares: Floats) -> None:
    """Squared distances from a point to the records of a block, summed in the order of the columns."""
    d, size = columns.shape
    first = columns[0]
    x = point[0]
    for i in range(size):
        gap = x - first[i]
        squares[i] = gap * gap
    v = 1
    while v + 3 < d:  # four columns at once: the running sums stay in registers
        x1, x2, x3, x4 = point[v], point[v + 1], point[v + 2], point[v + 3]
        c1, c2, c3, c4 = columns[v], columns[v + 1], columns[v + 2], columns[v + 3]
        for i in range(size):
            g1, g2, g3, g4 = x1 - c1[i], x2 - c2[i], x3 - c3[i], x4 - c4[i]
            squares[i] = squares[i] + g1 * g1 + g2 * g2 + g3 * g3 + g4 * g4
        v += 4
    while v < d:
        x1 = point[v]
        c1 = columns[v]
        for i in range(size):
            gap = x1 - c1[i]
            squares[i] += gap * gap
        v += 1


@njit(nogil=True)
def weighted_distances(
    points: Floats, first: Floats, second: Floats, columns: Floats, squares: Floats, sums: Floats
) -> None:
    """Add the distances of ``points`` to each record of a block, by two weights of the points, to ``sums`` [2, block].

    ``columns`` [d, block] are the records of the block, ``squares`` is room for as many numbers.
    """
    size = columns.shape[1]
    one, two = sums[0], sums[1]
    for a in range(points.shape[0]):
        _squares(points[a], columns, squares)
        w, u = first[a], second[a]
        for i in range(size):
            distance = np.sqrt(squares[i])
            one[i] += w * distance
            two[i] += u * distance


@njit(nogil=True)
def count_between(
    points: Floats,
    columns: Floats,
    squares: Floats,
    low: float,
    high: float,
    cells: Ints,
    found: Floats,
    inside: int,
    triangle: bool,
) -> tuple[int, int]:
    """How many squared distances of ``points`` to the records of a block are below ``low``, and ``inside`` plus how
    many are between ``low`` and ``high``.

    Those are counted in ``cells`` of equal width, and listed in ``found`` as long as there is room. ``triangle``: the
    points are the block, and each pair counts once.
    """
    size = columns.shape[1]
    last = cells.shape[0] - 1
    step = (high - low) / cells.shape[0]
    below = 0
    for a in range(points.shape[0]):
        _squares(points[a], columns, squares)
        start = a + 1 if triangle else 0
        under, upto = 0, 0
        for i in range(start, size):
            under += squares[i] < low
            upto += squares[i] <= high
        below += under
        if upto == under:
            continue
        for i in range(start, size):
            if squares[i] < low or squares[i] > high:
                continue
            cells[min(int((squares[i] - low) / step), last) if step > 0.0 else 0] += 1
            if inside < found.shape[0]:
                found[inside] = squares[i]
            inside += 1
    return below, inside
