"""Interval estimates for shares and means. Plain numbers in, plain numbers out."""

from __future__ import annotations

import math

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.core.streams import RandomState, generator

Interval = tuple[float, float]


def normal_quantile(confidence: float) -> float:
    """Two-sided standard normal quantile, e.g. 1.959964 at 0.95."""
    from statistics import NormalDist

    if not 0 < confidence < 1:
        raise InputError(f"confidence must lie between 0 and 1, not {confidence}")
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def check_draws(name: str, draws: int) -> None:
    """Refuse a number of random draws that gives no figure."""
    if draws < 1:
        raise InputError(f"{name} must be at least 1, not {draws}")


def wald(k: float, n: float, confidence: float = 0.95) -> Interval:
    """p +- z sqrt(p(1-p)/n). Kept for comparison with other packages; too short for small n."""
    p = k / n
    half = normal_quantile(confidence) * math.sqrt(p * (1 - p) / n)
    return p - half, p + half


def wilson(k: float, n: float, confidence: float = 0.95) -> Interval:
    """Wilson score interval. ``n`` may be an effective sample size (weights), so neither needs to be whole."""
    if n <= 0:
        raise InputError("an interval needs at least one record")
    z = normal_quantile(confidence)
    p = k / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return 0.0 if k == 0 else max(0.0, centre - half), 1.0 if k == n else min(1.0, centre + half)


def clopper_pearson(k: int, n: int, confidence: float = 0.95) -> Interval:
    """Exact interval from Beta quantiles; (0, .) for no success and (., 1) for success throughout."""
    from scipy.stats import beta

    alpha = 1 - confidence
    low = 0.0 if k == 0 else float(beta.ppf(alpha / 2, k, n - k + 1))
    high = 1.0 if k == n else float(beta.ppf(1 - alpha / 2, k + 1, n - k))
    return low, high


def bootstrap_share(
    k: int, n: int, confidence: float = 0.95, n_boot: int = 1000, random_state: RandomState = 0
) -> Interval:
    """Percentile bootstrap of a share. Resampling 0/1 flags is a binomial draw, so no record is touched."""
    draws = generator(random_state, "bootstrap_share").binomial(n, k / n, size=n_boot) / n
    low, high = np.quantile(draws, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def difference_of_shares(k1: float, n1: float, k2: float, n2: float, confidence: float = 0.95) -> Interval:
    """Newcombe's interval for p1 - p2, built from the two Wilson intervals; honest near 0 and 1."""
    p1, p2 = k1 / n1, k2 / n2
    low1, high1 = wilson(k1, n1, confidence)
    low2, high2 = wilson(k2, n2, confidence)
    return (
        p1 - p2 - math.hypot(p1 - low1, high2 - p2),
        p1 - p2 + math.hypot(high1 - p1, p2 - low2),
    )


def difference_interval(first: float, limits1: Interval, second: float, limits2: Interval) -> Interval:
    """Interval of the difference of two independent figures from their own intervals (Zou & Donner 2008)."""
    gap = first - second
    return (
        gap - math.hypot(first - limits1[0], limits2[1] - second),
        gap + math.hypot(limits1[1] - first, second - limits2[0]),
    )


def student_mean(values: np.ndarray, confidence: float = 0.95) -> Interval | None:
    """t interval for a mean; None for fewer than two values."""
    from scipy.stats import t

    values = np.asarray(values, float)
    if values.size < 2:
        return None
    half = float(t.ppf(0.5 + confidence / 2, values.size - 1)) * values.std(ddof=1) / math.sqrt(values.size)
    return float(values.mean() - half), float(values.mean() + half)


def on_excess_scale(interval: Interval, baseline: float) -> Interval | None:
    """The interval of a value on the scale of its excess, the baseline taken as known; None with an open end."""
    ends = finite_ends(interval)
    return None if ends is None else ((ends[0] - baseline) / (1 - baseline), (ends[1] - baseline) / (1 - baseline))


def finite_ends(interval: tuple[float | None, float | None] | None) -> Interval | None:
    """An interval with two finite ends, or none."""
    if interval is None or interval[0] is None or interval[1] is None:
        return None
    low, high = float(interval[0]), float(interval[1])
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None
