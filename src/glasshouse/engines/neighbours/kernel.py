"""Compiled exact search in Gower space: best-first over the box tree, leaves scanned in vector registers.

Two answers are needed by the measures and both are here: the k nearest distinct records, and everything within a
radius. A leaf is first scanned in float32 over contiguous columns, with a slack that covers its rounding; whatever
survives is computed again in float64 with the columns in one fixed order. So a distance depends only on the two
records, never on the tree, the thread count or the other records.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from glasshouse.data.arrays import Bools, Floats, Ints
from glasshouse.engines.compiled import njit
from glasshouse.engines.neighbours.encoding import IGNORE, LEVEL, MATCH, MISMATCH, TOL

CHUNK = 128
DEPTH = 512

# float32 sums and weights seen of a leaf, and the nodes still to be visited with their bounds
Work: TypeAlias = tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], Ints, Floats]


class Tree(NamedTuple):
    """Prepared arrays of one reference table: what a search backend gets (:mod:`.tree` grows them)."""

    numbers: Floats  # [records, numbers] in tree order
    codes: Ints  # [records, categories]
    number_columns: npt.NDArray[np.float32]  # the same by column, for the first scan
    code_columns: Ints
    weights: Floats
    copies: Ints  # how often each distinct record occurs
    row: Ints  # the distinct row behind a tree position
    record: Ints  # its first record, which breaks ties
    left: Ints  # children of a node, -1 for a leaf
    right: Ints
    first: Ints  # records of a node
    last: Ints
    low: Floats  # box of a node: numbers
    high: Floats
    gone: Ints  # 0 none, 1 some, 2 all missing
    code_low: Ints  # box of a node: categories
    code_high: Ints
    code_set: Ints
    code_gone: Ints


def without_boxes(numbers: Floats, codes: Ints, weights: Floats) -> Tree:
    """Records in an order of their own, for :func:`exact` alone.

    Parameters
    ----------
    numbers, codes : array
        [records, columns], as the searched side has them.
    weights : array of float
        One per column, numbers first.

    Returns
    -------
    Tree
    """
    fields: dict[str, Any] = dict.fromkeys(Tree._fields, np.empty(0))
    return Tree(**fields | {"numbers": numbers, "codes": codes, "weights": weights})


def work_space() -> Work:
    """Room for one thread to search in.

    Returns
    -------
    tuple of arrays
        Their content does not matter.
    """
    return np.empty(CHUNK, np.float32), np.empty(CHUNK, np.float32), np.empty(DEPTH, np.int32), np.empty(DEPTH)


@njit(nogil=True, inner=True)
def exact(tree: Tree, i: int, numbers: Floats, codes: Ints, rule: int) -> float:
    """Gower distance between a query and record ``i`` of the tree, float64, columns in order."""
    n_numbers = numbers.shape[0]
    total = 0.0
    present = 0.0
    for v in range(n_numbers):
        w = tree.weights[v]
        gap = abs(numbers[v] - tree.numbers[i, v])
        if gap <= 1.5 * w:
            if rule != IGNORE:
                total += gap
            elif numbers[v] <= 1.5 * w:
                total += gap
                present += w
        elif rule <= MISMATCH:
            total += w
    for v in range(codes.shape[0]):
        w = tree.weights[n_numbers + v]
        a = codes[v]
        b = tree.codes[i, v]
        if rule >= MATCH:
            if a >= 0 and b >= 0:
                present += w
                if a != b:
                    total += w
        elif a != b:
            total += w
    if rule == IGNORE:
        return total / present if present > 0.0 else 1.0
    return total


@njit(nogil=True, inner=True)
def _box_distance(tree: Tree, node: int, numbers: Floats, codes: Ints, rule: int) -> float:
    """A lower bound on the distance from a query to any record of the node."""
    n_numbers = numbers.shape[0]
    total = 0.0
    shared = 0.0
    for v in range(n_numbers):
        w = tree.weights[v]
        x = numbers[v]
        gone = tree.gone[node, v]
        if x > 1.5 * w or x < -0.5 * w:
            if rule == MISMATCH or (rule == LEVEL and gone == 0):
                total += w
        elif gone == 2:
            if rule <= MISMATCH:
                total += w
        else:
            shared += w
            if gone == 0 or rule <= MISMATCH:
                if x < tree.low[node, v]:
                    total += tree.low[node, v] - x
                elif x > tree.high[node, v]:
                    total += x - tree.high[node, v]
    one, zero = np.uint64(1), np.uint64(0)
    for v in range(codes.shape[0]):
        w = tree.weights[n_numbers + v]
        c = codes[v]
        if rule >= MATCH:
            if c < 0 or tree.code_gone[node, v] == 2:
                continue
            shared += w
            if tree.code_gone[node, v] == 1:
                continue
        outside = c < tree.code_low[node, v] or c > tree.code_high[node, v]
        if outside or (tree.code_set[node, v] >> np.uint64((c + 2) & 63)) & one == zero:
            total += w
    if rule == IGNORE:
        return total / shared if shared > 0.0 else 1.0
    return total


@njit(nogil=True, inner=True)
def _scan(
    tree: Tree,
    node: int,
    start: int,
    end: int,
    numbers: Floats,
    codes: Ints,
    rule: int,
    sums: npt.NDArray[np.float32],
    seen: npt.NDArray[np.float32],
) -> None:
    """float32 distances from a query to the records ``start:end`` of a leaf, into ``sums``."""
    n_numbers = numbers.shape[0]
    size = end - start
    base = np.float32(0.0)
    base_seen = np.float32(0.0)
    zero = np.float32(0.0)
    for i in range(size):
        sums[i] = zero
        seen[i] = zero
    for v in range(n_numbers):
        w = np.float32(tree.weights[v])
        reach = np.float32(1.5) * w
        x = np.float32(numbers[v])
        absent = w if rule <= MISMATCH else zero
        gone = tree.gone[node, v]
        if rule == IGNORE and x > reach:
            continue
        if gone == 0 and tree.low[node, v] == tree.high[node, v]:
            gap = abs(x - np.float32(tree.low[node, v]))
            base += gap if gap <= reach else absent
            base_seen += w
            continue
        column = tree.number_columns[v, start:end]
        if gone == 0 and x <= reach and x >= -w:
            for i in range(size):
                sums[i] += abs(x - column[i])
            base_seen += w
        else:
            for i in range(size):
                gap = abs(x - column[i])
                sums[i] += gap if gap <= reach else absent
            if rule == IGNORE:
                for i in range(size):
                    seen[i] += w if abs(x - column[i]) <= reach else zero
    for v in range(codes.shape[0]):
        w = np.float32(tree.weights[n_numbers + v])
        c = np.int32(codes[v])
        gone = tree.code_gone[node, v]
        if rule >= MATCH and (c < 0 or gone == 2):
            continue
        if tree.code_low[node, v] == tree.code_high[node, v]:
            if c != tree.code_low[node, v]:
                base += w
            base_seen += w
            continue
        labels = tree.code_columns[v, start:end]
        if rule < MATCH or gone == 0:
            for i in range(size):
                sums[i] += w if labels[i] != c else zero
            base_seen += w
        else:
            for i in range(size):
                sums[i] += w if (labels[i] != c) & (labels[i] >= 0) else zero
                seen[i] += w if labels[i] >= 0 else zero
    if rule == IGNORE:
        for i in range(size):
            present = seen[i] + base_seen
            sums[i] = (sums[i] + base) / present if present > zero else np.float32(1.0)
    else:
        for i in range(size):
            sums[i] += base


@njit(nogil=True, inner=True)
def _push_children(
    tree: Tree, node: int, numbers: Floats, codes: Ints, rule: int, limit: float, nodes: Ints, bounds: Floats, top: int
) -> int:
    """Put the children that may hold an answer on the stack, the nearer one last so that it is visited first."""
    a = tree.left[node]
    b = tree.right[node]
    near = _box_distance(tree, a, numbers, codes, rule)
    far = _box_distance(tree, b, numbers, codes, rule)
    if far < near:
        a, b = b, a
        near, far = far, near
    if far <= limit:
        nodes[top] = b
        bounds[top] = far
        top += 1
    if near <= limit:
        nodes[top] = a
        bounds[top] = near
        top += 1
    return top


@njit(nogil=True, inner=True)
def insert(record: Ints, best: Floats, where: Ints, d: float, at: int) -> None:
    """Put a record among the nearest found so far, by distance and then by record number."""
    slot = best.shape[0] - 1
    if d > best[slot] or (d == best[slot] and record[at] > record[where[slot]]):
        return
    while slot > 0 and (d < best[slot - 1] or (d == best[slot - 1] and record[at] < record[where[slot - 1]])):
        best[slot] = best[slot - 1]
        where[slot] = where[slot - 1]
        slot -= 1
    best[slot] = d
    where[slot] = at


@njit(nogil=True)
def nearest(
    tree: Tree,
    numbers: Floats,
    codes: Ints,
    own: Ints,
    rule: int,
    budget: int,
    distance: Floats,
    position: Ints,
    given_up: Bools,
    work: Work,
    start: int,
    stop: int,
) -> None:
    """The nearest distinct records of the queries ``start:stop``, ordered by distance and then by record number.

    ``own`` is the tree position of a record of which one copy is left out (self-joins), or -1. Written into
    ``distance`` (n, k), infinite where there are fewer than k, and ``position``, -1 there. ``given_up`` says for whom
    more than ``budget`` records had to be looked at: what is written for them is an upper limit only.
    """
    sums, seen, nodes, bounds = work
    k = distance.shape[1]
    slack = 2e-7 * (tree.weights.shape[0] + 4)
    for q in range(start, stop):
        x = numbers[q]
        c = codes[q]
        best = distance[q]
        where = position[q]
        nodes[0] = 0
        bounds[0] = 0.0
        top = 1
        looked = 0
        while top > 0:
            top -= 1
            node = nodes[top]
            if bounds[top] > best[k - 1] + TOL:
                continue
            if tree.left[node] >= 0:
                top = _push_children(tree, node, x, c, rule, best[k - 1] + TOL, nodes, bounds, top)
                continue
            looked += tree.last[node] - tree.first[node]
            if looked > budget:
                given_up[q] = True
                break
            for begin in range(tree.first[node], tree.last[node], CHUNK):
                end = min(begin + CHUNK, tree.last[node])
                _scan(tree, node, begin, end, x, c, rule, sums, seen)
                cut = np.float32(min(best[k - 1] + slack, 3.0))
                for i in range(end - begin):
                    if sums[i] > cut:
                        continue
                    at = begin + i
                    if at == own[q] and tree.copies[at] < 2:
                        continue
                    insert(tree.record, best, where, exact(tree, at, x, c, rule), at)
                    cut = np.float32(min(best[k - 1] + slack, 3.0))


@njit(nogil=True)
def within(
    tree: Tree,
    numbers: Floats,
    codes: Ints,
    own: Ints,
    radius: Floats,
    rule: int,
    budget: int,
    offsets: Ints,
    found: Ints,
    count: Ints,
    distinct: Ints,
    given_up: Bools,
    work: Work,
    start: int,
    stop: int,
) -> None:
    """Records within ``radius`` (one per query, tolerance included) of the queries ``start:stop``: their number.

    ``count`` takes the records, copies counted, and ``distinct`` the distinct ones. With ``offsets`` (length n + 1) the
    distinct tree positions are also written to ``found[offsets[q]:]``; an empty ``offsets`` asks for counts only.
    ``given_up`` says for whom more than ``budget`` records had to be looked at.
    """
    sums, seen, nodes, bounds = work
    listing = offsets.shape[0] > 0
    slack = 2e-7 * (tree.weights.shape[0] + 4)
    for q in range(start, stop):
        x = numbers[q]
        c = codes[q]
        limit = radius[q] + TOL
        low = np.float32(limit - slack)
        high = np.float32(min(limit + slack, 3.0))
        nodes[0] = 0
        top = 1
        looked = 0
        while top > 0:
            top -= 1
            node = nodes[top]
            if tree.left[node] >= 0:
                top = _push_children(tree, node, x, c, rule, limit, nodes, bounds, top)
                continue
            looked += tree.last[node] - tree.first[node]
            if looked > budget:
                given_up[q] = True
                break
            for begin in range(tree.first[node], tree.last[node], CHUNK):
                end = min(begin + CHUNK, tree.last[node])
                _scan(tree, node, begin, end, x, c, rule, sums, seen)
                for i in range(end - begin):
                    at = begin + i
                    if sums[i] > high:
                        continue
                    if sums[i] >= low and exact(tree, at, x, c, rule) > limit:
                        continue
                    copies = tree.copies[at] - (1 if at == own[q] else 0)
                    if copies <= 0:
                        continue
                    if listing:
                        found[offsets[q] + distinct[q]] = at
                    count[q] += copies
                    distinct[q] += 1
