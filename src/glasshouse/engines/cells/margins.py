"""Many small frequency tables over the same records: every one-, two- or three-way table of a set of coded columns.

The cell engine answers one question about one set of keys in any frame library; here hundreds of low-dimensional
tables of the same two files are wanted, and again for every resample. So columns are coded once, in memory, and each
table is one pass of a compiled loop over the codes. Nothing larger than the table itself is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glasshouse.data.arrays import Bools, Floats, Ints
from glasshouse.data.pair import Pair
from glasshouse.engines.cells.grouping import quantile_groups

DENSE = 20_000_000  # cells; a larger table is counted over the cells that occur


@dataclass(frozen=True)
class Coded:
    """Columns of one file as level codes.

    Parameters
    ----------
    names : tuple of str
        The columns.
    codes : array of int
        [columns, records], never negative.
    sizes : tuple of int
        Number of levels of each column.
    weights : array of float or None
        Survey weights of the records.
    """

    names: tuple[str, ...]
    codes: Ints
    sizes: tuple[int, ...]
    weights: Floats | None

    @property
    def n(self) -> int:
        """Number of records."""
        return self.codes.shape[1]

    def take(self, rows: Ints | None) -> Coded:
        """Some records.

        Parameters
        ----------
        rows : array of int or None
            Their positions; None takes all.

        Returns
        -------
        Coded
        """
        if rows is None:
            return self
        weights = None if self.weights is None else self.weights[rows]
        return Coded(self.names, np.take(self.codes, rows, axis=1), self.sizes, weights)

    def beside(self, other: Coded) -> Coded:
        """The records of two files one after the other; those without a weight count once.

        Parameters
        ----------
        other : Coded
            The second file, coded jointly.

        Returns
        -------
        Coded
        """
        weights = None
        if self.weights is not None:
            weights = np.concatenate([self.weights, np.ones(other.n) if other.weights is None else other.weights])
        return Coded(self.names, np.concatenate([self.codes, other.codes], axis=1), self.sizes, weights)

    def unweighted(self) -> Coded:
        """The same records, each counting once.

        Returns
        -------
        Coded
        """
        return Coded(self.names, self.codes, self.sizes, None)


def coded(pair: Pair, columns: Sequence[str], table: str, groups: int | None = 5, missing: str = "level") -> Coded:
    """Columns of one table of a pair as codes, joint over the tables of the pair.

    Parameters
    ----------
    pair : Pair
        The tables; the codes are kept with it.
    columns : sequence of str
        The columns.
    table : str
        One of the tables.
    groups : int or None, default 5
        Numbers are put into so many pooled quantile groups; None makes every value its own level.
    missing : {"level", "drop"}, default "level"
        "level" makes missing a level of its own, "drop" leaves out records with any of the columns missing.

    Returns
    -------
    Coded
        Weights, if any, are scaled to sum to the effective sample size.
    """
    key = ("coded", tuple(columns), table, groups, missing)
    return pair.memo(key, lambda: _coded(pair, tuple(columns), table, groups, missing))


def _coded(pair: Pair, columns: tuple[str, ...], table: str, groups: int | None, missing: str) -> Coded:
    parts, sizes = [], []
    for name in columns:
        valued = any((pair.codes(name).of(t) >= 0).any() for t in ("original", "released"))
        grouped = pair.is_numeric(name) and groups is not None and valued
        codes = quantile_groups(pair, name, int(groups or 2)).codes(pair, name) if grouped else pair.codes(name)
        array, size = codes.of(table), codes.n_levels
        if missing == "level" and any((codes.of(t) < 0).any() for t in ("original", "released")):
            array, size = np.where(array < 0, size, array), size + 1
        parts.append(array.astype(np.int32))
        sizes.append(size)
    made = np.stack(parts)
    weights = pair.weight_values(table)
    if missing == "drop":
        keep = (made >= 0).all(axis=0)
        made, weights = made[:, keep], None if weights is None else weights[keep]
    if weights is not None and weights.sum() > 0:
        weights = weights * (weights.sum() / (weights**2).sum())
    return Coded(columns, np.ascontiguousarray(made), tuple(sizes), weights)


def complete_rows(pair: Pair, columns: Sequence[str], table: str = "original") -> Bools:
    """Which records have a value in all the columns.

    Parameters
    ----------
    pair : Pair
        The tables.
    columns : sequence of str
        The columns.
    table : str, default "original"
        One of the tables.

    Returns
    -------
    array of bool
    """
    present = np.ones(pair.n(table), bool)
    for name in columns:
        present &= pair.codes(name).of(table) >= 0
    return present


def count(data: Coded, which: Sequence[int]) -> Floats:
    """Counts (sums of weights) of one table.

    Parameters
    ----------
    data : Coded
        The records.
    which : sequence of int
        Positions of the columns of the table.

    Returns
    -------
    array of float
        Flat, the last column fastest.
    """
    from glasshouse.engines.cells.margins_kernel import tally

    strides = _strides([data.sizes[j] for j in which])
    cells = int(np.prod([data.sizes[j] for j in which], dtype=np.int64))
    weights = np.ones(1) if data.weights is None else data.weights
    return np.asarray(tally(data.codes, np.asarray(which, np.int64), strides, cells, weights, data.weights is not None))


def count_both(x: Coded, y: Coded, which: Sequence[int]) -> tuple[Floats, Floats]:
    """Counts of one table in two files, over the cells that occur in either.

    Parameters
    ----------
    x, y : Coded
        The files, coded jointly.
    which : sequence of int
        Positions of the columns of the table.

    Returns
    -------
    (of_x, of_y) : tuple of arrays of float
    """
    cells = int(np.prod([x.sizes[j] for j in which], dtype=np.int64))
    if cells <= DENSE:
        d, s = count(x, which), count(y, which)
        kept = (d + s) > 0
        return d[kept], s[kept]
    strides = _strides([x.sizes[j] for j in which])
    joint = [strides @ data.codes[list(which)].astype(np.int64) for data in (x, y)]
    distinct, at = np.unique(np.concatenate(joint), return_inverse=True)
    sides = (at[: x.n], at[x.n :])
    counted = [
        np.bincount(a, weights=data.weights, minlength=len(distinct)).astype(float)
        for a, data in zip(sides, (x, y), strict=True)
    ]
    return counted[0], counted[1]


def _strides(sizes: Sequence[int]) -> Ints:
    """How far apart neighbouring levels of each column lie in a flat table."""
    strides = np.ones(len(sizes), np.int64)
    for j in range(len(sizes) - 2, -1, -1):
        strides[j] = strides[j + 1] * sizes[j + 1]
    return strides
