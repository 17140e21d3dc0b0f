"""Distances between two distributions given as counts over the same levels. Arrays [r, K] in, one number per row out.

The last axis holds the levels; numeric levels ascend. Formulas are those of the cited papers, no frame in sight.
"""

from __future__ import annotations

import numpy as np


def shares(counts: np.ndarray) -> np.ndarray:
    """Counts as shares of their total; NaN where there is none, as in a deal that gives one side only weights of zero:
    a band leaves such a deal out.
    """
    total = counts.sum(axis=-1, keepdims=True)
    made: np.ndarray = np.full(counts.shape, np.nan)
    return np.divide(counts, total, out=made, where=total > 0)


def hellinger(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """H = sqrt(1/2 sum (sqrt p - sqrt q)^2)."""
    made: np.ndarray = np.sqrt(0.5 * ((np.sqrt(shares(x)) - np.sqrt(shares(y))) ** 2).sum(axis=-1))
    return made


def total_variation(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """TV = 1/2 sum |p - q|."""
    made: np.ndarray = 0.5 * np.abs(shares(x) - shares(y)).sum(axis=-1)
    return made


def jensen_shannon_bits(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """JSD = 1/2 KL(p || m) + 1/2 KL(q || m), m = (p+q)/2, in bits: 0 to 1."""
    p, q = shares(x), shares(y)
    middle = 0.5 * (p + q)
    made: np.ndarray = 0.5 * (_relative_entropy(p, middle) + _relative_entropy(q, middle)) / np.log(2)
    return np.maximum(made, 0.0)


def _relative_entropy(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    ratio = np.divide(p, q, out=np.ones_like(p), where=(p > 0) & (q > 0))
    made: np.ndarray = (p * np.log(ratio)).sum(axis=-1)
    return made


def kolmogorov_smirnov(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """D = max |F_X - F_Y|."""
    made: np.ndarray = np.abs(_steps(x) - _steps(y)).max(axis=-1)
    return made


def _steps(counts: np.ndarray) -> np.ndarray:
    # divide after summing: whole counts then give the exact distribution function
    running = np.cumsum(counts, axis=-1)
    made: np.ndarray = running / running[..., -1:]
    return made


def wasserstein(x: np.ndarray, y: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """W1 = integral |F_X - F_Y|, exact."""
    if len(levels) < 2:
        return np.zeros(x.shape[:-1])
    made: np.ndarray = (np.abs(_steps(x) - _steps(y))[..., :-1] * np.diff(levels)).sum(axis=-1)
    return made


def cramer(x: np.ndarray, y: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """sqrt(2 integral (F_X - F_Y)^2): the one-dimensional energy distance in the root of the column's units."""
    made: np.ndarray = np.sqrt(2 * (((_steps(x) - _steps(y))[..., :-1] ** 2) * np.diff(levels)).sum(axis=-1))
    return made


def cramer_von_mises(x: np.ndarray, y: np.ndarray) -> float:
    """Two-sample Cramér-von Mises statistic T from counts, midranks for ties (Anderson 1962)."""
    n, m = float(x.sum()), float(y.sum())
    both = x + y
    midrank = np.cumsum(both) - 0.5 * (both - 1)

    def squares(counts: np.ndarray) -> float:
        # sum over the ranks i within the sample of (midrank - i)^2, level by level
        middle = np.cumsum(counts) - 0.5 * (counts - 1)
        return float((counts * (midrank - middle) ** 2 + counts * (counts**2 - 1) / 12).sum())

    u = n * squares(x) + m * squares(y)
    return u / (n * m * (n + m)) - (4 * n * m - 1) / (6 * (n + m))


def homogeneity(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Pearson's chi-square of the 2 x K table: both tables are samples, so a level of the release alone counts too."""
    n, m = x.sum(axis=-1, keepdims=True), y.sum(axis=-1, keepdims=True)
    pooled = (x + y) / (n + m)
    total = np.zeros(x.shape[:-1])
    for counts, size in ((x, n), (y, m)):
        expected = pooled * size
        total = total + np.divide(
            (counts - expected) ** 2, expected, out=np.zeros_like(expected), where=expected > 0
        ).sum(axis=-1)
    return total


def mean_and_sd(counts: np.ndarray, levels: np.ndarray, n: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation (divisor n - 1, n the effective size) of values given with counts."""
    p = shares(counts)
    mean = p @ levels
    variance = (p * (levels - mean[..., None]) ** 2).sum(axis=-1) * n / max(n - 1, 1e-12)
    return mean, np.sqrt(variance)


def quantiles(counts: np.ndarray, levels: np.ndarray, probabilities: np.ndarray, n: float) -> np.ndarray:
    """Type-7 quantiles [probabilities] of one distribution; weights are scaled to sum to the effective size n."""
    ends = np.cumsum(counts)
    whole = float(ends[-1]) if float(ends[-1]).is_integer() and abs(float(ends[-1]) - n) < 0.5 else n
    ends = ends * (whole / ends[-1])
    ends[-1] = whole
    position = probabilities * max(whole - 1, 0)
    below = np.floor(position + 1e-9)
    above = np.minimum(below + 1, max(whole - 1, 0))
    at = [np.minimum(np.searchsorted(ends, side + 1e-9, side="right"), len(levels) - 1) for side in (below, above)]
    low, high = levels[at[0]], levels[at[1]]
    made: np.ndarray = low + np.maximum(position - below, 0) * (high - low)
    return made


def spread(counts: np.ndarray, levels: np.ndarray, n: float) -> tuple[float, float]:
    """(IQR, scale): the scale is the IQR, or the standard deviation when it is 0, or the range, or 1.

    A zero-inflated column has IQR 0; dividing by 1 instead would put raw units into a mean over columns.
    """
    low, high = quantiles(counts, levels, np.array([0.25, 0.75]), n)
    iqr = float(high - low)
    if iqr > 0:
        return iqr, iqr
    sd = float(mean_and_sd(counts[None, :], levels, n)[1][0])
    if sd > 0:
        return iqr, sd
    width = float(levels[-1] - levels[0]) if len(levels) else 0.0
    return iqr, width if width > 0 else 1.0


def expected_tv(p: np.ndarray, n: float, m: float) -> float:
    """Expected TV of a fresh sample, 1/2 sum sqrt(2/pi p (1-p) (1/n + 1/m)): the closed form of mostlyai-qa's
    expected accuracy.
    """
    return float(0.5 * np.sqrt(2 / np.pi * p * (1 - p) * (1 / n + 1 / m)).sum())
