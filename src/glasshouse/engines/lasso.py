"""Logistic and multinomial regression with an absolute-value penalty (Friedman, Hastie & Tibshirani 2010).

    minimise  (1/n) * negative log-likelihood + lambda * sum_j |beta_j|

over columns scaled to variance one (1/n), intercepts free. Several classes: one set of coefficients per class.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from glasshouse.core.streams import generator
from glasshouse.engines.design import Design
from glasshouse.engines.linear import LinearModel, ModelMatrix

Array = NDArray[Any]


@njit(cache=True, nogil=True)
def _descend(gram, linear, beta, penalty, tolerance, max_sweeps):  # type: ignore[no-untyped-def]
    """Minimise b'Gb/2 - c'b + penalty * sum |b_j|, j >= 1, cyclically from ``beta``; b_0 is free."""
    q = beta.size
    slope = linear - gram @ beta
    for _ in range(max_sweeps):
        largest = 0.0
        for j in range(q):
            if gram[j, j] <= 0.0:
                continue
            old = beta[j]
            u = slope[j] + gram[j, j] * old
            if j == 0:
                new = u / gram[j, j]
            elif u > penalty:
                new = (u - penalty) / gram[j, j]
            elif u < -penalty:
                new = (u + penalty) / gram[j, j]
            else:
                new = 0.0
            if new != old:
                change = new - old
                beta[j] = new
                for k in range(q):
                    slope[k] -= gram[k, j] * change
                largest = max(largest, gram[j, j] * change * change)
        if largest < tolerance:
            break
    return beta


def fit_path(x: Array, y: Array, n_classes: int, penalties: Array, tolerance: float = 1e-9) -> Array:
    """Coefficients [penalties, 1 + columns, outputs] along decreasing penalties, each started from the one before."""
    n = len(x)
    full = np.column_stack([np.ones(n), x])
    outputs = 1 if n_classes == 2 else n_classes
    target = np.zeros((n, n_classes))
    target[np.arange(n), y] = 1.0
    target = target[:, 1:] if outputs == 1 else target
    beta = np.zeros((full.shape[1], outputs))
    shares = target.mean(axis=0).clip(1e-9, 1 - 1e-9)
    beta[0] = np.log(shares / (1 - shares)) if outputs == 1 else np.log(shares)
    path = np.empty((len(penalties), full.shape[1], outputs))
    for at, penalty in enumerate(penalties):
        previous = np.inf
        for _ in range(200):
            for k in range(outputs):
                mean = _means(full @ beta)[:, k]
                weight = np.maximum(mean * (1 - mean), 1e-5)
                weighted = full * weight[:, None]
                gram = weighted.T @ full / n
                linear = gram @ beta[:, k] + full.T @ (target[:, k] - mean) / n
                beta[:, k] = _descend(gram, linear, beta[:, k].copy(), penalty, 1e-16, 10_000)
            value = _deviance(full @ beta, target) / 2 + penalty * np.abs(beta[1:]).sum()
            if abs(previous - value) <= tolerance * (abs(value) + 0.1):
                break
            previous = value
        path[at] = beta
    return path


def fit_l1(
    training: Design,
    y: Array,
    n_classes: int,
    *,
    penalty: float | None = None,
    folds: int = 5,
    random_state: Any = None,
) -> LinearModel:
    """Lasso logit with a given penalty (lambda), or the one with the least cross-validated deviance."""
    matrix = ModelMatrix(training, drop_aliased=False)
    x = matrix.training
    notes: list[str] = []
    if penalty is None:
        largest = _largest_penalty(x, y, n_classes)
        grid = largest * np.logspace(0, -4 if len(x) > x.shape[1] else -2, 40)
        penalty, at_edge = _cross_validate(x, y, n_classes, grid, folds, random_state)
        if at_edge:
            notes.append(
                "cross-validation chose the smallest penalty of its grid: the fit is close to an unpenalised one"
            )
        penalties = grid[grid > penalty]
        path = fit_path(x, y, n_classes, np.append(penalties[-1:], penalty))[-1:]
    else:
        path = fit_path(x, y, n_classes, np.array([penalty]), tolerance=1e-13)
    beta = path[-1]
    kind = "binary" if n_classes == 2 else "multinomial"
    return LinearModel(kind, matrix, beta[0], beta[1:], len(training.names), notes, float(penalty))


def _largest_penalty(x: Array, y: Array, n_classes: int) -> float:
    """The smallest penalty at which every slope is zero."""
    target = np.zeros((len(x), n_classes))
    target[np.arange(len(x)), y] = 1.0
    target = target[:, 1:] if n_classes == 2 else target
    if x.shape[1] == 0:
        return 1.0
    return max(float(np.abs(x.T @ (target - target.mean(axis=0))).max()) / len(x), 1e-8)


def _cross_validate(
    x: Array, y: Array, n_classes: int, grid: Array, folds: int, random_state: Any
) -> tuple[float, bool]:
    draw = generator(random_state, "l1", "folds")
    fold = draw.permutation(np.arange(len(x)) % folds)
    loss = np.zeros(len(grid))
    for f in range(folds):
        inside = fold != f
        if inside.all() or not inside.any():
            continue
        path = fit_path(x[inside], y[inside], n_classes, grid, tolerance=1e-6)
        target = np.zeros((int((~inside).sum()), n_classes))
        target[np.arange(len(target)), y[~inside]] = 1.0
        target = target[:, 1:] if n_classes == 2 else target
        outside = np.column_stack([np.ones(len(target)), x[~inside]])
        loss += [_deviance(outside @ beta, target) * len(target) for beta in path]
    best = int(np.argmin(loss))
    return float(grid[best]), best == len(grid) - 1


def _means(eta: Array) -> Array:
    if eta.shape[1] == 1:
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(eta, -500, 500))))
    shifted = np.exp(eta - eta.max(axis=1, keepdims=True))
    result: Array = shifted / shifted.sum(axis=1, keepdims=True)
    return result


def _deviance(eta: Array, target: Array) -> float:
    """Mean deviance, -2 log-likelihood / n."""
    if eta.shape[1] == 1:
        return 2.0 * float(np.logaddexp(0, np.where(target > 0.5, -eta, eta)).mean())
    top = eta.max(axis=1, keepdims=True)
    log_sum = top[:, 0] + np.log(np.exp(eta - top).sum(axis=1))
    return 2.0 * float((log_sum - (eta * target).sum(axis=1)).mean())
