"""Linear attackers: least squares, logistic and multinomial regression.

Categories enter by treatment coding: one column per level present in training except the first; a level never seen in
training has all its columns at zero, i.e. it is predicted as the first level. Columns that others already determine
are dropped from the right, as statistical packages do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glasshouse.engines.models.design import Design
from glasshouse.engines.models.linear import kernel

Array = NDArray[Any]
DENSE_COLUMNS = 3_000  # up to here cross-product matrices are formed
NEWTON_UNKNOWNS = 1_500
_SEPARATED = "some fitted probabilities are 0 or 1: the keys separate classes perfectly and coefficients are not finite"
_STOPPED = "the fit stopped before it converged; the keys may separate the classes perfectly"


class Coding:
    """Treatment coding learnt from the training table; numbers are centred and scaled inside."""

    def __init__(self, training: Design, *, drop_aliased: bool = True) -> None:
        self.names: list[str] = []
        self.key_of: list[int] = []
        self._lookup: list[Array | None] = []  # column of each level code, None for numbers
        self._first: list[int] = []
        self._shift = np.zeros(len(training.names))
        self._scale = np.ones(len(training.names))
        for j, kind in enumerate(training.kinds):
            self._first.append(len(self.names))
            if kind == "numeric":
                numbers = training.column(j)
                spread = float(numbers.std())
                self._shift[j] = numbers.mean()
                self._scale[j] = spread if spread > 1e-12 * max(1.0, abs(float(numbers.mean()))) else 0.0
                self._lookup.append(None)
                self.names.append(training.names[j])
                self.key_of.append(j)
            else:
                present = np.unique(training.codes[:, j])[1:]
                lookup = np.full(len(training.levels[j]), -1, np.int32)
                lookup[present] = len(self.names) + np.arange(len(present))
                self._lookup.append(lookup)
                self.names += [f"{training.names[j]}{training.levels[j][level]}" for level in present]
                self.key_of += [j] * len(present)
        self.q = len(self.names)
        self.kept = np.ones(self.q, np.bool_)
        self.columns, self.values = self.code(training)
        share = kernel.project(self.columns, self.values, np.ones((training.n, 1)), self.q)[1:, 0] / training.n
        square = kernel.project(self.columns, self.values**2, np.ones((training.n, 1)), self.q)[1:, 0] / training.n
        self.sd = np.sqrt(np.maximum(square - share**2, 0.0))
        if drop_aliased and self.q <= DENSE_COLUMNS:
            cross = kernel.gram(self.columns, self.values, np.ones(training.n), self.q)
            self.kept = kernel.independent(cross, 1e-10)[1:]
        else:
            self.kept = self.sd > 0
        self.columns, self.values = self.code(training)

    def code(self, design: Design) -> tuple[Array, Array]:
        """Column and value of every record's entry for every key; dropped columns have no entry."""
        columns = np.empty((design.n, len(design.names)), np.int32)
        values = np.ones((design.n, len(design.names)))
        for j, lookup in enumerate(self._lookup):
            if lookup is None:
                columns[:, j] = self._first[j] if self._scale[j] > 0 else -1
                values[:, j] = (design.column(j) - self._shift[j]) / (self._scale[j] or 1.0)
            else:
                columns[:, j] = lookup[design.codes[:, j]]
        dropped = ~np.append(self.kept, True)  # the appended entry is what -1 reads
        columns[dropped[columns]] = -1
        return columns, values

    def on_raw_scale(self, beta: Array) -> dict[str, float | None]:
        """Coefficients of the columns as they are; None for columns that were dropped."""
        named: dict[str, float | None] = {"(Intercept)": float(beta[0])}
        intercept = float(beta[0])
        for c, name in enumerate(self.names):
            j = self.key_of[c]
            named[name] = None
            if self.kept[c]:
                slope = float(beta[c + 1])
                if self._lookup[j] is None:
                    slope /= self._scale[j] or 1.0
                    intercept -= slope * float(self._shift[j])
                named[name] = slope
        named["(Intercept)"] = intercept
        return named


@dataclass
class LinearModel:
    """A fitted linear attacker: ``beta`` [1 + columns, outputs], intercept first."""

    kind: str  # "numeric" | "binary" | "multinomial"
    coding: Coding
    beta: Array
    n_keys: int
    notes: list[str] = field(default_factory=list)
    penalty: float | None = None

    def predict(self, design: Design) -> Array:
        """Predicted numbers, or class probabilities [n, classes]."""
        eta = kernel.linear_predictor(*self.coding.code(design), self.beta)
        if self.kind == "numeric":
            return np.asarray(eta[:, 0])
        if self.kind == "binary":
            second = logistic(eta[:, 0])
            return np.column_stack([1.0 - second, second])
        return softmax(eta)

    def coefficients(self) -> dict[str, Any]:
        """Coefficients on the raw scale; one dict per output for several classes."""
        found = [self.coding.on_raw_scale(self.beta[:, k]) for k in range(self.beta.shape[1])]
        return found[0] if len(found) == 1 else {str(k): c for k, c in enumerate(found)}

    def importance(self) -> Array:
        """Sum over a key's columns of |coefficient| per standard deviation of the column."""
        total = np.zeros(self.n_keys)
        np.add.at(total, np.array(self.coding.key_of, np.int64), np.abs(self.beta[1:]).sum(axis=1) * self.coding.sd)
        return total


def fit_lm(training: Design, y: Array) -> LinearModel:
    """Ordinary least squares."""
    coding = Coding(training)
    columns, values, q = coding.columns, coding.values, coding.q
    mean = float(y.mean())
    right = kernel.project(columns, values, (y - mean)[:, None], q)[:, 0]
    beta = np.zeros(q + 1)
    if q <= DENSE_COLUMNS:
        used = np.append(True, coding.kept)
        cross = kernel.gram(columns, values, np.ones(len(y)), q)
        beta[used] = _solve(cross[np.ix_(used, used)], right[used])
    else:
        from scipy.sparse.linalg import LinearOperator, cg

        def times(b: Array) -> Array:
            return np.asarray(
                kernel.project(columns, values, kernel.linear_predictor(columns, values, b[:, None]), q)[:, 0]
            )

        beta = cg(LinearOperator((q + 1, q + 1), matvec=times, dtype=np.float64), right, rtol=1e-10, maxiter=2000)[0]
    beta[0] += mean
    return LinearModel("numeric", coding, beta[:, None], len(training.names))


def fit_logit(training: Design, y: Array, n_classes: int, *, max_iter: int = 25) -> LinearModel:
    """Unpenalised maximum likelihood: iteratively reweighted least squares for two classes, Newton for more."""
    coding = Coding(training)
    if n_classes == 2 and coding.q <= DENSE_COLUMNS:
        beta, notes = _irls(coding, y.astype(np.float64), max_iter)
        return LinearModel("binary", coding, beta[:, None], len(training.names), notes)
    beta, notes = _multinomial(coding, y, n_classes)
    if n_classes == 2:
        return LinearModel("binary", coding, beta[:, 1:], len(training.names), notes)
    return LinearModel("multinomial", coding, beta, len(training.names), notes)


def _irls(coding: Coding, y: Array, max_iter: int) -> tuple[Array, list[str]]:
    """Stops when the deviance changes by less than 1e-8 of (|deviance| + 0.1), the rule of the usual glm software."""
    columns, values, q = coding.columns, coding.values, coding.q
    used = np.append(True, coding.kept)
    mean = (y + 0.5) / 2.0
    eta = np.log(mean / (1 - mean))
    deviance, notes = np.inf, list[str]()
    beta = np.zeros(q + 1)
    for _ in range(max_iter):
        mean = logistic(eta)
        # a record far on the wrong side has hardly any weight, but its residual of one must stay in
        weight = np.maximum(mean * (1 - mean), np.finfo(float).eps)
        working = weight * eta + (y - mean)
        cross = kernel.gram(columns, values, weight, q)[np.ix_(used, used)]
        beta[used] = _solve(cross, kernel.project(columns, values, working[:, None], q)[used, 0])
        eta = kernel.linear_predictor(columns, values, beta[:, None])[:, 0]
        previous, deviance = deviance, 2.0 * float(np.logaddexp(0, np.where(y > 0.5, -eta, eta)).sum())
        if abs(deviance - previous) / (abs(deviance) + 0.1) < 1e-8:
            break
    else:
        notes.append(_STOPPED)
    if (np.abs(eta) > 30).any():
        notes.append(_SEPARATED)
    return beta, notes


class _Multinomial:
    """Negative log-likelihood of a multinomial logit with the first class as reference, and its derivatives."""

    def __init__(self, coding: Coding, y: Array, n_classes: int) -> None:
        self.columns, self.values, self.q = coding.columns, coding.values, coding.q
        self.used = np.append(True, coding.kept)
        self.y, self.free = y, n_classes - 1
        self.size = int(self.used.sum())

    def full(self, flat: Array) -> Array:
        """[1 + columns, classes] from the free coefficients."""
        beta = np.zeros((self.q + 1, self.free + 1))
        beta[self.used, 1:] = flat.reshape(self.size, self.free)
        return beta

    def loss(self, flat: Array) -> tuple[float, Array, Array]:
        """Value, slope, class probabilities."""
        eta = kernel.linear_predictor(self.columns, self.values, self.full(flat))
        at = np.arange(len(self.y))
        top = eta.max(axis=1)
        total = np.exp(eta - top[:, None]).sum(axis=1)
        value = float((top + np.log(total) - eta[at, self.y]).sum())
        shares = np.exp(eta - top[:, None]) / total[:, None]
        residual = shares.copy()
        residual[at, self.y] -= 1.0
        slope = kernel.project(self.columns, self.values, np.ascontiguousarray(residual[:, 1:]), self.q)[self.used]
        return value, slope.ravel(), shares

    def hessian(self, shares: Array) -> Array:
        found = np.empty((self.size, self.free, self.size, self.free))
        for a in range(self.free):
            for b in range(a, self.free):
                weight = shares[:, a + 1] * ((1.0 if a == b else 0.0) - shares[:, b + 1])
                block = kernel.gram(self.columns, self.values, weight, self.q)[np.ix_(self.used, self.used)]
                found[:, a, :, b] = block
                found[:, b, :, a] = block
        return found.reshape(self.size * self.free, self.size * self.free)


def _multinomial(coding: Coding, y: Array, n_classes: int) -> tuple[Array, list[str]]:
    """Newton while the Hessian is small, else a quasi-Newton method."""
    problem = _Multinomial(coding, y, n_classes)
    flat = np.zeros(problem.size * problem.free)
    if len(flat) <= NEWTON_UNKNOWNS:
        flat, converged = _newton(problem, flat)
    else:
        from scipy.optimize import minimize

        found = minimize(
            lambda b: problem.loss(b)[:2], flat, jac=True, method="L-BFGS-B", options={"maxiter": 300, "ftol": 1e-8}
        )
        flat, converged = found.x, bool(found.success)
    notes = [] if converged else [_STOPPED]
    beta = problem.full(flat)
    if (np.abs(kernel.linear_predictor(coding.columns, coding.values, beta)) > 30).any():
        notes.append(_SEPARATED)
    return beta, notes


def _newton(problem: _Multinomial, flat: Array) -> tuple[Array, bool]:
    """Newton steps, damped (Levenberg-Marquardt) while separated classes make the Hessian nearly singular."""
    value, slope, shares = problem.loss(flat)
    damping = 1e-4
    for _ in range(60):
        hessian = problem.hessian(shares)
        diagonal = np.diag_indices_from(hessian)
        curvature = hessian[diagonal] + 1e-8 * float(hessian[diagonal].mean())
        for _ in range(20):
            hessian[diagonal] = curvature * (1.0 + damping)
            step = _solve(hessian, slope)
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


def _solve(matrix: Array, right: Array) -> Array:
    """Solution of a symmetric system; least squares where separation has made it singular."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    try:
        return np.asarray(cho_solve(cho_factor(matrix), right))
    except LinAlgError:
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0])


def logistic(eta: Array) -> Array:
    """1 / (1 + exp(-eta)) without overflow."""
    small = np.exp(-np.abs(eta))
    return np.where(eta >= 0, 1.0, small) / (1.0 + small)


def softmax(eta: Array) -> Array:
    """Class probabilities from linear predictors."""
    shifted = np.exp(eta - eta.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))
