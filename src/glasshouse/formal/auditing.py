"""A claim against what was measured: attacks as points under, on or above the ceiling of a formal guarantee.

An attack that was run on members and on people who were left out gives a point (baseline, success) with a
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
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from glasshouse.core.errors import InputError
from glasshouse.core.plain import percent, plain, to_json
from glasshouse.core.streams import RandomState, generator
from glasshouse.formal.bounds import LowerBounds, lower_bounds
from glasshouse.formal.guarantees import Approximate, Guarantee
from glasshouse.formal.risk import Risk
from glasshouse.formal.zcdp import required_rho

Position = Literal["below", "consistent", "above"]
LIMITS = (
    "An attack below the ceiling proves nothing about other attacks.",
    "Members and people left out must come from one population; otherwise their difference is no leak.",
    "Many targets of one release are correlated trials, so the intervals are approximate; independent re-fits or "
    "canaries inserted at random make them exact.",
)
REASONS = "an error in the implementation, a domain read from the data, or several records per person"


@dataclass(frozen=True)
class AttackCounts:
    """An attack that was run: successes on members, successes on people left out.

    ``aims``: 1 where every trial is about one given person. Larger where a trial succeeds when it hits *any* of that
    many people (singling out): a guarantee per person then only bounds success by aims * t(baseline / aims).
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
    """One attack with its cross, and where it lies."""

    counts: AttackCounts
    bounds: LowerBounds
    ceiling: float | None
    position: Position | None

    @property
    def name(self) -> str:
        return self.counts.attack + (f" ({self.counts.label})" if self.counts.label else "")

    def to_dict(self) -> dict[str, Any]:
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
    """The outcome: ``conclusion`` in words, ``verdict`` for machines, every point with its evidence."""

    guarantee: Guarantee | None
    points: tuple[AuditPoint, ...]
    confidence: float
    skipped: dict[str, str] = field(default_factory=dict)

    name = "audit"

    @property
    def status(self) -> str:
        return "ok" if self.points else "not_applicable"

    @property
    def reason(self) -> str | None:
        if self.points:
            return None
        why = "; ".join(f"{attack}: {reason}" for attack, reason in self.skipped.items())
        return f"no attack could be run against people who were left out. {why}" if why else "no attack was given"

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
        return self.strongest.bounds.rho_lower if self.strongest else 0.0

    @property
    def sentence(self) -> str:
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
        return [*LIMITS, *(f"{attack} was not run: {reason}" for attack, reason in self.skipped.items())]

    def summary(self) -> str:
        """The sentence, one line per point, and what the audit cannot say."""
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

    def to_dict(self) -> dict[str, Any]:
        guarantee = self.guarantee.to_dict() if isinstance(self.guarantee, Risk) else None
        content: dict[str, Any] = plain(
            {
                "name": self.name, "status": self.status, "reason": self.reason, "conclusion": self.conclusion,
                "verdict": self.verdict, "sentence": self.sentence, "confidence": self.confidence,
                "epsilon_lower": self.epsilon_lower, "rho_lower": self.rho_lower, "risk": guarantee,
                "points": [p.to_dict() for p in self.points], "skipped": self.skipped, "warnings": self.warnings,
            }
        )  # fmt: skip
        return content

    def to_json(self) -> str:
        return to_json(self.to_dict())

    def to_frame(self) -> Any:
        """One row per point, as a polars frame."""
        import polars as pl

        return pl.DataFrame([p.to_dict() for p in self.points])

    def plot(self, kind: str | None = None, **options: Any) -> Any:
        """Ceiling and points (``kind="ceiling"``), or the same on logarithmic axes (``"log"``)."""
        from glasshouse.core.charts import draw

        return draw(self, kind, **options)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return self.summary()


def as_guarantee(claim: Any) -> Guarantee | None:
    """The claim as a guarantee: one already, an object with a rho (a loaded synthesiser's risk), or None."""
    if claim is None or isinstance(claim, Guarantee):
        return claim
    rho = getattr(claim, "rho", None)
    if isinstance(rho, (int, float)) and not isinstance(rho, bool):
        return Risk.from_rho(float(rho))
    raise InputError(
        "the claim must be a gh.Risk, gh.formal.gaussian(mu), gh.formal.approximate(epsilon, delta) or None"
    )


def audit_attacks(
    claim: Any,
    attacks: Sequence[AttackCounts],
    *,
    confidence: float = 0.95,
    delta: float | None = None,
    sided: Literal["one", "two"] = "two",
    skipped: dict[str, str] | None = None,
) -> Audit:
    """Place measured attacks against a claim; the confidence holds for all of them together."""
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
    claim: Any,
    tp: int,
    members: int,
    fp: int,
    nonmembers: int,
    *,
    attack: str = "attack",
    confidence: float = 0.95,
    delta: float | None = None,
    sided: Literal["one", "two"] = "two",
) -> Audit:
    """Audit one attack from its counts; the threshold must have been fixed without looking at these people."""
    counts = AttackCounts(attack, "membership", tp, members, fp, nonmembers)
    return audit_attacks(claim, [counts], confidence=confidence, delta=delta, sided=sided)


def audit_scores(
    claim: Any,
    members: ArrayLike,
    nonmembers: ArrayLike,
    *,
    attack: str = "attack",
    threshold: float | None = None,
    confidence: float = 0.95,
    delta: float | None = None,
    sided: Literal["one", "two"] = "two",
    random_state: RandomState = 0,
) -> Audit:
    """Audit an attack from its scores, high meaning "member".

    With a ``threshold`` fixed beforehand all people are used. Without one, a random half of them chooses the threshold
    that proves most, and the other half is judged by it, so the choice costs no confidence.
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


def _scores(name: str, values: ArrayLike) -> np.ndarray:
    array = np.asarray(values, float).ravel()
    if array.size == 0 or not np.isfinite(array).all():
        raise InputError(f"{name} must be finite scores, at least one")
    return array


def _best_threshold(inside: np.ndarray, outside: np.ndarray) -> float:
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
    """Successes of members, expected values rounded down: the safe side of an accusation."""
    return math.floor(successes + 1e-9)


def ceil_count(successes: float) -> int:
    """Successes of people left out, expected values rounded up."""
    return math.ceil(successes - 1e-9)
