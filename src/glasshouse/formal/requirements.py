"""Stating what an attacker may reach: each factory turns rates in plain words into the one number, rho of zCDP."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self, TypedDict

from glasshouse.core.errors import InputError
from glasshouse.core.options import door
from glasshouse.formal import zcdp
from glasshouse.formal.arguments import baseline_share, number, positive, share
from glasshouse.formal.guarantees import Guarantee

MULTIPLIER_WARNING = 3.0
SMALL_ADVANTAGE = 0.02


class ConstraintDict(TypedDict):
    """A constraint as plain data."""

    kind: str
    inputs: dict[str, float]
    rho: float
    statement: str


class RiskDict(TypedDict):
    """A risk as plain data; rho is None where nothing is promised."""

    rho: float | None
    constraints: list[ConstraintDict]


@dataclass(frozen=True)
class Constraint:
    """One requirement as it was stated, and the rho it allows.

    Attributes
    ----------
    kind : str
        How it was stated: "zcdp", "advantage", "err_rates", "success_at_baseline", "advantage_at_baseline", "gdp" or
        "epsilon_delta".
    inputs : mapping of str to float
        The numbers it was stated with.
    rho : float
        The largest rho that meets it.
    statement : str
        The requirement in words.
    """

    kind: str
    inputs: Mapping[str, float] = field(hash=False)
    rho: float
    statement: str

    def to_dict(self) -> ConstraintDict:
        """Plain data.

        Returns
        -------
        dict
        """
        return {"kind": self.kind, "inputs": dict(self.inputs), "rho": self.rho, "statement": self.statement}


@door
class Requirement(Guarantee):
    """A rho with the requirements behind it, and the ways to state one; :class:`glasshouse.Risk` adds the readings."""

    __slots__ = ("constraints", "rho")
    rho: float
    constraints: tuple[Constraint, ...]

    def __init__(
        self, rho: float, constraints: tuple[Constraint, ...] = (), *, allow_non_private: bool = False
    ) -> None:
        if isinstance(rho, float) and math.isinf(rho) and rho > 0:
            if not allow_non_private:
                raise InputError("rho is infinite, which promises nothing; say allow_non_private=True if that is meant")
            figure = rho
        else:
            figure = positive("rho", rho)
        own = Constraint("zcdp", {"rho": figure}, figure, f"rho-zCDP with rho = {figure:.6g}")
        object.__setattr__(self, "rho", figure)
        object.__setattr__(self, "constraints", tuple(constraints) or (own,))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Risk does not change; {name!r} cannot be set")

    @property
    def binding(self) -> tuple[Constraint, ...]:
        """The requirements that decide rho; the others are met with room to spare."""
        return tuple(c for c in self.constraints if c.rho <= self.rho)

    @property
    def stated(self) -> str:
        """The requirements in words, those that decide first and marked where there are several."""
        if len(self.constraints) == 1:
            return self.constraints[0].statement
        others = [c.statement for c in self.constraints if c not in self.binding]
        return "; and also ".join([*(f"{c.statement} (binding)" for c in self.binding), *others])

    # -- stating a requirement ---------------------------------------------------------------------------------------

    @classmethod
    def from_rho(cls, rho: float, *, allow_non_private: bool = False) -> Self:
        """rho-zCDP itself, for those who know it.

        Parameters
        ----------
        rho : float
            Above 0.
        allow_non_private : bool, default False
            Accept an infinite rho, which promises nothing.

        Returns
        -------
        Risk

        Examples
        --------
        >>> import glasshouse as gh
        >>> round(gh.Risk.from_rho(0.5).mu, 3)
        1.0
        """
        return cls(rho, allow_non_private=allow_non_private)

    @classmethod
    def from_advantage(cls, advantage: float) -> Self:
        """No attack may beat its baseline by more than this, whatever the baseline is.

        Parameters
        ----------
        advantage : float
            Largest success minus baseline A, between 0 and 1; below 0.02 a warning says that the noise will swamp most
            tables.

        Returns
        -------
        Risk

        Notes
        -----
        rho = A ln((1+A)/(1-A)).

        Examples
        --------
        >>> import glasshouse as gh
        >>> round(gh.Risk.from_advantage(0.1).rho, 5)
        0.02007
        """
        figure = share("advantage", advantage)
        if figure < SMALL_ADVANTAGE:
            warnings.warn(
                f"an advantage below {SMALL_ADVANTAGE:g} (asked: {figure:g}) means rho below 0.0008: the noise will "
                "swamp most tables; if one threat matters most, state a success at its baseline instead",
                UserWarning,
                stacklevel=3,
            )
        statement = f"no attack beats its baseline by more than {percent(figure)}"
        return cls._stated("advantage", {"advantage": figure}, zcdp.rho_of_advantage(figure), statement)

    @classmethod
    def from_err_rates(cls, tpr: float, fpr: float) -> Self:
        """Membership inference: at this false-positive rate the true-positive rate stays at ``tpr`` or less.

        Parameters
        ----------
        tpr : float
            Largest share of the members that may be detected, below 1.
        fpr : float
            False-positive rate, above 0 and below ``tpr``.

        Returns
        -------
        Risk

        Raises
        ------
        InputError
            When the rates contradict each other or no release meets them.

        Examples
        --------
        >>> import glasshouse as gh
        >>> risk = gh.Risk.from_err_rates(tpr=0.05, fpr=0.01)
        >>> round(risk.max_tpr(0.01), 4)
        0.05
        """
        rate, alarm = _pair_of_rates("tpr", tpr, "fpr", fpr)
        statement = (
            f"a membership test with {percent(alarm)} false alarms detects at most {percent(rate)} of the members"
        )
        return cls._stated("err_rates", {"tpr": rate, "fpr": alarm}, float(zcdp.required_rho(rate, alarm)), statement)

    @classmethod
    def from_success_at_baseline(cls, success: float, baseline: float) -> Self:
        """Any attack that succeeds at rate ``baseline`` without the person's data: at most ``success`` with it.

        Parameters
        ----------
        success : float
            Largest success rate, below 1.
        baseline : float
            Success rate that chance gives, above 0 and below ``success``.

        Returns
        -------
        Risk

        Raises
        ------
        InputError
            When the rates contradict each other or no release meets them.

        Examples
        --------
        >>> import glasshouse as gh
        >>> round(gh.Risk.from_success_at_baseline(0.05, 0.01).rho, 4)
        0.1734
        """
        rate, chance = _pair_of_rates("success", success, "baseline", baseline)
        statement = f"an attack with baseline {percent(chance)} succeeds at most {percent(rate)} of the time"
        inputs = {"success": rate, "baseline": chance}
        return cls._stated("success_at_baseline", inputs, float(zcdp.required_rho(rate, chance)), statement)

    @classmethod
    def from_advantage_at_baseline(cls, advantage: float, baseline: float) -> Self:
        """As ``from_success_at_baseline`` with success = advantage + baseline.

        Parameters
        ----------
        advantage : float
            Largest success minus baseline, between 0 and 1.
        baseline : float
            Success rate that chance gives; a warning says so where the sum is three times the baseline or more.

        Returns
        -------
        Risk

        Raises
        ------
        InputError
            When the sum reaches 1.
        """
        gain, chance = share("advantage", advantage), baseline_share("baseline", baseline)
        rate = gain + chance
        if rate >= 1.0:
            raise InputError(
                f"advantage + baseline must stay below 1, not {rate:g}: at 1 no noise is asked for and rho is infinite"
            )
        if rate / chance >= MULTIPLIER_WARNING * (1.0 - 1e-9):
            warnings.warn(
                f"advantage {gain:g} at baseline {chance:g} lets the attack succeed {rate / chance:.1f}x as often as "
                "its baseline; for small baselines state the success itself (Risk.from_success_at_baseline)",
                UserWarning,
                stacklevel=3,
            )
        statement = f"an attack with baseline {percent(chance)} gains at most {percent(gain)}"
        inputs = {"advantage": gain, "baseline": chance}
        return cls._stated("advantage_at_baseline", inputs, float(zcdp.required_rho(rate, chance)), statement)

    @classmethod
    def from_mu(cls, mu: float) -> Self:
        """The rho of a Gaussian mechanism that is mu-GDP: mu^2 / 2.

        Parameters
        ----------
        mu : float
            Above 0.

        Returns
        -------
        Risk

        Notes
        -----
        The equality holds for Gaussian mechanisms and their compositions only. Mst and Aim also select by an
        exponential mechanism; they keep this rho, and with it the (slightly weaker) zCDP ceiling, not mu-GDP.
        """
        figure = positive("mu", mu)
        return cls._stated(
            "gdp", {"mu": figure}, 0.5 * figure**2, f"the rho of a Gaussian mechanism with mu = {figure:.6g}"
        )

    @classmethod
    def from_epsilon_delta(cls, epsilon: float, delta: float) -> Self:
        """The largest rho whose conversion meets (epsilon, delta).

        Parameters
        ----------
        epsilon : float
            Above 0.
        delta : float
            Between 0 and 1; no zCDP mechanism with Gaussian noise meets delta = 0.

        Returns
        -------
        Risk

        Notes
        -----
        Read it as a target: every release with this rho is (epsilon, delta)-DP. What an (epsilon, delta) claim
        of someone else's mechanism means is read with ``gh.formal.approximate(epsilon, delta)``.

        References
        ----------
        Canonne, Kamath & Steinke (2020), The discrete Gaussian for differential privacy, proposition 12.

        Examples
        --------
        >>> import glasshouse as gh
        >>> round(gh.Risk.from_epsilon_delta(1.0, 1e-6).rho, 4)
        0.0244
        """
        eps, slack = positive("epsilon", epsilon), number("delta", delta)
        if slack == 0.0:
            raise InputError(
                "delta = 0 is met by no zCDP mechanism with Gaussian noise; state a small delta such as 1e-9, or read "
                "a pure epsilon guarantee with gh.formal.approximate(epsilon)"
            )
        slack = share("delta", slack)
        statement = f"({eps:g}, {slack:g})-differential privacy"
        return cls._stated(
            "epsilon_delta", {"epsilon": eps, "delta": slack}, zcdp.rho_of_epsilon_delta(eps, slack), statement
        )

    @classmethod
    def all_of(cls, *risks: Self) -> Self:
        """All requirements at once: the strictest rho, every statement kept.

        Parameters
        ----------
        *risks : Risk
            At least one.

        Returns
        -------
        Risk
        """
        if not risks:
            raise InputError("all_of needs at least one Risk")
        combined = risks[0]
        for risk in risks[1:]:
            combined = combined | risk
        return combined

    from_zcdp = from_rho
    from_gdp = from_mu

    @classmethod
    def _stated(cls, kind: str, inputs: Mapping[str, float], rho: float, statement: str) -> Self:
        if rho <= 0.0:
            raise InputError(
                f"no mechanism with any information meets this: {statement}; the rates are too close or too small"
            )
        return cls(rho, (Constraint(kind, dict(inputs), rho, statement),))

    def __or__(self, other: object) -> Self:
        if not isinstance(other, type(self)):
            raise TypeError(f"a Risk combines with another Risk, not with {type(other).__name__}")
        stricter = min(self.rho, other.rho)
        kept = tuple(dict.fromkeys(self.constraints + other.constraints))
        return type(self)(stricter, kept, allow_non_private=True)

    __and__ = __or__


def _pair_of_rates(high_name: str, high: object, low_name: str, low: object) -> tuple[float, float]:
    """Two checked rates, the larger first."""
    chance = baseline_share(low_name, low)
    rate = number(high_name, high)
    if rate == 1.0:
        raise InputError(f"{high_name} = 1 asks for no protection at all: rho would be infinite; state a rate below 1")
    if not 0.0 < rate < 1.0:
        raise InputError(f"{high_name} must lie between 0 and 1 (both excluded), not {rate:g}")
    if rate <= chance:
        raise InputError(
            f"{high_name} ({rate:g}) must exceed {low_name} ({chance:g}): no release with any information meets it"
        )
    return rate, chance


def percent(rate: float) -> str:
    """A rate as a percentage with three significant digits, small ones included."""
    hundred = 100.0 * rate
    if hundred >= 99.95 and rate < 1.0:
        return f"{hundred:.6g} %"
    return f"{hundred:.3g} %"
