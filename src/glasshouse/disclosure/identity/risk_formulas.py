"""Re-identification risk of a record from its class size in the file and in the population. Formulas on plain arrays.

Benedetti and Franconi (1998): with f records of a class in the file that stand for F people, p = f / F and the
population class size negative binomial given f,

    r = E(1 / F_pop | f) = p integral over v in (0, 1) of v^(f-1) / (p + (1-p) v) dv.
"""

from __future__ import annotations

import numpy as np

SMALL = 30.0  # from this class size on the power series needs two dozen terms whatever p is
_LEGENDRE = 64


def franconi(f: np.ndarray, F: np.ndarray) -> np.ndarray:
    """The form in use: exact for f up to 2, p / (f - (1 - p)) above, as in sdcMicro.

    Parameters
    ----------
    f, F : ndarray
        Records of a class in the file, and the people they stand for.

    Returns
    -------
    ndarray
        Risk of a record of the class.

    Examples
    --------
    >>> franconi(np.array([1.0, 3.0]), np.array([10.0, 30.0])).round(4).tolist()
    [0.2558, 0.0476]
    """
    f, p = _share(f, F)
    risk = p / (f - (1 - p))
    exact = f <= 2
    risk[exact] = franconi_exact(f[exact], f[exact] / p[exact])
    return risk


def franconi_exact(f: np.ndarray, F: np.ndarray) -> np.ndarray:
    """The integral itself, for every f >= 1 (whole or not), stable for all p.

    Parameters
    ----------
    f, F : ndarray
        Records of a class in the file, and the people they stand for.

    Returns
    -------
    ndarray
        Risk of a record of the class.

    Notes
    -----
    f = 1 and 2 are elementary; for p >= 1/2 or large f the series (p/f) sum_j j! (1-p)^j / ((f+1) ... (f+j)) has only
    positive terms that fall fast; elsewhere v = p (e^s - 1) / (1 - p) turns the integral into one over s in (0, ln
    1/p), integrated by the tanh-sinh rule, whose nodes crowd at the ends where a fractional power is rough.
    """
    f, p = _share(f, F)
    risk = np.empty(len(f))
    q = 1 - p
    certain = q < 1e-12
    risk[certain] = 1 / f[certain]
    one, two = ~certain & (f == 1), ~certain & (f == 2) & (p < 0.5)
    odds = np.divide(p, q, out=np.zeros_like(p), where=~certain)
    risk[one] = -odds[one] * np.log(p[one])
    risk[two] = odds[two] + odds[two] ** 2 * np.log(p[two])
    left = ~certain & ~one & ~two
    series = left & ((p >= 0.5) | (f >= SMALL))
    risk[series] = _series(f[series], p[series])
    inner = left & ~series
    risk[inner] = _integral(f[inner], p[inner])
    return risk


def _share(f: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """p = f / F; weights below 1 would make the population smaller than the file, so F is at least f."""
    f = np.asarray(f, float)
    return f, f / np.maximum(np.asarray(F, float), f)


def _series(f: np.ndarray, p: np.ndarray) -> np.ndarray:
    term = np.ones(len(f))
    total = term.copy()
    for j in range(1, 200):
        term = term * (j * (1 - p) / (f + j))
        total += term
        if not (term > 1e-17 * total).any():
            break
    return p / f * total


def _integral(f: np.ndarray, p: np.ndarray) -> np.ndarray:
    if len(f) == 0:
        return p
    node = np.arange(-60, 61) * 0.055
    place = np.pi / 2 * np.sinh(node)
    share = 1 / (1 + np.exp(-2 * place))  # in (0, 1), the left end resolved to full precision
    weight = 0.055 * np.pi / 2 * np.cosh(node) / (2 * np.cosh(place) ** 2)
    length = -np.log(p)[:, None]
    v = p[:, None] * np.expm1(share[None, :] * length) / (1 - p)[:, None]
    inside = np.minimum(v, 1.0) ** (f[:, None] - 1)
    return p * (inside * weight[None, :]).sum(axis=1) * length[:, 0] / (1 - p)


def expected_inverse(f: np.ndarray, v: np.ndarray) -> np.ndarray:
    """E(1 / (f + X)) with X ~ Poisson(v): integral over x in (0, v) of (1 - x/v)^(f-1) e^(-x) dx / v.

    Parameters
    ----------
    f : ndarray
        Records of a class in the file.
    v : ndarray
        People of the class expected outside the file.

    Returns
    -------
    ndarray
        Risk of a record of the class.

    Notes
    -----
    For f = 1 this is Skinner and Shlomo's (1 - e^-v) / v. Beyond 40 decay lengths nothing is left of the integrand.
    """
    f, v = np.asarray(f, float), np.asarray(v, float)
    result = 1 / f
    one = (f == 1) & (v > 1e-9)
    result[one] = -np.expm1(-v[one]) / v[one]
    left = (f != 1) & (v > 1e-9)
    if left.any():
        nodes, weights = np.polynomial.legendre.leggauss(_LEGENDRE)
        g, u = f[left], v[left]
        reach = np.minimum(u, 40 / (1 + (g - 1) / u))
        x = reach[:, None] * (nodes[None, :] + 1) / 2
        height = np.exp(-x + (g - 1)[:, None] * np.log1p(-np.minimum(x / u[:, None], 1 - 1e-16)))
        result[left] = (height * weights[None, :]).sum(axis=1) * reach / 2 / u
    return result


def global_threshold(risk: np.ndarray, number: np.ndarray, largest: float) -> float | None:
    """The record risk at which to cut so that the mean risk falls below a goal.

    Parameters
    ----------
    risk, number : ndarray
        Risks, and the number of records that have each.
    largest : float
        Goal for the mean risk.

    Returns
    -------
    float or None
        None when the file is already there, 0 when no cut reaches it.

    Notes
    -----
    The largest distinct risk x for which (risks up to x) + x * (records above x) < largest * n.
    """
    n = number.sum()
    if (risk * number).sum() < largest * n:
        return None
    values, where = np.unique(risk, return_inverse=True)
    records = np.bincount(where, weights=number)
    up_to = np.cumsum(values * records)
    above = n - np.cumsum(records)
    reached = np.flatnonzero(up_to + values * above < largest * n)
    return float(values[reached[-1]]) if len(reached) else 0.0


def household_risk(risk: np.ndarray, cluster: np.ndarray) -> np.ndarray:
    """Probability that somebody of the household is re-identified, 1 - product of (1 - r_i), for each member.

    Parameters
    ----------
    risk, cluster : ndarray
        Risk and household of every record.

    Returns
    -------
    ndarray
        The household's risk, per record.

    Examples
    --------
    >>> household_risk(np.array([0.5, 0.5, 0.1]), np.array([7, 7, 8])).round(2).tolist()
    [0.75, 0.75, 0.1]
    """
    _, index = np.unique(cluster, return_inverse=True)
    with np.errstate(divide="ignore"):
        safe = np.bincount(index, weights=np.log1p(-np.minimum(risk, 1.0)))
    made: np.ndarray = -np.expm1(safe)[index]
    return made


def weighted_median(values: np.ndarray, counts: np.ndarray) -> float | None:
    """Median of values given with counts: the mean of the two middle ones when their number is even.

    Parameters
    ----------
    values, counts : ndarray
        Values, and how often each occurs.

    Returns
    -------
    float or None
        None without any value.

    Examples
    --------
    >>> weighted_median(np.array([1.0, 3.0]), np.array([1, 1]))
    2.0
    """
    total = int(counts.sum())
    if total == 0:
        return None
    order = np.argsort(values, kind="stable")
    ends = np.cumsum(counts[order])
    low = values[order][np.searchsorted(ends, (total - 1) // 2, side="right")]
    high = values[order][np.searchsorted(ends, total // 2, side="right")]
    return float(low + high) / 2
