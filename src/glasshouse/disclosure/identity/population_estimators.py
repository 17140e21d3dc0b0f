"""How many sample uniques are unique in the population: three published estimators on the counts of class sizes.

n_j is the number of classes of size j, n the records, u the classes, N the population, pi = n / N. Each takes the
sizes j that occur, their counts n_j and N, and estimates P = P(F = 1 | f = 1) for a record that is alone in the file,
and U, the number of people alone in the population.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np


class NoSolution(Exception):
    """An estimator has no admissible solution on this histogram; the text says why."""


@dataclass(frozen=True)
class Estimate:
    """One estimator's answer.

    Attributes
    ----------
    p
        Probability that a record alone in the file is alone in the population.
    population_uniques
        Number of people alone in the population.
    parameters
        Fitted parameters of its model.
    """

    p: float
    population_uniques: float
    parameters: Mapping[str, float] = field(default_factory=dict)

    def details(self) -> dict[str, float]:
        """The figures under the names results show them by."""
        return {**self.parameters, "p_conditional": self.p, "population_uniques": self.population_uniques}


def zayatz(sizes: np.ndarray, counts: np.ndarray, N: int) -> Estimate:
    """Zayatz's estimator.

    Parameters
    ----------
    sizes, counts : ndarray
        Class sizes that occur, and how many classes have each.
    N : int
        People in the population.

    Returns
    -------
    Estimate

    Notes
    -----
    P = (n_1/u) h(1;1) / sum_j (n_j/u) h(1;j), h(1;j) the hypergeometric chance that a class of j people gives one
    record, and U = n_1 P / pi.

    References
    ----------
    .. [1] Zayatz (1991), Estimation of the percent of unique population elements on a microdata file using the sample.

    Examples
    --------
    >>> round(zayatz(np.array([1, 2, 3]), np.array([3, 1, 1]), 80).p, 6)
    0.410308
    """
    from scipy.special import gammaln

    n = int((sizes * counts).sum())
    j = np.minimum(sizes, N).astype(float)

    def log_choose(a: np.ndarray | float, b: float) -> np.ndarray:
        whole = np.asarray(a, float)
        return np.asarray(gammaln(whole + 1.0) - gammaln(b + 1.0) - gammaln(whole - b + 1.0))

    possible = N - j >= n - 1
    chance = np.zeros(len(j))
    chance[possible] = np.exp(
        np.log(j[possible]) + log_choose(N - j[possible], n - 1.0) - log_choose(float(N), float(n))
    )
    single = counts[sizes == 1].sum()
    p = float(single * chance[sizes == 1].sum() / (counts * chance).sum()) if single else 0.0
    return Estimate(_clamped(p), float(single) * p / (n / N))


def pitman(sizes: np.ndarray, counts: np.ndarray, N: int) -> Estimate:
    """Pitman's sampling formula, fitted by maximum likelihood.

    Parameters
    ----------
    sizes, counts : ndarray
        Class sizes that occur, and how many classes have each.
    N : int
        People in the population.

    Returns
    -------
    Estimate
        With ``alpha`` and ``theta``. Raises ``NoSolution`` where the likelihood has no maximum inside.

    Notes
    -----
    Maximised over 0 < alpha < 1 and theta >= 0 is

        sum_{i=1}^{u-1} ln(theta + i alpha) - sum_{i=1}^{n-1} ln(theta + i) + sum_j n_j sum_{i=1}^{j-1} ln(i - alpha),

    then U = Gamma(theta + 1) / Gamma(theta + alpha) N^alpha and P = pi U / n_1. The sums are differences of log-gamma
    functions.

    References
    ----------
    .. [1] Hoshino (2001), Applying Pitman's sampling formula to microdata disclosure risk assessment.
    """
    from scipy.optimize import minimize, root
    from scipy.special import digamma, gammaln

    n, u = int((sizes * counts).sum()), int(counts.sum())
    single = int(counts[sizes == 1].sum())
    if u == n or u == 1:
        raise NoSolution("every record is alone" if u == n else "there is one class only")

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        """Minus the log-likelihood per record and its gradient in (logit alpha, log theta)."""
        x = np.clip(x, -30, 60)
        alpha, theta = 1 / (1 + math.exp(-x[0])), math.exp(x[1])
        ratio = theta / alpha
        classes = (u - 1) * math.log(alpha) + gammaln(ratio + u) - gammaln(ratio + 1)
        records = gammaln(theta + n) - gammaln(theta + 1)
        inner = (counts * (gammaln(sizes - alpha) - gammaln(1 - alpha))).sum()
        rise = digamma(ratio + u) - digamma(ratio + 1)
        by_theta = rise / alpha - digamma(theta + n) + digamma(theta + 1)
        by_alpha = (u - 1 - ratio * rise) / alpha + (counts * (digamma(1 - alpha) - digamma(sizes - alpha))).sum()
        slope = np.array([by_alpha * alpha * (1 - alpha), by_theta * theta])
        return -float(classes - records + inner) / n, -slope / n

    def score(x: np.ndarray) -> np.ndarray:
        """Derivatives by alpha and log theta: unlike those by logit alpha they do not vanish at the edge alpha = 0."""
        alpha = 1 / (1 + math.exp(-max(x[0], -30.0)))
        return loss(x)[1] / np.array([alpha * (1 - alpha), 1.0])

    limits = [(-18.0, 18.0), (-18.0, math.log(n) + 12.0)]
    starts = ((0.0, math.log(max(u / 4, 1.0))), (-2.0, math.log(max(u, 2.0))), (2.0, 0.0))
    # truncated Newton, not L-BFGS: threads of a linear algebra library would only wait for two parameters
    options = {"ftol": 1e-15, "xtol": 1e-12, "gtol": 1e-14, "maxfun": 2000}
    found = [minimize(loss, np.array(s), jac=True, method="TNC", bounds=limits, options=options) for s in starts]
    best = min(found, key=lambda fit: fit.fun)
    solved = root(score, best.x, method="hybr", tol=1e-13)
    inside = all(low < x < high for x, (low, high) in zip(solved.x, limits, strict=True))
    if not inside or np.abs(score(solved.x)).max() > 1e-9:
        raise NoSolution("the likelihood has its maximum at the edge of the parameter space")
    alpha, theta = 1 / (1 + math.exp(-solved.x[0])), math.exp(solved.x[1])
    population = math.exp(gammaln(theta + 1) - gammaln(theta + alpha) + alpha * math.log(N))
    p = n / N * population / single if single else 0.0
    return Estimate(_clamped(p), population, {"alpha": alpha, "theta": theta})


def shifted_negative_binomial(sizes: np.ndarray, counts: np.ndarray, N: int) -> Estimate:
    """Shifted ("slide") negative binomial: F - 1 ~ NB(alpha, beta) over K population classes.

    Parameters
    ----------
    sizes, counts : ndarray
        Class sizes that occur, and how many classes have each.
    N : int
        People in the population.

    Returns
    -------
    Estimate
        With ``alpha``, ``beta`` and ``K``. Raises ``NoSolution`` where no such distribution has these counts.

    Notes
    -----
    With D = (1-pi)(1-beta): P(f=0) = (1-pi) b, P(f=1) = pi b (1 + alpha D / (1-D)), b = (beta / (1-D))^alpha, and
    P(f=2) = pi^2/2 alpha (1-beta) beta^alpha (2 - (1-alpha) D) / (1-D)^(alpha+2); K P(1) = n_1, K P(2) = n_2 and K (1
    - P(0)) = u are solved exactly. U = K beta^alpha, P = pi U / n_1.

    References
    ----------
    .. [1] Chen and Keller-McNulty (1998), Estimation of identification disclosure risk in microdata.
    """
    from scipy.optimize import brentq

    n, u = int((sizes * counts).sum()), int(counts.sum())
    n1, n2 = int(counts[sizes == 1].sum()), int(counts[sizes == 2].sum())
    pi = n / N
    if not n1 or not n2:
        raise NoSolution("it needs classes of one and of two records")

    def parts(alpha: float, beta: float) -> tuple[float, float]:
        """P(f = 0) and P(f = 1)."""
        D = (1 - pi) * (1 - beta)
        b = math.exp(alpha * (math.log(beta) - math.log1p(-D)))
        return (1 - pi) * b, pi * b * (1 + alpha * D / (1 - D))

    def alpha_of(beta: float) -> float | None:
        """The alpha at which P(2) / P(1) is n_2 / n_1; the ratio rises with alpha, and beta^alpha cancels out of it."""
        D = (1 - pi) * (1 - beta)

        def gap(log_alpha: float) -> float:
            alpha = math.exp(log_alpha)
            return pi / 2 * alpha * (1 - beta) * (2 - (1 - alpha) * D) / ((1 - D) * (1 - D + alpha * D)) - n2 / n1

        low, high = -25.0, 12.0
        if gap(low) > 0 or gap(high) < 0:
            return None
        return math.exp(brentq(gap, low, high, xtol=1e-14, rtol=1e-14))

    def miss(logit: float) -> float | None:
        beta = 1 / (1 + math.exp(-logit))
        alpha = alpha_of(beta)
        if alpha is None:
            return None
        zero, one = parts(alpha, beta)
        return one / (1 - zero) - n1 / u if zero < 1 else None

    grid = np.linspace(-16, 9, 101)
    values = [miss(float(x)) for x in grid]
    for left, right, a, b in zip(grid, grid[1:], values, values[1:], strict=False):
        if a is not None and b is not None and a * b <= 0:
            root = brentq(lambda x: miss(x) or 0.0, left, right, xtol=1e-13, rtol=1e-14)
            beta = 1 / (1 + math.exp(-root))
            alpha = alpha_of(beta)
            if alpha is None:
                continue
            zero = parts(alpha, beta)[0]
            K = u / (1 - zero)
            population = K * beta**alpha
            parameters = {"alpha": alpha, "beta": beta, "K": K}
            return Estimate(_clamped(pi * population / n1), population, parameters)
    raise NoSolution("no negative binomial has these numbers of classes of one and two records")


def _clamped(p: float) -> float:
    return min(max(p, 0.0), 1.0)


ESTIMATORS: Mapping[str, Callable[[np.ndarray, np.ndarray, int], Estimate]] = {
    "zayatz": zayatz,
    "pitman_mle": pitman,
    "shifted_nb": shifted_negative_binomial,
}


def all_estimates(sizes: np.ndarray, counts: np.ndarray, N: int) -> tuple[dict[str, Estimate], dict[str, str]]:
    """Every estimator on the same counts.

    Parameters
    ----------
    sizes, counts : ndarray
        Class sizes that occur, and how many classes have each.
    N : int
        People in the population.

    Returns
    -------
    made : dict of str to Estimate
        Estimates by name.
    failed : dict of str to str
        The reason where one has no solution.
    """
    made: dict[str, Estimate] = {}
    failed: dict[str, str] = {}
    for name, estimator in ESTIMATORS.items():
        try:
            made[name] = estimator(sizes, counts, N)
        except NoSolution as why:
            failed[name] = str(why)
    return made, failed


def dankar(p: Mapping[str, float], fraction: float) -> str | None:
    """The estimator that the rule of Dankar, El Emam, Neisa and Roffey (2012) reads.

    Parameters
    ----------
    p : mapping of str to float
        Estimates of P(F = 1 | f = 1) by name, of those that have one.
    fraction : float
        Share of the population in the file.

    Returns
    -------
    str or None
        Its name; None when none of those it chooses among has a solution.
    """
    if fraction <= 0.1:
        return next((name for name in ("pitman_mle", "zayatz") if name in p), None)
    usable = [name for name in ("shifted_nb", "zayatz") if name in p]
    return min(usable, key=lambda name: p[name], default=None)
