"""Sums over a treatment-coded table that never is a dense matrix: each record has one entry per key.

``columns`` int32 [n, p] is the column of a record's entry for each key, -1 for none (first level, or a level unknown
to the model); ``values`` [n, p] its value, 1 for a category. Index 0 of every result belongs to the intercept.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def linear_predictor(columns, values, beta):  # type: ignore[no-untyped-def]
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


@njit(cache=True, nogil=True)
def project(columns, values, residual, q):  # type: ignore[no-untyped-def]
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


@njit(cache=True, nogil=True)
def gram(columns, values, weight, q):  # type: ignore[no-untyped-def]
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


@njit(cache=True, nogil=True)
def independent(cross, tolerance):  # type: ignore[no-untyped-def]
    """Which columns the ones before them (intercept first) do not determine: sweep of the cross-product matrix."""
    q = cross.shape[0]
    work = cross.copy()
    kept = np.zeros(q, np.bool_)
    for j in range(q):
        if cross[j, j] > 0.0 and work[j, j] > tolerance * cross[j, j]:
            kept[j] = True
            for r in range(j + 1, q):
                if work[r, j] != 0.0:
                    f = work[r, j] / work[j, j]
                    for c in range(j + 1, q):
                        work[r, c] -= f * work[j, c]
    return kept


@njit(cache=True, nogil=True)
def descend(cross, linear, beta, penalty, tolerance, max_sweeps):  # type: ignore[no-untyped-def]
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
