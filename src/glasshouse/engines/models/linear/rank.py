"""The one rank rule: which columns of a design are no combination of the columns before them.

    column j stays  <=>  |x_j - projection of x_j on the columns kept before it|  >  tolerance * |x_j|

So the earliest independent columns stay and the later ones of an aliased set go, as in the least squares of the usual
statistical software (Chambers & Hastie 1992, chapter 4, with the limited column pivoting of its QR). The diagonal of
an ordinary QR does not answer this: past the first dependent column its rows no longer belong to its columns.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from glasshouse.core.threads import one_blas_thread
from glasshouse.engines.workers import in_threads

TOLERANCE = 1e-7
BLOCK = 20_000  # records factorised at a time: a factorisation needs as much room again as it is given
CROSS_TOLERANCE = 1e-5  # cross-products are squares of lengths and hold half the digits


@one_blas_thread()
def independent_columns(design: np.ndarray, tolerance: float = TOLERANCE) -> NDArray[np.bool_]:
    """Which columns of a dense design the ones before them do not determine.

    Parameters
    ----------
    design
        Records by columns, the intercept among the columns if the model has one. The rule does not depend on the
        scale of a column, but centred columns keep more digits.
    tolerance
        Share of a column's length that must be new.

    Returns
    -------
    ndarray of bool
        One flag per column.

    Notes
    -----
    The records are factorised block by block, and the triangles of the blocks once more; then only that triangle is
    looked at.
    """
    if 0 in design.shape:
        return np.zeros(design.shape[1], np.bool_)

    def triangle(rows: np.ndarray) -> np.ndarray:
        return np.asarray(np.linalg.qr(rows, mode="r"))

    block = max(BLOCK, 4 * design.shape[1])
    if len(design) <= block:
        return _row_echelon(triangle(design), tolerance)
    parts = in_threads(lambda at: triangle(design[at : at + block]), range(0, len(design), block))
    return _row_echelon(triangle(np.concatenate(parts)), tolerance)


def independent_in_cross(cross: np.ndarray, tolerance: float = CROSS_TOLERANCE) -> NDArray[np.bool_]:
    """The same rule for a design of which only the cross-product matrix exists.

    Parameters
    ----------
    cross
        X'X, symmetric.
    tolerance
        Share of a column's length that must be new.

    Returns
    -------
    ndarray of bool
        One flag per column.
    """
    from scipy.linalg.lapack import dpstrf

    length = np.sqrt(np.diag(cross))
    length = np.where(length > 0, length, 1.0)
    upper, pivots, rank, _ = dpstrf(cross / np.outer(length, length))
    # any matrix with these cross-products stands for the design: here the pivoted Cholesky factor, columns put back
    factor = np.zeros((rank, len(cross)))
    factor[:, pivots - 1] = np.triu(upper)[:rank]
    return independent_columns(factor, tolerance)


def _row_echelon(triangle: np.ndarray, tolerance: float) -> NDArray[np.bool_]:
    """Reflect each kept column onto one row; a column with too little left below the rows already taken goes."""
    work = triangle.copy()
    rows, columns = work.shape
    length = np.linalg.norm(triangle, axis=0)
    kept = np.zeros(columns, np.bool_)
    taken = 0
    for j in range(columns):
        stop = min(j + 1, rows)  # below the diagonal there is nothing yet
        left = work[taken:stop, j]
        new = float(np.linalg.norm(left))
        if not new > tolerance * length[j]:
            continue
        kept[j] = True
        if len(left) > 1:
            mirror = left.copy()
            mirror[0] += np.copysign(new, mirror[0])
            mirror /= np.linalg.norm(mirror)
            work[taken:stop, j:] -= 2.0 * np.outer(mirror, mirror @ work[taken:stop, j:])
        taken += 1
    return kept
