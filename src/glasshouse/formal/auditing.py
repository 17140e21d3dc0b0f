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
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from glasshouse.core.errors import InputError
from glasshouse.core.plain import percent, plain, to_json
from glasshouse.core.streams import RandomState, generator
from glasshouse.formal.bounds import LowerBounds, Sided, lower_bounds
from glasshouse.formal.guarantees import Approximate, Guarantee
from glasshouse.formal.risk import Risk
from glasshouse.formal.zcdp import Floats, required_rho

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

Position = Literal["below", "consistent", "above"]
LIMITS = (
    "An attack below the ceiling proves nothing about other attacks.",
    "Members and the holdout must come from one population; otherwise their difference is no leak.",
    "Many targets of one release are correlated trials, so the intervals are approximate; independent re-fits or "
    "canaries inserted at random make them exact.",
)
REASONS = "an error in the implementation, a domain read from the data, or several records per person"


class HasRho(Protocol):
    """What a loaded synthesiser keeps of its promise."""

    @property
    def rho(self) -> float: ...


Claim: TypeAlias = "Guarantee | HasRho | None"


@dataclass(frozen=True)
class AttackCounts:
    """An attack that was run: its successes on members and on people of the holdout.

    Parameters
    ----------
    attack : str
        Name of the attack.
    threat : str
        What it threatens: "membership", "attribute_inference", "singling_out", ...
    hits, members : int
        Successes among the members, and their number.
    alarms, nonmembers : int
        Successes among people of the holdout, and their number.
    label : str, default ""
        Which variant of the attack, such as a threshold.
    aims : int, default 1
        1 where every trial is about one given person. Larger where a trial succeeds when it hits *any* of that many
        people (singling out): a guarantee per person then only bounds success by aims * t(baseline / aims).
    """

    attack: str
    threat: str
    hits: int
    members: int
    alarms: int
    nonmembers: int
    label: str = ""
    aims: int = 1


@dataclass(frozen=True)
class AuditPoint:
    """One attack with its cross, and where it lies.

    Attributes
    ----------
    counts : AttackCounts
        The attack that was run.
    bounds : LowerBounds
        Its rates with their intervals, and what they prove.
    ceiling : float or None
        Largest success the claim allows at the upper end of the baseline; None without a claim.
    position : {"below", "consistent", "above"} or None
        "above": even the lower end of the success exceeds the ceiling. "below": even the upper end stays under it.
    """

    counts: AttackCounts
    bounds: LowerBounds
    ceiling: float | None
    position: Position | None

    @property
    def name(self) -> str:
        """The attack and its variant."""
        return self.counts.attack + (f" ({self.counts.label})" if self.counts.label else "")

    def to_dict(self) -> dict[str, object]:
        """Plain data: rates, intervals, ceiling, position, bounds and counts.

        Returns
        -------
        dict
            The bounds are None for an attack that aims at several people at once.
        """
        c, b = self.counts, self.bounds
        single = c.aims == 1
        return {
            "attack": c.attack,
            "label": c.label,
            "threat": c.threat,
            "success": b.tpr,
            "success_low": b.tpr_interval[0],
            "success_high": b.tpr_interval[1],
            "baseline": b.fpr,
            "baseline_low": b.fpr_interval[0],
            "baseline_high": b.fpr_interval[1],
            "ceiling": self.ceiling,
            "position": self.position,
            "epsilon_lower": b.epsilon_lower if single else None,
            "rho_lower": b.rho_lower if single else None,
            "mu_lower": b.mu_lower if single else None,
            "hits": c.hits,
            "members": c.members,
            "alarms": c.alarms,
            "nonmembers": c.nonmembers,
        }


@dataclass(frozen=True)
class Audit:
    """The outcome of an audit: ``conclusion`` in words, ``verdict`` for machines, every point with its evidence.

    Attributes
    ----------
    guarantee : Guarantee or None
        The claim; None when none was made.
    points : tuple of AuditPoint
        The attacks with their crosses.
    confidence : float
        All crosses hold together at this confidence.
    skipped : dict of str to str
        Attacks that could not be run, and why.
    """

    guarantee: Guarantee | None
    points: tuple[AuditPoint, ...]
    confidence: float
    skipped: dict[str, str] = field(default_factory=dict)

    name = "audit"

    @property
    def status(self) -> str:
        """ "ok", or "not_applicable" when no attack could be compared."""
        return "ok" if self.points else "not_applicable"

    @property
    def reason(self) -> str | None:
        """Why there is nothing to compare; None when there is."""
        if self.points:
            return None
        why = "; ".join(f"{attack}: {reason}" for attack, reason in self.skipped.items())
        return f"no attack could be run against people of the holdout. {why}" if why else "no attack was given"

    @property
    def above(self) -> list[AuditPoint]:
        """The points that refute the claim, the clearest first."""
        return sorted((p for p in self.points if p.position == "above"), key=lambda p: -p.bounds.rho_lower)

    @property
    def verdict(self) -> str | None:
        """ "fail" when the claim is refuted, "pass" when no point speaks against it, None when nothing was compared."""
        if self.guarantee is None or not self.points:
            return None
        return "fail" if self.above else "pass"

    @property
    def conclusion(self) -> str:
        """The verdict in words."""
        return {"fail": "the claim is broken", "pass": "consistent", None: "nothing to compare"}[self.verdict]

    @property
    def strongest(self) -> AuditPoint | None:
        """The point that proves the largest privacy loss."""
        single = [p for p in self.points if p.counts.aims == 1]
        return max(single, key=lambda p: p.bounds.rho_lower) if single else None

    @property
    def epsilon_lower(self) -> float:
        """The release leaks at least this much, at the stated confidence over all points."""
        return self.strongest.bounds.epsilon_lower if self.strongest else 0.0

    @property
    def rho_lower(self) -> float:
        """The same as a lower bound on rho."""
        return self.strongest.bounds.rho_lower if self.strongest else 0.0

    @property
    def sentence(self) -> str:
        """What was proved about the claim, in one sentence."""
        best = self.strongest
        if not self.points:
            return f"Nothing to compare: {self.reason}."
        proven = (
            f"the measured attacks prove epsilon >= {self.epsilon_lower:.2f} (rho >= {self.rho_lower:.3g}); "
            f"with this many targets nothing above epsilon {best.bounds.epsilon_reachable:.2f} could have been shown"
            if best
            else "no attack aims at given people, so no lower bound on the loss follows"
        )
        if self.guarantee is None:
            return f"No formal claim was made, so there is no ceiling: {proven}."
        if self.above:
            worst = self.above[0]
            return (
                f"The claim is broken ({percent(self.confidence, 0)} confidence): {worst.name} succeeds on at least "
                f"{percent(worst.bounds.tpr_interval[0])} of the members where the claim allows "
                f"{percent(worst.ceiling or 0.0)} at a baseline of at most {percent(worst.bounds.fpr_interval[1])}; "
                f"{proven}. Look for {REASONS}."
            )
        return (
            f"Consistent with the claim: none of {len(self.points)} measured points lies above the ceiling; {proven}."
        )

    @property
    def warnings(self) -> list[str]:
        """What the audit cannot say, and the attacks that were not run."""
        return [*LIMITS, *(f"{attack} was not run: {reason}" for attack, reason in self.skipped.items())]

    def summary(self) -> str:
        """The sentence, one line per point, and what the audit cannot say.

        Returns
        -------
        str
        """
        title = f"audit: {self.conclusion}"
        lines = [title, "=" * len(title), self.sentence, ""]
        for p in self.points:
            b, mark = p.bounds, {"above": "ABOVE", "below": "below", "consistent": "within", None: ""}[p.position]
            ceiling = "" if p.ceiling is None else f"  ceiling {percent(p.ceiling)}"
            lines.append(
                f"  {mark:<7}{p.name}: {percent(b.tpr)} [{percent(b.tpr_interval[0])}, {percent(b.tpr_interval[1])}] "
                f"at baseline {percent(b.fpr)} [{percent(b.fpr_interval[0])}, {percent(b.fpr_interval[1])}]{ceiling}"
            )
        return "\n".join([*lines, "", *(f"! {w}" for w in self.warnings)])

    def to_dict(self) -> dict[str, object]:
        """Plain data, as it goes into a JSON file.

        Returns
        -------
        dict
        """
        guarantee = self.guarantee.to_dict() if isinstance(self.guarantee, Risk) else None
        content: dict[str, object] = plain(
            {
                "name": self.name, "status": self.status, "reason": self.reason, "conclusion": self.conclusion,
                "verdict": self.verdict, "sentence": self.sentence, "confidence": self.confidence,
                "epsilon_lower": self.epsilon_lower, "rho_lower": self.rho_lower, "risk": guarantee,
                "points": [p.to_dict() for p in self.points], "skipped": self.skipped, "warnings": self.warnings,
            }
        )  # fmt: skip
        return content

    def to_json(self) -> str:
        """The same as JSON text.

        Returns
        -------
        str
        """
        return to_json(self.to_dict())

    def to_frame(self) -> pl.DataFrame:
        """One row per point.

        Returns
        -------
        polars.DataFrame
        """
        import polars as pl

        return pl.DataFrame([p.to_dict() for p in self.points])

    def plot(self, kind: str | None = None, **options: object) -> alt.TopLevelMixin:
        """The ceiling of the claim with the measured attacks as an Altair chart.

        Parameters
        ----------
        kind : str, optional
            "ceiling", or "log" for the same on logarithmic axes. Default: "ceiling".
        **options
            Passed to the function that draws.

        Returns
        -------
        altair chart
        """
        from glasshouse.core.charts import draw

        return draw(self, kind, **options)  # type: ignore[arg-type]  # it reads name, status and reason, as here

    def __repr__(self) -> str:
        return self.summary()


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
