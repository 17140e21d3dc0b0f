"""Sums that come out the same whatever the order of rows and the number of threads.

A data frame library adds decimals in the order its threads deliver them, so that the last digit of a sum differs from
run to run. Whole numbers do not care; decimals are added here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from glasshouse.data.arrays import Floats, Ints


def sum_of(column: pl.Series) -> int | float:
    """The sum of a column, exact for whole numbers and correctly rounded for decimals.

    Parameters
    ----------
    column : polars.Series
        Whole numbers, decimals or booleans.

    Returns
    -------
    int or float
        0 for an empty column.

    References
    ----------
    Shewchuk (1997), Adaptive precision floating-point arithmetic.
    """
    if column.dtype.is_float():
        return math.fsum(column.to_numpy())
    return int(column.sum() or 0)


def first_of_group(table: pl.DataFrame, by: Sequence[str]) -> Ints:
    """Where each group of a table sorted by group begins.

    Parameters
    ----------
    table : polars.DataFrame
        Rows of one group stand together.
    by : sequence of str
        The columns that make a group.

    Returns
    -------
    array of int
    """
    group = table.select(pl.struct(by).rle_id()).to_series().to_numpy()
    return np.flatnonzero(np.r_[True, group[1:] != group[:-1]]) if group.size else np.zeros(0, np.int64)


def added_up(values: np.ndarray, starts: Ints) -> Floats:
    """Sums per group, added in the order of the rows.

    Parameters
    ----------
    values : array
        One per row.
    starts : array of int
        What :func:`first_of_group` gave.

    Returns
    -------
    array of float
    """
    made: Floats = np.add.reduceat(values.astype(float), starts) if starts.size else np.zeros(0)
    return made
