"""The compiled loop of the margins engine."""

from __future__ import annotations

import numpy as np

from glasshouse.data.arrays import Floats, Ints
from glasshouse.engines.compiled import njit


@njit(nogil=True)
def tally(codes: Ints, which: Ints, strides: Ints, cells: int, weights: Floats, weighted: bool) -> Floats:
    """Counts of the joint codes of a few columns.

    Parameters
    ----------
    codes : array of int
        [columns, records]
    which : array of int
        Positions of the columns of the table.
    strides : array of int
        How far apart neighbouring levels of each lie in the flat table.
    cells : int
        Cells of the table.
    weights : array of float
        One per record; read only when ``weighted``.
    weighted : bool
        Whether records count their weight instead of once.

    Returns
    -------
    array of float
    """
    out = np.zeros(cells)
    n = codes.shape[1]
    if len(which) == 2 and not weighted:
        a, b, step = codes[which[0]], codes[which[1]], strides[0]
        for i in range(n):
            out[a[i] * step + b[i]] += 1.0
        return out
    for i in range(n):
        at = 0
        for k in range(len(which)):
            at += codes[which[k], i] * strides[k]
        out[at] += weights[i] if weighted else 1.0
    return out


@njit(nogil=True)
def tally_columns(codes: Ints, rows: Ints, weights: Floats, weighted: bool, out: Floats) -> None:
    """Adds some records to the counts of several columns side by side.

    Parameters
    ----------
    codes : array of int
        [records, columns]: where in ``out`` a record counts, column by column.
    rows : array of int
        Which records; one that is named twice counts twice.
    weights : array of float
        One per record; read only when ``weighted``.
    weighted : bool
        Whether records count their weight instead of once.
    out : array of float
        The counts.
    """
    for row in rows:
        mass = weights[row] if weighted else 1.0
        for j in range(codes.shape[1]):
            out[codes[row, j]] += mass


@njit(nogil=True)
def pair_moments(scores: Floats, weights: Floats) -> Floats:
    """Weighted moments of every pair of columns over the records that have both values.

    Parameters
    ----------
    scores : array of float
        [columns, records], NaN missing.
    weights : array of float
        One per record.

    Returns
    -------
    array of float
        [pairs of columns, 6]: sums of w, wa, wb, waa, wbb and wab.
    """
    columns, n = scores.shape
    out = np.zeros((columns * (columns - 1) // 2, 6))
    at = 0
    for j in range(columns):
        for k in range(j + 1, columns):
            for i in range(n):
                a, b, w = scores[j, i], scores[k, i], weights[i]
                if a == a and b == b:
                    out[at, 0] += w
                    out[at, 1] += w * a
                    out[at, 2] += w * b
                    out[at, 3] += w * a * a
                    out[at, 4] += w * b * b
                    out[at, 5] += w * a * b
            at += 1
    return out
