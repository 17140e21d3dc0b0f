"""Logistic regression that survives separated data: maximum likelihood, or Firth's penalised likelihood where that has
no maximum.

    maximise  log L(beta) + 1/2 log det I(beta)

whose score is X'(y - p + h (1/2 - p)) with the leverages h of the weighted design.

References
----------
Firth, D. (1993), Bias reduction of maximum likelihood estimates, Biometrika 80, 27-38.
Heinze, G. & Schemper, M. (2002), A solution to the problem of separation in logistic regression, Statistics in
Medicine 21, 2409-2419.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.engines.models.linear.rank import independent_columns

HOPELESS_SE = 10.0


@dataclass(frozen=True)
class FirthFit:
    """Coefficients on the columns of a design, their covariance, and how they were found.

    ``used`` flags the columns that could be estimated; the others have NaN.
    """

    coefficients: np.ndarray
    covariance: np.ndarray
    method: str
    converged: bool
    used: np.ndarray


def firth_logistic(
    x: np.ndarray, y: np.ndarray, penalty: str = "auto", counts: np.ndarray | None = None, max_iter: int = 100
) -> FirthFit:
    """Logistic regression by Newton steps, penalised where the data are separated.

    Parameters
    ----------
    x
        Design, the intercept among its columns; aliased columns are left out, the later ones of a set.
    y
        Flags, 0 or 1; with ``counts`` the number of flags among that many records with the same row of ``x``.
    penalty
        "none" (maximum likelihood), "firth", or "auto": Firth's when maximum likelihood does not converge or a
        standard error is beyond any meaning.
    counts
        Records behind each row of ``x``; None: one each.
    max_iter
        Most Newton steps.

    Returns
    -------
    FirthFit
        Coefficients, covariance and the method that found them.
    """
    if penalty not in ("auto", "none", "firth"):
        raise InputError(f"penalty={penalty!r} is unknown; choose 'auto', 'none' or 'firth'")
    trials = np.ones(len(y)) if counts is None else np.asarray(counts, float)
    used = independent_columns(x)
    q, r = np.linalg.qr(x[:, used])
    scale = np.sqrt(len(y))
    q, r = q * scale, r / scale
    firth = penalty == "firth"
    theta, information, converged = _newton(q, y, trials, firth, max_iter)
    if not firth and penalty == "auto" and (not converged or _exploded(r, information)):
        firth = True
        theta, information, converged = _newton(q, y, trials, True, max_iter)
    back = np.linalg.inv(r)
    beta = np.full(x.shape[1], np.nan)
    beta[used] = back @ theta
    covariance = np.full((x.shape[1], x.shape[1]), np.nan)
    covariance[np.ix_(used, used)] = back @ np.linalg.pinv(information) @ back.T
    return FirthFit(beta, covariance, "Firth" if firth else "maximum likelihood", converged, used)


def cells_of(columns: Sequence[np.ndarray], y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Records with the same keys as one row.

    Parameters
    ----------
    columns
        Keys as numbers or level codes.
    y
        Flags, 0 or 1.

    Returns
    -------
    first, counts, flags : ndarray
        First record of each distinct row, records in it, flags among them.
    """
    _, first, index = np.unique(np.column_stack(columns), axis=0, return_index=True, return_inverse=True)
    index = index.ravel()
    return first, np.bincount(index).astype(float), np.bincount(index, weights=y)


def _newton(
    q: np.ndarray, y: np.ndarray, trials: np.ndarray, firth: bool, max_iter: int
) -> tuple[np.ndarray, np.ndarray, bool]:
    theta = np.zeros(q.shape[1])
    value, score, information = _likelihood(q, y, trials, theta, firth)
    for _ in range(max_iter):
        step = np.linalg.lstsq(information, score, rcond=None)[0]
        longest = float(np.abs(step).max(initial=0.0))
        step *= min(1.0, 5.0 / longest) if longest > 0 else 1.0
        for _ in range(25):
            trial = _likelihood(q, y, trials, theta + step, firth)
            if trial[0] >= value - 1e-12 * abs(value):
                break
            step /= 2
        theta = theta + step
        gained, (value, score, information) = trial[0] - value, trial
        if abs(gained) < 1e-10 * (abs(value) + 0.1) and float(np.abs(step).max(initial=0.0)) < 1e-6:
            return theta, information, True
    return theta, information, False


def _likelihood(
    q: np.ndarray, y: np.ndarray, trials: np.ndarray, theta: np.ndarray, firth: bool
) -> tuple[float, np.ndarray, np.ndarray]:
    from scipy.special import expit

    eta = np.clip(q @ theta, -500, 500)
    p = expit(eta)
    weight = trials * np.maximum(p * (1 - p), 1e-12)
    information = (q * weight[:, None]).T @ q
    value = float(y @ eta - trials @ np.logaddexp(0, eta))
    residual = y - trials * p
    if firth:
        value += 0.5 * float(np.linalg.slogdet(information)[1])
        leverage = weight * ((q @ np.linalg.pinv(information)) * q).sum(axis=1)
        residual = residual + leverage * (0.5 - p)
    return value, q.T @ residual, information


def _exploded(r: np.ndarray, information: np.ndarray) -> bool:
    """A standard error beyond any meaning on a column of unit scale: the likelihood has no maximum."""
    back = np.linalg.inv(r)
    variance = np.diag(back @ np.linalg.pinv(information) @ back.T)
    spread = np.sqrt((r * r).sum(axis=0))  # root mean square of each column
    return bool((np.sqrt(np.maximum(variance, 0)) * np.minimum(spread, 1.0) > HOPELESS_SE).any())
