"""What the permutation test and the choice of a threshold give back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import ClassVar

import numpy as np

from glasshouse.core.plain import percent
from glasshouse.core.result import Frame
from glasshouse.core.tabular import Tabled
from glasshouse.disclosure.rapid.scores import Array


@dataclass(frozen=True, repr=False)
class RapidTest(Tabled):
    """Outcome of the permutation test.

    Attributes
    ----------
    observed
        RAPID.
    null_mean, null_sd, effect_size
        RAPID when people are relabelled (or the attacker learns from a shuffled release), and how many standard
        deviations the observed share is away.
    p_value, permutations, alpha, significant
        (1 + #{permuted >= observed}) / (1 + permutations), and whether it is at most alpha.
    null
        "labels" or "refit".
    exact_mean, exact_sd, p_normal
        Exact moments over all relabellings, and the p value of a normal tail with them.
    values
        The permuted shares.
    table
        The figures with their names, in the caller's frame library.
    """

    name: ClassVar[str] = "rapid_test"

    observed: float
    null_mean: float
    null_sd: float
    effect_size: float | None
    p_value: float
    permutations: int
    null: str
    exact_mean: float
    exact_sd: float
    p_normal: float
    alpha: float = 0.05
    values: Array = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)
    table: Frame = field(default=None, repr=False, compare=False)

    @property
    def significant(self) -> bool:
        return self.p_value <= self.alpha

    @property
    def sentence(self) -> str:
        what = (
            "people are relabelled at random"
            if self.null == "labels"
            else "the attacker learns from a release with shuffled targets"
        )
        size = "" if self.effect_size is None else f", {self.effect_size:.1f} standard deviations away"
        return (
            f"RAPID is {percent(self.observed)}; when {what} it is {percent(self.null_mean)} on average{size} "
            f"(p = {self.p_value:.4g}, {self.permutations:,} permutations)."
        )

    def _table(self) -> tuple[Sequence[Mapping[str, object]], Mapping[str, str]]:
        figures = {
            "RAPID": self.observed,
            "null mean": self.null_mean,
            "null sd": self.null_sd,
            "effect size": self.effect_size,
            "p value": self.p_value,
            "p value (normal)": self.p_normal,
            "permutations": self.permutations,
            f"significant at {self.alpha:g}": self.significant,
        }
        return [{"figure": k, "value": v} for k, v in figures.items()], {"figure": "figure", "value": "value"}

    def figures(self) -> dict[str, list[object]]:
        """The figures as two columns, for a table of numbers."""
        rows, _ = self._table()
        known = [row["value"] for row in rows]
        return {"figure": [row["figure"] for row in rows], "value": [None if v is None else float(v) for v in known]}  # type: ignore[arg-type]

    def to_frame(self) -> Frame:
        """One row per figure, in the caller's frame library."""
        return self.table

    def to_dict(self) -> dict[str, object]:
        """The outcome as plain data, without the permuted values."""
        told = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("values", "table")}
        return told | {"significant": self.significant}


@dataclass(frozen=True, repr=False)
class RapidThresholds(Tabled):
    """Thresholds at which RAPID is beyond chance, and the one a rule recommends.

    Attributes
    ----------
    recommended, rule
        The threshold, None when there is none, and the rule that chose it.
    table, rows
        One row per threshold of the grid, in the caller's frame library and as plain rows.
    alpha, permutations
        Level of the tests, and relabellings behind the critical values.
    corrected
        Whether looking at many thresholds was allowed for.
    """

    name: ClassVar[str] = "rapid_thresholds"

    recommended: float | None
    rule: str
    table: Frame
    alpha: float
    permutations: int
    corrected: bool
    rows: list[dict[str, object]] = field(default_factory=list)

    @property
    def sentence(self) -> str:
        if self.recommended is None:
            return f"At no threshold of the grid is RAPID beyond chance (level {self.alpha:g})."
        how = (
            "corrected for looking at the whole grid"
            if self.corrected
            else "not corrected for looking at the whole grid"
        )
        return f"Rule {self.rule!r} recommends the threshold {self.recommended:g} (level {self.alpha:g}, {how})."

    def to_frame(self) -> Frame:
        """One row per threshold of the grid, in the caller's frame library."""
        return self.table

    @property
    def decides(self) -> str:
        """The column of the table that says where RAPID is beyond chance by the rule's own test."""
        return "significant_adjusted" if self.corrected else "significant"

    def _table(self) -> tuple[Sequence[Mapping[str, object]], Mapping[str, str]]:
        rows = [{**row, "mark": "recommended" if row["threshold"] == self.recommended else ""} for row in self.rows]
        titles = {
            "threshold": "threshold",
            "rapid": "RAPID",
            "chance": "chance",
            "quantile": f"{100 * (1 - self.alpha):g} % of luck below",
            "z": "z",
            "p_adjusted": "p, whole grid",
            self.decides: "beyond chance",
            "mark": "",
        }
        return rows, titles
