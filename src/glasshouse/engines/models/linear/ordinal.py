"""Proportional odds: a logistic model for ranked classes, by Newton's method on coded keys.

    P(y <= k | x) = F(theta_k - x beta),    F(z) = 1 / (1 + exp(-z)),    theta_0 < theta_1 < ...

For a record of class k write a = theta_k - eta, b = theta_(k-1) - eta, and F, f for the distribution and its density.
Its log-likelihood log(F_a - F_b) has the slope F_a + F_b - 1 in eta and the curvature -(f_a + f_b), so the likelihood
is concave in beta and theta. F_a - F_b = F_a (1 - F_b) (1 - exp(b - a)) keeps every quotient finite.

References
----------
McCullagh, P. (1980), Regression models for ordinal data, Journal of the Royal Statistical Society B 42, 109-142.
"""

from __future__ import annotations

import numpy as np

from glasshouse.core.threads import one_blas_thread
from glasshouse.engines.models.design import Design
from glasshouse.engines.models.linear import kernel
from glasshouse.engines.models.linear.coding import SEPARATED, STOPPED, Coding
from glasshouse.engines.models.linear.solve import solve_symmetric

MOST_STEPS = 60


class _Odds:
    """Log-likelihood, slope and curvature in (beta of the kept columns, theta)."""

    def __init__(self, coding: Coding, y: np.ndarray, n_classes: int) -> None:
        self.coding, self.y, self.n_cuts = coding, y, n_classes - 1
        self.kept = np.flatnonzero(coding.kept)
        self.lower = np.zeros((len(y), self.n_cuts), np.bool_)
        self.upper = np.zeros((len(y), self.n_cuts), np.bool_)
        self.upper[np.flatnonzero(y < self.n_cuts), y[y < self.n_cuts]] = True
        self.lower[np.flatnonzero(y > 0), y[y > 0] - 1] = True

    def parts(self, beta: np.ndarray, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """a and b of every record, and the linear predictor."""
        full = np.zeros(self.coding.q + 1)
        full[self.kept + 1] = beta
        eta = kernel.linear_predictor(self.coding.columns, self.coding.values, full[:, None])[:, 0]
        edges = np.concatenate([[-np.inf], theta, [np.inf]])
        return edges[self.y + 1] - eta, edges[self.y] - eta, eta

    def loss(self, beta: np.ndarray, theta: np.ndarray) -> float:
        """Negative log-likelihood; infinite where the thresholds are out of order."""
        if (np.diff(theta) <= 0).any():
            return np.inf
        a, b, _ = self.parts(beta, theta)
        return float((np.logaddexp(0, -a) + np.logaddexp(0, b) - np.log(-np.expm1(b - a))).sum())

    def derivatives(self, beta: np.ndarray, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Slope and curvature of the log-likelihood, the curvature with its sign turned."""
        from scipy.special import expit

        a, b, _ = self.parts(beta, theta)
        above, below = expit(-a), expit(b)  # 1 - F_a and F_b
        f_a, f_b = above * expit(a), below * expit(-b)
        width = -np.expm1(b - a)  # 1 where an end is infinite
        up = above / (expit(-b) * width)  # f_a / (F_a - F_b)
        down = below / (expit(a) * width)  # f_b / (F_a - F_b)
        coding, size = self.coding, len(self.kept)
        slope_eta = below - above
        # second derivatives in the thresholds: d(up)/d theta_k = up (1 - 2 F_a) - up^2, and so for the lower one
        bend_up = up**2 - up * (2 * above - 1)
        bend_down = down**2 + down * (1 - 2 * below)
        cuts = np.zeros((self.n_cuts, self.n_cuts))
        cuts[np.diag_indices(self.n_cuts)] = bend_up @ self.upper + bend_down @ self.lower
        between = np.bincount(self.y, weights=-(up * down), minlength=self.n_cuts + 1)[1 : self.n_cuts]
        cuts[np.arange(self.n_cuts - 1), np.arange(1, self.n_cuts)] = between
        cuts[np.arange(1, self.n_cuts), np.arange(self.n_cuts - 1)] = between
        crossed = kernel.project(
            coding.columns, coding.values, f_a[:, None] * self.upper + f_b[:, None] * self.lower, coding.q
        )[self.kept + 1]
        matrix = np.zeros((size + self.n_cuts, size + self.n_cuts))
        gram = kernel.gram(coding.columns, coding.values, f_a + f_b, coding.q)
        matrix[:size, :size] = gram[np.ix_(self.kept + 1, self.kept + 1)]
        matrix[:size, size:], matrix[size:, :size] = -crossed, -crossed.T
        matrix[size:, size:] = cuts
        in_beta = kernel.project(coding.columns, coding.values, slope_eta[:, None], coding.q)[self.kept + 1, 0]
        return np.concatenate([in_beta, up @ self.upper - down @ self.lower]), matrix


@one_blas_thread()
def fit_ordinal(
    coding: Coding, training: Design, y: np.ndarray, n_classes: int
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Maximum likelihood of the proportional-odds model.

    Parameters
    ----------
    coding
        Treatment coding learnt from ``training``.
    training
        Coded keys.
    y
        Ranks 0..n_classes-1, each of them present.
    n_classes
        Two or more.

    Returns
    -------
    beta : ndarray
        Coefficients [1 + columns, 1]; the intercept and dropped columns are zero.
    theta : ndarray
        Thresholds [classes - 1], ascending.
    notes : list of str
        What a reader should know about the fit.
    """
    problem = _Odds(coding, y, n_classes)
    shares = np.cumsum(np.bincount(y, minlength=n_classes))[:-1] / training.n
    beta, theta = np.zeros(len(problem.kept)), np.log(shares / (1 - shares))
    size, value, notes = len(beta), problem.loss(beta, theta), list[str]()
    for _ in range(MOST_STEPS):
        slope, matrix = problem.derivatives(beta, theta)
        matrix[np.diag_indices_from(matrix)] *= 1 + 1e-9
        step = solve_symmetric(matrix, slope)
        length, previous = 1.0, value
        while length > 1e-6:
            value = problem.loss(beta + length * step[:size], theta + length * step[size:])
            if value <= previous:
                break
            length /= 2
        else:
            value = previous
            break
        beta, theta = beta + length * step[:size], theta + length * step[size:]
        if previous - value <= 1e-9 * (abs(value) + 0.1):
            break
    else:
        notes.append(STOPPED)
    if (np.abs(problem.parts(beta, theta)[2]) > 30).any():
        notes.append(SEPARATED)
    full = np.zeros((coding.q + 1, 1))
    full[problem.kept + 1, 0] = beta
    return full, theta, notes
