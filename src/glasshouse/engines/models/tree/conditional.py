"""Conditional inference trees: a permutation test chooses the key, and the tree stops where no key tests significant.

In each node the association of every key x with the target y is tested given the two lists of values. With g(x) the
number itself, or an indicator per level, and h(y) likewise, the quadratic form of the linear statistic is

    c = (n - 1) trace( S_gg^+ S_gh S_hh^+ S_hg ),    S_ab = sum_i (a_i - mean a)(b_i - mean b)'

because the permutation covariance is a Kronecker product of the two scatters. It reduces to (n - 1) r^2 for two
numbers, (n - 1) times the explained share of squares for a number and a category, and (n - 1) / n times Pearson's
chi-square for two categories, and is chi-square distributed with rank(g) rank(h) degrees of freedom. The key with the
smallest p value is split if 1 - (1 - p)^keys < 1 - mincriterion, where the same statistic between the two sides is
largest. Nothing is pruned.

Levels of a category are not searched exhaustively: they are ordered by their mean, or by the share of each class in
turn, and the best cut of any of these orders is taken.

References
----------
Hothorn, T., Hornik, K. & Zeileis, A. (2006), Unbiased recursive partitioning: a conditional inference framework,
Journal of Computational and Graphical Statistics 15, 651-674.
Strasser, H. & Weber, C. (1999), On the asymptotic theory of permutation statistics, Mathematical Methods of
Statistics 8, 220-250.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.engines.compiled import Whole, njit
from glasshouse.engines.models.tree.search import halfway, present, sweep
from glasshouse.engines.models.tree.tree import CartTree, finished, numbers_of


def grow_conditional(
    codes: np.ndarray,
    y: np.ndarray,
    *,
    n_classes: int | None,
    ordered: Sequence[bool] | np.ndarray,
    values: Sequence[np.ndarray | None],
    n_levels: Sequence[int],
    mincriterion: float = 0.9,
    minsplit: int = 20,
    minbucket: int = 5,
    maxdepth: int = 30,
) -> CartTree:
    """Grow a conditional inference tree.

    Parameters
    ----------
    codes
        Coded keys [n, p].
    y
        Numbers, or class codes.
    n_classes
        Number of classes; None for numbers.
    ordered
        Which keys are numbers or ranked.
    values
        Numbers behind the codes of each key, None for a category (a ranked one is tested on its codes).
    n_levels
        Levels of each key.
    mincriterion
        One minus the adjusted p value a split needs.
    minsplit, minbucket
        Records of a node that may be split, and of its children, at least.
    maxdepth
        Levels of the tree, at most.

    Returns
    -------
    CartTree
    """
    if not len(codes):
        raise InputError("there is no record to grow a tree on; pass at least one")
    flags = np.asarray(ordered, np.bool_)
    numbers, offsets = numbers_of(ordered, values, n_levels)
    is_class = n_classes is not None
    members, nodes, cuts, directions, importance = _grow(
        np.ascontiguousarray(np.asarray(codes, np.int32).T),
        flags,
        np.asarray(n_levels, np.int64),
        numbers,
        offsets,
        y.astype(np.int32) if is_class else np.zeros(1, np.int32),
        np.zeros(1) if is_class else y.astype(np.float64),
        n_classes or 0,
        1.0 - float(mincriterion),
        int(minsplit),
        int(max(1, minbucket)),
        int(maxdepth),
    )
    return finished(members, nodes, cuts, directions, flags, y, n_classes or 0, importance, 0)


@njit(nogil=True)
def log_upper_tail(statistic: float, degrees: float) -> float:
    """log P(chi-square > statistic): the series below the mean, the continued fraction above it (no underflow)."""
    a, x = 0.5 * degrees, 0.5 * statistic
    if x <= 0.0:
        return 0.0
    front = a * math.log(x) - x - math.lgamma(a)
    if x < a + 1.0:
        term = total = 1.0 / a
        step = a
        for _ in range(10_000):
            step += 1.0
            term *= x / step
            total += term
            if term < total * 1e-16:
                break
        lower = math.exp(front) * total
        return math.log1p(-min(lower, 1.0 - 1e-16))
    b = x + 1.0 - a
    c, d = 1e300, 1.0 / b
    fraction = d
    for i in range(1, 10_000):
        factor = -i * (i - a)
        b += 2.0
        d = 1.0 / (factor * d + b)
        c = b + factor / c
        change = c * d
        fraction *= change
        if abs(change - 1.0) < 1e-15:
            break
    return front + math.log(fraction)


@njit(nogil=True, inner=True)
def _log_p(
    column: np.ndarray,
    is_ordered: bool,
    numbers: np.ndarray,
    index: np.ndarray,
    start: int,
    stop: int,
    slot: np.ndarray,
    m: int,
    y: np.ndarray,
    total: np.ndarray,
    squares: float,
) -> float:
    """Log p value of one key in a node. ``y``: class slots, or centred numbers whose squares add up to ``squares``."""
    n, q = stop - start, total.size
    is_class = q > 1
    explained = 0.0
    if is_ordered:
        mean = 0.0
        for i in range(start, stop):
            mean += numbers[column[index[i]]]
        mean /= n
        spread, cross = 0.0, np.zeros(q)
        for i in range(start, stop):
            x = numbers[column[index[i]]] - mean
            spread += x * x
            if is_class:
                cross[int(y[i])] += x
            else:
                cross[0] += x * y[i]
        if spread <= 0.0:
            return 0.0
        for k in range(q):
            explained += cross[k] * cross[k] / (spread * (total[k] if is_class else squares))
        return log_upper_tail((n - 1) * explained, max(1, q - 1))
    sizes, sums = np.zeros(m), np.zeros((m, q))
    for i in range(start, stop):
        level = slot[column[index[i]]]
        sizes[level] += 1.0
        if is_class:
            sums[level, int(y[i])] += 1.0
        else:
            sums[level, 0] += y[i]
    for level in range(m):
        for k in range(q):
            if is_class:
                expected = sizes[level] * total[k] / n
                explained += (sums[level, k] - expected) ** 2 / expected / n
            else:
                explained += sums[level, 0] ** 2 / (sizes[level] * squares)
    return log_upper_tail((n - 1) * explained, (m - 1) * max(1, q - 1))


@njit(nogil=True, inner=True)
def _best_cut(
    column: np.ndarray,
    is_ordered: bool,
    index: np.ndarray,
    start: int,
    stop: int,
    slot: np.ndarray,
    m: int,
    y: np.ndarray,
    total: np.ndarray,
    minbucket: int,
) -> tuple[np.ndarray, Whole]:
    """Order of the levels and how many of them go left for the largest two-sample statistic; -1: no cut allowed."""
    n, q = stop - start, total.size
    is_class = q > 1
    # counts over the root of the class totals: the sum of squares that ``sweep`` maximises is then Pearson's statistic
    scale = np.ones(q)
    whole = np.zeros(q)
    for k in range(q):
        if is_class:
            scale[k] = 1.0 / math.sqrt(total[k])
            whole[k] = total[k] * scale[k]
    sizes, table = np.zeros(m), np.zeros((m, q))
    for i in range(start, stop):
        level = slot[column[index[i]]]
        sizes[level] += 1.0
        if is_class:
            table[level, int(y[i])] += scale[int(y[i])]
        else:
            table[level, 0] += y[i]
    order = np.arange(m)
    if is_ordered:
        return order, sweep(table, sizes, order, m, is_class, n, whole, minbucket)[1]
    best, best_at, best_order = -1.0, np.int64(-1), order
    for k in range(q if q > 2 else 1):
        order = np.argsort(table[:, k] / sizes, kind="mergesort")
        score, at = sweep(table, sizes, order, m, is_class, n, whole, minbucket)
        if at > 0 and score > best * (1.0 + 1e-11):
            best, best_at, best_order = score, np.int64(at), order
    return best_order, best_at


@njit(nogil=True)
def _grow(
    codes: np.ndarray,
    ordered: np.ndarray,
    n_levels: np.ndarray,
    values: np.ndarray,
    value_offset: np.ndarray,
    y_class: np.ndarray,
    y_value: np.ndarray,
    n_classes: int,
    alpha: float,
    minsplit: int,
    minbucket: int,
    maxdepth: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Index, nodes, cuts, directions and importance as the compiled loop of :mod:`.kernel` gives them."""
    n_keys, n = codes.shape
    index, spare = np.arange(n).astype(np.int32), np.empty(n, np.int32)
    most = max(1, n_levels.max())
    bits = np.zeros((most + 63) // 64, np.uint64)
    slot, levels = np.zeros(most, np.int64), np.zeros(most, np.int64)
    class_slot = np.full(max(1, n_classes), -1, np.int64)
    capacity = 2 * (n // minbucket) + 3
    nodes, cuts = np.full((capacity, 6), -1, np.int64), np.zeros(capacity)
    depth_of, waiting = np.zeros(capacity, np.int64), np.zeros(capacity, np.int64)
    importance = np.zeros(n_keys)
    directions, n_directions = np.zeros(1024, np.uint8), 0
    y = np.zeros(n)  # of the node's records, in the order of ``index``
    nodes[0, 0], nodes[0, 1] = 0, n
    n_nodes, n_waiting = 1, 1
    while n_waiting > 0:
        n_waiting -= 1
        node = waiting[n_waiting]
        start, stop = nodes[node, 0], nodes[node, 1]
        size = stop - start
        if size < minsplit or depth_of[node] >= maxdepth:
            continue
        squares = 0.0
        if n_classes > 0:
            class_slot[:] = -1
            q = 0
            for i in range(start, stop):
                group = y_class[index[i]]
                if class_slot[group] < 0:
                    class_slot[group] = q
                    q += 1
                y[i] = class_slot[group]
            total = np.zeros(q)
            for i in range(start, stop):
                total[int(y[i])] += 1.0
            if q < 2:
                continue
        else:
            total = np.zeros(1)
            mean = 0.0
            for i in range(start, stop):
                mean += y_value[index[i]]
            mean /= size
            for i in range(start, stop):
                y[i] = y_value[index[i]] - mean
                squares += y[i] * y[i]
            if squares <= 1e-24 * mean * mean * size:
                continue
        log_p = np.zeros(n_keys)
        for j in range(n_keys):
            m = present(codes[j], index, start, stop, bits, (n_levels[j] + 63) // 64, slot, levels)
            if m > 1:
                numbers = values[value_offset[j] :]
                log_p[j] = _log_p(codes[j], ordered[j], numbers, index, start, stop, slot, m, y, total, squares)
        # the key with the smallest p value; the next one where minbucket allows it no cut
        at, key, m = np.int64(-1), np.int64(-1), 0
        order = np.zeros(0, np.int64)
        for _ in range(n_keys):
            key = np.int64(np.argmin(log_p))
            if -math.expm1(n_keys * math.log1p(-min(math.exp(log_p[key]), 1.0 - 1e-16))) >= alpha:
                break
            m = present(codes[key], index, start, stop, bits, (n_levels[key] + 63) // 64, slot, levels)
            order, found = _best_cut(codes[key], ordered[key], index, start, stop, slot, m, y, total, minbucket)
            at = np.int64(found)
            if at > 0:
                break
            log_p[key] = 0.0
        if at <= 0:
            continue
        importance[key] -= log_p[key]
        nodes[node, 4] = key
        while n_directions + n_levels[key] > directions.size:
            grown = np.zeros(2 * directions.size, np.uint8)
            for i in range(directions.size):
                grown[i] = directions[i]
            directions = grown
        column = codes[key]
        cut = np.int64(0)
        if ordered[key]:
            last, cuts[node] = halfway(values, value_offset[key], levels[at - 1], levels[at])
            cut = np.int64(last)
            nodes[node, 5] = cut
        else:
            nodes[node, 5] = n_directions
            for position in range(m):
                directions[n_directions + levels[order[position]]] = 1 if position < at else 2
        middle, right = start, 0
        for i in range(start, stop):
            row = index[i]
            left = column[row] <= cut if ordered[key] else directions[nodes[node, 5] + column[row]] == 1
            if left:
                index[middle] = row
                middle += 1
            else:
                spare[right] = row
                right += 1
        for i in range(right):
            index[middle + i] = spare[i]
        if not ordered[key]:
            n_directions += n_levels[key]
        nodes[node, 2], nodes[node, 3] = n_nodes, n_nodes + 1
        nodes[n_nodes, 0], nodes[n_nodes, 1] = start, middle
        nodes[n_nodes + 1, 0], nodes[n_nodes + 1, 1] = middle, stop
        for child in range(2):
            depth_of[n_nodes + child] = depth_of[node] + 1
            waiting[n_waiting] = n_nodes + child
            n_waiting += 1
        n_nodes += 2
    return index, nodes[:n_nodes], cuts[:n_nodes], directions[:n_directions], importance
