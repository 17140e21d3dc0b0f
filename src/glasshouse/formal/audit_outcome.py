"""The outcome of an audit: attacks as points with their crosses, and what they say about a claim."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from glasshouse.core.options import door
from glasshouse.core.plain import percent, plain, to_json
from glasshouse.formal.bounds import LowerBounds
from glasshouse.formal.guarantees import Guarantee
from glasshouse.formal.risk import Risk

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


@door
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


@door
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
