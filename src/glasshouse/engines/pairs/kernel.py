"""Compiled loops over all pairs of a block of queries: distances, agreement patterns, and what is read off each row."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from glasshouse.data.arrays import Bools, Floats, Ints
from glasshouse.engines.compiled import njit, prange
from glasshouse.engines.neighbours.encoding import IGNORE, LEVEL, MATCH, MISMATCH, TOL

BLOCK = 256  # records looked at together: with all columns they fit the first cache
UNIFORM, SOFTMAX, GAUSSIAN, EPANECHNIKOV = 0, 1, 2, 3  # any other number: tricube


@njit(nogil=True)
def mixed(
    numbers: Floats,
    codes: Ints,
    number_columns: Floats,
    code_columns: Ints,
    weights: Floats,
    rule: int,
    out: Floats,
) -> None:
    """Weighted mean of |a - b| over numbers (NaN missing) and of a != b over codes (negative missing), into ``out``.

    The records asked about are [records, columns], those they are compared with [columns, records].
    """
    p = numbers.shape[1]
    m = out.shape[1]
    whole = weights.sum()
    present = np.empty(BLOCK)
    for start in range(0, m, BLOCK):
        end = min(start + BLOCK, m)
        for j in range(out.shape[0]):
            row = out[j, start:end]
            for i in range(end - start):
                row[i] = 0.0
                present[i] = 0.0
            for v in range(weights.shape[0]):
                w = weights[v]
                # what a missing value on one side, and on both sides, adds
                either = w if rule <= MISMATCH else 0.0
                both = w if rule == MISMATCH else 0.0
                if v < p:
                    a = numbers[j, v]
                    other = number_columns[v, start:end]
                    if np.isnan(a):
                        for i in range(end - start):
                            row[i] += either if other[i] == other[i] else both
                    else:
                        for i in range(end - start):
                            row[i] += w * abs(a - other[i]) if other[i] == other[i] else either
                            present[i] += w if other[i] == other[i] else 0.0
                else:
                    c = codes[j, v - p]
                    labels = code_columns[v - p, start:end]
                    if c < 0:
                        for i in range(end - start):
                            row[i] += either if labels[i] >= 0 else both
                    else:
                        for i in range(end - start):
                            row[i] += (w if labels[i] != c else 0.0) if labels[i] >= 0 else either
                            present[i] += w if labels[i] >= 0 else 0.0
            if rule == IGNORE:
                for i in range(end - start):
                    row[i] = row[i] / present[i] if present[i] > 0.0 else 1.0
            else:
                for i in range(end - start):
                    row[i] /= whole


@njit(nogil=True)
def _patterns(
    record: Floats,
    columns: Floats,
    start: int,
    end: int,
    first: int,
    last: int,
    is_code: Bools,
    cuts: Floats,
    n_cuts: Ints,
    rule: int,
    pattern: npt.NDArray[np.int32],
) -> None:
    """The agreement pattern of a record with the records ``start:end`` of a table in the columns ``first:last``.

    Level of agreement of a column: 0 best; number of cuts: none; one more: not comparable (missing, ignored). A pattern
    is the mixed-radix number of its levels.
    """
    size = end - start
    for i in range(size):
        pattern[i] = 0
    for v in range(first, last):
        a = record[v]
        other = columns[v, start:end]
        worst = np.int32(n_cuts[v])
        radix = np.int32(worst + 2)
        either = np.int32(worst + 1) if rule == IGNORE else (np.int32(0) if rule == MATCH else worst)
        both = np.int32(0) if rule == LEVEL else either
        if np.isnan(a):
            for i in range(size):
                pattern[i] = pattern[i] * radix + (either if other[i] == other[i] else both)
        elif is_code[v]:
            for i in range(size):
                level = np.int32(0) if other[i] == a else worst
                pattern[i] = pattern[i] * radix + (level if other[i] == other[i] else either)
        else:
            for i in range(size):  # one level further for every cut the difference exceeds
                pattern[i] = pattern[i] * radix + (np.int32(0) if other[i] == other[i] else either)
            for c in range(worst):
                cut = cuts[v, c]
                for i in range(size):
                    pattern[i] += np.int32(abs(a - other[i]) > cut)


@njit(nogil=True)
def pattern_scores(
    values: Floats,
    columns: Floats,
    is_code: Bools,
    cuts: Floats,
    n_cuts: Ints,
    groups: Ints,
    starts: Ints,
    table: Floats,
    rule: int,
    out: Floats,
) -> None:
    """Scores of the records ``values`` with all records of ``columns`` [columns, records], into ``out``.

    The columns ``groups[g]:groups[g + 1]`` have their patterns' scores in ``table`` from ``starts[g]`` on.
    """
    m = columns.shape[1]
    pattern = np.empty(BLOCK, np.int32)
    for start in range(0, m, BLOCK):
        end = min(start + BLOCK, m)
        for j in range(values.shape[0]):
            row = out[j, start:end]
            for g in range(groups.shape[0] - 1):
                _patterns(
                    values[j], columns, start, end, groups[g], groups[g + 1], is_code, cuts, n_cuts, rule, pattern
                )
                scores = table[starts[g] :]
                if g == 0:
                    for i in range(end - start):
                        row[i] = scores[pattern[i]]
                else:
                    for i in range(end - start):
                        row[i] += scores[pattern[i]]


@njit(nogil=True)
def pattern_counts(
    values: Floats, columns: Floats, is_code: Bools, cuts: Floats, n_cuts: Ints, rule: int, counts: Ints
) -> None:
    """Add to ``counts`` how many pairs of ``values`` and ``columns`` [columns, records] show each agreement pattern."""
    m = columns.shape[1]
    pattern = np.empty(BLOCK, np.int32)
    for start in range(0, m, BLOCK):
        end = min(start + BLOCK, m)
        for j in range(values.shape[0]):
            _patterns(values[j], columns, start, end, 0, columns.shape[0], is_code, cuts, n_cuts, rule, pattern)
            for i in range(end - start):
                counts[pattern[i]] += 1


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
