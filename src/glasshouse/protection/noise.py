"""Noise on plain arrays: added to numbers so that means, correlations or whole covariance matrices stay.

Brand (2002), Microdata protection through noise addition.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.data.arrays import Bools, Floats

SINGULAR = 1e-10  # share of the largest eigenvalue below which a direction has no variance


@dataclass(frozen=True)
class Moments:
    """Means, standard deviations and correlations; a constant column correlates with nothing."""

    means: Floats
    sds: Floats
    correlations: Floats

    @property
    def covariance(self) -> Floats:
        """S, with the divisor n - 1."""
        return self.correlations * np.outer(self.sds, self.sds)


def moments(values: Floats) -> Moments:
    """Means, standard deviations and correlations of complete records.

    Parameters
    ----------
    values : array [record, column]
        Nothing missing; at least two records.

    Returns
    -------
    Moments
    """
    means = values.mean(axis=0)
    centred = values - means
    sds = np.sqrt((centred**2).sum(axis=0) / (len(values) - 1))
    sds[np.ptp(values, axis=0) == 0] = 0.0
    unit = centred / np.where(sds > 0, sds, 1.0) * (sds > 0)
    correlations = unit.T @ unit / (len(values) - 1)
    np.fill_diagonal(correlations, 1.0)
    return Moments(means, sds, correlations)


def root(matrix: Floats, power: float = 0.5) -> Floats:
    """The symmetric root of a matrix, also of a singular one; ``power`` -0.5 for that of its inverse.

    Parameters
    ----------
    matrix : array
        Symmetric, no eigenvalue below 0 but for rounding.
    power : float, default 0.5
        Power of the eigenvalues.

    Returns
    -------
    array
        The symmetric root does not depend on the order of the columns, as a triangular one would.
    """
    eigenvalues, vectors = np.linalg.eigh(matrix)
    kept = eigenvalues > SINGULAR * max(float(eigenvalues.max(initial=0.0)), 0.0)
    powers = np.where(kept, np.where(kept, eigenvalues, 1.0) ** power, 0.0)
    return (vectors * powers) @ vectors.T


def orthogonal(draws: Floats, values: Floats) -> Floats:
    """Draws with sample means 0, sample covariance I, and no sample covariance with the values.

    Parameters
    ----------
    draws : array [record, column]
        Independent standard normal numbers.
    values : array [record, column]
        What they must not correlate with.

    Returns
    -------
    array [record, column]

    Raises
    ------
    InputError
        When there are too few records.
    """
    n, columns = draws.shape
    free = n - 1 - int(np.linalg.matrix_rank(values - values.mean(axis=0)))
    if free < columns:
        raise InputError(
            f"exact=True needs at least {n + columns - free} complete records for {columns} columns, and there are {n}"
        )
    base = np.column_stack([np.ones(n), standardised(values)])
    left, sizes, _ = np.linalg.svd(base, full_matrices=False)
    left = left[:, sizes > SINGULAR * sizes[0]]
    rest = draws - left @ (left.T @ draws)
    rest -= left @ (left.T @ rest)  # once more: what rounding left over
    return rest @ root(rest.T @ rest / (n - 1), -0.5)


def standardised(values: Floats) -> Floats:
    """Columns with mean 0 and standard deviation 1, constant ones 0."""
    of = moments(values)
    return (values - of.means) / np.where(of.sds > 0, of.sds, 1.0) * (of.sds > 0)


def disturbed(values: Floats, draws: Floats, of: Moments, scale: float, method: str) -> Floats:
    """Numbers with noise.

    Parameters
    ----------
    values : array [record, column]
        NaN stays NaN.
    draws : array [record, column]
        Standard normal numbers.
    of : Moments
        Of the values.
    scale : float
        Standard deviation of the noise over that of the data.
    method : {"correlated", "independent", "kept_moments"}
        See :func:`glasshouse.protection.add_noise`.

    Returns
    -------
    array [record, column]
    """
    noise = (draws if method == "independent" else draws @ root(of.correlations)) * of.sds * scale
    if method == "kept_moments":
        return of.means + np.sqrt(1.0 - scale**2) * (values - of.means) + noise
    return values + noise


def reflected(values: Floats, low: float | None, high: float | None) -> Floats:
    """Values beyond a bound thrown back to the inside, as often as it takes.

    Parameters
    ----------
    values : array
        NaN stays NaN.
    low, high : float or None
        The bounds.

    Returns
    -------
    array
    """
    if low is not None and high is not None:
        width = high - low
        folded = np.mod(values - low, 2.0 * width)
        return np.where((values < low) | (values > high), low + np.minimum(folded, 2.0 * width - folded), values)
    if low is not None:
        return np.where(values < low, 2.0 * low - values, values)
    return values if high is None else np.where(values > high, 2.0 * high - values, values)


def complete(values: Floats) -> Bools:
    """Records in which nothing is missing."""
    return np.asarray(~np.isnan(values).any(axis=1))
