"""Compiled loops over all pairs of a block of queries: distances, agreement patterns, and what is read off each row."""

from __future__ import annotations

import numpy as np

from glasshouse.data.arrays import Bools, Floats, Ints
from glasshouse.engines.compiled import njit, prange

LEVEL, MISMATCH, MATCH, IGNORE = 0, 1, 2, 3
TOL = 1e-9
UNIFORM, SOFTMAX, GAUSSIAN, EPANECHNIKOV = 0, 1, 2, 3  # any other number: tricube


@njit(parallel=True)
def mixed(numbers: Floats, codes: Ints, other_numbers: Floats, other_codes: Ints, weights: Floats, rule: int) -> Floats:
    """Weighted mean of |a - b| over numbers (NaN missing) and of a != b over codes (negative missing), for all
    pairs.
    """
    n = numbers.shape[0]
    m = other_numbers.shape[0]
    p = numbers.shape[1]
    q = codes.shape[1]
    whole = 0.0
    for v in range(p + q):
        whole += weights[v]
    out = np.empty((n, m))
    for i in prange(n):
        for j in range(m):
            total = 0.0
            present = 0.0
            for v in range(p):
                a = numbers[i, v]
                b = other_numbers[j, v]
                if np.isnan(a) or np.isnan(b):
                    if rule == MISMATCH or (rule == LEVEL and np.isnan(a) != np.isnan(b)):
                        total += weights[v]
                else:
                    total += weights[v] * abs(a - b)
                    present += weights[v]
            for v in range(q):
                a = codes[i, v]
                b = other_codes[j, v]
                w = weights[p + v]
                if a < 0 or b < 0:
                    if rule == MISMATCH or (rule == LEVEL and (a < 0) != (b < 0)):
                        total += w
                else:
                    present += w
                    if a != b:
                        total += w
            if rule == IGNORE:
                out[i, j] = total / present if present > 0.0 else 1.0
            else:
                out[i, j] = total / whole
    return out


@njit()
def _level(gap: float, cuts: Floats) -> int:
    """The first level whose largest difference covers this one."""
    for c in range(cuts.shape[0]):
        if gap <= cuts[c]:
            return c
    return cuts.shape[0]


@njit()
def _agreement(a: float, b: float, is_code: bool, cuts: Floats, rule: int) -> int:
    """Level of agreement of one column: 0 best; number of cuts: none; one more: not comparable (missing, ignored)."""
    if np.isnan(a) or np.isnan(b):
        if rule == IGNORE:
            return cuts.shape[0] + 1
        same = rule == MATCH or (rule == LEVEL and np.isnan(a) and np.isnan(b))
        return 0 if same else cuts.shape[0]
    if is_code:
        return 0 if a == b else cuts.shape[0]
    return _level(abs(a - b), cuts)


@njit(parallel=True)
def agreement_score(
    values: Floats, other: Floats, is_code: Bools, cuts: Floats, n_cuts: Ints, table: Floats, rule: int
) -> Floats:
    """Sum over columns of ``table[column, level of agreement]`` for all pairs."""
    n = values.shape[0]
    m = other.shape[0]
    p = values.shape[1]
    out = np.empty((n, m))
    for i in prange(n):
        for j in range(m):
            total = 0.0
            for v in range(p):
                total += table[v, _agreement(values[i, v], other[j, v], is_code[v], cuts[v, : n_cuts[v]], rule)]
            out[i, j] = total
    return out


@njit()
def pattern_counts(
    values: Floats, other: Floats, is_code: Bools, cuts: Floats, n_cuts: Ints, rule: int, size: int
) -> Ints:
    """How many pairs show each agreement pattern.

    Parameters
    ----------
    values, other : array of float
        The two sides, [records, columns], NaN missing.
    is_code : array of bool
        Which columns are codes.
    cuts : array of float
        [columns, levels]: the largest difference of each level.
    n_cuts : array of int
        Levels of each column.
    rule : int
        Position of the missing-value rule.
    size : int
        Number of patterns; a pattern is the mixed-radix number of its levels.

    Returns
    -------
    array of int
    """
    counts = np.zeros(size, np.int64)
    for i in range(values.shape[0]):
        for j in range(other.shape[0]):
            code = 0
            for v in range(values.shape[1]):
                code = code * (n_cuts[v] + 2) + _agreement(
                    values[i, v], other[j, v], is_code[v], cuts[v, : n_cuts[v]], rule
                )
            counts[code] += 1
    return counts


@njit(parallel=True)
def row_figures(block: Floats, true: Ints, k: int) -> Floats:
    """What is read off each query's scores.

    Parameters
    ----------
    block : array of float
        [queries, searched], smaller meaning more alike.
    true : array of int
        Position of each query's true match, or -1.
    k : int
        Which smallest score is wanted besides the smallest.

    Returns
    -------
    array of float
        [queries, 7]: smallest score, k-th smallest, score of the true match, scores below it, equal to it (within
        ``TOL``), mean and variance.
    """
    n, m = block.shape
    out = np.full((n, 7), np.nan)
    for i in prange(n):
        row = block[i]
        low = np.inf
        total = 0.0
        for j in range(m):
            low = min(low, row[j])
            total += row[j]
        mean = total / m
        spread = 0.0
        for j in range(m):
            spread += (row[j] - mean) ** 2
        out[i, 0] = low
        out[i, 1] = low
        if k > 1:
            best = np.full(min(k, m), np.inf)
            last = best.shape[0] - 1
            for j in range(m):
                if row[j] < best[last]:
                    slot = last
                    while slot > 0 and best[slot - 1] > row[j]:
                        best[slot] = best[slot - 1]
                        slot -= 1
                    best[slot] = row[j]
            out[i, 1] = best[last]
        out[i, 5] = mean
        out[i, 6] = spread / m
        if true[i] >= 0:
            mine = row[true[i]]
            below = 0
            equal = 0
            for j in range(m):
                if row[j] < mine - TOL:
                    below += 1
                elif row[j] <= mine + TOL:
                    equal += 1
            out[i, 2] = mine
            out[i, 3] = below
            out[i, 4] = equal
    return out


@njit()
def _quantile(ordered: Floats, p: float) -> float:
    """Linear-interpolation quantile of sorted numbers."""
    at = p * (ordered.shape[0] - 1)
    low = int(at)
    high = min(low + 1, ordered.shape[0] - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


@njit()
def _kernel_weight(u: float, shape: int) -> float:
    """Weight of a candidate at u bandwidths."""
    if shape == GAUSSIAN:
        return np.exp(-0.5 * u * u)
    if abs(u) >= 1.0:
        return 0.0
    if shape == EPANECHNIKOV:
        return 0.75 * (1.0 - u * u)
    return 70.0 / 81.0 * (1.0 - abs(u) ** 3) ** 3


@njit(parallel=True)
def true_weights(
    block: Floats, radius: Floats, true: Ints, shape: int, kappa: float, bandwidth: float, from_best: bool
) -> tuple[Ints, Floats]:
    """Size of each candidate set {score <= radius} and the weight of the true match in it.

    Parameters
    ----------
    block : array of float
        [queries, searched], smaller meaning more alike.
    radius : array of float
        One per query.
    true : array of int
        Position of each query's true match, or -1.
    shape : int
        UNIFORM, SOFTMAX, GAUSSIAN, EPANECHNIKOV, or any other number for the tricube.
    kappa : float
        Rate of the softmax; 0 asks for 2 / range of the candidate scores.
    bandwidth : float
        Of the kernels; 0 asks for Silverman's rule.
    from_best : bool
        Whether kernels are centred at the best score instead of 0.

    Returns
    -------
    (size, weight) : tuple of arrays
        Weight 0 where the true match is no candidate.
    """
    n, m = block.shape
    size = np.zeros(n, np.int64)
    weight = np.zeros(n)
    for i in prange(n):
        row = block[i]
        limit = radius[i] + TOL
        low = np.inf
        high = -np.inf
        count = 0
        for j in range(m):
            if row[j] <= limit:
                count += 1
                low = min(low, row[j])
                high = max(high, row[j])
        size[i] = count
        t = true[i]
        if count == 0 or t < 0 or row[t] > limit:
            continue
        weight[i] = 1.0 / count
        if shape == UNIFORM or high - low <= TOL:
            continue
        if shape == SOFTMAX:
            rate = kappa if kappa > 0.0 else 2.0 / (high - low)
            total = 0.0
            for j in range(m):
                if row[j] <= limit:
                    total += np.exp(-rate * (row[j] - low))
            weight[i] = np.exp(-rate * (row[t] - low)) / total
            continue
        inside = np.empty(count)
        at = 0
        for j in range(m):
            if row[j] <= limit:
                inside[at] = row[j]
                at += 1
        width = bandwidth
        if width <= 0.0:
            ordered = np.sort(inside)
            spread = np.sqrt(((inside - inside.mean()) ** 2).sum() / max(count - 1, 1))
            middle = (_quantile(ordered, 0.75) - _quantile(ordered, 0.25)) / 1.34
            width = 0.9 * min(spread, middle) * count ** (-0.2)
        if width <= 1e-12:  # quartiles that differ by rounding only
            continue
        start = low if from_best else 0.0
        total = 0.0
        for j in range(count):
            total += _kernel_weight((inside[j] - start) / width, shape)
        if total > 1e-15:  # all candidates far beyond the bandwidth: no weight tells them apart
            weight[i] = _kernel_weight((row[t] - start) / width, shape) / total
    return size, weight
