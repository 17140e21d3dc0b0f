"""Compiled loops that grow and read the trees of a random forest.

Everything is integer codes: keys arrive as positions in the sorted union of their values, so the best cut of a node
comes from a histogram and not from a sort. Duplicate key rows are collapsed beforehand and a bootstrap draw only
raises the weight of its row. A bitmap remembers which codes a node holds, so that a small node never pays for the
levels it does not have.

The rules are those of probability and regression forests in the sense of Malley et al. (2012) and Wright & Ziegler
(2017): draw ``mtry`` keys without replacement among all keys; a node in which none of the drawn keys takes two values
is a leaf; the cut lies half way between the two neighbouring values present in the node; the first best cut wins.
"""

from __future__ import annotations

import numpy as np

from glasshouse.engines.compiled import Whole, njit
from glasshouse.engines.models.forest.scan import FEW, scan_binary, scan_few, scan_multiclass, scan_regression

BINARY, REGRESSION, MULTICLASS = 0, 1, 2

_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)


@njit(nogil=True, inner=True)
def _random(state: np.ndarray) -> np.uint64:
    """splitmix64 (Steele, Lea & Flood 2014): one 64-bit state, so a seed per tree is all it needs."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(nogil=True, inner=True)
def _below(state: np.ndarray, n: int) -> Whole:
    """An integer in [0, n), n < 2**32."""
    return np.int64(((_random(state) >> _SHIFT) * np.uint64(n)) >> _SHIFT)


@njit(nogil=True, inner=True)
def _above(cumulative: np.ndarray, limit: float) -> Whole:
    """The first record whose running total exceeds the limit, or the last record."""
    low, high = 0, cumulative.size - 1
    while low < high:
        middle = (low + high) >> 1
        if cumulative[middle] > limit:
            high = middle
        else:
            low = middle + 1
    return low


@njit(nogil=True)
def bootstrap(
    kind: int,
    state: np.ndarray,
    row_of: np.ndarray,
    cumulative: np.ndarray,
    y_class: np.ndarray,
    y_value: np.ndarray,
    draws: int,
    weight: np.ndarray,
    total: np.ndarray,
) -> None:
    """Draw so many records with replacement; fill weight and target total of each distinct row.

    The upper half of a weight counts class 2. ``state`` holds the seed of the tree and goes on to its keys.
    """
    n = row_of.size
    _random(state)
    for _ in range(draws):
        if cumulative.size > 0:
            u = np.float64(_random(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
            record = _above(cumulative, u * cumulative[n - 1])
        else:
            record = _below(state, n)
        row = row_of[record]
        weight[row] += 1
        if kind == BINARY:
            weight[row] += np.int64(y_class[record]) << 32
        elif kind == REGRESSION:
            total[row] += y_value[record]


@njit(nogil=True, inner=True)
def _cut_code(low: Whole, high: Whole, numeric: bool, values: np.ndarray, offset: int) -> Whole:
    """Largest code on the left of the cut half way between two neighbouring present codes."""
    if high - low == 1:
        return low
    if not numeric:
        return (low + high) // 2
    middle = 0.5 * (values[offset + low] + values[offset + high])
    while high - low > 1:
        centre = (low + high) // 2
        if values[offset + centre] <= middle:
            low = centre
        else:
            high = centre
    return low


@njit(nogil=True)
def grow_tree(
    kind: int,
    codes: np.ndarray,
    n_levels: np.ndarray,
    numeric: np.ndarray,
    values: np.ndarray,
    value_offset: np.ndarray,
    mtry: int,
    node_size: float,
    max_depth: int,
    importance: np.ndarray,
    state: np.ndarray,
    index: np.ndarray,
    pay: np.ndarray,
    sums: np.ndarray,
    spare_index: np.ndarray,
    spare_pay: np.ndarray,
    spare_sums: np.ndarray,
    bins: np.ndarray,
    bin_sums: np.ndarray,
    bits: np.ndarray,
    tops: np.ndarray,
    present: np.ndarray,
    n_class: np.ndarray,
    left_class: np.ndarray,
    order: np.ndarray,
    stack: np.ndarray,
    stack_sums: np.ndarray,
    nodes: np.ndarray,
    leaf_value: np.ndarray,
    leaf_start: np.ndarray,
    leaf_class: np.ndarray,
    leaf_count: np.ndarray,
) -> tuple[int, int, int]:
    """Grow one tree over the rows of a bootstrap draw; :func:`.room.make` makes the arrays from ``state`` on.

    Writes nodes [n_nodes, 3] (key or -1, largest code going left or leaf number, left child; the right child follows
    it), leaf values (class-2 share or mean) and, for three or more classes, leaf pointers, classes and counts. Returns
    how many nodes, leaves and classes in leaves there are.

    ``stack`` holds node, start, stop, depth and the keys known to be constant (of the first 64), ``stack_sums`` weight
    and target total; the root is on it.
    """
    n_keys = codes.shape[0]
    n_nodes, n_leaves, n_entries = 1, 0, 0
    top = 1
    while top > 0:
        top -= 1
        node, start, stop, depth = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
        n, s = stack_sums[top, 0], stack_sums[top, 1]
        constant = np.uint64(stack[top, 4])
        here, load = index[start:stop], pay[start:stop]
        part = sums[start:stop] if kind == REGRESSION else sums
        squares = 0.0
        leaf = n <= node_size or stop - start == 1 or (max_depth > 0 and depth >= max_depth)
        if kind == BINARY:
            leaf = leaf or s == 0.0 or s == n
        elif kind == REGRESSION:
            if not leaf:
                first = part[0] / np.float64(load[0])
                leaf = True
                for i in range(1, here.size):
                    if part[i] != first * np.float64(load[i]):
                        leaf = False
                        break
        else:
            # counted for leaves too, which hand them on; squares grow by w (2 n + w) when w records join a class of n
            for i in range(here.size):
                group, w = load[i] >> _SHIFT, np.int64(load[i] & _LOW)
                squares += np.float64(w * (2 * n_class[group] + w))
                n_class[group] += w
            leaf = leaf or squares == n * n

        best_low: Whole
        best_high: Whole
        best, best_key, best_low, best_high = -1.0, -1, np.int64(-1), np.int64(-1)
        best_n, best_s = 0.0, 0.0
        if not leaf:
            for draw in range(mtry):
                other = draw + _below(state, n_keys - draw)
                key = order[other]
                order[other] = order[draw]
                order[draw] = key
                if key < 64 and (constant >> np.uint64(key)) & _ONE:
                    continue
                if kind == BINARY:
                    if here.size <= FEW:
                        score, low, high, on_left = scan_few(codes[key], here, load, spare_pay, present, n, s)
                    else:
                        score, low, high, on_left = scan_binary(
                            codes[key], here, load, bins, n_levels[key], bits, tops, present, n, s
                        )
                    left_n = np.float64(np.int64(on_left & _LOW))
                    left_s: float = np.float64(np.int64(on_left >> _SHIFT))
                elif kind == REGRESSION:
                    score, low, high, on_left, left_s = scan_regression(
                        codes[key], here, load, part, bins, bin_sums, n_levels[key], bits, tops, present, n, s
                    )
                    left_n = np.float64(np.int64(on_left))
                else:
                    score, low, high, on_left = scan_multiclass(
                        codes[key], here, load, bins, n_levels[key], bits, tops, present, spare_pay, n_class,
                        left_class, squares, n,
                    )  # fmt: skip
                    left_n = np.float64(np.int64(on_left))
                    left_s = np.float64(0.0)
                if low < 0:
                    if key < 64:
                        constant |= _ONE << np.uint64(key)
                elif score > best:
                    best, best_key, best_low, best_high, best_n, best_s = score, key, low, high, left_n, left_s
            leaf = best_key < 0
            if not leaf:
                importance[best_key] += best - (squares if kind == MULTICLASS else s * s) / n

        if leaf:
            nodes[node, 0] = -1
            nodes[node, 1] = n_leaves
            nodes[node, 2] = 0
            if kind == MULTICLASS:
                for i in range(here.size):
                    group = load[i] >> _SHIFT
                    if n_class[group] > 0:
                        leaf_class[n_entries] = group
                        leaf_count[n_entries] = n_class[group]
                        n_class[group] = 0
                        n_entries += 1
                leaf_start[n_leaves + 1] = n_entries
                leaf_value[n_leaves] = n
            else:
                leaf_value[n_leaves] = s / n
            n_leaves += 1
            continue
        if kind == MULTICLASS:
            for i in range(here.size):
                n_class[load[i] >> _SHIFT] = 0

        cut = _cut_code(best_low, best_high, numeric[best_key], values, value_offset[best_key])
        column = codes[best_key]
        left, right = 0, 0
        if kind == REGRESSION:
            for i in range(here.size):
                row, p, t = here[i], load[i], part[i]
                go_left = column[row] <= cut
                here[left], load[left], part[left] = row, p, t
                spare_index[right], spare_pay[right], spare_sums[right] = row, p, t
                left += go_left
                right += not go_left
            for i in range(right):
                here[left + i], load[left + i], part[left + i] = spare_index[i], spare_pay[i], spare_sums[i]
        else:
            for i in range(here.size):
                row, p = here[i], load[i]
                go_left = column[row] <= cut
                here[left], load[left] = row, p
                spare_index[right], spare_pay[right] = row, p
                left += go_left
                right += not go_left
            for i in range(right):
                here[left + i], load[left + i] = spare_index[i], spare_pay[i]
        at = start + left
        nodes[node, 0], nodes[node, 1], nodes[node, 2] = best_key, cut, n_nodes
        stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3] = n_nodes + 1, at, stop, depth + 1
        stack_sums[top, 0], stack_sums[top, 1] = n - best_n, s - best_s
        stack[top, 4] = np.int64(constant)
        top += 1
        stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3] = n_nodes, start, at, depth + 1
        stack_sums[top, 0], stack_sums[top, 1] = best_n, best_s
        stack[top, 4] = np.int64(constant)
        top += 1
        n_nodes += 2
    return n_nodes, n_leaves, n_entries


@njit(nogil=True)
def find_leaves(
    nodes: np.ndarray,
    codes: np.ndarray,
    start: int,
    stop: int,
    row_of: np.ndarray,
    key_of: np.ndarray,
    cut_of: np.ndarray,
    child_of: np.ndarray,
    leaf: np.ndarray,
) -> None:
    """Leaf number of rows start..stop in one tree. Rows walk down together, so that their memory waits overlap.

    The four arrays before ``leaf`` are the rows on their way and what the node of each asks; unsigned subscripts spare
    the compiled code a test for negative ones at every access.
    """
    block = row_of.size
    first = np.uint32(start)
    for begin in range(start, stop, block):
        size = min(block, stop - begin)
        n_active = size
        if nodes[0, 0] < 0:
            n_active = 0
            for j in range(size):
                leaf[begin - start + j] = nodes[0, 1]
        for j in range(n_active):
            row_of[j], key_of[j], cut_of[j], child_of[j] = begin + j, nodes[0, 0], nodes[0, 1], nodes[0, 2]
        while n_active > 0:
            still = 0
            for a in range(n_active):
                row = row_of[a]
                node = np.uint32(child_of[a] + np.uint32(codes[row, key_of[a]] > cut_of[a]))
                key, cut = nodes[node, 0], nodes[node, 1]
                leaf[np.uint32(row - first)] = cut  # the leaf number once the node is a leaf; overwritten until then
                row_of[still], key_of[still], cut_of[still], child_of[still] = row, key, cut, nodes[node, 2]
                still += key >= 0
            n_active = still


@njit(nogil=True)
def add_leaves(
    kind: int,
    leaf: np.ndarray,
    value: np.ndarray,
    leaf_start: np.ndarray,
    leaf_class: np.ndarray,
    leaf_count: np.ndarray,
    start: int,
    stop: int,
    out: np.ndarray,
) -> None:
    """Add what the leaves of one tree say of rows start..stop to ``out`` [rows, 1 or classes]."""
    if kind == MULTICLASS:
        for i in range(start, stop):
            number = leaf[i - start]
            for e in range(leaf_start[number], leaf_start[number + 1]):
                out[i, leaf_class[e]] += leaf_count[e] / value[number]
    else:
        for i in range(start, stop):
            out[i, 0] += value[leaf[i - start]]
