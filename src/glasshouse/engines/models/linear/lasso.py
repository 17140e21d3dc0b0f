"""Logistic and multinomial regression with an absolute-value penalty (Friedman, Hastie & Tibshirani 2010).

    minimise  (1/n) * negative log-likelihood + lambda * sum_j |beta_j|

over columns scaled to variance one (1/n), intercepts free. Several classes: one set of coefficients per class. On a raw
column the same penalty is lambda times its standard deviation, so nothing is scaled or made dense.
"""

from __future__ import annotations

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.core.streams import RandomState, generator
from glasshouse.engines.models.design import Design
from glasshouse.engines.models.linear import kernel
from glasshouse.engines.models.linear.coding import DENSE_COLUMNS, Coding, LinearModel

_GRID = 40
_FLAT = 1e-5  # the path ends when a smaller penalty explains no more than this share more


class _Problem:
    """Records (all, or those of a fold) with the quantities coordinate descent needs."""

    def __init__(self, columns: np.ndarray, values: np.ndarray, y: np.ndarray, n_classes: int, sd: np.ndarray) -> None:
        self.columns, self.values, self.y, self.sd = columns, values, y, sd
        self.q, self.n = len(sd), len(y)
        self.outputs = 1 if n_classes == 2 else n_classes
        target = np.zeros((self.n, n_classes))
        target[np.arange(self.n), y] = 1.0
        self.target = target[:, 1:] if self.outputs == 1 else target

    def means(self, beta: np.ndarray) -> np.ndarray:
        from scipy.special import expit, softmax

        eta = kernel.linear_predictor(self.columns, self.values, beta)
        return np.asarray(expit(eta) if self.outputs == 1 else softmax(eta, axis=1))

    def loss(self, beta: np.ndarray) -> float:
        """Mean negative log-likelihood."""
        mean = np.clip(self.means(beta), 1e-300, 1.0)
        if self.outputs == 1:
            own = np.where(self.target > 0.5, mean, 1.0 - mean)
            return float(-np.log(np.maximum(own, 1e-300)).mean())
        return float(-np.log(mean[np.arange(self.n), self.y]).mean())

    def slopes(self, beta: np.ndarray) -> np.ndarray:
        """Derivative of the mean log-likelihood, [1 + columns, outputs]."""
        return np.asarray(kernel.project(self.columns, self.values, self.target - self.means(beta), self.q) / self.n)

    def start(self) -> np.ndarray:
        beta = np.zeros((self.q + 1, self.outputs))
        shares = self.target.mean(axis=0).clip(1e-9, 1 - 1e-9)
        beta[0] = np.log(shares / (1 - shares)) if self.outputs == 1 else np.log(shares)
        return beta

    def largest_penalty(self) -> float:
        """The smallest penalty at which every slope is zero."""
        slope = np.abs(self.slopes(self.start())[1:]).max(axis=1)
        usable = self.sd > 0
        return max(float((slope[usable] / self.sd[usable]).max()), 1e-8) if usable.any() else 1.0

    def minimise(self, beta: np.ndarray, penalty: float, tolerance: float) -> np.ndarray:
        """Quadratic approximations per class, each solved by coordinate descent, until the objective stays."""
        factor = np.append(0.0, np.where(self.sd > 0, penalty * self.sd, np.inf))
        previous = np.inf
        for _ in range(200):
            for k in range(self.outputs):
                mean = self.means(beta)[:, k]
                weight = np.maximum(mean * (1 - mean), 1e-5)
                cross = kernel.gram(self.columns, self.values, weight, self.q) / self.n
                residual = (self.target[:, k] - mean)[:, None]
                slope = kernel.project(self.columns, self.values, residual, self.q)[:, 0] / self.n
                beta[:, k] = kernel.descend(
                    cross, cross @ beta[:, k] + slope, beta[:, k].copy(), factor, 1e-6 * tolerance, 5_000
                )
            value = self.loss(beta) + penalty * float((np.abs(beta[1:]) * self.sd[:, None]).sum())
            if abs(previous - value) <= tolerance * (abs(value) + 0.1):
                break
            previous = value
        return beta

    def path(self, penalties: np.ndarray, tolerance: float) -> list[np.ndarray]:
        """Coefficients along decreasing penalties, each started from the one before; ends when the fit is flat."""
        found: list[np.ndarray] = []
        beta = self.start()
        null = explained = self.loss(beta)
        for penalty in penalties:
            beta = self.minimise(beta.copy(), float(penalty), tolerance)
            found.append(beta)
            previous, explained = explained, self.loss(beta)
            if len(found) > 5 and previous - explained < _FLAT * max(null - explained, 1e-300):
                break
        return found


def fit_l1(
    training: Design,
    y: np.ndarray,
    n_classes: int,
    *,
    penalty: float | None = None,
    folds: int = 5,
    random_state: RandomState = None,
) -> LinearModel:
    """Lasso logit with a given penalty, or the one with the least cross-validated deviance.

    Parameters
    ----------
    training
        Coded keys.
    y
        Class codes 0..n_classes-1.
    n_classes
        Number of classes.
    penalty
        Lambda; None: by cross-validation.
    folds
        Folds of the cross-validation.
    random_state
        Deals the records to the folds.

    Returns
    -------
    LinearModel
        With the penalty used.

    References
    ----------
    Friedman, J., Hastie, T. & Tibshirani, R. (2010), Regularization paths for generalized linear models via
    coordinate descent, Journal of Statistical Software 33(1).
    """
    coding = Coding(training, drop_aliased=False)
    if coding.q > DENSE_COLUMNS:
        raise InputError(
            f"treatment coding of these keys makes {coding.q:,} columns, too many for 'l1' ({DENSE_COLUMNS:,}); use "
            "'logit', 'rf' or 'cart', or leave out the key with the most levels"
        )
    if penalty is not None and penalty < 0:
        raise InputError(f"penalty must not be negative, not {penalty}")
    problem = _Problem(coding.columns, coding.values, y, n_classes, coding.sd)
    notes: list[str] = []
    if penalty is None:
        grid = problem.largest_penalty() * np.logspace(0, -4 if len(y) > coding.q else -2, _GRID)
        best, at_end = _cross_validate(problem, n_classes, grid, folds, random_state)
        penalty = float(grid[best])
        if at_end:
            notes.append("cross-validation chose the smallest penalty it tried: the fit is close to an unpenalised one")
        beta = problem.start()
        for larger in grid[max(0, best - 2) : best]:
            beta = problem.minimise(beta, float(larger), 1e-5)
        beta = problem.minimise(beta, penalty, 1e-8)
    else:
        beta = problem.minimise(problem.start(), float(penalty), 1e-12)
    return LinearModel("binary" if n_classes == 2 else "multinomial", coding, beta, notes, float(penalty))


def _cross_validate(
    problem: _Problem, n_classes: int, grid: np.ndarray, folds: int, random_state: RandomState
) -> tuple[int, bool]:
    """Position of the penalty with the least held-out loss. Records are dealt by value, not by their order."""
    if folds < 2:
        raise InputError(f"folds must be at least 2, not {folds}")
    order = np.lexsort((problem.y, *problem.columns.T, *problem.values.T))
    fold = np.empty(problem.n, np.int64)
    fold[order] = generator(random_state, "l1", "folds").permutation(np.arange(problem.n) % folds)
    loss = np.zeros(len(grid))
    for f in range(min(folds, problem.n)):
        inside, outside = fold != f, fold == f
        if not inside.any():
            return 0, False
        learnt = _Problem(problem.columns[inside], problem.values[inside], problem.y[inside], n_classes, problem.sd)
        held = _Problem(problem.columns[outside], problem.values[outside], problem.y[outside], n_classes, problem.sd)
        losses = [held.loss(beta) * held.n for beta in learnt.path(grid, 1e-5)]
        loss += np.append(losses, np.full(len(grid) - len(losses), losses[-1]))
    best = int(np.argmin(loss))
    return best, best == len(grid) - 1
