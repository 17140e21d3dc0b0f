"""The search for the best cut of one key in one node of a forest's tree: two classes, a number, or several classes."""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.cpython.unsafe.numbers import trailing_zeros

_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)


@njit(cache=True, nogil=True)
def scan_binary(column, index, pay, bins, bits, n_words, parent_n, parent_s):  # type: ignore[no-untyped-def]
    """Best cut of one key, two classes: (score, low code, high code, left weight and class-2 count packed)."""
    for i in range(index.size):
        code = column[index[i]]
        bins[code] += pay[i]
        bits[code >> 6] |= _ONE << np.uint64(code & 63)
    best, best_low, best_high, best_left = -1.0, np.int64(-1), np.int64(-1), _ZERO
    left = _ZERO
    previous = np.int64(-1)
    for word in range(n_words):
        mask = bits[word]
        bits[word] = _ZERO
        while mask != _ZERO:
            code = np.int64(word * 64) + np.int64(trailing_zeros(mask))
            mask &= mask - _ONE
            if previous >= 0:
                n_left = np.float64(np.int64(left & _LOW))
                s_left = np.float64(np.int64(left >> _SHIFT))
                s_right = parent_s - s_left
                score = s_left * s_left / n_left + s_right * s_right / (parent_n - n_left)
                if score > best:
                    best, best_low, best_high, best_left = score, previous, code, left
            left += bins[code]
            bins[code] = _ZERO
            previous = code
    return best, best_low, best_high, best_left


@njit(cache=True, nogil=True)
def scan_regression(column, index, pay, sums, bins, bin_sums, bits, n_words, parent_n, parent_s):  # type: ignore[no-untyped-def]
    """Best cut of one key, numeric target: largest sum of squared child totals over child sizes."""
    for i in range(index.size):
        code = column[index[i]]
        bins[code] += pay[i]
        bin_sums[code] += sums[i]
        bits[code >> 6] |= _ONE << np.uint64(code & 63)
    best, best_low, best_high, best_left, best_sum = -1.0, np.int64(-1), np.int64(-1), _ZERO, 0.0
    left, s_left = _ZERO, 0.0
    previous = np.int64(-1)
    for word in range(n_words):
        mask = bits[word]
        bits[word] = _ZERO
        while mask != _ZERO:
            code = np.int64(word * 64) + np.int64(trailing_zeros(mask))
            mask &= mask - _ONE
            if previous >= 0:
                n_left = np.float64(np.int64(left))
                s_right = parent_s - s_left
                score = s_left * s_left / n_left + s_right * s_right / (parent_n - n_left)
                if score > best:
                    best, best_low, best_high, best_left, best_sum = score, previous, code, left, s_left
            left += bins[code]
            s_left += bin_sums[code]
            bins[code] = _ZERO
            bin_sums[code] = 0.0
            previous = code
    return best, best_low, best_high, best_left, best_sum


@njit(cache=True, nogil=True)
def scan_multiclass(column, index, pay, bins, bits, n_words, sorted_pay, n_class, left_class, parent_n):  # type: ignore[no-untyped-def]
    """Best cut of one key, three or more classes, in time linear in the node whatever the number of classes.

    Rows are put in code order by counting; moving one row across the cut changes the sums of squared class counts by
    terms that involve its own class only. ``n_class`` holds the node's class counts; ``left_class`` is zero on
    entry and on exit.
    """
    for i in range(index.size):
        code = column[index[i]]
        bins[code] += _ONE
        bits[code >> 6] |= _ONE << np.uint64(code & 63)
    position = _ZERO
    for word in range(n_words):
        mask = bits[word]
        while mask != _ZERO:
            code = np.int64(word * 64) + np.int64(trailing_zeros(mask))
            mask &= mask - _ONE
            count = bins[code]
            bins[code] = position
            position += count
    for i in range(index.size):
        code = column[index[i]]
        sorted_pay[np.int64(bins[code])] = pay[i]
        bins[code] += _ONE
    squares_right = 0.0
    for i in range(index.size):
        # each class once: the first row that meets a positive count flips its sign as a mark
        group = np.int64(pay[i] >> _SHIFT)
        if n_class[group] > 0:
            squares_right += np.float64(n_class[group]) * n_class[group]
            n_class[group] = -n_class[group]
    for i in range(index.size):
        group = np.int64(pay[i] >> _SHIFT)
        if n_class[group] < 0:
            n_class[group] = -n_class[group]
    best, best_low, best_high, best_left = -1.0, np.int64(-1), np.int64(-1), _ZERO
    n_left, squares_left = 0.0, 0.0
    previous = np.int64(-1)
    row = np.int64(0)
    for word in range(n_words):
        mask = bits[word]
        bits[word] = _ZERO
        while mask != _ZERO:
            code = np.int64(word * 64) + np.int64(trailing_zeros(mask))
            mask &= mask - _ONE
            if previous >= 0:
                score = squares_left / n_left + squares_right / (parent_n - n_left)
                if score > best:
                    best, best_low, best_high = score, previous, code
                    best_left = np.uint64(np.int64(n_left))
            end = np.int64(bins[code])
            while row < end:
                item = sorted_pay[row]
                group = np.int64(item >> _SHIFT)
                w = np.int64(item & _LOW)
                on_left = left_class[group]
                on_right = n_class[group] - on_left
                squares_left += np.float64(w * (2 * on_left + w))
                squares_right -= np.float64(w * (2 * on_right - w))
                left_class[group] = on_left + w
                n_left += np.float64(w)
                row += 1
            bins[code] = _ZERO
            previous = code
    for i in range(index.size):
        left_class[np.int64(pay[i] >> _SHIFT)] = 0
    return best, best_low, best_high, best_left
