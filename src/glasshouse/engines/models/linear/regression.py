"""Least squares and logistic regression with standard errors: what analysts fit and what propensity scores need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from glasshouse.core.threads import one_blas_thread
from glasshouse.engines.models.linear.solve import solve
from glasshouse.engines.workers import in_threads

Found = TypeVar("Found")

MAX_ITERATIONS = 50
CERTAIN = 1e-12  # the least variance of an outcome: below, 1 - mean is nothing but rounding, and errors would be noise
BLOCK = 4096  # records whose part of a sum stays in a cache; parts are added in order, whoever computed them
SEPARATED = (
    "some fitted probabilities are 0 or 1: the predictors separate the classes somewhere, and coefficients are "
    "not finite"
)


@dataclass(frozen=True)
class Fitted:
    """Coefficients, standard errors, fitted values; ``df`` residual degrees of freedom (None: normal intervals)."""

    coefficients: np.ndarray
    errors: np.ndarray
    fitted: np.ndarray
    df: float | None
    notes: tuple[str, ...] = ()


@one_blas_thread()
def least_squares(design: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> Fitted:
    """Ordinary or weighted least squares.

    Parameters
    ----------
    design
        Records by columns, the intercept among them, of full column rank (:mod:`.rank` finds such columns).
    y
        Response.
    weights
        Sampling weights, scaled to mean 1.

    Returns
    -------
    Fitted
        With ordinary standard errors, or with weights the sandwich ones, which are valid for sampling weights.
    """
    if weights is None:
        q, r = np.linalg.qr(design)
        coefficients = np.linalg.solve(r, q.T @ y)
        fitted = design @ coefficients
        df = float(len(y) - design.shape[1])
        inverse = np.linalg.inv(r)
        variance = float(((y - fitted) ** 2).sum()) / max(df, 1.0)
        return Fitted(coefficients, np.sqrt(variance * (inverse**2).sum(axis=1)), fitted, df)
    w = weights / weights.mean()
    root = np.sqrt(w)
    q, r = np.linalg.qr(design * root[:, None])
    coefficients = np.linalg.solve(r, q.T @ (y * root))
    fitted = design @ coefficients
    df = float(len(y) - design.shape[1])
    inverse = np.linalg.inv(r)
    bread = inverse @ inverse.T
    half = design * (w * (y - fitted))[:, None]
    covariance = bread @ (half.T @ half) @ bread * (len(y) / max(df, 1.0))
    return Fitted(coefficients, np.sqrt(np.diag(covariance)), fitted, df)


@one_blas_thread()
def logistic(
    design: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    errors: bool = True,
    tolerance: float = 1e-12,
    start: np.ndarray | None = None,
) -> Fitted:
    """Maximum likelihood by iteratively reweighted least squares on the normal equations.

    Parameters
    ----------
    design
        Records by columns, the intercept first.
    y
        Flags, 0 or 1.
    weights
        Sampling weights, scaled to mean 1; the standard errors are then sandwich ones.
    errors
        Whether to compute standard errors (else zeros); they cost as much as several steps.
    tolerance
        The fit ends when the deviance changes by less than this share of itself.
    start
        Coefficients to begin with, of a fit to much the same records; default: guessing by the share alone.

    Returns
    -------
    Fitted
        Coefficients, standard errors, fitted probabilities.

    Notes
    -----
    Half steps keep the deviance falling. Sums go over blocks of records, which threads share.
    """
    from scipy.special import expit

    w = np.ones(len(y)) if weights is None else weights / weights.mean()
    share = float(np.average(y, weights=w))
    beta = np.zeros(design.shape[1]) if start is None else start
    if start is None:
        beta[0] = np.log(share / (1 - share)) if 0 < share < 1 else 0.0
    parts = [slice(at, at + BLOCK) for at in range(0, len(y), BLOCK)]
    each = in_threads if len(parts) > 1 else _here
    eta, trial = np.empty(len(y)), np.empty(len(y))

    def fall(at: slice) -> tuple[np.ndarray, np.ndarray]:
        """Cross-products and slope of some records at ``eta``."""
        x, mean = design[at], expit(eta[at])
        half = x * np.sqrt(w[at] * mean * (1 - mean))[:, None]
        return half.T @ half, x.T @ (w[at] * (y[at] - mean))  # a product with itself: half the work

    def deviance_at(coefficients: np.ndarray, into: np.ndarray) -> float:
        def part(at: slice) -> float:
            into[at] = design[at] @ coefficients
            return _deviance(into[at], y[at], w[at])

        return sum(each(part, parts))

    deviance, notes = deviance_at(beta, eta), list[str]()
    for _ in range(MAX_ITERATIONS):
        gram, slope = (sum(found[1:], start=found[0]) for found in zip(*each(fall, parts), strict=True))
        gram[np.diag_indices_from(gram)] += 1e-12 * np.trace(gram) / len(gram)
        step = solve(gram, slope)
        length, previous = 1.0, deviance
        while length > 1e-4:
            deviance = deviance_at(beta + length * step, trial)
            if deviance <= previous + 1e-9 * abs(previous):
                break
            length /= 2
        beta, eta, trial = beta + length * step, trial, eta
        if abs(previous - deviance) <= tolerance * (abs(deviance) + 0.1):
            break
    else:
        notes.append("the logistic fit did not converge")
    if (np.abs(eta) > 30).any():
        notes.append(SEPARATED)
    mean = expit(eta)
    if not errors:
        return Fitted(beta, np.zeros(len(beta)), mean, None, tuple(notes))
    gram = design.T @ (design * (w * variance(mean))[:, None])
    bread = np.linalg.pinv(gram, hermitian=True)
    if weights is not None:
        half = design * (w * (y - mean))[:, None]
        bread = bread @ (half.T @ half) @ bread
    return Fitted(beta, np.sqrt(np.maximum(np.diag(bread), 0.0)), mean, None, tuple(notes))


def variance(mean: np.ndarray) -> np.ndarray:
    """Variance of outcomes 0 and 1 with fitted probabilities, as standard errors read it.

    Where classes are separated, where a fit ends is rounding. Probabilities that are all but certain then count as
    equally certain, so that two tables of which neither can tell a coefficient have intervals of one width.

    Parameters
    ----------
    mean : array of float
        Fitted probabilities.

    Returns
    -------
    array of float
    """
    return np.maximum(mean * (1 - mean), CERTAIN)


def _here(work: Callable[[slice], Found], parts: Sequence[slice]) -> list[Found]:
    """A few records are sooner done than shared out."""
    return [work(part) for part in parts]


def _deviance(eta: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    return 2.0 * float((w * (np.logaddexp(0, eta) - y * eta)).sum())
