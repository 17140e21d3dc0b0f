"""The search for the best split of a tree's node: cuts of an ordered key, groups of the levels of a categorical one."""

from __future__ import annotations

import numpy as np

from glasshouse.engines.compiled import Whole, njit, trailing_zeros

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
TINY = 1e-11  # two scores this close, relatively, are a tie


@njit(nogil=True, inner=True)
def present(
    column: np.ndarray,
    index: np.ndarray,
    start: int,
    stop: int,
    bits: np.ndarray,
    n_words: int,
    slot: np.ndarray,
    levels: np.ndarray,
) -> int:
    """Codes present in a node, ascending, into ``levels``; ``slot[code]`` is their position. Returns how many."""
    for i in range(start, stop):
        code = column[index[i]]
        bits[code >> 6] |= _ONE << np.uint64(code & 63)
    count = 0
    for word in range(n_words):
        mask = bits[word]
        bits[word] = _ZERO
        while mask != _ZERO:
            code = word * 64 + np.int64(trailing_zeros(mask))
            mask &= mask - _ONE
            slot[code] = count
            levels[count] = code
            count += 1
    return count


@njit(nogil=True, inner=True)
def halfway(values: np.ndarray, offset: Whole, low: Whole, high: Whole) -> tuple[Whole, float]:
    """Cut between two neighbouring codes of a node: the last code that goes left, and the middle of their values."""
    middle = 0.5 * (values[offset + low] + values[offset + high])
    cut = low
    while cut + 1 < high and values[offset + cut + 1] < middle:
        cut += 1
    return cut, middle


@njit(nogil=True, inner=True)
def sweep(
    table: np.ndarray,
    sizes: np.ndarray,
    order: np.ndarray,
    m: int,
    is_class: bool,
    node_n: float,
    node_total: np.ndarray,
    minbucket: int,
) -> tuple[float, Whole]:
    """Best contiguous cut of levels taken in ``order``: (score, number of levels on the left).

    Score = sum of squared child totals over child sizes; ``table`` [level, class] counts, or [level, 0] sums of the
    target.
    """
    q = table.shape[1]
    left = np.zeros(q)
    n_left = 0.0
    squares_left, squares_right = 0.0, 0.0
    for k in range(q):
        squares_right += node_total[k] * node_total[k]
    best, best_at = -1.0, -1
    for position in range(m - 1):
        level = order[position]
        n_left += sizes[level]
        if is_class:
            for k in range(q):
                h = table[level, k]
                if h != 0.0:
                    squares_left += h * (2.0 * left[k] + h)
                    squares_right -= h * (2.0 * (node_total[k] - left[k]) - h)
                    left[k] += h
        else:
            left[0] += table[level, 0]
            squares_left = left[0] * left[0]
            squares_right = (node_total[0] - left[0]) * (node_total[0] - left[0])
        n_right = node_n - n_left
        if n_left >= minbucket and n_right >= minbucket:
            score = squares_left / n_left + squares_right / n_right
            if score > best + TINY * abs(best):
                best, best_at = score, position + 1
    return best, best_at


@njit(nogil=True, inner=True)
def all_subsets(
    table: np.ndarray, sizes: np.ndarray, m: int, node_n: float, node_total: np.ndarray, minbucket: int
) -> tuple[float, Whole]:
    """Best of all groupings of ``m`` levels: (score, bit mask of the levels on the left)."""
    q = table.shape[1]
    left = np.zeros(q)
    n_left, squares_left, squares_right = 0.0, 0.0, 0.0
    for k in range(q):
        squares_right += node_total[k] * node_total[k]
    best, best_mask, mask = -1.0, np.int64(0), np.int64(0)
    for step in range(1, 1 << (m - 1)):
        level = np.int64(trailing_zeros(np.uint64(step)))
        sign = -1.0 if (mask >> level) & 1 else 1.0
        mask ^= np.int64(1) << level
        n_left += sign * sizes[level]
        for k in range(q):
            h = sign * table[level, k]
            if h != 0.0:
                squares_left += h * (2.0 * left[k] + h)
                squares_right -= h * (2.0 * (node_total[k] - left[k]) - h)
                left[k] += h
        n_right = node_n - n_left
        if n_left >= minbucket and n_right >= minbucket:
            score = squares_left / n_left + squares_right / n_right
            if score > best + TINY * abs(best):
                best, best_mask = score, mask
    return best, best_mask


@njit(nogil=True, inner=True)
def sweep_rows(
    starts: np.ndarray,
    entries: np.ndarray,
    order: np.ndarray,
    m: int,
    node_n: float,
    node_total: np.ndarray,
    minbucket: int,
) -> tuple[float, Whole]:
    """``sweep`` in time linear in the records: ``entries[starts[l] : starts[l + 1]]`` are the classes of level l."""
    left = np.zeros(node_total.size)
    n_left = 0.0
    squares_left, squares_right = 0.0, 0.0
    for k in range(node_total.size):
        squares_right += node_total[k] * node_total[k]
    best, best_at = -1.0, -1
    for position in range(m - 1):
        level = order[position]
        for e in range(starts[level], starts[level + 1]):
            k = entries[e]
            squares_left += 2.0 * left[k] + 1.0
            squares_right -= 2.0 * (node_total[k] - left[k]) - 1.0
            left[k] += 1.0
            n_left += 1.0
        n_right = node_n - n_left
        if n_left >= minbucket and n_right >= minbucket:
            score = squares_left / n_left + squares_right / n_right
            if score > best + TINY * abs(best):
                best, best_at = score, position + 1
    return best, best_at


@njit(nogil=True, inner=True)
def principal_scores(
    starts: np.ndarray, entries: np.ndarray, m: int, node_n: float, node_total: np.ndarray
) -> np.ndarray:
    """Scores of the levels on the first principal component of their class shares, by power iteration."""
    q = node_total.size
    direction = np.empty(q)
    for k in range(q):
        direction[k] = 1.0 / (1.0 + k)
    scores = np.zeros(m)
    for _ in range(30):
        following = np.zeros(q)
        average = 0.0
        for k in range(q):
            average += node_total[k] / node_n * direction[k]
        weighted = 0.0
        for level in range(m):
            size = starts[level + 1] - starts[level]
            score = 0.0
            for e in range(starts[level], starts[level + 1]):
                score += direction[entries[e]]
            score = score / size - average
            scores[level] = score
            weighted += score * size
            for e in range(starts[level], starts[level + 1]):
                following[entries[e]] += score
        norm = 0.0
        for k in range(q):
            following[k] -= weighted * node_total[k] / node_n
            norm += following[k] * following[k]
        if norm <= 1e-300:
            break
        change = 0.0
        for k in range(q):
            following[k] /= np.sqrt(norm)
            change = max(change, abs(following[k] - direction[k]))
            direction[k] = following[k]
        if change < 1e-6:
            break
    return scores
