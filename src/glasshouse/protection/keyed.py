"""Records as an attacker who knows some columns sees them: distinct keys with counts, and codes of what is left of a
key when cells of it are blanked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError
from glasshouse.data.arrays import Bools, Floats, Ints
from glasshouse.engines.cells.wildcards import dense_ids, fitting_counts
from glasshouse.protection.held import Held

MOST_KEYS = 12  # 4,096 subsets of cells
Marks: TypeAlias = Ints  # one bit per key: cells that are blank

READINGS = ("category", "pattern", "candidates", "wildcard")


@dataclass(frozen=True)
class Keys:
    """Distinct keys of a table.

    Parameters
    ----------
    rows : array of int
        [distinct keys, keys]: codes in the order of the values; 0 is missing.
    counts : array of int
        Records with each.
    of : array of int
        For every record the number of its key.
    """

    rows: Ints
    counts: Ints
    of: Ints

    @property
    def m(self) -> int:
        """Number of keys."""
        return int(self.rows.shape[1])

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.of)

    @cached_property
    def blank(self) -> Marks:
        """The cells that are missing from the start, as bits."""
        return (self.rows == 0) @ (1 << np.arange(self.m, dtype=np.int64))

    @cached_property
    def parts(self) -> np.ndarray:
        """What each cell adds to the code of its record: 0 for a missing one.

        The sum over the cells that are not blanked is the code of a released key: equal keys, equal codes. Codes are
        exact where the number of possible keys fits into 63 bits; else the parts are drawn at random from 64 bits.
        """
        sizes = self.rows.max(axis=0, initial=0).astype(object) + 1
        strides = [int(np.prod(sizes[:j])) if j else 1 for j in range(self.m)]
        if int(np.prod(sizes)) < 2**62:
            return np.asarray(self.rows * np.array(strides, np.int64), np.uint64)
        rng = np.random.default_rng(20)  # no figure depends on it
        tables = [rng.integers(1, 2**64, int(size), dtype=np.uint64) for size in sizes]
        for table in tables:
            table[0] = 0
        return np.stack([table[column] for table, column in zip(tables, self.rows.T, strict=True)], axis=1)

    @cached_property
    def whole(self) -> np.ndarray:
        """Codes of the keys as they are."""
        return np.asarray(self.parts.sum(axis=1, dtype=np.uint64))

    def code(self, subset: int, which: Ints | slice = slice(None)) -> np.ndarray:
        """Codes of keys with the cells of a subset blanked.

        Parameters
        ----------
        subset : int
            The cells, as bits.
        which : array of int, optional
            The keys asked about. Default: all.

        Returns
        -------
        array of uint64
        """
        found = self.whole[which].copy()
        for j in range(self.m):
            if subset >> j & 1:
                found -= self.parts[which, j]
        return found

    def released(self, which: Ints, marks: Marks) -> Ints:
        """Codes of keys with cells blanked, 0 where blank.

        Parameters
        ----------
        which : array of int
            The keys.
        marks : array of int
            The cells of each that are blanked, as bits.

        Returns
        -------
        array of int
            [keys, cells].
        """
        return np.where((marks[:, None] >> np.arange(self.m)) & 1 == 1, 0, self.rows[which])


def keys_of(held: Held, names: Sequence[str], rows: Ints | None = None) -> Keys:
    """Distinct keys of the records, in an order that depends on the values alone.

    Parameters
    ----------
    held : Held
        The table.
    names : sequence of str
        The keys.
    rows : array of int, optional
        The records that count. Default: all.

    Returns
    -------
    Keys
    """
    if len(names) > MOST_KEYS:
        raise InputError(
            f"{len(names)} keys have too many subsets to be looked at one by one; take {MOST_KEYS} or fewer"
        )
    coded = np.stack([value_codes(held[name]) for name in names], axis=1)
    coded = coded if rows is None else coded[rows]
    ids = dense_ids(coded)
    _, first, of = np.unique(ids, return_index=True, return_inverse=True)
    distinct = coded[first]
    order = np.lexsort(distinct.T[::-1])
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    of = place[of]
    return Keys(distinct[order], np.bincount(of, minlength=len(order)), of)


def value_codes(values: pl.Series) -> Ints:
    """Codes from 1 in the order of the values; 0 is missing."""
    made = values.cast(pl.String) if values.dtype in (pl.Categorical, pl.Object) or values.dtype == pl.Enum else values
    codes = made.rank("dense").fill_null(0).cast(pl.Int64).to_numpy()
    return np.asarray(codes, np.int64)


@dataclass(frozen=True)
class Readings:
    """How many records are like each, by four readings of a missing cell; one figure per released record.

    Parameters
    ----------
    category : array of int
        Released records equal to it, missing equal to missing.
    pattern : array of int
        Original records that fit its released key.
    candidates : array of int
        Released records that fit its original key: what somebody who knows the whole key of this person finds.
    wildcard : array of int
        Released records that agree with it wherever both have a value.
    """

    category: Ints
    pattern: Ints
    candidates: Ints
    wildcard: Ints

    def below(self, k: int) -> dict[str, int]:
        """Records with fewer than k like them, by reading."""
        return {name: int((getattr(self, name) < k).sum()) for name in READINGS}

    def least(self) -> dict[str, int]:
        """The smallest figure, by reading."""
        return {name: int(getattr(self, name).min()) for name in READINGS}


def readings(before: Ints, after: Ints) -> Readings:
    """The four readings of a released table.

    Parameters
    ----------
    before, after : array of int
        [records, keys]: codes of the original and the released keys, 0 is missing; row i of both is one record.

    Returns
    -------
    Readings
    """
    ids = dense_ids(np.concatenate([before, after], axis=1))
    _, first, of = np.unique(ids, return_index=True, return_inverse=True)
    counts = np.bincount(of)
    x, y = before[first] - 1, after[first] - 1
    _, same = np.unique(dense_ids(y + 1), return_inverse=True)
    equal = np.bincount(same, weights=counts)[same]
    figures = (equal, fitting_counts(y, x, counts), fitting_counts(x, y, counts), fitting_counts(y, y, counts))
    return Readings(*(np.rint(figure).astype(np.int64)[of] for figure in figures))


def weight_of(subset: int, costs: Floats) -> float:
    """What blanking the cells of a subset costs."""
    return float(sum(cost for j, cost in enumerate(costs) if subset >> j & 1))


def subsets(allowed: int, costs: Floats) -> list[int]:
    """Subsets of the cells that may be blanked, cheapest first; the empty one leads."""
    found = [s for s in range(allowed + 1) if s & ~allowed == 0]
    return sorted(found, key=lambda s: (weight_of(s, costs), s.bit_count(), s))


def newly(marks: Marks, blank: Marks, m: int) -> Bools:
    """[records, keys]: cells that are blanked and were not missing before."""
    new = marks & ~blank
    return (new[:, None] >> np.arange(m)) & 1 == 1
