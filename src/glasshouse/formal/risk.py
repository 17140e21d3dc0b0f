"""Risk: what may an attacker reach? Stated in plain rates, kept as the one number (rho of zCDP) a mechanism needs."""

from __future__ import annotations

import math
from collections.abc import Callable

from glasshouse.core.errors import InputError
from glasshouse.core.options import door
from glasshouse.formal import zcdp
from glasshouse.formal.arguments import number, share
from glasshouse.formal.guarantees import Guarantee
from glasshouse.formal.guidance import ThreatGuide, guide
from glasshouse.formal.requirements import Constraint, Requirement, RiskDict, percent
from glasshouse.formal.zcdp import Floats

__all__ = ["Constraint", "Risk"]


@door
class Risk(Requirement):
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
            lines.append(f"Stated as: {self.stated}.")
        lines.append(
            "Relation: one record added or removed, one record per person (secret values: one record replaced)."
        )
        return "\n".join(lines)

    def _sentences(self) -> dict[str, str]:
        tpr, single, common = self.max_tpr(0.01), self.max_success(0.001), self.max_success(0.5)
        coin = self.bayes_accuracy(0.5, "replace")
        return {
            "membership": f"Membership: a test with 1 % false alarms detects at most {percent(tpr)} of the members.",
            "singling_out": f"Singling out: a one-in-a-thousand guess comes true at most {percent(single)} of times.",
            "attribute_inference": (
                f"Attribute inference: a guess that is right half the time without the person's data is right at most "
                f"{percent(common)} of the time with it; a secret yes/no value drawn by a coin is guessed at most "
                f"{percent(coin)} of the time (relation: replace)."
            ),
            "reconstruction": (
                f"Reconstruction: a rebuild that hits 1 % of times by chance hits at most {percent(tpr)} of times."
            ),
            "unknown": f"Anything else: success exceeds its baseline by at most {percent(self.advantage)}.",
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
        alone = len(self.constraints) == 1 and self.constraints[0].kind == "zcdp"  # rho stands there already
        return (
            f"Risk(rho={self.rho:.6f}{'' if alone else ': ' + self.stated})\n"
            f"  any attack: at most {percent(self.advantage)} above its baseline; at baseline 1 %: at most "
            f"{percent(self.max_success(0.01))}\n"
            f"  as differential privacy: epsilon {self.epsilon(1e-6):.3f} at delta 1e-06"
        )
