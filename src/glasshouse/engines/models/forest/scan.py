"""The search for the best cut of one key in one node of a forest's tree: two classes, a number, or several classes."""

from __future__ import annotations

import numpy as np

from glasshouse.engines.compiled import Whole, njit, trailing_zeros

_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
_SIX = np.uint64(6)
_MASK = np.uint64(63)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)
FEW = 16  # rows of a node that are put in order one by one


@njit(nogil=True, inner=True)
def present_codes(
    column: np.ndarray,
    index: np.ndarray,
    bins: np.ndarray,
    n_levels: int,
    bits: np.ndarray,
    tops: np.ndarray,
    present: np.ndarray,
) -> int:
    """Codes with a filled bin, ascending, into ``present``; returns how many.

    A node with many records reads all bins; a small node of a key with many values marks its codes in a bitmap of two
    levels, so that it never pays for the values it does not hold. Both bitmaps are zero on entry and on exit.
    """
    count = 0
    if n_levels <= 2 * index.size:
        for code in range(n_levels):
            present[count] = code
            count += bins[code] != _ZERO
        return count
    for i in range(index.size):
        held = np.uint64(column[index[i]])
        block = held >> _SIX
        bits[block] |= _ONE << (held & _MASK)
        tops[block >> _SIX] |= _ONE << (block & _MASK)
    for top in range((n_levels >> 12) + 1):
        words = tops[top]
        tops[top] = _ZERO
        while words != _ZERO:
            word = top * 64 + np.int64(trailing_zeros(words))
            words &= words - _ONE
            mask = bits[word]
            bits[word] = _ZERO
            while mask != _ZERO:
                present[count] = word * 64 + np.int64(trailing_zeros(mask))
                mask &= mask - _ONE
                count += 1
    return count


@njit(nogil=True, inner=True)
def scan_binary(
    column: np.ndarray,
    index: np.ndarray,
    pay: np.ndarray,
    bins: np.ndarray,
    n_levels: int,
    bits: np.ndarray,
    tops: np.ndarray,
    present: np.ndarray,
    parent_n: float,
    parent_s: float,
) -> tuple[float, Whole, Whole, np.uint64]:
    """Best cut of one key, two classes: (score, low code, high code, left weight and class-2 count packed)."""
    for i in range(index.size):
        bins[column[index[i]]] += pay[i]
    count = present_codes(column, index, bins, n_levels, bits, tops, present)
    best, best_at, best_left = -1.0, 0, _ZERO
    left = _ZERO
    for at in range(count):
        code = present[at]
        if at > 0:
            n_left = np.float64(np.int64(left & _LOW))
            s_left = np.float64(np.int64(left >> _SHIFT))
            s_right = parent_s - s_left
            score = s_left * s_left / n_left + s_right * s_right / (parent_n - n_left)
            if score > best:
                best, best_at, best_left = score, at, left
        left += bins[code]
        bins[code] = _ZERO
    if best_at == 0:
        return best, np.int64(-1), np.int64(-1), best_left
    return best, np.int64(present[best_at - 1]), np.int64(present[best_at]), best_left


@njit(nogil=True, inner=True)
def scan_few(
    column: np.ndarray,
    index: np.ndarray,
    pay: np.ndarray,
    held: np.ndarray,
    present: np.ndarray,
    parent_n: float,
    parent_s: float,
) -> tuple[float, Whole, Whole, np.uint64]:
    """What :func:`scan_binary` finds, for a node of a few rows: they are put in order of their codes one by one.

    Most nodes of a deep tree are of this kind, and neither bins nor bitmaps are worth their while. ``held`` and
    ``present`` take the weights and codes; equal codes are one entry.
    """
    count = 0
    for i in range(index.size):
        code = np.uint32(column[index[i]])
        at = count
        while at > 0 and present[at - 1] > code:
            at -= 1
        if at > 0 and present[at - 1] == code:
            held[at - 1] += pay[i]
            continue
        for later in range(count, at, -1):
            present[later], held[later] = present[later - 1], held[later - 1]
        present[at], held[at] = code, pay[i]
        count += 1
    best, best_at, best_left = -1.0, 0, _ZERO
    left = _ZERO
    for at in range(1, count):
        left += held[at - 1]
        n_left = np.float64(np.int64(left & _LOW))
        s_left = np.float64(np.int64(left >> _SHIFT))
        s_right = parent_s - s_left
        score = s_left * s_left / n_left + s_right * s_right / (parent_n - n_left)
        if score > best:
            best, best_at, best_left = score, at, left
    if best_at == 0:
        return best, np.int64(-1), np.int64(-1), best_left
    return best, np.int64(present[best_at - 1]), np.int64(present[best_at]), best_left


@njit(nogil=True, inner=True)
def scan_regression(
    column: np.ndarray,
    index: np.ndarray,
    pay: np.ndarray,
    sums: np.ndarray,
    bins: np.ndarray,
    bin_sums: np.ndarray,
    n_levels: int,
    bits: np.ndarray,
    tops: np.ndarray,
    present: np.ndarray,
    parent_n: float,
    parent_s: float,
) -> tuple[float, Whole, Whole, np.uint64, float]:
    """Best cut of one key, numeric target: largest sum of squared child totals over child sizes."""
    for i in range(index.size):
        code = column[index[i]]
        bins[code] += pay[i]
        bin_sums[code] += sums[i]
    count = present_codes(column, index, bins, n_levels, bits, tops, present)
    best, best_at, best_left, best_sum = -1.0, 0, _ZERO, 0.0
    left, s_left = _ZERO, 0.0
    for at in range(count):
        code = present[at]
        if at > 0:
            n_left = np.float64(np.int64(left))
            s_right = parent_s - s_left
            score = s_left * s_left / n_left + s_right * s_right / (parent_n - n_left)
            if score > best:
                best, best_at, best_left, best_sum = score, at, left, s_left
        left += bins[code]
        s_left += bin_sums[code]
        bins[code] = _ZERO
        bin_sums[code] = 0.0
    if best_at == 0:
        return best, np.int64(-1), np.int64(-1), best_left, best_sum
    return best, np.int64(present[best_at - 1]), np.int64(present[best_at]), best_left, best_sum


@njit(nogil=True, inner=True)
def scan_multiclass(
    column: np.ndarray,
    index: np.ndarray,
    pay: np.ndarray,
    bins: np.ndarray,
    n_levels: int,
    bits: np.ndarray,
    tops: np.ndarray,
    present: np.ndarray,
    sorted_pay: np.ndarray,
    n_class: np.ndarray,
    left_class: np.ndarray,
    squares: float,
    parent_n: float,
) -> tuple[float, Whole, Whole, np.uint64]:
    """Best cut of one key, three or more classes, in time linear in the node whatever the number of classes.

    Rows are put in code order by counting; moving one row across the cut changes the sums of squared class counts by
    terms that involve its own class only. ``n_class`` holds the node's class counts and ``squares`` the sum of their
    squares; ``left_class`` is zero on entry and on exit.
    """
    for i in range(index.size):
        bins[column[index[i]]] += _ONE
    count = present_codes(column, index, bins, n_levels, bits, tops, present)
    position = _ZERO
    for at in range(count):
        code = present[at]
        size = bins[code]
        bins[code] = position
        position += size
    for i in range(index.size):
        code = column[index[i]]
        sorted_pay[bins[code]] = pay[i]
        bins[code] += _ONE
    best, best_at, best_left = -1.0, 0, _ZERO
    n_left, squares_left, squares_right = 0.0, 0.0, squares
    row = _ZERO
    for at in range(count):
        code = present[at]
        if at > 0:
            score = squares_left / n_left + squares_right / (parent_n - n_left)
            if score > best:
                best, best_at, best_left = score, at, np.uint64(np.int64(n_left))
        end = bins[code]
        bins[code] = _ZERO
        while row < end:
            item = sorted_pay[row]
            group = item >> _SHIFT
            w = np.int64(item & _LOW)
            on_left = left_class[group]
            on_right = n_class[group] - on_left
            squares_left += np.float64(w * (2 * on_left + w))
            squares_right -= np.float64(w * (2 * on_right - w))
            left_class[group] = on_left + w
            n_left += np.float64(w)
            row += _ONE
    for i in range(index.size):
        left_class[pay[i] >> _SHIFT] = 0
    if best_at == 0:
        return best, np.int64(-1), np.int64(-1), best_left
    return best, np.int64(present[best_at - 1]), np.int64(present[best_at]), best_left
