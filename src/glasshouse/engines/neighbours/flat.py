"""Compiled exact search leaf by leaf, for queries to whom much of the tree is near.

Where columns are many or independent, walking the tree costs more than it spares. Here a few queries meet the leaves of
the tree one after the other: the lower limits of their distances to all boxes are computed at once, column by column,
so are the distances to the records of a leaf, and both inner loops run in vector registers over what stays in the first
caches. What the float32 scan cannot exclude is computed again by
:func:`~glasshouse.engines.neighbours.kernel.exact`, so the answers are those of the tree.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from glasshouse.data.arrays import Floats, Ints
from glasshouse.engines.compiled import njit
from glasshouse.engines.neighbours.encoding import IGNORE, MATCH, MISMATCH, TOL
from glasshouse.engines.neighbours.kernel import Tree, exact, insert

TILE = 16  # queries that share a leaf
FIRST = 4  # leaves a query without a limit asks before the others
BEHIND = np.float32(4.0)  # further than any distance
BLOCK = 256  # records scanned at once, most often a leaf: with all columns they fit the first cache

Singles: TypeAlias = npt.NDArray[np.float32]


class Leaves(NamedTuple):
    """The leaves of a tree and their boxes by column, in the order of the records."""

    first: Ints  # records of a leaf
    last: Ints
    low: Singles  # [numbers, leaves]
    high: Singles
    gone: Ints  # 0 none, 1 some, 2 all missing
    code_low: Ints  # [categories, leaves]
    code_high: Ints
    code_set: Ints


def leaves(tree: Tree) -> Leaves:
    """What the search reads of the boxes of a tree.

    Parameters
    ----------
    tree : Tree
        The tree.

    Returns
    -------
    Leaves
    """
    at = np.flatnonzero(tree.left < 0)
    at = at[np.argsort(tree.first[at])]
    return Leaves(
        tree.first[at],
        tree.last[at],
        np.ascontiguousarray(tree.low[at].T, dtype=np.float32),
        np.ascontiguousarray(tree.high[at].T, dtype=np.float32),
        np.ascontiguousarray(tree.gone[at].T),
        np.ascontiguousarray(tree.code_low[at].T),
        np.ascontiguousarray(tree.code_high[at].T),
        np.ascontiguousarray(tree.code_set[at].T),
    )


def work_space(found: Leaves) -> tuple[Singles, Singles, Singles, Singles]:
    """Room for one thread to scan in.

    Parameters
    ----------
    found : Leaves
        The leaves.

    Returns
    -------
    tuple of arrays
        Limits by query and leaf, sums, weights seen, and what a query still looks at; their content does not matter.
    """
    bounds = np.empty((TILE, len(found.first)), np.float32)
    return bounds, np.empty(BLOCK, np.float32), np.empty(BLOCK, np.float32), np.empty(TILE, np.float32)


@njit(nogil=True, inner=True)
def _bounds(tree: Tree, boxes: Leaves, numbers: Floats, codes: Ints, rule: int, bounds: Singles) -> None:
    """Lower limits of the distances from a query to the records of every leaf, 0 under rules that leave columns out."""
    n_numbers = numbers.shape[0]
    zero = np.float32(0.0)
    for i in range(bounds.shape[0]):
        bounds[i] = zero
    if rule > MISMATCH:
        return
    for v in range(n_numbers):
        w = np.float32(tree.weights[v])
        x = np.float32(numbers[v])
        if x > np.float32(1.5) * w or x < np.float32(-0.5) * w:
            gone = boxes.gone[v]
            for i in range(bounds.shape[0]):
                bounds[i] += w if rule == MISMATCH or gone[i] == 0 else zero
        else:  # a missing value of the leaf is w away, as far as any can be
            low, high = boxes.low[v], boxes.high[v]
            for i in range(bounds.shape[0]):
                bounds[i] += min(max(max(low[i] - x, x - high[i]), zero), w)
    for v in range(codes.shape[0]):
        w = np.float32(tree.weights[n_numbers + v])
        c = np.int32(codes[v])
        bit = np.uint64(1) << np.uint64((codes[v] + 2) & 63)
        code_low, code_high, code_set = boxes.code_low[v], boxes.code_high[v], boxes.code_set[v]
        for i in range(bounds.shape[0]):
            inside = (code_low[i] <= c) & (c <= code_high[i]) & ((code_set[i] & bit) != 0)
            bounds[i] += zero if inside else w


@njit(nogil=True, inner=True)
def _scan(
    tree: Tree,
    start: int,
    end: int,
    numbers: Floats,
    codes: Ints,
    rule: int,
    sums: Singles,
    seen: Singles,
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
    boxes: Leaves,
    numbers: Floats,
    codes: Ints,
    own: Ints,
    rule: int,
    grain: float,
    limit: Floats,
    distance: Floats,
    position: Ints,
    bounds: Singles,
    sums: Singles,
    seen: Singles,
    cuts: Singles,
    first: int,
    stop: int,
) -> None:
    """The nearest distinct records of the queries ``first:stop``, written as the search of the tree writes them.

    ``limit`` is what the distance of the last of them cannot exceed. Where it is infinite, nobody has looked yet, and
    the leaves with the nearest boxes come before the others. Distances are equal or at least twice ``grain`` apart, 0
    where that is not known: of records as near as the last one the first in the file counts, and no other is looked at.
    """
    k = distance.shape[1]
    slack = 2e-7 * (tree.weights.shape[0] + 4)
    for tile in range(first, stop, TILE):
        for q in range(tile, min(stop, tile + TILE)):
            _bounds(tree, boxes, numbers[q], codes[q], rule, bounds[q - tile])
            cuts[q - tile] = np.float32(min(min(distance[q, k - 1], limit[q]) + slack, 3.0))
        for turn in range(-FIRST, boxes.first.shape[0]):
            for q in range(tile, min(stop, tile + TILE)):
                leaf = turn
                if turn < 0:
                    if limit[q] < np.inf:
                        continue
                    leaf = _lowest(bounds[q - tile])
                if bounds[q - tile, leaf] > cuts[q - tile]:
                    continue
                best = distance[q]
                cut = cuts[q - tile]
                for start in range(boxes.first[leaf], boxes.last[leaf], BLOCK):
                    end = min(start + BLOCK, boxes.last[leaf])
                    _scan(tree, start, end, numbers[q], codes[q], rule, sums, seen)
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
                        as_near = grain > 0.0 and sums[i] > best[k - 1] - grain
                        if as_near and tree.record[at] > tree.record[position[q, k - 1]]:
                            continue
                        insert(tree.record, best, position[q], exact(tree, at, numbers[q], codes[q], rule), at)
                        cut = np.float32(min(min(best[k - 1], limit[q]) + slack, 3.0))
                cuts[q - tile] = cut
                if turn < 0:
                    bounds[q - tile, leaf] = BEHIND


@njit(nogil=True, inner=True)
def _lowest(values: Singles) -> int:
    """The first place of the lowest value."""
    at = 0
    for other in range(1, values.shape[0]):
        if values[other] < values[at]:
            at = other
    return at


@njit(nogil=True)
def within(
    tree: Tree,
    boxes: Leaves,
    numbers: Floats,
    codes: Ints,
    own: Ints,
    radius: Floats,
    rule: int,
    count: Ints,
    distinct: Ints,
    offsets: Ints,
    found: Ints,
    bounds: Singles,
    sums: Singles,
    seen: Singles,
    cuts: Singles,
    first: int,
    stop: int,
) -> None:
    """Records within ``radius`` of the queries ``first:stop``, counted and listed as the search of the tree does."""
    listing = offsets.shape[0] > 0
    slack = 2e-7 * (tree.weights.shape[0] + 4)
    for tile in range(first, stop, TILE):
        for q in range(tile, min(stop, tile + TILE)):
            _bounds(tree, boxes, numbers[q], codes[q], rule, bounds[q - tile])
            cuts[q - tile] = np.float32(min(radius[q] + TOL + slack, 3.0))
        for leaf in range(boxes.first.shape[0]):
            for q in range(tile, min(stop, tile + TILE)):
                high = cuts[q - tile]
                if bounds[q - tile, leaf] > high:
                    continue
                limit = radius[q] + TOL
                low = np.float32(limit - slack)
                for start in range(boxes.first[leaf], boxes.last[leaf], BLOCK):
                    end = min(start + BLOCK, boxes.last[leaf])
                    _scan(tree, start, end, numbers[q], codes[q], rule, sums, seen)
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
