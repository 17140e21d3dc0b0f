"""Guarantees that other mechanisms state, in the same readings: mu-GDP and (epsilon, delta)-DP."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.core.options import door
from glasshouse.formal.arguments import Relation, number, positive, relation_name, share
from glasshouse.formal.guarantees import Guarantee
from glasshouse.formal.zcdp import Floats


@door
@dataclass(frozen=True)
class Gaussian(Guarantee):
    """mu-GDP: as hard to attack as telling N(0, 1) from N(mu, 1).

    Parameters
    ----------
    mu : float
        Above 0.

    Notes
    -----
    t(a) = Phi(Phi^-1(a) + mu); advantage 2 Phi(mu/2) - 1. Holds for Gaussian mechanisms and their compositions.

    References
    ----------
    Dong, Roth & Su (2022), Gaussian differential privacy.
    """

    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", positive("mu", self.mu))

    @property
    def rho(self) -> float:
        """The zCDP parameter a Gaussian mechanism with this mu has: mu^2 / 2."""
        return 0.5 * self.mu**2

    def _curve(self, fpr: Floats) -> Floats:
        from scipy.special import ndtr, ndtri

        return np.asarray(ndtr(ndtri(fpr) + self.mu), float)

    @property
    def advantage(self) -> float:
        """2 Phi(mu/2) - 1: the largest TPR - FPR over all tests."""
        return math.erf(self.mu / math.sqrt(8.0))

    def delta(self, epsilon: float) -> float:
        """The delta that goes with this epsilon: Phi(-e/mu + mu/2) - exp(e) Phi(-e/mu - mu/2).

        Parameters
        ----------
        epsilon : float
            Privacy loss e.

        Returns
        -------
        float
        """
        return _gaussian_delta(self.mu, number("epsilon", epsilon))

    def epsilon(self, delta: float = 1e-6) -> float:
        from scipy.optimize import brentq

        goal = share("delta", delta)
        if _gaussian_delta(self.mu, 0.0) <= goal:
            return 0.0
        high = 1.0
        while _gaussian_delta(self.mu, high) > goal:
            high *= 2.0
        return float(brentq(lambda e: _gaussian_delta(self.mu, e) - goal, 0.0, high, xtol=1e-14))

    def bayes_error(self, prior: float, relation: Relation = "add_remove") -> float:
        q = share("prior", prior)
        q = min(q, 1.0 - q)
        mu = 2.0 * self.mu if relation_name(relation) == "replace" else self.mu
        return min(q * (1.0 - _gaussian_delta(mu, math.log((1.0 - q) / q))), q)

    def __repr__(self) -> str:
        return f"Gaussian(mu={self.mu:.6g}: {_reading(self)})"


def _gaussian_delta(mu: float, epsilon: float) -> float:
    from scipy.special import log_ndtr, ndtr

    first = float(ndtr(-epsilon / mu + 0.5 * mu))
    return max(first - math.exp(min(epsilon + float(log_ndtr(-epsilon / mu - 0.5 * mu)), 0.0)), 0.0)


@door
@dataclass(frozen=True)
class Approximate(Guarantee):
    """(epsilon, delta)-DP.

    Parameters
    ----------
    stated_epsilon : float
        Zero or more.
    stated_delta : float, default 0.0
        In [0, 1).

    Notes
    -----
    t(a) = min(1, delta + e^eps a, 1 - e^-eps (1 - delta - a)).

    References
    ----------
    Kairouz, Oh & Viswanath (2015), The composition theorem for differential privacy.
    """

    stated_epsilon: float
    stated_delta: float = 0.0

    def __post_init__(self) -> None:
        epsilon, delta = number("epsilon", self.stated_epsilon), number("delta", self.stated_delta)
        if epsilon < 0.0:
            raise InputError(f"epsilon must not be negative, not {epsilon:g}")
        if not 0.0 <= delta < 1.0:
            raise InputError(f"delta must lie in [0, 1), not {delta:g}")
        object.__setattr__(self, "stated_epsilon", epsilon)
        object.__setattr__(self, "stated_delta", delta)

    def _curve(self, fpr: Floats) -> Floats:
        with np.errstate(over="ignore"):
            steep = self.stated_delta + np.exp(min(self.stated_epsilon, 700.0)) * fpr
        flat = 1.0 - math.exp(-self.stated_epsilon) * (1.0 - self.stated_delta - fpr)
        return np.asarray(np.clip(np.minimum(steep, flat), 0.0, 1.0), float)

    @property
    def advantage(self) -> float:
        """(e^eps - 1 + 2 delta) / (e^eps + 1)."""
        half = math.tanh(0.5 * self.stated_epsilon)
        return half + self.stated_delta * (1.0 - half)

    def delta(self, epsilon: float) -> float:
        """The delta that goes with this epsilon: the largest t(a) - e^epsilon a.

        Parameters
        ----------
        epsilon : float
            Privacy loss; from the stated epsilon on the answer is the stated delta.

        Returns
        -------
        float
        """
        return self._largest_gain(math.exp(min(number("epsilon", epsilon), 700.0)), "add_remove")

    def epsilon(self, delta: float = 1e-6) -> float:
        goal = number("delta", delta)
        if goal < self.stated_delta:
            return math.inf
        if self.delta(0.0) <= goal:
            return 0.0
        # on the corner: delta + e^eps a - e^x a = goal
        corner = (1.0 - self.stated_delta) / (1.0 + math.exp(self.stated_epsilon))
        return math.log(math.exp(self.stated_epsilon) - (goal - self.stated_delta) / corner)

    def _largest_gain(self, slope: float, relation: Relation) -> float:
        # piecewise linear, so the maximum sits on a corner
        corner = (1.0 - self.stated_delta) / (1.0 + math.exp(min(self.stated_epsilon, 700.0)))
        corners = [0.0, corner, 1.0 - self.stated_delta]
        curve = self._curve
        if relation == "replace":
            corners += [self._inverse(a) for a in corners]
            curve = self._replace_curve
        at = np.array(corners)
        return float(np.clip(np.max(curve(at) - slope * at), 0.0, 1.0))

    def _inverse(self, tpr: float) -> float:
        steep = (tpr - self.stated_delta) * math.exp(-self.stated_epsilon)
        flat = 1.0 - self.stated_delta - math.exp(min(self.stated_epsilon, 700.0)) * (1.0 - tpr)
        return max(steep, flat, 0.0)

    def __repr__(self) -> str:
        return f"Approximate(epsilon={self.stated_epsilon:.6g}, delta={self.stated_delta:.6g}: {_reading(self)})"


def _reading(guarantee: Guarantee) -> str:
    return (
        f"advantage at most {guarantee.advantage:.1%}; an attack that succeeds 1 % of the time without the person's "
        f"data succeeds at most {guarantee.max_success(0.01):.1%} of the time with it"
    )


@door
def gaussian(mu: float) -> Gaussian:
    """Readings of a mu-GDP guarantee.

    Parameters
    ----------
    mu : float
        Above 0.

    Returns
    -------
    Gaussian

    References
    ----------
    Dong, Roth & Su (2022), Gaussian differential privacy.

    Examples
    --------
    >>> import glasshouse as gh
    >>> promise = gh.formal.gaussian(1.0)
    >>> round(promise.advantage, 3), round(promise.max_tpr(0.05), 3)
    (0.383, 0.26)
    """
    return Gaussian(mu)


@door
def approximate(epsilon: float, delta: float = 0.0) -> Approximate:
    """Readings of an (epsilon, delta)-DP guarantee.

    Parameters
    ----------
    epsilon : float
        Zero or more.
    delta : float, default 0.0
        In [0, 1).

    Returns
    -------
    Approximate

    References
    ----------
    Kairouz, Oh & Viswanath (2015), The composition theorem for differential privacy.

    Examples
    --------
    >>> import glasshouse as gh
    >>> promise = gh.formal.approximate(1.0, 1e-5)
    >>> round(promise.advantage, 3), round(promise.max_success(0.01), 4)
    (0.462, 0.0272)
    """
    return Approximate(epsilon, delta)
