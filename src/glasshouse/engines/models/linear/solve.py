"""Normal equations: the symmetric systems every fit of this room ends in."""

from __future__ import annotations

import numpy as np


def solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solution of a square system; least squares where separation has made it singular.

    Parameters
    ----------
    matrix
        The coefficients.
    right
        Right-hand side.

    Returns
    -------
    ndarray
        The solution.
    """
    try:
        return np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0])


def solve_symmetric(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solution of a symmetric positive system; least squares where separation has made it singular.

    Parameters
    ----------
    matrix
        Cross-products or second derivatives; only the upper triangle is read unless it is singular.
    right
        Right-hand side.

    Returns
    -------
    ndarray
        The solution.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    try:
        return np.asarray(cho_solve(cho_factor(matrix), right))
    except LinAlgError:
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0])
