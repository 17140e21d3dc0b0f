"""Linear attackers: least squares, logistic and multinomial regression, and the lasso versions of the latter two.

Categories enter by treatment coding: one column per level present in training except the first; a level never seen in
training has all its columns at zero, i.e. it is predicted as the first level. Columns that others already determine
are dropped from the right, as statistical packages do, so that predictions do not depend on which of them was kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glasshouse.core.errors import InputError
from glasshouse.engines.design import Design

Array = NDArray[Any]
MAX_COLUMNS = 4_000
_SEPARATED = "some fitted probabilities are 0 or 1: the keys separate classes perfectly and coefficients are not finite"


class ModelMatrix:
    """Treatment coding learnt from the training table; columns scaled inside so that the fits are well conditioned."""

    def __init__(self, training: Design, *, drop_aliased: bool = True) -> None:
        self._blocks: list[tuple[int, Array | None]] = []
        self.names: list[str] = []
        self.key_of: list[int] = []
        for j, kind in enumerate(training.kinds):
            present = None if kind == "numeric" else np.unique(training.codes[:, j])[1:]
            self._blocks.append((j, present))
            labels = [""] if present is None else [str(training.levels[j][level]) for level in present]
            self.names += [f"{training.names[j]}{label}" for label in labels]
            self.key_of += [j] * len(labels)
        if len(self.names) > MAX_COLUMNS:
            raise InputError(
                f"treatment coding of these keys makes {len(self.names):,} columns, more than {MAX_COLUMNS:,}; use "
                "'rf' or 'cart', or leave out the key with the most levels"
            )
        raw = self._raw(training)
        self.centre = raw.mean(axis=0)
        spread = raw.std(axis=0)
        self.scale = np.where(spread > 1e-12 * np.maximum(1.0, np.abs(self.centre)), spread, 1.0)
        scaled = (raw - self.centre) / self.scale
        kept = independent_columns(scaled) if drop_aliased else spread > 1e-12
        self.kept = np.flatnonzero(kept)
        self.aliased = [self.names[c] for c in np.flatnonzero(~kept)]
        self.training = scaled[:, self.kept]

    def _raw(self, design: Design) -> Array:
        blocks = [
            design.column(j)[:, None]
            if present is None
            else (design.codes[:, j][:, None] == present[None, :]).astype(np.float64)
            for j, present in self._blocks
        ]
        matrix: Array = np.concatenate(blocks, axis=1)
        return matrix

    def transform(self, design: Design) -> Array:
        """Scaled columns that were kept."""
        return np.asarray(((self._raw(design) - self.centre) / self.scale)[:, self.kept])

    def on_raw_scale(self, intercept: float, slopes: Array) -> dict[str, float | None]:
        """Coefficients of the columns as they are; None for columns that were dropped."""
        raw = slopes / self.scale[self.kept]
        named: dict[str, float | None] = dict.fromkeys(["(Intercept)", *self.names])
        named["(Intercept)"] = float(intercept - raw @ self.centre[self.kept])
        named.update({self.names[c]: float(b) for c, b in zip(self.kept, raw, strict=True)})
        return named

    def importance(self, slopes: Array, n_keys: int) -> Array:
        """Sum over a key's columns of |coefficient| on the scale of one standard deviation."""
        total = np.zeros(n_keys)
        np.add.at(total, np.array(self.key_of, np.int64)[self.kept], np.abs(slopes))
        return total


def independent_columns(scaled: Array, tolerance: float = 1e-7) -> Array:
    """Which centred columns the ones before them do not determine (Gram-Schmidt on the triangular factor)."""
    if scaled.shape[1] == 0:
        return np.zeros(0, np.bool_)
    triangle: Any = np.linalg.qr(scaled, mode="r")
    basis = np.zeros((triangle.shape[0], 0))
    kept = np.zeros(scaled.shape[1], np.bool_)
    for j in range(scaled.shape[1]):
        column = triangle[:, j]
        norm = np.linalg.norm(column)
        rest = column - basis @ (basis.T @ column)
        rest -= basis @ (basis.T @ rest)
        size = np.linalg.norm(rest)
        if norm > 0 and size > tolerance * norm:
            kept[j] = True
            basis = np.column_stack([basis, rest / size])
    return kept


@dataclass
class LinearModel:
    """A fitted linear attacker: ``slopes`` [columns, outputs] on scaled columns, ``intercepts`` [outputs]."""

    kind: str  # "numeric" | "binary" | "multinomial"
    matrix: ModelMatrix
    intercepts: Array
    slopes: Array
    n_keys: int
    notes: list[str] = field(default_factory=list)
    penalty: float | None = None

    def predict(self, design: Design) -> Array:
        """Predicted numbers, or class probabilities [n, classes]."""
        eta = self.matrix.transform(design) @ self.slopes + self.intercepts
        if self.kind == "numeric":
            return eta[:, 0]
        if self.kind == "binary":
            second = _logistic(eta[:, 0])
            return np.column_stack([1.0 - second, second])
        return _softmax(eta)

    def coefficients(self) -> dict[str, Any]:
        """Coefficients on the raw scale; one dict per non-reference output for several classes."""
        columns = [
            self.matrix.on_raw_scale(float(a), self.slopes[:, k]) for k, a in enumerate(np.atleast_1d(self.intercepts))
        ]
        return columns[0] if len(columns) == 1 else {str(k): c for k, c in enumerate(columns)}

    def importance(self) -> Array:
        return self.matrix.importance(np.abs(self.slopes).sum(axis=1), self.n_keys)


def fit_lm(training: Design, y: Array) -> LinearModel:
    """Ordinary least squares."""
    matrix = ModelMatrix(training)
    centred = y - y.mean()
    slopes = np.linalg.lstsq(matrix.training, centred, rcond=None)[0] if matrix.training.shape[1] else np.zeros(0)
    return LinearModel("numeric", matrix, np.array([y.mean()]), slopes[:, None], len(training.names))


def fit_logit(training: Design, y: Array, n_classes: int, *, max_iter: int = 25) -> LinearModel:
    """Unpenalised maximum likelihood: iteratively reweighted least squares for two classes, Newton for more."""
    matrix = ModelMatrix(training)
    if n_classes == 2:
        intercept, slopes, notes = _irls(matrix.training, y.astype(np.float64), max_iter)
        return LinearModel("binary", matrix, np.array([intercept]), slopes[:, None], len(training.names), notes)
    intercepts, slopes, notes = _multinomial(matrix.training, y, n_classes)
    return LinearModel("multinomial", matrix, intercepts, slopes, len(training.names), notes)


def _irls(x: Array, y: Array, max_iter: int) -> tuple[float, Array, list[str]]:
    """Stops when the deviance changes by less than 1e-8 of (|deviance| + 0.1), the rule of the usual glm software."""
    full = np.column_stack([np.ones(len(x)), x])
    mean = (y + 0.5) / 2.0
    eta = np.log(mean / (1 - mean))
    deviance, notes = np.inf, []
    beta = np.zeros(full.shape[1])
    for _ in range(max_iter):
        mean = _logistic(eta)
        # a record far on the wrong side has hardly any weight but a huge working value: it must stay in
        weight = np.maximum(mean * (1 - mean), np.finfo(float).eps)
        root = np.sqrt(weight)
        working = eta + (y - mean) / weight
        beta = np.linalg.lstsq(full * root[:, None], working * root, rcond=None)[0]
        eta = full @ beta
        previous, deviance = deviance, 2.0 * float(np.logaddexp(0, np.where(y > 0.5, -eta, eta)).sum())
        if abs(deviance - previous) / (abs(deviance) + 0.1) < 1e-8:
            break
    else:
        notes.append("the logistic fit did not converge; the keys may separate the classes perfectly")
    if (np.abs(eta) > 30).any():
        notes.append(_SEPARATED)
    return float(beta[0]), beta[1:], notes


def _multinomial(x: Array, y: Array, n_classes: int) -> tuple[Array, Array, list[str]]:
    """Multinomial logit with the first class as reference; Newton while the Hessian is small, else L-BFGS."""
    full = np.column_stack([np.ones(len(x)), x])
    n, q = full.shape
    free = n_classes - 1
    target = np.zeros((n, n_classes))
    target[np.arange(n), y] = 1.0

    def loss(flat: Array) -> tuple[float, Array, Array]:
        eta = np.column_stack([np.zeros(n), full @ flat.reshape(q, free)])
        top = eta.max(axis=1, keepdims=True)
        log_sum = top[:, 0] + np.log(np.exp(eta - top).sum(axis=1))
        shares = np.exp(eta - log_sum[:, None])
        value = float((log_sum - (eta * target).sum(axis=1)).sum())
        return value, (full.T @ (shares - target)[:, 1:]).ravel(), shares

    beta, notes = np.zeros(q * free), list[str]()
    if q * free <= 400:
        beta, converged = _newton(full, loss, beta, free)
    else:
        from scipy.optimize import minimize

        found = minimize(
            lambda b: loss(b)[:2], beta, jac=True, method="L-BFGS-B", options={"maxiter": 500, "ftol": 1e-12}
        )
        beta, converged = found.x, bool(found.success)
    if not converged:
        notes.append("the multinomial fit stopped before it converged; the keys may separate the classes perfectly")
    coefficients = beta.reshape(q, free)
    intercepts = np.concatenate([[0.0], coefficients[0]])
    slopes = np.column_stack([np.zeros(q - 1), coefficients[1:]])
    if (np.abs(full @ coefficients) > 30).any():
        notes.append(_SEPARATED)
    return intercepts, slopes, notes


def _newton(
    full: Array, loss: Callable[[Array], tuple[float, Array, Array]], beta: Array, free: int
) -> tuple[Array, bool]:
    q = full.shape[1]
    value, slope, shares = loss(beta)
    for _ in range(60):
        hessian = np.empty((q, free, q, free))
        for a in range(free):
            for b in range(a, free):
                weight = shares[:, a + 1] * ((1.0 if a == b else 0.0) - shares[:, b + 1])
                block = full.T @ (full * weight[:, None])
                hessian[:, a, :, b] = block
                hessian[:, b, :, a] = block
        flat = hessian.reshape(q * free, q * free)
        flat[np.diag_indices_from(flat)] += 1e-10 * (1.0 + np.trace(flat) / len(flat))
        step = np.linalg.solve(flat, slope)
        length = 1.0
        while length > 1e-8:
            trial = loss(beta - length * step)
            if trial[0] <= value:
                break
            length /= 2
        else:
            return beta, True
        beta = beta - length * step
        previous, (value, slope, shares) = value, trial
        if previous - value <= 1e-12 * (abs(value) + 0.1):
            return beta, True
    return beta, False


def _logistic(eta: Array) -> Array:
    return np.where(eta >= 0, 1.0 / (1.0 + np.exp(-np.abs(eta))), np.exp(-np.abs(eta)) / (1.0 + np.exp(-np.abs(eta))))


def _softmax(eta: Array) -> Array:
    shifted = np.exp(eta - eta.max(axis=1, keepdims=True))
    result: Array = shifted / shifted.sum(axis=1, keepdims=True)
    return result
