"""Empirical lower bounds on the privacy loss: what an attack that was really run proves about a release.

From tp hits among ``members`` and fp false alarms among ``nonmembers``, the threshold fixed beforehand. Each rate gets
a Clopper-Pearson interval at level 1 - (1-c)/2, so that both hold together with confidence c (Bonferroni). With T the
lower end for TPR and F the upper end for FPR, every guarantee that does not allow (F, T) is refuted at level c:

    epsilon >= max(0, ln((T - delta)/F), ln((1 - F - delta)/(1 - T)))
    rho     >= rho*(T, F)              mu >= Phi^-1(T) - Phi^-1(F)

after Jagielski, Ullman & Oprea (2020) and Nasr et al. (2023).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Literal, TypeAlias

from glasshouse.core.errors import InputError
from glasshouse.core.intervals import Interval, clopper_pearson
from glasshouse.core.options import door
from glasshouse.formal.arguments import number, share, whole
from glasshouse.formal.zcdp import required_rho

Sided = Literal["one", "two"]
Figure: TypeAlias = "float | Interval"


@dataclass(frozen=True)
class LowerBounds(Mapping[str, Figure]):
    """The bounds, the intervals they rest on, and the most that so many trials could have shown.

    Also a mapping: ``bounds["rho_lower"]`` is ``bounds.rho_lower``.

    Attributes
    ----------
    tpr, fpr : float
        Hits among the members, false alarms among the nonmembers.
    tpr_interval, fpr_interval : (float, float)
        Their Clopper-Pearson intervals.
    epsilon_lower, rho_lower, mu_lower : float
        The release leaks at least this much, as (epsilon, delta)-DP, as rho-zCDP and as mu-GDP.
    epsilon_reachable, rho_reachable : float
        What a flawless attack on so many targets would have proved.
    delta : float
        The delta that goes with ``epsilon_lower``.
    confidence : float
        All of this holds together at this confidence.
    members, nonmembers : int
        Targets.
    """

    tpr: float
    fpr: float
    tpr_interval: Interval
    fpr_interval: Interval
    epsilon_lower: float
    rho_lower: float
    mu_lower: float
    epsilon_reachable: float
    rho_reachable: float
    delta: float
    confidence: float
    members: int
    nonmembers: int

    def __getitem__(self, key: str) -> Figure:
        if key not in {field.name for field in fields(self)}:
            raise KeyError(key)
        figure: Figure = getattr(self, key)
        return figure

    def __iter__(self) -> Iterator[str]:
        return iter([field.name for field in fields(self)])

    def __len__(self) -> int:
        return len(fields(self))

    def to_dict(self) -> dict[str, Figure]:
        """The same as a plain dictionary.

        Returns
        -------
        dict
        """
        return asdict(self)

    @property
    def sentence(self) -> str:
        """What was proved, and what could have been, in one sentence."""
        reach = (
            f"with {self.members} + {self.nonmembers} targets nothing above epsilon {self.epsilon_reachable:.2f} "
            f"(rho {self.rho_reachable:.3g}) could have been shown"
        )
        if self.rho_lower <= 0.0:
            return f"The attack proves no privacy loss at {self.confidence:.0%} confidence; {reach}."
        return (
            f"With {self.confidence:.0%} confidence the release leaks at least epsilon {self.epsilon_lower:.2f} at "
            f"delta {self.delta:g} (rho {self.rho_lower:.4g}, mu {self.mu_lower:.3g}); {reach}."
        )

    def __repr__(self) -> str:
        return (
            f"LowerBounds(epsilon_lower={self.epsilon_lower:.6g}, rho_lower={self.rho_lower:.6g}, "
            f"mu_lower={self.mu_lower:.6g}: {self.sentence})"
        )


@door
def lower_bounds(
    tp: int,
    members: int,
    fp: int,
    nonmembers: int,
    delta: float = 0.0,
    confidence: float = 0.95,
    *,
    sided: Sided = "two",
    thresholds: int = 1,
) -> LowerBounds:
    """What an attack that was really run proves about a release: a lower bound on its privacy loss.

    Parameters
    ----------
    tp : int
        Members the attack called members.
    members : int
        Targets who were in the original.
    fp : int
        Nonmembers the attack called members.
    nonmembers : int
        Targets who were not.
    delta : float, default 0.0
        The delta of the (epsilon, delta) statement, in [0, 1).
    confidence : float, default 0.95
        Confidence at which the bounds hold together.
    sided : {"one", "two"}, default "two"
        "one" uses one-sided ends: valid and tighter, since only one end of each interval is used.
    thresholds : int, default 1
        Number of thresholds that were tried on the same targets; the error is divided over them.

    Returns
    -------
    LowerBounds

    Raises
    ------
    InputError
        For counts that cannot be, or a delta or confidence outside its range.

    Notes
    -----
    Each rate gets a Clopper-Pearson interval at level 1 - (1 - c) / 2 (Bonferroni). With T the lower end for the
    true-positive rate and F the upper end for the false-positive rate:

        epsilon >= max(0, ln((T - delta) / F), ln((1 - F - delta) / (1 - T)))
        rho     >= rho*(T, F)              mu >= Phi^-1(T) - Phi^-1(F)

    The threshold of the attack must have been fixed without looking at these targets.

    References
    ----------
    Jagielski, Ullman & Oprea (2020), Auditing differentially private machine learning.
    Nasr et al. (2023), Tight auditing of differentially private machine learning.

    Examples
    --------
    >>> import glasshouse as gh
    >>> bounds = gh.formal.lower_bounds(tp=80, members=100, fp=5, nonmembers=100)
    >>> round(bounds.epsilon_lower, 3), round(bounds.rho_lower, 3)
    (1.733, 0.882)
    >>> gh.formal.lower_bounds(5, 100, 5, 100).rho_lower
    0.0
    """
    n1, n0 = whole("members", members, 1), whole("nonmembers", nonmembers, 1)
    hits, alarms = whole("tp", tp), whole("fp", fp)
    if hits > n1:
        raise InputError(f"tp must not exceed members: {hits} of {n1}")
    if alarms > n0:
        raise InputError(f"fp must not exceed nonmembers: {alarms} of {n0}")
    slack = number("delta", delta)
    if not 0.0 <= slack < 1.0:
        raise InputError(f"delta must lie in [0, 1), not {slack:g}")
    level = share("confidence", confidence)
    if sided not in ("one", "two"):
        raise InputError(f"sided must be 'one' or 'two', not {sided!r}")
    each = (1.0 - level) / (2.0 * whole("thresholds", thresholds, 1))
    if sided == "one":
        each *= 2.0  # a two-sided interval at 1 - 2g has one-sided ends at level g
    tpr_interval = clopper_pearson(hits, n1, 1.0 - each)
    fpr_interval = clopper_pearson(alarms, n0, 1.0 - each)
    best_tpr, best_fpr = clopper_pearson(n1, n1, 1.0 - each)[0], clopper_pearson(0, n0, 1.0 - each)[1]
    t, f = tpr_interval[0], fpr_interval[1]
    return LowerBounds(
        tpr=hits / n1,
        fpr=alarms / n0,
        tpr_interval=tpr_interval,
        fpr_interval=fpr_interval,
        epsilon_lower=epsilon_needed(t, f, slack),
        rho_lower=float(required_rho(t, f)),
        mu_lower=mu_needed(t, f),
        epsilon_reachable=epsilon_needed(best_tpr, best_fpr, slack),
        rho_reachable=float(required_rho(best_tpr, best_fpr)),
        delta=slack,
        confidence=level,
        members=n1,
        nonmembers=n0,
    )


def epsilon_needed(tpr: float, fpr: float, delta: float = 0.0) -> float:
    """Smallest epsilon of an (epsilon, delta)-DP algorithm that allows this test: its trade-off curve inverted."""
    candidates = [0.0]
    if tpr > delta:
        candidates.append(math.inf if fpr <= 0.0 else math.log((tpr - delta) / fpr))
    if 1.0 - fpr > delta:
        candidates.append(math.inf if tpr >= 1.0 else math.log((1.0 - fpr - delta) / (1.0 - tpr)))
    return max(candidates)


def mu_needed(tpr: float, fpr: float) -> float:
    """Smallest mu of a Gaussian mechanism that allows this test: Phi^-1(t) - Phi^-1(a)."""
    from scipy.special import ndtri

    if tpr <= fpr:
        return 0.0
    return float(ndtri(tpr) - ndtri(fpr))
