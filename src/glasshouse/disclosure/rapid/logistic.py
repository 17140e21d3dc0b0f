"""Logistic regression that survives separated data: maximum likelihood, or Firth's penalised likelihood where that has
no maximum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.disclosure.rapid.scores import Array

HOPELESS_SE = 10.0


@dataclass(frozen=True)
class Fit:
    """Coefficients on the columns of a design, their covariance, and how they were found. Aliased columns have none
    (NaN)."""

    coefficients: Array
    covariance: Array
    method: str
    converged: bool
    used: Array


def fit_logistic(x: Array, y: Array, penalty: str = "auto", counts: Array | None = None, max_iter: int = 100) -> Fit:
    """Logistic regression by Newton steps. ``penalty``: "none", "firth", or "auto" (Firth when the data are separated).

    ``y`` are 0/1 flags, or with ``counts`` the number of flags among that many records with the same keys.
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
    return Fit(beta, covariance, "Firth" if firth else "maximum likelihood", converged, used)


def independent_columns(x: Array) -> Array:
    """Columns that are no combination of earlier ones, as positions; the later column of an aliased set goes."""
    length = np.sqrt((x * x).sum(axis=0))
    scaled = x / np.where(length > 0, length, 1.0)
    diagonal = np.abs(np.diag(np.linalg.qr(scaled, mode="r")))
    return np.flatnonzero((diagonal > 1e-9) & (length[: len(diagonal)] > 0))


def _newton(q: Array, y: Array, trials: Array, firth: bool, max_iter: int) -> tuple[Array, Array, bool]:
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


def _likelihood(q: Array, y: Array, trials: Array, theta: Array, firth: bool) -> tuple[float, Array, Array]:
    eta = np.clip(q @ theta, -500, 500)
    p = 1 / (1 + np.exp(-eta))
    weight = trials * np.maximum(p * (1 - p), 1e-12)
    information = (q * weight[:, None]).T @ q
    value = float(y @ eta - trials @ np.logaddexp(0, eta))
    residual = y - trials * p
    if firth:
        value += 0.5 * float(np.linalg.slogdet(information)[1])
        leverage = weight * ((q @ np.linalg.pinv(information)) * q).sum(axis=1)
        residual = residual + leverage * (0.5 - p)
    return value, q.T @ residual, information


def cells_of(columns: Sequence[Array], y: Array) -> tuple[Array, Array, Array]:
    """Records with the same keys as one row: first record of each, number of records, number of flags."""
    _, first, index = np.unique(np.column_stack(columns), axis=0, return_index=True, return_inverse=True)
    index = index.ravel()
    return first, np.bincount(index).astype(float), np.bincount(index, weights=y)


def _exploded(r: Array, information: Array) -> bool:
    """A standard error beyond any meaning on a column of unit scale: the likelihood has no maximum."""
    back = np.linalg.inv(r)
    variance = np.diag(back @ np.linalg.pinv(information) @ back.T)
    spread = np.sqrt((r * r).sum(axis=0))  # root mean square of each column
    return bool((np.sqrt(np.maximum(variance, 0)) * np.minimum(spread, 1.0) > HOPELESS_SE).any())
