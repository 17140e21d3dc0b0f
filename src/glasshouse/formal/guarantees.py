"""What a formal guarantee says in the attacker's terms: the same questions for every kind of guarantee.

A guarantee is a trade-off curve: the largest true-positive rate t(a) that any test of "was this person in the table?"
can have at false-positive rate a (Dong, Roth & Su 2022). Everything else is read off that curve: the advantage is its
largest height over the diagonal, the success of any other attack at baseline b is at most t(b), and the best guess of a
binary secret follows from its tangents.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias, overload

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.core.options import door
from glasshouse.formal.arguments import Relation, relation_name, share
from glasshouse.formal.zcdp import Floats

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

Rates: TypeAlias = "Sequence[float] | Floats"


MOST_POINTS = 1_000_000  # of a curve


@door
class Guarantee(ABC):
    """The readings every guarantee offers. Subclasses give the curve, and closed forms where there are any.

    Notes
    -----
    t(a) is the largest true-positive rate of any membership test with false-positive rate a, f(a) = 1 - t(a) the
    trade-off function (Dong, Roth & Su 2022).
    """

    name = "risk"  # under which its charts are registered
    status = "ok"

    @abstractmethod
    def _curve(self, fpr: Floats) -> Floats:
        """Largest TPR at each FPR of an array."""

    @property
    @abstractmethod
    def advantage(self) -> float:
        """Largest TPR - FPR over all tests: the worst case over all baselines."""

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """The delta that goes with this epsilon.

        Parameters
        ----------
        epsilon : float
            Privacy loss.

        Returns
        -------
        float
        """

    @abstractmethod
    def epsilon(self, delta: float = 1e-6) -> float:
        """The smallest epsilon that goes with this delta.

        Parameters
        ----------
        delta : float, default 1e-6
            Probability with which the loss may be larger.

        Returns
        -------
        float
        """

    @overload
    def max_tpr(self, fpr: float) -> float: ...
    @overload
    def max_tpr(self, fpr: Rates) -> Floats: ...
    def max_tpr(self, fpr: float | Rates) -> float | Floats:
        """Largest true-positive rate of any membership test with this false-positive rate.

        Parameters
        ----------
        fpr : number or array
            False-positive rates in [0, 1].

        Returns
        -------
        float or array of float
            A number for a number.

        Examples
        --------
        >>> import glasshouse as gh
        >>> round(gh.Risk.from_rho(0.5).max_tpr(0.01), 3)
        0.125
        """
        return self._read(fpr, "fpr", self._curve)

    @overload
    def max_success(self, baseline: float, relation: Relation = "add_remove") -> float: ...
    @overload
    def max_success(self, baseline: Rates, relation: Relation = "add_remove") -> Floats: ...
    def max_success(self, baseline: float | Rates, relation: Relation = "add_remove") -> float | Floats:
        """Largest success of any attack on one person that succeeds at rate ``baseline`` without that person's data.

        Parameters
        ----------
        baseline : number or array
            Success rates in [0, 1].
        relation : {"add_remove", "replace"}, default "add_remove"
            "add_remove" reads the baseline as the success against a release made *without* the target, which needs no
            conversion. "replace" reads it as the success against a release made with *another value* for the target,
            which is two steps away (remove one record, add another): t(t(baseline)).

        Returns
        -------
        float or array of float
            A number for a number.

        Examples
        --------
        >>> import glasshouse as gh
        >>> risk = gh.Risk.from_success_at_baseline(0.05, 0.01)
        >>> round(risk.max_success(0.01), 4)
        0.05
        >>> round(risk.max_success(0.01, relation="replace"), 4) > 0.05
        True
        """
        if relation_name(relation) == "replace":
            return self._read(baseline, "baseline", self._replace_curve)
        return self._read(baseline, "baseline", self._curve)

    @overload
    def advantage_at(self, baseline: float) -> float: ...
    @overload
    def advantage_at(self, baseline: Rates) -> Floats: ...
    def advantage_at(self, baseline: float | Rates) -> float | Floats:
        """Largest success minus baseline at this baseline.

        Parameters
        ----------
        baseline : number or array
            Success rates in [0, 1] without the person's data.

        Returns
        -------
        float or array of float
            A number for a number.
        """
        return self._read(baseline, "baseline", lambda rates: self._curve(rates) - rates)

    @overload
    def tradeoff(self, alphas: float) -> float: ...
    @overload
    def tradeoff(self, alphas: Rates) -> Floats: ...
    def tradeoff(self, alphas: float | Rates) -> float | Floats:
        """The smallest false-negative rate at each false-positive rate: f(a) = 1 - t(a).

        Parameters
        ----------
        alphas : number or array
            False-positive rates in [0, 1].

        Returns
        -------
        float or array of float
            A number for a number.
        """
        return self._read(alphas, "fpr", lambda rates: 1.0 - self._curve(rates))

    def bayes_error(self, prior: float, relation: Relation = "add_remove") -> float:
        """Smallest error of any guess at a binary secret.

        Parameters
        ----------
        prior : float
            Prior probability q of the secret, between 0 and 1.
        relation : {"add_remove", "replace"}, default "add_remove"
            With "add_remove" the secret is "the person is in the table"; with "replace" it is a *value* of a person
            who is in it, which compares tables two steps apart.

        Returns
        -------
        float

        Notes
        -----
        error = min over a of (1-q) a + q (1 - t(a)).
        """
        q = share("prior", prior)
        q = min(q, 1.0 - q)  # the curve is symmetric under exchanging the two worlds
        gain = self._largest_gain((1.0 - q) / q, relation_name(relation))
        return min(q * (1.0 - gain), q)

    def bayes_accuracy(self, prior: float, relation: Relation = "add_remove") -> float:
        """Largest accuracy of any guess at a binary secret; without the release it is max(prior, 1 - prior).

        Parameters
        ----------
        prior : float
            Prior probability of the secret, between 0 and 1.
        relation : {"add_remove", "replace"}, default "add_remove"
            As in ``bayes_error``.

        Returns
        -------
        float
        """
        return 1.0 - self.bayes_error(prior, relation)

    def curve(self, points: int = 201, smallest: float = 1e-4) -> pl.DataFrame:
        """The trade-off curve as a table, both ends resolved.

        Parameters
        ----------
        points : int, default 201
            About how many points.
        smallest : float, default 1e-4
            The smallest false-positive rate; the largest is 1 minus it.

        Returns
        -------
        polars.DataFrame
            Columns fpr, max_tpr and min_fnr.
        """
        import polars as pl

        if not 0.0 < smallest < 0.5 or not 2 <= points <= MOST_POINTS:
            raise InputError(f"smallest lies between 0 and 0.5, points between 2 and {MOST_POINTS:,}")
        half = np.geomspace(smallest, 0.5, points // 2 + 1)
        fpr = np.concatenate([half, 1.0 - half[-2::-1]])
        tpr = np.asarray(self.max_tpr(fpr))
        return pl.DataFrame({"fpr": fpr, "max_tpr": tpr, "min_fnr": 1.0 - tpr})

    def plot(self, kind: str | None = None, **options: object) -> alt.TopLevelMixin:
        """The trade-off curve as an Altair chart.

        Parameters
        ----------
        kind : str, optional
            "tradeoff", or "log" for small rates. Default: "tradeoff".
        **options
            Passed to the function that draws.

        Returns
        -------
        altair chart
        """
        from glasshouse.core.charts import draw

        return draw(self, kind, **options)  # type: ignore[arg-type]  # it reads name and status, which a guarantee has

    def _read(self, rates: float | Rates, argument: str, curve: Callable[[Floats], Floats]) -> float | Floats:
        """A reading of the curve at checked rates; a number for a number."""
        given = np.asarray(rates)
        if given.dtype == bool or not np.issubdtype(given.dtype, np.number):
            raise InputError(f"{argument} must be a number or an array of numbers")
        array = np.atleast_1d(given).astype(float)
        if not ((array >= 0.0) & (array <= 1.0)).all():
            raise InputError(f"{argument} must lie between 0 and 1")
        values = np.asarray(curve(array), float)
        return float(values[0]) if given.ndim == 0 else values

    def _replace_curve(self, fpr: Floats) -> Floats:
        return self._curve(np.minimum(self._curve(fpr), 1.0))

    def _largest_gain(self, slope: float, relation: Relation) -> float:
        """max over a of t(a) - slope * a for slope >= 1: delta at epsilon = ln(slope), the exact privacy profile."""
        curve = self._replace_curve if relation == "replace" else self._curve
        low, high = -_deepest(self, slope), math.log(0.5)
        # the curve may have a corner where the two worlds change places; a grid only comes close to it
        middle = 0.5 * (1.0 + self.advantage) if relation == "add_remove" else _curve_at_half(self)
        best = max(0.0, middle - slope * (1.0 - middle))
        for points in (33, *(17,) * 8):
            grid = np.linspace(low, high, points)
            values = curve(np.exp(grid)) - slope * np.exp(grid)
            peak = int(np.argmax(values))
            best = max(best, float(values[peak]))
            low, high = grid[max(peak - 1, 0)], grid[min(peak + 1, points - 1)]
        return min(best, 1.0)


def _curve_at_half(guarantee: Guarantee) -> float:
    """t(1/2), which is where t(t(a)) = 1 - a: the corner of the curve for tables two steps apart."""
    return float(guarantee._curve(np.array([0.5]))[0])


def _deepest(guarantee: Guarantee, slope: float) -> float:
    """How far below 1 (in logarithms) the best false-positive rate can lie, taken generously.

    At fpr a with t(a) >= slope * a the log-likelihood ratio must reach ln(slope), which gets rarer the larger it is.
    """
    epsilon = math.log(slope)
    advantage = max(guarantee.advantage, 1e-12)
    spread = max(2.0 * math.atanh(min(advantage, 1.0 - 1e-12)), 1e-9)
    return min(40.0 + 4.0 * (1.0 + epsilon / spread) ** 2, 450.0)
