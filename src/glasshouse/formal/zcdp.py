"""The exact attack region of rho-zCDP, on plain numbers and arrays.

Write P for the distribution of the release with the target person in the table and Q for the one without. A test that
says "member" has false-positive rate a = Q(S) and true-positive rate t = P(S). rho-zCDP bounds the Renyi divergence of
every order L > 1 by rho * L, both ways (Bun & Steinke 2016), and data processing carries that bound over to the
two-outcome pair (t, a). Conversely, each pair that satisfies all those inequalities *is* a rho-zCDP algorithm with two
outcomes. So the region of reachable (a, t) is known exactly:

    rho*(t, a) = sup over L >= 1 of max(R_L(t, a), R_L(a, t)) / L

    R_L(p, q) = ln( p^L q^(1-L) + (1-p)^L (1-q)^(1-L) ) / (L - 1),  R_1 = Kullback-Leibler

Two properties make this safe to compute. Every order gives a *lower* bound on the supremum, so a search that misses the
best order by a little asks for more noise, never less. And all expressions below are sums of terms of one sign, so no
baseline, however small, makes them cancel or overflow.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from glasshouse.core.options import door

Floats = NDArray[np.float64]

# Rounding in the sums below stays under a few 1e-15 of the result; rho is shortened by more than that, so that the
# floating-point answer is never above the real number it stands for.
ROUNDING = 1e-13

# Smaller false-positive rates are treated as this one, which is on the safe side (rho* falls, max TPR rises with a).
SMALLEST = 1e-200

_FIRST_ORDER = math.log(1e-8)
_COARSE = np.linspace(0.0, 1.0, 128)
_FINE = np.linspace(0.0, 1.0, 17)


@door
def required_rho(tpr: ArrayLike, fpr: ArrayLike) -> Floats:
    """Largest rho under which no test with this false-positive rate exceeds this true-positive rate.

    Parameters
    ----------
    tpr, fpr : number or array
        True-positive and false-positive rates, in [0, 1]; they broadcast.

    Returns
    -------
    array of float
        rho*, 0 where ``tpr <= fpr``, infinite where ``tpr = 1`` or ``fpr = 0`` (with ``tpr > fpr``).

    Notes
    -----
    With P = (t, 1 - t) and Q = (a, 1 - a),

        rho*(t, a) = sup over L >= 1 of max(R_L(P, Q), R_L(Q, P)) / L

    and R_L the Renyi divergence of order L. The answer is shortened by 1e-13 of itself, so that it is never above the
    real number it stands for.

    References
    ----------
    Bun & Steinke (2016), Concentrated differential privacy: simplifications, extensions, and lower bounds.

    Examples
    --------
    >>> import glasshouse as gh
    >>> gh.formal.required_rho([0.05, 0.5], 0.01).round(4)
    array([0.1734, 1.8202])
    """
    t, a = np.broadcast_arrays(np.asarray(tpr, float), np.asarray(fpr, float))
    a = np.where(a > 0.0, np.maximum(a, SMALLEST), a)
    rho = np.zeros(t.shape)
    open_side = t > a
    unbounded = open_side & ((t >= 1.0) | (a <= 0.0))
    rho[unbounded] = np.inf
    inside = open_side & ~unbounded
    if inside.any():
        gap = t[inside] - a[inside]
        rho[inside] = _rho_of_gap(a[inside], gap, 1.0 - t[inside]) * (1.0 - ROUNDING)
    return rho


def _rho_of_gap(a: Floats, gap: Floats, miss: Floats) -> Floats:
    """rho* from the three numbers that keep their relative accuracy: a, t - a and 1 - t."""
    t = a + gap
    up, down = _log_ratio(t, a, gap), _log_ratio(miss, 1.0 - a, -gap)  # ln(t/a) > 0, ln((1-t)/(1-a)) < 0
    both_ways = _Divergence(
        q=np.concatenate([a, t]), x=np.concatenate([gap / a, -gap / t]), log_x=np.concatenate([up, -up]),
        rest=np.concatenate([1.0 - a, miss]), y=np.concatenate([-gap / (1.0 - a), gap / miss]),
        log_y=np.concatenate([down, -down]),
    )  # fmt: skip
    toward_p, toward_q = both_ways.supremum().reshape(2, -1)
    return np.maximum(toward_p, toward_q)


def _log_ratio(top: Floats, bottom: Floats, difference: Floats) -> Floats:
    """ln(top / bottom) where top = bottom + difference: log1p close to 1, plain logarithms far from it."""
    relative = difference / bottom
    near = np.abs(relative) < 0.5
    return np.where(near, np.log1p(np.where(near, relative, 0.0)), np.log(top) - np.log(bottom))


class _Divergence:
    """E_Q[(P/Q)^L] for Q = (q, rest) and likelihood ratios 1 + x and 1 + y; one row per pair, one column per order."""

    def __init__(self, q: Floats, x: Floats, log_x: Floats, rest: Floats, y: Floats, log_y: Floats) -> None:
        self.q, self.rest, self.x, self.y = q[:, None], rest[:, None], x[:, None], y[:, None]
        self.log_x, self.log_y = log_x[:, None], log_y[:, None]
        self.log_q, self.log_rest = np.log(self.q), np.log(self.rest)
        self.largest = np.maximum(self.log_x, self.log_y)

    def at(self, c: Floats) -> Floats:
        """R_L / L at the orders L = 1 + c (c >= 0; c = 0 is the Kullback-Leibler divergence)."""
        order = 1.0 + c
        small = (order * self.largest < 600.0) | (c == 0.0)  # beyond, e^(L ln ratio) leaves the range of doubles
        tame = np.where(small, c, 0.0)
        # the sum less 1, its first-order terms (which cancel between the two outcomes) taken out beforehand
        total = self.q * _beyond_linear(tame, self.x, self.log_x) + self.rest * _beyond_linear(tame, self.y, self.log_y)
        value = np.where(tame > 0.0, np.log1p(tame * total) / np.maximum(tame, 1e-300), total)
        if not small.all():
            large = np.logaddexp(self.log_q + order * self.log_x, self.log_rest + order * self.log_y)
            value = np.where(small, value, large / np.maximum(c, 1e-300))
        return value / order

    def supremum(self) -> Floats:
        """Largest R_L / L: scan the orders on a logarithmic grid from L = 1 on, then close in on the best one."""
        # Past this order the divergence is near its limit, the largest log ratio, and R_L / L only falls.
        mass = np.where(self.log_x >= self.log_y, -self.log_q, -self.log_rest)
        high = np.log(np.clip(8.0 * (1.0 + mass) / np.maximum(self.largest, 1e-290), 1e3, 1e290))
        low = np.full_like(high, _FIRST_ORDER)
        rows = np.arange(len(high))
        best = self.at(np.zeros_like(high))[:, 0]
        for steps in (_COARSE, _FINE, _FINE):
            grid = low + (high - low) * steps
            values = self.at(np.exp(grid))
            peak = np.argmax(values, axis=1)
            best = np.maximum(best, values[rows, peak])
            middle = np.clip(peak, 1, len(steps) - 2)
            low, high = grid[rows, middle - 1][:, None], grid[rows, middle + 1][:, None]
        left, centre, right = values[rows, middle - 1], values[rows, middle], values[rows, middle + 1]
        bend = left - 2.0 * centre + right
        shift = np.where(bend < 0.0, 0.5 * (left - right) / np.where(bend < 0.0, bend, 1.0), 0.0)
        vertex = grid[rows, middle] + np.clip(shift, -1.0, 1.0) * 0.5 * (high - low)[:, 0]
        return np.maximum(best, self.at(np.exp(vertex)[:, None])[:, 0])


def _beyond_linear(c: Floats, x: Floats, log_x: Floats) -> Floats:
    """((1+x)^(1+c) - 1 - (1+c) x) / c, never negative, to full relative accuracy; (1+x) ln(1+x) - x at c = 0."""
    growth = np.where(c > 0.0, np.expm1(c * log_x) / np.maximum(c, 1e-300), log_x)
    direct = (1.0 + x) * growth - x
    order = 1.0 + c
    tiny = (order * np.abs(x) < 0.05) & (np.abs(x) < 0.05)
    if tiny.any():
        x = np.where(tiny, x, 0.0)
        series = np.ones_like(x)
        for k in range(12, 2, -1):  # the binomial series, innermost term first
            series = 1.0 + (order - k + 1.0) * x / k * series
        direct = np.where(tiny, 0.5 * order * x * x * series, direct)
    return np.maximum(direct, 0.0)


def max_tpr(rho: float, fpr: ArrayLike) -> Floats:
    """Largest true-positive rate of any test with this false-positive rate against a rho-zCDP release.

    Parameters
    ----------
    rho : float
        Zero or more.
    fpr : number or array
        False-positive rates.

    Returns
    -------
    array of float
        Of the shape of ``fpr``.

    Notes
    -----
    The root t in (a, 1) of rho*(t, a) = rho; the end of the bracket on the safe side (larger t) is returned.
    """
    a = np.atleast_1d(np.asarray(fpr, float))
    tpr = np.where(a >= 1.0, 1.0, 0.0)
    inside = (a > 0.0) & (a < 1.0)
    if inside.any():
        b = np.maximum(a[inside], SMALLEST)
        share = np.full_like(b, 0.0 if rho <= 0.0 else 1.0)
        if 0.0 < rho < math.inf:
            share = _boundary_share(rho, b)
        tpr[inside] = np.minimum((b + (1.0 - b) * share) * (1.0 + 4e-16), 1.0)
    return np.asarray(tpr, float).reshape(np.shape(fpr))


def _boundary_share(rho: float, a: Floats) -> Floats:
    """s = (t - a) / (1 - a) on the boundary, solved in ln(s / (1 - s)), which is accurate close to both ends."""
    from scipy.optimize.elementwise import find_root
    from scipy.special import expit

    target = math.log(rho) + ROUNDING

    def excess(z: Floats, base: Floats) -> Floats:
        # past the range of doubles the divergence is beyond any finite rho
        share, miss = np.maximum(expit(z), 1e-300), np.maximum(expit(-z), 1e-300)
        return np.log(_rho_of_gap(base, (1.0 - base) * share, (1.0 - base) * miss)) - target

    low = _inside(rho, a)
    high = low + 0.25
    step = 0.25
    outside = excess(high, a) > 0.0
    while not outside.all():
        step *= 2.0
        low = np.where(outside, low, high)
        high = np.where(outside, high, high + step)
        outside = (excess(high, a) > 0.0) | (high > 650.0)
    root = find_root(excess, (low, high), args=(a,), tolerances={"xatol": 1e-13, "xrtol": 1e-13})
    # a root hit exactly leaves a wide bracket behind, so the end of the bracket is only the second choice
    upper = np.where(root.f_x >= 0.0, root.x, np.maximum(*root.bracket))
    return np.asarray(expit(np.where(np.isfinite(upper), upper, high)), float)


def _inside(rho: float, a: Floats) -> Floats:
    """A starting point inside the region: the Gaussian mechanism with the same rho, less a hair."""
    from scipy.special import log_ndtr, ndtri

    z, mu = ndtri(a), math.sqrt(2.0 * rho)
    if mu < 1e-3:
        gap = mu * np.exp(-0.5 * (z + 0.5 * mu) ** 2) / math.sqrt(2.0 * math.pi)
    else:
        gap = np.exp(log_ndtr(z + mu)) - a
    return np.asarray(np.log(np.maximum(gap, 1e-300)) - log_ndtr(-z - mu) - 1e-6, float)


def rho_of_advantage(advantage: float) -> float:
    """rho = A ln((1+A)/(1-A)) = 2 A artanh A: the largest rho that keeps TPR - FPR at A or less everywhere.

    The two Kullback-Leibler divergences sum to at most 2 rho and to at least 2 A ln((1+A)/(1-A)); randomised response
    with e^epsilon = (1+A)/(1-A) attains it.
    """
    return 2.0 * advantage * math.atanh(advantage) * (1.0 - ROUNDING)


def advantage_of_rho(rho: float) -> float:
    """Largest TPR - FPR under rho-zCDP: the inverse of :func:`rho_of_advantage`.

    It is solved for epsilon in rho = epsilon tanh(epsilon / 2).
    """
    from scipy.optimize import brentq

    if not math.isfinite(rho):
        return 1.0
    # epsilon tanh(epsilon/2) lies between rho and epsilon for large, near epsilon^2 / 2 for small epsilon
    top = rho + 2.0 * math.sqrt(rho) + 1e-300
    epsilon = brentq(lambda e: e * math.tanh(0.5 * e) - rho, 0.0, top, xtol=1e-300, rtol=1e-14)
    return min(1.0, math.tanh(0.5 * epsilon) * (1.0 + 1e-13))


def delta_of_rho(rho: float, epsilon: float) -> float:
    """delta at epsilon by the usual conversion (Canonne, Kamath & Steinke 2020, proposition 12), capped at 1.

    delta = min over L > 1 of exp((L-1)(L rho - epsilon)) (1 - 1/L)^L / (L - 1); the minimising L is the root of
    (2L - 1) rho - epsilon + ln(1 - 1/L), which is searched from close to 1 upwards.
    """
    return min(1.0, math.exp(min(0.0, _log_delta(rho, epsilon))))


def _log_delta(rho: float, epsilon: float) -> float:
    from scipy.optimize import brentq

    if not math.isfinite(rho):
        return 0.0

    def slope(x: float) -> float:  # c = L - 1 = e^x
        c = math.exp(x)
        return (2.0 * c + 1.0) * rho - epsilon + x - math.log1p(c)

    low, high = -1.0, 1.0
    while slope(low) > 0.0:
        low -= 2.0 * (1.0 + abs(low))
    while slope(high) < 0.0:
        high += 2.0
    c = math.exp(brentq(slope, low, high, xtol=1e-15, rtol=1e-14))
    if c <= 0.0:
        return 0.0
    order = 1.0 + c
    return c * (order * rho - epsilon) + order * (math.log(c) - math.log1p(c)) - math.log(c)


def epsilon_of_rho(rho: float, delta: float) -> float:
    """Smallest epsilon for which :func:`delta_of_rho` is at most ``delta`` (0 if delta is met without any)."""
    from scipy.optimize import brentq

    if not math.isfinite(rho):
        return math.inf
    goal = math.log(delta)
    if _log_delta(rho, 0.0) <= goal:
        return 0.0
    high = rho + 2.0 * math.sqrt(rho * -goal) + 1.0  # the simple conversion is looser, so it brackets
    found: float = brentq(lambda e: _log_delta(rho, e) - goal, 0.0, high, xtol=1e-15, rtol=1e-14)
    return found * (1.0 + 1e-13)


def rho_of_epsilon_delta(epsilon: float, delta: float) -> float:
    """Largest rho whose conversion meets (epsilon, delta)."""
    from scipy.optimize import brentq

    goal = math.log(delta)
    low, high = math.log(1e-300), math.log(epsilon + 1.0)
    while _log_delta(math.exp(high), epsilon) < goal:
        high += 1.0
    found = math.exp(brentq(lambda x: _log_delta(math.exp(x), epsilon) - goal, low, high, xtol=1e-15, rtol=1e-15))
    return found * (1.0 - ROUNDING)
