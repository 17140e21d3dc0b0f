"""Moving synthetic numbers off the values of real people: noise, running means, or a spline over the sorted values."""

from __future__ import annotations

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.data.arrays import Floats, Ints

COMMON = 0.70  # a value held by more than this share is left alone
_KNOTS = 400
ORDINARY = (1e-30, 1e30)  # ranges whose powers are numbers
CLOCK = (1, 24, 24 * 60, 86_400)  # days, hours, minutes, seconds of a day; else microseconds
FINEST = 1e-9  # of a bin, below which a spread has no shape


def smooth(values: Floats, observed: Floats, how: str, decimals: int, rng: np.random.Generator) -> Floats:
    """Smoothed synthetic numbers, rounded to the decimals of the data.

    Parameters
    ----------
    values : array of float
        Synthetic numbers.
    observed : array of float
        Numbers of the original.
    how : {"density", "rmean", "spline"}
        "density": normal noise with the Sheather-Jones bandwidth of the observed values, clipped to [min, max +
        bandwidth]; not for data in which one value holds more than 70 % or the largest value is a top code. "rmean":
        running mean of five sorted values. "spline": smoothing spline through the sorted values.
    decimals : int
        Decimals to round to.
    rng : numpy Generator
        Draws the noise of "density".

    Returns
    -------
    array of float
    """
    measured = np.isfinite(values)
    if not measured.all():  # an infinite number has no place to be moved from, nor does it say how others lie
        made = values.copy()
        made[measured] = smooth(values[measured], observed, how, decimals, rng)
        return made
    observed = observed[np.isfinite(observed)]
    if len(values) < 6 or not len(observed) or values.min() == values.max():
        return values
    if how == "density":
        distinct, counts = np.unique(observed, return_counts=True)
        if counts.max() > COMMON * len(observed) or _top_coded(distinct, counts):
            return values
        width = sheather_jones(observed)
        with np.errstate(over="ignore"):  # beyond the largest number there is: clipped
            most = min(float(observed.max() + width), np.finfo(float).max)
            moved = np.clip(values + rng.normal(0.0, width, len(values)), observed.min(), most)
    elif how == "rmean":
        moved = _by_rank(values, _running_mean(np.sort(values)))
    elif how == "spline":
        moved = spline_by_rank(values)
    else:
        raise InputError(f"smoothing {how!r} is unknown; choose 'density', 'rmean' or 'spline'")
    whole = np.abs(moved) >= 2.0**52  # has no decimals to be rounded to
    return np.where(whole, moved, np.round(np.where(whole, 0.0, moved), decimals))


def clock(days: Floats) -> float:
    """How many of the unit in which dates are told make a day: 1 where no time of day is in them.

    Parameters
    ----------
    days : array of float
        Dates as days, with a time of day as a fraction.

    Returns
    -------
    float
    """
    within = 86_400e6 * (days - np.floor(days))  # to the microsecond, in which dates are kept
    return next((float(unit) for unit in CLOCK if not (np.round(within) % (86_400e6 / unit)).any()), 86_400e6)


def spline_by_rank(values: Floats) -> Floats:
    """Each value replaced by a cubic smoothing spline (generalised cross-validation) of the sorted values at its rank.

    Equal values share their average rank, truncated. With many values neighbouring ranks are averaged first, which
    thins the knots.
    """
    from scipy.interpolate import make_smoothing_spline

    ordered = np.sort(values)
    n = len(ordered)
    if n < 6 or ordered[0] == ordered[-1]:
        return values
    groups = np.minimum(np.arange(n) * min(n, _KNOTS) // n, _KNOTS - 1)
    sizes = np.bincount(groups).astype(np.float64)
    ranks = np.bincount(groups, np.arange(1, n + 1)) / sizes
    means = np.bincount(groups, ordered) / sizes
    level, scale = means.mean(), max(means.std(), 1e-300)
    curve = make_smoothing_spline(ranks, (means - level) / scale, w=sizes)
    return _by_rank(values, curve(np.arange(1, n + 1)) * scale + level)


def _by_rank(values: Floats, fitted: Floats) -> Floats:
    """Fitted values of the sorted order, handed back to the records; ties get the one at their average rank."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    average = (last - counts + 1 + last) / 2.0
    return np.asarray(fitted[average.astype(np.int64)[inverse] - 1])


def _running_mean(ordered: Floats) -> Floats:
    padded = np.concatenate([[0.0], np.cumsum(ordered)])
    at = np.arange(len(ordered))
    reach = np.minimum(np.minimum(at, len(ordered) - 1 - at), 2)
    return np.asarray((padded[at + reach + 1] - padded[at - reach]) / (2 * reach + 1))


def _top_coded(distinct: Floats, counts: Ints) -> bool:
    """The largest value is held far more often than its neighbours."""
    return len(distinct) > 10 and counts[-1] > 10 * max(1.0, float(np.median(counts[-10:-1])))


def sheather_jones(x: Floats, bins: int = 1000) -> float:
    """Bandwidth of Sheather & Jones (1991) by solving the equation, on binned pairwise distances.

    Parameters
    ----------
    x : array of float
        The numbers.
    bins : int, default 1000
        Bins of the distances.

    Returns
    -------
    float
        The bandwidth; Silverman's rule of thumb where the equation has no root.

    References
    ----------
    Sheather & Jones (1991), A reliable data-based bandwidth selection method for kernel density estimation.
    """
    from scipy.optimize import brentq

    n = len(x)
    low, high = float(x.min()), float(x.max())
    half = high / 2 - low / 2
    if half > 0 and not ORDINARY[0] < half < ORDINARY[1]:  # its powers would leave the range of numbers
        return float(sheather_jones((x / 2 - low / 2) / half, bins) * half * 2)
    quarter = np.subtract(*np.percentile(x, [75, 25])) / 1.349
    scale = min(float(np.std(x, ddof=1)), quarter) if quarter > 0 else float(np.std(x, ddof=1))
    step = (high - low) * 1.01 / bins
    if step <= 0:
        return 0.0
    counts = np.bincount(np.minimum(((x - low) / step).astype(np.int64), bins - 1), minlength=bins).astype(np.float64)
    pairs = np.correlate(counts, counts, mode="full")[bins - 1 :]
    pairs[0] = (counts * (counts - 1)).sum() / 2
    distance = (np.arange(bins) * step) ** 2
    rule = float(0.9 * scale * n ** (-0.2))
    if scale < FINEST * step:  # nearly all numbers are one, seen on the scale of the others
        return rule

    def fourth(h: float) -> float:
        d = distance / h**2
        total = float((np.exp(-d / 2) * (d * d - 6 * d + 3) * pairs).sum())
        return float((2 * total + n * 3) / (n * (n - 1) * h**5 * np.sqrt(2 * np.pi)))

    def sixth(h: float) -> float:
        d = distance / h**2
        total = float((np.exp(-d / 2) * (d**3 - 15 * d * d + 45 * d - 15) * pairs).sum())
        return float((2 * total - 15 * n) / (n * (n - 1) * h**7 * np.sqrt(2 * np.pi)))

    a, b = 1.24 * scale * n ** (-1 / 7), 1.23 * scale * n ** (-1 / 9)
    ratio = fourth(a) / -sixth(b)
    if not np.isfinite(ratio) or ratio <= 0:
        return rule
    alpha = 1.357 * ratio ** (1 / 7)

    def gap(h: float) -> float:
        curvature = fourth(alpha * h ** (5 / 7))
        return float((1 / (2 * np.sqrt(np.pi) * n * curvature)) ** 0.2 - h if curvature > 0 else -h)

    start, stop = 0.1 * 1.144 * scale * n ** (-0.2), 1.144 * scale * n ** (-0.2)
    for _ in range(30):
        if gap(start) * gap(stop) <= 0:
            return float(brentq(gap, start, stop, xtol=start * 1e-3))
        start, stop = start / 1.2, stop * 1.2
    return rule
