"""Local suppression by the weaker readings, in which a missing cell fits every value.

Under the pattern reading every key is a task of its own: of all subsets of its cells the cheapest that leaves a pattern
which k originals fit. That is exact, and depends on neither the order of rows nor other keys. It also meets the
wildcard reading, which asks less; how much less a caller wants to trust is a number of records.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from glasshouse.data.arrays import Bools, Floats, Ints
from glasshouse.engines.cells.wildcards import fitting_counts
from glasshouse.engines.compiled import njit
from glasshouse.protection.keyed import Keys, Marks, subsets


def pattern_marks(keys: Keys, sizes: Mapping[int, int], costs: Floats, allowed: int) -> tuple[Marks, Ints]:
    """The cheapest cells to blank of each key, such that enough original records fit what is left.

    Parameters
    ----------
    keys : Keys
        The keys.
    sizes : mapping of int to int
        By number of keys an attacker may know, how many records must fit: {m: k} for all keys together, {3: 5, 4: 3}
        for every three and every four of them.
    costs : array of float
        What blanking a cell of each key costs.
    allowed : int
        Keys whose cells may be blanked, as bits.

    Returns
    -------
    (marks, left) : tuple of arrays of int
        Blank cells of each key, those missing before included, and the keys that nothing puts right.

    Notes
    -----
    Fewer cells present means more records fit, so of the subsets of s keys those with the most cells present decide:
    all subsets of min(s, cells present) cells.
    """
    marks = np.asarray(keys.blank.astype(np.int64)).copy()
    counts: dict[int, Floats] = {}

    def fitting(present: int) -> Floats:
        """Originals that agree with each key on some cells, missing fits."""
        if present not in counts:
            known = np.where((present >> np.arange(keys.m)) & 1 == 1, keys.rows, 0) - 1
            counts[present] = fitting_counts(known, keys.rows - 1, keys.counts)
        return counts[present]

    everything = (1 << keys.m) - 1
    open_ = np.arange(len(keys.counts))
    for subset in subsets(allowed, costs):
        good = np.ones(len(open_), np.bool_)
        for known in _hardest(everything & ~subset, sizes):
            good &= fitting(known[0])[open_] >= known[1]
        marks[open_[good]] |= subset
        open_ = open_[~good]
        if not open_.size:
            break
    return marks, open_


def _hardest(present: int, sizes: Mapping[int, int]) -> list[tuple[int, int]]:
    """The subsets of the cells present that decide, each with the number of records it asks for."""
    cells = [j for j in range(present.bit_length()) if present >> j & 1]
    found = []
    for size, k in sizes.items():
        for some in combinations(cells, min(size, len(cells))):
            found.append((sum(1 << j for j in some), k))
    return found


def loosened(keys: Keys, marks: Marks, sizes: Mapping[int, int], weak: int, costs: Floats) -> tuple[Ints, Marks, Ints]:
    """Give cells back where the wildcard reading does not need them blank, in at most ``weak`` records.

    Parameters
    ----------
    keys : Keys
        The keys.
    marks : array of int
        Blank cells of each key under the pattern reading.
    sizes : mapping of int to int
        As for :func:`pattern_marks`: how many records everyone must agree with wherever both have a value.
    weak : int
        How many records may end in a pattern that fewer originals fit.
    costs : array of float
        What blanking a cell of each key costs.

    Returns
    -------
    (key, marks, count) : tuple of arrays of int
        Entries: number of the key, its blank cells, records.
    """
    blank = keys.blank.astype(np.int64)
    touched = marks != blank
    key = np.repeat(np.arange(len(keys.counts)), np.where(touched, keys.counts, 1))
    entry_marks = marks[key]
    count = np.where(touched[key], 1, keys.counts[key]).astype(np.int64)
    released = keys.released(key, entry_marks)
    asked = _hardest((1 << keys.m) - 1, sizes)
    sides = np.array([cells for cells, _ in asked], np.int64)
    least = np.array([k for _, k in asked], np.int64)
    near = np.empty((len(sides), len(key)), np.int64)
    for at, cells in enumerate(sides):
        seen = np.where((cells >> np.arange(keys.m)) & 1 == 1, released, 0) - 1
        near[at] = fitting_counts(seen, seen, count)
    free = np.flatnonzero(entry_marks != blank[key])
    new = (entry_marks[free] & ~blank[key[free]])[:, None] >> np.arange(keys.m) & 1
    order = free[np.lexsort((free, -(new @ costs)))]
    left = weak
    original = keys.rows[key]
    dear = np.argsort(-costs, kind="stable")
    for ask in range(keys.m, 0, -1):  # a weak record is best spent where many cells come back
        for entry in order:
            if left < 1:
                return key, entry_marks, count
            if _back(released, original, count, near, sides, least, entry, dear, ask):
                left -= 1
                entry_marks[entry] = int((released[entry] == 0) @ (1 << np.arange(keys.m)))
        order = order[entry_marks[order] == marks[key[order]]]
    return key, entry_marks, count


@njit()
def _back(
    released: Ints,
    original: Ints,
    count: Ints,
    near: Ints,
    sides: Ints,
    least: Ints,
    entry: int,
    dear: Ints,
    ask: int,
) -> int:
    """Give cells of one record back, dearest first, while all keep enough; none where fewer than ``ask`` come back."""
    given = 0
    taken = 0
    for j in dear:
        if released[entry, j] != 0 or original[entry, j] == 0:
            continue
        if _fine(released, original, count, near, sides, least, entry, j):
            _told(released, original, count, near, sides, entry, j, 1)
            released[entry, j] = original[entry, j]
            taken |= 1 << j
            given += 1
    if given >= ask:
        return given
    for j in dear:
        if taken >> j & 1:
            released[entry, j] = 0
            _told(released, original, count, near, sides, entry, j, -1)
    return 0


@njit(inner=True)
def _fine(
    released: Ints, original: Ints, count: Ints, near: Ints, sides: Ints, least: Ints, entry: int, j: int
) -> bool:
    """Whether all keep enough records like them when a record gets a cell back."""
    for c in range(len(sides)):
        if not sides[c] >> j & 1:
            continue
        loss = 0
        for f in range(len(count)):
            if f == entry or released[f, j] == 0 or released[f, j] == original[entry, j]:
                continue
            if _agree(released, entry, f, sides[c]):
                loss += count[f]
                if near[c, f] - count[entry] < least[c]:
                    return False
        if near[c, entry] - loss < least[c]:
            return False
    return True


@njit(inner=True)
def _told(released: Ints, original: Ints, count: Ints, near: Ints, sides: Ints, entry: int, j: int, sign: int) -> None:
    """Note who no longer (or again) agrees with a record when it gets a cell back (or loses it)."""
    for c in range(len(sides)):
        if not sides[c] >> j & 1:
            continue
        for f in range(len(count)):
            if f == entry or released[f, j] == 0 or released[f, j] == original[entry, j]:
                continue
            if _agree(released, entry, f, sides[c]):
                near[c, f] -= sign * count[entry]
                near[c, entry] -= sign * count[f]


@njit(inner=True)
def _agree(released: Ints, a: int, b: int, side: int) -> bool:
    """Whether two records agree on some cells, wherever both have a value."""
    for j in range(released.shape[1]):
        if side >> j & 1 and released[a, j] != 0 and released[b, j] != 0 and released[a, j] != released[b, j]:
            return False
    return True


def weak_entries(keys: Keys, key: Ints, marks: Marks, sizes: Mapping[int, int]) -> Bools:
    """Which entries have a released pattern that too few originals fit.

    Parameters
    ----------
    keys : Keys
        The keys.
    key, marks : array of int
        Entries: number of the key, and its blank cells.
    sizes : mapping of int to int
        As for :func:`pattern_marks`.

    Returns
    -------
    array of bool
    """
    released = keys.released(key, marks)
    weak = np.zeros(len(key), np.bool_)
    for cells, k in _hardest((1 << keys.m) - 1, sizes):
        seen = (cells >> np.arange(keys.m)) & 1 == 1
        weak |= fitting_counts(np.where(seen, released, 0) - 1, keys.rows - 1, keys.counts) < k
    return weak
