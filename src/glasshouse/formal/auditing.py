"""A claim against what was measured: attacks as points under, on or above the ceiling of a formal guarantee.

An attack that was run on members and on people of the holdout gives a point (baseline, success) with a
Clopper-Pearson cross. If even the lower end of its success lies above the ceiling at the upper end of its baseline, the
claim is refuted at the stated confidence: the implementation is wrong, the domain leaked, or one person has several
records.

All crosses of one audit hold together (Bonferroni over points and over the two ends), so looking at many attacks and
thresholds does not make a refutation cheap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from glasshouse.core.errors import InputError
from glasshouse.core.options import door
from glasshouse.core.streams import RandomState, generator
from glasshouse.formal.audit_outcome import AttackCounts, Audit, AuditPoint, Position
from glasshouse.formal.bounds import LowerBounds, Sided, lower_bounds
from glasshouse.formal.guarantees import Guarantee
from glasshouse.formal.risk import Risk
from glasshouse.formal.stated import Approximate
from glasshouse.formal.zcdp import Floats, required_rho

__all__ = [
    "AttackCounts",
    "Audit",
    "AuditPoint",
    "audit_attacks",
    "audit_counts",
    "audit_scores",
    "ceil_count",
    "floor_count",
]


class HasRho(Protocol):
    """What a loaded synthesiser keeps of its promise."""

    @property
    def rho(self) -> float: ...


Claim: TypeAlias = "Guarantee | HasRho | None"


def as_guarantee(claim: object) -> Guarantee | None:
    """The claim as a guarantee.

    Parameters
    ----------
    claim : Guarantee, object with a rho, or None
        An object with a rho is what a loaded synthesiser keeps of its promise.

    Returns
    -------
    Guarantee or None

    Raises
    ------
    InputError
        For anything else.
    """
    if claim is None or isinstance(claim, Guarantee):
        return claim
    rho = getattr(claim, "rho", None)
    if isinstance(rho, (int, float)) and not isinstance(rho, bool):
        return Risk.from_rho(float(rho))
    raise InputError(
        "the claim must be a gh.Risk, gh.formal.gaussian(mu), gh.formal.approximate(epsilon, delta) or None"
    )


@door
def audit_attacks(
    claim: Claim,
    attacks: Sequence[AttackCounts],
    *,
    confidence: float = 0.95,
    delta: float | None = None,
    sided: Sided = "two",
    skipped: dict[str, str] | None = None,
) -> Audit:
    """Place measured attacks against a claim; the confidence holds for all of them together.

    Parameters
    ----------
    claim : Risk, Guarantee, object with a rho, or None
        The formal guarantee the release was made under; None audits no claim and only proves losses.
    attacks : sequence of AttackCounts
        The attacks, each with its successes on members and on people of the holdout.
    confidence : float, default 0.95
        For all points and both ends together (Bonferroni).
    delta : float, optional
        The delta of the proved epsilon. Default: that of an (epsilon, delta) claim, else 0.
    sided : {"one", "two"}, default "two"
        "one" uses one-sided interval ends, which are valid here and tighter.
    skipped : dict of str to str, optional
        Attacks that were not run, and why; they are reported as warnings.

    Returns
    -------
    Audit

    Notes
    -----
    A point refutes the claim when T > t(F), with T the lower end of its success, F the upper end of its baseline and t
    the trade-off curve of the claim.
    """
    guarantee = as_guarantee(claim)
    if delta is None:
        delta = guarantee.stated_delta if isinstance(guarantee, Approximate) else 0.0
    tests = max(len(attacks), 1)
    points = []
    for a in attacks:
        bounds = lower_bounds(
            a.hits, a.members, a.alarms, a.nonmembers, delta, confidence, sided=sided, thresholds=tests
        )
        points.append(_place(guarantee, a, bounds))
    return Audit(guarantee, tuple(points), confidence, dict(skipped or {}))


def _place(guarantee: Guarantee | None, counts: AttackCounts, bounds: LowerBounds) -> AuditPoint:
    if guarantee is None:
        return AuditPoint(counts, bounds, None, None)

    def ceiling(baseline: float) -> float:
        return min(1.0, counts.aims * float(guarantee.max_success(baseline / counts.aims)))

    (low, high), (least, most) = bounds.tpr_interval, bounds.fpr_interval
    limit = ceiling(most)
    position: Position = "above" if low > limit else "below" if high < ceiling(least) else "consistent"
    return AuditPoint(counts, bounds, limit, position)


@door
def audit_counts(
    claim: Claim,
    tp: int,
    members: int,
    fp: int,
    nonmembers: int,
    *,
    attack: str = "attack",
    confidence: float = 0.95,
    delta: float | None = None,
    sided: Sided = "two",
) -> Audit:
    """Audit one attack from its counts; the threshold must have been fixed without looking at these people.

    Parameters
    ----------
    claim : Risk, Guarantee, object with a rho, or None
        The formal guarantee the release was made under.
    tp, members : int
        Members the attack called members, and their number.
    fp, nonmembers : int
        People of the holdout the attack called members, and their number.
    attack : str, default "attack"
        Name of the attack.
    confidence : float, default 0.95
        Confidence of the conclusion.
    delta : float, optional
        The delta of the proved epsilon. Default: that of an (epsilon, delta) claim, else 0.
    sided : {"one", "two"}, default "two"
        "one" uses one-sided interval ends, which are valid here and tighter.

    Returns
    -------
    Audit

    Examples
    --------
    >>> import glasshouse as gh
    >>> audit = gh.formal.audit_counts(gh.Risk.from_rho(0.05), tp=80, members=100, fp=5, nonmembers=100)
    >>> audit.conclusion, audit.verdict, round(audit.rho_lower, 3)
    ('the claim is broken', 'fail', 0.882)
    """
    counts = AttackCounts(attack, "membership", tp, members, fp, nonmembers)
    return audit_attacks(claim, [counts], confidence=confidence, delta=delta, sided=sided)


@door
def audit_scores(
    claim: Claim,
    members: ArrayLike,
    nonmembers: ArrayLike,
    *,
    attack: str = "attack",
    threshold: float | None = None,
    confidence: float = 0.95,
    delta: float | None = None,
    sided: Sided = "two",
    random_state: RandomState = 0,
) -> Audit:
    """Audit an attack from its scores, high meaning "member".

    Parameters
    ----------
    claim : Risk, Guarantee, object with a rho, or None
        The formal guarantee the release was made under.
    members, nonmembers : array of float
        Scores of people of the original and of the holdout.
    attack : str, default "attack"
        Name of the attack.
    threshold : float, optional
        Scores from here on mean "member"; it must have been fixed beforehand, and all people are used. Default: a
        random half of them chooses the threshold that proves most, and the other half is judged by it, so the choice
        costs no confidence.
    confidence : float, default 0.95
        Confidence of the conclusion.
    delta : float, optional
        The delta of the proved epsilon. Default: that of an (epsilon, delta) claim, else 0.
    sided : {"one", "two"}, default "two"
        "one" uses one-sided interval ends, which are valid here and tighter.
    random_state : int, numpy Generator or None, default 0
        How people are halved: the same call gives the same figure; None draws.

    Returns
    -------
    Audit

    Raises
    ------
    InputError
        For scores that are not finite, or too few people to choose a threshold.

    Examples
    --------
    >>> import glasshouse as gh
    >>> scores = [i / 100 for i in range(100)]
    >>> gh.formal.audit_scores(gh.Risk.from_rho(0.5), scores, scores, threshold=0.5).conclusion
    'consistent'
    """
    inside, outside = _scores("members", members), _scores("nonmembers", nonmembers)
    if threshold is None:
        rng = generator(random_state, "audit threshold")
        inside, outside = rng.permutation(inside), rng.permutation(outside)
        half_in, half_out = len(inside) // 2, len(outside) // 2
        if min(half_in, half_out) < 2:
            raise InputError("choosing a threshold needs at least 4 members and 4 nonmembers; pass threshold= instead")
        threshold = _best_threshold(inside[:half_in], outside[:half_out])
        inside, outside = inside[half_in:], outside[half_out:]
    counts = AttackCounts(
        attack,
        "membership",
        int((inside >= threshold).sum()),
        len(inside),
        int((outside >= threshold).sum()),
        len(outside),
    )
    return audit_attacks(claim, [counts], confidence=confidence, delta=delta, sided=sided)


def _scores(name: str, values: ArrayLike) -> Floats:
    """Scores as an array without gaps."""
    array = np.asarray(values, float).ravel()
    if array.size == 0 or not np.isfinite(array).all():
        raise InputError(f"{name} must be finite scores, at least one")
    return array


def _best_threshold(inside: Floats, outside: Floats) -> float:
    """The cut whose counts prove the largest rho on these people, among a hundred quantiles of all scores."""
    from scipy.stats import beta

    pooled = np.concatenate([inside, outside])
    cuts = np.unique(np.quantile(pooled, np.linspace(0.005, 0.995, 100), method="higher"))
    hits = len(inside) - np.searchsorted(np.sort(inside), cuts, side="left")
    alarms = len(outside) - np.searchsorted(np.sort(outside), cuts, side="left")
    tpr_low = np.where(hits > 0, beta.ppf(0.0125, np.maximum(hits, 1), len(inside) - hits + 1), 0.0)
    fpr_high = np.where(alarms < len(outside), beta.ppf(0.9875, alarms + 1, np.maximum(len(outside) - alarms, 1)), 1.0)
    proven = required_rho(tpr_low, fpr_high)
    if proven.max() > 0.0:
        return float(cuts[int(np.argmax(proven))])
    return float(cuts[int(np.argmax(hits / len(inside) - alarms / len(outside)))])


def floor_count(successes: float) -> int:
    """Successes on members, expected values rounded down: the safe side of an accusation."""
    return math.floor(successes + 1e-9)


def ceil_count(successes: float) -> int:
    """Successes on people of the holdout, expected values rounded up."""
    return math.ceil(successes - 1e-9)
