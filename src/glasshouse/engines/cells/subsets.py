"""Minimal sample uniques: the smallest sets of keys on which a record is alone in its table.

Walks the lattice of key subsets depth first in an order in which every subset comes before its supersets. A record
alone on S stays alone on every superset and disturbs nobody else there, so it leaves the walk: each step groups only
the classes that still share their group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from glasshouse.data.arrays import Ints

MOST_KEYS = 16
DENSE = 16  # counting into an array of up to this many places per row is cheaper than sorting the rows


@dataclass(frozen=True)
class MinimalUniques:
    """One set of keys and the classes for which it is a minimal sample unique.

    Attributes
    ----------
    mask : int
        The keys, bit k for key k.
    size : int
        Number of keys.
    rows : array of int
        Positions in the list of classes given.
    """

    mask: int
    size: int
    rows: Ints


def minimal_uniques(codes: Ints, sizes: Ints, largest: int | None = None) -> Iterator[MinimalUniques]:
    """Every set of keys with the classes that are unique on it and on no proper subset of it.

    Parameters
    ----------
    codes : array of int
        One row per class (distinct key combination), one column per key; -1 is missing.
    sizes : array of int
        Records of each class.
    largest : int, optional
        Most keys of a set. Default: all keys.

    Yields
    ------
    MinimalUniques
        A missing value is never part of a minimal unique, but counts as an ordinary value for the other records.

    References
    ----------
    Elliot, Manning & Ford (2002), A computational algorithm for handling the special uniques problem.
    """
    keys = codes.shape[1]
    largest = keys if largest is None else min(largest, keys)
    single = np.flatnonzero(sizes == 1)  # only a record alone on all keys can be alone on some of them
    place = np.full(len(codes), -1, np.int64)
    place[single] = np.arange(len(single))
    gaps = (codes[single] < 0) @ (1 << np.arange(keys, dtype=np.int64))
    values = [np.ascontiguousarray(codes[:, k] + 1) for k in range(keys)]
    levels = [int(v.max(initial=0)) + 1 for v in values]
    alone: dict[int, np.ndarray] = {}  # packed flags per mask: which single classes are alone on it

    def walk(mask: int, size: int, low: int, rows: Ints, group: Ints, groups: int) -> Iterator[MinimalUniques]:
        for key in range(low):
            inner = mask | 1 << key
            lone, shared, regrouped, count = _refine(rows, group, groups, values[key], levels[key])
            flags = np.zeros(len(single), bool)
            known = place[lone]
            flags[known[known >= 0]] = True
            before = np.zeros(len(single), bool)
            for bit in range(keys):
                if inner >> bit & 1 and (inner ^ 1 << bit) in alone:
                    before |= np.unpackbits(alone[inner ^ 1 << bit], count=len(single)).view(bool)
            fresh = flags & ~before & (gaps & inner == 0)
            if fresh.any():
                yield MinimalUniques(inner, size + 1, single[fresh])
            if size + 1 < largest:
                # rows the walk lost on its own path are alone here too
                alone[inner] = np.packbits(flags | before)
                if len(shared):
                    yield from walk(inner, size + 1, key, shared, regrouped, count)

    rows = np.arange(len(codes))
    yield from walk(0, 0, keys, rows, np.zeros(len(codes), np.int64), 1)


def _refine(rows: Ints, group: Ints, groups: int, value: Ints, levels: int) -> tuple[Ints, Ints, Ints, int]:
    """Split groups by one more key: the rows now alone, the rows that still share, their new groups and how many there
    are.
    """
    identity = group * levels + value[rows]
    space = groups * levels
    if space <= DENSE * len(rows):
        counts = np.bincount(identity, minlength=space)
        many = counts[identity] > 1
        renumber = np.cumsum(counts > 1) - 1
        regrouped = renumber[identity[many]]
        left = int((counts > 1).sum())
    else:
        _, inverse, counts = np.unique(identity, return_inverse=True, return_counts=True)
        many = counts[inverse] > 1
        renumber = np.cumsum(counts > 1) - 1
        regrouped = renumber[inverse[many]]
        left = int((counts > 1).sum())
    return rows[~many], rows[many], regrouped, left
