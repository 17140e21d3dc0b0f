"""Sums over a treatment-coded table that never is a dense matrix: each record has one entry per key.

``columns`` int32 [n, p] is the column of a record's entry for each key, -1 for none (first level, or a level unknown
to the model); ``values`` [n, p] its value, 1 for a category. Index 0 of every result belongs to the intercept.
"""

from __future__ import annotations

import numpy as np

from glasshouse.engines.compiled import njit


@njit(nogil=True)
def linear_predictor(columns: np.ndarray, values: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """[n, outputs] from coefficients [1 + columns, outputs]."""
    n, p = columns.shape
    k = beta.shape[1]
    out = np.empty((n, k))
    for i in range(n):
        for o in range(k):
            out[i, o] = beta[0, o]
        for j in range(p):
            c = columns[i, j]
            if c >= 0:
                v = values[i, j]
                for o in range(k):
                    out[i, o] += v * beta[c + 1, o]
    return out


@njit(nogil=True)
def project(columns: np.ndarray, values: np.ndarray, residual: np.ndarray, q: int) -> np.ndarray:
    """Transposed product [1 + q, outputs] of the table with residuals [n, outputs]."""
    n, p = columns.shape
    k = residual.shape[1]
    out = np.zeros((q + 1, k))
    for i in range(n):
        for o in range(k):
            out[0, o] += residual[i, o]
        for j in range(p):
            c = columns[i, j]
            if c >= 0:
                v = values[i, j]
                for o in range(k):
                    out[c + 1, o] += v * residual[i, o]
    return out


@njit(nogil=True)
def gram(columns: np.ndarray, values: np.ndarray, weight: np.ndarray, q: int) -> np.ndarray:
    """Weighted cross-products [1 + q, 1 + q]."""
    n, p = columns.shape
    out = np.zeros((q + 1, q + 1))
    for i in range(n):
        w = weight[i]
        out[0, 0] += w
        for a in range(p):
            ca = columns[i, a]
            if ca < 0:
                continue
            va = w * values[i, a]
            out[0, ca + 1] += va
            for b in range(a, p):
                cb = columns[i, b]
                if cb >= 0:
                    out[ca + 1, cb + 1] += va * values[i, b]
    for r in range(q + 1):
        for c in range(r):
            out[r, c] = out[c, r]
    return out


@njit(nogil=True)
def multinomial_loss(
    columns: np.ndarray, values: np.ndarray, counts: np.ndarray, beta: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Negative log-likelihood of each row, its slope [1 + q, free classes], and the shares of the free classes.

    ``counts`` [rows, classes] are the records of each class in a row; class 0 has no coefficients in ``beta``.
    """
    n, p = columns.shape
    free = beta.shape[1]
    losses = np.empty(n)
    slope = np.zeros(beta.shape)
    shares = np.empty((n, free))
    eta = np.empty(free)
    for i in range(n):
        for o in range(free):
            eta[o] = beta[0, o]
        for j in range(p):
            c = columns[i, j]
            if c >= 0:
                v = values[i, j]
                for o in range(free):
                    eta[o] += v * beta[c + 1, o]
        top = 0.0
        for o in range(free):
            top = max(top, eta[o])
        total = np.exp(-top)
        records = counts[i, 0]
        gained = 0.0
        for o in range(free):
            shares[i, o] = np.exp(eta[o] - top)
            total += shares[i, o]
            records += counts[i, o + 1]
            gained += counts[i, o + 1] * eta[o]
        losses[i] = records * (top + np.log(total)) - gained
        for o in range(free):
            shares[i, o] /= total
            eta[o] = records * shares[i, o] - counts[i, o + 1]
            slope[0, o] += eta[o]
        for j in range(p):
            c = columns[i, j]
            if c >= 0:
                v = values[i, j]
                for o in range(free):
                    slope[c + 1, o] += v * eta[o]
    return losses, slope, shares


@njit(nogil=True)
def multinomial_curvature(
    columns: np.ndarray, values: np.ndarray, totals: np.ndarray, shares: np.ndarray, size: int
) -> np.ndarray:
    """Second derivatives [size, size, pairs of classes], upper triangles of columns and of classes only.

    The pairs of classes are innermost, so that each entry of a record adds one run of neighbouring numbers.
    """
    n, p = columns.shape
    free = shares.shape[1]
    n_pairs = free * (free + 1) // 2
    out = np.zeros((size, size, n_pairs))
    weight = np.empty(n_pairs)
    for i in range(n):
        at = 0
        for k in range(free):
            w = totals[i] * shares[i, k]
            weight[at] = w * (1.0 - shares[i, k])
            at += 1
            for m in range(k + 1, free):
                weight[at] = -w * shares[i, m]
                at += 1
        cell = out[0, 0]
        for o in range(n_pairs):
            cell[o] += weight[o]
        for a in range(p):
            ca = columns[i, a]
            if ca < 0:
                continue
            va = values[i, a]
            cell = out[0, ca + 1]
            for o in range(n_pairs):
                cell[o] += va * weight[o]
            for b in range(a, p):
                cb = columns[i, b]
                if cb >= 0:
                    v = va * values[i, b]
                    cell = out[ca + 1, cb + 1]
                    for o in range(n_pairs):
                        cell[o] += v * weight[o]
    return out


@njit(nogil=True)
def unpacked(packed: np.ndarray, free: int) -> np.ndarray:
    """The symmetric matrix [size * free, size * free] behind ``multinomial_curvature``."""
    size = packed.shape[0]
    out = np.empty((size * free, size * free))
    for r in range(size):
        for c in range(r, size):
            at = 0
            for k in range(free):
                for m in range(k, free):
                    found = packed[r, c, at]
                    at += 1
                    out[r * free + k, c * free + m] = found
                    out[r * free + m, c * free + k] = found
                    out[c * free + m, r * free + k] = found
                    out[c * free + k, r * free + m] = found
    return out


@njit(nogil=True)
def descend(
    cross: np.ndarray, linear: np.ndarray, beta: np.ndarray, penalty: np.ndarray, tolerance: float, max_sweeps: int
) -> np.ndarray:
    """Minimise b'Gb/2 - c'b + sum_j penalty_j |b_j| by cyclic coordinate descent from ``beta``."""
    q = beta.size
    slope = linear - cross @ beta
    for _ in range(max_sweeps):
        largest = 0.0
        for j in range(q):
            g = cross[j, j]
            if g <= 0.0:
                continue
            old = beta[j]
            u = slope[j] + g * old
            if u > penalty[j]:
                new = (u - penalty[j]) / g
            elif u < -penalty[j]:
                new = (u + penalty[j]) / g
            else:
                new = 0.0
            if new != old:
                change = new - old
                beta[j] = new
                for k in range(q):
                    slope[k] -= cross[k, j] * change
                largest = max(largest, g * change * change)
        if largest < tolerance:
            break
    return beta
