"""Multinomial logit on coded keys: Newton's method on distinct rows, with the curvature of all classes in one pass.

    minimise  sum_i [ t_i log sum_k exp(eta_ik) - sum_k n_ik eta_ik ],   eta_i0 = 0

over distinct key rows i with class counts n_ik and totals t_i. The second derivative with respect to the coefficients
of columns c, d and classes k, l is  sum_i t_i x_ic x_id p_ik (1[k = l] - p_il).

References
----------
Agresti, A. (2013), Categorical Data Analysis, section 8.1.
"""

from __future__ import annotations

import numpy as np

from glasshouse.engines.models.design import Design, distinct_rows
from glasshouse.engines.models.linear import kernel
from glasshouse.engines.models.linear.coding import SEPARATED, STOPPED, Coding
from glasshouse.engines.models.linear.solve import solve_symmetric

NEWTON_UNKNOWNS = 2_500  # beyond these two, the curvature matrix costs more than the steps it saves
NEWTON_WORK = 2e10  # products per curvature matrix
MOST_STEPS = 60


class _Likelihood:
    """Negative log-likelihood with the first class as reference, and its derivatives in the free coefficients."""

    def __init__(self, coding: Coding, training: Design, y: np.ndarray, n_classes: int) -> None:
        self.used = np.append(True, coding.kept)
        self.size, self.free = int(self.used.sum()), n_classes - 1
        first, row_of = distinct_rows(training.codes)
        place = np.append(np.cumsum(self.used)[1:] - 2, -1).astype(np.int32)  # the last entry is what -1 reads
        self.columns = np.ascontiguousarray(place[coding.columns[first]])
        self.values = np.ascontiguousarray(coding.values[first])
        counts = np.bincount(row_of * n_classes + y, minlength=len(first) * n_classes)
        self.counts = counts.reshape(len(first), n_classes).astype(np.float64)
        self.totals = self.counts.sum(axis=1)

    @property
    def work(self) -> float:
        """Products that make one curvature matrix: pairs of entries of a row times pairs of classes."""
        rows, keys = self.columns.shape
        return rows * (keys + 1) * (keys + 2) / 2 * self.free * (self.free + 1) / 2

    def loss(self, flat: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Value, slope, probabilities of all classes but the first."""
        beta = flat.reshape(self.size, self.free)
        losses, slope, shares = kernel.multinomial_loss(self.columns, self.values, self.counts, beta)
        return float(losses.sum()), slope.ravel(), shares

    def curvature(self, shares: np.ndarray) -> np.ndarray:
        """Matrix of second derivatives."""
        packed = kernel.multinomial_curvature(self.columns, self.values, self.totals, shares, self.size)
        return kernel.unpacked(packed, self.free)


def fit_multinomial(coding: Coding, training: Design, y: np.ndarray, n_classes: int) -> tuple[np.ndarray, list[str]]:
    """Maximum likelihood: Newton while the curvature matrix is small, else a quasi-Newton method.

    Parameters
    ----------
    coding
        Treatment coding learnt from ``training``.
    training
        Coded keys.
    y
        Class codes 0..n_classes-1.
    n_classes
        Number of classes, two or more.

    Returns
    -------
    beta : ndarray
        Coefficients [1 + columns, classes], zero for the first class and for dropped columns.
    notes : list of str
        What a reader should know about the fit.
    """
    problem = _Likelihood(coding, training, y, n_classes)
    flat = np.zeros(problem.size * problem.free)
    if len(flat) <= NEWTON_UNKNOWNS and problem.work <= NEWTON_WORK:
        flat, converged = _newton(problem, flat)
    else:
        from scipy.optimize import minimize

        found = minimize(
            lambda b: problem.loss(b)[:2], flat, jac=True, method="L-BFGS-B", options={"maxiter": 300, "ftol": 1e-8}
        )
        flat, converged = found.x, bool(found.success)
    notes = [] if converged else [STOPPED]
    beta = np.zeros((coding.q + 1, n_classes))
    beta[problem.used, 1:] = flat.reshape(problem.size, problem.free)
    if (np.abs(kernel.linear_predictor(problem.columns, problem.values, beta[problem.used])) > 30).any():
        notes.append(SEPARATED)
    return beta, notes


def _newton(problem: _Likelihood, flat: np.ndarray) -> tuple[np.ndarray, bool]:
    """Newton steps, damped (Levenberg-Marquardt) while separated classes make the curvature nearly singular."""
    value, slope, shares = problem.loss(flat)
    damping = 1e-4
    for _ in range(MOST_STEPS):
        curvature = problem.curvature(shares)
        diagonal = np.diag_indices_from(curvature)
        bend = curvature[diagonal] + 1e-8 * float(curvature[diagonal].mean())
        for _ in range(20):
            curvature[diagonal] = bend * (1.0 + damping)
            step = solve_symmetric(curvature, slope)
            trial = problem.loss(flat - step)
            if trial[0] <= value:
                break
            damping = max(damping * 10.0, 1e-6)
        else:
            return flat, True  # no direction is left that lowers the loss
        flat = flat - step
        previous, (value, slope, shares) = value, trial
        damping /= 10.0
        if previous - value <= 1e-8 * (abs(value) + 0.1):
            return flat, True
    return flat, False
