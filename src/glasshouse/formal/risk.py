"""Risk: what may an attacker reach? Stated in plain rates, kept as the one number (rho of zCDP) a mechanism needs."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypedDict

from glasshouse.core.errors import InputError
from glasshouse.formal import zcdp
from glasshouse.formal.arguments import baseline_share, number, positive, share
from glasshouse.formal.guarantees import Guarantee
from glasshouse.formal.guidance import ThreatGuide, guide
from glasshouse.formal.zcdp import Floats

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


class Risk(Guarantee):
    """A ceiling on what any attack on one person can reach, whatever the attacker knows or computes.

    Make one with a factory (``from_advantage``, ``from_success_at_baseline``, ``from_err_rates``, ...) and combine
    several with ``|``: read it as "and also", the stricter one decides. A Risk never changes. One record is one person;
    tables are neighbours when they differ by one record added or removed.

    Parameters
    ----------
    rho : float
        The parameter of zero-concentrated differential privacy, above 0.
    constraints : tuple of Constraint, default empty
        The requirements behind it, as stated.
    allow_non_private : bool, default False
        Accept an infinite rho, which promises nothing.

    Notes
    -----
    rho-zCDP bounds the Renyi divergence of order L between releases of neighbouring tables by rho L for every L > 1.
    Every reading (``max_tpr``, ``max_success``, ``advantage``, ``bayes_error``, ``epsilon``) follows from that.

    References
    ----------
    Bun & Steinke (2016), Concentrated differential privacy: simplifications, extensions, and lower bounds.

    Examples
    --------
    >>> import glasshouse as gh
    >>> risk = gh.Risk.from_success_at_baseline(success=0.05, baseline=0.01) | gh.Risk.from_advantage(0.3)
    >>> round(risk.rho, 4), round(risk.advantage, 3)
    (0.1734, 0.29)
    >>> risk.max_success([0.001, 0.01, 0.5]).round(4)
    array([0.0075, 0.05  , 0.7691])
    >>> round(risk.epsilon(delta=1e-6), 2)
    2.89
    """

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

    # -- stating a requirement ---------------------------------------------------------------------------------------

    @classmethod
    def from_rho(cls, rho: float, *, allow_non_private: bool = False) -> Risk:
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
    def from_advantage(cls, advantage: float) -> Risk:
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
                stacklevel=2,
            )
        statement = f"no attack beats its baseline by more than {_percent(figure)}"
        return cls._stated("advantage", {"advantage": figure}, zcdp.rho_of_advantage(figure), statement)

    @classmethod
    def from_err_rates(cls, tpr: float, fpr: float) -> Risk:
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
            f"a membership test with {_percent(alarm)} false alarms detects at most {_percent(rate)} of the members"
        )
        return cls._stated("err_rates", {"tpr": rate, "fpr": alarm}, float(zcdp.required_rho(rate, alarm)), statement)

    @classmethod
    def from_success_at_baseline(cls, success: float, baseline: float) -> Risk:
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
        statement = f"an attack with baseline {_percent(chance)} succeeds at most {_percent(rate)} of the time"
        inputs = {"success": rate, "baseline": chance}
        return cls._stated("success_at_baseline", inputs, float(zcdp.required_rho(rate, chance)), statement)

    @classmethod
    def from_advantage_at_baseline(cls, advantage: float, baseline: float) -> Risk:
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
                stacklevel=2,
            )
        statement = f"an attack with baseline {_percent(chance)} gains at most {_percent(gain)}"
        inputs = {"advantage": gain, "baseline": chance}
        return cls._stated("advantage_at_baseline", inputs, float(zcdp.required_rho(rate, chance)), statement)

    @classmethod
    def from_mu(cls, mu: float) -> Risk:
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
    def from_epsilon_delta(cls, epsilon: float, delta: float) -> Risk:
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
    def all_of(cls, *risks: Risk) -> Risk:
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
    def _stated(cls, kind: str, inputs: Mapping[str, float], rho: float, statement: str) -> Risk:
        if rho <= 0.0:
            raise InputError(
                f"no mechanism with any information meets this: {statement}; the rates are too close or too small"
            )
        return cls(rho, (Constraint(kind, dict(inputs), rho, statement),))

    def __or__(self, other: object) -> Risk:
        if not isinstance(other, Risk):
            raise TypeError(f"a Risk combines with another Risk, not with {type(other).__name__}")
        stricter = min(self.rho, other.rho)
        kept = tuple(dict.fromkeys(self.constraints + other.constraints))
        return Risk(stricter, kept, allow_non_private=True)

    __and__ = __or__

    # -- reading it --------------------------------------------------------------------------------------------------

    @property
    def zcdp(self) -> float:
        """Another name for ``rho``."""
        return self.rho

    @property
    def mu(self) -> float:
        """sqrt(2 rho): the mu of a Gaussian-only release with this rho. zCDP in general allows a little more."""
        return math.sqrt(2.0 * self.rho)

    @property
    def advantage(self) -> float:
        """Largest TPR - FPR over all tests: the worst case over all baselines."""
        return zcdp.advantage_of_rho(self.rho)

    def _curve(self, fpr: Floats) -> Floats:
        return zcdp.max_tpr(self.rho, fpr)

    def delta(self, epsilon: float, conversion: str = "renyi") -> float:
        """The delta that goes with this epsilon.

        Parameters
        ----------
        epsilon : float
            Privacy loss.
        conversion : {"renyi", "exact"}, default "renyi"
            "renyi" is the usual conversion; "exact" reads the trade-off curve, is never above it, and is slower.

        Returns
        -------
        float

        References
        ----------
        Canonne, Kamath & Steinke (2020), The discrete Gaussian for differential privacy, proposition 12.
        """
        eps = number("epsilon", epsilon)
        if conversion == "exact":
            if eps < 0.0:
                raise InputError(f"the exact conversion takes epsilon >= 0, not {eps:g}")
            return min(self._largest_gain(math.exp(eps), "add_remove"), zcdp.delta_of_rho(self.rho, eps))
        if conversion != "renyi":
            raise InputError(f"conversion must be 'renyi' or 'exact', not {conversion!r}")
        return zcdp.delta_of_rho(self.rho, eps)

    def epsilon(self, delta: float = 1e-6) -> float:
        """Smallest epsilon that goes with this delta by the usual Renyi conversion.

        Parameters
        ----------
        delta : float, default 1e-6
            Probability with which the loss may be larger, between 0 and 1.

        Returns
        -------
        float
        """
        return zcdp.epsilon_of_rho(self.rho, share("delta", delta))

    tpr_at_fpr = Guarantee.max_tpr
    success_at_baseline = Guarantee.max_success
    advantage_at_baseline = Guarantee.advantage_at
    trade_off = Guarantee.tradeoff

    def explain(self) -> str:
        """One sentence per threat, each with the figure this rho promises.

        Returns
        -------
        str

        Examples
        --------
        >>> import glasshouse as gh
        >>> print(gh.Risk.from_rho(0.1).explain().splitlines()[1])
        - Membership: a test with 1 % false alarms detects at most 3.51 % of the members.
        """
        lines = [f"What rho = {self.rho:.6g} promises about each person, against any attacker:"]
        lines += [f"- {sentence}" for sentence in self._sentences().values()]
        if len(self.constraints) > 1 or self.constraints[0].kind != "zcdp":
            lines.append("Stated as: " + "; and also ".join(c.statement for c in self.constraints) + ".")
        lines.append(
            "Relation: one record added or removed, one record per person (secret values: one record replaced)."
        )
        return "\n".join(lines)

    def _sentences(self) -> dict[str, str]:
        tpr, single, common = self.max_tpr(0.01), self.max_success(0.001), self.max_success(0.5)
        coin = self.bayes_accuracy(0.5, "replace")
        return {
            "membership": f"Membership: a test with 1 % false alarms detects at most {_percent(tpr)} of the members.",
            "singling_out": f"Singling out: a one-in-a-thousand guess comes true at most {_percent(single)} of times.",
            "attribute_inference": (
                f"Attribute inference: a guess that is right half the time without the person's data is right at most "
                f"{_percent(common)} of the time with it; a secret yes/no value drawn by a coin is guessed at most "
                f"{_percent(coin)} of the time (relation: replace)."
            ),
            "reconstruction": (
                f"Reconstruction: a rebuild that hits 1 % of times by chance hits at most {_percent(tpr)} of times."
            ),
            "unknown": f"Anything else: success exceeds its baseline by at most {_percent(self.advantage)}.",
        }

    @staticmethod
    def guide(threat: str) -> ThreatGuide:
        """How to state a requirement against a threat.

        Parameters
        ----------
        threat : str
            "membership", "singling_out", "attribute_inference", "reconstruction" or "unknown".

        Returns
        -------
        ThreatGuide
        """
        return guide(threat)

    def to_dict(self) -> RiskDict:
        """Plain data, e.g. for a report or a saved synthesiser.

        Returns
        -------
        dict
            ``rho`` (None when infinite) and ``constraints``.
        """
        rho = self.rho if math.isfinite(self.rho) else None
        return {"rho": rho, "constraints": [c.to_dict() for c in self.constraints]}

    @classmethod
    def from_dict(cls, content: RiskDict) -> Risk:
        """The Risk that ``to_dict`` wrote down.

        Parameters
        ----------
        content : dict
            What ``to_dict`` gave.

        Returns
        -------
        Risk
        """
        constraints = tuple(
            Constraint(str(c["kind"]), dict(c["inputs"]), float(c["rho"]), str(c["statement"]))
            for c in content["constraints"]
        )
        rho = content["rho"]
        return cls(math.inf if rho is None else float(rho), constraints, allow_non_private=rho is None)

    def __reduce__(self) -> tuple[Callable[[RiskDict], Risk], tuple[RiskDict]]:
        return Risk.from_dict, (self.to_dict(),)  # copies are made from the content, since attributes cannot be set

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Risk) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.rho, self.constraints))

    def __repr__(self) -> str:
        if not math.isfinite(self.rho):
            return "Risk(rho=inf: no protection is promised)"
        stated = "; and also ".join(c.statement for c in self.constraints if c.kind != "zcdp")
        return (
            f"Risk(rho={self.rho:.6f}{': ' + stated if stated else ''})\n"
            f"  any attack: at most {_percent(self.advantage)} above its baseline; at baseline 1 %: at most "
            f"{_percent(self.max_success(0.01))}\n"
            f"  as differential privacy: epsilon {self.epsilon(1e-6):.3f} at delta 1e-06"
        )


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


def _percent(rate: float) -> str:
    """A rate as a percentage with three significant digits, small ones included."""
    percent = 100.0 * rate
    if percent >= 99.95 and rate < 1.0:
        return f"{percent:.6g} %"
    return f"{percent:.3g} %"
