"""The compiled loop of rank swapping: partners are found in a tree of counts, not by looking along the window."""

from __future__ import annotations

import numpy as np

from glasshouse.engines.compiled import njit


@njit(nogil=True)
def swap(window: int, draws: np.ndarray, found: np.ndarray, tree: np.ndarray) -> None:
    """``tree`` is room for a Fenwick tree: how many of the first i places are not swapped yet."""
    n = len(found)
    for i in range(1, n + 1):
        tree[i] += 1
        above = i + (i & -i)
        if above <= n:
            tree[above] += tree[i]
    top = 1
    while 2 * top <= n:
        top *= 2
    for j in range(n):
        if found[j] != j:
            continue
        free = -1  # the place itself
        i = min(j + window, n - 1) + 1
        while i > 0:
            free += tree[i]
            i -= i & -i
        if free == 0:
            _ring(window, draws[j], found, j)
            continue
        wanted = 1 + min(int(draws[j] * free), free - 1)  # unswapped places before the partner
        partner = 0
        step = top
        while step > 0:
            if partner + step <= n and tree[partner + step] <= wanted:
                partner += step
                wanted -= tree[partner]
            step //= 2
        found[j] = partner
        found[partner] = j
        for swapped in (j, partner):
            i = swapped + 1
            while i <= n:
                tree[i] -= 1
                i += i & -i


@njit(nogil=True, inner=True)
def _ring(window: int, draw: float, found: np.ndarray, j: int) -> None:
    """Let the place left over join a pair, both of whose places it may reach."""
    n = len(found)
    low, high = max(0, j - window), min(n - 1, j + window)
    fitting = 0
    for a in range(low, high + 1):
        if a != j and abs(found[a] - j) <= window:
            fitting += 1
    wanted = min(int(draw * fitting), fitting - 1)
    for a in range(low, high + 1):
        if a != j and abs(found[a] - j) <= window:
            if wanted == 0:
                b = found[a]
                found[j], found[b] = a, j
                return
            wanted -= 1
